"""Colour matching in training: how often, from whom, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import recolorist as rc
from recolorist.errors import OptionError
from recolorist_lab.augmentations import TrainingImages, build
from recolorist_lab.augmentations.colour import ColoristAugmentation, partners
from recolorist_lab.augmentations.table import AUGMENTATIONS, make_part
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.manifest import Entry, Facts, Manifest
from recolorist_lab.data.synthetic import Recipe, make
from tests.lab.augmentations.parts import always, built, images


def core_of(name: str, **options: Any) -> rc.Colorist:
    made = build(name, images(), seed=7, options=options)
    assert isinstance(made, ColoristAugmentation)
    core: rc.Colorist = made.core
    return core


def test_three_images_in_ten_are_changed() -> None:
    for name in ("colorist", "histogram", "randstainna"):
        assert AUGMENTATIONS[name].p == 0.3
    image = images().pixels(0)
    change = built("colorist")
    changed = sum(change(image, index=index % 24, epoch=index // 24) is not image for index in range(10_000))
    assert abs(changed / 10_000 - 0.30) < 0.015


def test_the_style_is_another_image_of_the_split_and_all_are_drawn() -> None:
    core = core_of("colorist", p=1.0)
    rows = [core.draw(core.bank.keys[5], index=5, epoch=epoch).style.row for epoch in range(600)]  # type: ignore[union-attr]
    assert 5 not in rows
    assert set(rows) == set(range(24)) - {5}
    assert core.bank.keys[5] == images().samples[5].key


def test_the_image_gets_the_colours_of_that_style() -> None:
    core = core_of("colorist", p=1.0)
    result = always("colorist")(images().pixels(2), index=2, epoch=4)
    style = core.draw(core.bank.keys[2], index=2, epoch=4).style.row  # type: ignore[union-attr]
    wanted = rc.match(images().pixels(2), images().pixels(int(style or 0)))
    assert np.abs(result.astype(int) - wanted).max() <= 1
    assert not np.array_equal(result, images().pixels(2))


def test_other_domain_takes_styles_of_the_other_hospital_only() -> None:
    core = core_of("colorist_other_domain", p=1.0)
    own = core.bank.domain(3)
    rows = [core.draw(core.bank.keys[3], index=3, epoch=epoch).style.row for epoch in range(100)]  # type: ignore[union-attr]
    assert {core.bank.domain(int(row or 0)) for row in rows} == set(core.bank.domains) - {own}


def test_randstainna_draws_styles_nobody_has_in_lab() -> None:
    core = core_of("randstainna", p=1.0)
    drawn = [core.draw(core.bank.keys[0], index=0, epoch=epoch) for epoch in range(5)]
    assert all(one is not None and one.style.row is None for one in drawn)
    assert core.space == core.bank.space == "lab"


def test_the_change_of_the_own_style_is_the_sampler_of_the_library() -> None:
    """The study's name, and the line that a user would write, give the same images."""
    core = core_of("own_style", p=1.0, scale=2.0, mix=0.2)
    draw = core.draw(core.bank.keys[2], index=2, epoch=4)
    assert draw is not None
    assert draw.style.name == "own_style(2, 0.1, 0.2)"
    assert (core.method, AUGMENTATIONS["own_style"].p) == ("covariance", 0.5)
    image = images().pixels(2)
    ours, theirs = (
        build(text, images(), seed=7)(image, index=2, epoch=4)
        for text in ("own_style(p=1.0)", "colorist(sampler='own_style', method='covariance', p=1.0)")
    )
    assert np.array_equal(ours, theirs)
    assert not np.array_equal(ours, image)


@pytest.mark.parametrize("option", ["scale", "least", "mix"])
def test_sizes_of_the_change_outside_their_limits_are_refused(option: str) -> None:
    with pytest.raises(OptionError, match=option):
        build("own_style", images(), seed=1, options={option: -1.0})


def test_an_image_that_is_not_of_the_split_is_refused() -> None:
    with pytest.raises(OptionError, match="index=24 came; the training split has the images 0 to 23"):
        built("colorist")(images().pixels(0), index=24, epoch=0)


def test_styles_of_other_splits_are_refused() -> None:
    with pytest.raises(OptionError, match="'test' images"):
        TrainingImages(make(Recipe(hospitals=3, tiles=4, size=16)).samples("test"))


def test_histograms_become_those_of_another_image() -> None:
    image, change = images().pixels(1), always("histogram")
    result = change(image, index=1, epoch=0)
    others = [rc.match(image, images().pixels(index), "histogram") for index in range(24) if index != 1]
    assert any(np.array_equal(result, other) for other in others)


def test_an_only_image_has_no_other_to_be_matched_to() -> None:
    alone = _only(images())
    assert len(alone) == 1
    for name in ("histogram", "colorist"):
        image = alone.pixels(0)
        assert np.array_equal(build(name, alone, seed=0, p=1.0)(image, index=0, epoch=0), image)


def _only(several: TrainingImages) -> TrainingImages:
    """The first image of a split, alone."""
    entry = several.samples.manifest[0]
    manifest = Manifest.of([entry], several.samples.manifest.facts)
    return TrainingImages(Samples(manifest, "train", size=None, arrays=several.samples._arrays))


class TestBatches:
    def test_a_fixed_share_is_changed_by_the_next_of_the_share(self) -> None:
        change = build("colorist(mode='batch_fraction')", images(), seed=7)
        batch = (
            torch.rand(32, 3, 8, 8, generator=torch.Generator().manual_seed(0)) * torch.linspace(0.2, 1, 32)[:, None, None, None]
        )
        for step in range(5):
            result = change.batch(batch, epoch=0, step=step)
            changed = [i for i in range(32) if not torch.equal(result[i], batch[i])]
            assert len(changed) == int(0.3 * 32)
            means = {i: batch[i].mean(dim=(1, 2)) for i in changed}
            sources = []
            for i in changed:
                near = min(changed, key=lambda j, i=i: float((result[i].mean(dim=(1, 2)) - means[j]).abs().max()))  # type: ignore[misc]
                sources.append(near)
                assert near != i
            assert sorted(sources) == changed

    def test_images_are_left_alone_and_batches_are_keyed(self) -> None:
        change = build("colorist(mode='batch_fraction', p=0.5)", images(), seed=7)
        image = images().pixels(0)
        assert all(change(image, index=0, epoch=epoch) is image for epoch in range(20))
        batch = torch.rand(8, 3, 8, 8)
        first = change.batch(batch, epoch=1, step=2)
        assert torch.equal(first, change.batch(batch, epoch=1, step=2))
        assert not torch.equal(first, change.batch(batch, epoch=1, step=3))
        assert float(first.min()) >= 0
        assert float(first.max()) <= 1

    @pytest.mark.parametrize(("count", "p"), [(2, 0.3), (3, 0.3), (10, 0.1), (10, 0.99), (7, 1.0)])
    def test_nobody_is_matched_to_itself(self, count: int, p: float) -> None:
        for seed in range(50):
            chosen, styles = partners(count, p, np.random.default_rng(seed))
            assert len(chosen) == len(styles) == max(1, int(p * count))
            assert not (chosen == styles).any()

    def test_one_image_is_no_batch(self) -> None:
        change = build("colorist(mode='batch_fraction', p=1.0)", images(), seed=7)
        alone = torch.rand(1, 3, 8, 8)
        assert change.batch(alone, epoch=0, step=0) is alone
        assert change.has_batch
        assert not built("colorist").has_batch

    @pytest.mark.parametrize("options", ["space='lab'", "sampler='gaussian'", "max_clip=0.1", "method='covariance'"])
    def test_what_batches_cannot_do_is_refused(self, options: str) -> None:
        with pytest.raises(OptionError):
            build(f"colorist(mode='batch_fraction', {options})", images(), seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "batch"}, "batch_fraction"),
        ({"space": "rbg"}, "rgb"),
        ({"method": "histogram"}, "augmentation 'histogram'"),
        ({"sampler": "nearest"}, "uniform"),
    ],
)
def test_wrong_options_say_what_is_accepted(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        build("colorist", images(), seed=0, options=options)


def test_the_options_reach_the_library() -> None:
    core = core_of("colorist", space="lab", strength=0.5, max_gain=3.0, max_clip=0.1, method="mean_std")
    assert (core.space, core.strength, core.max_gain, core.max_clip) == ("lab", (0.5, 0.5), 3.0, 0.1)
    assert core_of("colorist").max_clip is None
    assert make_part("colorist", {"p": 1}).p == 1.0


def letterboxed() -> tuple[TrainingImages, Samples]:
    """Wide pictures on a square, as files of other shapes come."""
    rng = np.random.default_rng(0)
    wide = rng.integers(60, 200, (6, 20, 40, 3), dtype=np.uint8) * np.linspace(0.6, 1.2, 6)[:, None, None, None]
    entries = [Entry("synthetic", "train", "a", "wide.npy", (row % 2,), row) for row in range(6)]
    manifest = Manifest.of(entries, Facts("synthetic", "Wide", "binary", ("no", "yes")))
    samples = Samples(manifest, "train", size=32, resize="letterbox", arrays={"wide.npy": wide.astype(np.uint8)})
    return TrainingImages(samples), samples


@pytest.mark.parametrize("name", ["colorist", "histogram", "randstainna", "colorist+random_flip"])
def test_borders_stay_black_and_out_of_the_statistics(name: str) -> None:
    wide, samples = letterboxed()
    change = build(name.replace("colorist+", "colorist(p=1.0)+") if "+" in name else f"{name}(p=1.0)", wide, seed=1)
    sample = samples[0]
    result = change(sample.image, index=0, epoch=0, box=sample.box)
    x0, y0, x1, y1 = sample.box
    assert (result[:y0] == 0).all()
    assert (result[y1:] == 0).all()
    assert not np.array_equal(result, sample.image)
    if name == "colorist":
        bank = wide.bank()
        means = result[y0:y1, x0:x1].mean(axis=(0, 1)) / 255
        assert np.abs(bank.mean[1:] - means).max(axis=1).min() < 0.01
