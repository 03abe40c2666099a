"""Ctrl-C while a command is being loaded: exit code 130, one line, no traceback. A program that imports us gets the exception."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import recolorist
from recolorist._interrupt import is_command

SOURCE = str(Path(recolorist.__file__).parents[1])
PRESSED = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nfor _ in range(10**6): pass\n"
SCRIPT = "import sys; sys.argv[0] = '/usr/bin/{0}'; from {1}.__main__ import main; sys.exit(main())"
WAYS = {
    "recolorist": ["-c", SCRIPT.format("recolorist", "recolorist")],
    "recolorist-lab": ["-c", SCRIPT.format("recolorist-lab", "recolorist_lab")],
    "python -m recolorist": ["-m", "recolorist"],
    "python -m recolorist_lab": ["-m", "recolorist_lab"],
    "python -m recolorist.cli.main": ["-m", "recolorist.cli.main"],
}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself Ctrl-C there")


def run(folder: Path, module: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run Python where importing a module is the moment in which somebody presses Ctrl-C."""
    (folder / module).mkdir()
    (folder / module / "__init__.py").write_text(PRESSED)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    environment = {**kept, "PYTHONPATH": os.pathsep.join([str(folder), SOURCE])}
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=False, timeout=600
    )


@pytest.mark.parametrize("way", [way for way in WAYS if not way.endswith(".main")])
@pytest.mark.parametrize("module", ["numpy", "typer"])
def test_while_it_is_loaded(tmp_path: Path, way: str, module: str) -> None:
    done = run(tmp_path, module, [*WAYS[way], "--version"])
    assert done.returncode == 130, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.endswith(": interrupted\n")


def test_while_numpy_is_loaded_by_another_module(tmp_path: Path) -> None:
    assert run(tmp_path, "numpy", [*WAYS["python -m recolorist.cli.main"]]).returncode == 130


@pytest.mark.parametrize(
    ("way", "module", "words"),
    [
        ("recolorist", "PIL", ["demo", "--out", "{0}/out"]),
        ("python -m recolorist", "PIL", ["demo", "--out", "{0}/out"]),
        ("recolorist-lab", "torch", ["baseline", "list"]),
        ("python -m recolorist_lab", "torch", ["baseline", "list"]),
    ],
)
def test_while_a_command_loads_more(tmp_path: Path, way: str, module: str, words: list[str]) -> None:
    done = run(tmp_path, module, [*WAYS[way], *(word.format(tmp_path) for word in words)])
    assert "Traceback" not in done.stderr
    assert done.returncode == 130, done.stderr


def test_a_program_that_imports_us_gets_it(tmp_path: Path) -> None:
    code = "try:\n    import recolorist\nexcept KeyboardInterrupt:\n    print('mine')"
    assert run(tmp_path, "numpy", ["-c", code]).stdout == "mine\n"


def test_a_package_that_imports_us_gets_it(tmp_path: Path) -> None:
    """Python's argv[0] is -m for it as well."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "__init__.py").write_text("try:\n    import recolorist\nexcept KeyboardInterrupt:\n    print('mine')\n")
    (tmp_path / "other" / "__main__.py").write_text("")
    assert run(tmp_path, "numpy", ["-m", "other"]).stdout == "mine\n"


@pytest.mark.parametrize(
    ("arguments", "original", "expected"),
    [
        (["/usr/bin/recolorist", "match"], ["python", "/usr/bin/recolorist"], True),
        (["recolorist-lab"], ["recolorist-lab"], True),
        (["C:/env/recolorist-script.py"], ["python"], True),
        (["-m"], ["python", "-W", "error", "-m", "recolorist_lab", "sweep"], True),
        (["-m"], ["python", "-m", "pytest"], False),
        (["-m"], ["python", "-m"], False),
        (["/lib/recolorist_lab/__main__.py"], ["python", "-m", "recolorist_lab"], True),
        (["/lib/pytest/__main__.py"], ["python", "-m", "pytest"], False),
        (["train.py"], ["python", "train.py"], False),
        ([], [], False),
    ],
)
def test_commands(monkeypatch: pytest.MonkeyPatch, arguments: list[str], original: list[str], expected: bool) -> None:
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(sys, "orig_argv", original)
    assert is_command() is expected
