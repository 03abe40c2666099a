from __future__ import annotations

import inspect
import pickle  # noqa: TID251 - a spawned loader worker gets its transforms by it
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="MONAI stands on PyTorch")
pytest.importorskip("monai", reason="monai is an extra")

from monai.data.dataloader import DataLoader as MonaiLoader  # noqa: E402 - skipped without the framework
from monai.data.meta_obj import set_track_meta  # noqa: E402
from monai.data.meta_tensor import MetaTensor  # noqa: E402
from monai.transforms.compose import Compose  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

import recolorist as rc  # noqa: E402
from recolorist import monai as adapter  # noqa: E402
from recolorist.monai import RandColorist, RandColoristd  # noqa: E402
from tests.frameworks import workers  # noqa: E402

pytestmark = pytest.mark.filterwarnings(*workers.LOADER_WARNINGS)

TILES = workers.tiles(8, seed=1)
BANK = workers.bank()


def channel_first(image: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(image, -1, 0)))


def channel_last(tensor: Any) -> Any:
    return np.moveaxis(np.asarray(tensor), 0, -1)


def style_of(out: Any, content: Any, **options: Any) -> int:
    """The row of the bank whose style this is: the drawn map is the core's, bit for bit."""
    fits = [row for row in range(len(BANK)) if np.array_equal(rc.match(content, BANK.moments(row), **options), out)]
    assert len(fits) == 1, "no single style of the bank gives this image"
    return fits[0]


class Array:
    """The array version as the harness calls it."""

    def __init__(self, seed: int | None = 7, **options: Any) -> None:
        made = RandColorist(BANK, **{"prob": 1.0} | options)
        self.transform = Compose([made]).set_random_state(seed) if seed is not None else made

    def __call__(self, image: workers.Image, mask: workers.Image, index: int) -> tuple[Any, Any]:  # noqa: ARG002
        return self.transform(channel_first(image)), mask


class Dictionary:
    """The dictionary version as the harness calls it."""

    def __init__(self, seed: int | None = 7, **options: Any) -> None:
        chosen: dict[str, Any] = {"prob": 1.0, "mask_key": "mask"} | options
        made = RandColoristd("image", BANK, **chosen)
        self.transform = Compose([made]).set_random_state(seed) if seed is not None else made

    def __call__(self, image: workers.Image, mask: workers.Image, index: int) -> tuple[Any, Any]:  # noqa: ARG002
        out = self.transform({"image": channel_first(image), "mask": torch.from_numpy(mask)[None]})
        return out["image"], out["mask"]


@pytest.mark.parametrize("version", [Array, Dictionary])
@pytest.mark.parametrize("loader", [DataLoader, MonaiLoader])
class TestWorkers:
    def test_workers_and_epochs_differ_and_a_rerun_repeats(self, version: Any, loader: Any) -> None:
        runs = []
        for _ in range(2):
            dataset = workers.Repeated(version())
            runs.append(workers.two_epochs(dataset, loader))
            workers.assert_varied(runs[-1])
            workers.assert_kept(runs[-1], dataset, "MetaTensor torch.uint8 (3, 20, 28)")
        assert runs[0] == runs[1]

    def test_unseeded_they_differ_too(self, version: Any, loader: Any) -> None:
        workers.assert_varied(workers.two_epochs(workers.Repeated(version(seed=None)), loader))


@pytest.mark.parametrize("version", [Array, Dictionary])
def test_the_coin_differs_too(version: Any) -> None:
    dataset = workers.Repeated(version(prob=0.5), count=40)
    untouched = workers.two_epochs(workers.Repeated(version(prob=0.0)))[0][0].image
    parts = [part for epoch in workers.two_epochs(dataset) for part in workers.by_worker(epoch)]
    changed = [tuple(image == untouched for image in part) for part in parts]
    assert len(set(changed)) == 4
    assert 16 <= sum(map(sum, changed)) <= 64  # of 80 at one half: five deviations


class TestArray:
    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32", "float64"])
    def test_equals_the_core(self, dtype: str) -> None:
        content = TILES[0] if dtype == "uint8" else (TILES[0] / 255 * (65535 if dtype == "uint16" else 1)).astype(dtype)
        out = RandColorist(BANK, prob=1.0).set_random_state(2)(channel_first(content))
        assert out.dtype == getattr(torch, dtype)
        assert out.is_contiguous()
        assert style_of(channel_last(out), content) >= 0

    def test_metadata_is_kept(self) -> None:
        image = MetaTensor(channel_first(TILES[0]), affine=torch.diag(torch.tensor([2.0, 3.0, 1.0, 1.0])), meta={"site": 4})
        out = RandColorist(BANK, prob=1.0)(image)
        assert out.meta["site"] == 4
        assert torch.equal(out.affine, image.affine)

    @pytest.mark.parametrize("given", [np.asarray, torch.as_tensor])
    def test_arrays_become_tensors_as_everywhere_in_monai(self, given: Any) -> None:
        image = given(channel_first(TILES[0]).numpy())
        transform = RandColorist(BANK, prob=1.0)
        assert isinstance(transform(image), MetaTensor)
        set_track_meta(False)
        try:
            assert type(transform(image)) is torch.Tensor
        finally:
            set_track_meta(True)

    def test_the_input_is_not_written(self) -> None:
        image = channel_first(TILES[0])
        RandColorist(BANK, prob=1.0)(image)
        assert torch.equal(image, channel_first(TILES[0]))

    def test_a_volume_takes_one_plan(self) -> None:
        volume = np.stack(list(TILES[:4]), axis=2)  # (H, W, D, C)
        out = RandColorist(BANK, prob=1.0)(torch.from_numpy(np.moveaxis(volume, -1, 0).copy()))
        assert out.shape == (3, 20, 28, 4)
        flat = volume.reshape(20, -1, 3)
        assert style_of(channel_last(out).reshape(20, -1, 3), flat) >= 0

    def test_floats_of_another_range_are_refused_until_declared(self) -> None:
        image = channel_first(TILES[0]).float()
        with pytest.raises(rc.RecoloristError, match="data_range=255"):
            RandColorist(BANK, prob=1.0)(image)
        assert RandColorist(BANK, prob=1.0, data_range=255.0)(image).max() > 100

    @pytest.mark.parametrize("shape", [(28,), (20, 28)])
    def test_not_an_image(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(rc.RecoloristError, match="channel-first"):
            RandColorist(BANK, prob=1.0)(torch.zeros(shape))

    def test_randomize_false_gives_the_last_style_again(self) -> None:
        transform = RandColorist(BANK, prob=1.0)
        first = style_of(channel_last(transform(channel_first(TILES[0]))), TILES[0])
        again = [style_of(channel_last(transform(channel_first(tile), randomize=False)), tile) for tile in TILES]
        assert set(again) == {first}

    def test_pickled(self) -> None:
        one = RandColorist(BANK, prob=0.5).set_random_state(4)
        other = pickle.loads(pickle.dumps(one))  # noqa: S301 - our own
        images = [channel_first(tile) for tile in TILES]
        assert all(torch.equal(one(image), other(image)) for image in images)

    def test_backends_are_reported(self) -> None:
        assert {str(backend) for backend in RandColorist.backend} == {"torch", "numpy"}
        assert RandColoristd.backend == RandColorist.backend


class TestDictionary:
    sample = {"a": channel_first(TILES[0]), "b": channel_first(TILES[1]), "label": 2}  # noqa: RUF012 - never changed

    def test_one_draw_for_all_keys(self) -> None:
        out = RandColoristd(["a", "b"], BANK, prob=1.0)(self.sample)
        rows = [style_of(channel_last(out[key]), tile) for key, tile in zip("ab", TILES, strict=False)]
        assert rows[0] == rows[1]
        assert out["label"] == 2
        assert torch.equal(self.sample["a"], channel_first(TILES[0]))

    def test_set_random_state_is_forwarded(self) -> None:
        first, second, third = (
            [RandColoristd("a", BANK, prob=0.5).set_random_state(seed)(self.sample)["a"].sum() for _ in range(6)]
            for seed in (1, 1, 2)
        )
        drawn = [RandColoristd("a", BANK, prob=1.0).set_random_state(seed)(self.sample)["a"] for seed in (1, 1, 2)]
        assert first == second
        assert torch.equal(drawn[0], drawn[1])
        assert not torch.equal(drawn[0], drawn[2])
        assert len(third) == 6

    def test_missing_keys(self) -> None:
        with pytest.raises(KeyError, match="c"):
            RandColoristd(["a", "c"], BANK, prob=1.0)(self.sample)
        out = RandColoristd(["a", "c"], BANK, prob=1.0, allow_missing_keys=True, mask_key="nowhere")(self.sample)
        assert set(out) == set(self.sample)
        with pytest.raises(rc.RecoloristError, match="no 'nowhere'"):
            RandColoristd("a", BANK, prob=1.0, mask_key="nowhere")(self.sample)

    @pytest.mark.parametrize("kind", ["bool", "uint8", "float32"])
    @pytest.mark.parametrize("channels", [0, 1, 2])
    def test_mask_by_key(self, kind: str, channels: int) -> None:
        inside = np.zeros((20, 28), bool)
        inside[4:15, 3:20] = True
        mask = torch.from_numpy(inside.astype(kind))
        mask = mask if channels == 0 else torch.stack([mask, *[torch.zeros_like(mask)] * (channels - 1)])
        change = RandColoristd("a", BANK, prob=1.0, mask_key="mask", apply_to="mask")
        out = change({**self.sample, "mask": mask})
        assert style_of(channel_last(out["a"]), TILES[0], mask=inside, apply_to="mask") >= 0
        assert np.array_equal(channel_last(out["a"])[~inside], TILES[0][~inside])
        assert torch.equal(out["mask"], mask)

    def test_mask_that_does_not_fit(self) -> None:
        with pytest.raises(rc.RecoloristError, match="does not fit"):
            RandColoristd("a", BANK, prob=1.0, mask_key="mask")({**self.sample, "mask": torch.ones(1, 5, 5)})

    def test_label_and_key(self) -> None:
        change = RandColoristd("a", BANK, prob=1.0, sampler="same_label", label_key="label", sample_key="name")
        rows = {style_of(channel_last(change({**self.sample, "name": "5"})["a"]), TILES[0]) for _ in range(30)}
        assert {BANK.label(row) for row in rows} == {"2"}
        assert 5 not in rows

    def test_aliases(self) -> None:
        assert adapter.RandColoristD is adapter.RandColoristDict is RandColoristd

    def test_not_drawn_is_not_changed(self) -> None:
        out = RandColoristd(["a", "b"], BANK, prob=0.0)(self.sample)
        assert torch.equal(out["a"], self.sample["a"])
        assert isinstance(out["a"], MetaTensor)


class TestIntegers:
    """MONAI turns uint16 arrays into int32, and its readers give int16 and int32."""

    LEVELS = TILES[0].astype(np.uint16) * 257

    def test_uint16_arrays_become_int32_as_everywhere_in_monai(self) -> None:
        change = RandColorist(BANK, prob=1.0).set_random_state(2)
        out = change(np.moveaxis(self.LEVELS, -1, 0))
        assert out.dtype == torch.int32
        assert style_of(channel_last(out).astype(np.uint16), self.LEVELS) >= 0
        assert RandColorist(BANK, prob=0.0)(np.moveaxis(self.LEVELS, -1, 0)).dtype == torch.int32

    @pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
    def test_with_a_declared_range(self, dtype: str) -> None:
        levels = self.LEVELS // 16  # 12 bits
        change = RandColorist(BANK, prob=1.0, data_range=4095).set_random_state(2)
        out = change(channel_first(levels.astype(dtype)))
        assert out.dtype == getattr(torch, dtype)
        assert style_of(channel_last(out).astype(np.uint16), levels, data_range=4095) >= 0
        assert int(out.max()) <= 4095

    def test_without_a_declared_range_the_user_is_told_to_declare_it(self) -> None:
        with pytest.raises(rc.RecoloristError, match=r"int16.*data_range=4095"):
            RandColorist(BANK, prob=1.0)(channel_first(TILES[0].astype(np.int16)))

    def test_negative_values_are_refused(self) -> None:
        with pytest.raises(rc.RecoloristError, match=r"-5 to .* outside its declared range"):
            RandColorist(BANK, prob=1.0, data_range=4095)(channel_first(TILES[0].astype(np.int16) - 5 - TILES[0].min()))


@pytest.mark.parametrize("shape", [(3, 0, 5), (0, 5, 5), (3, 4, 5, 0), (3, 4)])
@pytest.mark.parametrize("prob", [0.0, 1.0])
def test_images_without_pixels_are_refused_whatever_was_drawn(shape: tuple[int, ...], prob: float) -> None:
    with pytest.raises(rc.RecoloristError, match="shape"):
        RandColorist(BANK, prob=prob)(torch.zeros(shape))


def test_the_dictionary_version_spells_out_its_options() -> None:
    own = {"keys", "mask_key", "sample_key", "label_key", "domain_key", "allow_missing_keys"}
    options = inspect.signature(RandColoristd).parameters
    assert set(options) - own == set(inspect.signature(RandColorist).parameters)
    for name, option in inspect.signature(RandColorist).parameters.items():
        assert options[name].default == option.default


def test_a_bundle_configures_it() -> None:
    """JSON and YAML have no tuples."""
    from monai.bundle.config_parser import ConfigParser

    entry = {"_target_": "recolorist.monai.RandColoristd", "keys": "image", "bank": "@bank", "strength": [0.2, 0.8]}
    made = ConfigParser({"change": entry, "bank": BANK}).get_parsed_content("change")
    assert made.array.core.strength == (0.2, 0.8)
