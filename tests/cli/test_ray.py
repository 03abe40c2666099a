"""A real local Ray: the same bits as without it, and a worker killed midway loses nothing and does nothing twice."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recolorist import collections as batch
from tests.commands import ENTRY, contents, picture

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra 'ray')"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc"),
]

COUNT = 160


def descendants(root: int) -> dict[int, str]:
    """Processes below one, with their command lines."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text("utf-8").rpartition(")")[2].split()[1])
            names[int(entry.name)] = (entry / "cmdline").read_text("utf-8", "replace").replace("\0", " ")
        except OSError:
            continue
    found: dict[int, str] = {}
    waiting = [root]
    while waiting:
        above = waiting.pop()
        children = [pid for pid, parent in parents.items() if parent == above]
        found |= {pid: names[pid] for pid in children}
        waiting += children
    return found


def test_a_killed_worker_costs_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    base = np.tile(picture(0, (128, 128)), (2, 2, 1))
    for i in range(COUNT):
        Image.fromarray(np.roll(base, 5 * i, axis=0) // (1 + i % 3)).save(data / f"{i:03d}.png", compress_level=1)
    (data / "broken.png").write_bytes(b"nothing")
    bank = batch.build_bank(data, split="train").bank
    bank.save(tmp_path / "b.rcb")
    expected = batch.augment(data, tmp_path / "local", bank)

    out = tmp_path / "ray"
    # Ray's own warnings are not ours to turn into errors
    words = [sys.executable, "-c", ENTRY, "augment", str(data), str(out), "--bank", str(tmp_path / "b.rcb"), "-j", "2", "--json"]
    calm = {**os.environ, "RAY_worker_niceness": "0"}  # else a busy machine leaves the workers hardly any time
    process = subprocess.Popen(  # noqa: S603
        [*words, "--engine", "ray"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=calm
    )
    deadline = time.monotonic() + 300
    while len(list(out.glob("*.png"))) < 20:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    workers = [pid for pid, name in descendants(process.pid).items() if name.startswith("ray::do_chunk")]
    assert workers
    os.kill(workers[0], signal.SIGKILL)
    assert len(list(out.glob("*.png"))) < COUNT  # it was midway
    output, errors = process.communicate(timeout=600)
    assert process.returncode == 3, errors
    summary = json.loads(output)
    assert (summary["written"], [failure["source"] for failure in summary["failures"]]) == (COUNT, ["broken.png"])
    assert contents(out) == contents(tmp_path / "local")
    assert len(expected.records) == COUNT
