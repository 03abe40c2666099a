"""Names, and how a choice among them is written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from recolorist.errors import OptionError
from recolorist_lab.augmentations import NAMES, build, parse
from recolorist_lab.augmentations.base import Chain, Nothing
from recolorist_lab.augmentations.table import AUGMENTATIONS
from tests.lab.augmentations.parts import images

PAGE = Path(__file__).parents[3] / "docs" / "augmentations.md"


PAPER = {
    "Baseline": "none",
    "AugMix": "augmix",
    "AutoAugment": "autoaugment",
    "Color Jitter": "color_jitter",
    "Gray Scale": "gray_scale",
    "RandAugment": "randaugment",
    "Random Erasing": "random_erasing",
    "Random Flip": "random_flip",
    "Random Resized Crop": "random_resized_crop",
    "Targeted Augment": "targeted",
    "TrivialAugment": "trivialaugment",
    "Colorist": "colorist",
}


def test_the_papers_rows_and_ours_are_all_there() -> None:
    assert {entry.paper: name for name, entry in AUGMENTATIONS.items() if entry.paper} == PAPER
    assert {name for name in NAMES if not AUGMENTATIONS[name].paper} == {
        "colorist_other_domain",
        "histogram",
        "hed_jitter",
        "randstainna",
        "own_style",
        "camera",
    }


def test_one_or_several_with_options() -> None:
    first, second = parse(" colorist(p=0.5, space='ycbcr') + random_flip ")
    assert (first.name, first.p, first.options["space"], first.options["sampler"]) == ("colorist", 0.5, "ycbcr", "uniform")
    assert (second.name, second.p) == ("random_flip", 1.0)
    assert isinstance(build("none+none", images(), seed=0), Chain)
    assert isinstance(build("none", images(), seed=0), Nothing)


@pytest.mark.parametrize(
    "text",
    [
        *("", "colorist+", "colorist,random_flip", "colorist(0.5)", "colorist(p=x)", "colorist(**{})", "a.b()", "colorist*2"),
        *("colorist(p=0.1, p=0.2)", "__import__('os').system('true')", "colorist(p=open('f'))", "(lambda: 0)()", "1"),
        "+".join(["none"] * 5000),
    ],
)
def test_what_is_not_a_choice_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour_jitter", "did you mean 'color_jitter'"),
        ("colorist(prob=0.3)", "'prob' is unknown.*'max_clip'"),
        ("colorist(p=1.5)", "p of colorist"),
        ("colorist(p=True)", "p of colorist"),
        ("augmix(severity=3.5)", "severity of augmix is 3.5; accepted is a whole number"),
        ("augmix(all_ops=1)", "accepted is true or false"),
        ("colorist(space=3)", "accepted is text"),
        ("hed_jitter(scale='much')", "accepted is a number"),
        ("colorist+nothing", "'nothing' is unknown"),
    ],
)
def test_wrong_settings_say_what_is_accepted(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse(text)


def test_names_are_read_without_torch() -> None:
    code = (
        "import sys; from recolorist_lab.augmentations import parse; parse('colorist+random_flip'); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own line
    assert done.stdout.strip() == "False"


def test_the_page_lists_every_augmentation_as_the_table_has_it() -> None:
    page = PAGE.read_text("utf-8")
    for name, entry in AUGMENTATIONS.items():
        assert f"| `{name}` | {entry.paper or '–'} | {entry.p:g} | {entry.summary} |" in page


def test_the_pages_example_runs_and_its_pictures_are_small() -> None:
    page = PAGE.read_text("utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    exec(compile(block, PAGE.name, "exec"), {})  # noqa: S102 - our own documentation
    pictures = re.findall(r"\]\((images/[\w.]+)\)", page)
    assert len(pictures) == 2
    assert all(1_000 < (PAGE.parent / picture).stat().st_size < 300_000 for picture in pictures)
