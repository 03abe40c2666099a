"""The harness itself: it must notice a framework whose workers repeat each other."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="loader workers are PyTorch's")

from tests.frameworks import workers

pytestmark = pytest.mark.filterwarnings(*workers.LOADER_WARNINGS)


def test_copies_are_noticed() -> None:
    epochs = workers.two_epochs(workers.Repeated(workers.copied_generator))
    assert workers.by_worker(epochs[0])[0] == workers.by_worker(epochs[0])[1]
    with pytest.raises(AssertionError):
        workers.assert_varied(epochs)
