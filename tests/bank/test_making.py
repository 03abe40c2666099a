"""How a bank was made, and warnings where images are measured otherwise."""

import copy
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist import collections
from recolorist.bank.making import LeftOut, MaskCheck, PreprocessingWarning, describe_mask, warn_of_other_mask
from tests.commands import run_here


@pytest.mark.parametrize(("bank", "mask"), [("none", "fundus"), ("tissue", None), ("tissue", "fundus")])
def test_another_rule_is_named_with_that_of_the_bank(bank: str, mask: str | None) -> None:
    with pytest.warns(PreprocessingWarning) as caught:
        warn_of_other_mask(bank, mask, "these images")
    text = str(caught[0].message)
    assert ("all pixels" if bank == "none" else repr(bank)) in text
    assert ("all pixels" if mask is None else repr(mask)) in text
    assert "build the bank in the same way" in text


@pytest.mark.parametrize(("bank", "mask"), [("none", None), ("tissue", "tissue"), (None, "tissue"), ("own", None), ("none", len)])
def test_the_same_rule_and_unknown_ones_are_silent(bank: str | None, mask: str | Callable[..., int] | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_other_mask(bank, mask, "these images")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng, images = np.random.default_rng(0), tmp_path / "images"
    images.mkdir()
    for i in range(60):  # fewer would be warned of by the gate
        low = rng.integers(0, 90)
        Image.fromarray(rng.integers(low, low + 120, (9, 8, 3), dtype=np.uint8)).save(images / f"{i}.png")
    return images


class TestEveryRoute:
    """The bank of all pixels, and images of which the foreground is measured."""

    def test_in_python(self, folder: Path, tmp_path: Path) -> None:
        bank = collections.build_bank(folder, split="train").bank
        for use in (
            lambda: rc.Colorist(bank, mask="fundus"),
            lambda: rc.Harmoniser(bank, mask="fundus"),
            lambda: collections.augment(folder, tmp_path / "a", bank, mask="fundus"),
            lambda: collections.harmonise(folder, tmp_path / "b", bank, mask="fundus", gate="off"),
            lambda: collections.drift(bank, folder, mask="fundus"),
        ):
            with pytest.warns(PreprocessingWarning, match="measured on all pixels, and .* on the pixels of mask 'fundus'"):
                use()

    def test_by_commands(self, folder: Path, tmp_path: Path) -> None:
        bank = tmp_path / "bank.rcb"
        collections.build_bank(folder, split="train").bank.save(bank)
        for words in (
            ("harmonise", folder, tmp_path / "a", "--to", bank),
            ("augment", folder, tmp_path / "b", "--bank", bank),
            ("match", folder / "0.png", bank, "-o", tmp_path / "c.png"),
        ):
            answer = run_here(*words, "--mask", "fundus")
            assert answer.code == 0
            assert "recolorist: warning: the bank was measured on all pixels" in answer.err
            assert "making.py" not in answer.err


class TestCheck:
    def test_a_call_without_a_mask_is_warned_of_once_where_the_bank_has_a_rule(self) -> None:
        tiles = np.random.default_rng(0).integers(0, 200, (14, 9, 8, 3), dtype=np.uint8)
        bank = rc.StyleBank.build(tiles, masks="tissue", split="train")
        inside = np.ones((9, 8), bool)
        for made in (rc.Colorist(bank, p=1.0, seed=1), rc.Harmoniser(bank, gate="off")):
            made(tiles[0], mask=inside)
            with pytest.warns(PreprocessingWarning, match="mask 'tissue', and these images on all pixels"):
                made(tiles[0])
            made(tiles[0])

    def test_a_copy_knows_what_the_first_one_did(self) -> None:
        check = MaskCheck("tissue", None)
        before = copy.copy(check).__reduce__()
        with pytest.warns(PreprocessingWarning):
            check.see(None)
        assert check.__reduce__() == before
        with pytest.warns(PreprocessingWarning):
            copy.copy(check).see(None)


class TestPaths:
    """A bank or its path, in either format, wherever one is taken."""

    @pytest.mark.parametrize("name", ["bank.rcb", "bank.json"])
    def test_every_function_takes_a_path(self, folder: Path, tmp_path: Path, name: str) -> None:
        path = tmp_path / "banks" / name
        path.parent.mkdir()
        bank = collections.build_bank(folder, split="train").bank
        bank.save(path)
        for given in (path, str(path)):
            assert rc.Colorist(given).bank.fingerprint == bank.fingerprint
            assert rc.Harmoniser(given).bank.fingerprint == bank.fingerprint  # type: ignore[union-attr]
            assert collections.drift(given, folder).region.styles == 60
            assert len(collections.audit(folder, given).lines) == 60
        assert len(collections.augment(folder, tmp_path / "a", path).lines) == 60
        assert len(collections.harmonise(folder, tmp_path / "b", path).lines) == 60

    def test_a_damaged_json_bank_is_refused(self, folder: Path, tmp_path: Path) -> None:
        path = collections.build_bank(folder, split="train").bank.save(tmp_path / "bank.json")
        path.write_text(path.read_text().replace("0.4", "0.5", 1))
        with pytest.raises(rc.RecoloristError, match=r"bank\.json.*checksum"):
            rc.Colorist(path)


def test_left_out_images_are_read_from_any_file() -> None:
    assert LeftOut.of(3, 1, None) == LeftOut("3", "1", None)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (None, "pixels that it does not name"),
        ("none", "all pixels"),
        ("own", "the pixels of given masks"),
        ("tissue", "the pixels of mask 'tissue'"),
    ],
)
def test_a_rule_is_described_in_a_sentence(rule: str | None, text: str) -> None:
    assert describe_mask(rule) == text
