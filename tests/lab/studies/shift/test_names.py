"""Names on the pages of the shift study."""

from __future__ import annotations

import pytest

from recolorist_lab.studies.shift.names import group_of, method_name, target_name


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("Baseline", "no augmentation"),
        ("colorist+randaugment", "Colorist + RandAugment"),
        ("colorist(styles='unseen', p=0.5)", "ceiling: styles of the target"),
        ("color_jitter", "colour jitter"),
        ("Random Resized Crop", "crop"),
        ("targeted", "MedMNIST-C corruptions"),
        ("colorist(sampler='extrapolate', factor=3.0, p=0.5)+randaugment", "extrapolate (3, p = 0.5) + RandAugment"),
        ("colorist(max_clip=0.01)", "Colorist (at most 1 % clipped)"),
    ],
)
def test_methods_are_readable(method: str, name: str) -> None:
    assert method_name(method) == name


def test_targets_say_who_trains_and_who_is_tested() -> None:
    assert target_name("fundus-idrid-to-deepdrid_regular-96") == "fundus: IDRiD → DeepDRiD"
    assert target_name("a") == "a"
    assert group_of("blood-bccd-to-acevedo20-48") == "blood, one laboratory"
