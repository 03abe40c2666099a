"""A 20 000 × 20 000 RGB TIFF matched from file to file: peak memory, time, and whether the result is that of the whole image.

`python -m benchmarks.huge [side] [--keep FOLDER]`. The image is checked against the in-memory result band by band, from the plan
that the exact moments give, so that checking needs no more memory than matching.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from recolorist.core.plan import Plan
from recolorist.demo.synthetic import tile

__all__ = ["main"]

_LAYOUTS: Final = ("strips", "tiles")
_LIMIT: Final = 300  # MiB
# The peak of the process that matches, as the kernel saw it; that of a parent would count what it held when it started the child.
_MATCH: Final = """
import atexit, sys
from recolorist.cli.main import main
peak = lambda: next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
atexit.register(lambda: print(peak(), file=sys.stderr))
sys.argv[0] = "recolorist"
main()
"""


def main() -> None:
    """Make the image in both layouts, match it in a process of its own, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", type=int, nargs="?", default=20_000)
    parser.add_argument("--keep", type=Path, help="folder for the files; a temporary one unless given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.keep) as folder:
        found = [_measured(Path(folder), layout, options.side) for layout in _LAYOUTS]
    print(json.dumps(found, indent=2))
    sys.exit(0 if all(one["equal"] and one["peak_mib"] < _LIMIT for one in found) else 1)


def _rows(side: int, top: int, count: int) -> NDArray[np.uint8]:
    """Part of a synthetic slide: a tile repeated, brighter from left to right so that columns differ."""
    base = _TILE[np.arange(top, top + count) % len(_TILE)][:, np.arange(side) % _TILE.shape[1]]
    ramp = (np.arange(side) * 40 // side).astype(np.int16)[None, :, None]
    rows: NDArray[np.uint8] = np.clip(base.astype(np.int16) + ramp - 20, 0, 255).astype(np.uint8)
    return rows


_TILE: Final = np.asarray(tile(0))
_STYLE: Final = np.asarray(tile(1))[::-1] // 2 + 60


def _write(path: Path, layout: str, side: int) -> None:
    import tifffile

    from recolorist.io.tiff import split_tiles

    bands = (_rows(side, top, min(256, side - top)) for top in range(0, side, 256))
    with tifffile.TiffWriter(path) as writer:
        shape = (side, side, 3)
        if layout == "tiles":
            writer.write(split_tiles(bands), shape=shape, dtype="uint8", tile=(256, 256), compression="zlib", photometric="rgb")
        else:
            writer.write(bands, shape=shape, dtype="uint8", rowsperstrip=256, photometric="rgb")


def _measured(folder: Path, layout: str, side: int) -> dict[str, Any]:
    source, style, out = folder / f"{layout}.tif", folder / "style.png", folder / f"{layout}-out.tif"
    _write(source, layout, side)
    style.write_bytes(_png(_STYLE))
    words = ["match", str(source), str(style), "-o", str(out), "--max-pixels", "1000000", "--json", "--force"]
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", _MATCH, *words], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - start
    peak = int(done.stderr.split()[-2])
    plan = Plan.from_json(json.dumps(json.loads(done.stdout)["plan"]))
    equal = _equal(out, plan, side)
    source.unlink()
    out.unlink()
    return {"layout": layout, "side": side, "peak_mib": round(peak / 1024, 1), "seconds": round(seconds, 1), "equal": equal}


def _equal(out: Path, plan: Plan, side: int) -> bool:
    """Whether plan and pixels are those of the whole image: the moments of all rows, then every band."""
    from recolorist.io.images import Reading, open_strips

    whole = sum((rc.measure(_rows(side, top, min(997, side - top))) for top in range(0, side, 997)), start=0)
    if rc.plan(whole, rc.measure(_STYLE)) != plan:  # type: ignore[arg-type]
        return False
    with open_strips(out, Reading()) as written:
        return all(
            np.array_equal(written.rows(top, min(top + 256, side)), rc.apply(_rows(side, top, min(256, side - top)), plan))
            for top in range(0, side, 256)
        )


def _png(pixels: NDArray[np.uint8]) -> bytes:
    from recolorist.io.write import encode

    return encode(pixels, ".png")


if __name__ == "__main__":
    main()
