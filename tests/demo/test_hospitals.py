"""The classifier of the demonstration: what it learns from, what it is tested on, and that its numbers repeat."""

from __future__ import annotations

import numpy as np
import pytest

import recolorist as rc
from recolorist.demo import hospitals


def test_hospitals_have_both_classes_and_no_tile_in_common() -> None:
    made = hospitals.make_hospitals()
    assert len(made) == 3
    for hospital in made:
        assert np.bincount(hospital.labels).tolist() == [len(hospital.labels) // 2] * 2
    tiles = np.concatenate([hospital.tiles for hospital in made])
    assert len({tile.tobytes() for tile in tiles}) == len(tiles)


def test_every_hospital_is_left_out_once_in_every_training() -> None:
    scores = hospitals.compare()
    places = [(score.unseen, score.training) for score in scores]
    assert places == [(hospital.name, name) for hospital in hospitals.make_hospitals() for name in hospitals.TRAININGS]
    assert all(0.0 <= score.target <= 1.0 and score.images > 0 for score in scores)


def test_the_unseen_hospital_is_not_learnt_from(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    build = rc.StyleBank.build

    def spy(images: np.ndarray, **options: object) -> rc.StyleBank:
        seen.extend(image.tobytes() for image in images)
        return build(images, **options)

    monkeypatch.setattr(rc.StyleBank, "build", spy)
    first, *others = hospitals.make_hospitals()
    hospitals._train(others, first, "no augmentation", 0.0)
    assert len(seen) == sum(len(hospital.tiles) for hospital in others)
    assert not {tile.tobytes() for tile in first.tiles} & set(seen)


def test_numbers_repeat() -> None:
    once = hospitals.compare()
    hospitals.compare.cache_clear()
    assert hospitals.compare() == once


def test_texture_features_do_not_depend_on_the_gain_of_a_channel() -> None:
    tile = np.random.default_rng(0).integers(40, 200, (1, 32, 32, 3)).astype(np.uint8)
    plain, changed = (hospitals.measure_features(image)[0] for image in (tile, (tile // 2).astype(np.uint8)))
    spread, slope = slice(3, 6), slice(6, 9)
    assert np.allclose(plain[slope] - plain[spread], changed[slope] - changed[spread], atol=0.02)
    assert not np.allclose(plain[spread], changed[spread], atol=0.2)


def test_the_classifier_separates_what_can_be_separated() -> None:
    values = np.concatenate([np.full((20, 2), -1.0), np.full((20, 2), 1.0)]) + np.random.default_rng(1).normal(0, 0.1, (40, 2))
    labels = np.repeat([0, 1], 20)
    assert (hospitals._fit(values, labels)(values) == labels).all()
