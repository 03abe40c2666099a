"""Modules whose numbers stay float64."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

from recolorist.torch.exact import ExactModule, is_exporting  # noqa: E402 - skipped without torch


@pytest.mark.parametrize("become", ["half", "float", "bfloat16"])
def test_buffers_keep_their_dtype_in_any_model(become: str) -> None:
    module: Any = ExactModule()
    module.register_buffer("numbers", torch.full((2,), 1 / 3, dtype=torch.float64))
    module.register_buffer("absent", None)
    model: Any = torch.nn.Sequential(torch.nn.Linear(2, 2), module)
    getattr(model, become)()
    assert model[0].weight.dtype != torch.float64
    assert module.numbers.tolist() == [1 / 3, 1 / 3]


def test_they_move_with_the_model() -> None:
    module = ExactModule()
    module.register_buffer("numbers", torch.zeros(2, dtype=torch.float64))
    assert module.to("meta").numbers.device.type == "meta"


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning", "ignore:.*torch.jit:FutureWarning")
def test_tracing_is_exporting() -> None:
    seen = []

    def note(values: Any) -> Any:
        seen.append(is_exporting())
        return values

    torch.jit.trace(note, torch.zeros(1), check_trace=False)
    assert seen == [True]
    assert not is_exporting()
