"""What the page has to show before anybody opens a file: synthetic slides, two pictures of scikit-image, a small bank."""

from __future__ import annotations

import base64
import io
import itertools
import json
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recolorist.bank.style_bank import StyleBank
from recolorist.demo.photos import other_camera, photo
from recolorist.demo.synthetic import SCANNERS, scan, tile, tissue

_SIDE: Final = 256  # of the synthetic slides
_REAL: Final = 512  # of the photographs
_OFF: Final = {
    "mask": "off",
    "only-inside": False,
    "show-clipped": False,
    "strength": 1,
    "gain": 10,
    "method": "mean_std",
    "space": "rgb",
}
_BANK_TISSUES: Final = range(20, 26)
_BANK_SIDE: Final = 96


def examples() -> list[dict[str, Any]]:
    """The examples in the order of the page; images are named by their keys."""
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
    """Every image of the examples as a file in base64."""
    slides = {"mill": 8, "valley": 9, "harbour": 6, "north": 3}
    retina = photo("retina.jpg", _REAL)
    images = {name: _entry(f"slide-{name}.png", tile(seed, name, _SIDE)) for name, seed in slides.items()}
    images["ihc"] = _entry("ihc.jpg", photo("ihc.png", _REAL))
    images["retina"] = _entry("retina.jpg", retina)
    images["camera"] = _entry("retina-other-camera.jpg", other_camera(retina[:, ::-1]))
    return images


def example_bank() -> dict[str, Any]:
    """A bank of synthetic slides as ``StyleBank.to_json`` writes it: a few tissues, each seen by every scanner."""
    dyes = {seed: tissue(seed, _BANK_SIDE) for seed in _BANK_TISSUES}
    pairs = list(itertools.product(dyes, SCANNERS))
    bank = StyleBank.build(
        [scan(dyes[seed], scanner, seed) for seed, scanner in pairs],
        domains=[f"scanner {scanner}" for _, scanner in pairs],
        keys=[f"tissue {seed} {scanner}" for seed, scanner in pairs],
        name="synthetic slides",
        split="example",
    )
    return dict(json.loads(bank.to_json()))


def _entry(name: str, pixels: NDArray[np.uint8]) -> dict[str, str]:
    buffer = io.BytesIO()
    if name.endswith(".png"):
        Image.fromarray(pixels).save(buffer, "PNG", optimize=True)
    else:
        Image.fromarray(pixels).save(buffer, "JPEG", quality=88)
    kind = "image/png" if name.endswith(".png") else "image/jpeg"
    return {"name": name, "type": kind, "base64": base64.b64encode(buffer.getvalue()).decode()}
