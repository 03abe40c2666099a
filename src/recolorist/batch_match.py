"""One image to another's colours, file to file, of any size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from recolorist import check, foreground
from recolorist.audit import Audit
from recolorist.batch import open_bank, reference
from recolorist.batch_items import Item
from recolorist.batch_load import Loaded, load, rule_mask
from recolorist.batch_target import Target
from recolorist.errors import ImageError, OptionError, StatisticsError
from recolorist.images import FORMATS, Reading, read_picture, shown
from recolorist.images_write import QUALITY, encode, format_of
from recolorist.matchers import MATCHERS
from recolorist.moments import Moments, measure_opened
from recolorist.plan import Plan, decide
from recolorist.spaces import SPACES
from recolorist.strips import Strips, Tick, measure_strips, open_strips
from recolorist.strips_match import write_strips


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
    bank = _bank_named(name)
    if bank is not None:
        return reference(*bank)
    if _is_bank(Path(name)):
        return reference(open_bank(name))
    loaded = load(Item(Path(name).name, str(name)), reading)
    if loaded.strips is not None:
        with loaded.strips as source, _mask_strips(mask, reading) as inside:
            return measure_strips(source, mask if mask in foreground.RULES else inside, _measured_in(space))
    opened = loaded.opened
    return measure_opened(opened, _mask(mask, opened, reading, "style_mask"), _measured_in(space), name="style")


def _match_whole(loaded: Loaded, style: str | Path | Plan, how: How, reading: Reading) -> Matched:
    opened = loaded.opened
    inside = _mask(how.mask, opened, reading, "mask")
    keep = inside if how.apply_to == "mask" else None
    pixels = loaded.pixels
    size = (opened.array.shape[0], opened.array.shape[1])
    shown_style = None if isinstance(style, Plan) or _is_bank(Path(style)) or _bank_named(style) else _picture(style, reading)
    if isinstance(style, Plan):
        plan: Plan | None = style
    elif MATCHERS[check.option(how.method, MATCHERS, "method")].needs_pixels:
        plan = None
    else:
        moments = measure_opened(opened, inside, _measured_in(how.space), name="content")
        plan = _decided(moments, style_of(style, reading, how.space, how.style_mask), how)
    if plan is None:
        output = _by_pixels(loaded, style, how, reading, inside)
        return Matched(None, rc.audit(pixels, output, data_range=loaded.data_range), pixels, shown_style, output, size)
    output = rc.apply(pixels, plan, mask=keep, data_range=loaded.data_range)
    told = rc.audit(pixels, plan, mask=keep, data_range=loaded.data_range)
    return Matched(plan, told, pixels, shown_style, output, size)


def _match_strips(
    source: Strips, style: str | Path | Plan, target: Target, name: str, how: How, reading: Reading, *, pyramid: bool, tick: Any
) -> Matched:
    if not isinstance(style, Plan) and MATCHERS[check.option(how.method, MATCHERS, "method")].needs_pixels:
        raise OptionError(
            f"method={how.method!r} needs the whole image in memory; raise max_pixels, or use mean_std or covariance"
        )
    rule = how.mask if how.mask in foreground.RULES else None
    with _mask_strips(how.mask, reading) as file:
        mask: str | Strips | None = rule or file
        plan = style if isinstance(style, Plan) else None
        if plan is None:
            moments = measure_strips(source, mask, _measured_in(how.space), tick)
            plan = _decided(moments, style_of(style, reading, how.space, how.style_mask), how)  # type: ignore[arg-type]
            if rule and moments.count == source.shape[0] * source.shape[1]:
                mask = None  # the rule found too little and was not used
        write_strips(target, name, source, plan, mask if how.apply_to == "mask" else None, pyramid=pyramid, tick=tick)
    return Matched(plan, None, None, None, None, source.shape[:2])


def _decided(content: Moments, style: Moments, how: How) -> Plan:
    check.option(how.eps_mode, ("exact", "paper"), "eps_mode")
    strength = check.number(how.strength, 0, 1, "strength")
    max_gain = check.number(how.max_gain, 0, float("inf"), "max_gain")
    return decide(content, style, how.space, strength, max_gain, how.eps_mode, how.method, strict=how.strict)


def _by_pixels(
    loaded: Loaded, style: str | Path | Plan, how: How, reading: Reading, inside: NDArray[np.bool_] | None
) -> NDArray[Any]:
    if isinstance(style, Plan) or _is_bank(Path(style)) or _bank_named(style):
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
    return result


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


class _NoStrips:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _mask_strips(mask: str | None, reading: Reading) -> Any:
    return _NoStrips() if mask is None or mask in foreground.RULES else open_strips(mask, reading, always=True)


def _measured_in(space: str) -> str:
    return "rgb" if SPACES[check.option(space, SPACES, "space")].is_linear else space


def _picture(path: str | Path, reading: Reading) -> NDArray[Any] | None:
    """The style for showing; a huge one is not shown."""
    try:
        return read_picture(path, reading).pixels
    except ImageError:
        return None


def _is_bank(path: Path) -> bool:
    return path.suffix.lower() not in FORMATS and path.is_file()


def _bank_named(name: str | Path) -> Any:
    """``bank:domain`` as (bank, domain), where such a file exists and no file has the whole name."""
    file, colon, domain = str(name).rpartition(":")
    if not colon or Path(name).exists() or not Path(file).is_file():
        return None
    return open_bank(file), domain
