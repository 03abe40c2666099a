"""Messages of the library in the words of the command line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import recolorist
from recolorist.cli.wording import for_commands
from recolorist.core.plan import refuse_channels
from recolorist.errors import StatisticsError

ROOT = Path(recolorist.__file__).parent
PYTHON = re.compile(r"numpy\.|\bnp\.|=True|=False|\w \(--\w+\)|astype|asarray")

#: Messages that no command can raise, by their beginning, and why.
UNREACHABLE = {
    " has dtype ": "files of other dtypes are refused when they are read",
    " is a ": "commands read files, not objects",
    " is a masked array": "commands read files, not objects",
    " channel and alpha=True": "commands have no option for alpha",
    "clip=False is for float": "commands always clip",
}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("space='lba' is unknown; choose from 'rgb', 'lab'", "--space lba is unknown; choose from 'rgb', 'lab'"),
        ("max_clip=7.5; accepted are numbers", "--max-clip 7.5; accepted are numbers"),
        ("strength=(0.5, 2); accepted", "--strength (0.5, 2); accepted"),
        ("raise max_pixels if you trust it", "raise --max-pixels if you trust it"),
        ("pass allow_split=True if you mean it", "pass --allow-split if you mean it"),
        ("build it with with_histograms=True", "build it with --histograms"),
        ("use mean_std or covariance", "use mean_std or covariance"),
        ("0 to 1. Declare it (data_range=255.0), or float('inf')", "0 to 1. Declare it (--data-range 255.0), or inf"),
        ("split=train/max_pixels/a.png is damaged", "split=train/max_pixels/a.png is damaged"),
        ("/data/strict=True/max_pixels.png exists", "/data/strict=True/max_pixels.png exists"),
        ("colour=3 is no option", "colour=3 is no option"),
        ("(bank build, masks=None), or measure both with mask='tissue'.", "(bank build), or measure both with --mask tissue."),
        ("(bank build --mask fundus, masks='fundus'), or with mask=None.", "(bank build --mask fundus), or without --mask."),
    ],
)
def test_names_become_options_and_files_stay(message: str, expected: str) -> None:
    assert for_commands(message) == expected


def test_grey_and_colour_name_the_option() -> None:
    with pytest.raises(StatisticsError) as caught:
        refuse_channels(1, 3, "rgb")
    assert "numpy.repeat" in str(caught.value)
    assert for_commands(str(caught.value)).endswith("they must agree. Pass --grey rgb to read grey images as colour.")


def raised(path: Path) -> list[str]:
    """The constant parts of every message that a module raises."""
    messages = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for part in node.exc.args:
                texts = [
                    piece.value for piece in ast.walk(part) if isinstance(piece, ast.Constant) and isinstance(piece.value, str)
                ]
                messages.append("".join(texts))
    return messages


def test_no_message_that_a_command_can_raise_speaks_python() -> None:
    modules = [path for folder in ("core", "io", "bank", "augment", "collections") for path in (ROOT / folder).rglob("*.py")]
    messages = {message: path.name for path in modules for message in raised(path)}
    assert len(messages) > 150
    python = [
        f"{name}: {message}"
        for message, name in messages.items()
        if PYTHON.search(for_commands(message)) and not any(part in message for part in UNREACHABLE)
    ]
    assert not python, "\n".join(python)
