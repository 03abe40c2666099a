"""Promise 11: any array either works or raises `RecoloristError` with a sentence. Never a crash, a hang, a warning, a NaN."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import recolorist as rc
from recolorist.core import kernels
from tests.full import full
from tests.hostile import arrays

CHUNKS, EACH = 10, full(1_000, 10_000)
Draw = random.Random
Numbers = np.random.Generator


def clips(chosen: dict[str, Any]) -> bool:
    """Whether these options hold the output to a range."""
    return bool(chosen.get("clip", True)) and chosen.get("data_range") != math.inf


def measure(draw: Draw, _: Numbers, content: Any) -> Any:
    return rc.measure(content, arrays.mask(draw, content), space=arrays.space(draw), **arrays.opening(draw))


def match(draw: Draw, numbers: Numbers, content: Any) -> Any:
    style = arrays.companion(draw, numbers, content)
    style = rc.measure(style) if draw.random() < 0.15 else style
    extra = arrays.options(
        draw,
        apply_to=(("all", "mask"), ("outside", None)),
        clip=((True, False), (0,)),
        style_range=((None, 1.0, 255, float("inf")), (-1, "1")),
    )
    chosen = arrays.planning(draw) | arrays.opening(draw) | extra
    result = rc.match(
        content,
        style,
        draw.choice((*rc.MATCHERS, "mean_std", "mean_std", "sinkhorn")),
        arrays.space(draw),
        mask=arrays.mask(draw, content),
        style_mask=arrays.mask(draw, style),
        **chosen,
    )
    return content, result, clips(chosen)


def a_plan(draw: Draw, numbers: Numbers, content: Any) -> Any:
    space, opening = arrays.space(draw), arrays.opening(draw)
    measured = rc.measure(content, space=space, **opening)
    wanted = rc.measure(arrays.companion(draw, numbers, content), space=space, **opening)
    return rc.plan(measured, wanted, space, method=draw.choice(("mean_std", "covariance")), **arrays.planning(draw))


def apply(draw: Draw, numbers: Numbers, content: Any) -> Any:
    decided = a_plan(draw, numbers, content)
    goal = arrays.companion(draw, numbers, content) if draw.random() < 0.5 else content
    chosen = arrays.options(draw, clip=((True, False), (0,))) | arrays.opening(draw)
    return goal, rc.apply(goal, decided, mask=arrays.mask(draw, goal), **chosen), clips(chosen)


def audit(draw: Draw, numbers: Numbers, content: Any) -> Any:
    done = a_plan(draw, numbers, content) if draw.random() < 0.5 else arrays.companion(draw, numbers, content)
    return rc.audit(content, done, mask=arrays.mask(draw, content), **arrays.opening(draw))


ROUTES: tuple[Callable[[Draw, Numbers, Any], Any], ...] = (measure, match, match, a_plan, apply, audit)


def is_sentence(message: str) -> bool:
    """Long enough to say what came, and finished."""
    return len(message) > 30 and len(message.split()) > 5 and message == message.strip() and message[-1] not in ",:;-(["


def numbers_of(result: Any) -> list[Any]:
    """Whatever a result holds that must be finite."""
    if isinstance(result, tuple):
        return [number for one in result for number in numbers_of(one)]
    if isinstance(result, rc.Moments):
        return [result.mean, result.cov, result.std]
    if isinstance(result, rc.Plan):
        return [result.matrix, result.offset, result.gain]
    # an audit may leave a gain or a correlation undefined (NaN), where squares overflow or a channel is flat; a share never
    defined = [figures[~np.isnan(figures)] for figures in (result.gain, result.pearson)]
    return [result.clipped, result.clipped_overall, *defined]


def broken(content: Any, result: Any) -> bool:
    """Whether an image changed its type or shape, or something finite became something else."""
    if isinstance(result, tuple) and result and isinstance(result[-1], bool):
        content, result, clipped = result
    else:
        clipped = True
    if not isinstance(result, np.ndarray):
        return not all(np.isfinite(number).all() for number in numbers_of(result))
    kept = (result.shape, result.dtype) == (content.shape, content.dtype)
    # unclipped on request, a small float may overflow to infinity, as any sum of its kind may; never to NaN
    may_overflow = not clipped and result.dtype.itemsize < 8
    fine = ~np.isnan(result) if may_overflow else np.isfinite(result)
    return not kept or not fine[np.isfinite(content)].all()


def one(seed: int) -> tuple[str, str]:
    """Send one array through one route: what came of it, and what was wrong with that."""
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    content = arrays.image(draw, numbers)
    before = content.tobytes() if isinstance(content, np.ndarray) else b""
    route = draw.choice(ROUTES)
    try:
        result = route(draw, numbers, content)
    except rc.RecoloristError as error:
        return "refused", "" if is_sentence(str(error)) else f"{seed}: not a sentence: {error}"
    except Exception as error:  # noqa: BLE001 - anything else is what this test is looking for
        return "failed", f"{seed}: {route.__name__}: {type(error).__name__}: {error}"
    if before and before != content.tobytes():
        return "failed", f"{seed}: {route.__name__}: the input was written to"
    return route.__name__, f"{seed}: {route.__name__}: not finite, or of another type" if broken(content, result) else ""


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_result_or_a_sentence(chunk: int) -> None:
    outcomes: Counter[str] = Counter()
    faults = []
    with kernels.using("numpy" if chunk == 0 else kernels.active()):
        for seed in range(chunk * EACH, (chunk + 1) * EACH):
            outcome, fault = one(seed)
            outcomes[outcome] += 1
            faults += [fault] if fault else []
    assert not faults, f"{len(faults)} of {EACH}:\n" + "\n".join(faults[:40])
    # the test is worth something only while every route is walked to its end often enough
    assert all(outcomes[route.__name__] > EACH // 200 for route in ROUTES), outcomes
