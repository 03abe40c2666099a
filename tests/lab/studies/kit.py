"""Small study files and an engine in this process for the tests of a reproduction."""

from __future__ import annotations

from pathlib import Path

from recolorist_lab.studies.rates import Rates

RATES = Rates(
    train=0.1, learn=2.0, pair=0.5, properties=0.25, classifier_bytes=1000, baseline_bytes=100, networks=True, device="cpu"
)


PROPERTIES = """
[[grid]]
name = "paper"
kind = "properties"
set = { dataset = "synthetic:tiles=4,size=32", pairs = 2, size = 32, seed = 0 }
"""


def write(folder: Path, **studies: str) -> Path:
    """Study files; `_quick` in a name stands for `.quick`."""
    folder.mkdir(exist_ok=True)
    for name, text in studies.items():
        file = name.replace("_quick_bare", ".quick-bare").replace("_quick", ".quick")
        (folder / f"{file}.toml").write_text(f'name = "{file.partition(".")[0]}"\n{text}', "utf-8")
    return folder
