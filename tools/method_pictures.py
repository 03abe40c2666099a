"""Draw the pictures of docs/method.md from tiles that the library draws itself. Run as `python -m tools.method_pictures`."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

import recolorist as rc
from recolorist.core.foreground import RULES
from recolorist.demo.synthetic import tile
from recolorist_lab.report import figures
from tools.montage import Bytes

OUT: Final = Path(__file__).parents[1] / "docs" / "images"
SIDE: Final = 160
QUALITY: Final = 85
POINTS: Final = 2500  # of an image's pixels, drawn at random


def cloud(axis: Any, image: Bytes, title: str, seed: int = 0) -> None:
    """Pixels in red and blue, each in its own colour, with their mean and the square root of their covariance."""
    pixels = image.reshape(-1, 3).astype(float)
    chosen = np.random.default_rng(seed).choice(len(pixels), POINTS, replace=False)
    axis.scatter(pixels[chosen, 0], pixels[chosen, 2], s=3, c=pixels[chosen] / 255, linewidths=0)
    mean, covariance = pixels[:, [0, 2]].mean(axis=0), np.cov(pixels[:, [0, 2]].T)
    around = np.linspace(0, 2 * np.pi, 200)
    values, vectors = np.linalg.eigh(covariance)
    ring = mean[:, None] + 2 * (vectors * np.sqrt(values)) @ np.stack([np.cos(around), np.sin(around)])
    axis.plot(*ring, color=figures.INK, linewidth=1.2)
    axis.plot(*mean, "+", color=figures.INK, markersize=9)
    axis.set(xlim=(0, 255), ylim=(0, 255), aspect="equal", xlabel="red", title=title)


def clouds(content: Bytes, style: Bytes) -> Any:
    """What each map does to the cloud of pixels."""
    shown = {
        "content": content,
        "style": style,
        "RGB: axes stretched": rc.match(content, style),
        "YIQ: other axes": rc.match(content, style, space="yiq"),
        "covariance: all of it": rc.match(content, style, method="covariance"),
    }
    drawn, axes = figures.figure(12, 2.9, 1, len(shown), sharey=True)
    with figures.house():
        for axis, (name, image) in zip(axes, shown.items(), strict=True):
            cloud(axis, image, name)
        axes[0].set_ylabel("blue")
    return drawn


def row(pictures: Mapping[str, Any], columns: int = 5) -> Any:
    """Pictures in rows, each with its title."""
    down = -(-len(pictures) // columns)
    drawn, axes = figures.figure(2.1 * columns, 2.75 * down, down, columns)
    with figures.house():
        for axis, (name, image) in zip(axes.flat, pictures.items(), strict=True):
            axis.imshow(image, cmap="gray", vmin=0, vmax=255 if np.asarray(image).dtype == np.uint8 else 1)
            axis.set_title(name, fontsize=8.5)
            axis.set_axis_off()
    return drawn


def spaces(content: Bytes, style: Bytes) -> Any:
    """The same content in spaces that are one, and in some that are not; under each, how far from YCbCr."""
    first = rc.match(content, style, space="ycbcr")
    shown: dict[str, Any] = {"content": content, "style": style}
    for name, title in {"ycbcr": "YCbCr", "ypbpr": "YPbPr", "yuv": "YUV", "yiq": "YIQ", "rgb": "RGB", "lab": "CIELAB"}.items():
        out = rc.match(content, style, space=name)
        apart = np.abs(out.astype(int) - first).mean()
        shown[f"{title}\n{'the same bytes' if np.array_equal(out, first) else f'{apart:.1f} levels away'}"] = out
    shown["YCbCr"] = shown.pop("YCbCr\nthe same bytes")
    order = ["content", "style", "YCbCr", *(name for name in shown if name not in {"content", "style", "YCbCr"})]
    return row({name: shown[name] for name in order}, columns=4)


def clipping(content: Bytes, style: Bytes) -> Any:
    """Full strength, where it clips, and what `max_clip` makes of it."""
    out = rc.match(content, style)
    lost = rc.match(content.astype(np.float64) / 255, rc.measure(style), clip=False)
    marked = np.repeat(out.mean(axis=-1, keepdims=True).astype(np.uint8) // 2 + 110, 3, axis=-1)
    marked[(lost > 1).any(axis=-1)] = (213, 94, 0)
    marked[(lost < 0).any(axis=-1)] = (0, 114, 178)
    bank = rc.StyleBank.build([style], split="train")
    colorist = rc.Colorist(bank, p=1.0, max_clip=0.005, seed=0)
    held = colorist.params(content, key="content")
    plans = rc.plan(rc.measure(content), rc.measure(style)), held.plan
    share, less = (rc.audit(content, plan).clipped_overall for plan in plans)
    return row(
        {
            "content": content,
            "style": style,
            f"output\n{share:.1%} of the values clipped": out,
            "past white (orange),\nbelow black (blue)": marked,
            f"with max_clip=0.005\n{less:.1%} clipped": colorist.apply(content, held),
        }
    )


def glass() -> Any:
    """A tile that is mostly background, with and without a mask."""
    content = np.full((SIDE, SIDE, 3), (243, 242, 244), np.uint8)
    content[SIDE // 2 :, SIDE // 3 :] = tile(2, "north", SIDE)[SIDE // 2 :, SIDE // 3 :]
    style = tile(11, "harbour", SIDE)
    mask = RULES["tissue"](content, 255.0)
    return row(
        {
            "content, mostly glass": content,
            "style": style,
            "whole image measured": rc.match(content, style),
            "rule “tissue”": np.asarray(mask, float),
            "tissue measured and changed": rc.match(content, style, mask=mask, apply_to="mask"),
        }
    )


def main() -> None:
    """Write every picture."""
    content, style = tile(7, "mill", SIDE), tile(21, "valley", SIDE)
    pictures = {"clouds": clouds(content, style), "spaces": spaces(content, style), "glass": glass()}
    pictures["clipping"] = clipping(tile(5, "valley", SIDE), tile(9, "harbour", SIDE))
    for name, drawn in pictures.items():
        path = OUT / f"method_{name}.jpg"
        Image.open(io.BytesIO(figures.render(drawn, "png"))).convert("RGB").save(path, quality=QUALITY, optimize=True)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
