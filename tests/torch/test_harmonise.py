"""Harmonising as a module: the bytes of the core, in Python and where it was exported to."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import recolorist as rc  # noqa: E402 - skipped without torch
from recolorist.errors import ImageError, OptionError, StatisticsError  # noqa: E402
from recolorist.torch import Harmonise  # noqa: E402
from recolorist.torch.harmonise import harmonise_tensor  # noqa: E402
from tests.augment.test_harmoniser import BANK, BLANK, KNOWN, LIKE, OTHER  # noqa: E402

ODD = np.stack([LIKE[0][..., 0], 255 - LIKE[0][..., 1], LIKE[0][..., 2]], -1)[None]  # no strength brings it inside
IMAGES = np.concatenate([LIKE[:4], OTHER[:4], BLANK[None], KNOWN[:2] // 3, 255 - OTHER[:2], ODD])
OPTIONS: dict[str, dict[str, Any]] = {
    "centre": {},
    "edge": {"gate": "edge"},
    "off": {"gate": "off"},
    "half": {"strength": 0.5, "max_gain": 1.2},
    "edge in ycbcr": {"gate": "edge", "space": "ycbcr"},
    "blank ones too": {"gate": "off", "blank": "match"},
    "a domain": {"domain": "a", "coverage": 0.9},
}


def channel_first(images: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(images, -1, 1)))


def channel_last(batch: Any) -> Any:
    return np.moveaxis(np.asarray(batch), 1, -1)


def wanted(options: dict[str, Any], images: Any = IMAGES) -> Any:
    harmoniser = rc.Harmoniser(BANK, **options)
    return np.stack([harmoniser(image) for image in images])


class TestBytes:
    @pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
    def test_are_those_of_the_core(self, options: dict[str, Any]) -> None:
        assert np.array_equal(channel_last(Harmonise(BANK, **options)(channel_first(IMAGES))), wanted(options))

    def test_of_grey_images(self) -> None:
        bank = rc.StyleBank.build(KNOWN[..., 0])
        harmoniser = rc.Harmoniser(bank, "edge")
        out = Harmonise(bank, "edge")(channel_first(IMAGES[..., :1]))
        assert np.array_equal(out[:, 0].numpy(), np.stack([harmoniser(image[..., 0]) for image in IMAGES]))

    def test_floats_are_close(self) -> None:
        out = Harmonise(BANK)(channel_first(IMAGES / 255.0))
        assert np.allclose(channel_last(out), wanted({}, IMAGES / 255.0), rtol=0, atol=1e-12)

    def test_in_a_model_of_half_precision(self) -> None:
        model = torch.nn.Sequential(Harmonise(BANK, "edge")).half()
        assert np.array_equal(channel_last(model(channel_first(IMAGES))), wanted({"gate": "edge"}))

    def test_distances_are_those_of_the_records(self) -> None:
        _, distance = Harmonise(BANK, with_distance=True)(channel_first(LIKE))
        records = [rc.Harmoniser(BANK).decide(image) for image in LIKE]
        assert distance.tolist() == pytest.approx([record.distance for record in records])


@pytest.mark.parametrize("gate", ["centre", "edge"])
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning", "ignore:.*torch.jit:FutureWarning")
def test_torchscript(gate: Any) -> None:
    traced = torch.jit.trace(Harmonise(BANK, gate), channel_first(IMAGES[:2]))
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    loaded = torch.jit.load(file)
    assert np.array_equal(channel_last(loaded(channel_first(IMAGES))), wanted({"gate": gate}))
    other = IMAGES[:, :11, :17]  # another size than it was traced with
    assert np.array_equal(channel_last(loaded(channel_first(other))), wanted({"gate": gate}, other))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of the exporter
def test_onnx(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript", reason="torch exports to ONNX by it")
    runtime = pytest.importorskip("onnxruntime", reason="runs the exported module")
    sizes = {0: torch.export.Dim("images"), 2: torch.export.Dim("height"), 3: torch.export.Dim("width")}
    module = Harmonise(BANK, "edge", with_distance=True).eval()
    path = tmp_path / "harmonise.onnx"
    torch.onnx.export(
        module,
        (channel_first(IMAGES[:2]),),
        str(path),
        dynamic_shapes=(sizes,),
        dynamo=True,
        verbose=False,
        input_names=["batch"],
    )
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for images in (IMAGES, IMAGES[:1, :11, :17]):
        out, distance = session.run(None, {"batch": channel_first(images).numpy()})
        assert np.array_equal(channel_last(out), wanted({"gate": "edge"}, images))
        assert distance.tolist() == pytest.approx(module(channel_first(images))[1].tolist())


class TestRefusals:
    @pytest.mark.parametrize("options", [{"space": "lab"}, {"gate": "ajar"}, {"gate": "off", "with_distance": True}])
    def test_options(self, options: dict[str, Any]) -> None:
        with pytest.raises(OptionError):
            Harmonise(BANK, **options)

    def test_a_small_bank(self) -> None:
        with pytest.raises(StatisticsError, match="gate='off'"):
            Harmonise(BANK.subset(rows=[0, 1]))

    @pytest.mark.parametrize("shape", [(3, 4, 5), (1, 1, 4, 5)])
    def test_other_batches(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(ImageError):
            Harmonise(BANK)(torch.zeros(shape, dtype=torch.uint8))
        with pytest.raises(ImageError, match="before Normalize"):
            Harmonise(BANK)(torch.zeros((1, 3, 4, 5), dtype=torch.int32))


class TestTensors:
    """Images that a pipeline hands over as tensors, one by one or nested."""

    def test_bfloat16_goes_through_float32(self) -> None:
        harmoniser, half = rc.Harmoniser(BANK), channel_first(IMAGES / 255.0).to(torch.bfloat16)
        expected = harmonise_tensor(harmoniser, half.float()).to(torch.bfloat16)
        assert torch.equal(harmonise_tensor(harmoniser, half), expected)

    def test_leading_dimensions_stay(self) -> None:
        harmoniser, batch = rc.Harmoniser(BANK), channel_first(IMAGES[:4])
        nested = harmonise_tensor(harmoniser, batch.unflatten(0, (2, 2)))
        assert torch.equal(nested.flatten(0, 1), harmonise_tensor(harmoniser, batch))

    @pytest.mark.parametrize("shape", [(), (5,), (4, 5)])
    def test_no_image_is_refused(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(ImageError, match=r"accepted are images \(\.\.\., C, H, W\)"):
            harmonise_tensor(rc.Harmoniser(BANK), torch.zeros(shape))
