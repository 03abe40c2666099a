"""What the tests of the data share: fakes of the datasets, laid out as after fetching."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recolorist_lab.assets.archives import unpack
from tests.lab.fakes.all import fake
from tests.lab.fakes.parts import Fake


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
