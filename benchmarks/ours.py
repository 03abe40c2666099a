"""The arms that call recolorist, through its public names only."""

from __future__ import annotations

from collections.abc import Callable

from PIL import Image

import recolorist as rc
from benchmarks.cases import Case

__all__ = [
    "apply_only",
    "audit_only",
    "covariance",
    "into_buffer",
    "linear_space",
    "match_in",
    "match_known",
    "match_pair",
    "measure_only",
    "pillow_known",
    "three_steps",
]

Call = Callable[[], object]


def match_known(case: Case) -> Call:
    """The public call of an augmentation: the style's moments are already in a bank."""
    style = rc.measure(case.style)
    return lambda: rc.match(case.content, style)


def match_pair(case: Case) -> Call:
    """The public call with a style image, measured each time."""
    return lambda: rc.match(case.content, case.style)


def match_in(case: Case, *, space: str, method: str = "mean_std") -> Call:
    """The public call with a style image, in a colour space and by a method."""
    return lambda: rc.match(case.content, case.style, method, space)


def measure_only(case: Case) -> Call:
    """Exact moments of the content."""
    return lambda: rc.measure(case.content)


def apply_only(case: Case) -> Call:
    """A plan made before, applied to a fresh output."""
    plan = rc.plan(rc.measure(case.content), rc.measure(case.style))
    return lambda: rc.apply(case.content, plan)


def three_steps(case: Case) -> Call:
    """What `match_known` does, by the three public steps: the content measured in full, a plan, the map."""
    style = rc.measure(case.style)
    return lambda: rc.apply(case.content, rc.plan(rc.measure(case.content), style))


def audit_only(case: Case) -> Call:
    """What a plan made before would do to the content: clipped shares, correlations, lost detail."""
    plan = rc.plan(rc.measure(case.content), rc.measure(case.style))
    return lambda: rc.audit(case.content, plan)


def into_buffer(case: Case) -> Call:
    """Like `match_known`, written into a buffer of the caller."""
    style, out = rc.measure(case.style), case.content.copy()
    return lambda: rc.match(case.content, style, out=out)


def linear_space(case: Case) -> Call:
    """Matching in YCbCr: one 3×3 map of RGB, no pixel converted."""
    style = rc.measure(case.style)
    return lambda: rc.match(case.content, style, space="ycbcr")


def covariance(case: Case) -> Call:
    """The Monge–Kantorovich map of the whole covariance."""
    style = rc.measure(case.style)
    return lambda: rc.match(case.content, style, method="covariance")


def pillow_known(case: Case) -> Call:
    """Like `match_known`, Pillow image in and out."""
    style, content = rc.measure(case.style), Image.fromarray(case.content)
    return lambda: rc.match(content, style)
