"""Networks with fixed weights, images from integer arithmetic, and the numbers that are stored of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from recolorist_lab.baselines import build
from recolorist_lab.baselines.base import Baseline
from tests.lab.baselines.shrunk import shrunk

FILE: Final = Path(__file__).parent / "golden.json"
TOLERANCE: Final = 1e-7
_VALUES: Final = 48  # of the output


@dataclass(frozen=True)
class Case:
    """A network, its options, and the size of its images."""

    name: str
    method: str
    options: dict[str, Any] = field(default_factory=dict)
    side: int = 32
    contents: int = 2
    is_narrow: bool = False
    is_training: bool = False

    def numbers(self) -> dict[str, Any]:
        """Compute what is stored."""
        model = self._model()
        content, style = images(self.contents, self.side, 1), images(self.contents, self.side, 2)
        model.prepare(content, style)
        model.train(self.is_training)
        with torch.no_grad():
            output = model.transfer(content, style)
        result: dict[str, Any] = {
            "shape": list(output.shape),
            "output": output.flatten()[:: max(1, output.numel() // _VALUES)][:_VALUES].tolist(),
            "mean": float(output.mean()),
            "std": float(output.std()),
        }
        torch.manual_seed(0)
        for step in model.training_step(content, style, 1):
            result[f"loss {step.optimiser}"] = float(step.loss.detach())
            result |= {f"{step.optimiser} {name}": float(part.detach()) for name, part in step.parts.items()}
            step.loss.backward()
        for name in model.trained_parts():
            grads = [value.grad for value in model.parts()[name].parameters() if value.grad is not None]
            result[f"gradient {name}"] = (
                float(torch.stack([grad.square().sum() for grad in grads]).sum().sqrt()) if grads else 0.0
            )
        return result

    def _model(self) -> Baseline:
        build_model: Any = shrunk if self.is_narrow else build
        model: Baseline = build_model(self.method, **({} if self.is_narrow else {"encoder": "random"}), **self.options)
        model = model.double()
        fill(model)
        perceptual = getattr(model, "vgg", None)
        if perceptual is not None:  # StylizingViT's loss network, which is no part of the model
            perceptual(images(1, 32, 3).float())
            fill(perceptual.net.double())
        return model


def fill(model: torch.nn.Module) -> None:
    """Give every parameter values that depend on its place only, of a size that lets signals pass."""
    with torch.no_grad():
        for place, (name, value) in enumerate(model.named_parameters()):
            draws = np.random.Generator(np.random.PCG64(place)).integers(-128, 129, tuple(value.shape)) / 128
            fan = value[0].numel() if value.ndim > 1 else 0
            scale = (6 / fan) ** 0.5 if fan else 0.1
            scale *= 1 / 255 if name == "encoder.2.weight" else 0.3 if name.startswith("glow.") else 1.0
            norm = 1.0 if value.ndim == 1 and "norm" in name and name.endswith("weight") else 0.0
            if name.startswith("encoder.0.") or "pos_embed" in name:  # the preprocessing and the table of places stay
                continue
            if name.endswith(("actnorm.scale", "w_s")):
                norm, scale = (1.0 if name.endswith("scale") else 0.0), 0.1
            value.copy_(torch.from_numpy(norm + scale * draws))
        for name, buffer in model.named_buffers():
            if name.endswith("w_p"):
                buffer.copy_(torch.eye(len(buffer)).roll(1, 0))
            elif name.endswith("s_sign"):
                buffer.copy_(1 - 2 * (torch.arange(len(buffer)) % 2))
            elif name.endswith("initialized"):
                buffer.fill_(1)


def images(count: int, side: int, seed: int) -> Tensor:
    """Images whose values come from whole numbers: waves of a slope of their own in every channel, and a fine pattern."""
    rows, columns = np.mgrid[:side, :side]
    planes = []
    for number in range(3 * count):
        wave = (7 * number + 3 * seed + 5 * rows + (number % 3 + 2) * columns) % (2 * side)
        fine = (rows * rows + (3 + seed) * columns * (number + 1)) % 17
        planes.append((np.minimum(wave, 2 * side - wave) * 16 + fine) / (16 * side + 16))
    return torch.from_numpy(np.stack(planes).reshape(count, 3, side, side))


CASES: Final = (
    Case("adain", "adain"),
    Case("efdm", "efdm"),
    Case("efdm, mean", "efdm", {"transform": "mean"}),
    Case("efdm, std", "efdm", {"transform": "std"}),
    Case("sanet", "sanet", is_narrow=True),
    Case("mast", "mast", {"gate": 1e9}, contents=6, is_narrow=True),
    Case("iecontrast", "iecontrast", side=125, is_narrow=True),
    Case("artflow", "artflow", side=16),
    Case("artflow, wct in training", "artflow", {"operator": "wct"}, side=16, is_training=True),
    Case("wct2", "wct2", side=16),
    Case("styleformer", "styleformer", {"style_size": 32, "features": "vgg_normalised"}),
    Case("styleformer, affine", "styleformer", {"style_size": 32, "features": "vgg_normalised", "apply_mode": "affine"}),
    Case("stytr2", "stytr2"),
    Case("modflows", "modflows", {"kind": "B0", "size": 32, "teacher": "none"}),
    Case("modflows, before the fix", "modflows", {"kind": "B0", "size": 32, "teacher": "none", "inverse_time": "legacy"}),
    Case("contrimix", "contrimix", {"stains": 4}, side=64),
    Case("sgvits", "sgvits", {"width": 96, "depth": 2, "heads": 4, "size": 32}),
    Case("stylizingvit", "stylizingvit", {"backbone": "tiny", "size": 32}),
)
