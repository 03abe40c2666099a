"""Running the real command, in this process or in one of its own, and small collections to run it on."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

ENTRY = "import sys; from recolorist.cli.main import main; sys.argv[0] = 'recolorist'; main()"
COMMAND = [sys.executable, "-W", "error", "-c", ENTRY]


class Answer(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What was printed, read as JSON."""
        return json.loads(self.out)


def run_process(*words: object, **environment: str) -> Answer:
    """Run the command in a process of its own, with warnings as errors; wide enough that no line of a table breaks."""
    settings = {**os.environ, "COLUMNS": "160", "PYTHONIOENCODING": "utf-8", **environment}
    done = subprocess.run(  # noqa: S603
        [*COMMAND, *map(str, words)], capture_output=True, encoding="utf-8", check=False, env=settings
    )
    assert "Traceback" not in done.stderr
    return Answer(done.returncode, done.stdout, done.stderr)


def run_main(main: Callable[[], None], program: str, *words: object) -> Answer:
    """Run the entry point of a command in this process, which saves the seconds that a new one takes to start."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", [program, *map(str, words)]),
        mock.patch.dict(os.environ, {"COLUMNS": "160"}),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return Answer(code, out.getvalue(), err.getvalue())


def run_here(*words: object) -> Answer:
    """Run `recolorist` in this process."""
    from recolorist.cli.main import main

    answer = run_main(main, "recolorist", *words)
    assert "Traceback" not in answer.err
    return answer


def run_json(*words: object, code: int = 0) -> dict[str, Any]:
    """Run the command in this process with --json, expect an exit code, and return what it printed."""
    answer = run_here(*words, "--json")
    assert answer.code == code, answer
    values: dict[str, Any] = answer.json
    return values


def refused(*words: object, code: int = 1) -> str:
    """Run the command in this process, expect that it refuses, and return its sentence."""
    answer = run_here(*words)
    assert (answer.code, answer.out) == (code, ""), answer
    assert code == 2 or re.fullmatch(r"recolorist: .+\n", answer.err), answer.err
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", answer.err).split())


def shared_data(folder: str) -> Path:
    """Real images that lie beside the repository, or where RECOLORIST_DATA says; without them a test is skipped."""
    given = os.environ.get("RECOLORIST_DATA")
    root = Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not (root / folder).is_dir():
        pytest.skip(f"the real images ({folder}) are not here; set RECOLORIST_DATA to the folder that holds them")
    return root / folder


def picture(seed: int = 0, size: tuple[int, int] = (37, 53), channels: int = 3) -> NDArray[np.uint8]:
    """A smooth random picture with colours of its own."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(40, 216, (5, 6, channels)).astype(np.uint8)
    image = Image.fromarray(coarse[..., 0] if channels == 1 else coarse).resize(size[::-1], Image.Resampling.BICUBIC)
    noisy = np.asarray(image).astype(int) + rng.integers(-9, 10, np.asarray(image).shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def collection(folder: Path, count: int = 6, suffix: str = ".png") -> Path:
    """Pictures of two hospitals in two classes each."""
    for i in range(count):
        place = folder / f"hospital_{'ab'[i % 2]}" / ("benign", "malignant")[i // 2 % 2]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture(i)).save(place / f"tile {i:03d}{suffix}")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
