"""Smooth random fields and the random streams that draw synthetic tissue."""

from __future__ import annotations

import zlib
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recolorist.errors import OptionError

__all__ = ["Array", "along", "cloud", "smooth", "step", "stream"]

Array: TypeAlias = NDArray[np.float64]

# One random stream per part of the drawing, so that changing how one part is drawn leaves the others where they were.
_STREAMS: Final = {"glands": 0, "fields": 1, "epithelium": 2, "stroma": 3, "sensor": 4, "mucin": 5}


def stream(seed: int, part: str, name: str = "") -> np.random.Generator:
    """Return the random generator of one part of one drawing.

    Args:
        seed: Seed of the drawing, zero or more.
        part: Part of the drawing.
        name: Separates streams of the same part, such as the sensors of two scanners.

    Raises:
        OptionError: The seed is not a whole number, zero or more.

    Example:
        >>> float(stream(7, "glands").random()) == float(stream(7, "glands").random())
        True
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise OptionError(f"seed={seed!r}; accepted are whole numbers, zero or more")
    key = (_STREAMS[part], zlib.crc32(name.encode()))
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(int(seed), spawn_key=key)))


def smooth(field: Array, sigma: float) -> Array:
    """Blur with a Gaussian through the Fourier transform; edges are mirrored.

    >>> import numpy as np
    >>> soft = smooth(np.eye(9), 1.0)
    >>> soft.shape, bool(soft.max() < 1.0), bool(np.isclose(smooth(np.ones((3, 5)), 2.0), 1.0).all())
    ((9, 9), True, True)
    """
    if sigma <= 0:
        return field
    reach = int(4 * sigma) + 1
    wide = np.pad(field, reach, mode="symmetric")
    fy, fx = np.fft.fftfreq(wide.shape[0])[:, None], np.fft.rfftfreq(wide.shape[1])[None, :]
    keep = np.exp(-2.0 * (np.pi * sigma) ** 2 * (fy**2 + fx**2))
    soft = np.fft.irfft2(np.fft.rfft2(wide) * keep, s=wide.shape)
    return soft[reach : reach + field.shape[0], reach : reach + field.shape[1]]


def cloud(rng: np.random.Generator, shape: tuple[int, int], sigma: float) -> Array:
    """Draw smooth noise of expected mean 0 and standard deviation 1, with features about `sigma` pixels wide.

    >>> import numpy as np
    >>> cloud(np.random.default_rng(1), (5, 8), 2.0).shape
    (5, 8)
    """
    # White noise blurred by a Gaussian has the standard deviation 1 / (2 sigma sqrt(pi)). Dividing by that, and not by the
    # spread of this one field, leaves a tile narrower than a feature a piece of a cloud instead of a stretched constant.
    reach = int(4 * sigma) + 1
    wide = smooth(rng.standard_normal((shape[0] + 2 * reach, shape[1] + 2 * reach)), sigma)
    return np.asarray(wide[reach:-reach, reach:-reach] * (2.0 * sigma * np.sqrt(np.pi)))


def step(field: Array, edge: float, width: float) -> Array:
    """Map a field smoothly to 0 below an edge and 1 above it; the ramp is about `width` wide.

    >>> import numpy as np
    >>> step(np.array([-9.0, 0.0, 9.0]), 0.0, 1.0).round(3).tolist()
    [0.0, 0.5, 1.0]
    """
    return 0.5 + 0.5 * np.tanh((field - edge) / width)


def along(field: Array, flow: tuple[Array, Array], steps: int) -> Array:
    """Average a field along the lines of a unit flow `(dy, dx)`: turns noise into fibres, about 2 `steps` pixels long.

    >>> import numpy as np
    >>> noise = np.random.default_rng(1).standard_normal((32, 48))
    >>> fibres = along(noise, (np.zeros((32, 48)), np.ones((32, 48))), 8)
    >>> bool(np.abs(np.diff(fibres, axis=1)).mean() < 0.5 * np.abs(np.diff(fibres, axis=0)).mean())
    True
    """
    last = np.array(field.shape) - 1
    total = field.copy()
    for sign in (1.0, -1.0):
        y, x = np.mgrid[0 : field.shape[0], 0 : field.shape[1]].astype(np.float64)
        iy, ix = y.astype(np.intp), x.astype(np.intp)
        for _ in range(steps):
            y, x = y + sign * flow[0][iy, ix], x + sign * flow[1][iy, ix]
            iy, ix = (np.clip(np.rint(p), 0, m).astype(np.intp) for p, m in ((y, last[0]), (x, last[1])))
            total += field[iy, ix]
    return np.asarray(total / np.sqrt(2.0 * steps + 1.0))
