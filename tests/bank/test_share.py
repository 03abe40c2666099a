"""Banks to give away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist.bank.gaussian import share_gaussian
from recolorist.bank.names import find_patients
from recolorist.bank.share import describe_sharing, share
from recolorist.demo.synthetic import SCANNERS, tile
from recolorist.errors import OptionError, StatisticsError
from tests.commands import picture, refused, run_here, run_json


@pytest.fixture(scope="module")
def bank() -> rc.StyleBank:
    names = [name for name in sorted(SCANNERS) for _ in range(15)]
    images = [tile(number, name, 32) for number, name in enumerate(names)]
    labels = ["sick" if number % 5 == 0 else "well" for number in range(len(images))]
    keys = [f"patient-{number}" for number in range(len(images))]
    return rc.StyleBank.build(images, keys=keys, labels=labels, domains=names, split="train", name="ward")


def test_nothing_that_names_a_patient_is_left(bank: rc.StyleBank) -> None:
    given = share(bank, 8.0, 1).bank
    assert "patient" not in given.to_json()
    assert "ward" not in given.to_json()
    assert given.labels == ()
    assert given.histograms is None
    assert len(set(given.pixels.tolist())) == 1


def test_every_number_lies_on_the_grid(bank: rc.StyleBank) -> None:
    given = share(bank, 8.0, 1).bank
    for values in (given.mean, given.std):
        steps = values * 255 / 4.0  # half steps: the smallest deviation that is not zero
        assert np.allclose(steps, np.round(steps), atol=1e-6)


def test_the_rows_do_not_tell_the_order_of_the_images(bank: rc.StyleBank) -> None:
    turned = bank.subset(rows=np.arange(len(bank))[::-1])
    assert share(turned, 8.0, 1).bank.fingerprint == share(bank, 8.0, 1).bank.fingerprint


def test_no_style_is_shared_by_fewer_than_asked(bank: rc.StyleBank) -> None:
    given = share(bank, step=24.0, at_least=3)
    cells = np.column_stack([given.bank.domain_codes, given.bank.mean, given.bank.cov.reshape(len(given.bank), -1)])
    _, counts = np.unique(cells.round(9), axis=0, return_counts=True)
    assert counts.min() >= 3
    assert given.alone_after == 0.0
    assert given.left_out == len(bank) - len(given.bank) > 0


def test_a_shared_style_is_near_the_true_one_and_can_be_matched_to(bank: rc.StyleBank) -> None:
    given = share(bank, 2.0, 1, keep_domains=True).bank
    for name in bank.domains:
        apart = bank.subset(domain=name).mean.mean(axis=0) - given.subset(domain=name).mean.mean(axis=0)
        assert np.abs(apart).max() * 255 < 1.0
    assert (np.linalg.eigvalsh(given.cov) >= 0).all()
    out = rc.match(tile(99, "north", 32), given.moments(0), method="covariance")
    assert out.shape == (32, 32, 3)


def test_rounding_leaves_fewer_alone(bank: rc.StyleBank) -> None:
    shares = [share(bank, step, 1).alone_after for step in (0.5, 8.0, 32.0)]
    assert shares[0] == share(bank, 8.0, 1).alone_before == 1.0
    assert shares[0] > shares[1] > shares[2]


def test_a_flat_image_stays_flat() -> None:
    flat = rc.StyleBank.build([np.full((8, 8, 3), 90, np.uint8)] * 2, split="train", with_blank=True)
    assert share(flat, at_least=2).bank.std.max() == 0.0


@pytest.mark.parametrize(("step", "at_least"), [(0.0, 1), (99.0, 1), (1.0, 0)])
def test_bad_options_are_refused(bank: rc.StyleBank, step: float, at_least: int) -> None:
    with pytest.raises(OptionError, match="accepted are steps"):
        share(bank, step=step, at_least=at_least)


def test_a_crowd_that_is_not_there_is_refused(bank: rc.StyleBank) -> None:
    with pytest.raises(StatisticsError, match="no style is shared by 1000 images"):
        share(bank, at_least=1000)


def test_the_command_tells_how_well_the_styles_hide(bank: rc.StyleBank, tmp_path: Path) -> None:
    bank.save(tmp_path / "in.npz")
    summary = run_json("bank", "share", tmp_path / "in.npz", "-o", tmp_path / "out.npz", "--step", "16", "--at-least", "2")
    assert summary["alone_before"] == 1.0
    assert summary["alone_after"] == 0.0
    assert rc.StyleBank.load(tmp_path / "out.npz").keys[0] == "0"
    assert "--force" in refused("bank", "share", tmp_path / "in.npz", "-o", tmp_path / "out.npz")


def test_labels_and_domains_go_or_stay_as_asked(bank: rc.StyleBank) -> None:
    both = share(bank, 8.0, 1, keep_labels=True).bank
    assert (both.labels, both.domains) == (bank.labels, bank.domains)
    neither = share(bank, 8.0, 1, keep_domains=False).bank
    assert (neither.labels, neither.domains) == ((), ())


def test_images_of_two_domains_do_not_share_a_style() -> None:
    same = [np.arange(192, dtype=np.uint8).reshape(8, 8, 3)] * 4
    bank = rc.StyleBank.build(same, domains=["a", "a", "a", "b"], split="train")
    given = share(bank, at_least=2)
    assert (given.bank.domains, len(given.bank), given.left_out) == (("a",), 3, 1)
    assert len(share(bank, at_least=2, keep_domains=False).bank) == 4


def test_split_and_space_stay_the_name_if_asked_and_the_rounding_is_recorded(bank: rc.StyleBank) -> None:
    given = share(bank, step=8.0, at_least=1).bank
    assert (given.name, given.split, given.space, given.size) == ("", "train", "rgb", None)
    assert given.preprocessing == "rounded to 8 levels, 1 images a style or more"
    assert share(bank, step=8.0, at_least=1, keep_name=True).bank.name == "ward"


def test_the_default_leaves_no_style_that_fewer_than_five_images_share(bank: rc.StyleBank) -> None:
    given = share(bank, step=32.0, keep_domains=False)
    cells = np.column_stack([given.bank.mean, given.bank.cov.reshape(len(given.bank), -1)])
    assert np.unique(cells.round(9), axis=0, return_counts=True)[1].min() >= 5
    assert given.bank.preprocessing.endswith("5 images a style or more")


def test_patients_are_counted_and_not_their_images() -> None:
    """Five images of one patient make one style; with its images counted it would be given away."""
    looks = [np.arange(192, dtype=np.uint8).reshape(8, 8, 3) // 2 + shade for shade in (0, 60)]
    keys = [f"{name}_{i}" for i, name in enumerate("aaaaabcdef")]
    bank = rc.StyleBank.build([looks[0]] * 5 + [looks[1]] * 5, keys=keys, split="train")
    assert len(share(bank).bank) == 10
    given = share(bank, patients=find_patients(bank.keys, "^([^_]+)_"))
    assert (len(given.bank), given.left_out, given.alone_before) == (5, 5, 0.5)
    assert given.bank.preprocessing.endswith("5 patients a style or more")


@pytest.mark.parametrize("channels", [1, 2])
def test_banks_of_other_channels(channels: int) -> None:
    images = np.random.default_rng(0).integers(0, 256, (9, 8, 8, channels), dtype=np.uint8)
    given = share(rc.StyleBank.build(images, split="train"), 16.0, 1)
    assert (given.bank.channels, len(given.bank)) == (channels, 9)


def test_a_step_that_is_no_number_is_refused(bank: rc.StyleBank) -> None:
    with pytest.raises(OptionError, match="accepted are steps"):
        share(bank, step=float("nan"))


@pytest.mark.parametrize("count", [0, 1, 41])
def test_one_patient_for_each_style(bank: rc.StyleBank, count: int) -> None:
    """Other numbers ended in an error of NumPy."""
    with pytest.raises(OptionError, match=f"there are {count} patients for {len(bank)} styles; give one for each"):
        share(bank, patients=np.array(["p"] * count))


def test_drift_and_the_gate_refuse_a_bank_made_for_sharing(bank: rc.StyleBank, tmp_path: Path) -> None:
    """Rounded styles vary otherwise than images: drift called all images of the same laboratory drifted."""
    (tmp_path / "new").mkdir()
    Image.fromarray(picture(1)).save(tmp_path / "new" / "a.png")
    for form in (share(bank, 16.0, 2, keep_name=True).bank, share_gaussian(bank).bank):
        assert describe_sharing(form)
        form.save(tmp_path / "s.rcb")
        assert "take the bank that it was made from" in refused("drift", tmp_path / "new", "--bank", tmp_path / "s.rcb")
        harmonise = ("harmonise", tmp_path / "new", tmp_path / "out", "--to", tmp_path / "s.rcb")
        assert "move every image, with --gate off" in refused(*harmonise)
        assert run_here(*harmonise, "--gate", "off", "--force").code == 0
        with pytest.raises(StatisticsError, match="made for sharing"):
            rc.Harmoniser(form)
    assert describe_sharing(bank) is None


def test_the_command_says_where_little_is_left(bank: rc.StyleBank, tmp_path: Path) -> None:
    bank.save(tmp_path / "b.rcb")
    answer = run_here("bank", "share", tmp_path / "b.rcb", "-o", tmp_path / "s.rcb", "--step", "16", "--at-least", "4")
    assert "Most styles are left out" in answer.out
    assert "the mean colour moved by" in answer.out
