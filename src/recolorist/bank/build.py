"""Making style banks: from arrays, folders, datasets and MedMNIST files."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from recolorist.bank.style_bank import Progress, StyleBank
from recolorist.core import foreground
from recolorist.core import image as check
from recolorist.core.match import level_counts
from recolorist.core.moments import measure_opened
from recolorist.core.spaces import SPACES
from recolorist.errors import ImageError, OptionError
from recolorist.io.images import list_images, read_image

LabelSource = Literal["folder", "parent"]
_BINS: Final = 256


def build(
    images: Iterable[Any],
    labels: Sequence[Any] | None = None,
    domains: Sequence[Any] | None = None,
    masks: Any = None,
    keys: Sequence[str] | None = None,
    *,
    name: str = "",
    split: str | None = None,
    preprocessing: str = "",
    data_range: float | None = None,
    space: str = "rgb",
    with_histograms: bool = False,
    progress: Progress | None = None,
) -> StyleBank:
    """Measure images one after another; any iterable will do, nothing is kept but the moments.

    ``masks`` is one mask per image, or the name of a rule (``"tissue"``, ``"fundus"``). ``preprocessing`` says in your words
    what was done to the images (``"resize 224 bilinear"``); pipelines that declare something else are warned. ``space`` is needed
    only for matching in spaces that are not linear, which cannot do with the moments of RGB.

    >>> tiles = np.random.default_rng(0).integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)
    >>> len(build(tiles, labels=["a", "b", "a"], name="demo", split="train"))
    3
    """
    rule = foreground.RULES[check.option(masks, foreground.RULES, "masks")] if isinstance(masks, str) else None
    given = iter(masks) if masks is not None and rule is None else None
    rows = _Rows(with_histograms, check.option(space, SPACES, "space"))
    count = len(images) if isinstance(images, Sized) else None
    for image in progress(images, count) if progress else images:
        opened = check.open_image(image, data_range, None, f"image {len(rows.pixels)}")
        mask = rule(opened.colour, opened.data_range) if rule else next(given, None) if given else None
        rows.add(opened, check.open_mask(mask, opened))
    names = [str(i) for i in range(len(rows.pixels))] if keys is None else [str(key) for key in keys]
    return rows.bank(names, labels, domains, name, split, preprocessing)


def from_folder(
    folder: str | Path,
    *,
    label_from: int | None = -1,
    domain_from: int | None = None,
    name: str | None = None,
    split: str | None = None,
    preprocessing: str = "",
    transform: Callable[[NDArray[Any]], Any] | None = None,
    masks: str | None = None,
    space: str = "rgb",
    with_histograms: bool = False,
    progress: Progress | None = None,
) -> StyleBank:
    """Measure every image file below a folder; keys are paths relative to it.

    ``label_from`` and ``domain_from`` say which level of sub-folders names the label and the domain: 0 is the first below
    ``folder``, -1 the one that holds the file. ``transform`` is applied first, for banks of resized images.
    """
    root = Path(folder)
    paths = list_images(root)
    if not paths:
        raise ImageError(f"{folder} holds no PNG, JPEG or TIFF file; check the path, or pass arrays to build()")
    relative = [path.relative_to(root) for path in paths]
    read = (transform(read_image(path)) if transform else read_image(path) for path in paths)
    return build(
        _Counted(read, len(paths)),
        _levels(relative, label_from),
        _levels(relative, domain_from),
        masks,
        [path.as_posix() for path in relative],
        name=root.name if name is None else name,
        split=split,
        preprocessing=preprocessing,
        space=space,
        with_histograms=with_histograms,
        progress=progress,
    )


def from_dataset(
    dataset: Any,
    *,
    image: int | str = 0,
    label: int | str | None = 1,
    domain: int | str | Callable[[Any], Any] | None = None,
    name: str | None = None,
    split: str | None = None,
    preprocessing: str = "",
    data_range: float | None = None,
    masks: Any = None,
    space: str = "rgb",
    progress: Progress | None = None,
) -> StyleBank:
    """Measure a torch-style dataset (``len`` and ``[i]``), MedMNIST's included; the key of sample i is ``str(i)``.

    Samples may be tuples or dictionaries: ``image``, ``label`` and ``domain`` are positions or keys in them. Tensors are taken
    as channel-first. The split is read off the dataset where it says (``dataset.split``), else pass it.
    """
    labels: list[str | None] = []
    domains: list[str | None] = []

    def images() -> Iterator[Any]:
        for i in range(len(dataset)):
            sample = dataset[i]
            labels.append(named(_part(sample, label)))
            domains.append(named(domain(sample) if callable(domain) else _part(sample, domain)))
            yield to_array(_part(sample, image))

    return build(
        _Counted(images(), len(dataset)),
        labels,
        domains,
        masks,
        name=_fact(dataset, "flag", type(dataset).__name__) if name is None else name,
        split=_fact(dataset, "split", None) if split is None else split,
        preprocessing=preprocessing,
        data_range=data_range,
        space=space,
        progress=progress,
    )


def from_npz(
    path: str | Path,
    split: str = "train",
    *,
    name: str | None = None,
    preprocessing: str = "",
    masks: str | None = None,
    space: str = "rgb",
    with_histograms: bool = False,
    progress: Progress | None = None,
) -> StyleBank:
    """Measure one split of a MedMNIST file: ``{split}_images`` and ``{split}_labels``."""
    file = Path(path)
    images, labels = _npz_member(file, f"{split}_images"), _npz_member(file, f"{split}_labels")
    return build(
        images,
        [named(label) for label in labels],
        None,
        masks,
        name=file.stem if name is None else name,
        split=split,
        preprocessing=preprocessing,
        space=space,
        with_histograms=with_histograms,
        progress=progress,
    )


def to_array(image: Any) -> Any:
    """Tensors as channel-last arrays; arrays and PIL images as they are."""
    if hasattr(image, "detach"):  # a torch tensor, without importing torch
        array = image.detach().cpu().numpy()
        return np.moveaxis(array, -3, -1) if array.ndim == 3 else array
    return image


class _Counted:
    """An iterable that knows its length."""

    def __init__(self, items: Iterable[Any], length: int) -> None:
        self._items, self._length = items, length

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return self._length


class _Rows:
    """Moments gathered so far."""

    def __init__(self, with_histograms: bool, space: str) -> None:
        self.space = "rgb" if SPACES[space].is_linear else space
        self.mean: list[NDArray[np.float64]] = []
        self.cov: list[NDArray[np.float64]] = []
        self.pixels: list[int] = []
        self.histograms: list[NDArray[np.uint32]] | None = [] if with_histograms else None
        self.sizes: set[tuple[int, int]] = set()

    def add(self, opened: check.Opened, mask: NDArray[np.bool_] | None) -> None:
        if opened.is_batch:
            raise ImageError("an image of the bank has four dimensions; pass images one by one, or one batch array as `images`")
        unit = measure_opened(opened, mask, self.space).rescaled(1.0)
        if self.mean and len(self.mean[0]) != unit.channels:
            raise ImageError(f"image {len(self.pixels)} has {unit.channels} channel(s), those before it {len(self.mean[0])}")
        self.mean.append(unit.mean)
        self.cov.append(unit.cov)
        self.pixels.append(unit.count)
        self.sizes.add((opened.array.shape[0], opened.array.shape[1]))
        if self.histograms is not None:
            self.histograms.append(histogram_of(opened, mask))

    def bank(self, keys: Sequence[str], labels: Any, domains: Any, name: str, split: str | None, prepared: str) -> StyleBank:
        if not self.pixels:
            raise ImageError("there was no image to measure; a bank needs at least one")
        return StyleBank(
            np.array(self.mean),
            np.array(self.cov),
            np.array(self.pixels),
            keys,
            _names(labels),
            _names(domains),
            name=name,
            split=split,
            preprocessing=prepared,
            space=self.space,
            size=next(iter(self.sizes)) if len(self.sizes) == 1 else None,
            histograms=None if self.histograms is None else np.array(self.histograms),
        )


def histogram_of(opened: check.Opened, mask: NDArray[np.bool_] | None) -> NDArray[np.uint32]:
    """256 bins per channel whatever the dtype; the level of bin k is k / 255 of the range."""
    if opened.kind == "B" and opened.data_range == _BINS - 1:
        return level_counts(opened, mask).astype(np.uint32)
    pixels = opened.colour if mask is None else opened.colour[mask]
    binned = np.rint(pixels.reshape(-1, opened.channels) * ((_BINS - 1) / opened.data_range)).astype(np.int64)
    return np.stack([np.bincount(binned[:, c], minlength=_BINS) for c in range(opened.channels)]).astype(np.uint32)


def _levels(paths: list[Path], level: int | None) -> list[str | None] | None:
    if level is None:
        return None
    folders = [path.parts[:-1] for path in paths]
    return [parts[level] if -len(parts) <= level < len(parts) else None for parts in folders]


def _part(sample: Any, where: int | str | None) -> Any:
    if where is None:
        return None
    try:
        return sample[where]
    except (KeyError, IndexError, TypeError) as error:
        if where == 1:  # the default place of the label, which a dataset need not have
            return None
        raise OptionError(f"the samples have no part {where!r} ({error}); say where image, label and domain are") from error


def named(value: Any) -> str | None:
    """A key, label or domain as text, whether it came as text, number, or array or tensor of numbers.

    >>> named(np.array([3])), named("tumour"), named(None)
    ('3', 'tumour', None)
    """
    if value is None or isinstance(value, str):
        return value
    return "+".join(str(part) for part in np.asarray(value).ravel().tolist())


def _names(values: Any) -> list[str | None] | None:
    names = None if values is None else [named(value) for value in values]
    return None if names is None or all(name is None for name in names) else names


def _fact(dataset: Any, name: str, default: Any) -> Any:
    value = getattr(dataset, name, default)
    return value if isinstance(value, str) else default


def _npz_member(path: Path, member: str) -> NDArray[Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_odd_archive(archive, member, path)
        with np.load(path, allow_pickle=False) as arrays:
            return np.asarray(arrays[member])
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        if isinstance(error, ImageError):
            raise
        raise ImageError(f"{path} cannot be read as a MedMNIST file: {error}") from error


def _refuse_odd_archive(archive: zipfile.ZipFile, member: str, path: Path) -> None:
    """A small file must not unpack to a huge one."""
    names = archive.namelist()
    if f"{member}.npy" not in names:
        raise ImageError(f"{path} has no {member!r}; it holds {', '.join(name.removesuffix('.npy') for name in names)}")
    info = archive.getinfo(f"{member}.npy")
    if info.file_size > 200 * max(info.compress_size, 1):
        raise ImageError(f"{path}: {member!r} would unpack to {info.file_size:,} bytes, over 200 times its size; refused")
