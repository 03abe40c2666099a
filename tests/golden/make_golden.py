"""Write the golden outputs anew: ``python -m tests.golden.make_golden --yes``. Never run by the tests; see README.md."""

from __future__ import annotations

import json
import sys
from itertools import product
from typing import Final

import numpy as np

from recolorist.core.spaces import SPACES
from tests.golden.cases import FOLDER, HIGHEST, all_cases, digest, image

# Sums, divisions and extremes only, in a fixed order: every machine gives the same bits, so equal values cannot part.
SAME_EVERYWHERE: Final = {"rgb": (0, 1, 2), "hsv": (0, 1, 2), "hsi": (1, 2)}


def refuse_close_values() -> None:
    """Two values of a channel that differ by rounding only could change places on another machine; choose other images."""
    for space, dtype, seed in product(SPACES.values(), HIGHEST, (1, 2)):
        converted = space.forward(image(seed, 3, dtype).astype(np.float64) / HIGHEST[dtype]).reshape(-1, 3)
        channels = [c for c in range(3) if c not in SAME_EVERYWHERE.get(space.name, ())]
        gaps = np.diff(np.sort(converted[:, channels], axis=0), axis=0)
        if ((gaps > 0) & (gaps < 1e-10)).any():
            raise SystemExit(f"{dtype} image {seed} has nearly equal values in {space.name}; change `image` in cases.py")


def main() -> None:
    """Compute every case and store it."""
    if sys.argv[1:] != ["--yes"]:
        raise SystemExit("this replaces the golden outputs; read tests/golden/README.md, then pass --yes")
    refuse_close_values()
    outputs = {case.name: case.output() for case in all_cases()}
    joined = {dtype: np.concatenate([o.ravel() for o in outputs.values() if o.dtype == dtype]) for dtype in HIGHEST}
    np.savez_compressed(FOLDER / "golden.npz", **joined)  # type: ignore[arg-type]  # names are dtypes, not its options
    manifest = {
        "cases": {case.name: {"shape": outputs[case.name].shape, "sha256": digest(outputs[case.name])} for case in all_cases()},
        "images": {
            f"{seed}-{channels}-{dtype}": digest(image(seed, channels, dtype))
            for seed in (1, 2)
            for channels in (1, 2, 3, 4, 9)
            for dtype in HIGHEST
        },
    }
    (FOLDER / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
