"""The loop over a cluster, on a stand-in for Ray that runs tasks at once; `tests/cli/test_ray.py` uses a real one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from recolorist import optional
from recolorist.collections import ray as on_ray
from recolorist.collections.chunks import Chunk, Failure, chunks_of
from recolorist.collections.items import Item
from recolorist.collections.options import Where
from recolorist.collections.run import run
from recolorist.collections.target import OutputError
from recolorist.errors import RecoloristError

ITEMS = [Item(str(i), "") for i in range(20)]


class RayError(Exception):
    """A task that did not come back."""


class RayTaskError(RayError):
    """A task that raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Squares:
    """Work that raises or kills its worker at chosen items."""

    def __init__(self, deadly: tuple[str, ...] = (), error: Exception | None = None) -> None:
        self.deadly, self.error = deadly, error

    def __call__(self, item: Item) -> int:
        if item.key in self.deadly:
            raise SystemExit
        if item.key == "7" and self.error is not None:
            raise self.error
        return int(item.key) ** 2

    def finish(self, values: list[Any]) -> list[Any]:
        return values


class FakeRay:
    """As much of Ray as the loop uses; the last task submitted is the first to be ready."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.pending = 0
        self.most_pending = 0

    def init(self, **options: Any) -> None:
        print("Ray says hello")  # noqa: T201 - as Ray does
        self.calls.append(options)
        if options["address"] == "nowhere:1":
            raise ConnectionError("no cluster there")

    def shutdown(self) -> None:
        self.calls.append("shutdown")

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def put(self, work: Any) -> Any:
        return work

    def remote(self, function: Callable[..., Any]) -> Any:
        def submit(*values: Any) -> Callable[[], Any]:
            self.pending += 1
            self.most_pending = max(self.most_pending, self.pending)
            return lambda: function(*values)

        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=submit))

    def wait(self, tasks: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        assert num_returns == 1
        return tasks[-1:], tasks[:-1]

    def get(self, task: Callable[[], Any]) -> Any:
        self.pending -= 1
        try:
            return task()
        except SystemExit:
            raise RayError from None
        except Exception as error:
            raise RayTaskError(error) from error


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    monkeypatch.setattr(optional, "load", lambda *_: fake)
    return fake


def chunks() -> list[Chunk]:
    return chunks_of(ITEMS, 1)


def test_every_item_has_its_result_whatever_the_order(ray: FakeRay) -> None:
    found = dict(run(Squares(), ITEMS, Where(jobs=2, engine="ray")))
    assert found == {i: i * i for i in range(20)}
    assert ray.calls[-1] == "shutdown"


def test_a_worker_that_always_dies_costs_its_own_image_only(ray: FakeRay) -> None:
    found = dict(on_ray.run_on_ray(Squares(("3", "11")), chunks(), 2, None))
    assert {i for i, value in found.items() if isinstance(value, Failure)} == {3, 11}
    assert all(found[i] == i * i for i in range(20) if i not in {3, 11})
    assert "died" in found[3].message
    assert ray.pending == 0


def test_an_unwritable_target_ends_the_run(ray: FakeRay) -> None:
    with pytest.raises(OutputError, match="the disk is full"):
        list(on_ray.run_on_ray(Squares(error=OutputError("the disk is full")), chunks(), 2, None))
    assert ray.calls[-1] == "shutdown"


@pytest.mark.parametrize(("address", "most"), [(None, 12), ("cluster:1", 6)])
def test_few_chunks_are_submitted_ahead(ray: FakeRay, address: str | None, most: int) -> None:
    many = chunks_of([Item(str(i), "") for i in range(400)], 4)
    list(on_ray.run_on_ray(Squares(), many, 4, address))  # 4 processes here, or the 2 of the cluster
    assert ray.most_pending == most


def test_without_an_address_a_cluster_of_its_own_is_started(ray: FakeRay) -> None:
    list(on_ray.run_on_ray(Squares(), chunks(), 3, None))
    assert (ray.calls[0]["address"], ray.calls[0]["num_cpus"]) == ("local", 3)
    list(on_ray.run_on_ray(Squares(), chunks(), 3, "cluster:1"))
    assert ray.calls[2]["address"] == "cluster:1"
    assert "num_cpus" not in ray.calls[2]


@pytest.mark.usefixtures("ray")
def test_a_cluster_that_cannot_be_reached_is_a_sentence() -> None:
    with pytest.raises(RecoloristError, match="Ray could not be started or reached: no cluster there"):
        list(on_ray.run_on_ray(Squares(), chunks(), 2, "nowhere:1"))


@pytest.mark.usefixtures("ray")
def test_standard_output_stays_the_callers(capsys: pytest.CaptureFixture[str]) -> None:
    list(on_ray.run_on_ray(Squares(), chunks(), 2, None))
    out, err = capsys.readouterr()
    assert out == ""
    assert "Ray says hello" in err


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(optional.MissingExtraError, match=r"recolorist\[ray\]"):
        list(on_ray.run_on_ray(Squares(), chunks(), 2, None))
