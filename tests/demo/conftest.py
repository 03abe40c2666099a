"""One run of the demonstration for all tests of this folder."""

from __future__ import annotations

import pytest

from recolorist.demo import run as demo
from recolorist.demo.pairs import Pair

KEYS = ("faded", "palette", "stain", "fundus")


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> demo.DemoResult:
    return demo.run(tmp_path_factory.mktemp("demo") / "deep" / "er")


@pytest.fixture(scope="session", params=KEYS)
def pair(request: pytest.FixtureRequest, result: demo.DemoResult) -> Pair:
    return next(pair for pair in result.pairs if pair.case.key == request.param)
