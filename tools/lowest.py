"""Print every runtime dependency pinned to its declared lower bound: `python tools/lowest.py > lowest.txt`.

With the name of an extra, `python tools/lowest.py kornia`, print the bounds of that extra instead.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def lowest(requirement: str) -> str:
    """Turn `name>=bound` into `name==bound`; anything else has no bound that could be tested.

    Example:
        >>> lowest("numpy>=1.26")
        'numpy==1.26'
    """
    found = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
    if found is None:
        sys.exit(f"{requirement!r} in pyproject.toml has no plain lower bound; write it as name>=version.")
    return f"{found[1]}=={found[2]}"


def requirements_of(extra: str, extras: dict[str, list[str]]) -> list[str]:
    """Return what an extra asks for, with the extras of our own that it names.

    Example:
        >>> requirements_of("timm", {"timm": ["timm>=1.0.15", "recolorist[torch]"], "torch": ["torch>=2.6"]})
        ['timm>=1.0.15', 'torch>=2.6']
    """
    if extra not in extras:
        sys.exit(f"pyproject.toml has no extra {extra!r}; it has {', '.join(extras)}.")
    found: list[str] = []
    for line in extras[extra]:
        own = re.fullmatch(r"recolorist\[([\w,-]+)\]", line)
        found += [line] if own is None else [each for name in own[1].split(",") for each in requirements_of(name, extras)]
    return found


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    chosen = requirements_of(sys.argv[1], project["optional-dependencies"]) if sys.argv[1:] else project["dependencies"]
    for requirement in chosen:
        print(lowest(requirement))
