"""Evaluating a stream of pairs: every metric in one pass, batch by batch, never all images in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from recolorist.core.image import option
from recolorist.errors import OptionError
from recolorist_lab.metrics import inception, perceptual, structure
from recolorist_lab.metrics.cache import FeatureCache, Shelf, digest_of
from recolorist_lab.metrics.colour import wasserstein_levels
from recolorist_lab.metrics.errors import RangeError
from recolorist_lab.metrics.evaluation import ALL, METRICS, PER_PAIR, Evaluation, Triple
from recolorist_lab.metrics.frechet import artfid, fid
from recolorist_lab.metrics.images import finite, levels
from recolorist_lab.metrics.kernel import kid

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
    """Compute metrics of contents, styles and outputs as they come.

    The style side's features come from the cache where they are there, image by image; ``style_key`` names the shelf, and without
    one it is named after the first style. A metric that cannot be computed raises; there is no partial result.

    >>> rng = np.random.default_rng(0)
    >>> images = rng.integers(0, 256, (3, 16, 16, 3), np.uint8)
    >>> found = evaluate([Triple(one, two, one) for one, two in zip(images, images[::-1])], metrics=["ssim", "wasserstein"])
    >>> found.n, found.ssim, found.fid is None
    (3, 1.0, True)
    """
    run = _Run(_choices(metrics, fid_backend, ssim_form, lpips_net, batch, device), cache, style_key)
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


@dataclass(slots=True)
class _Clock:
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def groups(self, triples: Iterable[Triple], size: int) -> Iterator[list[Triple]]:
        """Groups of triples, with the time that the caller's iterator took."""
        source = iter(triples)
        while True:
            with self.part("read"):
                group = list(islice(source, size))
            if not group:
                return
            yield group


@dataclass(frozen=True, slots=True)
class _Group:
    """Triples as the metrics want them."""

    triples: list[Triple]
    content: torch.Tensor  # uint8 (N, 3, H, W)
    output: torch.Tensor

    def unit(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.content.float() / 255, self.output.float() / 255


def _ssim(group: _Group, choices: _Choices) -> torch.Tensor:
    if choices.ssim_form == "torchmetrics":
        return structure.ssim(*group.unit(), form="torchmetrics")
    if min(group.content.shape[2:]) < 7:
        return structure.ssim(*group.unit())  # which says what is wrong with it
    return structure.ssim_levels(group.content, group.output)


def _wasserstein(group: _Group, _: _Choices) -> torch.Tensor:
    return torch.tensor([wasserstein_levels(one.output, one.style) for one in group.triples], dtype=torch.float64)


_MEASURES: Final[Mapping[str, Callable[[_Group, _Choices], torch.Tensor]]] = {
    "ssim": _ssim,
    "ssim_luminance": lambda group, _: structure.ssim_luminance(*group.unit()),
    "gradient_similarity": lambda group, _: structure.gradient_similarity(*group.unit()),
    "lpips": lambda group, choices: perceptual.lpips(*group.unit(), net=choices.lpips_net),
    "wasserstein": _wasserstein,
}


class _Run:
    """What has been seen so far."""

    def __init__(self, choices: _Choices, cache: FeatureCache | None, style_key: str | None) -> None:
        self.choices, self.cache, self.style_key = choices, cache, style_key
        self.clock = _Clock()
        self.count = 0
        self.size: tuple[int, ...] | None = None
        self.pairs: dict[str, list[Values]] = {}
        self.outputs: list[NDArray[np.float32]] = []
        self.styles: list[str] = []
        self.shelf: Shelf | None = None

    def load(self) -> None:
        with self.clock.part("load"):
            if "lpips" in self.choices.metrics:
                perceptual.load(self.choices.lpips_net, self.choices.device)
            if self.choices.featured:
                inception.load(self.choices.fid_backend, self.choices.device)

    def add(self, triples: list[Triple]) -> None:
        group = self._opened(triples)
        for name in PER_PAIR:
            if name in self.choices.metrics:
                with self.clock.part(name):
                    values = _MEASURES[name](group, self.choices).cpu().numpy()
                self._keep(name, values)
        self._add_plugins(group)
        self._audits(triples)
        if self.choices.featured:
            self._features(group)
        self.count += len(triples)

    def _add_plugins(self, group: _Group) -> None:
        for name in sorted(self.choices.metrics - set(ALL)):
            with self.clock.part(name):
                style = self._planes([one.style for one in group.triples]).float() / 255
                content, output = group.unit()
                values = torch.as_tensor(METRICS[name](content, style, output)).double().cpu().numpy()
            if values.shape != (len(group.triples),):
                raise OptionError(f"{name} gave values of shape {values.shape}; a metric gives one for each pair")
            self._keep(name, values)

    def finish(self) -> Evaluation:
        if not self.count:
            raise OptionError("no pairs came; an evaluation needs one at least, and FID and KID more")
        pairs = {name: np.concatenate(values) for name, values in self.pairs.items()}
        means = {name: float(values.mean()) for name, values in pairs.items() if name != "pearson"}
        added = {name: means.pop(name) for name in sorted(self.choices.metrics - set(ALL))}
        found = means
        defined = pairs["pearson"][np.isfinite(pairs["pearson"])] if "pearson" in pairs else np.empty(0)
        if len(defined):
            found["pearson"] = float(defined.mean())
        if self.choices.featured:
            found |= self._distances()
        if "artfid" in self.choices.metrics:
            found["artfid"] = artfid(found["lpips"], found["fid"])
        return Evaluation(self.count, **found, added=added, seconds=self.clock.seconds, choices=self._told(), pairs=pairs)

    def _opened(self, triples: list[Triple]) -> _Group:
        with self.clock.part("open"):
            checked = [self._checked(one, self.count + place) for place, one in enumerate(triples)]
            return _Group(checked, self._planes([one.content for one in checked]), self._planes([one.output for one in checked]))

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
        audits = [one.audit for one in triples if one.audit is not None]
        before = "clipped" in self.pairs
        if len(audits) not in (0, len(triples)) or (self.count and before != bool(audits)):
            raise OptionError(
                f"some of the first {self.count + len(triples)} pairs have an audit and some have none; give all or none"
            )
        if audits:
            self._keep("clipped", np.array([one.clipped_overall for one in audits]))
            self.pairs.setdefault("pearson", []).append(np.array([one.pearson_pooled for one in audits]))

    def _features(self, group: _Group) -> None:
        backend = self.choices.fid_backend
        with self.clock.part("features of outputs"):
            self.outputs.append(inception.extract(group.output, backend))
        with self.clock.part("cache"):
            digests = [digest_of(one.style) for one in group.triples]
            if self.shelf is None:
                self.shelf = self._open_shelf(digests[0])
            new = {digest: one.style for digest, one in zip(digests, group.triples, strict=True) if digest not in self.shelf.rows}
            self.styles += digests
        if new:
            with self.clock.part("features of styles"):
                self.shelf.add(list(new), inception.extract(self._planes(list(new.values())), backend))

    def _open_shelf(self, first: str) -> Shelf:
        network = inception.identity(self.choices.fid_backend)
        if self.cache is None:
            return Shelf(None, network)
        return self.cache.shelf(network, first if self.style_key is None else f"={self.style_key}")

    def _distances(self) -> dict[str, float]:
        assert self.shelf is not None  # noqa: S101 - pairs came, so their styles were looked up
        with self.clock.part("cache"):
            self.shelf.save()
            styles, outputs = self.shelf.stack(self.styles), np.concatenate(self.outputs).astype(np.float64)
        found = {}
        if "fid" in self.choices.metrics:
            with self.clock.part("fid"):
                found["fid"] = fid(styles, outputs)
        if "kid" in self.choices.metrics:
            with self.clock.part("kid"):
                spread = kid(styles, outputs)
            found |= {"kid": spread.mean, "kid_low": spread.low, "kid_high": spread.high}
        return found

    def _told(self) -> dict[str, str]:
        asked = self.choices.metrics
        told = {"ssim": self.choices.ssim_form} if "ssim" in asked else {}
        told |= {"lpips": perceptual.identity(self.choices.lpips_net)} if "lpips" in asked else {}
        return told | ({"fid": inception.identity(self.choices.fid_backend)} if self.choices.featured else {})


def _choices(
    metrics: Sequence[str], fid_backend: str, ssim_form: str, lpips_net: str, batch: int, device: str | torch.device
) -> _Choices:
    if isinstance(metrics, str) or not metrics:
        raise OptionError(f"metrics is {metrics!r}; give a list of {', '.join((*ALL, *METRICS))}")
    asked = {option(one, (*ALL, *METRICS), "metrics") for one in metrics}
    if "artfid" in asked:
        asked |= {"lpips", "fid"}
    if batch < 1:
        raise OptionError(f"batch is {batch}; it must be 1 at least")
    option(fid_backend, tuple(inception.BACKENDS), "fid_backend")
    option(ssim_form, structure.SSIM_FORMS, "ssim_form")
    option(lpips_net, tuple(perceptual.BACKBONES), "lpips_net")
    return _Choices(frozenset(asked), fid_backend, ssim_form, lpips_net, torch.device(device))
