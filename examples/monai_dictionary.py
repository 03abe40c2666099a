"""A MONAI dictionary pipeline on two loader workers: which styles do the workers draw?

MONAI's own random transforms draw the same in every worker of a plain PyTorch loader, and again in the next epoch. The example
counts distinct results, of MONAI's transform and of ours, on one image that is loaded again and again.
"""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
import torch
from monai.transforms.compose import Compose
from monai.transforms.intensity.dictionary import RandScaleIntensityd
from monai.transforms.utility.dictionary import EnsureChannelFirstd, EnsureTyped
from torch.utils.data import DataLoader

from recolorist import StyleBank
from recolorist.demo import synthetic
from recolorist.monai import RandColoristd

SAMPLES: Final = 16
SIDE: Final = 96


class Repeated(torch.utils.data.Dataset[dict[str, Any]]):
    """One tile and its mask, again and again, through a pipeline."""

    def __init__(self, pipeline: Compose) -> None:
        """Keep the pipeline; workers get a copy of it."""
        self.pipeline = pipeline
        self.image = synthetic.tile(5, "north", SIDE)
        self.mask = (self.image.min(axis=-1) < 200).astype(np.uint8)

    def __len__(self) -> int:
        """Samples of an epoch."""
        return SAMPLES

    def __getitem__(self, index: int) -> dict[str, Any]:
        """The sample, transformed."""
        sample = self.pipeline({"image": self.image, "mask": self.mask[None], "index": index})
        return {"image": sample["image"].as_tensor(), "mask": sample["mask"].as_tensor()}


def distinct(step: Any) -> str:
    """How many different images two epochs of two workers give."""
    load = [EnsureChannelFirstd("image", channel_dim=-1), EnsureTyped(["image", "mask"])]
    loader = DataLoader(Repeated(Compose([*load, step])), batch_size=4, num_workers=2)
    batches = [batch for _ in range(2) for batch in loader]
    images = {image.numpy().tobytes() for batch in batches for image in batch["image"]}
    masks = {mask.numpy().tobytes() for batch in batches for mask in batch["mask"]}
    return f"{len(images):2} different images of {2 * SAMPLES}, {len(masks)} mask, {batches[0]['image'].dtype}"


def main() -> None:
    """Compare."""
    warnings.filterwarnings("ignore", message="This process .* is multi-threaded", category=DeprecationWarning)  # by the loader
    torch.manual_seed(0)
    tiles = [synthetic.tile(seed, scanner, SIDE) for scanner in synthetic.SCANNERS for seed in range(4)]
    bank = StyleBank.build(tiles, split="train", masks="tissue")
    ours = RandColoristd("image", bank, prob=1.0, sampler="gaussian", mask_key="mask").set_random_state(0)
    monai_own = RandScaleIntensityd("image", factors=0.5, prob=1.0, dtype=np.uint8).set_random_state(0)
    print(f"RandScaleIntensityd: {distinct(monai_own)}")
    print(f"RandColoristd:       {distinct(ours)}")


if __name__ == "__main__":
    main()
