"""The pairs the demonstration matches: synthetic slides, and two pictures that come with scikit-image."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recolorist.core.apply import apply
from recolorist.core.audit import Audit, audit
from recolorist.core.moments import measure
from recolorist.core.plan import Plan, plan
from recolorist.demo.photos import other_camera, photo
from recolorist.demo.synthetic import scan, tile, tissue

__all__ = ["SIDE", "Bytes", "Case", "Mask", "Pair", "cases", "match_case"]

Bytes: TypeAlias = NDArray[np.uint8]
Mask: TypeAlias = NDArray[np.bool_]

_REPEATS: Final = 5  # of the timed steps; the median is reported
SIDE: Final = 256  # pixels; what the contact sheet shows is what was computed, not an enlargement of it


@dataclass(frozen=True)
class Case:
    """One content and one style, and what is known about them."""

    key: str  # begins the names of its files
    title: str
    note: str
    content: Bytes
    style: Bytes
    content_label: str
    style_label: str
    mask: Mask | None = None
    style_mask: Mask | None = None
    truth: Bytes | None = None  # the content as the style's scanner would really have shown it, where that can be known


@dataclass(frozen=True)
class Pair:
    """One matched pair: its plan, output, audit and time."""

    case: Case
    plan: Plan
    audit: Audit
    output: Bytes
    seconds: float  # measure both, plan and apply; median of a few runs

    @cached_property
    def _unclipped(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.rint(self.case.content @ self.plan.matrix.T + self.plan.offset)

    def _where(self, condition: Mask) -> Mask:
        touched = np.asarray(condition.any(axis=2))
        return touched if self.case.mask is None else touched & self.case.mask

    @property
    def below(self) -> Mask:
        """Pixels with a channel that fell below 0."""
        return self._where(self._unclipped < 0)

    @property
    def above(self) -> Mask:
        """Pixels with a channel that rose above 255."""
        return self._where(self._unclipped > 255)

    @property
    def clipped(self) -> float:
        """Share of the pixels with a clipped channel."""
        counted = self.case.mask.sum() if self.case.mask is not None else self.below.size
        return float((self.below | self.above).sum() / counted)

    @property
    def error(self) -> tuple[float, float] | None:
        """Mean absolute distance to the truth in levels, before and after; None where the truth is not known."""
        if self.case.truth is None:
            return None
        chosen = np.ones(self.output.shape[:2], bool) if self.case.mask is None else self.case.mask
        truth = self.case.truth[chosen].astype(np.float64)
        before, after = (float(np.abs(image[chosen] - truth).mean()) for image in (self.case.content, self.output))
        return before, after

    def row(self) -> dict[str, object]:
        """Return the pair's row of the table as plain values, ready for JSON."""
        return {
            "pair": self.case.key,
            "title": self.case.title,
            "gain": self.plan.gain.tolist(),
            "offset": self.plan.offset.tolist(),
            "content_mean": self.plan.content_mean.tolist(),
            "content_std": self.plan.content_std.tolist(),
            "style_mean": self.plan.style_mean.tolist(),
            "style_std": self.plan.style_std.tolist(),
            "clipped": self.audit.clipped.tolist(),
            "clipped_pixels": self.clipped,
            "pearson": self.audit.pearson.tolist(),
            "error_before": self.error[0] if self.error else None,
            "error_after": self.error[1] if self.error else None,
            "milliseconds": 1e3 * self.seconds,
        }


def cases() -> Iterator[Case]:
    """Yield the pairs in the order of the contact sheet.

    Example:
        >>> [case.key for case in cases()]
        ['faded', 'palette', 'stain', 'fundus']
    """
    yield _slides_case("faded", "A faded slide", "Synthetic slides of different tissue.", ("mill", 8), ("valley", 9))
    yield _slides_case("palette", "Another laboratory", "Synthetic slides of different tissue.", ("valley", 7), ("harbour", 6))
    yield Case(
        key="stain",
        title="Another stain",
        note="Real immunohistochemistry, synthetic H&E. Colours are matched; what they mean is not.",
        content=photo("ihc.png", SIDE),
        style=tile(3, "north", SIDE),
        content_label="IHC, real",
        style_label="scanner north",
    )
    yield _fundus_case()


def match_case(case: Case) -> Pair:
    """Measure, plan, apply and audit one pair.

    Example:
        >>> pair = match_case(next(cases()))
        >>> pair.output.shape == pair.case.content.shape
        True
    """
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        decision = plan(measure(case.content, case.mask), measure(case.style, case.style_mask))
        output = apply(case.content, decision, mask=case.mask)
        times.append(time.perf_counter() - start)
    return Pair(case, decision, audit(case.content, decision, mask=case.mask), output, statistics.median(times))


def _slides_case(key: str, title: str, note: str, content: tuple[str, int], style: tuple[str, int]) -> Case:
    """Make a pair of two tissues through two scanners; the first tissue through the second scanner is the truth."""
    dyes = tissue(content[1], SIDE)
    return Case(
        key=key,
        title=title,
        note=note,
        content=scan(dyes, content[0], content[1]),
        style=tile(style[1], style[0], SIDE),
        content_label=f"scanner {content[0]}",
        style_label=f"scanner {style[0]}",
        truth=scan(dyes, style[0], content[1]),
    )


def _fundus_case() -> Case:
    """Make a pair of a real retina and the same retina, mirrored, through a simulated camera."""
    retina = photo("retina.jpg", SIDE)
    eye = retina[..., 0] > 40  # the red of the fundus is far brighter than the black around it
    other = other_camera(retina)
    return Case(
        key="fundus",
        title="Another camera, with a mask",
        note="Real retina. The style is the same eye, mirrored, through a simulated camera. Black surround left out.",
        content=retina,
        style=np.ascontiguousarray(other[:, ::-1]),
        content_label="retina, real",
        style_label="simulated camera",
        mask=eye,
        style_mask=np.ascontiguousarray(eye[:, ::-1]),
        truth=other,
    )
