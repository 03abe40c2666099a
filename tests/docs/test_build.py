"""The documentation builds, warnings being errors, and its gallery runs."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from tests.docs.reading import DOCS, ROOT

GALLERY: Final = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
SECONDS: Final = 1200  # a build takes twenty on a quiet core; this is for busy ones, and for hangs
FETCHED: Final = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*")
TOOLS: Final = ("sphinx", "furo", "myst_parser", "sphinx_gallery", "latex2mathml", "matplotlib")


def needs(*modules: str) -> None:
    """Skip where a tool of the documentation is not installed; `make test` installs them all."""
    for name in modules:
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed; it comes with the extra `docs`")


def run(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """A program, in a folder, without a display."""
    variables = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    return subprocess.run(  # noqa: S603 - our own scripts
        [sys.executable, *map(str, words)],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def build(folder: Path) -> Path:
    """The pages as `make docs` builds them, but for the gallery's pictures, from a copy: a build writes beside its sources."""
    made = shutil.ignore_patterns("gallery", "sg_execution_times.rst", "__pycache__")
    shutil.copytree(DOCS, folder / "docs", ignore=made)
    shutil.copytree(ROOT / "examples" / "gallery", folder / "examples" / "gallery")
    shutil.copy(ROOT / "CONTRIBUTING.md", folder)
    done = run("-m", "sphinx", "-q", "-W", "--keep-going", "-D", "plot_gallery=0", "docs", "out", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out"


def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    """One test and not four: a build takes a dozen seconds, and processes that share the tests out would each make one."""
    needs(*TOOLS)
    out = build(tmp_path)
    pages = [page.relative_to(DOCS).with_suffix(".html") for page in [*DOCS.glob("*.md"), *DOCS.glob("results/*.md")]]
    gallery = [Path("gallery") / f"{script.stem}.html" for script in GALLERY]
    assert [str(page) for page in [*pages, *gallery, Path("gallery/index.html")] if not (out / page).is_file()] == []
    assert (out / "method.html").read_text("utf-8").count("<math") > 15
    reference = (out / "api.html").read_text("utf-8")
    names = ["recolorist.match", "recolorist.Colorist", "recolorist.StyleBank.build", "recolorist.torch.ColorMatch"]
    assert [name for name in names if f'id="{name}"' not in reference] == []
    assert {page.name: found for page in out.rglob("*.html") if (found := FETCHED.findall(page.read_text("utf-8")))} == {}


def test_what_a_page_would_fetch_is_noticed() -> None:
    assert FETCHED.search('<script defer src="https://example.org/x.js">')
    assert not FETCHED.search('<a href="https://example.org">')


@pytest.mark.parametrize("script", GALLERY, ids=[script.stem for script in GALLERY])
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg:UserWarning")  # without a display, showing does nothing and says so
def test_the_gallery_runs(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("matplotlib", *(name for name in ("torch", "torchvision") if f"import {name}\n" in script.read_text("utf-8")))
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("Agg")
    shutil.copytree(ROOT / "examples" / "images", tmp_path / "images")
    (tmp_path / "gallery").mkdir()
    monkeypatch.chdir(tmp_path / "gallery")  # Sphinx runs scripts in their own folder, beside the images
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        plt.close("all")
    assert not list((tmp_path / "gallery").iterdir()), "a page leaves nothing behind where it is run"


def test_there_is_a_gallery() -> None:
    assert len(GALLERY) >= 6
