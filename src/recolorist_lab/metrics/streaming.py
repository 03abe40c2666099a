"""Evaluate a stream of pairs: every metric in one pass, batch by batch, without all images in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from numpy.typing import NDArray

from recolorist.core.image import option
from recolorist.errors import OptionError
from recolorist_lab.metrics.cache import FeatureCache
from recolorist_lab.metrics.clock import Clock
from recolorist_lab.metrics.errors import RangeError
from recolorist_lab.metrics.evaluation import (
    ALL,
    FID_BACKENDS,
    LPIPS_NETS,
    METRICS,
    PER_PAIR,
    SSIM_FORMS,
    Evaluation,
    Triple,
    with_parts,
)
from recolorist_lab.metrics.images import finite, levels

if TYPE_CHECKING:
    from recolorist_lab.metrics.distances import FeatureDistances

__all__ = ["evaluate"]

Values = NDArray[np.float64]


def evaluate(
    triples: Iterable[Triple],
    *,
    metrics: Sequence[str] = ALL,
    fid_backend: str = "classic",
    ssim_form: str = "skimage",
    lpips_net: str = "alex",
    batch: int = 16,
    device: str | torch.device = "cpu",
    cache: FeatureCache | None = None,
    style_key: str | None = None,
) -> Evaluation:
    """Compute metrics of contents, styles and outputs as they come, batch by batch.

    A metric that cannot be computed raises; there is no partial result.

    Args:
        triples: Contents, styles and outputs, 8-bit and of one size.
        metrics: Names of metrics; see :data:`recolorist_lab.metrics.ALL`.
        fid_backend: Network behind FID and KID.
        ssim_form: ``"skimage"`` or ``"torchmetrics"``.
        lpips_net: ``"alex"`` or ``"vgg"``.
        batch: Pairs at a time; it does not change the result.
        device: Where networks run.
        cache: Holds features of styles between evaluations; None keeps none.
        style_key: Names the features in the cache; by default they are named after the first style.

    Returns:
        The metrics, with the values of every pair.

    Raises:
        OptionError: An option is unknown.
        RangeError: Images are not accepted, or there are too few.
        MetricError: A value is not finite.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> images = rng.integers(0, 256, (3, 16, 16, 3), np.uint8)
        >>> triples = [Triple(first, second, first) for first, second in zip(images, images[::-1])]
        >>> result = evaluate(triples, metrics=["ssim", "wasserstein"])
        >>> result.n, result.ssim, result.fid is None
        (3, 1.0, True)
    """
    run = _EvaluationRun(_choices(metrics, fid_backend, ssim_form, lpips_net, batch, device), cache, style_key)
    run.load()
    for group in run.clock.groups(triples, batch):
        run.add(group)
    return run.finish()


@dataclass(frozen=True, slots=True)
class _Choices:
    metrics: frozenset[str]
    fid_backend: str
    ssim_form: str
    lpips_net: str
    device: torch.device

    @property
    def featured(self) -> bool:
        return bool(self.metrics & {"fid", "kid"})


@dataclass(frozen=True, slots=True)
class _Group:
    """Triples in the forms that the metrics need."""

    triples: list[Triple]
    content: torch.Tensor  # uint8 (N, 3, H, W)
    output: torch.Tensor

    def unit(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.content.float() / 255, self.output.float() / 255


def _ssim(group: _Group, choices: _Choices) -> torch.Tensor:
    from recolorist_lab.metrics import structure

    if choices.ssim_form == "torchmetrics":
        return structure.ssim(*group.unit(), form="torchmetrics")
    if min(group.content.shape[2:]) < 7:
        return structure.ssim(*group.unit())  # which says what is wrong with it
    return structure.ssim_levels(group.content, group.output)


def _ssim_luminance(group: _Group, _: _Choices) -> torch.Tensor:
    from recolorist_lab.metrics.structure import ssim_luminance

    return ssim_luminance(*group.unit())


def _gradient_similarity(group: _Group, _: _Choices) -> torch.Tensor:
    from recolorist_lab.metrics.structure import gradient_similarity

    return gradient_similarity(*group.unit())


def _lpips(group: _Group, choices: _Choices) -> torch.Tensor:
    from recolorist_lab.metrics.perceptual import lpips

    return lpips(*group.unit(), net=choices.lpips_net)


def _wasserstein(group: _Group, _: _Choices) -> torch.Tensor:
    from recolorist_lab.metrics.colour import wasserstein_levels

    return torch.tensor([wasserstein_levels(triple.output, triple.style) for triple in group.triples], dtype=torch.float64)


_MEASURES: Final[Mapping[str, Callable[[_Group, _Choices], torch.Tensor]]] = {
    "ssim": _ssim,
    "ssim_luminance": _ssim_luminance,
    "gradient_similarity": _gradient_similarity,
    "lpips": _lpips,
    "wasserstein": _wasserstein,
}


class _EvaluationRun:
    """The state of an evaluation."""

    def __init__(self, choices: _Choices, cache: FeatureCache | None, style_key: str | None) -> None:
        self.choices, self.cache, self.style_key = choices, cache, style_key
        self.clock = Clock()
        self.count = 0
        self.size: tuple[int, ...] | None = None
        self.pairs: dict[str, list[Values]] = {}
        self.distances: FeatureDistances | None = None

    def load(self) -> None:
        with self.clock.part("load"):
            if "lpips" in self.choices.metrics:
                from recolorist_lab.metrics import perceptual

                perceptual.load(self.choices.lpips_net, self.choices.device)
            if self.choices.featured:
                from recolorist_lab.metrics.distances import FeatureDistances

                self.distances = FeatureDistances(
                    self.choices.fid_backend, self.choices.device, self.cache, self.style_key, self.clock
                )

    def add(self, triples: list[Triple]) -> None:
        group = self._opened(triples)
        for name in PER_PAIR:
            if name in self.choices.metrics:
                with self.clock.part(name):
                    values = _MEASURES[name](group, self.choices).cpu().numpy()
                self._keep(name, values)
        self._add_plugins(group)
        self._audits(triples)
        if self.distances is not None:
            self.distances.add(group.output, [triple.style for triple in triples])
        self.count += len(triples)

    def _add_plugins(self, group: _Group) -> None:
        for name in sorted(self.choices.metrics - set(ALL)):
            with self.clock.part(name):
                style = self._planes([triple.style for triple in group.triples]).float() / 255
                content, output = group.unit()
                values = torch.as_tensor(METRICS[name](content, style, output)).double().cpu().numpy()
            if values.shape != (len(group.triples),):
                raise OptionError(f"{name} gave values of shape {values.shape}; a metric gives one for each pair")
            self._keep(name, values)

    def finish(self) -> Evaluation:
        if not self.count:
            raise OptionError("no pairs were given; an evaluation needs at least one, and FID and KID more")
        pairs = {name: np.concatenate(values) for name, values in self.pairs.items()}
        means = {name: float(values.mean()) for name, values in pairs.items() if name != "pearson"}
        added = {name: means.pop(name) for name in sorted(self.choices.metrics - set(ALL))}
        scores = means
        defined = pairs["pearson"][np.isfinite(pairs["pearson"])] if "pearson" in pairs else np.empty(0)
        if len(defined):
            scores["pearson"] = float(defined.mean())
        if self.distances is not None:
            scores |= self.distances.finish(self.choices.metrics)
        if "artfid" in self.choices.metrics:
            from recolorist_lab.metrics.frechet import artfid

            scores["artfid"] = artfid(scores["lpips"], scores["fid"])
        return Evaluation(self.count, **scores, added=added, seconds=self.clock.seconds, choices=self._identities(), pairs=pairs)

    def _opened(self, triples: list[Triple]) -> _Group:
        with self.clock.part("open"):
            checked = [self._checked(triple, self.count + number) for number, triple in enumerate(triples)]
            return _Group(
                checked, self._planes([triple.content for triple in checked]), self._planes([triple.output for triple in checked])
            )

    def _planes(self, images: list[NDArray[np.uint8]]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(np.stack(images).transpose(0, 3, 1, 2))).to(self.choices.device)

    def _checked(self, triple: Triple, number: int) -> Triple:
        images = [levels(image, f"{name} of pair {number}") for name, image in zip(Triple._fields, triple[:3], strict=False)]
        self.size = self.size or images[0].shape
        for name, image in zip(Triple._fields, images, strict=False):
            if image.shape != self.size:
                raise RangeError(
                    f"{name} of pair {number} is {image.shape[0]} × {image.shape[1]}, the first content {self.size[0]} × "
                    f"{self.size[1]}; bring all images to the evaluation size first"
                )
        return Triple(images[0], images[1], images[2], triple.audit)

    def _keep(self, name: str, values: Values) -> None:
        self.pairs.setdefault(name, []).append(finite(values, name, self.count))

    def _audits(self, triples: list[Triple]) -> None:
        audits = [audit.audit for audit in triples if audit.audit is not None]
        before = "clipped" in self.pairs
        if len(audits) not in (0, len(triples)) or (self.count and before != bool(audits)):
            raise OptionError(
                f"some of the first {self.count + len(triples)} pairs have an audit and some have none; give all or none"
            )
        if audits:
            self._keep("clipped", np.array([audit.clipped_overall for audit in audits]))
            self.pairs.setdefault("pearson", []).append(np.array([audit.pearson_pooled for audit in audits]))

    def _identities(self) -> dict[str, str]:
        """Return the forms and networks behind the numbers."""
        identities = {"ssim": self.choices.ssim_form} if "ssim" in self.choices.metrics else {}
        if "lpips" in self.choices.metrics:
            from recolorist_lab.metrics import perceptual

            identities["lpips"] = perceptual.identity(self.choices.lpips_net)
        return identities if self.distances is None else {**identities, "fid": self.distances.network}


def _choices(
    metrics: Sequence[str], fid_backend: str, ssim_form: str, lpips_net: str, batch: int, device: str | torch.device
) -> _Choices:
    if isinstance(metrics, str) or not metrics:
        raise OptionError(f"metrics is {metrics!r}; give a list of {', '.join((*ALL, *METRICS))}")
    names = with_parts(option(name, (*ALL, *METRICS), "metrics") for name in metrics)
    if batch < 1:
        raise OptionError(f"batch is {batch}; accepted are numbers from 1")
    option(fid_backend, FID_BACKENDS, "fid_backend")
    option(ssim_form, SSIM_FORMS, "ssim_form")
    option(lpips_net, LPIPS_NETS, "lpips_net")
    return _Choices(names, fid_backend, ssim_form, lpips_net, torch.device(device))
