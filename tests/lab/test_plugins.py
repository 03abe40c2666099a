"""Plugins from packages and files: the examples of the page run, names are unique, nothing is imported early."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from recolorist.errors import OptionError
from recolorist_lab.augmentations import AUGMENTATIONS, TrainingImages, build, parse
from recolorist_lab.baselines.registry import METHODS
from recolorist_lab.baselines.registry import build as build_network
from recolorist_lab.data.named import DATASETS, open_dataset
from recolorist_lab.data.synthetic import Recipe, make
from recolorist_lab.metrics import Triple, evaluate
from recolorist_lab.plugins import FILES, add_file
from recolorist_lab.runs.fingerprint import code_fingerprint
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.training.settings import Settings
from tests.lab.fakes.parts import noise, picture

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
BLOCKS = re.compile(r"```python\n# (?P<name>\w+)\.py\n(?P<code>.*?)```", re.DOTALL)
BLOCKS = re.compile(r"```python\n# (?P<name>\w+)\.py\n(?P<code>.*?)```", re.DOTALL)
EXAMPLES = {match["name"]: match["code"] for match in BLOCKS.finditer(PAGE.read_text("utf-8"))}
POINTS = {
    "augmentations": ("sepia", "sepia", "Sepia"),
    "networks": ("mean_shift", "mean_shift", "MeanShift"),
    "metrics": ("sharpness", "sharpness", "sharpness"),
    "datasets": ("wards", "wards", "wards"),
}


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No plugin stays in this process after a test."""
    monkeypatch.setenv(FILES, "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] in {*EXAMPLES, "one_package", "other_package", "broken"}:
            del sys.modules[name]


def install(folder: Path, package: str, points: str, **modules: str) -> None:
    """Lay out a package with entry points as pip would."""
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text("", "utf-8")
    for name, code in modules.items():
        (folder / package / f"{name}.py").write_text(code, "utf-8")
    about = folder / f"{package}-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n", "utf-8")
    (about / "entry_points.txt").write_text(points, "utf-8")
    sys.path.insert(0, str(folder))


def check(group: str, folder: Path) -> None:
    """Use the example of a group by its name, as the lab does."""
    images = TrainingImages(make(Recipe(hospitals=3, tiles=4, size=16)).samples("train"))
    if group == "augmentations":
        tinted = build("sepia(p=1.0, depth=0.9)", images, seed=1)(images.pixels(0), index=0, epoch=0)
        assert tinted.dtype == np.uint8
        assert not np.array_equal(tinted, images.pixels(0))
        assert parse("sepia")[0].p == 0.3
    elif group == "networks":
        content, style = torch.rand(2, 3, 20, 24), torch.rand(2, 3, 20, 24) * 0.5
        out = build_network("mean_shift").stylise(content * 0.2 + 0.4, style)
        assert torch.allclose(out.mean(dim=(2, 3)), style.mean(dim=(2, 3)), atol=0.02)
    elif group == "metrics":
        image = noise(1, 16, 16)
        found = evaluate([Triple(image, image, image // 2)], metrics=["ssim", "sharpness"])
        assert found.added["sharpness"] == pytest.approx(0.5, abs=0.02)
        assert found.pairs["sharpness"].shape == (1,)
    else:
        for number, path in enumerate(["a/x/1.png", "a/y/2.png", "b/x/3.png"]):
            picture(folder / "scans" / path, number)
        assert open_dataset("wards", folder / "scans").manifest.sizes() == {"train": 2, "test": 1}


@pytest.mark.parametrize("group", POINTS)
def test_the_example_runs_from_a_package_of_its_own(group: str, tmp_path: Path) -> None:
    name, module, attribute = POINTS[group]
    assert len(EXAMPLES[module].strip().splitlines()) <= 25
    points = f"[recolorist_lab.{group}]\n{name} = one_package.{module}:{attribute}\n"
    install(tmp_path / "site", "one_package", points, **{module: EXAMPLES[module]})
    check(group, tmp_path)


@pytest.mark.parametrize("group", POINTS)
def test_the_example_runs_from_a_file(group: str, tmp_path: Path) -> None:
    module = POINTS[group][1]
    (tmp_path / f"{module}.py").write_text(EXAMPLES[module], "utf-8")
    add_file(tmp_path / f"{module}.py")
    check(group, tmp_path)


def test_names_are_known_before_anything_is_imported(tmp_path: Path) -> None:
    points = "[recolorist_lab.augmentations]\nbad = broken.missing:Bad\n"
    install(tmp_path, "broken", points, missing="raise RuntimeError('on import')")
    assert "bad" in AUGMENTATIONS
    assert "broken.missing" not in sys.modules
    with pytest.raises(OptionError, match=r"'bad' of the package broken 1\.2 cannot be loaded: RuntimeError: on import"):
        parse("bad")


def test_a_name_that_is_built_in_is_refused(tmp_path: Path) -> None:
    install(tmp_path, "one_package", "[recolorist_lab.networks]\nadain = one_package:Mine\n")
    with pytest.raises(OptionError, match=r"the package one_package 1\.2 adds 'adain' to the networks, .* give it another name"):
        METHODS["wct2"]


def test_two_packages_with_one_name_are_refused(tmp_path: Path) -> None:
    for package in ("one_package", "other_package"):
        install(tmp_path / package, package, f"[recolorist_lab.datasets]\nwards = {package}:wards\n")
    with pytest.raises(OptionError, match=r"both add 'wards' to the datasets; remove one of them"):
        len(DATASETS)


def test_files_that_cannot_be_plugins(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="is not a Python file"):
        add_file(tmp_path / "absent.py")
    (tmp_path / "json.py").write_text("", "utf-8")
    with pytest.raises(OptionError, match="has the name of another module"):
        add_file(tmp_path / "json.py")
    assert not os.environ[FILES]


def test_a_class_of_another_kind_is_refused(tmp_path: Path) -> None:
    code = "class Bad:\n    default_p = 1.0\n    options = {}\n    moves = False\n    def __init__(self, *_): pass\n"
    install(tmp_path, "one_package", "[recolorist_lab.augmentations]\nbad = one_package.mine:Bad\n", mine=code)
    images = TrainingImages(make(Recipe(hospitals=3, tiles=4, size=16)).samples("train"))
    with pytest.raises(OptionError, match="is no Augmentation"):
        build("bad", images, seed=0)


def test_a_changed_plugin_makes_stale_what_uses_it_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "sepia.py"
    tiny = "synthetic:hospitals=3,tiles=4,size=16"

    def fingerprints() -> list[str]:
        code_fingerprint.cache_clear()
        return [KINDS["classify"].fingerprint(Settings(tiny, 0, augmentation=name)) for name in ("sepia", "color_jitter")]

    file.write_text(EXAMPLES["sepia"], "utf-8")
    add_file(file)
    before = fingerprints()
    file.write_text("# a comment\n" + EXAMPLES["sepia"], "utf-8")
    assert fingerprints() == before
    file.write_text(EXAMPLES["sepia"].replace("0.66", "0.60"), "utf-8")
    after = fingerprints()
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_what_is_built_in_comes_first() -> None:
    assert next(iter(AUGMENTATIONS)) == "none"
    assert AUGMENTATIONS.module_of("colorist") is None
