"""What the tests of the lab share: a certificate, a server, and no proxies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from recolorist_lab.assets.download import Link
from tests.lab.server import Server, certificate, running

_TOLD: Final = os.environ.get("RECOLORIST_WEIGHTS")  # before any test sets it


@pytest.fixture(scope="session")
def ca(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def server(loopback: str, ca: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", loopback)
    with running(ca) as board:
        yield board


@pytest.fixture
def link(server: Server) -> Link:
    return Link(ca=server.ca, mirror=server.mirror, timeout=60.0, tries=3, pause=0.0)


@pytest.fixture
def real_weights(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the real weights, named to the code; without it the test is skipped."""
    folder = Path(_TOLD or Path(__file__).resolve().parents[3] / "shared" / "weights")
    if not (folder / "fid_inception_pool3.pth").is_file():
        pytest.skip("the real weights are not here; set RECOLORIST_WEIGHTS to the folder that holds them")
    monkeypatch.setenv("RECOLORIST_WEIGHTS", str(folder))
    return folder
