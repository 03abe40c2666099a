"""Harmonising as transforms of MONAI, for arrays and dictionaries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from recolorist import _adapters as adapters
from recolorist.augment.harmoniser import Gate, Harmoniser
from recolorist.bank.drift import COVERAGE
from recolorist.errors import ImageError

try:
    import torch
    from monai.config.type_definitions import KeysCollection
    from monai.data.meta_obj import get_track_meta
    from monai.data.meta_tensor import MetaTensor
    from monai.transforms.transform import MapTransform, Transform
    from monai.utils.enums import TransformBackends
    from monai.utils.type_conversion import convert_to_dst_type, convert_to_tensor

    from recolorist.torch.harmonise import harmonise_tensor
except ModuleNotFoundError as error:
    raise adapters.explain_missing("monai", error) from error

__all__ = ["Harmonise", "HarmoniseD", "HarmoniseDict", "Harmonised", "plain_tensor"]


class Harmonise(Transform):
    """Give an image the average colours of a bank, except if it lies inside it already.

    There is nothing random in it: use it for validation, tests and deployment, before intensities are normalised. Images are
    channel-first, ``(C, H, W)`` or ``(C, H, W, D)``: a volume is judged and mapped as a whole. The dtype is kept. Float images
    are taken as 0 to 1; ``data_range=255`` says otherwise. ``core`` is the :class:`recolorist.Harmoniser`.

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
        >>> from recolorist import StyleBank
        >>> tiles = np.random.default_rng(0).integers(40, 200, (60, 24, 16, 3), dtype=np.uint8)
        >>> out = Harmonise(StyleBank.build(tiles, split="train"))(tiles[0].transpose(2, 0, 1) // 2)
        >>> type(out).__name__, tuple(out.shape), bool(out.float().mean() > 100)
        ('MetaTensor', (3, 24, 16), True)
    """

    backend = [TransformBackends.TORCH, TransformBackends.NUMPY]  # noqa: RUF012 - the framework's attribute

    def __init__(
        self,
        bank: Any,
        gate: Gate | None = None,
        *,
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
    ) -> None:
        """Check every option once, here."""
        arguments = {name: value for name, value in locals().items() if name not in ("self", "__class__", "bank")}
        self.core = Harmoniser(adapters.open_bank(bank)[0], **arguments)

    def __call__(self, img: Any) -> Any:
        """Harmonise one channel-first image.

        Args:
            img: ``(C, H, W)`` or ``(C, H, W, D)``.

        Raises:
            ImageError: The image has another shape.
        """
        tensor = convert_to_tensor(img, track_meta=get_track_meta())
        if tensor.ndim < 3 or not tensor.numel():
            raise ImageError(f"the image has shape {tuple(tensor.shape)}; accepted are (C, H, W) and (C, H, W, D)")
        plain = plain_tensor(img, tensor)
        wide = plain.reshape(*plain.shape[:2], math.prod(plain.shape[2:]))  # colour statistics do not depend on places
        harmonised = harmonise_tensor(self.core, wide).to(tensor.dtype)
        return convert_to_dst_type(harmonised.reshape(tensor.shape), dst=tensor)[0]

    def __repr__(self) -> str:
        """Return every option."""
        return repr(self.core).replace("Harmoniser(", f"{type(self).__name__}(", 1)


class Harmonised(MapTransform):
    """Dictionary version of :class:`Harmonise`; each image is judged by itself.

    Args:
        keys: Names of the entries that are images.
        bank: A :class:`recolorist.StyleBank`, or the path of a saved one.
        gate: What happens to images outside the bank: ``"centre"``, ``"edge"``, or ``"off"`` to move all images.
        allow_missing_keys: Accept samples without some of the entries.
        **options: The other options of :class:`Harmonise`.

    Raises:
        OptionError: An option is unknown or outside its limits.

    Example:
        >>> import numpy as np
        >>> from recolorist import StyleBank
        >>> tiles = np.random.default_rng(0).integers(40, 200, (60, 24, 16, 3), dtype=np.uint8)
        >>> change = Harmonised("image", StyleBank.build(tiles, split="train"))
        >>> out = change({"image": tiles[0].transpose(2, 0, 1) // 2, "label": 4})
        >>> out["label"], bool(out["image"].float().mean() > 100)
        (4, True)
    """

    backend = Harmonise.backend

    def __init__(
        self,
        keys: KeysCollection,
        bank: Any,
        gate: Gate | None = None,
        *,
        allow_missing_keys: bool = False,
        **options: Any,
    ) -> None:
        """Check every option once, here."""
        super().__init__(keys, allow_missing_keys)
        self.array = Harmonise(bank, gate, **options)

    def __call__(self, data: Mapping[Any, Any]) -> dict[Any, Any]:
        """Harmonise the images of one sample."""
        sample = dict(data)
        for key in self.key_iterator(sample):
            sample[key] = self.array(sample[key])
        return sample

    def __repr__(self) -> str:
        """Return the keys and every option."""
        return f"{type(self).__name__}({self.keys!r}, {self.array!r})"


HarmoniseD = HarmoniseDict = Harmonised


def plain_tensor(img: Any, tensor: Any) -> Any:
    """Return the pixels of an image without metadata; as uint16 if they came so, of which MONAI makes int32.

    Args:
        img: The image as it came.
        tensor: What MONAI made of it.

    Returns:
        A tensor of the type that the image had.

    Example:
        >>> import numpy as np
        >>> plain_tensor(np.zeros((3, 4, 5), np.uint16), torch.zeros(3, 4, 5, dtype=torch.int32)).dtype
        torch.uint16
    """
    plain = tensor.as_tensor() if isinstance(tensor, MetaTensor) else tensor
    return plain.to(torch.uint16) if isinstance(img, np.ndarray) and img.dtype == np.uint16 else plain
