"""Colours on the GPU: three ways to change a whole batch where the model is. Runs on the CPU where there is no other device.

Run it with ``python examples/gpu_batches.py``.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from recolorist import Colorist, StyleBank
from recolorist.demo import synthetic
from recolorist.torch import ColoristDataset, ColorMatch, ParameterCollate

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SIDE, COUNT = 64, 16


class Tiles(Dataset[tuple[torch.Tensor, int]]):
    """Synthetic tissue as uint8 tensors (3, H, W): what a decoder hands over."""

    def __init__(self) -> None:
        """Draw the tiles, from two scanners in turn."""
        scanners = list(synthetic.SCANNERS)[:2]
        self.tiles = [synthetic.tile(i, scanners[i % 2], SIDE) for i in range(COUNT)]

    def __len__(self) -> int:
        """Number of tiles."""
        return COUNT

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        """Tile and scanner."""
        return torch.from_numpy(np.ascontiguousarray(self.tiles[index].transpose(2, 0, 1))), index % 2


def main() -> None:
    """Do it each way, and say what came out."""
    torch.manual_seed(0)
    source = Tiles()
    bank = StyleBank.build(source.tiles, split="train")
    plain = DataLoader(source, batch_size=8)

    # 1. A module in front of the model: the bank is a few numbers an image, and lives on the device.
    with_bank = ColorMatch(bank, p=0.5).to(DEVICE)
    # 2. Without a bank: images take the colours of their neighbours in the batch.
    in_batch = ColorMatch(None, p=0.5, mode="batch_fraction").to(DEVICE)
    for images, _ in plain:
        batch = images.to(DEVICE, non_blocking=True)
        for name, module in (("bank", with_bank), ("in the batch", in_batch)):
            changed = (module(batch) != batch).flatten(1).any(1)
            print(f"{name}: {int(changed.sum())} of {len(batch)} images changed, {batch.dtype} on {DEVICE}")

    # 3. Drawn in the worker, for (seed, epoch, index), applied on the device: the same bytes as if the worker had done it.
    colours = Colorist(bank, p=0.5, seed=0)
    data = ColoristDataset(source, colours, parameters=True)
    data.set_epoch(0)
    for (images, _), parameters in DataLoader(data, batch_size=8, collate_fn=ParameterCollate(), num_workers=2):
        changed = ColorMatch.apply_parameters(images.to(DEVICE), parameters.to(DEVICE))
        print(f"shipped: {int(parameters.applied.sum())} of {len(images)} images changed")
        last = changed
    worker = np.stack([colours(tile, index=i) for i, tile in enumerate(source.tiles)][8:])
    if DEVICE.type == "cpu" and not np.array_equal(last.permute(0, 2, 3, 1).numpy(), worker):
        raise SystemExit("the device and the worker disagree")


if __name__ == "__main__":
    main()
