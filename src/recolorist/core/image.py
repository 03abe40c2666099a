"""Check images and masks, and open them as arrays. Functions inside the library take opened images and check nothing again."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import ImageError, OptionError

__all__ = [
    "MAX_CHANNELS",
    "NATURAL_RANGE",
    "OnNonFinite",
    "Opened",
    "check_image",
    "finite_pixels",
    "is_number",
    "number",
    "number_range",
    "open_image",
    "open_mask",
    "option",
    "refuse_empty",
    "refuse_levels_above",
    "refuse_nonfinite",
    "refuse_outside",
    "refuse_unknown_white",
    "truth",
]

OnNonFinite = Literal["raise", "mask"]

MAX_CHANNELS = 512  # more would make the covariance larger than most images; it is nearly always a transposed array
NATURAL_RANGE = {"B": 255.0, "H": 65535.0}  # by kind; floats have none and declare theirs
_NATURAL_OR_ONE = {"e": 1.0, "f": 1.0, "d": 1.0} | NATURAL_RANGE
_KINDS = frozenset("BHefd")  # NumPy's letters for uint8, uint16, float16, float32 and float64, in any byte order
_PIL_MODES = {"L": False, "LA": True, "RGB": False, "RGBA": True, "I;16": False, "I;16B": False, "F": False}
_PIL_KINDS = {"I;16": "H", "I;16B": "H", "F": "f"}  # all other modes are of 8 bits
_MOST_FLOAT = 1e30  # squares of such values still fit into float64 with room to spare
_MOST_HALF = 65504.0
_ACCEPTED = (
    "accepted are NumPy arrays (H, W), (H, W, C) or (N, H, W, C) of uint8, uint16, float16, float32 or float64, and PIL images"
)


@dataclass(slots=True)  # never changed, but not frozen: that would double the cost of a small call
class Opened:
    """An image that was checked."""

    array: NDArray[Any]  #: (H, W, C) or (N, H, W, C), alpha included; a view of what came
    channels: int  #: colour channels, alpha not counted
    kind: str  #: B, H, e, f or d: uint8, uint16, float16, float32, float64
    data_range: float  #: the largest value; the smallest is 0. Infinite: undeclared, floats only
    shape: tuple[int, ...]  #: as it came
    from_pil: bool
    is_padded: bool = False  #: the fourth byte is the padding that Pillow keeps beside RGB

    @property
    def is_integer(self) -> bool:
        """Whether the pixels are integers, which are measured exactly and rounded."""
        return self.kind in "BH"

    @property
    def is_batch(self) -> bool:
        """Whether there are several images."""
        return self.array.ndim == 4

    @property
    def colour(self) -> NDArray[Any]:
        """The pixels without alpha."""
        return self.array[..., : self.channels]

    def __getitem__(self, index: int) -> Opened:
        """Return one image of a batch."""
        array = self.array[index]
        return Opened(array, self.channels, self.kind, self.data_range, array.shape, from_pil=False)


def open_image(
    image: Any, data_range: float | None = None, alpha: bool | None = None, name: str = "image", *, padded: bool = False
) -> Opened:
    """Check an image and describe it.

    Args:
        image: An array or PIL image.
        data_range: The largest value of a float image; 1.0 unless declared.
        alpha: Whether the last channel of an array is alpha; None: if there are four.
        name: What to call the image in messages.
        padded: Take RGB from Pillow with the fourth byte that it keeps beside each pixel, as if that were alpha. Copying it
            takes less than half the time of leaving it out, and methods that map each channel on its own lose nothing by it.

    >>> open_image(np.zeros((4, 5, 3), np.uint8)).data_range
    255.0
    """
    from_pil = is_padded = False
    if type(image) is np.ndarray:
        array = image
    elif isinstance(image, np.ndarray) or not _is_pil(image):
        array = _plain_array(image, name)
    else:
        from_pil = True
        _load_pil(image, name)
        is_padded = padded and image.mode == "RGB" and 0 not in image.size
        array = _padded_array(image) if is_padded else np.asarray(image)
        alpha = is_padded or _PIL_MODES[image.mode]
    kind = array.dtype.char
    if kind not in _KINDS:
        raise ImageError(
            f"{name} has dtype {array.dtype}; {_ACCEPTED}. Convert it first, saying how its range maps: "
            "for example (x / 4095).astype(np.float32) for signed 12-bit data."
        )
    shape = array.shape
    if not array.flags.aligned:  # memory-mapped behind an odd header, or a field of a record: the loops read whole numbers
        array = array.copy(order="K")
    if len(shape) == 2:
        array = array[:, :, None]
    channels = _count_channels(array.shape, shape, alpha, name)
    largest = _NATURAL_OR_ONE[kind] if data_range is None else _declared_range(kind, data_range, name)
    return Opened(array, channels, kind, largest, shape, from_pil, is_padded)


def check_image(image: Any, data_range: float | None = None, name: str = "image") -> None:
    """Refuse what :func:`open_image` refuses; the pixels of a PIL image are not copied to an array for that.

    >>> check_image(np.zeros((4, 5, 3), np.uint8))
    """
    if type(image) is np.ndarray or not _is_pil(image) or 0 in image.size:
        open_image(image, data_range, None, name)
        return
    _load_pil(image, name)
    if data_range is not None:
        _declared_range(_PIL_KINDS.get(image.mode, "B"), data_range, name)


def open_mask(mask: Any, opened: Opened, name: str = "mask") -> NDArray[np.bool_] | None:
    """Check a mask (True: inside) against the image it belongs to."""
    if mask is None:
        return None
    array = np.asarray(mask) if isinstance(mask, np.ndarray) or _is_pil(mask) else None
    if array is None or array.dtype.kind not in "bu":
        came = type(mask).__name__ if array is None else f"an array of {array.dtype}"
        raise ImageError(f"{name} is {came}; accepted are boolean or unsigned integer arrays (0 is outside), and PIL images")
    if array.ndim == 3 and array.shape[-1] == 1 and not opened.is_batch:
        array = array[..., 0]
    expected = opened.array.shape[:-1]
    if array.shape != expected and not (opened.is_batch and array.shape == expected[1:]):
        raise ImageError(f"{name} has shape {array.shape}; the image it belongs to needs {expected}")
    return np.broadcast_to(array.astype(bool, copy=False), expected)


def finite_pixels(opened: Opened, mask: NDArray[np.bool_] | None, name: str) -> NDArray[np.bool_]:
    """Return the pixels inside the mask whose channels are all finite."""
    finite = np.isfinite(opened.colour).all(axis=-1)
    inside: NDArray[np.bool_] = finite if mask is None else finite & mask
    if not inside.any():
        raise ImageError(f"{name} has no pixel that is finite in every channel; nothing is left to measure")
    return inside


def refuse_outside(low: float, high: float, data_range: float, name: str = "image") -> None:
    """Refuse floats beyond the declared range: it is declared, never guessed."""
    if not math.isinf(data_range) and (low < 0 or high > data_range):
        hint = " Values below 0 mostly come from Normalize: put this before it." if low < 0 else ""
        raise ImageError(
            f"{name} holds values from {low:.6g} to {high:.6g}, outside its declared range 0 to {data_range:g}. "
            f"Declare the right one (data_range={_suggest(high)}), or float('inf') for data without a range: "
            f"then nothing is clipped.{hint}"
        )


def refuse_levels_above(opened: Opened, name: str = "image") -> None:
    """Refuse integers above a declared range that is below that of their dtype, 12 bits in 16 for example."""
    if opened.data_range < NATURAL_RANGE[opened.kind]:
        refuse_outside(0, float(opened.colour.max()), opened.data_range, name)


def refuse_empty(mask: NDArray[np.bool_] | None, name: str = "image") -> None:
    """Refuse a mask that leaves nothing to measure."""
    if mask is not None and not mask.any():
        raise ImageError(f"the mask of {name} selects no pixel; check that True or 255 marks the inside")


def refuse_unknown_white(opened: Opened, space: str, name: str = "image") -> None:
    """Refuse an undeclared range for conversions that are not linear: they must know which value is white."""
    if math.isinf(opened.data_range):
        raise ImageError(f"{name} has no declared range, and space={space!r} must know where white is; declare data_range")


def refuse_nonfinite(name: str = "image") -> None:
    """Refuse an image with NaN or infinite values."""
    raise ImageError(
        f"{name} holds NaN or infinite values, or values so large that their sums overflow. Repair them, or pass "
        "on_nonfinite='mask': those pixels are then left out of the statistics and kept as they are."
    )


def option(value: Any, allowed: Any, name: str) -> Any:
    """Return the value if it is one of the allowed names.

    >>> option("rgb", ("rgb", "lab"), "space")
    'rgb'
    """
    if isinstance(value, str) and value in allowed:
        return value
    raise OptionError(f"{name}={value!r} is unknown; choose from {', '.join(map(repr, allowed))}")


def number(value: Any, low: float, high: float, name: str) -> float:
    """Return the value as a float if it lies within the limits.

    >>> number(1, 0, 1, "strength")
    1.0
    """
    if is_number(value) and low <= float(value) <= high:
        return float(value)
    raise OptionError(f"{name}={value!r}; accepted are numbers from {low:g} to {high:g}")


def number_range(value: Any, low: float, high: float, name: str) -> tuple[float, float]:
    """Return two numbers in ascending order within the limits; one number stands for both ends.

    Lists are taken like tuples, since JSON and YAML have no tuples.

    >>> number_range([0.5, 1], 0, 1, "strength"), number_range(0.5, 0, 1, "strength")
    ((0.5, 1.0), (0.5, 0.5))
    """
    if not isinstance(value, (tuple, list)):
        only = number(value, low, high, name)
        return only, only
    if len(value) != 2 or not all(map(is_number, value)) or not low <= value[0] <= value[1] <= high:
        raise OptionError(f"{name}={value!r}; accepted is a number from {low:g} to {high:g}, or two of them in ascending order")
    return float(value[0]), float(value[1])


def truth(value: Any, name: str) -> bool:
    """Return the value if it is True or False.

    >>> truth(np.True_, "strict")
    True
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise OptionError(f"{name}={value!r}; accepted are True and False")


def is_number(value: Any) -> bool:
    """Whether the value is a real number that a float64 can hold; NaN is not.

    >>> is_number(0.3), is_number(True), is_number(10**400)
    (True, False, False)
    """
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating))):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:
        return False


def _is_pil(image: Any) -> bool:
    module = sys.modules.get("PIL.Image")  # a PIL image cannot come from a process that never imported PIL
    return module is not None and isinstance(image, module.Image)


def _load_pil(image: Any, name: str) -> None:
    """Let Pillow decode an image, unless that is done."""
    if image.mode not in _PIL_MODES:
        raise ImageError(
            f"{name} is a PIL image of mode {image.mode!r}; accepted are {', '.join(_PIL_MODES)}. "
            "Convert it knowingly, for example image.convert('RGB')."
        )
    try:
        image.load()
    except (OSError, ValueError, SyntaxError) as error:
        raise ImageError(f"{name} could not be decoded ({error}); the file seems damaged, fetch it again") from error


def _padded_array(image: Any) -> NDArray[np.uint8]:
    return np.frombuffer(image.tobytes("raw", "RGBX"), np.uint8).reshape(image.height, image.width, 4)


def _plain_array(image: Any, name: str) -> NDArray[Any]:
    if not isinstance(image, np.ndarray):
        kind = type(image)
        is_path = isinstance(image, (str, os.PathLike))
        advice = "Open it first: PIL.Image.open(path)." if is_path else "Convert it with numpy.asarray first."
        if kind.__module__.partition(".")[0] in ("torch", "torchvision", "monai"):
            advice = "Tensors go to recolorist.torchvision.Colorist, recolorist.torch or the adapter of your framework."
        raise ImageError(f"{name} is a {kind.__name__}; {_ACCEPTED}. {advice}")
    masked = sys.modules.get("numpy.ma")  # loaded when somebody asks for it, so that without it no masked array can come
    if masked is not None and isinstance(image, masked.MaskedArray):
        raise ImageError(f"{name} is a masked array; pass image.data and mask=~image.mask[..., 0] separately")
    return np.asarray(image)


def _count_channels(stored: tuple[int, ...], shape: tuple[int, ...], alpha: bool | None, name: str) -> int:
    if len(stored) not in (3, 4):
        raise ImageError(f"{name} has shape {shape}; {_ACCEPTED}")
    height, width, depth = stored[-3:]
    if not height * width * depth:
        raise ImageError(f"{name} has shape {shape}, so it has no pixels; pass an image of at least 1 x 1")
    if depth > MAX_CHANNELS or (depth > 16 and height in (1, 3, 4)):
        raise ImageError(
            f"{name} has shape {shape}, which reads as {depth} channels; it looks channel-first. Channels come last "
            "here: numpy.moveaxis(image, -3, -1)."
        )
    if alpha is None:
        alpha = depth == 4  # RGBA is what four channels nearly always are; alpha=False says otherwise
    elif alpha is not True and alpha is not False:
        alpha = truth(alpha, "alpha")
    if alpha and depth < 2:
        raise ImageError(f"{name} has {depth} channel and alpha=True; alpha needs a colour channel beside it")
    return depth - 1 if alpha else depth


def _declared_range(kind: str, data_range: float, name: str) -> float:
    natural = NATURAL_RANGE.get(kind)
    most = natural or (_MOST_HALF if kind == "e" else _MOST_FLOAT)
    least = 1.0 if natural else 1.0 / _MOST_FLOAT
    value = float(data_range) if is_number(data_range) else math.nan  # half precision could not be compared with the limits
    fits = least <= value <= most or (not natural and value == math.inf)
    if not fits or (natural and value != int(value)):
        what = "whole numbers" if natural else "numbers"
        raise OptionError(
            f"data_range={data_range!r} for {name}; it is the largest value the image may hold, and for this dtype {what} "
            f"from {least:g} to {most:g} are accepted"
        )
    return float(data_range)


def _suggest(high: float) -> str:
    return next((str(limit) for limit in (1.0, 255.0, 4095.0, 65535.0) if high <= limit), "...")
