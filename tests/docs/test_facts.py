"""What pages and files state about the project agrees with the project: version, studies, what is pinned."""

from __future__ import annotations

import re
import tomllib

from recolorist import __version__
from recolorist_lab.runs.kinds import KINDS
from tests.docs.reading import ROOT, name_of, pages

NUMBER = re.compile(r"\d+\.\d+\.\d+")


def test_the_changelog_begins_with_this_version() -> None:
    sections = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    found = NUMBER.match(__version__)
    assert found is not None
    assert sections[0] == found.group()


def test_the_citation_names_this_version() -> None:
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_nothing_else_states_it() -> None:
    for name in ("pyproject.toml", "setup.py", "docs/conf.py", "containers/Dockerfile", "containers/recolorist.def"):
        assert __version__ not in (ROOT / name).read_text("utf-8"), name


def test_no_page_waits_for_something_to_be_filled_in() -> None:
    left = re.compile(r"\b(TODO|FIXME|XXX|TBD)\b|^[A-Z]{4,}$", re.MULTILINE)
    assert [(name_of(page), found.group()) for page in pages() if (found := left.search(page.read_text("utf-8")))] == []


def test_every_kind_and_every_study_is_described() -> None:
    table = (ROOT / "docs" / "sweeps.md").read_text("utf-8")
    assert [name for name in KINDS if f"| `{name}` |" not in table] == []
    text = "\n".join(page.read_text("utf-8") for page in pages())
    assert [path.name for path in sorted((ROOT / "configs").glob("*.toml")) if f"configs/{path.name}" not in text] == []


def test_every_example_is_mentioned() -> None:
    text = "\n".join(page.read_text("utf-8") for page in pages())
    scripts = [path for path in sorted((ROOT / "examples").iterdir()) if path.is_file()]
    assert [path.name for path in scripts if f"examples/{path.name}" not in text] == []
    named = set(re.findall(r"`(examples/[\w.]+)`", text))
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_lock_covers_what_the_containers_install() -> None:
    """Every package that the containers' extras name is pinned."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(line for extra in ("lab", "slides", "dicom", "torch", "tiff") for line in extras[extra]),
    ]
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "containers" / "lock.txt").read_text("utf-8"), re.MULTILINE)
    known = {name.lower().replace("_", "-") for name in pinned}
    missing = [line for line in wanted if not line.startswith("recolorist[") and _name(line) not in known]
    assert missing == [], "run `make lock`"


def _name(requirement: str) -> str:
    return re.split(r"[>=<\[ ]", requirement)[0].lower().replace("_", "-")
