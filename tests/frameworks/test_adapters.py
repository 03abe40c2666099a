"""What the adapters share: every option reaches the core, banks come as objects, paths and plain data, draws have places."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recolorist as rc
from recolorist import StyleBank, _adapters
from recolorist.augment.samplers import own_style_by
from recolorist.augment.streams import torch_worker_seed
from recolorist.errors import OptionError, StatisticsError

#: Module, class, attribute that holds the Colorist, and arguments before the bank.
ADAPTERS = {
    "torchvision": ("Colorist", "core", ()),
    "albumentations": ("Colorist", "_core", ()),
    "monai": ("RandColorist", "core", ()),
    "monai dictionaries": ("RandColoristd", "array.core", ("image",)),
    "kornia": ("RandomColorist", "core", ()),
    "huggingface": ("ColoristTransform", "core", ()),
    "torch": ("ColoristDataset", "colorist", ([(np.zeros((4, 4, 3), np.uint8), 0)],)),
}
#: A value for every option that differs from its default.
VALUES: dict[str, Any] = {
    "method": "covariance",
    "space": "ycbcr",
    "sampler": "interpolate",
    "strength": (0.25, 0.75),
    "max_gain": 3.0,
    "max_clip": 0.125,
    "max_loss": 0.25,
    "mask": "tissue",
    "apply_to": "mask",
    "data_range": 2.0,
    "blank": "match",
}
#: Options that an adapter lacks or takes for something else: Kornia's masks are of batches, a dataset's masks are in its samples.
OWN = {("kornia", option) for option in ("method", "max_clip", "max_loss", "mask", "data_range")} | {("torch", "mask")}


def make(name: str) -> tuple[Callable[..., Any], Callable[[Any], rc.Colorist]]:
    """The constructor of an adapter from the bank on, and the way to its Colorist."""
    module = pytest.importorskip(f"recolorist.{name.split(maxsplit=1)[0]}", exc_type=ModuleNotFoundError)
    class_name, path, before = ADAPTERS[name]
    kind = getattr(module, class_name)

    def core_of(adapter: Any) -> rc.Colorist:
        for part in path.split("."):
            adapter = getattr(adapter, part)
        assert isinstance(adapter, rc.Colorist)
        return adapter

    return lambda bank, **options: kind(*before, bank, **options), core_of


@pytest.fixture
def bank() -> StyleBank:
    tiles = np.random.default_rng(1).integers(0, 256, (8, 8, 9, 3), dtype=np.uint8)
    return StyleBank.build(tiles, labels=list("abababab"), domains=list("xxxxyyyy"), split="train")


@pytest.mark.parametrize("name", ADAPTERS)
class TestEveryAdapter:
    @pytest.mark.parametrize("option", VALUES)
    def test_every_option_reaches_the_core(self, name: str, option: str, bank: StyleBank) -> None:
        build, core_of = make(name)
        if (name, option) in OWN:
            pytest.skip("the adapter has no such option, or one of its own under this name")
        found, plain = core_of(build(bank, **{option: VALUES[option]})), core_of(build(bank))
        expected = getattr(rc.Colorist(bank, **{option: VALUES[option]}), option)
        assert getattr(found, option) == expected
        assert getattr(plain, option) != expected

    def test_a_range_of_strengths_may_come_as_a_list(self, name: str, bank: StyleBank) -> None:
        """JSON and YAML have no tuples."""
        build, core_of = make(name)
        assert core_of(build(bank, strength=[0.25, 0.75])).strength == (0.25, 0.75)

    @pytest.mark.parametrize("strength", [(1,), [0.9, 0.1], (0, 2), "strong"])
    def test_a_wrong_strength_is_refused(self, name: str, strength: Any, bank: StyleBank) -> None:
        build, _ = make(name)
        with pytest.raises(ValueError, match="strength"):  # Albumentations checks types before us, with an error of its own
            build(bank, strength=strength)

    @pytest.mark.parametrize("file", ["bank.rcb", "bank.json"])
    @pytest.mark.parametrize("kind", [str, Path])
    def test_the_bank_may_be_a_path(self, name: str, file: str, kind: type, bank: StyleBank, tmp_path: Path) -> None:
        path = tmp_path / file
        _ = path.write_text(bank.to_json()) if file.endswith("json") else bank.save(path)
        build, core_of = make(name)
        assert core_of(build(kind(path))).bank.fingerprint == bank.fingerprint

    @pytest.mark.parametrize("wrong", [None, 3, ["bank.rcb"]])
    def test_anything_else_gets_a_sentence(self, name: str, wrong: Any) -> None:
        build, _ = make(name)
        with pytest.raises(OptionError, match="accepted are a StyleBank and the path of a saved one"):
            build(wrong)

    def test_a_bank_of_another_split_must_be_allowed(self, name: str, bank: StyleBank) -> None:
        held_out = StyleBank(bank.mean, bank.cov, bank.pixels, bank.keys, split="test")
        build, core_of = make(name)
        with pytest.raises(OptionError, match="leak"):
            build(held_out)
        assert core_of(build(held_out, allow_split=True)).bank is not None

    def test_an_unknown_option_is_refused(self, name: str, bank: StyleBank) -> None:
        build, _ = make(name)
        with pytest.raises((TypeError, UserWarning), match="maks"):  # Albumentations warns
            build(bank, maks="tissue")


def test_the_values_cover_the_options() -> None:
    options = set(inspect.signature(rc.Colorist).parameters) - {"bank", "p", "seed", "preprocessing", "allow_split"}
    assert set(VALUES) == options


class TestColorMatch:
    """The module for batches has no Colorist inside, and the same rules."""

    @pytest.mark.parametrize("file", ["bank.rcb", "bank.json"])
    def test_the_bank_may_be_a_path(self, file: str, bank: StyleBank, tmp_path: Path) -> None:
        module = pytest.importorskip("recolorist.torch", exc_type=ModuleNotFoundError)
        path = tmp_path / file
        _ = path.write_text(bank.to_json()) if file.endswith("json") else bank.save(path)
        np.testing.assert_array_equal(module.ColorMatch(path).bank_mean.numpy(), bank.mean)

    @pytest.mark.parametrize("file", [None, "bank.rcb", "bank.json"])
    def test_so_may_that_of_conversions_and_collations(self, file: str | None, bank: StyleBank, tmp_path: Path) -> None:
        module = pytest.importorskip("recolorist.torch", exc_type=ModuleNotFoundError)
        given: Any = bank if file is None else tmp_path / file
        if file is not None:
            _ = given.write_text(bank.to_json()) if file.endswith("json") else bank.save(given)
        for made in (module.ToNormalizedTensor((0.5,) * 3, (0.5,) * 3, given), module.ParameterCollate(given)):
            assert made.colorist.bank.fingerprint == bank.fingerprint
        with pytest.raises(OptionError, match="accepted are a StyleBank"):
            module.ToNormalizedTensor((0.5,) * 3, (0.5,) * 3, 3)

    def test_strengths_and_banks(self, bank: StyleBank) -> None:
        module = pytest.importorskip("recolorist.torch", exc_type=ModuleNotFoundError)
        assert module.ColorMatch(bank, strength=[0.25, 0.75]).strength == (0.25, 0.75)
        with pytest.raises(OptionError, match="strength="):
            module.ColorMatch(bank, strength=(1,))
        with pytest.raises(OptionError, match="accepted are a StyleBank"):
            module.ColorMatch(3)


class TestDraws:
    def test_outside_of_workers_numbers_stay(self) -> None:
        assert torch_worker_seed() is None
        assert _adapters.mix_worker_seed(2**64 - 1) == 2**64 - 1

    def test_workers_get_other_numbers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for seed in (3, 2**64 - 1):
            monkeypatch.setattr("recolorist.augment.streams.torch_worker_seed", lambda seed=seed: seed)
            assert _adapters.mix_worker_seed(5) == (5 + seed) % 2**64

    @pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
    def test_chance_has_its_probability(self, p: float) -> None:
        share = np.mean([_adapters.draw_chance(p, place) for place in range(2000)])
        assert abs(share - p) < 0.04
        assert p not in (0.0, 1.0) or share == p

    def test_a_place_has_one_style(self, bank: StyleBank) -> None:
        core = rc.Colorist(bank, seed=0)
        styles = [_adapters.draw_style(core, place).style.row for place in range(50)]
        assert styles == [_adapters.draw_style(core, place).style.row for place in range(50)]
        assert len(set(styles)) == len(bank)

    def test_an_image_is_not_matched_to_itself(self, bank: StyleBank) -> None:
        core = rc.Colorist(bank, seed=0)
        assert 3 not in {_adapters.draw_style(core, place, key=3).style.row for place in range(60)}

    def test_labels_and_domains_reach_the_sampler(self, bank: StyleBank) -> None:
        same = rc.Colorist(bank, sampler="same_label", seed=0)
        rows = {_adapters.draw_style(same, place, label="b").style.row for place in range(40)}
        assert rows == {1, 3, 5, 7}
        other = rc.Colorist(bank, sampler="other_domain", seed=0)
        assert {_adapters.draw_style(other, place, domain="x").style.row for place in range(40)} == {4, 5, 6, 7}


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32])
def test_masks_of_signed_numbers_are_foreground_where_positive(dtype: type) -> None:
    assert _adapters.mask_to_bool(np.array([[-1, 0, 2]], dtype)).tolist() == [[False, False, True]]


def test_other_masks_stay_what_they_are() -> None:
    for mask in (None, np.array([[True]]), np.array([[255]], np.uint8)):
        assert _adapters.mask_to_bool(mask) is mask


class TestBanks:
    def test_a_small_bank_is_written_by_value(self, bank: StyleBank) -> None:
        entry = _adapters.encode_bank(bank)
        assert _adapters.open_bank(json.loads(json.dumps(entry)))[0].to_json() == bank.to_json()

    @pytest.mark.parametrize("file", ["bank.rcb", "bank.json"])
    def test_a_large_bank_is_named_by_its_file(self, bank: StyleBank, tmp_path: Path, file: str, monkeypatch: Any) -> None:
        monkeypatch.setattr(_adapters, "MOST_BY_VALUE", 4)
        path = tmp_path / file
        _ = path.write_text(bank.to_json()) if file.endswith("json") else bank.save(path)
        entry = _adapters.encode_bank(*_adapters.open_bank(path))
        assert isinstance(entry, dict)
        assert set(entry) == {"path", "sha256"}
        again, where = _adapters.open_bank(entry)
        assert (again.fingerprint, where) == (bank.fingerprint, path)
        path.write_bytes(path.read_bytes() + b" ")
        with pytest.raises(StatisticsError, match="SHA-256 differs"):
            _adapters.open_bank(entry)
        path.unlink()
        with pytest.raises(StatisticsError, match="which is not there"):
            _adapters.open_bank(entry)

    def test_a_large_bank_without_a_file_stays_an_object(self, bank: StyleBank, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_adapters, "MOST_BY_VALUE", 4)
        assert _adapters.encode_bank(bank) is bank

    def test_histograms_are_not_lost(self, tmp_path: Path) -> None:
        tiles = np.random.default_rng(1).integers(0, 256, (2, 8, 9, 3), dtype=np.uint8)
        path = StyleBank.build(tiles, with_histograms=True).save(tmp_path / "bank.rcb")
        again, _ = _adapters.open_bank(_adapters.encode_bank(*_adapters.open_bank(path)))
        assert again.histograms is not None

    def test_other_dictionaries_are_refused(self) -> None:
        with pytest.raises(OptionError, match="bank is a dict"):
            _adapters.open_bank({"mean": [1]})


def test_a_missing_framework_says_how_to_install_it() -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module("a_framework_that_is_not_there")
    error = _adapters.explain_missing("monai", caught.value)
    assert "pip install 'recolorist[monai]'" in str(error)
    assert error.name == "a_framework_that_is_not_there"


#: Options that an adapter fixes or replaces, so that its text need not hold them.
FIXED = {
    "torchvision": {"seed"},
    "albumentations": {"seed", "preprocessing"},
    "monai": {"seed", "preprocessing", "p"},
    "monai dictionaries": {"seed", "preprocessing", "p"},
    "kornia": {"seed", "preprocessing", "method", "max_clip", "max_loss", "data_range"},
}


class TestReprs:
    """A line of a log is enough to repeat a run."""

    @pytest.mark.parametrize("name", ADAPTERS)
    def test_every_option_is_shown(self, name: str, bank: StyleBank) -> None:
        build, _ = make(name)
        options = {option: value for option, value in VALUES.items() if (name, option) not in OWN} | {"allow_split": True}
        text = repr(build(bank, **options))
        assert repr(bank) in text
        for option in set(inspect.signature(rc.Colorist).parameters) - {"bank"} - FIXED.get(name, set()):
            assert f"{option}={options[option]!r}" in text if option in options else f"{option}=" in text, option
        own = set(inspect.signature(type(build(bank))).parameters)
        shown = {option for option in VALUES if f"{option}=" in text}
        assert "options" in own or shown <= own, "an option is shown that the adapter does not take"

    @pytest.mark.parametrize("name", ADAPTERS)
    def test_a_sampler_with_options_is_shown_with_them(self, name: str, bank: StyleBank) -> None:
        build, _ = make(name)
        text = repr(build(bank, sampler=own_style_by(2.0)))
        assert "sampler='own_style(scale=2.0, least=0.1, mix=0.1)'" in text
        assert "0x" not in text

    @pytest.mark.parametrize(("name", "option"), [("monai", "prob"), ("monai dictionaries", "prob"), ("kornia", "p")])
    def test_probabilities_are_exact(self, name: str, option: str, bank: StyleBank) -> None:
        build, _ = make(name)
        assert f"{option}=0.123456789" in repr(build(bank, **{option: 0.123456789}))

    def test_options_of_their_own(self, bank: StyleBank) -> None:
        names = {"mask_key": "tissue", "sample_key": "name", "label_key": "class", "domain_key": "site"}
        for name, more in {"albumentations": {}, "monai dictionaries": {"allow_missing_keys": True}}.items():
            build, _ = make(name)
            text = repr(build(bank, **names, **more))
            assert all(f"{option}={value!r}" in text for option, value in (names | more).items())
        build, _ = make("kornia")
        text = repr(build(bank, same_on_batch=True, keepdim=True, mask="tissue"))
        assert all(part in text for part in ("same_on_batch=True", "keepdim=True", "mask='tissue'"))
        build, _ = make("huggingface")
        text = repr(build(bank, column="scan", output="pixels", key_column="name", label_column="class", then=len))
        assert all(part in text for part in ("column='scan'", "output='pixels'", "key_column='name'", "label_column='class'"))
        assert "then=<built-in function len>" in text

    def test_the_core_shows_numbers_in_full(self, bank: StyleBank) -> None:
        text = repr(rc.Colorist(bank, p=0.123456789, strength=(0.2, 0.87654321), preprocessing="", seed=5))
        assert "p=0.123456789" in text
        assert "strength=(0.2, 0.87654321)" in text
        assert "preprocessing=''" in text
        assert "seed=5" in text

    def test_modules_and_datasets(self, bank: StyleBank) -> None:
        module = pytest.importorskip("recolorist.torch", exc_type=ModuleNotFoundError)
        match = module.ColorMatch(bank, p=0.5, data_range=255.0, mode="batch_fraction", strength=(0.5, 0.75))
        parts = (
            "p=0.5",
            "method='mean_std'",
            "strength=(0.5, 0.75)",
            "mode='batch_fraction'",
            "data_range=255.0",
            "generator=None",
        )
        assert all(part in repr(match) for part in parts)
        data = module.ColoristDataset([(np.zeros((4, 4, 3), np.uint8), 0)] * 3, bank, image=0, label=1, transform=len, seed=1)
        text = repr(data)
        assert all(
            part in text for part in ("list of 3 samples", "image=0", "label=1", "transform=<built-in", "parameters=False")
        )
        assert "array(" not in text
        assert "colorist=Colorist(" in repr(module.ParameterCollate(rc.Colorist(bank, seed=1), image="scan"))
