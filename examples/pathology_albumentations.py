"""A folder of pathology tiles, a style bank of it, and an Albumentations pipeline that uses the colours of other scanners.

The tiles are synthetic, so the example runs anywhere. The training folder has three scanners, and a fourth one is not used in
training. The script prints how far the mean colours of the fourth scanner are from those of an epoch of training, with and
without Colorist.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Final

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # the import would ask the network for a newer version

import albumentations as A  # noqa: N812
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recolorist import StyleBank
from recolorist.albumentations import Colorist
from recolorist.demo import synthetic
from recolorist.io.images import read_image

TRAINING: Final = ("north", "harbour", "mill")
UNSEEN: Final = "valley"
TILES: Final = 8
EPOCHS: Final = 10
SIDE: Final = 128


def write_tiles(folder: Path) -> None:
    """A folder as a laboratory has it: one sub-folder a scanner, PNG files in it."""
    for scanner in TRAINING:
        (folder / scanner).mkdir(parents=True)
        for seed in range(TILES):
            Image.fromarray(synthetic.tile(seed, scanner, SIDE)).save(folder / scanner / f"tile_{seed:02}.png")


def colours(tiles: list[NDArray[np.uint8]]) -> NDArray[np.float64]:
    """Mean colour of each tile."""
    return np.array([tile.reshape(-1, 3).mean(axis=0) for tile in tiles])


def nearest(unseen: NDArray[np.float64], shown: NDArray[np.float64]) -> float:
    """Mean distance from an unseen colour to the nearest shown one."""
    return float(np.linalg.norm(unseen[:, None] - shown[None], axis=-1).min(axis=1).mean())


def main() -> None:
    """Build the bank, augment for a few epochs, compare."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tiles(folder / "train")
        bank = StyleBank.from_folder(folder / "train", domain_from=0, label_from=None, split="train", masks="tissue")
        print(f"{bank!r}: {bank.save(folder / 'train.bank').stat().st_size / 1024:.0f} kB for {len(bank)} tiles")

        pipeline = A.Compose(
            [
                A.D4(p=1.0),
                # tissue is measured, glass is not; styles between and beyond those of the three scanners
                Colorist(bank, sampler="extrapolate", mask="tissue", max_clip=0.02, p=0.8),
            ],
            seed=1,
        )
        print(f"the pipeline, bank and all, is {len(json.dumps(A.to_dict(pipeline))) / 1024:.0f} kB of JSON")
        originals = [read_image(path) for path in sorted((folder / "train").rglob("*.png"))]

    unseen = colours([synthetic.tile(seed, UNSEEN, SIDE) for seed in range(TILES)])
    epochs = [[pipeline(image=tile)["image"] for tile in originals] for _ in range(EPOCHS)]
    for what, shown in (("as they are", [originals]), ("with Colorist", epochs)):
        apart = np.mean([nearest(unseen, colours(tiles)) for tiles in shown])
        print(f"training tiles {what}: a tile of the unseen scanner is {apart:.1f} grey levels from the nearest of an epoch")


if __name__ == "__main__":
    main()
