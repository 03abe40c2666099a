"""What the pages show runs, page by page and in order, as a reader would paste it: Python, and our commands on made-up images."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from recolorist import StyleBank
from recolorist.cli.main import app
from recolorist.demo import synthetic
from tests.commands import collection, picture
from tests.docs.reading import ROOT, SHELLS, Block, blocks, commands_in, name_of, pages

#: Pages whose Python blocks follow on one another; what each needs beyond the core is in NEEDS.
SESSIONS: Final = (
    *("README.md", "docs/index.md", "docs/start.md", "docs/method.md", "docs/privacy.md", "docs/collections.md", "docs/drift.md"),
    *("docs/slides.md", "docs/foreground.md", "docs/samplers.md", "docs/torch.md", "docs/augmentations.md", "docs/datasets.md"),
    *(
        "docs/training.md",
        "docs/blank.md",
        "docs/deployment.md",
        "docs/migrating.md",
        "docs/feature_extraction.md",
        "docs/recipe.md",
    ),
)
#: Pages whose blocks are run elsewhere, or cannot be, and why.
ELSEWHERE: Final = {
    "docs/frameworks.md": "tests/docs/test_pages.py runs each block on the first",
    "docs/metrics.md": "tests/lab/metrics/test_metrics_page.py",
    "docs/statistics.md": "tests/lab/report/test_pages.py",
    "docs/extending.md": "tests/lab/test_plugins.py runs each example from a package and from a file",
    "docs/baselines.md": "needs published weights; tests/lab/baselines/test_adain.py makes the same calls with them",
}
NEEDS: Final = {
    "README.md": ("torch", "torchvision"),
    "docs/start.md": ("torch", "torchvision"),
    "docs/deployment.md": ("torch",),
    "docs/torch.md": ("torch", "torchvision"),
    "docs/augmentations.md": ("torch", "torchvision", "cv2"),
    "docs/training.md": ("torch", "timm"),
}
#: Pages whose commands are run too; others are parsed only (tests/docs/test_commands.py).
COMMANDS: Final = ("README.md", "docs/start.md", "docs/collections.md", "docs/drift.md", "docs/privacy.md")
#: Pages whose blocks are alternatives, so that each is run on what the page takes for granted and on nothing else.
ALONE: Final = frozenset({"docs/torch.md"})
#: Commands that end with another code than 0 on made-up images, and rightly so.
CODES: Final = {"drift": (0, 4)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that the pages take for granted: images of two hospitals, one pair, a bank."""
    for name, count in (("train", 120), ("data/train", 60), ("today", 32), ("incoming", 32)):
        collection(tmp_path / name, count)  # the gate warns of a bank, or hospital of one, with fewer than 60 styles
    for place, name in enumerate(("content.png", "style.png", "scan.png", "reference.png")):
        Image.fromarray(picture(90 + place)).save(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names_of(page: str) -> dict[str, Any]:
    """What a page takes for granted in its Python, and does not make itself."""
    return _torch_names() if page == "docs/torch.md" else {}


def _torch_names() -> dict[str, Any]:
    import torch

    from recolorist._torchvision_ops import declare_missing_ops

    declare_missing_ops()  # before torchvision
    from torchvision.transforms import v2

    tiles = [synthetic.tile(seed, scanner, 48) for scanner in ("north", "mill") for seed in range(4)]
    bank = StyleBank.build(tiles, domains=["north"] * 4 + ["mill"] * 4, split="train")
    images = torch.from_numpy(np.stack(tiles)).permute(0, 3, 1, 2)
    cohort = [(image, 0, bank.domain(place)) for place, image in enumerate(images)]
    return {
        "bank": bank,
        "cohort": cohort,
        "epochs": 1,
        "loader": [(images, [0] * 8)],
        "mean": (0.5, 0.5, 0.5),
        "std": (0.2, 0.2, 0.2),
        "torch": torch,
        "train": [(tile, 0) for tile in tiles],
        "v2": v2,
    }


def _bank(folder: Path) -> None:
    run_command(folder, "bank", "build", "train/", "-o", "train.rcb", "--split", "train")


def _manifest(folder: Path) -> None:
    from recolorist_lab.data.synthetic import Recipe, write

    write(Recipe(hospitals=3, tiles=4, size=32), folder / "data").rename(folder / "data" / "retina.parquet")


#: What must be there before a page begins.
PREPARED: Final[dict[str, Callable[[Path], None]]] = {
    "docs/datasets.md": _manifest,
    "docs/drift.md": _bank,
}


@pytest.mark.parametrize("name", SESSIONS)
def test_page(name: str, folder: Path) -> None:
    for module in NEEDS.get(name, ()):
        if find_spec(module) is None:
            pytest.skip(f"this page needs {module}, an extra")
    if name in PREPARED:
        PREPARED[name](folder)
    given = names_of(name)
    names = dict(given)
    for block in blocks(ROOT / name):
        if block.language == "python":
            run_python(block, names)
            names = dict(given) if name in ALONE else names
        elif block.language in SHELLS and name in COMMANDS:
            run_shell(block, folder)


def run_python(block: Block, namespace: dict[str, Any]) -> None:
    """A block, on the processor where the page says GPU, and without workers, which could not see names made here."""
    text = block.text.replace('"cuda"', '"cpu"')
    for workers in ("num_workers=8, persistent_workers=True", "num_workers=8"):
        text = text.replace(workers, "num_workers=0")
    exec(compile(text, block.page, "exec"), namespace)  # noqa: S102 - our own documentation


def run_shell(block: Block, folder: Path) -> None:
    """Our own lines of a block; `pip` and the like are not ours to run here."""
    for command in commands_in(block.page, block.text, whole=True):
        assert command.program == "recolorist", f"{command} is not for these pages"
        run_command(folder, *command.words)


def run_command(folder: Path, *words: str) -> None:
    """One command, in this process."""
    done = CliRunner().invoke(app, words)
    assert done.exit_code in CODES.get(words[0], (0,)), (words, done.output, done.exception)
    for option in ("-o", "--triptych", "--html", "--plot"):
        if option in words:
            assert (folder / words[words.index(option) + 1]).stat().st_size > 0


def test_every_page_with_python_is_run_somewhere() -> None:
    found = {name_of(page) for page in pages() if any(block.language == "python" for block in blocks(page))}
    assert found - set(SESSIONS) == set(ELSEWHERE)
