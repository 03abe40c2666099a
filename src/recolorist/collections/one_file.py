"""One image to another's colours, file to file, of any size."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from recolorist.bank.making import PreprocessingWarning, warn_of_other_mask
from recolorist.bank.style_bank import StyleBank
from recolorist.collections.items import Item
from recolorist.collections.load import LoadedItem, load, rule_mask
from recolorist.collections.options import Masks, MeasureOptions, OutputOptions
from recolorist.collections.strips import MeasuredStrips, measure_strips, rule_in_use, write_strips
from recolorist.collections.target import Target, close_folders
from recolorist.core import foreground
from recolorist.core import image as check
from recolorist.core.apply import make_target
from recolorist.core.audit import Audit, audit_written
from recolorist.core.match import StylePixels, match_opened
from recolorist.core.moments import Moments, measure_opened
from recolorist.core.options import MatchOptions
from recolorist.core.plan import Plan
from recolorist.errors import ImageError, OptionError, StatisticsError
from recolorist.io.images import FORMATS, HugeError, Reading, open_strips, read_picture
from recolorist.io.reading import display_path
from recolorist.io.write import encode, format_of

__all__ = ["MatchResult", "match_file", "open_style"]

Mask = NDArray[np.bool_] | None
_OPTIONS: Final = MatchOptions()
_MASKS: Final = Masks()
_OUTPUT: Final = OutputOptions()
_READING: Final = Reading()


@dataclass(frozen=True, slots=True)
class MatchResult:
    """What was done: the plan (none for histogram methods), its audit (none for images that went through in strips)."""

    plan: Plan | None
    audit: Audit | None
    content: NDArray[Any] | None
    style: NDArray[Any] | None
    output: NDArray[Any] | None
    size: tuple[int, int]
    contrast: float = 1.0  #: share of the style's contrast that the limits left


def match_file(
    content: str | Path,
    style: str | Path | Plan,
    out: str | Path,
    options: MatchOptions = _OPTIONS,
    *,
    masks: Masks = _MASKS,
    output: OutputOptions = _OUTPUT,
    reading: Reading = _READING,
    pyramid: bool = False,
) -> MatchResult:
    """Match a file of any size and write the result.

    Args:
        content: The image to change.
        style: An image, a bank (``bank.rcb:domain`` for one of its domains) or a plan.
        out: The file to write; its suffix chooses the format.
        options: How the image is matched. With a plan only ``apply_to`` counts.
        masks: Files or foreground rules that choose the pixels to measure.
        output: How the output is written.
        reading: How files are read.
        pyramid: Add smaller levels to a huge TIFF.

    Returns:
        The plan, its audit and the pixels, as far as the image was in memory.

    Raises:
        OptionError: The output exists, or the method needs a whole image in memory that is too large.
        ImageError: A file cannot be read or written.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.effect_noise((8, 8), 20).save(f"{folder}/a.png")
        ...     Image.effect_noise((8, 8), 60).save(f"{folder}/b.png")
        ...     result = match_file(f"{folder}/a.png", f"{folder}/b.png", f"{folder}/c.png")
        ...     bool(result.plan.gain[0] > 1), read_picture(f"{folder}/c.png").pixels.shape
        (True, (8, 8))
    """
    path = Path(out)
    target = Target(str(path.parent), output.force)
    close_folders()  # one of this name may have been removed and made again since
    if target.exists(path.name) and not output.force:
        raise OptionError(f"{display_path(out)} exists; pass force=True to replace it")
    if path.suffix.lower() != ".zarr":
        format_of(path.suffix)
    loaded = load(Item(Path(content).name, str(content)), reading)
    if loaded.strips is None:
        result = _match_whole(loaded, style, options, masks, reading)
        icc = loaded.icc if output.keep_icc else None
        target.place(path.name, encode(result.output, path.suffix, icc=icc, quality=output.quality))  # type: ignore[arg-type]
        return result
    with loaded.strips as source, _mask_strips(masks.mask, reading) as file:
        measured = MeasuredStrips(source, masks.mask if masks.mask in foreground.RULES else file, options)
        if masks.mask in foreground.RULES and rule_in_use(source, masks.mask, measured.moments) is None:
            _warn_of_no_foreground("mask", masks.mask)
        plan, contrast = _plan_strips(measured, style, masks, reading)
        write_strips(target, path.name, source, plan, measured.changed, pyramid=pyramid)
        return MatchResult(plan, None, None, None, None, source.shape[:2], contrast)


def open_style(name: str | Path, reading: Reading, space: str, mask: str | None = None) -> StyleBank | Moments:
    """Return what a style is given by: a bank, the styles of one of its domains (``bank:domain``), or the moments of an image.

    Args:
        name: An image, a bank, or ``bank:domain``.
        reading: The options of reading.
        space: The space of the moments.
        mask: A foreground rule or a mask file for an image.

    Returns:
        A bank, or the moments of an image.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("L", (8, 8), 7).save(f"{folder}/a.png")
        ...     open_style(f"{folder}/a.png", Reading(), "rgb").mean.tolist()
        [7.0]
    """
    bank_name = _find_bank(name)
    if bank_name is None:
        return _style(name, reading, MeasureOptions(space=space).measured_space, mask)[0]
    file, domain = bank_name
    bank = StyleBank.open(file)
    return bank if domain is None else bank.subset(domain=domain)


def _style(
    name: str | Path, reading: Reading, space: str, mask: str | None, content_mask: str | None = None
) -> tuple[Moments, NDArray[Any] | None]:
    """Return the moments of a style and, if it is an image in memory, its pixels."""
    bank_name = _find_bank(name)
    if bank_name is not None:
        file, domain = bank_name
        bank = StyleBank.open(file)
        warn_of_other_mask(bank.mask, content_mask, "the content")
        return bank.average(domain), None
    loaded = load(Item(Path(name).name, str(name)), reading)
    if loaded.strips is not None:
        with loaded.strips as source, _mask_strips(mask, reading) as inside:
            return measure_strips(source, mask if mask in foreground.RULES else inside, space), None
    opened = loaded.opened
    moments = measure_opened(opened, _mask(mask, opened, reading, "style_mask"), space, name="style")
    return moments, loaded.pixels


def _match_whole(
    loaded: LoadedItem, style: str | Path | Plan, options: MatchOptions, masks: Masks, reading: Reading
) -> MatchResult:
    opened, pixels = loaded.opened, loaded.pixels
    inside = _mask(masks.mask, opened, reading, "mask")
    size = (opened.array.shape[0], opened.array.shape[1])
    keep = inside if options.apply_to == "mask" else None
    if isinstance(style, Plan):
        output = rc.apply(pixels, style, mask=keep, data_range=loaded.data_range)
        return MatchResult(
            style, audit_written(opened, output.reshape(opened.array.shape), style, keep), pixels, None, output, size
        )
    goal: Moments | StylePixels
    style_pixels: NDArray[Any] | None
    if options.needs_pixels:
        goal, style_pixels = _style_pixels(style, options, masks, reading)
    else:
        goal, style_pixels = _style(style, reading, options.measured_space, masks.style_mask, masks.mask)
        style_pixels = _small_slide(style, reading) if style_pixels is None else style_pixels
    output, target = make_target(opened, None)
    applied = match_opened(opened, inside, goal, target, options)
    if applied is None:
        return MatchResult(None, audit_written(opened, target, None, keep), pixels, style_pixels, output, size)
    plan = applied.plan()
    return MatchResult(
        plan, audit_written(opened, target, plan, applied.mask), pixels, style_pixels, output, size, applied.contrast
    )


def _style_pixels(style: str | Path, options: MatchOptions, masks: Masks, reading: Reading) -> tuple[StylePixels, NDArray[Any]]:
    """Return a style for the histogram methods, which need its pixels, and these as they were read."""
    if _find_bank(style):
        raise StatisticsError(f"method={options.method!r} needs the style's pixels; give an image")
    picture = read_picture(style, reading)
    opened = check.open_image(picture.pixels, picture.data_range, name="style")
    return StylePixels(opened, _mask(masks.style_mask, opened, reading, "style_mask")), picture.pixels


def _plan_strips(measured: MeasuredStrips, style: str | Path | Plan, masks: Masks, reading: Reading) -> tuple[Plan, float]:
    """Return the plan for an image in strips, and the share of the style's contrast that the limits left."""
    options = measured.options
    if isinstance(style, Plan):
        return style, 1.0
    if options.needs_pixels:
        raise OptionError(
            f"method={options.method!r} needs the whole image in memory; raise max_pixels, or use mean_std or covariance"
        )
    goal, _ = _style(style, reading, options.measured_space, masks.style_mask, masks.mask)
    fit = measured.fit([goal], options)
    return fit.numbers if isinstance(fit.numbers, Plan) else fit.numbers.plan(), fit.contrast


def _mask(mask: str | None, opened: check.Opened, reading: Reading, name: str) -> NDArray[np.bool_] | None:
    """A mask from a rule or a file."""
    if mask is None:
        return None
    if mask in foreground.RULES:
        inside = rule_mask(opened, mask)
        if inside is None:
            _warn_of_no_foreground(name, mask)
        return check.open_mask(inside, opened, name)
    pixels = read_picture(mask, Reading(reading.max_pixels, convert=True)).pixels
    if pixels.ndim == 3:
        raise ImageError(
            f"{display_path(mask)} has {pixels.shape[2]} channels; a mask is grey, 0 outside and anything else inside"
        )
    return check.open_mask(pixels, opened, name)


def _warn_of_no_foreground(name: str, mask: str | None) -> None:
    warnings.warn(
        f"{name} {mask!r} finds no foreground, so all pixels are measured; the image may be blank",
        PreprocessingWarning,
        stacklevel=3,
    )


def _mask_strips(mask: str | None, reading: Reading) -> Any:
    if mask is None or mask in foreground.RULES:
        return nullcontext()
    return open_strips(mask, replace(reading, grey="keep"), always=True)


def _small_slide(style: str | Path, reading: Reading) -> NDArray[Any] | None:
    """The pixels of a style that was measured in strips, for showing; a huge one is not shown."""
    try:
        return None if _find_bank(style) else read_picture(style, reading).pixels
    except HugeError:
        return None


def _find_bank(name: str | Path) -> tuple[Path, str | None] | None:
    """The file and the domain of a style given as a bank: ``bank``, or ``bank:domain`` where no file has the whole name."""
    path = Path(name)
    if path.exists():
        return (path, None) if path.suffix.lower() not in FORMATS and path.is_file() else None
    file, _, domain = str(name).rpartition(":")
    return (Path(file), domain) if Path(file).is_file() else None
