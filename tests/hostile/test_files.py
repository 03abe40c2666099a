"""Promises 14, 25 and 26: a mutated file is read or refused with a sentence; one with a checksum is read unchanged or refused.

A few seconds here; `RECOLORIST_FUZZ_SECONDS=3600 pytest tests/hostile/test_files.py` goes on for an hour, from another seed each
time that `RECOLORIST_FUZZ_SEED` is changed. `python -m tests.hostile.campaign` adds limits of time and memory.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.full import full
from tests.hostile.files import SEEDS, FaultError, mutate, seed_of, try_file

TRIES = full(40, 2_000)
SECONDS = float(os.environ.get("RECOLORIST_FUZZ_SECONDS", "0")) / len(SEEDS)  # of each kind
FIRST = int(os.environ.get("RECOLORIST_FUZZ_SEED", "0"))
OPTIONAL = {"dcm": "pydicom", "png 16": "imagecodecs", "tif jpeg": "imagecodecs", "dcm deflated": "pydicom"}
OPTIONAL |= {"zarr chunk": "zarr", "zarr metadata": "zarr"}

pytestmark = pytest.mark.filterwarnings("ignore")  # decoders warn of damaged files; what counts is what they return


@pytest.mark.parametrize("kind", SEEDS)
def test_the_seed_is_read(kind: str, tmp_path: Path) -> None:
    pytest.importorskip(OPTIONAL.get(kind, "numpy"))
    assert try_file(kind, seed_of(kind), tmp_path) == "read"


@pytest.mark.parametrize("kind", SEEDS)
def test_mutations_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    pytest.importorskip(OPTIONAL.get(kind, "numpy"))
    until, number, outcomes, faults = time.monotonic() + SECONDS, FIRST, Counter[str](), []
    while number < FIRST + TRIES or (SECONDS and time.monotonic() < until):
        try:
            outcomes[try_file(kind, mutate(seed_of(kind), random.Random(f"{kind}{number}")), tmp_path)] += 1
        except FaultError as fault:
            faults.append(f"seed {number}: {fault}")
        number += 1
    assert not faults, f"{len(faults)} of {number - FIRST}:\n" + "\n".join(faults[:20])
    assert outcomes["refused"]


@pytest.mark.parametrize("kind", SEEDS)
def test_cut_anywhere_it_is_refused(kind: str, tmp_path: Path) -> None:
    """Promise 14: 12 cuts here, 200 in the full suite."""
    pytest.importorskip(OPTIONAL.get(kind, "numpy"))
    data, cuts = seed_of(kind), full(12, 200)
    read = [part for part in range(cuts) if try_file(kind, data[: len(data) * part // cuts], tmp_path) == "read"]
    assert not read
