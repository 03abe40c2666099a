"""One image to another's colours, file to file, of any size."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from recolorist.collections.api import open_bank, reference
from recolorist.collections.items import Item
from recolorist.collections.load import Loaded, load, measured_in, rule_mask
from recolorist.collections.strips import Tick, measure_strips, rule_in_use, write_strips
from recolorist.collections.target import Target
from recolorist.core import foreground
from recolorist.core import image as check
from recolorist.core.audit import Audit
from recolorist.core.match import MATCHERS
from recolorist.core.moments import Moments, measure_opened
from recolorist.core.options import match_options
from recolorist.core.plan import Plan, decide
from recolorist.errors import ImageError, OptionError, StatisticsError
from recolorist.io.images import FORMATS, HugeError, Reading, open_strips, read_picture, shown
from recolorist.io.strips import Strips
from recolorist.io.write import QUALITY, encode, format_of


@dataclass(frozen=True, slots=True)
class How:
    """The options of a match; ``mask`` and ``style_mask`` are files or names of foreground rules."""

    method: str = "mean_std"
    space: str = "rgb"
    strength: float = 1.0
    max_gain: float = 10.0
    eps_mode: str = "exact"
    mask: str | None = None
    style_mask: str | None = None
    apply_to: str = "all"
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Matched:
    """What was done: the plan (none for histogram methods), its audit (none for images that went through in strips)."""

    plan: Plan | None
    audit: Audit | None
    content: NDArray[Any] | None
    style: NDArray[Any] | None
    output: NDArray[Any] | None
    size: tuple[int, int]


def match_file(
    content: str | Path,
    style: str | Path | Plan,
    out: str | Path,
    how: How = How(),  # noqa: B008 - frozen
    *,
    reading: Reading = Reading(),  # noqa: B008 - frozen
    quality: int = QUALITY,
    keep_icc: bool = False,
    pyramid: bool = False,
    force: bool = False,
    tick: Tick | None = None,
) -> Matched:
    """Match a file and write the result; the style is an image, a bank (``bank.rcb:domain`` for one of its domains) or a plan.

    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.effect_noise((8, 8), 20).save(f"{folder}/a.png")
    ...     Image.effect_noise((8, 8), 60).save(f"{folder}/b.png")
    ...     done = match_file(f"{folder}/a.png", f"{folder}/b.png", f"{folder}/c.png")
    ...     bool(done.plan.gain[0] > 1), read_picture(f"{folder}/c.png").pixels.shape
    (True, (8, 8))
    """
    path = Path(out)
    target = Target(str(path.parent), force)
    if target.exists(path.name) and not force:
        raise OptionError(f"{shown(out)} exists; pass force (--force) to replace it")
    if path.suffix.lower() != ".zarr":
        format_of(path.suffix)
    loaded = load(Item(Path(content).name, str(content)), reading)
    if loaded.strips is not None:
        with loaded.strips as source:
            return _match_strips(source, style, target, path.name, how, reading, pyramid=pyramid, tick=tick)
    done = _match_whole(loaded, style, how, reading)
    data = encode(done.output, path.suffix, icc=loaded.icc if keep_icc else None, quality=quality)  # type: ignore[arg-type]
    target.place(path.name, data)
    return done


def style_of(name: str | Path, reading: Reading, space: str, mask: str | None = None) -> Moments:
    """The moments of a style given as an image of any size, a bank, or ``bank:domain``."""
    return _style(name, reading, space, mask)[0]


def _style(name: str | Path, reading: Reading, space: str, mask: str | None) -> tuple[Moments, NDArray[Any] | None]:
    """The moments of a style and, if it is an image in memory, its pixels."""
    named = _bank_named(name)
    if named is not None:
        file, domain = named
        return reference(open_bank(file), domain), None
    loaded = load(Item(Path(name).name, str(name)), reading)
    if loaded.strips is not None:
        with loaded.strips as source, _mask_strips(mask, reading) as inside:
            return measure_strips(source, mask if mask in foreground.RULES else inside, measured_in(space)), None
    opened = loaded.opened
    moments = measure_opened(opened, _mask(mask, opened, reading, "style_mask"), measured_in(space), name="style")
    return moments, loaded.pixels


def _match_whole(loaded: Loaded, style: str | Path | Plan, how: How, reading: Reading) -> Matched:
    opened = loaded.opened
    inside = _mask(how.mask, opened, reading, "mask")
    keep = inside if how.apply_to == "mask" else None
    pixels, size = loaded.pixels, (opened.array.shape[0], opened.array.shape[1])
    if isinstance(style, Plan):
        plan, seen = style, None
    elif MATCHERS[check.option(how.method, MATCHERS, "method")].needs_pixels:
        output, seen = _by_pixels(loaded, style, how, reading, inside)
        return Matched(None, rc.audit(pixels, output, mask=keep, data_range=loaded.data_range), pixels, seen, output, size)
    else:
        moments = measure_opened(opened, inside, measured_in(how.space), name="content")
        target, seen = _style(style, reading, how.space, how.style_mask)
        plan = _decided(moments, target, how)
        seen = _small_slide(style, reading) if seen is None else seen
    output = rc.apply(pixels, plan, mask=keep, data_range=loaded.data_range)
    told = rc.audit(pixels, plan, mask=keep, data_range=loaded.data_range)
    return Matched(plan, told, pixels, seen, output, size)


def _match_strips(
    source: Strips, style: str | Path | Plan, target: Target, name: str, how: How, reading: Reading, *, pyramid: bool, tick: Any
) -> Matched:
    if not isinstance(style, Plan) and MATCHERS[check.option(how.method, MATCHERS, "method")].needs_pixels:
        raise OptionError(
            f"method={how.method!r} needs the whole image in memory; raise max_pixels, or use mean_std or covariance"
        )
    rule = how.mask if how.mask in foreground.RULES else None
    with _mask_strips(how.mask, reading) as file:
        measure = cache(lambda: measure_strips(source, rule or file, measured_in(how.space), tick))
        goal = None if isinstance(style, Plan) else style_of(style, reading, how.space, how.style_mask)
        plan = style if isinstance(style, Plan) else _decided(measure(), goal, how)  # type: ignore[arg-type]
        keep = None
        if how.apply_to == "mask":
            keep = rule_in_use(source, rule, measure()) if rule else file
        write_strips(target, name, source, plan, keep, pyramid=pyramid, tick=tick)
    return Matched(plan, None, None, None, None, source.shape[:2])


def _decided(content: Moments, style: Moments, how: How) -> Plan:
    options = match_options(how.method, how.space, how.strength, how.max_gain, how.eps_mode, how.strict)
    return decide(content, style, options)


def _by_pixels(
    loaded: Loaded, style: str | Path, how: How, reading: Reading, inside: NDArray[np.bool_] | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The output of a histogram method, and the pixels of the style."""
    if _bank_named(style):
        raise StatisticsError(f"method={how.method!r} needs the style's pixels; give an image")
    other = read_picture(style, reading)
    opened = check.open_image(other.pixels, other.data_range)
    result: NDArray[Any] = rc.match(
        loaded.pixels,
        other.pixels,
        how.method,
        how.space,
        inside,
        _mask(how.style_mask, opened, reading, "style_mask"),
        how.strength,
        apply_to=how.apply_to if inside is not None else "all",
        data_range=loaded.data_range,
        style_range=other.data_range,
    )
    return result, other.pixels


def _mask(mask: str | None, opened: check.Opened, reading: Reading, name: str) -> NDArray[np.bool_] | None:
    """A mask from a rule or a file."""
    if mask is None:
        return None
    if mask in foreground.RULES:
        return check.open_mask(rule_mask(opened, mask), opened, name)
    pixels = read_picture(mask, Reading(reading.max_pixels, convert=True)).pixels
    if pixels.ndim == 3:
        raise ImageError(f"{shown(mask)} has {pixels.shape[2]} channels; a mask is grey, 0 outside and anything else inside")
    return check.open_mask(pixels, opened, name)


def _mask_strips(mask: str | None, reading: Reading) -> Any:
    return nullcontext() if mask is None or mask in foreground.RULES else open_strips(mask, reading, always=True)


def _small_slide(style: str | Path, reading: Reading) -> NDArray[Any] | None:
    """The pixels of a style that was measured in strips, for showing; a huge one is not shown."""
    try:
        return None if _bank_named(style) else read_picture(style, reading).pixels
    except HugeError:
        return None


def _bank_named(name: str | Path) -> tuple[Path, str | None] | None:
    """The file and the domain of a style given as a bank: ``bank``, or ``bank:domain`` where no file has the whole name."""
    path = Path(name)
    if path.exists():
        return (path, None) if path.suffix.lower() not in FORMATS and path.is_file() else None
    file, _, domain = str(name).rpartition(":")
    return (Path(file), domain) if Path(file).is_file() else None
