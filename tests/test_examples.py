"""Every example runs, as a user would run it, and says something."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
EXAMPLES: Final = sorted((ROOT / "examples").glob("*.py"))
FRAMEWORKS: Final = ("albumentations", "datasets", "kornia", "monai", "torch", "torchvision")
SECONDS: Final = 600  # each takes less than 10 on a quiet machine; this is for busy ones, and for hangs


def imported(path: Path) -> set[str]:
    """Top-level packages that a script imports, and those that its adapters stand for."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.removeprefix("recolorist.").partition(".")[0] for name in names}


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_runs(path: Path, tmp_path: Path) -> None:
    missing = [name for name in FRAMEWORKS if name in imported(path) and importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"this example needs {', '.join(missing)}")
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
