"""MedMNIST in a few lines: a bank of its training split, colours by sample and epoch, and a network that learns from them.

Give the path of a MedMNIST file (``pathmnist.npz``), or nothing: then a file of the same shape is made from synthetic tissue.
Run it with ``python examples/medmnist_torchvision.py [file]``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import DataLoader

from recolorist import Colorist, StyleBank
from recolorist import torchvision as recolorist_torchvision
from recolorist.demo import synthetic
from recolorist.torch import ColoristDataset, ToNormalizedTensor

# isort: split
from torchvision.transforms import v2  # after ours, which lets it be imported beside a torch its wheel was not built for

EPOCHS, STEPS = 2, 6  # a real training has more of both


class MedMNIST:
    """One split of a MedMNIST file, as arrays; any dataset with a length and numbered samples will do."""

    def __init__(self, path: Path, split: str) -> None:
        """Load the split."""
        with np.load(path, allow_pickle=False) as arrays:
            self.images, self.labels = arrays[f"{split}_images"], arrays[f"{split}_labels"].ravel().astype(np.int64)

    def __len__(self) -> int:
        """Number of images."""
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[NDArray[np.uint8], int]:
        """Image (H, W, 3) and label."""
        return self.images[index], int(self.labels[index])


def synthetic_file(folder: Path, count: int = 48, side: int = 28) -> Path:
    """A file like MedMNIST's: tissue of two kinds, seen by two scanners."""
    kinds, scanners = list(synthetic.KINDS)[:2], list(synthetic.SCANNERS)[:2]
    images = [synthetic.tile(i, scanners[(i // 2) % 2], side, kinds[i % 2]) for i in range(count)]
    path = folder / "synthetic.npz"
    np.savez(path, train_images=np.stack(images), train_labels=np.arange(count)[:, None] % 2)
    return path


def train(path: Path) -> None:
    """Train a small network for a few steps."""
    bank = StyleBank.from_npz(path, split="train")
    colours = Colorist(bank, p=0.3, seed=0)  # the paper's setting
    source = MedMNIST(path, "train")
    to_tensor = ToNormalizedTensor(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))  # fused with the colours, in one pass
    data = ColoristDataset(source, colours, transform=to_tensor)
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    classes = int(source.labels.max()) + 1
    print(f"{bank}\n{len(data)} images, {classes} classes")

    model = nn.Sequential(nn.Conv2d(3, 16, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, classes))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(EPOCHS):
        data.set_epoch(epoch)  # new colours, the same on any number of workers and after a resume
        total = 0.0
        for _, (images, labels) in zip(range(STEPS), loader, strict=False):
            loss = nn.functional.cross_entropy(model(images), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += float(loss.detach())
        print(f"epoch {epoch}: loss {total / STEPS:.3f}")


def among_other_transforms(path: Path) -> None:
    """The other way: one transform among torchvision's, with torch's random numbers."""
    steps = v2.Compose(
        [
            v2.ToImage(),
            recolorist_torchvision.Colorist(StyleBank.from_npz(path, split="train"), p=0.3),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    image = steps(MedMNIST(path, "train")[0][0])
    print(f"{steps}\ngives {tuple(image.shape)}, {image.dtype}, {float(image.min()):.2f} to {float(image.max()):.2f}")


def main() -> None:
    """Train on the file that was given, or on a synthetic one."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else synthetic_file(Path(folder))
        train(path)
        among_other_transforms(path)


if __name__ == "__main__":
    main()
