"""What every adapter goes through: two real loader workers for two epochs, on one image, so that only the draw can differ."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

import recolorist as rc

#: Warnings of PyTorch's loader, not ours: it forks a process with threads, which Python deprecates from 3.12 on, and it finds
#: that a machine with few cores gets more workers than it has.
LOADER_WARNINGS: Final = (
    "ignore:This process .* is multi-threaded:DeprecationWarning",
    "ignore:This DataLoader will create:UserWarning",
)
WORKERS: Final = 2
SAMPLES: Final = 12
STYLES: Final = 64

Image = NDArray[np.uint8]


def tiles(count: int = STYLES, seed: int = 0) -> Image:
    """Non-square images, each with a colour and contrast of its own."""
    rng = np.random.default_rng(seed)
    centre, spread = rng.uniform(70, 180, (count, 1, 1, 3)), rng.uniform(10, 40, (count, 1, 1, 3))
    return np.clip(np.rint(rng.normal(centre, spread, (count, 20, 28, 3))), 0, 255).astype(np.uint8)


def bank(count: int = STYLES) -> rc.StyleBank:
    """A bank of many styles, so that two draws are seldom the same by chance."""
    domains = [f"hospital {i % 4}" for i in range(count)]
    return rc.StyleBank.build(tiles(count), labels=[i % 3 for i in range(count)], domains=domains, name="test", split="train")


class Seen(NamedTuple):
    """What became of one sample."""

    worker: int
    image: str  #: digest of its bytes
    kind: str  #: type, dtype and shape
    mask: bytes


class Repeated:
    """The same image and mask again and again, each time through the transform; digests come back, whatever the type was."""

    def __init__(self, transform: Callable[[Image, Image, int], tuple[Any, Any]], count: int = SAMPLES) -> None:
        self.transform, self.count = transform, count
        self.image = tiles(1, seed=9)[0]
        self.mask = (self.image[..., 0] > 100).astype(np.uint8)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Seen:
        image, mask = self.transform(self.image.copy(), self.mask.copy(), index)
        from torch.utils.data import get_worker_info  # this module is collected where there is no torch, too

        info = get_worker_info()
        kind = f"{type(image).__name__} {getattr(image, 'dtype', '')} {tuple(np.shape(image))}"
        digest = hashlib.sha256(np.ascontiguousarray(image).tobytes()).hexdigest()
        return Seen(0 if info is None else info.id, digest, kind, np.ascontiguousarray(mask).tobytes())


def first(samples: list[Seen]) -> Seen:
    """Collate a batch of one."""
    return samples[0]


def two_epochs(dataset: Repeated, loader: Any = None, workers: int = WORKERS, seed: int = 5, **options: Any) -> list[list[Seen]]:
    """All samples of two epochs, in order, from a loader seeded by its own generator."""
    import torch
    from torch.utils.data import DataLoader

    generator = torch.Generator().manual_seed(seed)
    chosen: Any = loader or DataLoader
    made = chosen(dataset, batch_size=1, num_workers=workers, generator=generator, collate_fn=first, **options)
    return [list(made) for _ in range(2)]


def by_worker(epoch: list[Seen]) -> list[list[str]]:
    """The digests in the order in which each worker made them."""
    return [[seen.image for seen in epoch if seen.worker == worker] for worker in range(WORKERS)]


def assert_varied(epochs: list[list[Seen]]) -> None:
    """Workers differ, epochs differ, and hardly a draw comes twice: none is a copy of another's sequence."""
    parts = [part for epoch in epochs for part in by_worker(epoch)]
    assert [len(part) for part in parts] == [len(epochs[0]) // WORKERS] * 4  # both workers did their share
    assert len({tuple(part) for part in parts}) == 4
    for i, one in enumerate(parts):
        for other in parts[i + 1 :]:
            assert sum(a == b for a, b in zip(one, other, strict=True)) <= len(one) // 2


def assert_kept(epochs: list[list[Seen]], dataset: Repeated, kind: str) -> None:
    """Type, dtype and shape as they came, and the mask to the byte."""
    seen = [one for epoch in epochs for one in epoch]
    assert {one.kind for one in seen} == {kind}
    assert {one.mask for one in seen} == {dataset.mask.tobytes()}


def copied_generator(image: Image, mask: Image, index: int) -> tuple[Image, Image]:  # noqa: ARG001 - the common signature
    """What a careless framework does: every worker has a copy of one generator."""
    return image + np.uint8(_COPIED.integers(200)), mask


_COPIED: Final = np.random.default_rng(3)
