"""Helpers for the tests of the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recolorist_lab.runs.claims import Claim
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.study import Cell


def granted(claim: Claim | None) -> Claim:
    assert claim is not None
    return claim


ROOT = Path(__file__).parents[3]


# Two values that are accepted for every field of every kind; a kind that is added must add its fields here.
VALUES: dict[str, dict[str, tuple[Any, Any]]] = {
    "classify": {
        "dataset": ("synthetic", "ddi"),
        "seed": (71397589, 0),
        "augmentation": ("none", "colorist"),
        "algorithm": ("plain", "erm"),
        "probability": (None, 0.5),
        "variant": ("upstream", "authors"),
        "minibatches": ("pooled", "by_domain"),
        "model": ("densenet121", "test_resnet"),
        "fit": ("network", "head"),
        "copies": (3, 1),
        "size": (224, 64),
        "resize": ("letterbox", "squash"),
        "epochs": (100, 50),
        "patience": (15, 10),
        "keep": ("best", "last"),
        "batch": (256, 64),
        "accumulate": (1, 2),
        "learning_rate": (1e-3, 1e-4),
        "weight_decay": (0.01, 0.0),
        "warmup_epochs": (0, 5),
        "warmup_rate": (1e-5, 1e-4),
        "floor_rate": (0.0, 1e-6),
        "clip_norm": (1.0, 0.0),
        "precision": ("32-true", "bf16-mixed"),
        "memory_format": ("auto", "contiguous"),
        "compile": (False, True),
        "devices": (1, 2),
        "validation": ("val", "train"),
        "weights": ("", "5f2a" * 16),
        "weights_file": ("", "lite0.safetensors"),
        "validation_share": (0.2, 0.1),
        "source_share": (0.0, 0.1),
        "harmonise": (False, True),
        "root": ("", "elsewhere"),
        "workers": (4, 0),
        "accelerator": ("auto", "cpu"),
        "threads": (0, 1),
        "checkpoint_seconds": (300.0, 0.0),
        "hang_seconds": (1800.0, 0.0),
        "tensorboard": ("", "curves"),
    },
    "properties": {
        "dataset": ("synthetic", "synthetic:size=32"),
        "split": ("train", "test"),
        "seed": (0, 1),
        "pairs": (2, 3),
        "size": (32, 0),
        "resize": ("squash", "letterbox"),
        "space": ("rgb", "lab"),
        "max_gain": (10.0, 2.0),
        "max_clip": (1.0, 0.0),
        "mask": ("none", "tissue"),
        "eps_mode": ("exact", "paper"),
        "root": ("", "data"),
    },
    "runtime": {
        "method": ("colorist", "adain"),
        "device": ("cpu", "cuda"),
        "size": (0, 64),
        "iterations": (5, 6),
        "warmups": (0, 1),
        "seconds": (1.0, 2.0),
        "threads": (0, 1),
        "repeat": (0, 1),
        "seed": (0, 1),
    },
    "transfer": {
        "method": ("colorist", "adain"),
        "dataset": ("synthetic", "synthetic:size=32"),
        "seed": (0, 1),
        "pairs": (2, 3),
        "split": ("train", "test"),
        "size": (64, 32),
        "native": (0, 64),
        "resize": ("squash", "letterbox"),
        "options": ((), ("alpha=0.5",)),
        "weights": ("", "made.safetensors"),
        "fid_backend": ("classic", "torchvision"),
        "metrics": (("ssim",), ("wasserstein",)),
        "batch": (16, 8),
        "root": ("", "data"),
        "features": ("", "features"),
        "device": ("cpu", "cuda"),
        "threads": (0, 1),
    },
    "transfer_train": {
        "method": ("adain", "efdm"),
        "dataset": ("synthetic", "synthetic:size=32"),
        "seed": (0, 1),
        "split": ("train", "test"),
        "iterations": (0, 3),
        "epochs": (0, 2),
        "batch": (1, 2),
        "accumulate": (0, 1),
        "load_size": (64, 48),
        "crop_size": (32, 48),
        "rate": (0.0, 0.5),
        "view": ("", "whole"),
        "encoder": ("auto", "random"),
        "options": ((), ("alpha=0.5",)),
        "start": ("", "adain"),
        "start_file": ("", "adain.safetensors"),
        "root": ("", "data"),
        "device": ("cpu", "cuda"),
        "threads": (0, 1),
        "readers": (1, 2),
        "checkpoint": (200, 1),
        "clip": (-1.0, 0.0),
        "keep": ("", "best"),
        "validation": ("", "val"),
    },
    "transfer_cost": {
        "dataset": ("synthetic", "synthetic:size=32"),
        "split": ("train", "test"),
        "seed": (0, 1),
        "pairs": (2, 3),
        "size": (32, 48),
        "resize": ("squash", "letterbox"),
        "rounds": (3, 4),
        "spaces": (("rgb",), ("lab",)),
        "methods": (("mean_std",), ("histogram",)),
        "root": ("", "data"),
    },
    "spaces": {
        "dataset": ("synthetic", "synthetic:size=32"),
        "space": ("rgb", "lab"),
        "method": ("mean_std", "histogram"),
        "seed": (0, 1),
        "pairs": (2, 3),
        "split": ("train", "test"),
        "size": (64, 32),
        "resize": ("squash", "letterbox"),
        "fid_backend": ("classic", "torchvision"),
        "metrics": (("ssim",), ("wasserstein",)),
        "batch": (16, 8),
        "root": ("", "data"),
        "features": ("", "features"),
        "device": ("cpu", "cuda"),
        "threads": (0, 1),
    },
    "rehearsal": {
        "index": (0, 1),
        "steps": (3, 4),
        "trouble": ("none", "raise"),
        "ballast": (0, 64),
        "pause": (0.0, 0.5),
        "witness": ("", "witnesses"),
        "fuse": ("", "fuses"),
    },
    "transfer_check": {
        "space": ("rgb", "lab"),
        "method": ("mean_std", "histogram"),
        "seed": (0, 1),
        "pairs": (2, 3),
        "size": (32, 48),
    },
}


def cell(kind: str, **changes: Any) -> Cell:
    values = {name: pair[0] for name, pair in VALUES[kind].items()}
    return Cell("grid", kind, KINDS[kind].config(**{**values, **changes}), code="c", data="d")
