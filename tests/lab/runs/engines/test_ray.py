"""The Ray engine where a cluster has too little: a made-up Ray. The real one is in `test_ray_cluster.py`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from recolorist.errors import OptionError
from recolorist_lab.runs.engines import ray
from recolorist_lab.runs.engines.ray import RayEngine, shortage
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Cell, Resources, load
from tests.lab.study_files import grid, rehearsal


def cell_of(folder: Path, resources: Resources) -> Cell:
    return dataclasses.replace(load(rehearsal(folder, grid([1]))).cells[0], resources=resources)


def engine(folder: Path, monkeypatch: pytest.MonkeyPatch, address: str | None, **there: float) -> RayEngine:
    nodes = [{"Alive": True, "Resources": there}, {"Alive": False, "Resources": {"CPU": 99.0, "GPU": 99.0, "memory": 1e12}}]
    fake: Any = SimpleNamespace(nodes=lambda: nodes, remote=lambda function: function)
    monkeypatch.setattr(ray, "_start_ray", lambda *_: fake)
    return RayEngine(Ledger(folder / "ledger"), 2, address, 0)


def test_what_a_ray_of_ours_will_never_have_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match=r"asks for 5 CPUs, 1 GPUs.*the largest has 2 CPUs, 0 GPUs.*--jobs"):
        engine(tmp_path, monkeypatch, None, CPU=2.0, memory=1e9).fits(cell_of(tmp_path, Resources(cpus=5, gpus=1)))


def test_a_cluster_may_grow_so_it_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    works, cell = engine(tmp_path, monkeypatch, "auto", CPU=16.0, GPU=0.0, memory=1e9), cell_of(tmp_path, Resources(gpus=1))
    assert all(works.fits(cell) for _ in range(3))
    assert capsys.readouterr().err.count("wait until a machine with as much joins") == 1


def test_enough_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    works = engine(tmp_path, monkeypatch, "auto", CPU=20.0, GPU=4.0, memory=8e9)
    assert works.fits(cell_of(tmp_path, Resources(cpus=5, gpus=1, memory_gb=8)))
    assert capsys.readouterr().err == ""


def test_what_is_needed_must_be_on_one_machine() -> None:
    nodes = [{"CPU": 16.0, "memory": 1e9}, {"CPU": 2.0, "GPU": 4.0, "memory": 1e9}]
    assert "the largest has 2 CPUs, 4 GPUs" in shortage(Resources(cpus=5, gpus=1), nodes)
    assert shortage(Resources(cpus=16), nodes) == ""
