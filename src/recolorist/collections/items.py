"""What a collection consists of: a folder, a manifest, a list of paths, a stack of images in one file, or a single image."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from recolorist import optional
from recolorist.bank.names import folder_name
from recolorist.collections.options import SourceOptions
from recolorist.errors import ImageError, OptionError, RecoloristError
from recolorist.io.images import list_folder
from recolorist.io.listing import Ignored
from recolorist.io.npy import npy_header, npy_stack, refuse_bomb
from recolorist.io.reading import display_path, refuse_packed_rows
from recolorist.io.zips import refuse_lost_members

Source = str | Path | Sequence[str | Path]

__all__ = ["Collection", "Item", "Source", "inside", "open_collection"]

_EVERYTHING: Final = SourceOptions()
_MANIFESTS: Final = (".csv", ".tsv", ".parquet")
_MOST_CHANNELS: Final = 4
_COPY: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Item:
    """One image of a collection; ``index`` is its place in a stack, ``done`` what a run before this one wrote of it."""

    key: str
    path: str
    label: str | None = None
    domain: str | None = None
    index: int | None = None
    done: tuple[tuple[str, str, str], ...] = ()  #: (output, its sha256, the source's sha256)

    def __reduce__(self) -> tuple[Any, ...]:
        """The shortest way to another process."""
        return Item, (self.key, self.path, self.label, self.domain, self.index, self.done)


@dataclass(frozen=True, slots=True)
class Collection:
    """The images of a collection in order, and what it is called."""

    items: tuple[Item, ...]
    name: str
    split: str | None = None
    splits: tuple[str, ...] = ()  #: what a manifest's column ``split`` holds
    ignored: Ignored = field(default_factory=Ignored)  #: what a folder holds and is not read

    def __len__(self) -> int:
        """Number of images."""
        return len(self.items)


@contextmanager
def open_collection(source: Source, select: SourceOptions = _EVERYTHING) -> Iterator[Collection]:
    """List the images of a source. Inside the `with` block everything it names can be read.

    Manifests are CSV or Parquet with ``path`` and, as far as there are, ``label``, ``domain``, ``split``; their paths are
    relative to ``select.root``, or to the manifest.

    Args:
        source: A folder, a manifest, a list, a stack or an image.
        select: Which images are meant.

    Yields:
        The images in order.

    Raises:
        ImageError: The source does not exist or holds no image.
        OptionError: A manifest or a split cannot be used.
    """
    root, split = select.root, select.split
    if not isinstance(source, str | Path):
        yield _list_paths([Path(path) for path in source], root, select)
        return
    path = Path(source)
    suffix = path.suffix.lower()
    if path.is_dir() and suffix != ".zarr":
        yield _list_folder(path, select)
    elif not path.exists():
        raise ImageError(f"{display_path(path)} does not exist; give a folder, a manifest, a list or an image file")
    elif suffix in _MANIFESTS:
        yield _read_manifest(path, Path(root) if root else path.parent, split)
    elif suffix == ".txt":
        yield _list_paths(_read_list(path), root or path.parent, select)
    elif suffix == ".npz":
        with _unpack(path, split) as collection:
            yield collection
    elif suffix == ".npy" and _is_stack(path):
        yield Collection(_stack_items(path, None), path.stem, split)
    else:
        yield Collection((Item(path.name, str(path)),), path.stem, split)


def _list_folder(folder: Path, select: SourceOptions) -> Collection:
    listing = list_folder(folder, follow_links=select.follow_links)
    if not listing.names:
        besides = "".join(f"; {sentence}" for sentence in listing.ignored.sentences())
        raise ImageError(f"{display_path(folder)} holds no image file{besides or '; check the path'}")
    start = "" if folder == Path() else os.path.join(folder, "")  # noqa: PTH118 - see `list_folder`
    items = []
    for name in listing.names:
        path = start + (name if os.sep == "/" else name.replace("/", os.sep))
        folders = name.split("/")[:-1]
        items.append(Item(name, path, folder_name(folders, select.label_from), folder_name(folders, select.domain_from)))
    return Collection(tuple(items), folder.resolve().name, select.split, ignored=listing.ignored)


def _list_paths(paths: Sequence[Path], root: str | Path | None, select: SourceOptions) -> Collection:
    if not paths:
        raise ImageError("the list is empty; give at least one image file")
    base = Path(root) if root else Path()
    items = []
    for path in paths:
        full = path if path.is_absolute() else base / path
        relative = inside(full, base)
        label, domain = (folder_name(relative.parts[:-1], level) for level in (select.label_from, select.domain_from))
        items.append(Item(relative.as_posix(), str(full), label, domain))
    _refuse_repeats(items)
    return Collection(tuple(items), base.resolve().name, select.split)


def _read_list(path: Path) -> list[Path]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{display_path(path)} cannot be read as a list of files: {error}. Save it as UTF-8 text") from error
    return [Path(line) for line in lines if line.strip()]


def inside(path: Path, root: Path) -> Path:
    """Return a path relative to a folder that it lies in; others are refused, so that no output leaves its folder either.

    Args:
        path: The path.
        root: The folder.

    Returns:
        The relative path.

    Raises:
        OptionError: It lies elsewhere.

    Example:
        >>> inside(Path("data/a/b.png"), Path("data")).as_posix()
        'a/b.png'
    """
    try:
        relative = path.relative_to(root)
    except ValueError:
        relative = path.resolve().relative_to(root.resolve()) if path.resolve().is_relative_to(root.resolve()) else Path("..")
    if ".." in relative.parts or relative.is_absolute() or not relative.parts:
        raise OptionError(
            f"{display_path(path)} does not lie below {display_path(root)}; name the common folder with root='FOLDER'"
        )
    return relative


def _read_manifest(path: Path, root: Path, split: str | None) -> Collection:
    rows = _parquet_rows(path) if path.suffix.lower() == ".parquet" else _csv_rows(path)
    if not rows or "path" not in rows[0]:
        raise OptionError(f"{display_path(path)} has no column 'path'; a manifest has path and, optionally, label, domain, split")
    splits = tuple(sorted({text for row in rows if (text := _text(row.get("split")))}))
    if split is not None and splits and split not in splits:
        raise OptionError(f"{display_path(path)} has no split {split!r}; it has {', '.join(splits)}")
    selected = [row for row in rows if split is None or not splits or _text(row.get("split")) == split]
    items = tuple(_manifest_item(row, root) for row in selected)
    _refuse_repeats(items)
    return Collection(items, path.stem, split, splits)


def _manifest_item(row: Mapping[str, Any], root: Path) -> Item:
    path = Path(str(row["path"]))
    full = path if path.is_absolute() else root / path
    return Item(inside(full, root).as_posix(), str(full), _text(row.get("label")), _text(row.get("domain")))


def _csv_rows(path: Path) -> list[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            # strict: a quotation mark that is not closed would take the rows after it into its cell
            rows = csv.DictReader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
            _refuse_repeated_columns(rows.fieldnames or ())
            return list(rows)
    except (OSError, ValueError, csv.Error) as error:
        raise OptionError(f"{display_path(path)} cannot be read as a table: {error}") from error


def _refuse_repeated_columns(names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise ValueError(f"it has two columns {repeated[0]!r}; rename or remove one of them")


def _parquet_rows(path: Path) -> list[dict[str, Any]]:
    optional.load("pyarrow", "read Parquet manifests")
    parquet: Any = optional.load("pyarrow.parquet", "read Parquet manifests")
    try:
        refuse_packed_rows(parquet.read_metadata(path), path.stat().st_size)
        columns = [name for name in ("path", "label", "domain", "split") if name in parquet.read_schema(path).names]
        rows: list[dict[str, Any]] = parquet.read_table(path, columns=columns).to_pylist()
    except Exception as error:  # Arrow has its own errors
        raise OptionError(f"{display_path(path)} cannot be read as Parquet: {error}") from error
    return rows


def _text(value: Any) -> str | None:
    return None if value is None or str(value) == "" else str(value)


def _refuse_repeats(items: Sequence[Item]) -> None:
    keys: set[str] = set()
    for item in items:
        if item.key in keys:
            raise OptionError(f"{item.key!r} is listed twice; list every image once")
        keys.add(item.key)


# ---- stacks: many images in one file --------------------------------------------------------------------------------------


def _is_stack(path: Path) -> bool:
    """Four dimensions, or three of which the last cannot be channels."""
    try:
        with path.open("rb") as file:
            shape, _, _ = npy_header(file)
    except (OSError, ValueError) as error:
        raise ImageError(f"{display_path(path)} cannot be read as NPY: {error}") from error
    return len(shape) == 4 or (len(shape) == 3 and shape[-1] > _MOST_CHANNELS)


def _stack_items(path: Path, labels: Any) -> tuple[Item, ...]:
    shape = npy_stack(path).shape
    if 0 in shape:
        raise ImageError(f"{display_path(path)} has shape {shape}, so it has no pixels; save it again")
    count = shape[0]
    if labels is not None and len(labels) != count:
        raise ImageError(f"it has {len(labels)} label(s) for {count} image(s); save one for each")
    return tuple(Item(str(i), str(path), None if labels is None else _label(labels[i]), None, i) for i in range(count))


def _label(value: Any) -> str:
    return "+".join(str(part) for part in np.ravel(value).tolist())


@contextmanager
def _unpack(path: Path, split: str | None) -> Iterator[Collection]:
    """An archive in MedMNIST layout; the images are unpacked once to a file that all processes map."""
    with tempfile.TemporaryDirectory(prefix="recolorist-") as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                refuse_lost_members(archive)
                member, split_read = _images_member(archive, split)
                images = _extract(archive, member, Path(folder) / "images.npy")
                labels_name = member.removesuffix("images.npy") + "labels.npy"
                labels = None
                if labels_name != member and labels_name in archive.namelist():
                    unpacked = _extract(archive, labels_name, Path(folder) / "labels.npy")
                    labels = np.atleast_1d(np.load(unpacked, allow_pickle=False))
            items = _stack_items(images, labels)
        except (OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            if isinstance(error, RecoloristError):
                raise type(error)(f"{display_path(path)}: {error}") from error
            raise ImageError(f"{display_path(path)} cannot be read as an archive of images: {error}") from error
        yield Collection(items, path.stem, split_read)


def _images_member(archive: zipfile.ZipFile, split: str | None) -> tuple[str, str | None]:
    names = archive.namelist()
    if len(names) == 1:
        return names[0], split
    splits = [name.removesuffix("_images.npy") for name in names if name.endswith("_images.npy")]
    if split is None and len(splits) == 1:
        return f"{splits[0]}_images.npy", splits[0]
    if split is None or split not in splits:
        raise OptionError(f"it has the splits {', '.join(splits) or 'none'}, and {split!r} was asked for; pass split='NAME'")
    return f"{split}_images.npy", split


def _extract(archive: zipfile.ZipFile, member: str, target: Path) -> Path:
    info = archive.getinfo(member)
    refuse_bomb(info)
    with archive.open(info) as packed, target.open("wb") as file:
        shutil.copyfileobj(packed, file, _COPY)  # stops at the declared size, and checks the checksum
    return target
