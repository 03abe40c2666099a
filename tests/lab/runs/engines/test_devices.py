"""GPUs handed out to cells: made-up ones, since the tests have none."""

from __future__ import annotations

import pytest

from recolorist.errors import OptionError
from recolorist_lab.runs.engines.devices import Devices, visible_devices


def test_whole_gpus_go_to_cells_one_by_one() -> None:
    devices = Devices(["0", "1", "2"])
    assert devices.take(1.0) == ("0",)
    assert devices.take(2.0) == ("1", "2")
    assert not devices.fits(1.0)
    devices.give_back(("0",), 1.0)
    assert devices.fits(1.0)
    assert not devices.fits(2.0)


def test_shares_fill_one_gpu_before_the_next() -> None:
    devices = Devices(["0", "1"])
    third = 1 / 3
    assert [devices.take(third) for _ in range(4)] == [("0",), ("0",), ("0",), ("1",)]
    assert not devices.fits(1.0)
    devices.give_back(("1",), third)
    assert devices.take(1.0) == ("1",)


def test_a_machine_without_gpus_takes_every_cell() -> None:
    devices = Devices([])
    assert devices.fits(1.0)
    assert devices.take(1.0) == ()


@pytest.mark.parametrize(("wanted", "message"), [(3.0, r"asks for 3 GPUs and this machine has 2 \(0, 1\)"), (1.5, "gpus = 1.5")])
def test_what_can_never_be_is_refused(wanted: float, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Devices(["0", "1"]).fits(wanted)


@pytest.mark.parametrize(
    ("listed", "names"), [("2,3", ("2", "3")), ("", ()), ("0,-1,1", ("0",)), (" GPU-a , GPU-b", ("GPU-a", "GPU-b")), (None, ())]
)
def test_gpus_are_those_that_cuda_would_see(listed: str | None, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    if listed is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", listed)
    assert visible_devices() == names
