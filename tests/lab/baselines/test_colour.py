"""Giving a style the content's colours."""

from __future__ import annotations

import numpy as np
import torch

from recolorist_lab.baselines.colour import coral
from tests.lab.baselines import kit


class TestCoral:
    def test_takes_the_colours_over(self) -> None:
        content, style = kit.tiles(2, 32), kit.tiles(2, (40, 28), seed=1)
        out = coral(style, content)
        assert out.shape == style.shape
        assert torch.allclose(out.mean((2, 3)), content.mean((2, 3)), atol=1e-6)
        assert torch.allclose(out.std((2, 3)), content.std((2, 3)), atol=1e-3)
        assert float((coral(content, content) - content).abs().max()) < 1e-3

    def test_against_the_formula(self) -> None:
        content, style = kit.tiles(1, 24), kit.tiles(1, 24, seed=1)

        def root(matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
            left, values, right = np.linalg.svd(matrix)
            return left @ np.diag(np.sqrt(values)) @ right

        flat = {name: value[0].double().numpy().reshape(3, -1) for name, value in (("c", content), ("s", style))}
        mean = {name: value.mean(1, keepdims=True) for name, value in flat.items()}
        std = {name: value.std(1, ddof=1, keepdims=True) for name, value in flat.items()}
        unit = {name: (flat[name] - mean[name]) / std[name] for name in flat}
        scatter = {name: value @ value.T + np.eye(3) for name, value in unit.items()}
        wanted = root(scatter["c"]) @ np.linalg.inv(root(scatter["s"])) @ unit["s"] * std["c"] + mean["c"]
        assert np.allclose(coral(style, content).numpy().reshape(3, -1), wanted, atol=1e-5)

    def test_flat_and_grey_images_stay_finite(self) -> None:
        flat = torch.full((1, 3, 8, 8), 0.4)
        image = kit.tiles(1, 8)
        grey = image[:, :1].expand(-1, 3, -1, -1)
        for content, style in ((flat, image), (image, flat), (grey, image), (image, grey), (flat, flat)):
            assert bool(coral(style, content).isfinite().all())
        assert torch.allclose(coral(image, flat), flat, atol=1e-6)
