"""The Ray engine: the same cells as Ray tasks, on any number of machines that share the ledger's file system.

Ray starts processes and hands out processors and graphics cards. The ledger says which cells are claimed or finished, so
a task that Ray runs twice finds the cell claimed or done.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from recolorist import optional
from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.runs.cell import CellOutcome, run_cell
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell, Resources

__all__ = ["RayEngine", "shortage"]

_AHEAD: Final = 2  # tasks submitted per processor of the cluster
_PATIENCE: Final = 5.0  # seconds cells have to give up their claims


class RayEngine:
    """Tasks on a cluster; without an address, Ray is started on this machine with ``jobs`` processors."""

    def __init__(self, ledger: Ledger, jobs: int, address: str | None, retries: int) -> None:
        self._ledger = ledger
        self._ray = _start_ray(jobs, address)
        self._task = self._ray.remote(_run)
        self._retries = retries
        self._running: dict[Any, Cell] = {}
        self._limit = jobs if address is None else None
        self._said: set[Resources] = set()

    def free(self) -> int:
        """Return how many more tasks are worth submitting. A cluster may grow, so it is asked each time.

        Returns:
            The number.
        """
        cpus = self._limit or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        return _AHEAD * cpus - len(self._running)

    def fits(self, cell: Cell) -> bool:
        """Accept every cell: Ray keeps tasks until a machine is free. Resources that no machine has are reported once each.

        Args:
            cell: The cell.

        Returns:
            True.

        Raises:
            OptionError: Ray was started here, and will never have what the cell asks for.
        """
        wants = cell.resources
        if wants in self._said:
            return True
        self._said.add(wants)
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if sentence := shortage(wants, nodes):
            if self._limit is not None:
                raise OptionError(f"{sentence}; give Ray more with --jobs, or lower the study's resources")
            sys.stderr.write(f"recolorist-lab: {sentence}; these cells wait until a machine with as much joins the cluster\n")
        return True

    def start(self, cell: Cell) -> None:
        """Submit a cell with the resources it declares.

        Args:
            cell: The cell.
        """
        wants = cell.resources
        options: dict[str, Any] = {
            "num_cpus": wants.cpus,
            "num_gpus": wants.gpus,
            "max_retries": self._retries,
            "name": cell.name,
        }
        if wants.memory_gb:
            options["memory"] = int(wants.memory_gb * 1e9)
        task = self._task.options(**options)
        self._running[task.remote(str(self._ledger.root.resolve()), self._ledger.lease, cell)] = cell

    def wait(self, seconds: float) -> list[tuple[Cell, CellOutcome]]:
        """Wait for tasks to end, with or without an error of Ray.

        Args:
            seconds: The longest wait.

        Returns:
            The cells that ended, and how.
        """
        if not self._running:
            return []
        ready, _ = self._ray.wait(list(self._running), num_returns=len(self._running), timeout=0)
        if not ready:
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=seconds)
        return [(self._running.pop(task), self._outcome(task)) for task in ready]

    def stop(self) -> None:
        """Interrupt the tasks, wait for them to give up their claims, and leave the cluster."""
        for task in self._running:
            self._ray.cancel(task, force=False, recursive=True)
        until = time.monotonic() + _PATIENCE
        while self._running and time.monotonic() < until:
            self.wait(0.2)
        self._ray.shutdown()

    def _outcome(self, task: Any) -> CellOutcome:
        errors = self._ray.exceptions
        try:
            return CellOutcome(*self._ray.get(task))
        except errors.RayTaskError as error:  # not one of ours: those come back as outcomes
            return CellOutcome("error", f"a task failed on Ray: {error}")
        except errors.RayError as error:  # the worker or its machine died, more often than Ray was willing to try
            return CellOutcome("died", f"on Ray ({type(error).__name__})")


def shortage(wants: Resources, nodes: Sequence[Mapping[str, float]]) -> str:
    """Say what a cell asks for and what there is, where no machine has as much.

    Args:
        wants: What the cell asks for.
        nodes: What each machine of the cluster has.

    Returns:
        A sentence; empty where a machine has enough.

    Example:
        >>> shortage(Resources(cpus=5, gpus=1), [{"CPU": 16.0, "GPU": 4.0}])
        ''
        >>> shortage(Resources(cpus=5, gpus=1), [{"CPU": 4.0}])
        'a cell asks for 5 CPUs, 1 GPUs, 0 GB of memory, and no machine of the cluster has that: the largest has 4 CPUs, ...'
    """
    demand = (wants.cpus, wants.gpus, wants.memory_gb * 1e9)
    nodes_have = [tuple(node.get(name, 0.0) for name in ("CPU", "GPU", "memory")) for node in nodes]
    if any(all(have >= want for have, want in zip(node, demand, strict=True)) for node in nodes_have):
        return ""
    have = max(nodes_have, key=lambda node: (node[1], node[0]), default=(0.0, 0.0, 0.0))
    texts = [f"{cpus:g} CPUs, {gpus:g} GPUs, {memory / 1e9:.3g} GB of memory" for cpus, gpus, memory in (demand, have)]
    return f"a cell asks for {texts[0]}, and no machine of the cluster has that: the largest has {texts[1]}"


def _run(root: str, lease: float, cell: Cell) -> tuple[str, str]:
    try:
        outcome = run_cell(Path(root), lease, cell)
    except RecoloristError as error:
        return "error", str(error)
    return outcome.name, outcome.message


def _start_ray(jobs: int, address: str | None) -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # a task without GPUs leaves the variables as they are
    ray = optional.load("ray", "run on a cluster (--engine ray)")
    quiet = {"logging_level": "ERROR", "log_to_driver": False}
    try:
        if address is None:
            # "local", because Ray would otherwise join whatever cluster it finds traces of, even one that is long gone
            ray.init(address="local", num_cpus=jobs, include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except Exception as error:  # Ray's own errors: no cluster there, another version, no space
        raise RecoloristError(f"Ray could not be started or reached: {error}") from error
    return ray
