"""WCT2: whitening and colouring at every scale of an auto-encoder whose pooling is an invertible wavelet transform.

The paper's study uses the published decoder. Without it, a decoder can be trained here to reconstruct images, by a loss of ours;
the encoder is the shared VGG-19 and is never trained.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final, NamedTuple

import torch
from torch import Tensor

from recolorist.errors import ImageError, OptionError
from recolorist_lab.baselines import vgg
from recolorist_lab.baselines.base import Baseline, OfficialFile, Optimisation, Step, checked, trained_parameters
from recolorist_lab.baselines.layout import LayoutError
from recolorist_lab.baselines.losses import mse
from recolorist_lab.baselines.networks.wct2_wavelet import VGG_CHILDREN, Encoded, Skip, WaveDecoder, WaveEncoder
from recolorist_lab.baselines.padding import padded
from recolorist_lab.baselines.recipe import TrainingRecipe, constant
from recolorist_lab.baselines.whitening import wct, wct_regions
from recolorist_lab.runs.config import unknown

__all__ = ["COLOURS", "SITES", "WCT2", "gram", "labels_of"]

SITES: Final = ("encoder", "skip", "decoder")

#: Labels 0 to 8 of a coloured map.
COLOURS: Final = (
    (0, 0, 0),
    (255, 255, 255),
    (0, 255, 0),
    (0, 0, 255),
    (255, 0, 0),
    (255, 255, 0),
    (128, 128, 128),
    (0, 255, 255),
    (255, 0, 255),
)
_RELEASE: Final = "https://github.com/clovaai/WCT2/tree/05d17c0/model_checkpoints"
_HIGH: Final = ("LH", "HL", "HH")
_RECONSTRUCTION, _GRAM = 1000.0, 10.0  # weights of the losses


class _Labels(NamedTuple):
    """The region label of each pixel, (B, H, W) for content and for style."""

    content: Tensor
    style: Tensor


class WCT2(Baseline):
    """Photorealistic transfer by wavelet-corrected whitening and colouring.

    Args:
        encoder: ``auto`` for the official VGG-19, ``random`` for one that only has its shape.
        unpool: ``cat5`` or ``sum``; they are different networks, each with its official files.
        transfer_at: Where statistics are transferred: any of ``encoder``, ``skip``, ``decoder``, joined by ``+``.
        alpha: 1 for the result of WCT, 0 for the content; blended at each place.
        clamp: Keep transformed features within the content's range, as the released code does; it damps strong changes.
        ridge: Added to the covariances' diagonals; 1 in the released code, 0 for exact covariances.
    """

    name = "WCT2"
    paper = "Yoo et al., Photorealistic Style Transfer via Wavelet Transforms, ICCV 2019, arXiv 1903.09760"
    licence = "MIT (its WCT and input/output files: CC BY-NC-SA 4.0)"
    native_size = 512
    needs_training = False
    least = 16  # the reflection at relu4_1 needs two positions
    least_crop = 16
    multiple = 8
    defaults = TrainingRecipe(batch=8, iterations=60_000, rate=1e-3, decay=0.0, paired=False)
    trained = ("decoder",)
    official: ClassVar[tuple[OfficialFile, ...]] = (
        OfficialFile(
            "encoder",
            "wave_encoder_cat5_l4.pth",
            what="VGG-19 with Haar constants (sum: wave_encoder_sum_l4.pth); may be left out: rebuilt from the shared VGG-19",
            address=_RELEASE,
            required=False,
            git_blobs={
                "6be4f0df67802f93dfa68c3da5a25f5be4d15a88": "wave_encoder_cat5_l4.pth of clovaai/WCT2 at 05d17c0 (MIT)",
                "dd533376dfd0d1a3113924303bfdd5ca3591807f": "wave_encoder_sum_l4.pth of clovaai/WCT2 at 05d17c0 (MIT)",
            },
        ),
        OfficialFile(
            "decoder",
            "wave_decoder_cat5_l4.pth",
            what="the decoder (sum: wave_decoder_sum_l4.pth)",
            address=_RELEASE,
            git_blobs={
                "3f7fd4cbd4398a053dd21b22c00dd0012dfcc6e2": "wave_decoder_cat5_l4.pth of clovaai/WCT2 at 05d17c0 (MIT)",
                "305baf0115e5e6cde546ce0776c2bb1b92f907c7": "wave_decoder_sum_l4.pth of clovaai/WCT2 at 05d17c0 (MIT)",
            },
        ),
    )

    def __init__(
        self,
        *,
        encoder: str = "auto",
        unpool: str = "cat5",
        transfer_at: str = "encoder+skip+decoder",
        alpha: float = 1.0,
        clamp: bool = True,
        ridge: float = 1.0,
    ) -> None:
        super().__init__()
        self.sites = frozenset(transfer_at.split("+"))
        unknown(self.sites, SITES, "transfer_at")
        if not 0 <= alpha <= 1 or ridge < 0:
            raise OptionError(f"alpha={alpha}, ridge={ridge}; accepted are alpha in [0, 1] and a ridge from 0")
        self.wct_options: dict[str, Any] = {"alpha": alpha, "clamp": clamp, "ridge": ridge}
        self.encoder = WaveEncoder(unpool)
        self.decoder = WaveDecoder(unpool)
        shared = vgg.encoder(4, encoder).state_dict()
        state = self.encoder.state_dict()
        state |= {f"{name}.{end}": shared[f"{child}.{end}"] for name, child in VGG_CHILDREN.items() for end in ("weight", "bias")}
        self.encoder.load_state_dict(state)
        self.encoder.requires_grad_(requires_grad=False)

    # ---- transfer -------------------------------------------------------------------------------------------------------

    def transfer(self, content: Tensor, style: Tensor) -> Tensor:
        """Encode and match level by level, match the high bands, decode and match level by level."""
        return self._transfer(content, style, None)

    def stylise_regions(self, content: Tensor, style: Tensor, content_labels: Tensor, style_labels: Tensor) -> Tensor:
        """Stylise like :meth:`stylise`, but match each region to the style's region with the same label.

        Labels are whole numbers (B, H, W), one for each pixel of their image; :func:`labels_of` makes them from coloured maps.
        Regions without a usable counterpart keep their features.
        """
        style = checked(content, style)
        regions = _Labels(content_labels, style_labels.expand(len(style), -1, -1))
        for name, labels, image in (("content_labels", regions.content, content), ("style_labels", regions.style, style)):
            if labels.is_floating_point() or labels.shape != (len(image), *image.shape[-2:]):
                raise ImageError(
                    f"{name} are {labels.dtype} of shape {tuple(labels.shape)}; accepted are whole numbers, one per pixel of the "
                    f"image: {(len(image), *image.shape[-2:])}"
                )
        fitted = _Labels(*(padded(labels.long(), self.least, self.multiple) for labels in regions))
        return self._run(lambda inner: self._transfer(inner, self._fitted(style), fitted), content)

    def reconstruct(self, images: Tensor) -> Tensor:
        """Encode and decode without transfer."""
        return self.decoder(self.encoder(images))

    def _transfer(self, content: Tensor, style: Tensor, labels: _Labels | None) -> Tensor:
        look = self.encoder(style)
        skips: list[Skip] = []
        x = content
        for level in range(1, 5):
            x = self.encoder.encode(x, level, skips)
            if "encoder" in self.sites:
                x = self.match(f"encoder{level}", x, look.levels[level - 1], labels)
        if "skip" in self.sites:
            skips = [self._matched(number, skip, look.skips[number - 1], labels) for number, skip in enumerate(skips, 1)]
        targets = self._decoded(look) if "decoder" in self.sites else {}
        for level in (4, 3, 2, 1):
            if level in targets:
                x = self.match(f"decoder{level}", x, targets.pop(level), labels)
            x = self.decoder.decode(x, level, tuple(skips))
        return x

    def match(self, site: str, content: Tensor, style: Tensor, labels: _Labels | None) -> Tensor:
        """Whiten and colour features at one site; ``site`` names it for subclasses and tests."""
        del site
        if labels is None:
            return wct(content, style, **self.wct_options)
        return wct_regions(content, style, *labels, **self.wct_options)

    def _matched(self, number: int, skip: Skip, look: Skip, labels: _Labels | None) -> Skip:
        """Match the three high bands of a skip; the map before pooling comes from the stylised stream already."""
        pairs = zip(_HIGH, skip.high, look.high, strict=True)
        lh, hl, hh = (self.match(f"pool{number}.{band}", mine, theirs, labels) for band, mine, theirs in pairs)
        return Skip((lh, hl, hh), skip.original)

    def _decoded(self, look: Encoded) -> dict[int, Tensor]:
        """Decode the style and return the inputs of the decoder's levels; level 4 only if the encoder was not matched."""
        x = look.levels[-1]
        targets = {} if "encoder" in self.sites else {4: x}
        for level in (4, 3, 2):
            x = self.decoder.decode(x, level, look.skips)
            targets[level - 1] = x
        return targets

    # ---- training -------------------------------------------------------------------------------------------------------

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Reconstruct the images, and the Gram matrices of their features; no style takes part.

        This training is ours. The public trainer differs. It takes Gram targets from the ordinary encoder and not the wavelet
        one, compares conv4_1 features of the real image with themselves, and has no Gram term by default.
        """
        del style, step
        content_taps: list[Tensor] = []
        result_taps: list[Tensor] = []
        with torch.no_grad():
            encoded = self.encoder(content, content_taps)
        out = self.decoder(encoded)
        self.encoder(out, result_taps)
        terms = torch.stack([mse(gram(mine), gram(theirs)) for mine, theirs in zip(result_taps, content_taps, strict=True)])
        parts = {"reconstruction": mse(out, content), "gram": terms.sum()}
        yield Step(_RECONSTRUCTION * parts["reconstruction"] + _GRAM * parts["gram"], parts)

    def configure_optimiser(self, recipe: TrainingRecipe) -> dict[str, Optimisation]:
        """Make Adam with a constant rate for the decoder."""
        optimiser = torch.optim.Adam(trained_parameters(self, self.trained), lr=recipe.rate)
        return {"main": Optimisation(optimiser, constant(recipe.rate), recipe.clip)}

    # ---- official files -------------------------------------------------------------------------------------------------

    def from_official(self, part: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Refuse wavelets other than Haar's, with which the high bands would not invert the pooling. Names are the same."""
        kernels = dict(self.parts()[part].named_buffers())
        wrong = [name for name, kernel in kernels.items() if name in state and not _equal(state[name], kernel)]
        if wrong:
            raise LayoutError(f"the {part} of {self.name} has other wavelets than Haar's in {', '.join(wrong)}")
        return state


def gram(features: Tensor) -> Tensor:
    """Compute the Gram matrix of each sample's features, divided by how many numbers they are.

    Args:
        features: `(B, C, H, W)`.

    Returns:
        `(B, C, C)`.

    Example:
        >>> gram(torch.ones(1, 2, 3, 3))
        tensor([[[0.5000, 0.5000],
                 [0.5000, 0.5000]]])
    """
    columns = features.flatten(2)
    return columns @ columns.mT / (columns.shape[1] * columns.shape[2])


def labels_of(image: Tensor) -> Tensor:
    """Read a coloured map of regions: the nearest of :data:`COLOURS`, by the sum of differences.

    Args:
        image: `(B, 3, H, W)` in [0, 1].

    Returns:
        Labels, `(B, H, W)`.

    Example:
        >>> labels_of(torch.tensor([1.0, 0.1, 0.0]).reshape(1, 3, 1, 1)).item()
        4
    """
    palette = torch.tensor(COLOURS, dtype=torch.float32, device=image.device) / 255
    distances = torch.stack([(image - colour[:, None, None]).abs().sum(1) for colour in palette])
    return distances.argmin(0)


def _equal(stored: Tensor, kernel: Tensor) -> bool:
    return stored.shape != kernel.shape or torch.allclose(stored, kernel, atol=1e-6)  # a wrong shape is refused later
