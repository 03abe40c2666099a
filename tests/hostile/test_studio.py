"""Banks that the page in the browser opens: what the library refuses it refuses too, within limits, with a sentence."""

from __future__ import annotations

import io
import json
import random
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recolorist import StyleBank
from recolorist.bank import file as bank_file
from recolorist.errors import StatisticsError
from tests.full import full
from tests.hostile.corpus import CORPUS, bank_with
from tests.hostile.files import mutate, seed_of

_NODE = shutil.which("node")
_ROOT = Path(__file__).parents[2]
_SCRIPT = _ROOT / "tests" / "browser" / "run_draws.mjs"
_MODULES = _ROOT / "src" / "recolorist" / "studio" / "js"
TRIES = full(60, 2_000)

pytestmark = pytest.mark.skipif(_NODE is None, reason="node is not installed; banks are also opened in the browser tests")


def open_all(folder: Path, files: list[bytes]) -> list[dict[str, Any]]:
    """Open each in the page's own modules: the styles, or the error. A page that hangs does not pass."""
    paths = [folder / f"{number}.bank" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    (folder / "questions.json").write_text(json.dumps([{"bank": str(path)} for path in paths]))
    words = [str(_NODE), "--max-old-space-size=512", str(_SCRIPT), str(_MODULES), str(folder / "questions.json")]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def rewritten(folder: Path, **arrays: Any) -> bytes:
    """The bank of the seeds with other arrays and a checksum that fits them."""
    path = folder / "seed.rcb"
    path.write_bytes(seed_of("rcb"))
    kept, facts = bank_file._read_members(path)
    return bank_file._write_members(path, kept | arrays, facts).read_bytes()


def repeated(count: int) -> bytes:
    """A zip that names the same four megabytes many times."""
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(1 << 22, np.uint8))
    body = buffer.getvalue()
    sizes = struct.pack("<IIIHH", 0, len(body), len(body), 8, 0)
    local = b"PK\3\4" + struct.pack("<5H", 20, 0, 0, 0, 0) + sizes + b"mean.npy" + body
    entry = b"PK\1\2" + struct.pack("<6H", 20, 20, 0, 0, 0, 0) + sizes + bytes(14) + b"mean.npy"
    return local + entry * count + b"PK\5\6" + struct.pack("<4HIIH", 0, 0, count, count, len(entry) * count, len(local), 0)


HOSTILE_JSON: dict[str, dict[str, Any]] = {
    "a mean of 7": {"mean": [[7.0, 0.5, 0.5]] * 2},
    "a correlation of 2": {"cov": [[0.01, 0.02, 0.0, 0.01, 0.0, 0.01]] * 2},
    "a negative variance": {"cov": [[-0.01, 0.0, 0.0, 0.01, 0.0, 0.01]] * 2},
    "no pixels": {"pixels": [0, 100]},
    "one key twice": {"key": ["a", "a"]},
}


@pytest.mark.parametrize("name", HOSTILE_JSON)
def test_numbers_that_the_library_refuses(tmp_path: Path, name: str) -> None:
    data = bank_with(**HOSTILE_JSON[name])
    with pytest.raises(StatisticsError):
        StyleBank.from_json(data.decode())
    (answer,) = open_all(tmp_path, [data])
    assert "is not a bank: " in answer["error"]


def test_limits_come_before_work(tmp_path: Path) -> None:
    """Two hundred million rows without columns in 3 kB, and a file that would be copied 5,000 times, made the page hang."""
    wide, many = open_all(tmp_path, [rewritten(tmp_path, mean=np.zeros((200_000_000, 0))), repeated(5_000)])
    assert "no rows and columns" in wide["error"]
    assert "something else than the arrays of a bank" in many["error"]


@pytest.mark.parametrize("kind", ["rcb", "json"])
def test_mutations_are_refused_or_the_same_bank(tmp_path: Path, kind: str) -> None:
    files = [seed_of(kind), *(mutate(seed_of(kind), random.Random(f"studio {kind}{number}")) for number in range(TRIES))]
    seed, *answers = open_all(tmp_path, files)
    assert len(seed["styles"]) == 2
    refused = [answer["error"] for answer in answers if "error" in answer]
    assert all("is not a bank: " in words for words in refused)
    assert len(refused) > TRIES // 2
    assert all(answer["styles"] == seed["styles"] for answer in answers if "error" not in answer)


def test_the_corpus(tmp_path: Path) -> None:
    files = [make() for ending, make, _ in CORPUS.values() if ending in ("json", "rcb")]
    assert all("is not a bank: " in answer["error"] for answer in open_all(tmp_path, files))
