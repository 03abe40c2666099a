"""The lab's command line, in this process or in one of its own, judged by what it prints and by its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.commands import Answer, run_main

ENTRY = "import sys; from recolorist_lab.cli.main import main; sys.argv[0] = 'recolorist-lab'; main()"


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-c", ENTRY, *map(str, words)]


def environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "160", "PYTHONIOENCODING": "utf-8"}


def lab(*words: str | Path) -> Answer:
    """Run `recolorist-lab …` to its end, in this process."""
    from recolorist_lab.cli.main import main

    return run_main(main, "recolorist-lab", *words)


def answer(*words: str | Path, code: int = 0) -> Any:
    """Run it with --json, demand the exit code, and return what it printed."""
    done = lab(*words, "--json")
    assert done.code == code, done.err + done.out
    return json.loads(done.out)


def begun(*words: str | Path) -> subprocess.Popen[bytes]:
    """Begin `recolorist-lab …` in a session of its own, so that it and all its processes can be found and ended."""
    return subprocess.Popen(  # noqa: S603 - our own command
        command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), start_new_session=True
    )


def session(leader: int) -> dict[int, int]:
    """The living processes of a session, each with its parent."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == leader and fields[0] not in {"Z", "X"}:
                found[int(entry.name)] = int(fields[1])
    return found
