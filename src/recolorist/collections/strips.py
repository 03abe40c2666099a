"""Matching a huge image: two passes over it, and an output that appears whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from recolorist.collections.target import Target
from recolorist.core.moments import Moments
from recolorist.core.plan import Plan
from recolorist.errors import ImageError
from recolorist.io.strips import Strips, Tick, apply_strips, refuse_other_size


def write_strips(
    target: Target,
    name: str,
    source: Strips,
    plan: Plan | None,
    mask: str | Strips | None,
    *,
    pyramid: bool = False,
    tick: Tick | None = None,
) -> None:
    """Write an image through a plan (None: as it is) as tiled TIFF, NPY or Zarr, by the name's suffix."""
    if isinstance(mask, Strips):
        refuse_other_size(source, mask)
    if getattr(source, "orientation", 1) != 1:
        raise ImageError("it is stored lying on its side, which is not turned in strips; turn it upright first")
    suffix = Path(name).suffix.lower()
    if suffix not in (".tif", ".tiff", ".npy", ".zarr"):
        raise ImageError(f"images that go through in strips are written as .tif, .npy or .zarr, not as {suffix or 'this'}")

    def make(path: Path) -> None:
        bands = _unchanged(source, tick) if plan is None else apply_strips(source, plan, mask, tick)
        if suffix == ".npy":
            from recolorist.io.strips_other import write_npy

            write_npy(path, bands, source)
        elif suffix == ".zarr":
            from recolorist.io.strips_other import write_zarr

            write_zarr(path, bands, source)
        else:
            from recolorist.io.strips_tiff import write_tiff

            write_tiff(path, bands, source, pyramid=pyramid)

    target.place_made(name, make)


def rule_in_use(source: Strips, rule: str | None, measured: Moments) -> str | None:
    """Return the foreground rule that an image was measured with; None if it chose all pixels or too few to be used.

    A rule that finds next to nothing counts as no mask, as it does for whole images; then all pixels were measured.
    """
    return None if measured.count == source.shape[0] * source.shape[1] else rule


def _unchanged(source: Strips, tick: Tick | None) -> Iterator[NDArray[Any]]:
    for _, pixels in source.bands():
        yield pixels
        if tick:
            tick(len(pixels))
