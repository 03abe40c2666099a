"""Figures of transfers from what the cells kept: triplets of several modalities, and all methods on the same pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from numpy.typing import NDArray

from recolorist.errors import OptionError
from recolorist_lab.data.registry import CARDS
from recolorist_lab.report import figures

__all__ = ["Example", "examples", "one_per_modality", "qualitative", "subject", "triplets"]

#: What a cell kept: (pairs, 3, H, W, 3), content, style and output.
Shown: TypeAlias = NDArray[Any]
_LEAST: Final = 4  # examples; with few kinds of images several pairs of each are shown
_INCH: Final = 0.95  # of one picture


class Example(NamedTuple):
    """One pair, and the results of the methods."""

    title: str
    content: NDArray[Any]
    style: NDArray[Any]
    outputs: Mapping[str, NDArray[Any]]  #: by method


def subject(dataset: str) -> str:
    """Name a dataset's images for a figure: by their modality where there is a card.

    Args:
        dataset: The dataset as a configuration names it.

    Returns:
        The name.

    Example:
        >>> subject("pathmnist"), subject("synthetic:tiles=6,size=64")
        ('PathMNIST (Colon Pathology)', 'synthetic hospitals')
    """
    card = CARDS.get(dataset)
    if card is not None:
        return f"{card.title} ({card.modality})"
    name = dataset.partition(":")[0].rpartition("/")[2].removesuffix(".parquet")
    return "synthetic hospitals" if name == "synthetic" else name


def one_per_modality(datasets: Sequence[str]) -> list[str]:
    """Choose the first dataset of each modality. A dataset without a card is a modality of its own.

    Args:
        datasets: Names of datasets.

    Returns:
        The chosen ones, in the order given.

    Example:
        >>> one_per_modality(["organamnist", "organcmnist", "bloodmnist"])
        ['organamnist', 'bloodmnist']
    """
    by_modality: dict[str, str] = {}
    for dataset in datasets:
        card = CARDS.get(dataset)
        by_modality.setdefault(dataset if card is None else card.modality, dataset)
    return list(by_modality.values())


def examples(shown: Mapping[str, Mapping[str, Shown]]) -> list[Example]:
    """Choose pairs to show: one of each modality, or more where there are few.

    Args:
        shown: What was kept, by dataset and method.

    Returns:
        The pairs.

    Raises:
        OptionError: No cell kept pictures.
    """
    datasets = one_per_modality(list(shown))
    if not datasets:
        raise OptionError("no cell kept pictures; there is nothing to show")
    per_dataset = -(-_LEAST // len(datasets))
    rows = []
    for dataset in datasets:
        methods = shown[dataset]
        first = next(iter(methods.values()))
        rows += [
            Example(
                subject(dataset),
                first[number, 0],
                first[number, 1],
                {name: triplets_of_method[number, 2] for name, triplets_of_method in methods.items()},
            )
            for number in range(min(per_dataset, *(len(triplets_of_method) for triplets_of_method in methods.values())))
        ]
    return rows


def triplets(rows: Sequence[Example], method: str) -> Any:
    """Draw the paper's first figure: content, style and result, two triplets side by side.

    Args:
        rows: The pairs.
        method: The method.

    Returns:
        The figure.
    """
    across = min(2, len(rows))
    lines = -(-len(rows) // across)
    figure, axes = figures.figure(across * 3 * _INCH * 1.2, lines * _INCH * 1.08 + 0.25, lines, across * 3, squeeze=False)
    with figures.house():
        for axis in axes.flat:
            _bare(axis)
        for number, example in enumerate(rows):
            line, start = axes[number // across], 3 * (number % across)
            for step, picture in enumerate((example.content, example.style, example.outputs[method])):
                line[start + step].imshow(picture, interpolation="nearest")
                if number < across:
                    line[start + step].set_title(
                        ("content", "style", "result")[step], fontsize=8, fontweight="normal", loc="center"
                    )
            line[start].set_ylabel(example.title.replace(" (", "\n("), fontsize=6.5)
    return figure


def qualitative(rows: Sequence[Example], titles: Mapping[str, str]) -> Any:
    """Draw one line per pair: content, style, and the result of every method.

    Args:
        rows: The pairs.
        titles: Methods and what to call them.

    Returns:
        The figure.
    """
    methods = [name for name in titles if all(name in example.outputs for example in rows)]
    columns = 2 + len(methods)
    figure, axes = figures.figure(columns * _INCH + 0.4, len(rows) * _INCH + 0.35, len(rows), columns, squeeze=False)
    with figures.house():
        for line, example in zip(axes, rows, strict=True):
            pictures = (example.content, example.style, *(example.outputs[name] for name in methods))
            for axis, picture in zip(line, pictures, strict=True):
                _bare(axis)
                axis.imshow(picture, interpolation="nearest")
            line[0].set_ylabel(example.title.replace(" (", "\n("), fontsize=6.5)
        for axis, words in zip(axes[0], ("content", "style", *(titles[name] for name in methods)), strict=True):
            axis.set_title(words.replace(", ", ",\n"), fontsize=7.5, fontweight="normal", loc="center")
    return figure


def _bare(axis: Any) -> None:
    """Remove ticks and frames."""
    axis.set_xticks([])
    axis.set_yticks([])
    axis.grid(visible=False)
    for side in axis.spines.values():
        side.set_visible(False)
