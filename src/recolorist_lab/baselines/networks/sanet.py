"""SANet: every content position attends over all style positions, at two depths; trained with identity losses.

The authors published no code; names of tensors, and the numbers below, are those of the re-implementation they point to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from torch import Tensor, nn
from torch.nn.functional import interpolate, pad

from recolorist.errors import OptionError
from recolorist_lab.baselines.attention import CHANNELS, AttentionBaseline, PositionAttention, weighted
from recolorist_lab.baselines.base import OfficialFile, Step
from recolorist_lab.baselines.networks.adain import OFFICIAL
from recolorist_lab.baselines.padding import padded
from recolorist_lab.baselines.recipe import TrainingRecipe

__all__ = ["UPSAMPLING", "SANet", "Transform"]

UPSAMPLING: Final = ("size", "factor")


_SOURCE: Final = "by the README of https://github.com/GlebSBrykin/SANET"


class Transform(nn.Module):
    """Attention at relu4_1 and at relu5_1, added and merged by a convolution.

    The deeper map is brought to the ``size`` of the other one; ``factor`` doubles it, as the published code does, and then only
    images whose relu4_1 map has even sides will do. No tensor depends on it.
    """

    def __init__(self, channels: int = CHANNELS, upsample: str = "size") -> None:
        super().__init__()
        if upsample not in UPSAMPLING:
            raise OptionError(f"upsample={upsample!r}; accepted are {', '.join(UPSAMPLING)}")
        self.sanet4_1 = PositionAttention(channels)
        self.sanet5_1 = PositionAttention(channels)
        self.merge_conv = nn.Conv2d(channels, channels, 3)
        self.upsample = upsample

    def forward(self, content4: Tensor, content5: Tensor, style4: Tensor, style5: Tensor) -> Tensor:
        """Return features at the size of the content's relu4_1."""
        shallow, deep = self.sanet4_1(content4, style4), self.sanet5_1(content5, style5)
        size = list(shallow.shape[-2:])
        raised = [2 * side for side in deep.shape[-2:]] if self.upsample == "factor" else size
        if raised != size:
            raise OptionError(
                f"upsample='factor' turns the deeper map into {raised}, and the other is {size}; "
                "give images whose sides are multiples of 16, or use upsample='size'"
            )
        joined = shallow + interpolate(deep, size=raised, mode="nearest")
        return self.merge_conv(pad(joined, (1, 1, 1, 1), mode="reflect"))


class SANet(AttentionBaseline):
    """Arbitrary style transfer with style-attentional networks."""

    name: ClassVar = "SANET"
    paper: ClassVar = "Park and Lee, Arbitrary Style Transfer with Style-Attentional Networks, CVPR 2019, arXiv 1812.02342"
    licence: ClassVar = "no code by the authors; the re-implementation they point to (GlebSBrykin/SANET) is MIT"
    defaults: ClassVar = TrainingRecipe(batch=5)
    official: ClassVar = (
        OFFICIAL,
        OfficialFile(
            "transform",
            "transformer_iter_500000.pth",
            what="attention at relu4_1 and relu5_1, merging convolution",
            address=_SOURCE,
        ),
        OfficialFile("decoder", "decoder_iter_500000.pth", what="decoder from relu4_1", address=_SOURCE),
    )

    transform: Transform

    def __init__(
        self,
        *,
        encoder: str = "auto",
        alpha: float = 1.0,
        upsample: str = "size",
        content_weight: float = 1.0,
        style_weight: float = 3.0,
        identity_pixels_weight: float = 50.0,
        identity_features_weight: float = 1.0,
    ) -> None:
        super().__init__(encoder, Transform(upsample=upsample), alpha)
        # What each loss counts. The printed paper has the identity weights the wrong way round; its authors' page corrects them.
        self.weights = {
            "content": content_weight,
            "style": style_weight,
            "identity_pixels": identity_pixels_weight,
            "identity_features": identity_features_weight,
        }

    def joined(self, content: list[Tensor], style: list[Tensor]) -> Tensor:
        """Apply attention at two depths and merge the results."""
        return self.transform(content[3], content[4], style[3], style[4])

    def _fitted(self, image: Tensor) -> Tensor:
        fitted = super()._fitted(image)
        return fitted if self.transform.upsample == "size" else padded(fitted, self.least, 16)

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Compute the losses of three decodings: the pair, and each image in its own style."""
        del step
        contents, styles = self.look(content), self.look(style)
        parts = self.transferred(self.result(contents, styles), contents, styles) | self.identities(contents, styles)
        yield Step(weighted(parts, self.weights), parts)
