"""The torchvision transform: types kept, masks untouched, and draws that no two workers or epochs share."""

from __future__ import annotations

import copy
import pickle  # noqa: TID251 - transforms travel to workers in one; nothing foreign is loaded
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

import torch
from PIL import Image
from torch.utils.data import DataLoader

import recolorist as rc
from recolorist._torchvision_ops import declare_missing_ops
from recolorist.augment.colorist import PreprocessingWarning
from recolorist.augment.streams import stream
from recolorist.errors import ImageError, OptionError
from recolorist.torch import ColorMatch, DetachedWarning, ToNormalizedTensor
from tests.torch.data import HEIGHT, WIDTH, bank_of, tiles

declare_missing_ops()
pytest.importorskip("torchvision", reason="needs the extra recolorist[torch]")

from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

from recolorist.torchvision import Colorist, Harmonise  # noqa: E402

BANK = bank_of(tiles(60, seed=2))
IMAGE = tiles(1, seed=6)[0]
TENSOR = torch.from_numpy(IMAGE).permute(2, 0, 1).contiguous()


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(7)


def drawn(transform: Colorist, image: Any) -> Any:
    """What the transform does next, by the core."""
    state = torch.get_rng_state()
    number = transform.make_params([])["number"]
    torch.set_rng_state(state)
    core = transform.core
    return core.recolour(image, core.draw_from(stream(0, 0, number)))


class TestKinds:
    def test_tensor(self) -> None:
        transform = Colorist(BANK, p=1.0)
        expected = drawn(transform, IMAGE)
        result = transform(TENSOR)
        assert type(result) is torch.Tensor
        assert np.array_equal(result.permute(1, 2, 0).numpy(), expected)
        assert not np.array_equal(expected, IMAGE)
        assert np.array_equal(TENSOR.permute(1, 2, 0).numpy(), IMAGE)  # not written to

    def test_image(self) -> None:
        transform = Colorist(BANK, p=1.0)
        expected = drawn(transform, IMAGE)
        result = transform(tv_tensors.Image(TENSOR))
        assert type(result) is tv_tensors.Image
        assert np.array_equal(np.moveaxis(result.numpy(), 0, -1), expected)

    def test_pil(self) -> None:
        transform = Colorist(BANK, p=1.0)
        expected = drawn(transform, IMAGE)
        result = transform(Image.fromarray(IMAGE))
        assert isinstance(result, Image.Image)
        assert result.mode == "RGB"
        assert np.array_equal(np.asarray(result), expected)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
    def test_floats_in_0_to_1(self, dtype: torch.dtype) -> None:
        transform = Colorist(BANK, p=1.0)
        expected = drawn(transform, IMAGE)
        result = transform(tv_tensors.Image((TENSOR / 255).to(dtype)))
        assert result.dtype == dtype
        error = np.abs(np.moveaxis(result.float().numpy(), 0, -1) * 255 - expected).max()
        assert error <= 0.5 + 255 * 12 * torch.finfo(dtype).eps  # rounding to levels there, to the dtype here

    def test_uint16(self) -> None:
        transform = Colorist(BANK, p=1.0)
        levels = IMAGE.astype(np.uint16) * 257
        expected = drawn(transform, levels)
        result = transform(torch.from_numpy(levels).permute(2, 0, 1))
        assert result.dtype == torch.uint16
        assert np.array_equal(result.permute(1, 2, 0).numpy(), expected)

    @pytest.mark.parametrize("lead", [(4,), (2, 3)])
    def test_batches_are_images_with_one_style(self, lead: tuple[int, ...]) -> None:
        count = int(np.prod(lead))
        images = tiles(count, seed=4)
        transform = Colorist(BANK, p=1.0)
        expected = [drawn(transform, image) for image in images]
        result = transform(torch.from_numpy(images).permute(0, 3, 1, 2).reshape(*lead, 3, HEIGHT, WIDTH))
        assert np.array_equal(result.reshape(count, 3, HEIGHT, WIDTH).permute(0, 2, 3, 1).numpy(), np.stack(expected))

    @pytest.mark.parametrize("lead", [(), (2,)])
    @pytest.mark.filterwarnings("error")
    def test_frames_are_measured_together(self, lead: tuple[int, ...]) -> None:
        count = int(np.prod(lead))
        frames = tiles(count * 5, seed=4).reshape(count, 5, HEIGHT, WIDTH, 3)
        transform = Colorist(BANK, p=1.0)
        with pytest.warns(PreprocessingWarning):  # the reference pools frames into one tall picture, of another size
            expected = [drawn(Colorist(BANK, p=1.0), video.reshape(-1, WIDTH, 3)) for video in frames]
        clip = torch.from_numpy(frames).permute(0, 1, 4, 2, 3).reshape(*lead, 5, 3, HEIGHT, WIDTH)
        result = transform(tv_tensors.Video(clip))
        assert type(result) is tv_tensors.Video
        assert result.shape == clip.shape
        pooled = result.reshape(count, 5, 3, HEIGHT, WIDTH).permute(0, 1, 3, 4, 2).numpy().reshape(count, -1, WIDTH, 3)
        assert np.array_equal(pooled, np.stack(expected))

    @pytest.mark.parametrize(
        "options",
        [
            {"space": "yiq"},
            {"method": "covariance"},
            {"max_clip": 0.001},
            {"mask": "tissue", "apply_to": "mask"},
            {"strength": 0.4},
        ],
        ids=str,
    )
    def test_options(self, options: dict[str, Any]) -> None:
        transform = Colorist(BANK, p=1.0, **options)
        expected = drawn(transform, IMAGE)
        assert np.array_equal(transform(TENSOR).permute(1, 2, 0).numpy(), expected)

    def test_empty_batch(self) -> None:
        assert Colorist(BANK, p=1.0)(torch.zeros(0, 3, 4, 5, dtype=torch.uint8)).shape == (0, 3, 4, 5)


def sample() -> dict[str, Any]:
    return {
        "pair": (tv_tensors.Image(TENSOR), Image.fromarray(IMAGE)),
        "mask": tv_tensors.Mask(TENSOR[:1] > 128),
        "boxes": tv_tensors.BoundingBoxes([[0, 0, 3, 4]], format="XYXY", canvas_size=(HEIGHT, WIDTH)),
        "extra": [torch.arange(6.0), "name", 5, None],
    }


class TestSamples:
    def test_everything_else_is_untouched(self) -> None:
        given = sample()
        result = Colorist(BANK, p=1.0)(given)
        assert result["mask"] is given["mask"]
        assert result["boxes"] is given["boxes"]
        assert result["extra"][0] is given["extra"][0]
        assert result["extra"][1:] == ["name", 5, None]
        assert bytes(result["mask"].numpy()) == bytes(sample()["mask"].numpy())

    def test_one_draw_per_call(self) -> None:
        tensor, picture = Colorist(BANK, p=1.0)(sample())["pair"]
        assert np.array_equal(np.moveaxis(tensor.numpy(), 0, -1), np.asarray(picture))

    def test_the_coin(self) -> None:
        given = sample()
        result = Colorist(BANK, p=0.0)(given)
        assert result["pair"][0] is given["pair"][0]
        changed = sum(not torch.equal(Colorist(BANK, p=0.3)(TENSOR), TENSOR) for _ in range(400))
        assert abs(changed - 120) < 5 * (400 * 0.3 * 0.7) ** 0.5

    @pytest.mark.parametrize("other", [v2.RandAugment, v2.TrivialAugmentWide, v2.AutoAugment, v2.AugMix])
    @pytest.mark.parametrize("kind", ["pil", "image"])
    def test_composes_in_either_order(self, other: Any, kind: str) -> None:
        given: Any = Image.fromarray(tiles(1, size=(32, 24))[0])
        given = given if kind == "pil" else v2.functional.to_image(given)
        colours = Colorist(bank_of(tiles(4, size=(32, 24))), p=1.0)
        for steps in ([other(), colours], [colours, other()]):
            tail = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
            result = v2.Compose([*steps, *tail])(given)
            assert result.shape == (3, 32, 24)
            assert 0 <= float(result.min()) <= float(result.max()) <= 1

    def test_pickled(self) -> None:
        transform = Colorist(BANK, p=0.5, sampler="gaussian", mask="fundus")
        for other in (pickle.loads(pickle.dumps(transform)), copy.deepcopy(transform)):  # noqa: S301
            for seed in range(8):
                torch.manual_seed(seed)
                first = transform(TENSOR)
                torch.manual_seed(seed)
                assert torch.equal(other(TENSOR), first)

    def test_printed(self) -> None:
        text = repr(v2.Compose([Colorist(BANK, p=0.25, max_clip=0.1)]))
        assert "Colorist(StyleBank(60 styles" in text
        assert "p=0.25" in text
        assert "max_clip=0.1" in text
        assert "seed" not in text


class Repeated:
    """The same image again and again, so that only the draws make a difference; and which worker it came from."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> tuple[Any, Any, int]:
        info = torch.utils.data.get_worker_info()
        mask = tv_tensors.Mask(torch.ones(HEIGHT, WIDTH, dtype=torch.uint8) * index)
        image, mask = self.transform(tv_tensors.Image(TENSOR), mask)
        assert type(image) is tv_tensors.Image
        assert bool((mask == index).all())
        return image, mask, -1 if info is None else info.id


def run(*, persistent: bool) -> dict[tuple[int, int], list[bytes]]:
    """Images by (epoch, worker)."""
    loader: DataLoader[Any] = DataLoader(
        Repeated(Colorist(BANK, p=1.0, sampler="gaussian")),  # type: ignore[arg-type,unused-ignore]
        batch_size=2,
        num_workers=2,
        persistent_workers=persistent,
        multiprocessing_context="fork",
    )
    found: dict[tuple[int, int], list[bytes]] = {}
    for epoch in range(2):
        for images, masks, workers in loader:
            assert images.dtype == masks.dtype == torch.uint8
            for image, worker in zip(images, workers.tolist(), strict=True):
                found.setdefault((epoch, worker), []).append(image.numpy().tobytes())
    return found


@pytest.mark.parametrize("persistent", [False, True], ids=["fresh", "persistent"])
def test_workers_and_epochs(persistent: bool) -> None:
    found = run(persistent=persistent)
    assert set(found) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    drawn_images = [image for images in found.values() for image in images]
    assert len(drawn_images) == 32
    assert len(set(drawn_images)) == 32  # no worker, epoch or sample repeats another
    torch.manual_seed(7)
    assert run(persistent=persistent) == found
    torch.manual_seed(8)
    assert run(persistent=persistent) != found


class TestRefusals:
    def test_other_split(self) -> None:
        with pytest.raises(OptionError, match="leak"):
            Colorist(rc.StyleBank.build(tiles(3), split="val"))

    def test_normalised_floats(self) -> None:
        with pytest.raises(ImageError, match="range"):
            Colorist(BANK, p=1.0)(torch.randn(3, HEIGHT, WIDTH))

    def test_what_is_no_video(self) -> None:
        with pytest.raises(ImageError, match="video"):
            Colorist(BANK, p=1.0)._recolour_video(TENSOR, rc.Colorist(BANK).draw_from(stream(0)))

    @pytest.mark.parametrize("transform", [Colorist(BANK, p=0.0), Harmonise(BANK)], ids=lambda each: type(each).__name__)
    def test_arrays_are_refused_and_not_passed_through(self, transform: Any) -> None:
        """Torchvision knows no arrays: an augmentation that changes nothing would go unnoticed."""
        for sample in (IMAGE, (IMAGE, 3), {"image": IMAGE, "mask": tv_tensors.Mask(torch.ones(4, 5))}):
            with pytest.raises(ImageError, match=r"v2.ToImage\(\) before it"):
                v2.Compose([transform])(sample)
        others = {"image": TENSOR, "depth": IMAGE, "scores": np.zeros(3)}
        assert v2.Compose([transform])(others)["depth"] is IMAGE
        assert transform(np.zeros(3)).shape == (3,)

    def test_what_is_no_image(self) -> None:
        with pytest.raises(ImageError, match="accepted"):
            Colorist(BANK, p=1.0)(torch.zeros(3))


class TestPairs:
    """torchvision's Compose hands the parts of a sample on as arguments: image, label."""

    BATCH = torch.from_numpy(tiles(4, seed=3)).permute(0, 3, 1, 2).contiguous()

    def test_the_conversion_keeps_the_label(self) -> None:
        convert = ToNormalizedTensor((0.5,) * 3, (0.25,) * 3)
        image, label = v2.Compose([convert])(Image.fromarray(IMAGE), 3)
        assert label == 3
        assert torch.equal(image, convert(IMAGE))

    def test_batches_go_on_to_cut_and_mix(self) -> None:
        labels = torch.arange(4) % 3
        images, mixed = v2.Compose([ColorMatch(BANK, p=1.0), v2.CutMix(num_classes=3)])(self.BATCH, labels)
        assert images.shape == self.BATCH.shape
        assert mixed.shape == (4, 3)

    def test_draws_are_named(self) -> None:
        module = ColorMatch(BANK, p=1.0)
        draws = module.draw(4)
        image, label = module(self.BATCH, 5, draws=draws)
        assert label == 5
        assert torch.equal(image, module(self.BATCH, draws=draws))
        with pytest.raises(OptionError, match="draws="):
            module(self.BATCH, draws)

    def test_samples_in_a_container_are_refused_by_modules_for_batches(self) -> None:
        with pytest.raises(ImageError, match="tuple was given"):
            ColorMatch(BANK)((self.BATCH, 3))

    def test_the_class_for_arrays_names_the_one_for_samples(self) -> None:
        aug = rc.Colorist(BANK, p=1.0, seed=1)
        for sample in ((Image.fromarray(IMAGE), 3), (TENSOR,)):
            with pytest.raises(rc.RecoloristError, match=r"recolorist\.torchvision\.Colorist"):
                v2.Compose([aug, v2.ToImage()])(*sample)


class TestCompiled:
    """Drawing stays out of the graph, so that the transform works in compiled code; it is not part of a full graph."""

    def test_same_as_without(self) -> None:
        transform = Colorist(BANK, p=0.5)
        compiled = torch.compile(lambda image: transform(image) / 2, backend="eager")
        for seed in range(3):
            torch.manual_seed(seed)
            expected = transform(TENSOR) / 2
            torch.manual_seed(seed)
            assert torch.equal(compiled(TENSOR), expected)


class TestEdges:
    @pytest.mark.parametrize("shape", [(0, 3, 8, 9), (2, 0, 3, 8, 9)])
    def test_a_video_without_frames(self, shape: tuple[int, ...]) -> None:
        video = tv_tensors.Video(torch.zeros(shape, dtype=torch.uint8))
        result = Colorist(BANK, p=1.0)(video)
        assert type(result) is tv_tensors.Video
        assert result.shape == shape

    def test_a_result_without_gradients_is_announced(self) -> None:
        image = (TENSOR / 255).requires_grad_()
        with pytest.warns(DetachedWarning, match="ColorMatch"):
            result = Colorist(BANK, p=1.0)(image)
        assert not result.requires_grad
