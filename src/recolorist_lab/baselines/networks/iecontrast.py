"""IEContrAST: SANet trained also with a discriminator of styles and with contrastive losses within the batch.

Where the paper and its authors' code differ, the defaults follow the code; each of the paper's forms is an option. After training
only SANet's own parts are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, binary_cross_entropy_with_logits, mse_loss, normalize

from recolorist.errors import OptionError
from recolorist_lab.baselines.attention import Looked, weighted
from recolorist_lab.baselines.base import OfficialFile, Optimisation, Step, trained_parameters
from recolorist_lab.baselines.networks.adain import OFFICIAL
from recolorist_lab.baselines.networks.sanet import SANet
from recolorist_lab.baselines.recipe import TrainingRecipe, inverse_time
from recolorist_lab.baselines.statistics import widened

__all__ = ["Discriminator", "IEContrAST", "Layout", "contrast", "head"]

#: What a score map is compared by, how wide the heads are (style, then content), where content is compared.
ADVERSARIAL: Final = ("least_squares", "log")
HEADS: Final = {"code": ((256, 128, 128), (512, 256, 128)), "paper": ((256, 256, 128), (512, 128, 128))}
CONTENT: Final = ("normalised", "conv4_2")
LEAST: Final = 125  # below, the smallest scale's instance normalisation has a single position to look at
BATCH: Final = 12
_CONV4_2: Final = slice(31, 33)  # children of the encoder between relu4_1 and conv4_2


TEMPERATURE: Final = 0.2
_DRIVE: Final = "Google Drive, by the README of https://github.com/HalbertCH/IEContraAST"


class Layout:
    """Which content and which style each result of a batch is made of.

    Of h contents and h styles come 2h results: (c0, s0), (c1, s1), … and then (c1, s0), (c2, s1), … (c0, s of h - 1). So each has
    exactly one partner in style and one in content.

    >>> layout = Layout(3)
    >>> layout.contents.tolist(), layout.styles.tolist()
    ([0, 1, 2, 1, 2, 0], [0, 1, 2, 0, 1, 2])
    """

    def __init__(self, half: int) -> None:
        """Arrange ``half`` contents and as many styles."""
        if half < 2:
            raise OptionError(f"{half} contents and styles in a batch; contrast needs at least 2 of each")
        order = torch.arange(half)
        self.contents = torch.cat([order, order.roll(-1)])
        self.styles = torch.cat([order, order])
        same_content = self.contents[:, None] == self.contents
        same_style = self.styles[:, None] == self.styles
        self.content_pairs = same_content & ~same_style
        self.style_pairs = same_style & ~same_content
        self.strangers = ~(same_content | same_style)


def contrast(embeddings: Tensor, pairs: Tensor, strangers: Tensor, temperature: float = TEMPERATURE) -> Tensor:
    """Compute the contrastive loss of each result's partner against the others; a sum over the results.

    Args:
        embeddings: Of the results.
        pairs: Which are partners.
        strangers: Which are not.
        temperature: Divides the similarities.

    Returns:
        The loss.

    Example:
        >>> layout = Layout(6)
        >>> round(contrast(torch.ones(12, 1), layout.style_pairs, layout.strangers).item(), 3)
        27.631
    """
    return _surprise(embeddings @ embeddings.T / temperature, pairs.to(embeddings.device), strangers.to(embeddings.device))


def _surprise(logits: Tensor, pairs: Tensor, strangers: Tensor) -> Tensor:
    candidates = logits.masked_fill(~(pairs | strangers), -torch.inf)
    return (candidates.logsumexp(dim=1) - logits[pairs]).sum()


def head(widths: tuple[int, int, int]) -> nn.Sequential:
    """Make two linear layers that turn features into an embedding.

    Args:
        widths: Of the input, between the layers, and of the output.

    Returns:
        The layers.
    """
    first, second, third = widths
    return nn.Sequential(nn.Linear(first, second), nn.ReLU(), nn.Linear(second, third))


class Discriminator(nn.Module):
    """Three discriminators of one structure, at full, half and quarter size; each gives a map of scores.

    >>> [tuple(scores.shape) for scores in Discriminator(4)(torch.zeros(1, 3, 128, 128))]
    [(1, 1, 8, 8), (1, 1, 4, 4), (1, 1, 2, 2)]
    """

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.models = nn.ModuleDict({f"disc_{scale}": _critic(width) for scale in range(3)})

    def forward(self, image: Tensor) -> list[Tensor]:
        """Return the three maps, finest first."""
        if min(image.shape[-2:]) < LEAST:
            raise OptionError(f"an image of {tuple(image.shape[-2:])} pixels; the discriminator takes sides from {LEAST}")
        scores = []
        for critic in self.models.values():
            scores.append(critic(image))
            image = avg_pool2d(image, 3, stride=2, padding=1, count_include_pad=False)
        return scores


class IEContrAST(SANet):
    """Artistic style transfer with internal-external learning and contrastive learning."""

    name: ClassVar = "IEContrAST"
    paper: ClassVar = (
        "Chen et al., Artistic Style Transfer with Internal-external Learning and Contrastive Learning, NeurIPS 2021"
    )
    licence: ClassVar = "MIT"
    least_crop: ClassVar = LEAST
    defaults: ClassVar = TrainingRecipe(batch=BATCH)
    generator: ClassVar = ("transform", "decoder", "style_head", "content_head")
    trained: ClassVar = (*generator, "discriminator")
    training_only: ClassVar = ("style_head", "content_head", "discriminator")
    distinct_draws: ClassVar = True  # an image that is there twice would be a stranger to itself
    official: ClassVar = (
        OFFICIAL,
        OfficialFile(
            "transform",
            "transformer_iter_160000.pth",
            what="attention and merging convolution, laid out as SANet's",
            address=_DRIVE,
        ),
        OfficialFile("decoder", "decoder_iter_160000.pth", what="decoder from relu4_1", address=_DRIVE),
    )

    def __init__(
        self,
        *,
        encoder: str = "auto",
        alpha: float = 1.0,
        upsample: str = "size",
        adversarial: str = "least_squares",
        heads: str = "code",
        content_term: str = "normalised",
        temperature: float = TEMPERATURE,
        keep_contrast: bool = False,
        content_weight: float = 1.0,
        style_weight: float = 1.0,
        identity_pixels_weight: float = 50.0,
        identity_features_weight: float = 1.0,
        contrast_content_weight: float = 0.3,
        contrast_style_weight: float = 0.3,
        adversarial_weight: float = 5.0,
    ) -> None:
        """With ``keep_contrast`` the weights of contrastive sums grow as the batch shrinks below 12; as released they do not."""
        super().__init__(encoder=encoder, alpha=alpha, upsample=upsample)
        _accepted("adversarial", adversarial, ADVERSARIAL)
        _accepted("heads", heads, tuple(HEADS))
        _accepted("content_term", content_term, CONTENT)
        self.style_head, self.content_head = (head(widths) for widths in HEADS[heads])
        self.discriminator = Discriminator()
        self.adversarial, self.content_term, self.temperature, self.keep_contrast = (
            adversarial,
            content_term,
            temperature,
            keep_contrast,
        )
        # What each loss counts; the contrastive ones are sums over the results of a batch of 12.
        self.weights = {
            "content": content_weight,
            "style": style_weight,
            "identity_pixels": identity_pixels_weight,
            "identity_features": identity_features_weight,
            "contrast_content": contrast_content_weight,
            "contrast_style": contrast_style_weight,
            "adversarial": adversarial_weight,
        }

    # ---- training -------------------------------------------------------------------------------------------------------

    def draws(self, recipe: TrainingRecipe) -> tuple[int, int]:
        """Draw half a batch of contents and of styles: each is used twice."""
        results = recipe.batch // recipe.accumulate
        if results < 4 or results % 2:
            raise OptionError(
                f"batch={recipe.batch} in accumulate={recipe.accumulate} parts gives {results} results at a time; "
                "accepted are even numbers from 4"
            )
        return results // 2, results // 2

    def configure_optimiser(self, recipe: TrainingRecipe) -> dict[str, Optimisation]:
        """Make Adam for the generator, and Adam with lower momentum for the discriminator."""
        adam, rate = torch.optim.Adam, inverse_time(recipe.rate, recipe.decay)
        main = adam(trained_parameters(self, self.generator), lr=recipe.rate)
        critic = adam(self.discriminator.parameters(), lr=recipe.rate, betas=(0.5, 0.999))
        return {"discriminator": Optimisation(critic, rate, recipe.clip), "main": Optimisation(main, rate, recipe.clip)}

    def training_step(self, content: Tensor, style: Tensor, step: int) -> Iterator[Step]:
        """Train the discriminator to tell results from styles, then the generator against it."""
        del step
        if len(content) != len(style):
            raise OptionError(f"{len(content)} contents were given with {len(style)} styles; give the same number of each")
        layout = Layout(len(content))
        content_views, style_views = self.look(content), self.look(style)
        contents, styles = content_views.at(layout.contents.to(content.device)), style_views.at(layout.styles.to(content.device))
        result = self.result(contents, styles)
        yield self._critic_step(style, result.image.detach())
        # every image is there exactly twice, so the means over the distinct ones are those over the batch, at half the cost
        parts = (
            self.transferred(result, contents, styles)
            | self.identities(content_views, style_views)
            | self._contrasts(result, layout)
        )
        self.discriminator.requires_grad_(requires_grad=False)
        parts["adversarial"] = self._judged(result.image, real=True)
        self.discriminator.requires_grad_(requires_grad=True)
        yield Step(weighted(parts, self._weights(len(layout.contents))), parts)

    def embeddings(self, taps: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Compute embeddings of unit length: style from relu3_1, content from relu4_1, summed over positions."""
        with torch.autocast(taps[0].device.type, enabled=False):
            style, content = (widened(tap).sum((-2, -1)) for tap in taps[2:4])
            style, content = self.style_head(style), self.content_head(content)
            return normalize(style, dim=1), normalize(content, dim=1)

    def transferred(self, result: Looked, content: Looked, style: Looked) -> dict[str, Tensor]:
        """Compute SANet's two losses; with the paper's form, the content loss is taken at conv4_2 without normalisation."""
        parts = super().transferred(result, content, style)
        if self.content_term == "conv4_2":
            parts["content"] = mse_loss(self._conv4_2(result), self._conv4_2(content))
        return parts

    def _conv4_2(self, image: Looked) -> Tensor:
        features = image.taps[3]
        for child in list(self.encoder)[_CONV4_2]:
            features = child(features)
        return features

    def _contrasts(self, result: Looked, layout: Layout) -> dict[str, Tensor]:
        style, content = self.embeddings(result.taps)
        return {
            "contrast_content": contrast(content, layout.content_pairs, layout.strangers, self.temperature),
            "contrast_style": contrast(style, layout.style_pairs, layout.strangers, self.temperature),
        }

    def _critic_step(self, styles: Tensor, results: Tensor) -> Step:
        parts = {"real": self._judged(styles, real=True), "made": self._judged(results, real=False)}
        return Step(parts["real"] + parts["made"], parts, "discriminator")

    def _judged(self, images: Tensor, *, real: bool) -> Tensor:
        """Compute the adversarial loss of the three score maps for real or generated images."""
        compare = mse_loss if self.adversarial == "least_squares" else binary_cross_entropy_with_logits
        scores = self.discriminator(images)
        return torch.stack([compare(score, torch.full_like(score, float(real))) for score in scores]).sum()

    def _weights(self, results: int) -> dict[str, float]:
        scale = BATCH / results if self.keep_contrast else 1.0
        return {name: weight * scale if name.startswith("contrast") else weight for name, weight in self.weights.items()}


def _critic(width: int) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Conv2d(3, width, 4, stride=2, padding=1), nn.LeakyReLU(0.2)]
    for wide in (width, 2 * width, 4 * width):
        layers += [nn.Conv2d(wide, 2 * wide, 4, stride=2, padding=1), nn.InstanceNorm2d(2 * wide), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Conv2d(8 * width, 1, 3, padding=1))


def _accepted(option: str, value: str, accepted: tuple[str, ...]) -> None:
    if value not in accepted:
        raise OptionError(f"{option}={value!r}; accepted are {', '.join(accepted)}")
