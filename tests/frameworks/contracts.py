"""The five frameworks behind one interface, so that each contract is written once and checked for all of them."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from tests.frameworks import workers

BANK: Final = workers.bank()
LAB_BANK: Final = rc.StyleBank.build(workers.tiles(), space="lab", name="test", split="train")
#: The adapters, by their modules.
FRAMEWORKS: Final = ("torchvision", "albumentations", "monai", "kornia", "huggingface")
#: Option sets that every adapter goes through, where it has these options.
OPTION_SETS: Final[dict[str, dict[str, Any]]] = {
    "defaults": {},
    "strengths": {"strength": (0.2, 0.8), "sampler": "beyond"},
    "own style": {"strength": (0.2, 0.8), "sampler": "own_style"},
    "own style, covariance": {"sampler": "own_style", "method": "covariance"},
    "linear space": {"space": "ycbcr"},
    "other space": {"space": "lab"},
    "covariance": {"method": "covariance", "max_clip": 0.1},
    "foreground": {"mask": "tissue", "apply_to": "mask", "blank": "match"},
    "other foreground": {"mask": "fundus", "max_gain": 3.0},
}
#: Option sets that Kornia refuses: it matches mean and deviation in linear spaces.
NOT_IN_KORNIA: Final = frozenset({"other space", "covariance", "own style, covariance"})
CASES: Final = [
    pytest.param(framework, options, id=f"{framework}-{name}")
    for framework in FRAMEWORKS
    for name, options in OPTION_SETS.items()
    if framework != "kornia" or name not in NOT_IN_KORNIA
]


class Subject:
    """One adapter as its framework's users run it.

    Args:
        name: One of :data:`FRAMEWORKS`.
        **options: Options of the adapter; the probability is 1 unless given.
    """

    def __init__(self, name: str, **options: Any) -> None:
        os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # otherwise the import asks the network for a newer version
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        if name == "huggingface":
            pytest.importorskip("datasets", reason="datasets is an extra")
        self.name = name
        self.module = pytest.importorskip(f"recolorist.{name}", exc_type=ModuleNotFoundError)
        self.pipeline = _BUILD[name](self.module, {"p": 1.0} | options)

    def seed(self, number: int) -> Subject:
        """Seed the draws as the framework documents it; in Hugging Face datasets the epoch has this part."""
        if self.name in ("torchvision", "kornia"):
            importlib.import_module("torch").manual_seed(number)
        elif self.name == "albumentations":
            self.pipeline.set_random_seed(number)
        elif self.name == "monai":
            self.pipeline.set_random_state(number)
        else:
            self.pipeline.set_epoch(number)
        return self

    def give(self, image: NDArray[Any]) -> Any:
        """Return an image (H, W, C) as the framework takes it, over the same memory."""
        if self.name in ("albumentations", "huggingface"):
            return image
        tensor = importlib.import_module("torch").from_numpy(image).movedim(-1, 0)
        return tensor[None] if self.name == "kornia" else tensor

    def call(self, given: Any, index: int = 0) -> Any:
        """Run the pipeline on what :meth:`give` returned."""
        if self.name == "albumentations":
            return self.pipeline(image=given)["image"]
        if self.name == "huggingface":
            return self.pipeline({"image": [given], "index": [index]})["image"][0]
        return self.pipeline(given)

    def run(self, images: NDArray[Any]) -> list[bytes]:
        """Return the bytes of each result, one call for each image."""
        return [np.ascontiguousarray(self.call(self.give(image), i)).tobytes() for i, image in enumerate(images)]


class EveryOptionSet:
    """A dataset of one image, changed anew in every sample by one adapter with each of its option sets.

    A loader over it puts all option sets through the same workers, so that they need not be started for each.

    Args:
        name: One of :data:`FRAMEWORKS`.
    """

    def __init__(self, name: str) -> None:
        self.labels = [label for label in OPTION_SETS if name != "kornia" or label not in NOT_IN_KORNIA]
        self.subjects = [Subject(name, **OPTION_SETS[label]).seed(1) for label in self.labels]
        self.image = images(name, 1)[0]

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple[int, list[str]]:
        """Return the worker and the digest of each result."""
        info = importlib.import_module("torch").utils.data.get_worker_info()
        given = [each.call(each.give(self.image), index) for each in self.subjects]
        digests = [hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest() for result in given]
        return 0 if info is None else info.id, digests

    def load(self, workers: int) -> list[list[tuple[int, list[str]]]]:
        """Return the samples of two epochs; Hugging Face draws by the epoch, which is set."""
        torch = importlib.import_module("torch")
        generator = torch.Generator().manual_seed(5)
        torch.manual_seed(5)  # for a loader without workers
        loader = torch.utils.data.DataLoader(self, batch_size=None, num_workers=workers, generator=generator)
        epochs = []
        for epoch in range(2):
            _ = [each.seed(epoch) for each in self.subjects if each.name == "huggingface"]
            epochs.append(list(loader))
        return epochs


def bank_for(options: dict[str, Any]) -> rc.StyleBank:
    """Return a bank in the space that the options name; a linear space needs no bank of its own."""
    return LAB_BANK if options.get("space") == "lab" else BANK


def images(name: str, count: int = 3) -> NDArray[Any]:
    """Return images (N, H, W, C) in the range that the framework expects: Kornia's are floats."""
    tiles = workers.tiles(count, seed=5)
    return (tiles / np.float32(255)).astype(np.float32) if name == "kornia" else tiles


def _torchvision(module: Any, options: dict[str, Any]) -> Any:
    from torchvision.transforms import v2

    return v2.Compose([module.Colorist(bank_for(options), **options)])


def _albumentations(module: Any, options: dict[str, Any]) -> Any:
    import albumentations as A  # noqa: N812 - named as its users do

    return A.Compose([module.Colorist(bank_for(options), **options)], seed=0)


def _monai(module: Any, options: dict[str, Any]) -> Any:
    from monai.transforms.compose import Compose

    return Compose([module.RandColorist(bank_for(options), prob=options.pop("p"), **options)])


def _kornia(module: Any, options: dict[str, Any]) -> Any:
    return module.RandomColorist(bank_for(options), **options)


def _huggingface(module: Any, options: dict[str, Any]) -> Any:
    return module.ColoristTransform(bank_for(options), seed=1, index_column="index", **options)


_BUILD: Final[dict[str, Callable[[Any, dict[str, Any]], Any]]] = {
    "torchvision": _torchvision,
    "albumentations": _albumentations,
    "monai": _monai,
    "kornia": _kornia,
    "huggingface": _huggingface,
}
