"""What is recorded of the environment of a result."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

from recolorist_lab.runs import environment
from recolorist_lab.runs.environment import LIBRARIES, describe

SOURCE = Path(__file__).parents[3] / "src"
#: Folders whose modules compute what results are made of.
COMPUTES = [
    *(SOURCE / "recolorist" / name for name in ("core", "io", "bank", "augment", "torch", "demo")),
    *(SOURCE / "recolorist_lab" / name for name in ("augmentations", "baselines", "data", "metrics", "studies", "training")),
]
#: Imported there, and unable to change a result.
ONLY_SHOW = {"matplotlib", "rich", "tensorboard"}
#: Distributions that are not installed everywhere, by the name of their module.
OPTIONAL = {
    "colorist": "colorist-aug",
    "cv2": "opencv-python-headless",
    "lightning_fabric": "lightning-fabric",
    "openslide": "openslide-python",
    "skimage": "scikit-image",
    "torch_fidelity": "torch-fidelity",
}


def imported(path: Path) -> set[str]:
    """The packages that a module imports, wherever the import stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "load"):
            names |= {part.value for part in node.args[:1] if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"", "recolorist", "recolorist_lab"}


@cache
def packages() -> Mapping[str, list[str]]:
    """The distributions of every module that is installed."""
    return metadata.packages_distributions()


def distributions(module: str) -> set[str]:
    known = packages().get(module, [OPTIONAL.get(module, module)])
    return {name.lower().replace("_", "-") for name in known}


def test_every_library_behind_a_result_is_recorded() -> None:
    modules = {name for folder in COMPUTES for path in folder.rglob("*.py") for name in imported(path)}
    assert {"numpy", "torch", "timm", "cv2", "lpips", "scipy", "lightning_fabric", "torch_fidelity"} <= modules
    unrecorded = {name for name in modules - ONLY_SHOW if not distributions(name) & set(LIBRARIES)}
    assert not unrecorded


@pytest.mark.parametrize(
    "name",
    ["timm", "lightning-fabric", "lpips", "torch-fidelity", "torchmetrics", "scikit-learn", "pillow", "scipy", "numpy", "torch"],
)
def test_the_version_that_is_installed_is_recorded(name: str) -> None:
    versions = describe()["versions"]
    assert isinstance(versions, dict)
    try:
        assert versions[name] == metadata.version(name)
    except metadata.PackageNotFoundError:
        assert name not in versions


def test_no_library_is_named_twice() -> None:
    assert len(set(LIBRARIES)) == len(LIBRARIES)


def test_without_git_the_commit_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert environment._commit() is None


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one committed source."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "module.py").write_text("a = 1\n", "utf-8")
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), (*author, "commit", "-q", "-m", "Begin")):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)  # noqa: S603, S607 - our own words
    return tmp_path


class TestCommit:
    def test_is_looked_for_where_the_sources_are_kept(self) -> None:
        assert (environment._ROOT / "src" / "recolorist_lab" / "runs" / "environment.py").samefile(str(environment.__file__))

    def test_is_the_commit_that_is_checked_out(self, repository: Path) -> None:
        commit = environment._commit(repository)
        assert commit is not None
        assert len(commit) == 40
        assert int(commit, 16)

    def test_says_that_a_source_was_changed(self, repository: Path) -> None:
        (repository / "src" / "module.py").write_text("a = 2\n", "utf-8")
        assert str(environment._commit(repository)).endswith(environment.CHANGED)

    def test_says_that_a_source_was_added(self, repository: Path) -> None:
        (repository / "src" / "other.py").write_text("a = 2\n", "utf-8")
        assert str(environment._commit(repository)).endswith(environment.CHANGED)

    def test_other_files_do_not_count(self, repository: Path) -> None:
        (repository / "notes.md").write_text("notes", "utf-8")
        assert len(str(environment._commit(repository))) == 40

    def test_is_unknown_outside_a_repository(self, tmp_path: Path) -> None:
        assert environment._commit(tmp_path) is None
