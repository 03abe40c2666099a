"""The command as people run it: a process of its own, judged by what it prints and by its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import recolorist as rc
from recolorist._version import __version__
from recolorist.demo.pairs import cases

ENTRY = "import sys; from recolorist.cli.main import main; sys.argv[0] = 'recolorist'; main()"


def recolorist(*words: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command; wide enough that no line of the table breaks."""
    settings = {**os.environ, "COLUMNS": "160", "PYTHONIOENCODING": "utf-8", **environment}
    command = [sys.executable, "-W", "error", "-c", ENTRY, *words]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=cwd, env=settings, timeout=600)  # noqa: S603


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    folder = tmp_path_factory.mktemp("cli")
    return recolorist("demo", cwd=folder), folder


class TestDemo:
    def test_succeeds_quietly(self, shown: tuple[subprocess.CompletedProcess[str], Path]) -> None:
        assert (shown[0].returncode, shown[0].stderr) == (0, "")

    def test_writes_where_it_says(self, shown: tuple[subprocess.CompletedProcess[str], Path]) -> None:
        done, folder = shown
        assert [path.name for path in folder.iterdir()] == ["recolorist-demo"]
        assert f"files in {folder.resolve() / 'recolorist-demo'}; look at contact_sheet.html" in done.stdout
        assert (folder / "recolorist-demo" / "contact_sheet.html").stat().st_size > 100_000

    def test_prints_the_numbers_of_the_plan(self, shown: tuple[subprocess.CompletedProcess[str], Path]) -> None:
        lines = [line.split() for line in shown[0].stdout.splitlines()]
        for case in cases():
            plan = rc.plan(rc.measure(case.content, case.mask), rc.measure(case.style, case.style_mask))
            start = next(number for number, line in enumerate(lines) if line[:2] == [case.key, "R"])
            rows = [lines[start][1:], lines[start + 1], lines[start + 2]]
            assert [row[0] for row in rows] == ["R", "G", "B"]
            assert [row[1] for row in rows] == [f"{gain:.4f}" for gain in plan.gain]
            assert [row[2] for row in rows] == [f"{offset:+.2f}" for offset in plan.offset]

    def test_json_is_json_and_carries_every_bit_of_the_plan(self, tmp_path: Path) -> None:
        done = recolorist("demo", "--out", str(tmp_path / "x"), "--json")
        table = json.loads(done.stdout)
        assert done.returncode == 0
        assert sorted(table["files"]) == sorted(path.name for path in (tmp_path / "x").iterdir())
        for row, case in zip(table["pairs"], cases(), strict=True):
            plan = rc.plan(rc.measure(case.content, case.mask), rc.measure(case.style, case.style_mask))
            assert (row["gain"], row["offset"]) == (plan.gain.tolist(), plan.offset.tolist())
            assert all(0.99 < value <= 1.0 for value in row["pearson"])

    def test_a_terminal_without_greek_letters_is_no_obstacle(self, tmp_path: Path) -> None:
        done = recolorist("demo", "--out", str(tmp_path), PYTHONIOENCODING="ascii")
        assert (done.returncode, done.stderr) == (0, "")
        assert "contact_sheet.html" in done.stdout

    def test_a_folder_that_cannot_be_is_one_sentence_and_exit_code_1(self, tmp_path: Path) -> None:
        (tmp_path / "taken").write_text("x", "utf-8")
        done = recolorist("demo", "--out", str(tmp_path / "taken"))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("recolorist: the demo could not write into")
        assert done.stderr.count("\n") == 1
        assert (tmp_path / "taken").read_text("utf-8") == "x"


class TestRest:
    def test_version(self) -> None:
        done = recolorist("--version")
        assert (done.returncode, done.stdout, done.stderr) == (0, f"recolorist {__version__}\n", "")

    def test_help_names_the_commands(self) -> None:
        done = recolorist("--help")
        assert done.returncode == 0
        assert "demo" in done.stdout

    @pytest.mark.parametrize("words", [["demonstrate"], ["demo", "--no-such-option"], ["demo", "surplus"]])
    def test_wrong_usage_is_exit_code_2_and_no_traceback(self, words: list[str], tmp_path: Path) -> None:
        done = recolorist(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
        assert list(tmp_path.iterdir()) == []

    def test_version_and_help_do_not_load_the_drawing(self) -> None:
        code = (
            "import sys; import recolorist.cli.main; print(sorted({'PIL', 'skimage', 'matplotlib', 'torch'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
        assert done.stdout.strip() == "[]"

    def test_the_demo_needs_no_matplotlib_torch_or_network(self, tmp_path: Path) -> None:
        code = (
            "import socket, sys\n"
            "def refuse(*_, **__): raise OSError('no network here')\n"
            "socket.socket.connect = socket.create_connection = refuse\n"
            "from recolorist.demo.run import run\n"
            "run(sys.argv[1])\n"
            "print(sorted({'matplotlib', 'torch', 'scipy'} & set(sys.modules)))\n"
        )
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)  # noqa: S603
        assert done.stdout.strip() == "[]"
