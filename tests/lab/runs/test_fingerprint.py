"""The fingerprint of a cell's code, on copies of the sources that are edited."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import recolorist
import recolorist_lab
from recolorist_lab.runs import sources
from recolorist_lab.runs.fingerprint import code_fingerprint, essence
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.status import survey
from recolorist_lab.runs.study import load
from tests.lab.study_files import finished

DATA = "synthetic"
SIZES = "load_size = 20, crop_size = 16"
ADAIN = {"method": "adain", "dataset": DATA}
#: Edits that change what a cell computes: kind, configuration, file, text before and after.
MATTERS: list[tuple[str, dict[str, Any], str, str, str]] = [
    (
        "transfer_train",
        ADAIN,
        "recolorist_lab/baselines/networks/adain.py",
        "content_weight: float = 1.0",
        "content_weight: float = 0.0",
    ),
    ("transfer", ADAIN, "recolorist_lab/baselines/networks/adain.py", "return adain(content, style)", "return content"),
    (
        "runtime",
        {"method": "adain"},
        "recolorist_lab/baselines/networks/adain.py",
        "return adain(content, style)",
        "return content",
    ),
    ("transfer_train", ADAIN, "recolorist_lab/baselines/losses.py", "total = total + term", "total = total - term"),
    (
        "transfer_train",
        ADAIN | {"method": "stytr2"},
        "recolorist_lab/baselines/networks/stytr2.py",
        "import annotations\n",
        "import annotations\n\nEXTRA = 1\n",
    ),
    (
        "classify",
        {"dataset": DATA, "seed": 1, "augmentation": "hed_jitter"},
        "recolorist_lab/augmentations/hed.py",
        "1.0 + self.scale",
        "1.1 + self.scale",
    ),
    (
        "classify",
        {"dataset": DATA, "seed": 1, "algorithm": "sd"},
        "recolorist_lab/training/algorithms/sd.py",
        "logits.square().mean()",
        "logits.abs().mean()",
    ),
    (
        "classify",
        {"dataset": DATA, "seed": 1, "augmentation": "colorist"},
        "recolorist/core/gains.py",
        "import annotations\n",
        "import annotations\n\nEXTRA = 1\n",
    ),
    ("classify", {"dataset": DATA, "seed": 1}, "recolorist_lab/runs/seeds.py", "[:8]", "[:7]"),
    ("spaces", {"dataset": DATA}, "recolorist_lab/metrics/structure.py", "_K1, _K2 = 0.01, 0.03", "_K1, _K2 = 0.01, 0.02"),
    ("spaces", {"dataset": DATA}, "recolorist_lab/assets/weight_table.py", "ed45cb790e0d3eb2", "fd45cb790e0d3eb2"),
    (
        "transfer_check",
        {"space": "rgb", "method": "mean_std"},
        "recolorist/demo/tissue.py",
        "import annotations\n",
        "import annotations\n\nEXTRA = 1\n",
    ),
    ("properties", {"dataset": "ddi"}, "recolorist/io/pillow.py", "import annotations\n", "import annotations\n\nEXTRA = 1\n"),
]
_EXTRA = ("import annotations\n", "import annotations\n\nEXTRA = 1\n")
MATTERS += [
    ("spaces", {"dataset": DATA, "metrics": ("artfid",)}, "recolorist_lab/metrics/perceptual.py", *_EXTRA),
    ("spaces", {"dataset": DATA, "metrics": ("kid",)}, "recolorist_lab/metrics/kernel.py", *_EXTRA),
    ("spaces", {"dataset": DATA, "metrics": ("kid",)}, "recolorist_lab/metrics/inception.py", *_EXTRA),
    ("transfer", {**ADAIN, "metrics": ("wasserstein",)}, "recolorist_lab/metrics/colour.py", *_EXTRA),
]
#: Edits that do not.
DOES_NOT: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("spaces", {"dataset": DATA, "metrics": ("ssim",)}, "recolorist_lab/metrics/perceptual.py", *_EXTRA),
    ("spaces", {"dataset": DATA, "metrics": ("ssim",)}, "recolorist_lab/metrics/inception.py", *_EXTRA),
    ("spaces", {"dataset": DATA, "metrics": ("fid",)}, "recolorist_lab/metrics/kernel.py", *_EXTRA),
    ("transfer", {**ADAIN, "metrics": ("lpips",)}, "recolorist_lab/metrics/structure.py", *_EXTRA),
    ("classify", {"dataset": DATA, "seed": 1, "algorithm": "sd"}, "recolorist_lab/training/algorithms/rsc.py", *_EXTRA),
    ("classify", {"dataset": DATA, "seed": 1}, "recolorist_lab/training/algorithms/sd.py", *_EXTRA),
    ("classify", {"dataset": DATA, "seed": 1}, "recolorist_lab/augmentations/table.py", "grey, three times over", "grey"),
    ("transfer", ADAIN, "recolorist_lab/baselines/registry.py", 'venue="ICCV 2017"', 'venue="ICCV"'),
    ("transfer", ADAIN, "recolorist_lab/baselines/networks/adain.py", "normalised VGG-19, 34 tensors", "VGG-19"),
    ("spaces", {"dataset": DATA}, "recolorist/core/options.py", "cumulative histogram per channel", "cumulative histograms"),
    (
        "properties",
        {"dataset": "ddi"},
        "recolorist_lab/data/cards/ddi.toml",
        "nothing may be passed on",
        "ask before passing it on",
    ),
    (
        "transfer_train",
        ADAIN,
        "recolorist_lab/baselines/networks/adain.py",
        "import annotations\n",
        "import annotations\n# why\n",
    ),
    (
        "transfer_train",
        ADAIN,
        "recolorist_lab/baselines/networks/adain.py",
        '"""AdaIN: the channel means',
        '"""Adaptive: the channel means',
    ),
    (
        "transfer_train",
        ADAIN,
        "recolorist_lab/baselines/networks/adain.py",
        "accepted are numbers from 0 to 1",
        "give a number from 0 to 1",
    ),
    (
        "transfer_train",
        ADAIN,
        "recolorist_lab/baselines/networks/adain.py",
        'licence: ClassVar = "MIT"',
        'licence: ClassVar = "MIT licence"',
    ),
    (
        "transfer_train",
        ADAIN,
        "recolorist_lab/baselines/networks/sanet.py",
        "import annotations\n",
        "import annotations\n\nEXTRA = 1\n",
    ),
    ("transfer", ADAIN, "recolorist_lab/assets/download.py", "import annotations\n", "import annotations\n\nWAIT = 60\n"),
    ("transfer", ADAIN, "recolorist_lab/assets/weight_table.py", "AdaIN's decoder, as published", "the decoder of AdaIN"),
    ("transfer", ADAIN, "recolorist_lab/assets/weight_table.py", "releases/download/v0.0.0", "releases/download/v0.0.1"),
    ("spaces", {"dataset": DATA}, "recolorist_lab/paper/numbers.py", "0.30, 0.74", "0.31, 0.74"),
    ("classify", {"dataset": DATA, "seed": 1}, "recolorist_lab/augmentations/hed.py", "1.0 + self.scale", "1.1 + self.scale"),
    (
        "classify",
        {"dataset": DATA, "seed": 1},
        "recolorist_lab/runs/ledger.py",
        "import annotations\n",
        "import annotations\n\nEXTRA = 1\n",
    ),
    ("properties", {"dataset": DATA}, "recolorist/io/pillow.py", "import annotations\n", "import annotations\n\nEXTRA = 1\n"),
    ("properties", {"dataset": DATA}, "recolorist/cli/main.py", "import annotations\n", "import annotations\n\nEXTRA = 1\n"),
]


def _names(value: Any) -> str:
    return str(value).replace("recolorist_lab/", "")[:60]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of both packages, copied to where they may be edited."""
    root = tmp_path_factory.mktemp("sources")
    for package in (recolorist, recolorist_lab):
        folder = Path(str(package.__file__)).parent
        shutil.copytree(folder, root / folder.name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "studio"))
    return root


@pytest.fixture
def copy(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same, read by the fingerprint; edits are undone."""
    monkeypatch.setattr(sources, "_root", lambda package: copied / package)
    before = {path: path.read_bytes() for path in copied.rglob("*.*") if path.is_file()}
    yield copied
    for path, data in before.items():
        if path.read_bytes() != data:
            path.write_bytes(data)
    code_fingerprint.cache_clear()


def code_of(kind: str, values: dict[str, Any]) -> str:
    code_fingerprint.cache_clear()
    return KINDS[kind].fingerprint(KINDS[kind].config(**values))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


class TestFingerprint:
    @pytest.mark.parametrize(("kind", "values", "file", "old", "new"), MATTERS, ids=_names)
    def test_changes_with_code_that_the_cell_uses(
        self, copy: Path, kind: str, values: dict[str, Any], file: str, old: str, new: str
    ) -> None:
        before = code_of(kind, values)
        edit(copy / file, old, new)
        assert code_of(kind, values) != before

    @pytest.mark.parametrize(("kind", "values", "file", "old", "new"), DOES_NOT, ids=_names)
    def test_does_not_change_with_words_and_other_code(
        self, copy: Path, kind: str, values: dict[str, Any], file: str, old: str, new: str
    ) -> None:
        before = code_of(kind, values)
        edit(copy / file, old, new)
        assert code_of(kind, values) == before

    def test_is_the_same_for_a_copy(self, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert all(copy in path.parents for path in sources.sources("recolorist_lab.studies.transfer.cell").values())
        in_the_copy = code_of("transfer", ADAIN)
        monkeypatch.undo()
        assert code_of("transfer", ADAIN) == in_the_copy


class TestFinishedCells:
    STUDY = f"""
name = "networks"

[[grid]]
kind = "transfer_train"
set = {{ dataset = "synthetic:hospitals=3,tiles=4,size=24", encoder = "random", iterations = 1, batch = 1, seed = 1, {SIZES} }}
axes.method = ["adain", "efdm"]
"""

    def states(self, path: Path, ledger: Ledger) -> dict[str, str]:
        code_fingerprint.cache_clear()
        return {cell.config.method: state.name for cell, state in survey(load(path), ledger).cells}

    def test_of_a_network_are_stale_after_an_edit_of_its_loss(self, copy: Path, tmp_path: Path) -> None:
        path, ledger = tmp_path / "study.toml", Ledger(tmp_path / "ledger")
        path.write_text(self.STUDY, "utf-8")
        finished(load(path), ledger)
        assert self.states(path, ledger) == {"adain": "done", "efdm": "done"}
        edit(copy / "recolorist_lab/baselines/networks/adain.py", "content_weight: float = 1.0", "content_weight: float = 0.0")
        assert self.states(path, ledger)["adain"] == "stale"


class TestEssence:
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ('a = "# one"\n', 'a = "# two"\n'),
            ("a = f(1)\n", "a = f(2)\n"),
            ("a = 1\n", "a = 1.0\n"),
            ("a = 1\n", "a = True\n"),
            ('f("word")\n', 'f("other")\n'),
            ("if a:\n    b()\n", "if a:\n    pass\nb()\n"),
            ("def f(x): raise E(x)\n", "def f(x): raise F(x)\n"),
        ],
    )
    def test_differs_where_something_else_is_done(self, first: str, second: str) -> None:
        assert essence(first) != essence(second)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("a = [1,\n     2]  # two\n", "a = [1, 2]\n"),
            ('def f():\n    "What."\n    return 1\n', "def f(): return 1\n"),
            ('raise ValueError(f"{a} came")\n', 'raise ValueError(f"not {a}; give {b}")\n'),
            ('return_value = OptionError("this")\n', 'return_value = OptionError("that")\n'),
            ('File("a", licence="MIT")\n', 'File("a", licence="none")\n'),
            ('__all__ = ["a"]\n', '__all__ = ["a", "b"]\n'),
            ("if TYPE_CHECKING:\n    import a\n", "if TYPE_CHECKING:\n    import b\n"),
        ],
    )
    def test_is_the_same_where_the_same_is_done(self, first: str, second: str) -> None:
        assert essence(first) == essence(second)
