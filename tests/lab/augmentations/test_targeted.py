"""The corruptions, one by one, and how they are drawn."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from recolorist.augment.streams import stream
from recolorist.errors import OptionError
from recolorist_lab.augmentations import build
from recolorist_lab.augmentations.corruptions import CORRUPTIONS
from recolorist_lab.augmentations.severities import SET_OF, SETS, Strength
from recolorist_lab.augmentations.table import make_part
from recolorist_lab.augmentations.targeted import IDENTITY, Targeted, corruptions_for
from recolorist_lab.data.registry import CARDS
from tests.lab.augmentations.parts import images

COUNTS = {
    "pathmnist": 11,
    "bloodmnist": 11,
    "dermamnist": 15,
    "retinamnist": 8,
    "tissuemnist": 8,
    "octmnist": 6,
    "breastmnist": 7,
    **dict.fromkeys(("chestmnist", "pneumoniamnist", "organamnist", "organcmnist", "organsmnist"), 13),
}


def test_every_set_has_its_corruptions() -> None:
    assert {name: len(entries) for name, entries in SETS.items()} == COUNTS
    assert {name for entries in SETS.values() for name in entries} == set(CORRUPTIONS)


def test_every_dataset_has_a_set() -> None:
    assert set(SET_OF) == {*CARDS, *SETS, "synthetic"}
    assert {"peripheral_blood", "bone_marrow", "retina"} <= set(SET_OF)


@pytest.mark.parametrize("name", SETS)
def test_each_is_drawn_as_often_as_any_other_and_as_nothing(name: str) -> None:
    change = Targeted(make_part("targeted", {"corruptions": name}), "anything", 0)
    counts = Counter(change.draw(stream(3, 0, index))[0] for index in range(5000))
    share = 1 / (COUNTS[name] + 1)
    assert set(counts) == {*SETS[name], IDENTITY}
    deviation = (share * (1 - share) / 5000) ** 0.5
    assert all(abs(count / 5000 - share) < 4.5 * deviation for count in counts.values())


@pytest.mark.parametrize("name", SETS)
def test_strengths_lie_between_the_first_and_the_last(name: str) -> None:
    change = Targeted(make_part("targeted", {"corruptions": name}), "anything", 0)
    seen: dict[str, list[Strength]] = {}
    for index in range(3000):
        which, strength = change.draw(stream(4, 0, index))
        seen.setdefault(which, []).append(strength)
    for which, levels in SETS[name].items():
        drawn, ends = np.array(seen[which]), np.array([levels[0], levels[-1]])
        low, high = ends.min(axis=0), ends.max(axis=0)
        assert (drawn >= low).all()
        assert (drawn <= high).all()
        middle = (drawn.mean(axis=0) - low) / np.maximum(high - low, 1e-9)
        assert (abs(middle - 0.5) < 0.15).all() or (high == low).any()


def test_lengths_shrink_with_the_image_unless_asked_not_to() -> None:
    def softness(reference: int) -> float:
        change = Targeted(make_part("targeted", {"corruptions": "bloodmnist", "reference": reference}), "", 0)
        noise = np.random.default_rng(0).integers(0, 256, (56, 56, 3), dtype=np.uint8)
        results = []
        for index in range(600):
            if change.draw(stream(5, 0, index))[0] in ("defocus_blur", "motion_blur"):
                change.seed = 5
                rng = stream(5, 0, index)
                results.append(float(np.std(change.change(noise, rng, 0, None))))
        return float(np.mean(results))

    assert softness(0) < 0.7 * softness(224)


def test_sets_are_named_or_found_and_unknown_ones_refused() -> None:
    assert corruptions_for("ddi") == "dermamnist"
    with pytest.raises(OptionError, match=r"no set of corruptions is known for the dataset 'mine'.*bloodmnist"):
        corruptions_for("mine")
    with pytest.raises(OptionError, match="did you mean 'bloodmnist'"):
        build("targeted(corruptions='bloodminst')", images(), seed=0)
    with pytest.raises(OptionError, match="reference=-1"):
        build("targeted(reference=-1)", images(), seed=0)
