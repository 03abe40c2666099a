"""Train a classifier on a folder of images with Colorist, with Hugging Face datasets.

``FOLDER/train`` and ``FOLDER/test`` hold one folder of images for each class; the test images may come from another hospital.
Run it with ``python examples/train_huggingface.py FOLDER``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from datasets import load_dataset
from torch import nn
from torch.utils.data import DataLoader

from recolorist import StyleBank
from recolorist.huggingface import ColoristTransform
from recolorist.torch import ToNormalizedTensor

EPOCHS, SIDE, WORKERS = 20, 224, 4  # images are resized to SIDE x SIDE pixels
TO_TENSOR = ToNormalizedTensor(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


def prepare(image: Any) -> Any:
    """Turn a PIL image into a tensor."""
    return TO_TENSOR(image.convert("RGB").resize((SIDE, SIDE)))


def collate(rows: list[dict[str, Any]]) -> tuple[Any, Any]:
    """Stack what the model takes."""
    return torch.stack([row["pixel_values"] for row in rows]), torch.tensor([row["label"] for row in rows])


def main(folder: Path) -> None:
    """Train, and print the accuracy on the test images after every epoch."""
    torch.manual_seed(0)

    splits = load_dataset("imagefolder", data_dir=str(folder))
    source = splits["train"].add_column("index", list(range(len(splits["train"]))))
    classes = source.features["label"].names
    bank = StyleBank.from_dataset(source, image="image", label="label", split="train")  # the colours of the training images
    colours = ColoristTransform(bank, p=0.3, seed=0, index_column="index", output="pixel_values", then=prepare)
    train: Any = source.with_transform(colours)
    unchanged = ColoristTransform(bank, p=0.0, seed=0, output="pixel_values", then=prepare)
    test: Any = splits["test"].with_transform(unchanged)
    loader = DataLoader(train, batch_size=32, shuffle=True, num_workers=WORKERS, collate_fn=collate)

    layers = [nn.Conv2d(3, 32, 5, 2), nn.ReLU(), nn.Conv2d(32, 64, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    model = nn.Sequential(*layers, nn.Linear(64, len(classes)))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(EPOCHS):
        colours.set_epoch(epoch)  # new colours, the same for any number of workers
        model.train()
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        model.eval()
        with torch.inference_mode():
            batches = DataLoader(test, batch_size=32, collate_fn=collate)
            correct = sum(int((model(images).argmax(1) == labels).sum()) for images, labels in batches)
        print(f"epoch {epoch}: {correct} of {len(test)} test images are right")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
