"""Colorist for MONAI: channel first, MetaTensors kept, one style for all keys of a dictionary.

Under a plain PyTorch loader MONAI's transforms draw the same in all workers, and again in the next epoch. Here each number
from ``self.R`` is mixed with the worker's own seed: workers and epochs differ under any loader, and ``set_random_state``
still decides.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from recolorist import _adapters as adapters
from recolorist.augment import colorist as augment
from recolorist.augment.colorist import Draw
from recolorist.augment.samplers import Sampler
from recolorist.core.options import Blank
from recolorist.errors import ImageError, OptionError
from recolorist.harmonise.monai import Harmonise, HarmoniseD, Harmonised, HarmoniseDict, plain_tensor

try:
    import torch
    from monai.config.type_definitions import KeysCollection
    from monai.data.meta_obj import get_track_meta
    from monai.transforms.transform import MapTransform, RandomizableTransform
    from monai.utils.enums import TransformBackends
    from monai.utils.type_conversion import convert_to_dst_type, convert_to_tensor

    from recolorist.torch.tensors import recolour_tensor
except ModuleNotFoundError as error:
    raise adapters.explain_missing("monai", error) from error

__all__ = [
    "Harmonise",
    "HarmoniseD",
    "HarmoniseDict",
    "Harmonised",
    "RandColorist",
    "RandColoristD",
    "RandColoristDict",
    "RandColoristd",
]

_NUMBERS: Final = 2**63 - 1


class RandColorist(RandomizableTransform):
    """With probability ``prob`` (0.3 by default), give an image the colour statistics of a style drawn from a bank.

    Images are channel-first, ``(C, H, W)`` or ``(C, H, W, D)``: a volume takes one style by one plan. ``backend`` is TORCH and
    NUMPY: arrays become tensors, and metadata is kept. The dtype is kept, except that MONAI makes int32 of uint16 arrays.
    Float images are taken as 0 to 1; MONAI often leaves 8-bit values in floats, and then ``data_range=255`` says so.

    The transform is not invertible, and it is not lazy: pending operations are applied before it.

    Args:
        bank: the styles: a :class:`recolorist.StyleBank`, or the path of a saved one (.rcb, .json).
        prob: probability of changing an image. Default to 0.3, where many of MONAI's own transforms have 0.1.
        method: a key of :data:`recolorist.MATCHERS`. Default to ``"mean_std"``.
        space: a key of :data:`recolorist.SPACES`. Default to ``"rgb"``.
        sampler: a name of :mod:`recolorist.samplers`, or a callable. Default to ``"uniform"``.
        strength: 0 leaves the image, 1 matches it fully; a pair is a range to draw from. Default to ``1.0``.
        max_gain: largest factor on a channel. Default to ``10.0``.
        max_clip: largest share of values that may be clipped. Default to ``None``, no limit.
        mask: ``"tissue"``, ``"fundus"``, or a callable from image to mask; the pixels to measure. Default to ``None``, all.
        max_loss: largest share of patches that may lose more than half of their detail. Default to ``None``, no limit.
        apply_to: change ``"all"`` pixels, or only those of the ``"mask"``. Default to ``"all"``.
        data_range: largest value of floating-point and signed images. Default to ``None``, which is 1 for floats.
        allow_split: accept banks of other splits than training. Default to ``False``.
        blank: ``"keep"`` leaves blank images as they are and draws no style of one, ``"match"`` treats them like all others.
            Default to ``"keep"``.

    Raises:
        OptionError: When an option is unknown or outside its limits.

    Example:
        >>> import torch
        >>> from recolorist import StyleBank
        >>> tiles = np.random.default_rng(0).integers(0, 256, (8, 24, 16, 3), dtype=np.uint8)
        >>> change = RandColorist(StyleBank.build(tiles, split="train"), prob=1.0).set_random_state(1)
        >>> out = change(torch.from_numpy(tiles[0]).permute(2, 0, 1))
        >>> type(out).__name__, out.dtype, tuple(out.shape)
        ('MetaTensor', torch.uint8, (3, 24, 16))
    """

    backend = [TransformBackends.TORCH, TransformBackends.NUMPY]  # noqa: RUF012 - the framework's attribute

    def __init__(
        self,
        bank: Any,
        prob: float = 0.3,
        method: str = "mean_std",
        space: str = "rgb",
        sampler: str | Sampler = "uniform",
        strength: float | tuple[float, float] = 1.0,
        max_gain: float = 10.0,
        max_clip: float | None = None,
        mask: str | Callable[[Any], Any] | None = None,
        *,
        max_loss: float | None = None,
        apply_to: Literal["all", "mask"] = "all",
        data_range: float | None = None,
        allow_split: bool = False,
        blank: Blank = "keep",
    ) -> None:
        """Check every option once, here."""
        RandomizableTransform.__init__(self, prob)
        self.core = adapters.build_colorist(locals(), p=1.0, seed=0)  # randomize asks for prob
        self._place = 0

    def __repr__(self) -> str:
        """Return the bank in short and every option."""
        return f"{type(self).__name__}({self._format_options()})"

    def _format_options(self) -> str:
        return f"{self.core.bank!r}, prob={self.prob!r}, {self.core.format_options('p', 'seed', 'preprocessing')}"

    def set_random_state(self, seed: int | None = None, state: np.random.RandomState | None = None) -> RandColorist:
        """Seed the draws."""
        super().set_random_state(seed, state)
        return self

    def randomize(self, data: Any = None) -> None:  # noqa: ARG002 - the framework's signature
        """Draw whether to change the image, and the place in the streams from which the style comes."""
        self._place = adapters.mix_worker_seed(int(self.R.randint(_NUMBERS, dtype=np.int64)))
        self._do_transform = adapters.draw_chance(self.prob, self._place)

    @torch.compiler.disable
    def __call__(
        self,
        img: Any,
        randomize: bool = True,  # noqa: FBT002 - the framework's signature
        *,
        mask: Any = None,
        key: Any = None,
        label: Any = None,
        domain: Any = None,
    ) -> Any:
        """Augment one channel-first image.

        Args:
            img: ``(C, H, W)`` or ``(C, H, W, D)``.
            randomize: False gives the image the style that was drawn last.
            mask: The foreground, ``(H, W)`` or ``(1, H, W)``.
            key: Key of the image in the bank, so that it is not matched to itself.
            label: Label of the image, for samplers that need it.
            domain: Domain of the image.

        Raises:
            ImageError: The image or the mask has another shape.
        """
        tensor = convert_to_tensor(img, track_meta=get_track_meta())
        self._refuse_other_shapes(tensor)
        if randomize:
            self.randomize()
        if not self._do_transform:
            return tensor
        draw = adapters.draw_style(self.core, self._place, key=key, label=label, domain=domain)
        changed = self._recolour(plain_tensor(img, tensor), draw, mask).to(tensor.dtype)
        return convert_to_dst_type(changed.reshape(tensor.shape), dst=tensor)[0]

    def _refuse_other_shapes(self, tensor: Any) -> None:
        if tensor.ndim < 3 or not tensor.numel() or (tensor.ndim > 3 and self.core.method == "exact_histogram"):
            raise ImageError(
                f"the image has shape {tuple(tensor.shape)}; accepted are channel-first images (C, H, W) of at least one pixel, "
                "and volumes unless method='exact_histogram', which looks at neighbours"
            )

    def _recolour(self, tensor: Any, draw: Draw, mask: Any) -> Any:
        """Recolour an image (C, H, W), or a volume as one wide image, since colour statistics do not depend on places."""
        flat = tensor.reshape(*tensor.shape[:2], math.prod(tensor.shape[2:]))
        inside = _mask(mask, (int(flat.shape[1]), int(flat.shape[2])), tensor.ndim)
        if tensor.ndim == 3:
            return recolour_tensor(self.core, flat, draw, inside)
        with warnings.catch_warnings():  # the wide image has a size that the bank cannot have
            warnings.simplefilter("ignore", augment.PreprocessingWarning)
            return recolour_tensor(self.core, flat, draw, inside)


class RandColoristd(RandomizableTransform, MapTransform):
    """Dictionary-based version of :class:`RandColorist`, with probability ``prob`` (0.3 by default).

    One style is drawn for all ``keys``, and each image is matched by its own plan. Other items of the dictionary are the same
    objects afterwards. ``RandColoristD`` and ``RandColoristDict`` are other names of it; ``backend`` is that of
    :class:`RandColorist`.

    Args:
        keys: keys of the corresponding items to be transformed, all of them images.
            See also: :py:class:`monai.transforms.compose.MapTransform`.
        bank: the styles: a :class:`recolorist.StyleBank`, or the path of a saved one (.rcb, .json).
        prob: probability of changing a sample. Default to 0.3, where many of MONAI's own transforms have 0.1.
        method: a key of :data:`recolorist.MATCHERS`. Default to ``"mean_std"``.
        space: a key of :data:`recolorist.SPACES`. Default to ``"rgb"``.
        sampler: a name of :mod:`recolorist.samplers`, or a callable. Default to ``"uniform"``.
        strength: 0 leaves the image, 1 matches it fully; a pair is a range to draw from. Default to ``1.0``.
        max_gain: largest factor on a channel. Default to ``10.0``.
        max_clip: largest share of values that may be clipped. Default to ``None``, no limit.
        mask: ``"tissue"``, ``"fundus"``, or a callable from image to mask; the pixels to measure. Default to ``None``, all.
        max_loss: largest share of patches that may lose more than half of their detail. Default to ``None``, no limit.
        apply_to: change ``"all"`` pixels, or only those of the ``"mask"``. Default to ``"all"``.
        data_range: largest value of floating-point and signed images. Default to ``None``, which is 1 for floats.
        allow_split: accept banks of other splits than training. Default to ``False``.
        blank: ``"keep"`` leaves blank images as they are and draws no style of one, ``"match"`` treats them like all others.
            Default to ``"keep"``.
        mask_key: key of the foreground mask, ``(H, W)`` or ``(1, H, W)``. Default to ``None``: ``mask`` decides.
        sample_key: key of the image's name in the bank, so that it is not matched to itself. Default to ``None``.
        label_key: key of the label, for samplers that need it. Default to ``None``.
        domain_key: key of the domain, for samplers that need it. Default to ``None``.
        allow_missing_keys: don't raise an exception if a key is missing. Default to ``False``.

    Raises:
        OptionError: When an option is unknown or outside its limits.
        KeyError: When called: one of ``keys`` is missing and ``allow_missing_keys=False``.

    Example:
        >>> import torch
        >>> from recolorist import StyleBank
        >>> tiles = np.random.default_rng(0).integers(0, 256, (8, 24, 16, 3), dtype=np.uint8)
        >>> change = RandColoristd("image", StyleBank.build(tiles, split="train"), prob=1.0).set_random_state(1)
        >>> sample = {"image": torch.from_numpy(tiles[0] // 2).permute(2, 0, 1), "label": 4}
        >>> out = change(sample)
        >>> out["label"], bool((out["image"] == sample["image"]).all())
        (4, False)
    """

    backend = RandColorist.backend

    def __init__(
        self,
        keys: KeysCollection,
        bank: Any,
        prob: float = 0.3,
        method: str = "mean_std",
        space: str = "rgb",
        sampler: str | Sampler = "uniform",
        strength: float | tuple[float, float] = 1.0,
        max_gain: float = 10.0,
        max_clip: float | None = None,
        mask: str | Callable[[Any], Any] | None = None,
        *,
        max_loss: float | None = None,
        apply_to: Literal["all", "mask"] = "all",
        data_range: float | None = None,
        allow_split: bool = False,
        blank: Blank = "keep",
        mask_key: str | None = None,
        sample_key: str | None = None,
        label_key: str | None = None,
        domain_key: str | None = None,
        allow_missing_keys: bool = False,
    ) -> None:
        """Check every option once, here."""
        arguments = locals()
        MapTransform.__init__(self, keys, allow_missing_keys)
        RandomizableTransform.__init__(self, prob)
        self.array = RandColorist(**{name: arguments[name] for name in inspect.signature(RandColorist).parameters})
        self.entries = {"mask": mask_key, "key": sample_key, "label": label_key, "domain": domain_key}

    def __repr__(self) -> str:
        """Return the keys, the bank in short and every option."""
        entries = {"sample" if name == "key" else name: key for name, key in self.entries.items()}
        named = ", ".join(f"{name}_key={key!r}" for name, key in entries.items())
        options = f"{self.array._format_options()}, {named}, allow_missing_keys={self.allow_missing_keys}"  # noqa: SLF001 - one module
        return f"{type(self).__name__}({self.keys!r}, {options})"

    def set_random_state(self, seed: int | None = None, state: np.random.RandomState | None = None) -> RandColoristd:
        """Seed the draws of the array version, which are the only ones."""
        super().set_random_state(seed, state)
        self.array.set_random_state(seed, state)
        return self

    def randomize(self, data: Any = None) -> None:
        """Draw once for all keys."""
        self.array.randomize(data)
        self._do_transform = self.array._do_transform  # noqa: SLF001 - the framework's name

    @torch.compiler.disable
    def __call__(self, data: Mapping[Any, Any]) -> dict[Any, Any]:
        """Augment the images of one sample."""
        sample = dict(data)
        self.randomize()
        options = self._call_options(sample) if self._do_transform else {}
        for key in self.key_iterator(sample):
            sample[key] = self.array(sample[key], randomize=False, **options)
        return sample

    def _call_options(self, sample: dict[Any, Any]) -> dict[str, Any]:
        named = {option: key for option, key in self.entries.items() if key is not None}
        missing = [key for key in named.values() if key not in sample]
        if missing and not self.allow_missing_keys:
            raise OptionError(f"the sample has no {missing[0]!r}; it has {', '.join(map(str, sample))}")
        return {option: sample.get(key) for option, key in named.items()}


RandColoristD = RandColoristDict = RandColoristd


def _mask(mask: Any, size: tuple[int, int], ndim: int) -> NDArray[np.bool_] | None:
    """Return a mask as booleans (H, W): positive is foreground, in any channel."""
    if mask is None:
        return None
    inside: NDArray[np.bool_] = np.asarray(mask.detach().cpu() if hasattr(mask, "detach") else mask) > 0
    if inside.ndim == ndim:
        inside = np.logical_or.reduce(inside, axis=0)
    if inside.size != size[0] * size[1]:
        raise ImageError(f"the mask has shape {np.shape(mask)}, which does not fit the image; its height and width must")
    return inside.reshape(size)
