"""Train a classifier on a folder of images with Colorist, in Lightning.

``FOLDER/train`` and ``FOLDER/test`` hold one folder of images for each class; the test images may come from another hospital.
Run it with ``python examples/train_lightning.py FOLDER``.
"""

# ruff: noqa: D102 - the hooks are Lightning's
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader

from recolorist.lightning import ColoristDataMixin
from recolorist.torch import ToNormalizedTensor

# isort: split
import lightning.pytorch as L  # noqa: N812 - after ours, which lets it import a torchvision built for another torch

EPOCHS, SIDE, WORKERS = 20, 224, 4  # images are resized to SIDE x SIDE pixels
TO_TENSOR = ToNormalizedTensor(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


class Data(ColoristDataMixin, L.LightningDataModule):
    """The images of a folder; the mixin measures the bank on the training split, and takes seed and epochs from Lightning."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.classes = sorted(path.name for path in (folder / "train").iterdir() if path.is_dir())

    def read(self, split: str) -> list[tuple[Any, int]]:
        """Read a split into memory; a large one needs a dataset that reads by index."""
        files = [path for path in sorted((self.folder / split).glob("*/*")) if path.suffix.lower() in {".png", ".jpg", ".jpeg"}]
        return [(Image.open(path).convert("RGB").resize((SIDE, SIDE)), self.classes.index(path.parent.name)) for path in files]

    def train_dataloader(self) -> Any:
        data = self.recolour_training(self.read("train"), bank_options={"label": 1}, p=0.3, transform=TO_TENSOR)
        return DataLoader(data, batch_size=32, shuffle=True, num_workers=WORKERS)

    def val_dataloader(self) -> Any:
        samples: Any = [(TO_TENSOR(image), label) for image, label in self.read("test")]
        return DataLoader(samples, batch_size=32)


class Classifier(L.LightningModule):
    """Any classifier; see examples/train_pytorch.py."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        layers = [nn.Conv2d(3, 32, 5, 2), nn.ReLU(), nn.Conv2d(32, 64, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        self.model = nn.Sequential(*layers, nn.Linear(64, classes))

    def training_step(self, batch: Any, _: int) -> Any:
        return nn.functional.cross_entropy(self.model(batch[0]), batch[1])

    def validation_step(self, batch: Any, _: int) -> None:
        self.log("accuracy", (self.model(batch[0]).argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self) -> Any:
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main(folder: Path) -> None:
    """Train, and print the accuracy on the test images."""
    L.seed_everything(0)
    data = Data(folder)
    trainer = L.Trainer(max_epochs=EPOCHS, logger=False, enable_checkpointing=False)
    trainer.fit(Classifier(len(data.classes)), datamodule=data)
    print(f"accuracy on the test images: {float(trainer.callback_metrics['accuracy']):.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
