"""One run of the demonstration for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recolorist.demo import hospitals
from recolorist.demo import run as demo
from recolorist.demo.pairs import Pair

KEYS = ("faded", "palette", "stain", "fundus")


@pytest.fixture(scope="package", autouse=True)
def _small_hospitals() -> Iterator[None]:
    """Fewer and smaller slides, which take a second instead of seven; tests/cli runs the whole demonstration."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_SLIDE", 192), ("_SLIDES", 1), ("_EPOCHS", 1)):
            patch.setattr(hospitals, name, value)
        _forget()
        yield
    _forget()


def _forget() -> None:
    """Numbers kept from hospitals of another size are not those of the tests that follow."""
    hospitals.make_hospitals.cache_clear()
    hospitals.compare.cache_clear()


@pytest.fixture(scope="package")
def result(tmp_path_factory: pytest.TempPathFactory) -> demo.DemoResult:
    return demo.run(tmp_path_factory.mktemp("demo") / "deep" / "er")


@pytest.fixture(scope="package", params=KEYS)
def pair(request: pytest.FixtureRequest, result: demo.DemoResult) -> Pair:
    return next(pair for pair in result.pairs if pair.case.key == request.param)
