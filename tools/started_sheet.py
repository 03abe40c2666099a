"""Draw docs/images/baselines_started.jpg: `python -m tools.started_sheet IMAGES WEIGHTS [WEIGHTS ...]`.

IMAGES is a folder of blood cells whose licence allows to show them (acevedo20, CC BY 4.0); WEIGHTS are files of
`recolorist-lab baseline train`. Nobody chooses the pairs: styles are evenly spread over the folder's colours, from one end to the
other, and contents come in the opposite order. Cells of one laboratory look much alike, so every second style is first given the
colours of the other one, whose images must not be shown here, by `recolorist.match`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.progress import track

import recolorist as rc
from recolorist_lab.baselines import store
from recolorist_lab.baselines.crops import tensor_of
from recolorist_lab.baselines.sheet import pictures
from tools.montage import montage, resized

OUT: Final = Path(__file__).parents[1] / "docs" / "images" / "baselines_started.jpg"
COLUMNS: Final = 6
SIDE: Final = 128
QUALITY: Final = 88
#: Medians over 300 images of the other laboratory (Zheng 2018): mean and deviation of red, green and blue, from 0 to 255.
OTHER: Final = ((225.3, 201.7, 151.0), (50.4, 76.3, 28.2))
_SKIPPED: Final = 0.02  # share of the images at either end that is passed over, so that no outlier is shown


def by_colour(paths: Sequence[Path]) -> list[Path]:
    """The images in the order of the direction in which their mean colours differ most."""
    means = np.array([resized(Image.open(path), 16).reshape(-1, 3).mean(axis=0) for path in track(paths, "measuring")])
    centred = means - means.mean(axis=0)
    axis: NDArray[np.float64] = np.linalg.svd(centred, full_matrices=False)[2][0]
    axis = axis * np.sign(axis.sum())  # from dark to bright on every machine
    return [paths[i] for i in np.argsort(centred @ axis, kind="stable")]


def main() -> None:
    """Draw and write."""
    folder, *files = map(Path, sys.argv[1:])
    ordered = by_colour(sorted(folder.rglob("*.jpg")))
    last = len(ordered) - 1
    places = np.linspace(_SKIPPED * last, (1 - _SKIPPED) * last, COLUMNS).round().astype(int)
    goal = rc.Moments(1, OTHER[0], np.diag(np.square(OTHER[1])), data_range=255.0)
    styles = [resized(Image.open(ordered[i]), SIDE) for i in places]
    styles = [style if column % 2 else rc.match(style, goal) for column, style in enumerate(styles)]
    contents = [resized(Image.open(ordered[i + 1]), SIDE) for i in places[::-1]]
    rows = [contents, styles]
    for path in track(files, "stylising"):
        model = store.load(path).eval()
        rows.append(list(pictures(model.stylise(tensor_of(contents), tensor_of(styles)))))
    montage(rows).save(OUT, quality=QUALITY, subsampling=0, optimize=True)


if __name__ == "__main__":
    main()
