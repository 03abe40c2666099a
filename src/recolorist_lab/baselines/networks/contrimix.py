"""ContriMix: an image is the product of abundance maps and one stain matrix; another matrix gives another stain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

import torch
from torch import Tensor, nn

from recolorist.errors import OptionError
from recolorist_lab.baselines.base import Baseline, OfficialFile, Optimisation, Step, trained_parameters
from recolorist_lab.baselines.recipe import Rate, TrainingRecipe

__all__ = ["ContriMix", "to_absorbance", "to_transmittance", "warmed_up"]

_DARKEST: Final = 1e-6  # transmittance: absorbance ends at 6
_BRIGHTEST: Final = -0.2  # absorbance: a little below 0, since a hard edge there would stop the gradient of over-bright pixels
_WORST: Final = 0.9  # quantile of a picture's errors that enters the reconstruction loss
_SHARPNESS: Final = 0.1  # of the similarity of two stain matrices
_WARM_UP: Final = 3  # steps
_NETWORKS: Final = {"content_encoder": "cont_enc", "attribute_encoder": "attr_enc"}  # our parts, and their names in a checkpoint
_OTHERS: Final = ("im_gen", "backbone")  # without tensors, and the classifier that was trained along


def to_absorbance(light: Tensor) -> Tensor:
    """Compute how much light is absorbed, in powers of ten.

    Args:
        light: The light that passes, in [0, 1].

    Returns:
        The absorbance.

    Example:
        >>> to_absorbance(torch.tensor([1.0, 0.1, 0.0])).tolist()
        [0.0, 1.0, 6.0]
    """
    return -torch.log10(light.clamp(min=_DARKEST)) + 0.0


def to_transmittance(absorbance: Tensor) -> Tensor:
    """Compute the light that passes.

    Args:
        absorbance: In powers of ten.

    Returns:
        The light, which may be a little above 1: clamp what is shown.

    Example:
        >>> round(float(to_transmittance(torch.tensor(-1.0))), 4)
        1.5849
    """
    return 10.0 ** -absorbance.clamp(_BRIGHTEST, -float(torch.log10(torch.tensor(_DARKEST))))


def warmed_up(rate: float, steps: int) -> Rate:
    """Return a rate that grows from zero in three steps and then falls in a straight line to zero after the last.

    Args:
        rate: The highest rate.
        steps: How many steps the training has.

    Returns:
        The rate by number of step.

    Example:
        >>> [round(warmed_up(1.0, 9)(step), 3) for step in range(9)]
        [0.0, 0.333, 0.667, 1.0, 0.833, 0.667, 0.5, 0.333, 0.167]
    """
    remaining = max(1, steps - _WARM_UP)
    return lambda step: rate * min(step / _WARM_UP, max(0.0, (steps - step) / remaining), 1.0)


class ContriMix(Baseline):
    """Two small encoders, for abundance maps and for stain matrices; their product has no parameters."""

    name: ClassVar = "Contrimix"
    paper: ClassVar = (
        "T. H. Nguyen, D. Juyal, J. Li et al.: ContriMix: Scalable Stain Color Augmentation for Domain Generalization without "
        "Domain Labels in Digital Pathology. MICCAI COMPAY 2024, PMLR 254:121-130, arXiv 2306.04527"
    )
    licence: ClassVar = "MIT, as the package declares; there is no licence file"
    native_size: ClassVar = 224
    least: ClassVar = 64  # the attribute encoder halves six times
    least_crop: ClassVar = 64
    defaults: ClassVar = TrainingRecipe(
        batch=10,
        epochs=30,
        load_size=224,
        crop_size=224,
        rate=1e-4,
        decay=0.0,
        clip=0.5,
        view="crop_turned",
        paired=False,
        rate_depends_on_length=True,
    )
    trained: ClassVar = ("content_encoder", "attribute_encoder")
    official: ClassVar = tuple(
        OfficialFile(
            part,
            "checkpoint.pth",
            what=f"checkpoint whose `algorithm` holds {network}",
            address="https://gitlab.com/huutan86/intraminibatch_permutation_drit",
            entry="algorithm",
        )
        for part, network in _NETWORKS.items()
    )

    def __init__(
        self,
        *,
        encoder: str = "auto",
        stains: int = 16,
        mixes: int = 3,
        absorbance: bool = True,
        reconstruction_weight: float = 0.6,
        attribute_weight: float = 0.1,
        content_weight: float = 0.2,
        similarity_weight: float = 0.05,
        weight_decay: float = 0.01,
    ) -> None:
        """``stains`` columns of the stain matrix; ``mixes`` other stains each picture is put into during training.

        ``absorbance=False`` works on the light itself, for pictures that are not seen through a stained section.
        """
        super().__init__()
        del encoder  # there is no frozen network
        if stains < 1 or mixes < 1:
            raise OptionError(f"stains={stains}, mixes={mixes}; accepted are whole numbers from 1")
        self.stains, self.mixes, self.absorbance, self.weight_decay = stains, mixes, absorbance, weight_decay
        self.weights = (reconstruction_weight, attribute_weight, content_weight, similarity_weight)
        self.content_encoder = ContentEncoder(stains)
        self.attribute_encoder = AttributeEncoder(stains)

    def transfer(self, content: Tensor, style: Tensor) -> Tensor:
        """Multiply the content's maps by the style's matrix."""
        maps, stain = self.content_encoder(self._seen(content)), self.attribute_encoder(self._seen(style))
        return self._shown(generate(maps, stain))

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Reconstruct every image with its own matrix and with matrices of others in the batch."""
        del style, step  # styles are found within the batch
        images = self._seen(content)
        maps, stains = self.content_encoder(images), self.attribute_encoder(images)
        targets = torch.randint(len(content), (self.mixes, len(content)), device=content.device)  # itself among them
        used = torch.cat([stains, *(stains[chosen] for chosen in targets)])
        repeated = maps.repeat(self.mixes + 1, 1, 1, 1)
        mixed = generate(repeated, used)  # absorbances, not clipped
        parts = {
            "reconstruction": reconstruction_loss(self._shown(mixed[: len(content)]).clamp(0.0, 1.0), content),
            "attribute": (self.attribute_encoder(mixed) - used).abs().mean(),
            "content": (self.content_encoder(mixed) - repeated).abs().mean(),
            "similarity": similarity_loss(used.view(self.mixes + 1, len(content), -1).transpose(0, 1)),
        }
        total = torch.stack([weight * part for weight, part in zip(self.weights, parts.values(), strict=True)]).sum()
        yield Step(total, parts)

    def configure_optimiser(self, recipe: TrainingRecipe) -> dict[str, Optimisation]:
        """Make AdamW with three steps of warm-up and a linear decay to zero."""
        optimiser = torch.optim.AdamW(trained_parameters(self, self.trained), lr=recipe.rate, weight_decay=self.weight_decay)
        return {"main": Optimisation(optimiser, warmed_up(recipe.rate, recipe.iterations), recipe.clip)}

    def from_official(self, part: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Select the tensors of one part from a file that holds all; names that belong to no part are kept and then refused."""
        prefix = f"_models_by_names.{_NETWORKS[part]}."
        others = tuple(f"_models_by_names.{name}." for name in (*_NETWORKS.values(), *_OTHERS) if name != _NETWORKS[part])
        mine = {name: value for name, value in state.items() if not name.startswith(others)}
        return {name.removeprefix(prefix).removeprefix("module."): value for name, value in mine.items()}

    def to_official(self, part: str) -> dict[str, Tensor]:
        """Name tensors as in a checkpoint of several GPUs, which is what was released."""
        front = f"_models_by_names.{_NETWORKS[part]}.module."
        return {f"{front}{name}": value for name, value in self.parts()[part].state_dict().items()}

    def _seen(self, image: Tensor) -> Tensor:
        return to_absorbance(image) if self.absorbance else image

    def _shown(self, signal: Tensor) -> Tensor:
        return to_transmittance(signal) if self.absorbance else signal


class ContentEncoder(nn.Module):
    """Compute abundance maps, one per stain and as large as the image."""

    def __init__(self, stains: int) -> None:
        super().__init__()
        first = _wrapped(_conv(3, 8, 3), nn.LeakyReLU())
        second = _wrapped(_conv(8, stains, 3), nn.InstanceNorm2d(stains), nn.LeakyReLU())
        self._model = nn.Sequential(first, second, Residual(stains), Residual(stains), nn.LeakyReLU())

    def forward(self, image: Tensor) -> Tensor:
        """Map (B, 3, H, W) to (B, stains, H, W)."""
        maps: Tensor = self._model(image)
        return maps


class AttributeEncoder(nn.Module):
    """Compute one stain matrix for each image."""

    def __init__(self, stains: int) -> None:
        super().__init__()
        self.stains = stains
        self._model = nn.Sequential(
            nn.Conv2d(3, 16, 4, stride=2, padding=1, padding_mode="reflect"),
            *(Halving(16 << place) for place in range(5)),
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(512, 3 * stains, 1),
            nn.LayerNorm((3 * stains, 1, 1)),
            nn.LeakyReLU(),
        )

    def forward(self, image: Tensor) -> Tensor:
        """Map (B, 3, H, W) to (B, 3, stains)."""
        matrix: Tensor = self._model(image)
        return matrix.view(len(image), 3, self.stains)


class Residual(nn.Module):
    """Two convolutions with a skip connection."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        norm = nn.InstanceNorm2d(channels)
        self._model = nn.Sequential(_conv(channels, channels, 3), norm, nn.LeakyReLU(), _conv(channels, channels, 3), norm)

    def forward(self, maps: Tensor) -> Tensor:
        """Return maps of the same shape."""
        out: Tensor = maps + self._model(maps)
        return out


class Halving(nn.Module):
    """Halve the sides and double the channels, without normalisation, so that images of a batch do not interact."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        double = 2 * channels
        self._forward_block = nn.Sequential(
            _conv(channels, channels, 3), nn.LeakyReLU(0.2), _conv(channels, double, 3), nn.AvgPool2d(2)
        )
        self._skip_block = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(channels, double, 1))

    def forward(self, maps: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, 2 C, H // 2, W // 2)."""
        out: Tensor = self._forward_block(maps) + self._skip_block(maps)
        return out


def generate(maps: Tensor, stain: Tensor) -> Tensor:
    """Multiply every pixel's abundances by the matrix of stains.

    Args:
        maps: Abundances, (B, stains, H, W).
        stain: Matrices, (B, 3, stains).

    Returns:
        Absorbances, (B, 3, H, W).
    """
    return torch.einsum("bcn,bnhw->bchw", stain, maps)


def reconstruction_loss(result: Tensor, image: Tensor) -> Tensor:
    """Weigh a fifth of the worst picture's ninth decile and four fifths of the mean error.

    Args:
        result: (B, 3, H, W).
        image: What it should be.

    Returns:
        The loss.
    """
    errors = (result - image).abs()
    worst = torch.quantile(errors.flatten(1).float(), _WORST, dim=1).max()
    return 0.2 * worst + 0.8 * errors.mean()


def similarity_loss(stains: Tensor) -> Tensor:
    """Measure how alike the matrices are that a picture is put under.

    Args:
        stains: (B, matrices, numbers).

    Returns:
        0 if far apart, near 1 if equal.
    """
    apart = (stains[:, :, None] - stains[:, None, :]).square().sum(-1)
    off = ~torch.eye(stains.shape[1], dtype=torch.bool, device=stains.device)
    distance = torch.where(off & (apart > 0), apart, 1.0).sqrt() * (apart > 0)  # the root has no gradient at 0
    return (torch.exp(-distance / _SHARPNESS) * off).mean()


def _conv(narrow: int, wide: int, kernel: int) -> nn.Conv2d:
    return nn.Conv2d(narrow, wide, kernel, padding=kernel // 2, padding_mode="reflect")


def _wrapped(*layers: nn.Module) -> nn.Module:
    """Nest layers one level deeper, as the checkpoints name them."""
    block = nn.Sequential()
    block.add_module("_model", nn.Sequential(*layers))
    return block
