"""Promises 16 and 28, and no growth: memory stays bounded over many calls, huge images and workers that share a file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recolorist as rc
from tests.full import IS_FULL, full

CALLS = full(3_000, 200_000)
MIB = 1 << 20

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")


def anonymous(pid: int | str = "self") -> int:
    """Bytes of memory that belong to a process alone; pages of mapped files are not among them."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("RssAnon")))


def test_many_calls_do_not_grow() -> None:
    """After a tenth of the calls nothing grows any more: every buffer of theirs is given back."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (8, 24, 32, 3), dtype=np.uint8)
    bank = rc.StyleBank.build(images, split="train")
    colorist = rc.Colorist(bank, p=1.0, seed=1)
    floats = images[0] / 255

    def call(number: int) -> None:
        rc.match(images[number % 8], images[(number + 1) % 8])
        colorist(images[number % 8], index=number % 512, epoch=number // 512)
        if number % 64 == 0:
            rc.match(floats, floats[::-1], space="lab")
            rc.audit(images[0], images[1])
            with pytest.raises(rc.RecoloristError):
                rc.match(images[0], np.zeros((0, 3), np.uint8))

    for number in range(CALLS // 10):
        call(number)
    before = anonymous()
    for number in range(CALLS // 10, CALLS):
        call(number)
    assert anonymous() - before < 4 * MIB


_WORKER = """
import sys, numpy as np
from recolorist_lab.data.arrays import open_array
from pathlib import Path
array = open_array(Path(sys.argv[1]))
total = sum(int(array[i].sum()) for i in range(len(array)))
status = Path("/proc/self/status").read_text().split()
print(total, status[status.index("RssAnon:") + 1], status[status.index("RssFile:") + 1])
"""


def test_workers_share_one_map(tmp_path: Path) -> None:
    """Three readers of 48 MiB (eight of 2 GiB in the full suite); each has read all of it and holds none of it for itself."""
    readers, images = full(3, 8), full(48, 2048)
    path = tmp_path / "a.npy"
    shape = (images, 512, 2048)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
        file.truncate(file.tell() + images * MIB)  # sparse: zeros that take no space on the disk
    started = [
        subprocess.Popen([sys.executable, "-c", _WORKER, str(path)], stdout=subprocess.PIPE, text=True)  # noqa: S603
        for _ in range(readers)
    ]
    facts = [process.communicate()[0].split() for process in started]
    assert [process.returncode for process in started] == [0] * readers
    own = [1024 * int(anonymous_kib) for _, anonymous_kib, _ in facts]
    assert max(own) < 200 * MIB, own
    assert all(total == "0" for total, _, _ in facts)


@pytest.mark.skipif(not IS_FULL, reason="writes files of 1.2 GB: RECOLORIST_FULL_TESTS=1")
@pytest.mark.parametrize("stored", [{"rowsperstrip": 256}, {"tile": (256, 256)}], ids=["strips", "tiles"])
def test_four_hundred_million_pixels(stored: dict[str, Any], tmp_path: Path) -> None:
    import tifffile

    side, rng = 20_000, np.random.default_rng(0)
    block = rng.integers(0, 256, (256, side, 3), dtype=np.uint8)

    def pieces() -> Any:
        for start in range(0, side, 256):
            rows = block[: min(256, side - start)]
            if "tile" not in stored:
                yield rows
                continue
            for left in range(0, side, 256):
                tile = np.zeros((256, 256, 3), np.uint8)
                piece = rows[:, left : left + 256]
                tile[: piece.shape[0], : piece.shape[1]] = piece
                yield tile

    tifffile.imwrite(tmp_path / "a.tif", pieces(), shape=(side, side, 3), dtype="uint8", photometric="rgb", **stored)
    np.save(tmp_path / "s.npy", rng.integers(0, 256, (64, 64, 3), dtype=np.uint8))
    code = (
        "import sys, resource; from pathlib import Path; from recolorist.collections import match_file\n"
        "folder = Path(sys.argv[1])\n"
        "match_file(folder / 'a.tif', folder / 's.npy', folder / 'o.tif')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    peak = 1024 * int(done.stdout)
    sys.stderr.write(f"20,000 x 20,000 in {stored}: peak {peak / MIB:.0f} MiB\n")
    assert peak < 300 * MIB
