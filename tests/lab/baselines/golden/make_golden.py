"""Write the golden numbers of the networks anew; only by hand, see README.md."""

from __future__ import annotations

import argparse
import json

import torch

from tests.lab.baselines.golden.cases import CASES, FILE

__all__: list[str] = []


def main() -> None:
    """Compute every case and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--yes", action="store_true", help="overwrite the stored numbers; say why in the changelog")
    if not parser.parse_args().yes:
        parser.error("the stored numbers are there so that they do not change; pass --yes if they are meant to")
    torch.set_num_threads(1)
    FILE.write_text(json.dumps({case.name: case.numbers() for case in CASES}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
