"""What the tests of the data share: a certificate, a server, and no proxies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recolorist_lab.data.archives import unpack
from recolorist_lab.data.transfer import Link
from tests.lab.fakes.all import fake
from tests.lab.fakes.parts import Fake
from tests.lab.server import Server, certificate, running


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
    return Link(ca=server.ca, mirror=server.mirror, timeout=5.0, tries=3, pause=0.0)


@pytest.fixture(scope="session")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Fake, Path]]:
    """The fake of a dataset and the folder in which it lies, as after fetching; made once, and not to be changed."""
    made: dict[str, tuple[Fake, Path]] = {}

    def lay(key: str) -> tuple[Fake, Path]:
        if key not in made:
            one, root = fake(key), tmp_path_factory.mktemp(key)
            for file in one.card.files:
                path = root / file.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(one.served[file.url])
                if file.unpack is not None:
                    unpack(path, root / file.unpack)
            one.lay_out(root)
            made[key] = one, root
        return made[key]

    return lay
