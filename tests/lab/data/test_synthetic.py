"""Synthetic hospitals: the class is the shape of the nuclei, the hospital is the colour; the same recipe gives the same bytes."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist.demo.synthetic import SCANNERS, Scanner, scan
from recolorist.errors import OptionError
from recolorist_lab.data.index import check
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.manifest import Manifest
from recolorist_lab.data.morphology import MORPHOLOGIES, dyes
from recolorist_lab.data.synthetic import Recipe, Tiles, hospital, make, tile, write

SMALL = Recipe(hospitals=3, tiles=8, size=24)
Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def many() -> Tiles:
    return make(Recipe(hospitals=2, tiles=320))


def digest(recipe: Recipe) -> str:
    return hashlib.sha256(make(recipe).images.tobytes()).hexdigest()


class TestRepeatable:
    def test_same_bytes_in_another_process(self) -> None:
        code = (
            "import hashlib; from recolorist_lab.data.synthetic import Recipe, make;"
            "print(hashlib.sha256(make(Recipe(hospitals=3, tiles=8, size=24)).images.tobytes()).hexdigest())"
        )
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
        assert other == digest(SMALL)

    def test_one_tile_alone_is_the_one_in_the_set(self) -> None:
        made = make(SMALL)
        assert np.array_equal(tile(SMALL, 1, 3), made.images[8 + 3])
        assert np.array_equal(tile(SMALL, 2, 7), made.images[-1])

    def test_more_hospitals_or_tiles_change_nothing_that_was_there(self) -> None:
        larger = make(Recipe(hospitals=4, tiles=12, size=24)).images
        assert np.array_equal(larger[:8], make(SMALL).images[:8])

    def test_seeds_differ(self) -> None:
        assert digest(Recipe(hospitals=1, tiles=4, size=24)) != digest(Recipe(hospitals=1, tiles=4, size=24, seed=1))

    def test_no_two_tiles_are_alike(self) -> None:
        images = make(SMALL).images
        assert len({image.tobytes() for image in images}) == len(images)

    def test_it_cannot_be_written_to(self) -> None:
        with pytest.raises(ValueError, match="read-only"):
            make(SMALL).images[0, 0, 0] = 1


class TestSet:
    def test_every_hospital_has_every_class_evenly(self) -> None:
        manifest = make(SMALL).manifest
        counts = Counter(zip(manifest.column("domain"), manifest.column("label"), strict=True))
        assert len(counts) == 3 * 4
        assert set(counts.values()) == {2}

    @pytest.mark.parametrize(
        ("hospitals", "splits"),
        [(1, ["train"]), (2, ["train", "test"]), (3, ["train", "val", "test"]), (5, ["train"] * 3 + ["val", "test"])],
    )
    def test_splits_are_hospitals(self, hospitals: int, splits: list[str]) -> None:
        recipe = Recipe(hospitals=hospitals, tiles=4, size=8)
        assert [recipe.split_of(number) for number in range(hospitals)] == splits

    def test_the_loader_reads_it_from_memory(self) -> None:
        made = make(SMALL)
        samples = made.samples("test")
        assert len(samples) == 8
        assert {sample.domain for sample in samples} == {hospital(2).name}
        assert all(np.array_equal(sample.image, made.images[16 + sample.place]) for sample in samples)
        assert made.samples("train", size=40)[0].image.shape == (40, 40, 3)

    @pytest.mark.parametrize("png", [False, True])
    def test_and_from_disk(self, png: bool, tmp_path: Path) -> None:
        path = write(SMALL, tmp_path, png=png)
        assert check(Manifest.read(path), tmp_path) == []
        on_disk, in_memory = Samples(path, "val", size=None), make(SMALL).samples("val")
        stored = {sample.image.tobytes(): sample.label for sample in on_disk}
        assert stored == {sample.image.tobytes(): sample.label for sample in in_memory}

    def test_fewer_classes(self) -> None:
        made = make(Recipe(hospitals=2, tiles=4, size=16, classes=("round", "atypical")))
        assert made.manifest.facts.task == "binary"
        assert made.manifest.facts.classes == ("round", "atypical")

    @pytest.mark.parametrize("size", [8, 31, 64, 96, 400])
    def test_any_size(self, size: int) -> None:
        assert tile(Recipe(size=size), 0, 0).shape == (size, size, 3)


class TestHospitals:
    def test_the_first_are_those_of_the_demo(self) -> None:
        assert [hospital(number).name for number in range(4)] == list(SCANNERS)

    def test_any_number_and_all_different(self) -> None:
        scanners = [hospital(number) for number in range(40)]
        assert len({scanner.name for scanner in scanners}) == 40
        assert len({scanner.haematoxylin for scanner in scanners}) == 40
        assert scanners == [hospital(number) for number in range(40)]
        assert hospital(9, seed=1) != hospital(9, seed=2)

    def test_drawn_ones_are_in_range(self) -> None:
        for number in range(4, 60):
            one = hospital(number)
            assert 0.8 <= min(one.white) <= max(one.white) <= 0.99
            assert 0.85 <= one.gamma <= 1.25
            assert 0.008 <= one.noise <= 0.02
            assert min(*one.haematoxylin, *one.eosin) >= 0.05

    def test_they_differ_more_than_their_tiles_do(self) -> None:
        made = make(Recipe(hospitals=6, tiles=12, size=32))
        means = made.images.reshape(6, 12, -1, 3).mean(2)
        assert means.mean(1).std(0).mean() > 1.5 * means.std(1).mean()

    def test_numbers_that_are_none(self) -> None:
        with pytest.raises(OptionError):
            hospital(-1)


class TestClass:
    """A straight line through colour statistics must not find the class; one through shape must."""

    def _labels(self, made: Tiles) -> NDArray[np.int64]:
        return np.array([labels[0] for labels in made.manifest.labels()])

    def _found(self, features: Floats, labels: NDArray[np.int64]) -> float:
        """Share of the second half that least squares on the first half gets right."""
        order = np.random.default_rng(0).permutation(len(labels))
        scaled = (features - features.mean(0)) / (features.std(0) + 1e-9)
        table = np.column_stack([scaled, np.ones(len(labels))])
        known, new = order[: len(order) // 2], order[len(order) // 2 :]
        weights = np.linalg.lstsq(table[known], np.eye(4)[labels[known]], rcond=1e-3)[0]
        return float((np.argmax(table[new] @ weights, axis=1) == labels[new]).mean())

    def _of_hospital(self, made: Tiles, number: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        rows = made.manifest.rows(domain=hospital(number).name)
        places = np.array(made.manifest.column("row"))[rows]
        return made.images[places], self._labels(made)[rows]

    @pytest.mark.parametrize("number", [0, 1])
    def test_colour_does_not_tell_it(self, many: Tiles, number: int) -> None:
        images, labels = self._of_hospital(many, number)
        pixels = images.reshape(len(images), -1, 3).astype(float)
        assert self._found(np.hstack([pixels.mean(1), pixels.std(1)]), labels) < 0.42  # a guess has 0.25

    @pytest.mark.parametrize("number", [0, 1])
    def test_shape_does(self, many: Tiles, number: int) -> None:
        images, labels = self._of_hospital(many, number)
        assert self._found(self._shape_features(images), labels) > 0.7

    def _shape_features(self, images: NDArray[np.uint8]) -> Floats:
        """The spectrum by wave number and how much it leans to one direction, without the mean and the spread."""
        grey = images.astype(float).mean(3)
        grey = (grey - grey.mean((1, 2), keepdims=True)) / grey.std((1, 2), keepdims=True)
        power = np.abs(np.fft.rfft2(grey)) ** 2
        y, x = np.fft.fftfreq(grey.shape[1])[:, None] * 64, np.fft.rfftfreq(grey.shape[2])[None] * 64
        radius, angle = np.hypot(y, x), np.arctan2(y, x)
        rings = [(radius >= low) & (radius < low + 1) for low in range(1, 22)]
        bands = [(radius >= low) & (radius < low + 4) for low in (2, 6, 10)]
        spectrum = [np.log(power[:, ring].mean(1)) for ring in rings]
        lean = [np.abs((power * np.exp(2j * angle))[:, band].sum(1)) / power[:, band].sum(1) for band in bands]
        return np.stack([*spectrum, *lean], axis=1)

    def test_amounts_of_dye_are_drawn_before_the_class(self) -> None:
        """From the same stream, mean and spread of both dyes are the same for every class."""
        soft = []
        for kind in MORPHOLOGIES.values():
            where = dyes(np.random.default_rng(5), kind, 64)
            soft.append([*where.mean((0, 1)), *where.std((0, 1))])
        spread = np.ptp(np.array(soft), axis=0) / np.mean(soft, axis=0)
        assert (spread < 0.12).all()

    def test_nuclei_have_the_size_of_their_class(self) -> None:
        """Few and large or many and small: edges per covered pixel tell them apart."""
        edges = {}
        for name, kind in MORPHOLOGIES.items():
            cover = [dyes(np.random.default_rng(seed), kind, 96)[..., 0] > 0.35 for seed in range(6)]
            edges[name] = np.mean([(np.diff(one, axis=0).sum() + np.diff(one, axis=1).sum()) / one.sum() for one in cover])
        assert edges["round"] > 1.3 * edges["atypical"]
        assert edges["spindle"] > 1.3 * edges["atypical"]

    def test_the_hospital_changes_no_nucleus(self) -> None:
        plain = Scanner("plain", (0.6, 0.7, 0.3), (0.1, 0.8, 0.4), (1.0, 1.0), (1.0, 1.0, 1.0), gamma=1.0, blur=0.0, noise=0.0)
        where = dyes(np.random.default_rng(2), MORPHOLOGIES["oval"], 48)
        one, other = (scan(where, scanner)[..., 0].astype(float).ravel() for scanner in (plain, hospital(3)))
        assert np.corrcoef(one, other)[0, 1] > 0.85


class TestRefused:
    @pytest.mark.parametrize(
        "change",
        [
            {"hospitals": 0},
            {"tiles": 3},
            {"size": 7},
            {"size": 2000},
            {"classes": ()},
            {"classes": ("round", "round")},
            {"classes": ("x",)},
        ],
    )
    def test_recipes(self, change: dict[str, object]) -> None:
        with pytest.raises(OptionError):
            Recipe(**change)  # type: ignore[arg-type]
