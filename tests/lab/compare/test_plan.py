"""The study of a comparison: every division, method and seed once, and a time that grows with the epochs."""

from __future__ import annotations

from pathlib import Path

import pytest

from recolorist.errors import OptionError
from recolorist_lab.compare.folds import make_folds, write_folds
from recolorist_lab.compare.images import ImageSource, find_images
from recolorist_lab.compare.plan import Training, seconds_per_training, write_study, write_timing


class Times:
    """A ledger that knows only how long trainings took."""

    def __init__(self, *seconds: float) -> None:
        self._seconds = iter(seconds)

    def result(self, _: object) -> Times:
        self.seconds = next(self._seconds)
        return self


def test_every_division_method_and_seed_once(hospitals: Path, tmp_path: Path) -> None:
    folds = make_folds(find_images(ImageSource(hospitals))[0], 2)
    write_folds(folds, tmp_path)
    training = Training(("colorist", "color_jitter"), epochs=2)
    study = write_study(tmp_path / "study.toml", tmp_path, folds, training)
    cells = {(cell.config.dataset, cell.config.augmentation, cell.config.seed) for cell in study.cells}
    assert len(cells) == len(study.cells) == 3 * 3 * 2
    assert {method for _, method, _ in cells} == {"none", "colorist", "color_jitter"}
    assert all(cell.config.validation == "train" and cell.config.harmonise for cell in study.cells)
    assert all(cell.data != "absent" for cell in study.cells)


def test_time_is_the_start_and_the_epochs(hospitals: Path, tmp_path: Path) -> None:
    folds = make_folds(find_images(ImageSource(hospitals))[0], 1)
    write_folds(folds, tmp_path)
    timing = write_timing(tmp_path / "timing.toml", tmp_path, folds, Training())
    assert seconds_per_training(timing, Times(5.0, 7.0), Training(epochs=10)) == pytest.approx(3 + 10 * 2)  # type: ignore[arg-type]


def test_few_images_are_seen_more_often(hospitals: Path) -> None:
    folds = make_folds(find_images(ImageSource(hospitals))[0], 1)
    images = min(fold.manifest.sizes()["train"] for fold in folds)
    chosen = Training(batch=2).with_epochs(folds).epochs
    assert chosen == pytest.approx(700 / (0.8 * images / 2), abs=1) or chosen == 120
    assert Training(batch=10**6).with_epochs(folds).epochs == 120
    assert Training(epochs=3).with_epochs(folds).epochs == 3


@pytest.mark.parametrize("methods", [(), ("colorist", "colorist"), ("colour",), ("none",)])
def test_methods_that_cannot_be_compared(methods: tuple[str, ...]) -> None:
    with pytest.raises(OptionError):
        Training(methods)


def test_weights_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="were not found; give the path of a file"):
        Training(weights=str(tmp_path / "resnet18.safetensors"))


def test_the_baseline_comes_first_and_once() -> None:
    assert Training(("colorist", "none")).every_method == ("none", "colorist")


@pytest.mark.parametrize("gpus", [0, 1])
def test_trainings_ask_for_the_gpus_they_need(hospitals: Path, tmp_path: Path, gpus: int) -> None:
    """Without asking, all trainings of a machine would share its first GPU."""
    folds = make_folds(find_images(ImageSource(hospitals))[0], 1)
    write_folds(folds, tmp_path)
    for write in (write_study, write_timing):
        study = write(tmp_path / "study.toml", tmp_path, folds, Training(epochs=1, gpus=gpus))
        assert {cell.resources.gpus for cell in study.cells} == {gpus}
