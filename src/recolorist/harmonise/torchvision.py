"""Harmonising as a transform of torchvision v2."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
import PIL.Image
import torch

from recolorist._torchvision_ops import declare_missing_ops
from recolorist.augment.harmoniser import Gate, Harmoniser
from recolorist.augment.masks import MaskRule
from recolorist.bank.drift import COVERAGE
from recolorist.bank.style_bank import StyleBank
from recolorist.errors import ImageError
from recolorist.torch.harmonise import harmonise_tensor

declare_missing_ops()

from torchvision import tv_tensors  # noqa: E402 - its operators are declared first
from torchvision.transforms import v2  # noqa: E402

__all__ = ["Harmonise", "is_picture", "refuse_arrays"]


class Harmonise(v2.Transform):
    """Give the images of a sample the average colours of a bank, except those that lie inside it already.

    There is nothing random in it: use it for validation, tests and deployment, before ``Normalize``. Images (PIL,
    ``tv_tensors.Image``, plain tensors) keep their type, dtype, shape and device, and each is judged by itself. The frames of a
    video are judged and mapped together, so that it does not flicker. Masks, boxes and everything else pass through.
    ``core`` is the :class:`recolorist.Harmoniser`, whose ``harmonise`` also tells what was done.

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

    Raises:
        OptionError: An option is unknown or outside its limits.
        StatisticsError: The bank has too few styles for a gate.

    Example:
        >>> import numpy as np
        >>> tiles = np.random.default_rng(0).integers(40, 200, (60, 24, 16, 3), dtype=np.uint8)
        >>> transform = Harmonise(StyleBank.build(tiles, split="train"))
        >>> dark = tv_tensors.Image(tiles[0].transpose(2, 0, 1) // 2)
        >>> bool(transform(dark).float().mean() > dark.float().mean())
        True
    """

    def __init__(
        self,
        bank: StyleBank | str | os.PathLike[str],
        gate: Gate | None = None,
        *,
        coverage: float = COVERAGE,
        domain: str | None = None,
        method: str = "mean_std",
        space: str = "rgb",
        strength: float = 1.0,
        max_gain: float = 10.0,
        mask: str | MaskRule | None = None,
        apply_to: Literal["all", "mask"] = "all",
        data_range: float | None = None,
        blank: Literal["keep", "match"] = "keep",
    ) -> None:
        """Check every option once, here."""
        arguments = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__()
        self.core = Harmoniser(**arguments)

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Refuse a sample whose only image is an array.

        Raises:
            ImageError: There is one.
        """
        refuse_arrays(flat_inputs)

    @torch.compiler.disable
    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:  # noqa: ARG002 - torchvision's signature
        """Harmonise one part of the sample, if it is an image or a video."""
        if isinstance(inpt, PIL.Image.Image):
            return self.core(inpt)
        if not is_picture(inpt):
            return inpt
        pixels = inpt.as_subclass(torch.Tensor)
        if isinstance(inpt, tv_tensors.Video) and pixels.shape[-4]:
            tall = pixels.movedim(-4, -3)  # (..., C, T, H, W): frames as one tall picture
            changed = harmonise_tensor(self.core, tall.flatten(-3, -2)).view(tall.shape).movedim(-3, -4).contiguous()
        else:
            changed = harmonise_tensor(self.core, pixels)
        return tv_tensors.wrap(changed, like=inpt) if isinstance(inpt, tv_tensors.TVTensor) else changed

    def extra_repr(self) -> str:
        """Return the options as torch prints modules."""
        return repr(self.core).removeprefix("Harmoniser(").removesuffix(")")


def is_picture(inpt: Any) -> bool:
    """Return whether torchvision takes this for an image or a video; masks and boxes are tv_tensors of other types.

    Example:
        >>> is_picture(torch.zeros(3, 4, 5)), is_picture(tv_tensors.Mask(torch.zeros(4, 5))), is_picture("label")
        (True, False, False)
    """
    if isinstance(inpt, tv_tensors.TVTensor):
        return isinstance(inpt, (tv_tensors.Image, tv_tensors.Video))
    return isinstance(inpt, (torch.Tensor, PIL.Image.Image))


def refuse_arrays(parts: list[Any]) -> None:
    """Refuse a sample whose only image is an array: torchvision passes arrays through, so that nothing would be changed.

    Raises:
        ImageError: There is such an array, and no image beside it.
    """
    array = next((part for part in parts if isinstance(part, np.ndarray) and part.ndim >= 3), None)
    if array is not None and not any(map(is_picture, parts)):
        raise ImageError(
            f"an array of shape {array.shape} was given and no image; torchvision v2 knows PIL images and tensors, and passes "
            "arrays through unchanged. Put v2.ToImage() before it, or use recolorist.Colorist for arrays."
        )
