"""Train a classifier on a folder of images with Colorist, in plain PyTorch.

``FOLDER/train`` and ``FOLDER/test`` hold one folder of images for each class; the test images may come from another hospital.
Run it with ``python examples/train_pytorch.py FOLDER``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

from recolorist import Colorist, StyleBank
from recolorist.torch import ColoristDataset, ToNormalizedTensor

EPOCHS, SIDE, WORKERS = 20, 224, 4  # images are resized to SIDE x SIDE pixels


class Folder(Dataset[Any]):
    """Images and labels of ``root/CLASS/*``."""

    def __init__(self, root: Path, transform: Callable[[Any], Any] = lambda image: image) -> None:
        self.files = [path for path in sorted(root.glob("*/*")) if path.suffix.lower() in {".png", ".jpg", ".jpeg"}]
        self.classes = sorted({path.parent.name for path in self.files})
        self.transform = transform

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        """Read one image."""
        image = Image.open(self.files[index]).convert("RGB").resize((SIDE, SIDE))
        return self.transform(image), self.classes.index(self.files[index].parent.name)


def main(folder: Path) -> None:
    """Train, and print the accuracy on the test images after every epoch."""
    torch.manual_seed(0)

    to_tensor = ToNormalizedTensor(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
    source = Folder(folder / "train")
    bank = StyleBank.from_dataset(source, label=1, split="train")  # the colours of the training images
    train = ColoristDataset(source, Colorist(bank, p=0.3, seed=0), transform=to_tensor)
    test = Folder(folder / "test", to_tensor)
    loader = DataLoader(train, batch_size=32, shuffle=True, num_workers=WORKERS)

    # any classifier, such as timm.create_model("resnet50", pretrained=True, num_classes=len(source.classes))
    layers = [nn.Conv2d(3, 32, 5, 2), nn.ReLU(), nn.Conv2d(32, 64, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    model = nn.Sequential(*layers, nn.Linear(64, len(source.classes)))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(EPOCHS):
        train.set_epoch(epoch)  # new colours, the same for any number of workers
        model.train()
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        model.eval()
        with torch.inference_mode():
            correct = sum(int((model(images).argmax(1) == labels).sum()) for images, labels in DataLoader(test, batch_size=32))
        print(f"epoch {epoch}: {correct} of {len(test)} test images are right")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
