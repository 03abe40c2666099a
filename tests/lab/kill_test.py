"""Kill a real sweep at random moments and see whether anything is lost: `python -m tests.lab.kill_test --kills 200`.

Launchers run a study in the same ledger. Again and again one of their processes, or all processes of a launcher at once, are
ended with SIGKILL, and a dead launcher is started again. After every kill the ledger is read: a cell that was finished must still
be, and every finished cell must hold the value that the chain of hashes must end with. In the end the table must equal that of a
sweep nobody disturbed, byte for byte, and no cell may ever have been held by two processes at once.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell, Study, load
from recolorist_lab.studies.rehearsal.cell import Rehearsal, chain
from tests.lab.command import begun, lab, session

_STEPS: Final = 4
_VICTIMS: Final = ("worker", "launcher", "server", "everything")
_WEIGHTS: Final = (70, 12, 6, 12)
_STUDY: Final = """
name = "killed"

[[grid]]
name = "train"
kind = "rehearsal"
set = {{ steps = {steps}, pause = {pause}, ballast = 6400, witness = "{witness}" }}
axes.index = {indices}

[[grid]]
name = "score"
kind = "rehearsal"
set = {{ steps = 1, witness = "{witness}" }}
axes.index = [{score}]
needs = [{{ grid = "train" }}]
"""


@dataclass
class Tally:
    """What was done, for whoever wants to know that it was done at all."""

    kills: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    starts: int = 0  # of launchers
    cells: int = 0
    begun: int = 0  # times a cell was begun; more than cells means that kills hit cells at work
    resumed: int = 0  # cells that went on from a checkpoint
    seconds: float = 0.0


class Round:
    """One study, disturbed until it is finished."""

    def __init__(self, folder: Path, number: int, cells: int, launchers: int, pause: float, tally: Tally) -> None:
        self.witness = folder / f"witness-{number}"
        self.witness.mkdir(parents=True)
        first = number * 100_000
        self.path = folder / f"study-{number}.toml"
        text = _STUDY.format(
            steps=_STEPS, pause=pause, witness=self.witness, indices=list(range(first, first + cells)), score=first + 99_999
        )
        self.path.write_text(text, "utf-8")
        self.study: Study = load(self.path)
        self.ledger = Ledger(folder / "ledger", lease=5.0)
        self.folder, self.tally = folder, tally
        self.done: set[str] = set()
        self.sessions: list[int] = []
        self.launchers = [self.start() for _ in range(launchers)]

    def start(self) -> subprocess.Popen[bytes]:
        self.tally.starts += 1
        words = ("sweep", "run", self.path, "--ledger", self.ledger.root, "--jobs", "1", "--retries", "1000", "--lease", "5")
        process = begun(*words)
        self.sessions.append(process.pid)
        return process

    def kill(self, draw: random.Random) -> bool:
        """Kill something of a launcher that is alive; False if there was nothing of that sort."""
        launcher = draw.choice(self.launchers)
        unseen = [victim for victim in _VICTIMS if not self.tally.kills[victim]]  # each is hit once, then at random
        victim = unseen[0] if unseen else draw.choices(_VICTIMS, _WEIGHTS)[0]
        family = session(launcher.pid)
        servers = [pid for pid, parent in family.items() if parent == launcher.pid]
        choices = {
            "worker": [pid for pid, parent in family.items() if parent in servers],
            "server": servers,
            "launcher": [pid for pid in family if pid == launcher.pid],
            "everything": [pid for pid in family if pid == launcher.pid],
        }[victim]
        if not choices:
            return False
        try:
            pid = draw.choice(sorted(choices))
            os.killpg(pid, signal.SIGKILL) if victim == "everything" else os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.tally.kills[victim] += 1
        return True

    def revive(self) -> bool:
        """Start dead launchers again; True when all have ended by themselves."""
        for place, launcher in enumerate(self.launchers):
            code = launcher.poll()
            if code is not None and code < 0:
                launcher.communicate()
                self.launchers[place] = self.start()
            elif code:
                raise AssertionError(f"a launcher ended with exit code {code}: {launcher.communicate()[1].decode()}")
        return all(launcher.poll() == 0 for launcher in self.launchers)

    def check(self) -> None:
        """Nothing finished is lost, and nothing is finished that should not be."""
        states = {cell: self.ledger.state(cell).name for cell in self.study.cells}
        assert not {"corrupt", "failed"} & set(states.values()), "a result was half written, or a cell was given up"
        finished = {cell.run_id: cell for cell, state in states.items() if state == "done"}
        assert self.done <= set(finished), f"lost: {self.done - set(finished)}"
        for run_id in set(finished) - self.done:
            result = self.ledger.result(finished[run_id])
            result.verify()
            assert result.result["chain"] == self.expected(finished[run_id])
        self.done = set(finished)

    def expected(self, cell: Cell) -> str:
        """What the cell must have found, worked out without the ledger."""
        config: Rehearsal = cell.config
        return chain(config.index, config.steps, [self.expected(earlier) for _, earlier in cell.inputs])

    def finish(self) -> None:
        """The table equals that of an undisturbed sweep, no cell was ever held twice, and no process is left."""
        self.check()
        assert len(self.done) == len(self.study.cells)
        tables = [self.table(self.ledger.root), self.table(self.undisturbed())]
        assert tables[0] == tables[1]
        assert not list(self.witness.glob("twice-*")), "two processes had the same cell at once"
        until = time.monotonic() + 120
        while any(session(leader) for leader in self.sessions) and time.monotonic() < until:
            time.sleep(0.1)
        assert not [pid for leader in self.sessions for pid in session(leader)], "processes outlived their launcher"

    def undisturbed(self) -> Path:
        quiet = self.folder / "undisturbed"
        begins = len(list(self.witness.glob("start-*")))
        self.tally.begun += begins
        done = lab("sweep", "run", self.path, "--ledger", quiet, "--jobs", "2")
        assert done.code == 0, done.err
        return quiet

    def table(self, ledger: Path) -> bytes:
        out = self.folder / "table.csv"
        done = lab("sweep", "export", self.path, "--ledger", ledger, "--out", out, "--force")
        assert done.code == 0, done.err
        return out.read_bytes()

    def end(self) -> None:
        for leader in self.sessions:
            if session(leader):
                os.killpg(leader, signal.SIGKILL)
        for launcher in self.launchers:
            launcher.communicate()


def kill_test(folder: Path, kills: int, *, seed: int = 0, cells: int = 24, launchers: int = 2, pause: float = 0.03) -> Tally:
    """Rounds until there were so many kills; then the last one is left to finish."""
    draw, tally, started = random.Random(seed), Tally(), time.monotonic()
    while not tally.rounds or tally.kills.total() < kills:
        current = Round(folder, tally.rounds, cells, launchers, pause, tally)
        try:
            _disturb(current, kills, draw, tally)
            current.finish()
            payloads = [current.ledger.result(cell).payload for cell in current.study.cells]
            tally.resumed += sum(payload["timings"]["resumed_from"] is not None for payload in payloads)
            tally.cells += len(payloads)
        finally:
            current.end()
        tally.rounds += 1
    tally.seconds = time.monotonic() - started
    return tally


def _disturb(current: Round, kills: int, draw: random.Random, tally: Tally) -> None:
    while not current.revive():
        time.sleep(draw.uniform(0.02, 0.4))
        if tally.kills.total() < kills and current.kill(draw):
            current.check()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cells", type=int, default=24, help="in a round")
    parser.add_argument("--launchers", type=int, default=2)
    parser.add_argument("--pause", type=float, default=0.03, help="seconds a step of a cell takes")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tally = kill_test(
            Path(folder), asked.kills, seed=asked.seed, cells=asked.cells, launchers=asked.launchers, pause=asked.pause
        )
    kinds = ", ".join(f"{count} × {name}" for name, count in sorted(tally.kills.items())) or "none"
    sys.stdout.write(
        f"kills: {kinds}\nrounds: {tally.rounds}, cells: {tally.cells}, begun: {tally.begun} times, of which the last attempt of "
        f"{tally.resumed} went on from a checkpoint\nlaunchers started: {tally.starts}, {tally.seconds:.0f} s\n"
        "no finished cell lost, none falsely finished, no cell held twice, every table equal to the undisturbed one\n"
    )


if __name__ == "__main__":
    main()
