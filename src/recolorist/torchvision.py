"""Colorist as a transform of torchvision v2, for PIL images, tensors and videos in samples of any structure."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np

from recolorist import _adapters as adapters
from recolorist._torchvision_ops import declare_missing_ops
from recolorist.augment.colorist import Draw, MaskRule
from recolorist.augment.samplers import Sampler
from recolorist.augment.streams import stream
from recolorist.bank.style_bank import StyleBank
from recolorist.core.options import Blank
from recolorist.errors import ImageError

try:
    import torch

    from recolorist.torch.tensors import recolour_tensor

    declare_missing_ops()  # before torchvision is imported

    from torchvision import tv_tensors
    from torchvision.transforms import v2

    from recolorist.harmonise.torchvision import Harmonise, is_picture, refuse_arrays
except ModuleNotFoundError as error:
    raise adapters.explain_missing("torch", error) from error

__all__ = ["Colorist", "Harmonise"]

_FIRST, _LAST = 0, 2**63 - 1


class Colorist(v2.Transform):
    """With probability ``p`` (0.3 by default), give the images of a sample the colour statistics of one style drawn from a bank.

    If the input is a :class:`torch.Tensor` or a ``TVTensor`` (for example :class:`~torchvision.tv_tensors.Image` or
    :class:`~torchvision.tv_tensors.Video`), it can have an arbitrary number of leading batch dimensions: the image can have
    ``[..., C, H, W]`` shape. A batch takes one style, and each image is measured by itself. The frames of a video are measured
    together, so that it does not flicker. PIL images are taken, too. All images of one call share the draw.

    Images of uint8, uint16 or floating point in 0 to ``data_range`` keep their type, dtype, shape and device; signed integers
    need ``data_range``. Masks, boxes, key points and everything else pass through untouched. Put it before ``Normalize``.

    .. note::
        Random numbers come from torch's generator alone, which the loader seeds differently in each worker and epoch. The same
        ``torch.manual_seed`` and the same number of workers repeat a run. For colours that do not depend on the number of
        workers use :class:`recolorist.torch.ColoristDataset`.

    .. note::
        The pixels are changed on the CPU, without gradients. For batches on another device use
        :class:`recolorist.torch.ColorMatch`.

    Args:
        bank (StyleBank or path): The styles, or the path of a saved bank (.rcb, .json).
        p (float, optional): Probability of changing a sample. Default: 0.3, where most of torchvision's transforms have 0.5.
        method (str, optional): A key of :data:`recolorist.MATCHERS`. Default: 'mean_std'.
        space (str, optional): A key of :data:`recolorist.SPACES`. Default: 'rgb'.
        sampler (str or callable, optional): A name of :mod:`recolorist.samplers`. Default: 'uniform'.
        strength (float or tuple of float (min, max), optional): 0 leaves the image, 1 matches it fully; a pair is a range to
            draw from. Default: 1.0.
        max_gain (float, optional): Largest factor on a channel. Default: 10.0.
        max_clip (float, optional): Largest share of values that may be clipped. Default: None, no limit.
        mask (str or callable, optional): ``"tissue"``, ``"fundus"``, or a callable from image to mask; the pixels to measure.
            Default: None, all pixels.
        max_loss (float, optional): Largest share of patches that may lose more than half of their detail. Default: None, no
            limit.
        apply_to (str, optional): Change ``"all"`` pixels, or only those of the ``"mask"``. Default: 'all'.
        data_range (float, optional): Largest value of floating-point and signed images. Default: None, which is 1 for floats.
        preprocessing (str, optional): What was done to the images before; a bank made otherwise is warned of. Default: None.
        allow_split (bool, optional): Accept banks of other splits than training. Default: False.
        blank (str, optional): ``"keep"`` leaves blank images as they are and draws no style of one, ``"match"`` treats them like
            all others. Default: 'keep'.

    Raises:
        OptionError: An option is unknown or outside its limits.
        ImageError: When called: the only image of a sample is an array, which torchvision would pass through.

    Example:
        >>> import numpy as np
        >>> tiles = np.random.default_rng(0).integers(0, 256, (8, 24, 16, 3), dtype=np.uint8)
        >>> transform = Colorist(StyleBank.build(tiles, split="train"), p=1.0)
        >>> transform(tv_tensors.Image(tiles[0].transpose(2, 0, 1))).dtype
        torch.uint8
    """

    def __init__(
        self,
        bank: StyleBank | str | os.PathLike[str],
        p: float = 0.3,
        method: str = "mean_std",
        space: str = "rgb",
        sampler: str | Sampler = "uniform",
        strength: float | tuple[float, float] = 1.0,
        max_gain: float = 10.0,
        max_clip: float | None = None,
        mask: str | MaskRule | None = None,
        *,
        max_loss: float | None = None,
        apply_to: Literal["all", "mask"] = "all",
        data_range: float | None = None,
        preprocessing: str | None = None,
        allow_split: bool = False,
        blank: Blank = "keep",
    ) -> None:
        """Check every option once, here."""
        super().__init__()
        self.core = adapters.build_colorist(locals(), seed=0)  # torch's numbers choose the stream
        self.p = self.core.p

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Refuse a sample whose only image is an array.

        Raises:
            ImageError: There is one.
        """
        refuse_arrays(flat_inputs)

    @torch.compiler.disable
    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:  # noqa: ARG002 - torchvision's signature
        """Draw whether to change the sample, and the number that selects a style; None leaves the sample as it is."""
        if self.p < 1 and torch.rand(()).item() >= float(np.float32(self.p)):  # as floats: comparing tensors takes twice as long
            return {"number": None}
        return {"number": int(torch.randint(_FIRST, _LAST, ()))}

    @torch.compiler.disable
    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Apply the draw to one part of the sample."""
        if params["number"] is None or not is_picture(inpt):
            return inpt
        draw = self.core.draw_from(stream(0, 0, params["number"]))
        if not isinstance(inpt, torch.Tensor):
            return self.core.recolour(inpt, draw)
        pixels, is_video = inpt.as_subclass(torch.Tensor), isinstance(inpt, tv_tensors.Video)
        changed = self._recolour_video(pixels, draw) if is_video else recolour_tensor(self.core, pixels, draw)
        return tv_tensors.wrap(changed, like=inpt) if isinstance(inpt, tv_tensors.TVTensor) else changed

    def extra_repr(self) -> str:
        """Return the options as torch prints modules."""
        return f"{self.core.bank!r}, {self.core.format_options('seed')}"

    def _recolour_video(self, video: torch.Tensor, draw: Draw) -> torch.Tensor:
        """Recolour frames (..., T, C, H, W) as one tall picture, so that they are measured together."""
        if video.ndim < 4:
            raise ImageError(f"a video of shape {tuple(video.shape)} was given; accepted are (..., T, C, H, W)")
        if not video.shape[-4]:
            return video
        self.core.warn_once_of_size(np.broadcast_to(np.uint8(0), (*video.shape[-2:], 1)))  # a frame, not the tall picture
        tall = video.movedim(-4, -3)  # (..., C, T, H, W)
        changed = recolour_tensor(self.core, tall.flatten(-3, -2), draw)
        return changed.view(tall.shape).movedim(-3, -4).contiguous()
