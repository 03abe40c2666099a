"""Every example runs, as a user would run it, and says something."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from PIL import Image

from recolorist.demo import synthetic

ROOT: Final = Path(__file__).parents[1]
TRAINING: Final = sorted((ROOT / "examples").glob("train_*.py"))
NOTEBOOKS: Final = sorted((ROOT / "examples").glob("*.ipynb"))
EXAMPLES: Final = [path for path in sorted((ROOT / "examples").glob("*.py")) if path not in TRAINING]
FRAMEWORKS: Final = ("albumentations", "datasets", "kornia", "lightning", "matplotlib", "monai", "torch", "torchvision")
SECONDS: Final = 600  # each takes less than 10 on a quiet machine; this is for busy ones, and for hangs


def imported(path: Path) -> set[str]:
    """Top-level packages that a script imports, and those that its adapters stand for."""
    return imported_by(path.read_text(encoding="utf-8"))


def imported_by(code: str) -> set[str]:
    """The same for the code itself."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.removeprefix("recolorist.").partition(".")[0] for name in names}


def skip_without(names: set[str]) -> None:
    """Skip where a framework is not installed."""
    missing = [name for name in FRAMEWORKS if name in names and importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"this example needs {', '.join(missing)}")


def test_there_are_examples() -> None:
    assert EXAMPLES
    assert [path.stem for path in TRAINING] == ["train_huggingface", "train_lightning", "train_monai", "train_pytorch"]
    assert NOTEBOOKS


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_runs(path: Path, tmp_path: Path) -> None:
    skip_without(imported(path))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)])}
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind where it is run"


def test_the_slurm_example_leaves_no_gpu_idle() -> None:
    """Four GPUs, as its comment says, and the processors that the cells of the study ask for."""
    import re
    import tomllib

    root = Path(__file__).parents[1]
    script = (root / "examples" / "slurm_sweep.sh").read_text("utf-8")
    numbers = {name: int(value) for name, value in re.findall(r"#SBATCH --(cpus-per-task|gpus-per-node)=(\d+)", script)}
    for grid in tomllib.loads((root / "configs" / "classify.toml").read_text("utf-8"))["grid"]:
        wants = grid["resources"]
        assert numbers["cpus-per-task"] // wants["cpus"] >= numbers["gpus-per-node"] // wants["gpus"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes, two scanners to train on and a third one to test on, as the scripts describe their folder."""
    root = tmp_path_factory.mktemp("images")
    for split, scanner in (("train", "north"), ("train", "mill"), ("test", "valley")):
        for kind in list(synthetic.KINDS)[:2]:
            (root / split / kind).mkdir(parents=True, exist_ok=True)
            for seed in range(3):
                Image.fromarray(synthetic.tile(seed, scanner, 40, kind)).save(root / split / kind / f"{scanner} {seed}.png")
    return root


@pytest.mark.parametrize("path", TRAINING, ids=[path.stem for path in TRAINING])
@pytest.mark.filterwarnings(
    "ignore:.*does not have many workers",
    "ignore:.*log_every_n_steps",
    "ignore:.*LeafSpec.*:FutureWarning",  # Lightning beside a newer torch
    "ignore:.*nvImageCodec.*:UserWarning",  # MONAI without an optional decoder
)
def test_trains_on_a_folder(
    path: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, with fewer epochs, smaller images and no loader workers; all else is what a user runs."""
    skip_without(imported(path))
    assert len(path.read_text("utf-8").splitlines()) < 80
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("PL_GLOBAL_SEED", raising=False)
    if path.stem == "train_huggingface":
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, value in {"EPOCHS": 2, "SIDE": 32, "WORKERS": 0}.items():
        assert hasattr(module, name)
        monkeypatch.setattr(module, name, value)
    monkeypatch.chdir(tmp_path)
    with restored_seeds():
        module.main(folder)
    lines = [line for line in capsys.readouterr().out.splitlines() if "test images" in line]
    assert len(lines) == (1 if path.stem == "train_lightning" else 2)
    assert {each.name for each in tmp_path.iterdir()} <= {"cache"}, "an example leaves nothing behind where it is run"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg:UserWarning")  # without a display, showing does nothing and says so
def test_a_notebook_runs(
    path: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cell by cell, on the folder of the tests; what it writes without one is tested by its first images."""
    notebook = json.loads(path.read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell.get("outputs", []) == [] for cell in notebook["cells"]), "no output that nobody checks"
    skip_without(imported_by("\n".join(cells)))
    import matplotlib as mpl

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder, tmp_path / "images")
    variables: dict[str, object] = {}
    with restored_seeds():
        for cell in cells:
            exec(compile(cell, str(path), "exec"), variables)  # noqa: S102 - our own
            variables |= {name: value for name, value in {"EPOCHS": 1, "SIDE": 32}.items() if name in variables}
    from matplotlib import pyplot as plt

    plt.close("all")
    out = capsys.readouterr().out
    assert "12 training images, 6 test images" in out
    assert "epoch 0:" in out


@contextlib.contextmanager
def restored_seeds() -> Iterator[None]:
    """Give the generators back as they were: an example seeds them as its users would."""
    import torch

    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002 - the generators of others
    try:
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002
        torch.set_rng_state(kept[2])
        os.environ.pop("PL_GLOBAL_SEED", None)
        os.environ.pop("PL_SEED_WORKERS", None)
