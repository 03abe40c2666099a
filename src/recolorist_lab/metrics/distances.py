"""FID and KID between two sets of images, with features collected batch by batch."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from recolorist_lab.metrics import inception
from recolorist_lab.metrics.cache import FeatureCache, Shelf, digest_of
from recolorist_lab.metrics.clock import Clock

__all__ = ["FeatureDistances"]


class FeatureDistances:
    """Features of outputs and styles, and the distances between them.

    Args:
        backend: The network, a key of :data:`recolorist_lab.metrics.inception.BACKENDS`.
        device: Where it runs.
        cache: Holds features of styles; None keeps none.
        style_key: Names the shelf of the cache; None names it after the first style.
        clock: Counts the time of each part.
    """

    def __init__(
        self, backend: str, device: torch.device, cache: FeatureCache | None, style_key: str | None, clock: Clock
    ) -> None:
        inception.load(backend, device)
        self.network = inception.identity(backend)
        self._backend, self._device, self._clock = backend, device, clock
        self._cache, self._style_key = cache, style_key
        self._outputs: list[NDArray[np.float32]] = []
        self._styles: list[str] = []
        self._shelf: Shelf | None = None

    def add(self, outputs: torch.Tensor, styles: Sequence[NDArray[np.uint8]]) -> None:
        """Extract the features of a group; those of known styles come from the cache.

        Args:
            outputs: Results, (N, 3, H, W).
            styles: Style images.
        """
        with self._clock.part("features of outputs"):
            self._outputs.append(inception.extract(outputs, self._backend))
        with self._clock.part("cache"):
            digests = [digest_of(style) for style in styles]
            if self._shelf is None:
                self._shelf = self._open_shelf(digests[0])
            new = {digest: style for digest, style in zip(digests, styles, strict=True) if digest not in self._shelf.rows}
            self._styles += digests
        if new:
            with self._clock.part("features of styles"):
                planes = np.ascontiguousarray(np.stack(list(new.values())).transpose(0, 3, 1, 2))
                self._shelf.add(list(new), inception.extract(torch.from_numpy(planes).to(self._device), self._backend))

    def finish(self, metrics: Collection[str]) -> dict[str, float]:
        """Compute distances.

        Args:
            metrics: Which of them.

        Returns:
            Values by metric.
        """
        assert self._shelf is not None  # noqa: S101 - pairs came, so their styles were looked up
        with self._clock.part("cache"):
            self._shelf.save()
            styles, outputs = self._shelf.stack(self._styles), np.concatenate(self._outputs).astype(np.float64)
        values: dict[str, float] = {}
        if "fid" in metrics:
            from recolorist_lab.metrics.frechet import fid

            with self._clock.part("fid"):
                values["fid"] = fid(styles, outputs)
        if "kid" in metrics:
            from recolorist_lab.metrics.kernel import kid

            with self._clock.part("kid"):
                spread = kid(styles, outputs)
            values |= {"kid": spread.mean, "kid_low": spread.low, "kid_high": spread.high}
        return values

    def _open_shelf(self, first: str) -> Shelf:
        if self._cache is None:
            return Shelf(None, self.network)
        return self._cache.shelf(self.network, first if self._style_key is None else f"={self._style_key}")
