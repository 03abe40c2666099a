"""Flows of colours."""

from __future__ import annotations

import pytest
import torch

from recolorist_lab.baselines.networks.modflows_flow import BUDGETS, ColourFlow, FlowFit, backward, forward, size_of


def drawn(hidden: int = 64, seed: int = 0) -> ColourFlow:
    """A flow as a freshly made network would be."""
    draw = torch.Generator().manual_seed(seed)
    first, second = (
        torch.nn.init.kaiming_uniform_(torch.empty(*shape), a=5**0.5, generator=draw) for shape in ((hidden, 4), (3, hidden))
    )
    return ColourFlow(first[None], torch.rand(1, hidden, generator=draw) - 0.5, second[None], torch.zeros(1, 3))


class TestFlow:
    def test_packing(self) -> None:
        row = torch.randn(3, size_of(64))
        assert torch.equal(ColourFlow.unpacked(row).packed(), row)

    def test_by_the_equation(self) -> None:
        flow, colours = drawn(), torch.rand(1, 7, 3)
        joined = torch.cat([colours, torch.full((1, 7, 1), 0.3)], dim=2)
        hidden = torch.tanh(joined[0] @ flow.first[0].T + flow.first_bias[0])
        assert torch.allclose(flow.speed(colours, 0.3)[0], hidden @ flow.second[0].T + flow.second_bias[0], atol=1e-6)

    def test_zero_is_the_identity_and_a_bias_a_shift(self) -> None:
        row, colours = torch.zeros(1, size_of(64)), torch.rand(1, 20, 3)
        assert torch.equal(forward(ColourFlow.unpacked(row), colours, 8), colours)
        row[0, -3:] = torch.tensor([0.1, -0.2, 0.3])
        assert torch.allclose(forward(ColourFlow.unpacked(row), colours, 8), colours + row[0, -3:], atol=1e-6)
        assert torch.allclose(backward(ColourFlow.unpacked(row), colours, 8), colours - row[0, -3:], atol=1e-6)

    @pytest.mark.parametrize("seed", range(3))
    def test_there_and_back_improves_with_the_steps_unless_the_clock_runs_forwards(self, seed: int) -> None:
        flow, colours = drawn(seed=seed), torch.rand(1, 200, 3)
        colours, flow = colours.double(), ColourFlow(*(part.double() for part in flow))
        errors = {
            (time, steps): float((backward(flow, forward(flow, colours, steps), steps, time) - colours).abs().mean())
            for time in ("reversed", "legacy")
            for steps in (100, 1000)
        }
        assert 8 < errors["reversed", 100] / errors["reversed", 1000] < 12
        assert errors["legacy", 1000] > 10 * errors["reversed", 1000]

    def test_pixels_do_not_feel_each_other_or_the_chunks(self) -> None:
        flow, colours = drawn(), torch.rand(1, 40_000, 3)
        whole = forward(flow, colours, 4)
        order = torch.randperm(40_000)
        assert torch.allclose(forward(flow, colours[:, order], 4), whole[:, order], atol=1e-6)
        assert torch.allclose(forward(flow, colours[:, 16_000:17_000], 4), whole[:, 16_000:17_000], atol=1e-6)

    def test_legacy_strength_counts_steps(self) -> None:
        flow, colours, calls = drawn(), torch.rand(1, 5, 3), []

        class Counting(ColourFlow):
            def speed(self, colours: torch.Tensor, time: torch.Tensor | float) -> torch.Tensor:
                calls.append(time)
                return ColourFlow.speed(self, colours, time)

        forward(Counting(*flow), colours, 8)
        assert calls == [number / 8 for number in range(8)]
        calls.clear()
        backward(Counting(*flow), colours, 4)
        assert calls == [1.0, 0.75, 0.5, 0.25]


def test_budgets_are_the_authors_and_ours() -> None:
    assert BUDGETS["released"] == FlowFit(0, 50_000, 5e-4, 51_200)
    assert BUDGETS["quick"].steps * BUDGETS["quick"].pixels < BUDGETS["released"].steps * BUDGETS["released"].pixels / 100


def test_one_time_for_all_is_that_time_for_each() -> None:
    flow = ColourFlow.unpacked(torch.randn(2, size_of(16), generator=torch.Generator().manual_seed(0)))
    colours = torch.rand(2, 9, 3, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(flow.speed(colours, 0.25), flow.speed(colours, torch.full((2, 9, 1), 0.25)))
