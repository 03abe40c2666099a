"""Harmonising as a transform of Albumentations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import NDArray

from recolorist import _adapters as adapters
from recolorist.augment.harmoniser import Gate, Harmoniser
from recolorist.bank.drift import COVERAGE

adapters.forbid_update_check()
try:
    from albumentations.core.transforms_interface import BaseTransformInitSchema, ImageOnlyTransform
except ModuleNotFoundError as error:
    raise adapters.explain_missing("albumentations", error) from error

__all__ = ["Harmonise"]


class Harmonise(ImageOnlyTransform):
    """Give an image the average colours of a bank, except if it lies inside it already.

    There is nothing random in it, and ``p`` is 1 by default: use it for validation, tests and deployment, before ``Normalize``.
    The images of a stack are judged one by one. ``core`` is the :class:`recolorist.Harmoniser`.

    Args:
        bank: A :class:`recolorist.StyleBank`, or the path of a saved one.
        gate: What happens to images outside the bank: ``"centre"``, ``"edge"``, or ``"off"`` to move all images.
        coverage: Share of images like those of the bank that count as inside.
        domain: Use the styles of this domain of the bank only.
        method: ``"mean_std"`` or ``"covariance"``.
        space: A key of :data:`recolorist.SPACES`.
        strength: 0 leaves the image as it is, 1 matches it fully.
        max_gain: Largest factor on a channel.
        mask: ``"tissue"``, ``"fundus"``, or a callable from image to mask.
        apply_to: Change ``"all"`` pixels, or only those of the ``"mask"``.
        data_range: Largest value of floating-point images.
        blank: ``"keep"`` leaves blank images as they are, ``"match"`` treats them like all others.
        p: Probability of harmonising.

    Raises:
        OptionError: An option is unknown or outside its limits.
        StatisticsError: The bank has too few styles for a gate.

    Targets:
        image, volume

    Image types:
        uint8, float32

    Example:
        >>> import albumentations as A
        >>> import numpy as np
        >>> from recolorist import StyleBank
        >>> tiles = np.random.default_rng(0).integers(40, 200, (60, 24, 16, 3), dtype=np.uint8)
        >>> pipeline = A.Compose([Harmonise(StyleBank.build(tiles, split="train"))])
        >>> bool(pipeline(image=tiles[0] // 2)["image"].mean() > 100)
        True
    """

    class InitSchema(BaseTransformInitSchema):
        """The types of the options; their defaults are those of ``__init__``."""

        bank: Any
        gate: Literal["centre", "edge", "off"] | None
        coverage: float
        domain: str | None
        method: str
        space: str
        strength: float
        max_gain: float
        mask: str | Callable[..., Any] | None
        apply_to: Literal["all", "mask"]
        data_range: float | None
        blank: Literal["keep", "match"]

    def __init__(
        self,
        bank: Any,
        gate: Gate | None = None,
        coverage: float = COVERAGE,
        domain: str | None = None,
        method: str = "mean_std",
        space: str = "rgb",
        strength: float = 1.0,
        max_gain: float = 10.0,
        mask: str | Callable[[Any], Any] | None = None,
        apply_to: Literal["all", "mask"] = "all",
        data_range: float | None = None,
        blank: Literal["keep", "match"] = "keep",
        p: float = 1.0,
    ) -> None:
        """Check every option once, here."""
        arguments = locals()
        super().__init__(p=p)
        self.bank, self._path = adapters.open_bank(bank)
        self.options = {name: arguments[name] for name in self.InitSchema.__annotations__ if name != "bank"}
        self.core = Harmoniser(self.bank, **self.options)

    def apply(self, img: NDArray[Any], *args: Any, **params: Any) -> NDArray[Any]:  # noqa: ARG002 - the framework's signature
        """Harmonise one image."""
        harmonised: NDArray[Any] = self.core(img)
        return harmonised

    def get_transform_init_args(self) -> dict[str, Any]:
        """Return every option as plain data; the bank by its styles, or a large one by its file and SHA-256."""
        form: Any = "embedded" if self._path is None else "auto"
        return {"bank": adapters.encode_bank(self.bank, self._path, form)} | self.options

    def __repr__(self) -> str:
        """Return the bank in short and every option."""
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}({self.bank!r}, {options}, p={self.p!r})"
