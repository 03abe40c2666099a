"""The command itself: its version, its help, its first process, and `recolorist demo`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import recolorist as rc
from recolorist._version import __version__
from recolorist.demo import figure as demo_figure
from recolorist.demo import run as demo_run
from recolorist.demo.hospitals import Score
from recolorist.demo.pairs import Case
from tests.commands import picture, refused, run_here, run_process

#: Run the demo where no network is reached, then print which heavy packages were loaded.
DEMO = (
    "import socket, sys\n"
    "def refuse(*_, **__): raise OSError('no network here')\n"
    "socket.socket.connect = socket.create_connection = refuse\n"
    "from recolorist.cli.main import main\n"
    "sys.argv = ['recolorist', 'demo']\n"
    "try:\n"
    "    main()\n"
    "except SystemExit as stop:\n"
    "    assert not stop.code, stop.code\n"
    "print(sorted({'matplotlib', 'torch', 'scipy'} & set(sys.modules)))\n"
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """The demo as a new user runs it, on a terminal that knows ASCII only."""
    folder = tmp_path_factory.mktemp("cli")
    settings = {**os.environ, "COLUMNS": "160", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-W", "error", "-c", DEMO]
    return subprocess.run(command, capture_output=True, encoding="ascii", check=False, cwd=folder, env=settings), folder  # noqa: S603


class TestDemo:
    def test_succeeds_quietly_on_a_terminal_without_greek_letters(
        self, shown: tuple[subprocess.CompletedProcess[str], Path]
    ) -> None:
        assert (shown[0].returncode, shown[0].stderr) == (0, "")
        assert "x' = a*x + b" in shown[0].stdout

    def test_needs_no_matplotlib_torch_scipy_or_network(self, shown: tuple[subprocess.CompletedProcess[str], Path]) -> None:
        assert shown[0].stdout.splitlines()[-1] == "[]"

    def test_writes_where_it_says(self, shown: tuple[subprocess.CompletedProcess[str], Path]) -> None:
        done, folder = shown
        assert [path.name for path in folder.iterdir()] == ["recolorist-demo"]
        assert f"files in {folder.resolve() / 'recolorist-demo'}; open index.html" in done.stdout
        assert (folder / "recolorist-demo" / "index.html").stat().st_size > 100_000

    def test_prints_the_numbers_of_the_plans(self, shown: tuple[subprocess.CompletedProcess[str], Path]) -> None:
        done, folder = shown
        lines = [line.replace("|", " ").split() for line in done.stdout.splitlines()]
        files = sorted((folder / "recolorist-demo").glob("*_plan.json"))
        assert len(files) == 4
        for file in files:
            plan = rc.Plan.from_json(file.read_text("utf-8"))
            start = next(number for number, line in enumerate(lines) if line[:2] == [file.stem.removesuffix("_plan"), "R"])
            rows = [lines[start][1:], lines[start + 1], lines[start + 2]]
            assert [row[0] for row in rows] == ["R", "G", "B"]
            assert [row[1] for row in rows] == [f"{gain:.4f}" for gain in plan.gain]
            assert [row[2] for row in rows] == [f"{offset:+.2f}" for offset in plan.offset]

    def test_json_carries_every_bit_of_the_plan(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        case = Case("small", "A small pair", "Drawn for this test.", picture(0), picture(1), "before", "after")
        monkeypatch.setattr(demo_run, "cases", lambda: [case])
        monkeypatch.setattr(demo_run, "compare", lambda: (Score("north", "no augmentation", 0.9, 0.5, 8),))
        monkeypatch.setattr(demo_figure, "make_hospitals", tuple)
        answer = run_here("demo", "--out", tmp_path / "x", "--json")
        assert (answer.code, answer.err) == (0, "")
        assert sorted(answer.json["files"]) == sorted(path.name for path in (tmp_path / "x").iterdir())
        plan = rc.plan(rc.measure(case.content), rc.measure(case.style))
        assert answer.json["scores"][0]["target"] == 0.5
        (row,) = answer.json["pairs"]
        assert (row["gain"], row["offset"]) == (plan.gain.tolist(), plan.offset.tolist())
        assert all(0.99 < value <= 1.0 for value in row["pearson"])

    def test_a_folder_that_cannot_be_is_one_sentence_and_exit_code_1(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(demo_run, "cases", list)
        (tmp_path / "taken").write_text("x", "utf-8")
        assert refused("demo", "--out", tmp_path / "taken").startswith("recolorist: the demo could not write into")
        assert (tmp_path / "taken").read_text("utf-8") == "x"


class TestProcess:
    """What only a process of its own shows: it starts without a warning, and its exit code and streams reach the shell."""

    def test_version(self) -> None:
        assert run_process("--version") == (0, f"recolorist {__version__}\n", "")

    def test_json_and_an_error(self, pair: tuple[Path, Path], tmp_path: Path) -> None:
        words = ("match", *pair, "-o", tmp_path / "o.png", "--json")
        answer = run_process(*words)
        assert (answer.code, answer.err, json.loads(answer.out)["size"]) == (0, "", [37, 53])
        again = run_process(*words)
        assert (again.code, again.out) == (1, "")
        assert re.fullmatch(r"recolorist: .*o\.png exists.*\n", again.err)

    def test_version_and_help_do_not_load_the_drawing(self) -> None:
        code = (
            "import sys; import recolorist.cli.main; print(sorted({'PIL', 'skimage', 'matplotlib', 'torch'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
        assert done.stdout.strip() == "[]"


class TestUsage:
    def test_help_names_every_command(self) -> None:
        answer = run_here("--help")
        assert answer.code == 0
        for name in ("match", "bank", "augment", "harmonise", "audit", "drift", "doctor", "demo", "studio"):
            assert re.search(rf"\b{name}\b", answer.out)

    @pytest.mark.parametrize("words", [["demonstrate"], ["demo", "--no-such-option"], ["demo", "surplus"]])
    def test_wrong_usage_is_exit_code_2_and_no_traceback(
        self, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert words[-1] in refused(*words, code=2)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("augment", "{data}", "{out}", "--bank", "no.rcb"),
        ("augment", "{data}", "{out}", "--bank", "no.json"),
        ("harmonise", "{data}", "{out}", "--to", "no.rcb"),
        ("harmonise", "{data}", "{out}", "--to", "no.rcb:north"),
        ("drift", "{data}", "--bank", "no.rcb"),
        ("bank", "info", "no.rcb"),
        ("bank", "merge", "{bank}", "no.rcb", "-o", "{out}.rcb"),
        ("bank", "share", "no.rcb", "-o", "{out}.rcb"),
        ("bank", "build", "no", "-o", "{out}.rcb"),
        ("match", "{image}", "no.png", "-o", "{out}.png"),
        ("match", "no.png", "{image}", "-o", "{out}.png"),
        ("match", "{image}", "{image}", "--mask", "no.png", "-o", "{out}.png"),
        ("match", "{image}", "--plan", "no.json", "-o", "{out}.png"),
        ("audit", "no.csv"),
    ],
)
def test_a_missing_file_gets_a_sentence_and_nothing_is_written(
    words: tuple[str, ...], data: Path, bank: Path, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    message = refused(*(word.format(data=data, bank=bank, image=pair[0], out=tmp_path / "out") for word in words))
    assert "does not exist; " in message
    assert "Errno" not in message
    assert list(tmp_path.iterdir()) == []
