"""The golden cases: which images, and which options."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from recolorist.core.spaces import SPACES

FOLDER: Final = Path(__file__).parent
HIGHEST: Final = {"uint8": 255, "uint16": 65535, "float32": 1, "float64": 1}


@dataclass(frozen=True)
class Case:
    """One call of ``match`` on the stored images."""

    dtype: str
    method: str = "mean_std"
    space: str = "rgb"
    channels: int = 3
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        extra = "".join(f"-{key}={value}" for key, value in self.options.items())
        return f"{self.dtype}-{self.method}-{self.space}-{self.channels}{extra}"

    def output(self) -> NDArray[Any]:
        content, style = (image(seed, self.channels, self.dtype) for seed in (1, 2))
        return np.asarray(rc.match(content, style, self.method, self.space, **self.options))


def image(seed: int, channels: int, dtype: str) -> NDArray[Any]:
    """A small picture from integer arithmetic alone, the same on every machine and in every version of NumPy."""
    shape = (7, 11, channels) if seed == 1 else (10, 8, channels)
    state, values = 40_961 * seed + channels, []
    for k in range(shape[0] * shape[1] * channels):
        state = (1_103_515_245 * state + 12_345) % 2**31
        noise = state >> 15  # 16 bits; the low ones of such a generator are poor
        values.append((noise + (20_000 * (k % channels) + 9_000 * seed)) % 61_000 + 2_000 * seed)
    shares = np.array(values, dtype=np.int64).reshape(shape)
    if dtype in {"uint8", "uint16"}:
        return (shares * HIGHEST[dtype] // 65535).astype(dtype)
    return (shares / 65536).astype(dtype)  # a power of two: exact


def all_cases() -> list[Case]:
    cases = [Case(dtype, method, space) for dtype in HIGHEST for method in rc.MATCHERS for space in SPACES]
    for dtype in ("uint8", "float32"):
        cases += [Case(dtype, channels=channels, options={"alpha": False}) for channels in (1, 2, 4, 9)]
        cases.append(Case(dtype, channels=4, options={"alpha": True}))
        cases += [Case(dtype, method, options={"strength": 0.5}) for method in ("mean_std", "histogram")]
        cases += [Case(dtype, options={"eps_mode": "paper"}), Case(dtype, options={"max_gain": 0.5})]
    return cases


def digest(array: NDArray[Any]) -> str:
    """Of shape, type and bytes, the latter in little-endian order."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return hashlib.sha256(f"{array.shape} {array.dtype.name} ".encode() + little.tobytes()).hexdigest()
