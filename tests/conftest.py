"""What holds for every test: no network, repeatable property tests, and both sets of loops."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

from recolorist.core import kernels

_NETWORK: Final = (socket.AF_INET, socket.AF_INET6)
_CONNECTING: Final = frozenset({"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"})
_NAMING: Final = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"})


_LOOPBACK: Final = "127.0.0.1"
_own_servers: list[object] = []  # tests under way that talk to a server of their own on this machine


def _refuse_network(event: str, details: tuple[Any, ...]) -> None:
    """An audit hook sees every socket of the process, opened from Python or from C, and cannot be taken out again."""
    if _NAMING is None:  # the interpreter is shutting down and has cleared this module
        return
    if event in _NAMING or (event in _CONNECTING and details[0].family in _NETWORK):
        where = details[1] if event in _CONNECTING else details[0]
        if _own_servers and (where[0] if isinstance(where, tuple) else where) == _LOOPBACK:
            return
        raise RuntimeError(f"the tests run without a network, and {event} was asked for {details[1:]}")


sys.addaudithook(_refuse_network)

# The kernel fixture is the same for all examples of a test, so sharing it between them is what we want.
_SHARED: Final = [HealthCheck.function_scoped_fixture]
settings.register_profile("ci", derandomize=True, deadline=None, database=None, suppress_health_check=_SHARED)
settings.register_profile("explore", deadline=None, suppress_health_check=_SHARED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes after their argument: packed bytes may hold the time, and two processes would name the test differently."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a name of a test that holds an address: two processes would not agree on it, and the whole suite would not start."""
    odd = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if odd:
        raise pytest.UsageError(f"the name of {odd[0]} differs from process to process; give its parameters ids")


@pytest.fixture
def loopback() -> Iterator[str]:
    """Let this one test serve and connect on 127.0.0.1, by number; everything else stays refused."""
    _own_servers.append(None)
    yield _LOOPBACK
    _own_servers.pop()


@pytest.fixture(params=["c", "numpy"])
def kernel(request: pytest.FixtureRequest) -> Iterator[kernels.KernelName]:
    """Run the test with the compiled loops, then with their NumPy fallback."""
    name: kernels.KernelName = request.param
    if name == "c" and kernels._compiled is None:
        pytest.skip("the compiled loops were not built here")
    with kernels.using(name):
        yield name
