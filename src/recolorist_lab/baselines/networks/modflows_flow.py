"""The flow of ModFlows: a small network that moves the colours of an image to the whole colour cube and back.

A flow is ``W2 · tanh(W1 · (r, g, b, t) + b1) + b2``. Flows of a batch are evaluated together, each on its own pixels.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, NamedTuple

import torch
from torch import Tensor

from recolorist.errors import OptionError

__all__ = ["BUDGETS", "INVERSE_TIMES", "ColourFlow", "FlowFit", "backward", "fit", "forward", "size_of", "steps_for"]

INVERSE_TIMES: Final = ("reversed", "legacy")
_TEACHER_STEPS: Final = 100  # along which the ends of straightened paths are found
_CHUNK: Final = 2_048  # pixels at a time: their hidden values stay in the processor's cache


class ColourFlow(NamedTuple):
    """Weights of as many flows as there are pictures: (B, H, 4), (B, H), (B, 3, H), (B, 3)."""

    first: Tensor
    first_bias: Tensor
    second: Tensor
    second_bias: Tensor

    @classmethod
    def unpacked(cls, vector: Tensor) -> ColourFlow:
        """Read the weights of flows from one row of numbers per image, in the order in which the encoder predicts them.

        >>> ColourFlow.unpacked(torch.zeros(2, size_of(64))).second.shape
        torch.Size([2, 3, 64])
        """
        hidden = (vector.shape[1] - 3) // 8
        parts = vector.split([4 * hidden, hidden, 3 * hidden, 3], dim=1)
        return cls(parts[0].unflatten(1, (hidden, 4)), parts[1], parts[2].unflatten(1, (3, hidden)), parts[3])

    def packed(self) -> Tensor:
        """Return the same numbers in one row per image."""
        return torch.cat([part.flatten(1) for part in self], dim=1)

    def speed(self, colours: Tensor, time: Tensor | float) -> Tensor:
        """Compute the velocity of (B, n, 3) colours at a time: one for all, or (B, n, 1)."""
        weights = self.first[..., :3].transpose(1, 2)
        if isinstance(time, Tensor):
            inward = torch.baddbmm(self.first_bias[:, None], colours, weights) + time * self.first[:, None, :, 3]
        else:  # one time for all is a part of the bias
            inward = torch.baddbmm((self.first_bias + time * self.first[..., 3])[:, None], colours, weights)
        return torch.baddbmm(self.second_bias[:, None], inward.tanh_(), self.second.transpose(1, 2))

    def of(self, place: int) -> ColourFlow:
        """Return the flow of one image."""
        return ColourFlow(*(part[place : place + 1] for part in self))


class FlowFit(NamedTuple):
    """How one flow is fitted to one image: two rounds of so many steps, the second on straightened paths."""

    hidden: int  #: 0: as many as the encoder predicts
    steps: int
    rate: float
    pixels: int


#: What the authors spend on a flow, and what is enough for colours that are nearly right in seconds.
BUDGETS: Final = MappingProxyType({"released": FlowFit(0, 50_000, 5e-4, 51_200), "quick": FlowFit(64, 2_500, 5e-3, 4_096)})


def size_of(hidden: int) -> int:
    """Return how many numbers a flow has.

    Args:
        hidden: Width of its hidden layer.

    Returns:
        The count.

    Example:
        >>> size_of(1024), size_of(64)
        (8195, 515)
    """
    return 8 * hidden + 3


def steps_for(steps: int, strength: float) -> int:
    """Return after how many steps the published code stops for a strength below 1.

    Args:
        steps: For the full strength.
        strength: From 0 to 1.

    Returns:
        The number of steps.

    Example:
        >>> steps_for(8, 1.0), steps_for(10, 0.5), steps_for(100, 0.5), steps_for(8, 0.95)
        (8, 7, 52, 8)
    """
    return min(steps, int(strength * steps) + 2)


def forward(flow: ColourFlow, colours: Tensor, steps: int, stop: int | None = None) -> Tensor:
    """Move a picture's colours towards the cube by Euler's steps.

    Args:
        flow: The flow.
        colours: (B, n, 3).
        steps: Number of steps of the whole way.
        stop: Stop after this many.

    Returns:
        Colours.
    """
    return _walked(flow, colours, [(number / steps, 1.0 / steps) for number in range(steps)][: stop or steps])


def backward(flow: ColourFlow, colours: Tensor, steps: int, inverse_time: str = "reversed", stop: int | None = None) -> Tensor:
    """Move colours from the cube to a picture's colours.

    Args:
        flow: The flow.
        colours: (B, n, 3).
        steps: Number of steps of the whole way.
        inverse_time: ``legacy`` runs time forwards on the way back, as the authors' code did until 2025.
        stop: Stop after this many.

    Returns:
        Colours.

    Raises:
        OptionError: The way of time is unknown.
    """
    if inverse_time not in INVERSE_TIMES:
        raise OptionError(f"inverse_time={inverse_time!r}; accepted are {', '.join(INVERSE_TIMES)}")
    times = [number / steps if inverse_time == "legacy" else 1.0 - number / steps for number in range(steps)]
    return _walked(flow, colours, [(time, -1.0 / steps) for time in times][: stop or steps])


def _walked(flow: ColourFlow, colours: Tensor, path: list[tuple[float, float]]) -> Tensor:
    chunks = []
    for chunk in colours.split(_CHUNK, dim=1):
        walked = chunk
        for time, length in path:
            walked = walked + length * flow.speed(walked, time)
        chunks.append(walked)
    return torch.cat(chunks, dim=1)


def fit(colours: Tensor, how: FlowFit, seed: int) -> ColourFlow:
    """Fit the flow of one picture; the same seed gives the same flow.

    Args:
        colours: (n, 3).
        how: Width, steps and rate.
        seed: The seed.

    Returns:
        The flow.
    """
    draw = torch.Generator(device="cpu").manual_seed(seed)
    colours = colours.detach().cpu().float()
    start = torch.nn.init.kaiming_uniform_(torch.empty(how.hidden, 4), a=5**0.5, generator=draw)
    end = torch.nn.init.kaiming_uniform_(torch.empty(3, how.hidden), a=5**0.5, generator=draw)
    flow = ColourFlow(start[None], torch.zeros(1, how.hidden), end[None], torch.zeros(1, 3))
    with torch.enable_grad():
        flow = _matched(flow, colours, None, how, draw)
        with torch.no_grad():
            ends = forward(flow, colours[None], _TEACHER_STEPS)[0]
        return _matched(flow, colours, ends, how, draw)


def _matched(flow: ColourFlow, colours: Tensor, ends: Tensor | None, how: FlowFit, draw: torch.Generator) -> ColourFlow:
    """Fit with Adam to pairs of a colour and its target: a random one in the cube, or the end of the earlier flow."""
    learnt = ColourFlow(*(part.clone().requires_grad_() for part in flow))
    optimiser = torch.optim.Adam(list(learnt), lr=how.rate)
    for _ in range(how.steps):
        chosen = torch.randint(len(colours), (how.pixels,), generator=draw)
        begin = colours[chosen][None]
        end = torch.rand(1, how.pixels, 3, generator=draw) if ends is None else ends[chosen][None]
        time = torch.rand(1, how.pixels, 1, generator=draw)
        loss = (end - begin - learnt.speed(begin + time * (end - begin), time)).square().sum(-1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return ColourFlow(*(part.detach() for part in learnt))
