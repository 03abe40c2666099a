"""Print every runtime dependency pinned to its declared lower bound: `python tools/lowest.py > lowest.txt`."""

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


if __name__ == "__main__":
    for line in tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]:
        print(lowest(line))
