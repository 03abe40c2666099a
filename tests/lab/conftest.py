"""What the tests of the lab share: a certificate, a server, no proxies, fakes of the datasets, and a finished study."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from recolorist_lab.assets import weights
from recolorist_lab.assets.archives import unpack
from recolorist_lab.assets.download import Link
from recolorist_lab.assets.torch_files import unpickle
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import load
from tests.lab.fakes.all import fake
from tests.lab.fakes.parts import Fake
from tests.lab.server import Server, certificate, running
from tests.lab.study_files import finished, grid, rehearsal

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


@pytest.fixture(autouse=True)
def _unpickle_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files of weights in this process: another one imports torch for seconds. `test_torch_files` reads them as users do."""
    monkeypatch.setattr(weights, "read_torch_file", unpickle)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
def done(tmp_path: Path, book: Path) -> Path:
    """A study of three finished cells."""
    path = rehearsal(tmp_path, grid([1, 2, 3]))
    finished(load(path), Ledger(book))
    return path


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
