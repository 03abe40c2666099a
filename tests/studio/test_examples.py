"""The examples of the page: images that open, controls the page knows, a bank that loads."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from recolorist.bank.style_bank import StyleBank
from recolorist.demo.synthetic import SCANNERS, tile
from recolorist.studio.examples import example_bank, example_images, examples


def test_every_image_of_an_example_is_there_and_opens() -> None:
    images = example_images()
    used = {name for example in examples() for name in (example["content"], *example["styles"])}
    assert used == set(images)
    for entry in images.values():
        with Image.open(io.BytesIO(base64.b64decode(entry["base64"]))) as picture:
            assert f"image/{(picture.format or '').lower()}" == entry["type"]
            assert min(picture.size) >= 256


def test_slides_are_those_of_the_library_bit_for_bit() -> None:
    with Image.open(io.BytesIO(base64.b64decode(example_images()["mill"]["base64"]))) as picture:
        assert np.array_equal(np.asarray(picture), tile(8, "mill", 256))


def test_examples_set_controls_the_page_knows() -> None:
    from importlib import resources

    html = (resources.files("recolorist.studio") / "page.html").read_text("utf-8")
    for example in examples():
        for control in example["controls"]:
            assert f'"{control}"' in html, control


def test_the_bank_holds_every_tissue_through_every_scanner() -> None:
    bank = StyleBank.from_json(example_bank())
    assert len(bank) == 6 * len(SCANNERS)
    assert set(bank.domains) == {f"scanner {name}" for name in SCANNERS}
