"""Messages of the library in the words of the command line: `max_clip=2` becomes `--max-clip 2`."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

__all__ = ["for_commands"]

#: Remedies that are lines of Python, and what a command offers instead. The rest of the sentence stays.
_REMEDIES: Final = (
    (
        "Turn grey into colour with numpy.repeat(grey[..., None], 3, axis=-1), or colour into grey, as you mean it.",
        "Pass --grey rgb to read grey images as colour.",
    ),
    (" Channels come last here: numpy.moveaxis(image, -3, -1).", " Channels come last here: save it as (H, W, C)."),
    (
        " Repair them, or pass on_nonfinite='mask': those pixels are then left out of the statistics and kept as they are.",
        " Repair them and save the file again.",
    ),
    ("float('inf')", "inf"),
    ("image.convert('RGB')", "--convert"),
    ("with mask=None", "without --mask"),
)
#: Options that are called differently there.
_NAMES: Final = {
    "with_histograms": "--histograms",
    "clip": "--max-clip",
    "group_from": "--group-from",
    "fail_over": "--fail-over",
    "fail_shift": "--fail-shift",
    "fail_least": "--fail-least",
    "overwrite": "--force",
}
_VALUE: Final = r"('[^']*'|\"[^\"]*\"|\([^()]*\)|[\w.+-]*\w)"


def for_commands(message: str) -> str:
    """Return a message with the options of the library as those of the command line.

    Args:
        message: The message of an error, in the words of Python.

    Returns:
        The same message for somebody who typed a command. Names of files are left alone.

    Example:
        >>> for_commands("max_clip=7.5; accepted are numbers from 0 to 1")
        '--max-clip 7.5; accepted are numbers from 0 to 1'
        >>> for_commands("split=train/a.png exists; pass force=True to replace it")
        'split=train/a.png exists; pass --force to replace it'
    """
    for python, command in _REMEDIES:
        message = message.replace(python, command)
    message = re.sub(r", masks=(?:None|'\w+')(?=\))", "", message)  # the same remedy in Python, behind the command
    message = re.sub(rf"(?<![\w/.\\-])([a-z_]+)={_VALUE}(?![\w/\\])", _replace_pair, message)
    return re.sub(r"(?<![\w/.\\-])([a-z]+(?:_[a-z]+)+)(?![\w/\\.=(])", _replace_name, message)


def _replace_pair(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    option = _options().get(name)
    if option is None:
        return match[0]
    return option if value in ("True", "False") else " ".join((option, value.strip("'\"")))


def _replace_name(match: re.Match[str]) -> str:
    return _options().get(match[1], match[0])


@cache
def _options() -> dict[str, str]:
    """Return the option of each keyword."""
    from recolorist.cli.options import OPTIONS

    return {name: f"--{name.replace('_', '-')}" for name in OPTIONS} | _NAMES
