"""Write the small real images of the gallery, examples/images/*.jpg: `python -m tools.example_images DATA`.

DATA holds `histology/nct_crc_he_nonorm`, `blood/acevedo20` and `retina/idrid`, whose licence (CC BY 4.0) allows to pass them on.
Images are cropped to their central square and reduced; colours are not changed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from PIL import Image, ImageOps

OUT: Final = Path(__file__).parents[1] / "examples" / "images"
SIDE: Final = 192
QUALITY: Final = 88
COUNT: Final = 4
#: Folder of the source, part of the name, and the side of the central square that is kept.
SETS: Final = {
    "tissue": ("histology/nct_crc_he_nonorm/TUM", 224),
    "blood": ("blood/acevedo20/neutrophil", 240),
    "fundus": ("retina/idrid", 224),
}


def main() -> None:
    """Read evenly spread images of each set and write them."""
    data = Path(sys.argv[1])
    OUT.mkdir(exist_ok=True)
    for name, (folder, crop) in SETS.items():
        paths = sorted((data / folder).iterdir())
        for number in range(COUNT):
            with Image.open(paths[number * len(paths) // COUNT]) as image:
                square = ImageOps.fit(image.convert("RGB"), (min(image.size), min(image.size)))
            edge = (square.width - min(crop, square.width)) // 2
            square = ImageOps.crop(square, edge).resize((SIDE, SIDE), Image.Resampling.LANCZOS)
            square.save(OUT / f"{name}_{number + 1}.jpg", quality=QUALITY, optimize=True)


if __name__ == "__main__":
    main()
