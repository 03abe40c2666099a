"""Train a classifier on a folder of images with Colorist, in MONAI.

``FOLDER/train`` and ``FOLDER/test`` hold one folder of images for each class; the test images may come from another hospital.
Run it with ``python examples/train_monai.py FOLDER``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from monai.data.dataloader import DataLoader
from monai.data.dataset import Dataset
from monai.data.image_reader import PILReader
from monai.networks.nets.densenet import DenseNet
from monai.transforms.compose import Compose
from monai.transforms.intensity.dictionary import NormalizeIntensityd, ScaleIntensityRanged
from monai.transforms.io.dictionary import LoadImaged
from monai.transforms.spatial.dictionary import RandFlipd, Resized

from recolorist import StyleBank
from recolorist.monai import RandColoristd

EPOCHS, SIDE, WORKERS = 20, 224, 4  # images are resized to SIDE x SIDE pixels


def read_rgb(image: Any) -> Any:
    """Convert a PIL image to RGB: palettes and grey images, too."""
    return image.convert("RGB")


def list_samples(root: Path, classes: list[str]) -> list[dict[str, Any]]:
    """Return the path, the name in the bank and the label of each image."""
    files = [path for path in sorted(root.glob("*/*")) if path.suffix.lower() in {".png", ".jpg", ".jpeg"}]
    named = [(path, path.relative_to(root).as_posix()) for path in files]
    return [{"image": str(path), "name": name, "label": classes.index(path.parent.name)} for path, name in named]


def main(folder: Path) -> None:
    """Train, and print the accuracy on the test images after every epoch."""
    torch.manual_seed(0)

    root = folder / "train"
    classes = sorted(path.name for path in root.iterdir() if path.is_dir())
    bank = StyleBank.from_folder(root, label_from=0, split="train")  # the colours of the training images
    load = LoadImaged("image", reader=PILReader(read_rgb, reverse_indexing=False), ensure_channel_first=True)
    colours = RandColoristd("image", bank, prob=0.3, data_range=255.0, sample_key="name")  # MONAI loads bytes as floats
    resize, scale = Resized("image", (SIDE, SIDE)), ScaleIntensityRanged("image", 0, 255, 0, 1)
    normalise = NormalizeIntensityd("image", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), channel_wise=True)
    train = Dataset(
        list_samples(root, classes),
        Compose([load, colours, RandFlipd("image", prob=0.5, spatial_axis=1), resize, scale, normalise]).set_random_state(0),
    )
    test = Dataset(list_samples(folder / "test", classes), Compose([load, resize, scale, normalise]))
    loader = DataLoader(train, batch_size=32, shuffle=True, num_workers=WORKERS)

    model = DenseNet(2, 3, len(classes), init_features=32, growth_rate=16, block_config=(4, 4, 4))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(EPOCHS):
        model.train()
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(model(batch["image"].as_tensor()), batch["label"])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        model.eval()
        with torch.inference_mode():
            correct = sum(
                int((model(b["image"].as_tensor()).argmax(1) == b["label"]).sum()) for b in DataLoader(test, batch_size=32)
            )
        print(f"epoch {epoch}: {correct} of {len(test)} test images are right")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
