"""Fuzz the readers guided by coverage, with Atheris: `python -m tests.hostile.guided --seconds 600`.

Every kind of file gets its share of the time in a process of its own, with five seconds for a file. Our code and the parsers that
are written in Python are instrumented; decoders in C are run and not instrumented. A file that breaks a promise or takes too long
ends its process and is written to ``--keep``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

INSTRUMENTED = ["recolorist", "recolorist_lab", "tifffile", "pydicom", "zipfile", "tarfile", "json"]
SECONDS_A_FILE = 5
MEBIBYTES = 2048
_UNITS = re.compile(r"stat::number_of_executed_units: (\d+)")


def main() -> None:
    """Run the campaign, or one kind of it in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where faults are kept")
    parser.add_argument("--kinds", nargs="*")
    parser.add_argument(
        "--here", type=Path, help=argparse.SUPPRESS
    )  # a folder for files; libFuzzer ends a process without tidying
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    if given.here:
        _fuzz(given)
        return
    from tests.hostile.files import SEEDS

    kinds = given.kinds or list(SEEDS)
    tallies = [_tally(kind, given, given.seconds / len(kinds)) for kind in kinds]
    total = {name: sum(tally[name] for tally in tallies) for name in ("tries", "faults")}
    sys.stdout.write(json.dumps({"all": len(tallies), **total}) + "\n")
    sys.exit(bool(total["faults"]))


def _tally(kind: str, given: argparse.Namespace, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        words = ["--here", folder, "--kinds", kind, "--seconds", str(seconds), "--seed", str(given.seed)]
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "tests.hostile.guided", *words, "--keep", str(given.keep)],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    units = _UNITS.search(done.stderr)
    tally = {"kind": kind, "tries": int(units[1]) if units else 0, "faults": int(done.returncode != 0)}
    if done.returncode:
        sys.stderr.write(done.stderr[-4000:])
    sys.stdout.write(json.dumps(tally) + "\n")
    sys.stdout.flush()
    return tally


def _fuzz(given: argparse.Namespace) -> None:
    atheris: Any = importlib.import_module("atheris")  # of `make fuzz` alone
    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.hostile.files import seed_of, try_file
    (kind,) = given.kinds
    logging.disable(logging.CRITICAL)
    corpus, folder = given.here / "corpus", given.here / "read"
    corpus.mkdir()
    folder.mkdir()
    (corpus / "seed").write_bytes(seed_of(kind))
    try_file(kind, seed_of(kind), folder)
    limits = [f"-max_total_time={int(given.seconds)}", f"-timeout={SECONDS_A_FILE}", f"-rss_limit_mb={MEBIBYTES}"]
    place = given.keep / f"guided-{kind}-".replace(" ", "-")
    words = [sys.argv[0], str(corpus), *limits, f"-seed={given.seed}", f"-artifact_prefix={place}", "-print_final_stats=1"]
    atheris.Setup(words, lambda data: try_file(kind, data, folder))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
