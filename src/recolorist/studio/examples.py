"""Make the examples of the page: synthetic slides, two photographs, a small bank."""

from __future__ import annotations

import base64
import io
import itertools
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recolorist.bank.style_bank import StyleBank
from recolorist.demo.photos import other_camera, photo
from recolorist.demo.synthetic import SCANNERS, scan, tile, tissue

__all__ = ["example_bank", "example_images", "examples"]

_SIDE: Final = 256  # of the synthetic slides
_REAL: Final = 512  # of the photographs
_OFF: Final = {
    "mask": "off",
    "only-inside": False,
    "show-clipped": False,
    "show-loss": True,
    "strength": 1,
    "gain": 10,
    "method": "mean_std",
    "space": "rgb",
}
_BANK_TISSUES: Final = range(20, 26)
_BANK_SIDE: Final = 96


def examples() -> list[dict[str, Any]]:
    """Return the examples in the order of the page; images are named by their keys.

    Example:
        >>> [example["content"] for example in examples()]
        ['mill', 'ihc', 'retina']
    """
    fundus = {"mask": "brighter", "content-threshold": 24, "style-threshold": 24, "only-inside": True, "show-mask": False}
    return [
        {
            "title": "a faded slide, three laboratories",
            "content": "mill",
            "styles": ["valley", "harbour", "north"],
            "controls": _OFF,
        },
        {"title": "immunohistochemistry and H&E", "content": "ihc", "styles": ["north", "harbour"], "controls": _OFF},
        {"title": "a retina, another camera, with a mask", "content": "retina", "styles": ["camera"], "controls": _OFF | fundus},
    ]


def example_images() -> dict[str, dict[str, str]]:
    """Return every image of the examples as a file in base64.

    Example:
        >>> sorted(example_images())
        ['camera', 'harbour', 'ihc', 'mill', 'north', 'retina', 'valley']
    """
    slides = {"mill": 8, "valley": 9, "harbour": 6, "north": 3}
    retina = photo("retina.jpg", _REAL)
    images = {name: _encode(f"slide-{name}.png", tile(seed, name, _SIDE)) for name, seed in slides.items()}
    images["ihc"] = _encode("ihc.jpg", photo("ihc.png", _REAL))
    images["retina"] = _encode("retina.jpg", retina)
    images["camera"] = _encode("retina-other-camera.jpg", other_camera(retina[:, ::-1]))
    return images


def example_bank() -> str:
    """Return a bank of synthetic slides as ``StyleBank.to_json`` writes it: six tissues, each through every scanner.

    Example:
        >>> StyleBank.from_json(example_bank()).name
        'synthetic slides'
    """
    dyes = {seed: tissue(seed, _BANK_SIDE) for seed in _BANK_TISSUES}
    pairs = list(itertools.product(dyes, SCANNERS))
    bank = StyleBank.build(
        [scan(dyes[seed], scanner, seed) for seed, scanner in pairs],
        domains=[f"scanner {scanner}" for _, scanner in pairs],
        keys=[f"tissue {seed} {scanner}" for seed, scanner in pairs],
        name="synthetic slides",
        split="example",
    )
    return bank.to_json()


def _encode(name: str, pixels: NDArray[np.uint8]) -> dict[str, str]:
    buffer = io.BytesIO()
    if name.endswith(".png"):
        Image.fromarray(pixels).save(buffer, "PNG", optimize=True)
    else:
        Image.fromarray(pixels).save(buffer, "JPEG", quality=88)
    kind = "image/png" if name.endswith(".png") else "image/jpeg"
    return {"name": name, "type": kind, "base64": base64.b64encode(buffer.getvalue()).decode()}
