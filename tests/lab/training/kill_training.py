"""Kill a training run at random moments: `python -m tests.lab.training.kill_training FOLDER --kills 20`.

The run is trained once undisturbed. Then it is trained in processes that are ended with SIGKILL at random moments, each going on
from what the one before left in a ledger, until it is finished; and again in a new ledger, until the kills are used up. Every
finished run must have the same weights, scores and history, byte for byte. Processes are copies of this one, which has imported
everything already; they share nothing with each other but the ledger.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import torch

from recolorist_lab.runs.cell import run_cell
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell
from recolorist_lab.training.prepare import prepare
from recolorist_lab.training.run import run
from tests.lab.training.contexts import small

_LEASE: Final = 5.0
_FILES: Final = ("model.safetensors", "scores.json", "history.json")


_IMPORTED: Final = run  # before the copies are made, as everything else


@lru_cache
def cell() -> Cell:
    """Everything that is random at once: partners and mixing, styles, flips, order; a checkpoint after every minibatch."""
    kind = KINDS["classify"]
    config = small(
        algorithm="selfreg", augmentation="colorist+random_flip", epochs=4, batch=6, patience=4, checkpoint_seconds=0.0
    )
    return Cell("train", "classify", config, code=kind.fingerprint(config), data=kind.data(config))


def live(ledger: Path) -> int:
    """Begin a process that works on the cell; returns its number."""
    pid = os.fork()
    if pid:
        return pid
    outcome = run_cell(ledger, _LEASE, cell())
    if outcome.message:
        sys.stderr.write(outcome.message + "\n")
        sys.stderr.flush()
    os._exit(0 if outcome.name in {"done", "reused"} else 1)


def ended(pid: int, seconds: float) -> bool:
    """Whether the process ends by itself in this time; an error in it is ours."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, f"a run failed: {status}"
            return True
        time.sleep(0.002)
    return False


def digests(ledger: Path) -> dict[str, str]:
    result = Ledger(ledger, must_exist=True).result(cell())
    return {name: hashlib.sha256(result.read(name)).hexdigest() for name in _FILES}


def kill_training(folder: Path, kills: int, seed: int = 0) -> dict[str, Any]:
    """The tally: kills, runs that were finished in spite of them, and how often a process went on from a checkpoint."""
    torch.set_num_threads(1)
    prepare(cell().config)  # so that what is imported and drawn when it is first asked for is there in every copy
    Ledger(folder / "undisturbed", lease=_LEASE)
    start = time.monotonic()
    assert ended(live(folder / "undisturbed"), 600.0)
    alone = time.monotonic() - start
    wanted = digests(folder / "undisturbed")
    draw, done, runs, lives, steps = random.Random(seed), 0, 0, 0, set[int]()
    while done < kills:
        book = Ledger(folder / f"disturbed-{runs}", lease=_LEASE)
        while True:
            pid, lives = live(book.root), lives + 1
            if ended(pid, draw.uniform(0.05, 0.3) * alone if done < kills else 600.0):
                break
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            done += 1
            steps.add(book.state(cell()).step or 0)
        assert digests(book.root) == wanted, "a run that was killed and resumed ended otherwise than the undisturbed one"
        runs += 1
    return {
        "kills": done,
        "runs": runs,
        "lives": lives,
        "checkpoints": sorted(steps),
        "seconds": round(time.monotonic() - start, 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(json.dumps(kill_training(given.folder, given.kills, given.seed)))  # noqa: T201
