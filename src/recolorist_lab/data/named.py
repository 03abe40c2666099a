"""Open datasets by name, as study files give them: synthetic hospitals, a manifest in the data folder, or a path.

A name says what the data are and belongs to a run's identity; the folder says where they lie and does not. The fingerprint,
which is part of the run id as well, shows whether two machines mean the same data by one name.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from recolorist.errors import OptionError
from recolorist_lab.data import synthetic
from recolorist_lab.data.errors import MissingDataError
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.manifest import Manifest
from recolorist_lab.plugins import Registry
from recolorist_lab.runs.config import digest, unknown

__all__ = [
    "ABSENT",
    "DATASETS",
    "FOLDER",
    "NamedDataset",
    "data_of",
    "data_of_images",
    "data_root",
    "fingerprint_of",
    "fingerprint_of_folder",
    "is_folder",
    "manifest_path",
    "open_dataset",
]

FOLDER: Final = "RECOLORIST_DATA"  #: the environment variable that names the folder of the data
ABSENT: Final = "absent"  #: stands for the fingerprint of data that are not here
#: Datasets that plugins add: a function from the folder of the data to a manifest whose paths are relative to it.
DATASETS: Final[Registry[Callable[[Path], Manifest]]] = Registry("datasets", {}, lambda plugin: plugin.load())
_SUFFIX: Final = ".parquet"


@dataclass(frozen=True, eq=False)
class NamedDataset:
    """A dataset that was found: its manifest, and where its images are."""

    name: str
    manifest: Manifest
    fingerprint: str
    root: Path | None = None  #: None: the images are in memory
    tiles: synthetic.Tiles | None = None

    @property
    def title(self) -> str:
        """The title for people."""
        return self.manifest.facts.title

    def samples(self, split: str | None = None, **options: Any) -> Samples:
        """Open the images with the common loader.

        Args:
            split: The split; None for all.
            options: Those of :class:`recolorist_lab.data.loader.Samples`.

        Returns:
            The images.
        """
        if self.tiles is not None:
            return self.tiles.samples(split, **options)
        return Samples(self.manifest, split, root=self.root, **options)


def data_root(root: str | Path | None = None) -> Path:
    """Return the folder of the data.

    Args:
        root: The folder, where it is given. Otherwise RECOLORIST_DATA names it, and without that it is `data`.

    Returns:
        Its path.
    """
    return Path(root or os.environ.get(FOLDER) or "data")


def open_dataset(dataset: str, root: str | Path | None = None) -> NamedDataset:
    """Open a dataset.

    Accepted are ``"synthetic"``, which may have a recipe (``"synthetic:hospitals=4,tiles=20,size=224,seed=1"``); the name of a
    plugin's dataset; the name of a manifest in the data's folder (``"pathmnist"`` for `pathmnist.parquet`, as
    `recolorist-lab data index` writes it); and the path of a manifest, ending in `.parquet`: absolute, relative to the data's
    folder, or relative to the present folder.

    Args:
        dataset: The name, recipe or path.
        root: The data's folder; None for the usual one.

    Returns:
        The dataset.

    Raises:
        MissingDataError: The data are not here.
        OptionError: The text is neither a name nor a path of a manifest.

    Example:
        >>> found = open_dataset("synthetic:hospitals=3,tiles=4,size=16")
        >>> found.title, len(found.samples("train")), found.samples("train", size=32)[0].image.shape
        ('Synthetic hospitals', 4, (32, 32, 3))
    """
    if _is_synthetic(dataset):
        recipe = _recipe(dataset)
        tiles = synthetic.make(recipe)
        return NamedDataset(dataset, tiles.manifest, _of_recipe(recipe), tiles=tiles)
    if dataset in DATASETS:
        folder = data_root(root).resolve()
        manifest = _indexed(dataset, folder)
        return NamedDataset(dataset, manifest, manifest.fingerprint(), folder)
    path = manifest_path(dataset, root)
    if not path.is_file():
        raise MissingDataError(_sentence(dataset, path))
    stamp = path.stat()
    manifest, fingerprint = _read(path, stamp.st_mtime_ns, stamp.st_size)
    return NamedDataset(dataset, manifest, fingerprint, path.resolve().parent)


def fingerprint_of(dataset: str, root: str | Path | None = None) -> str:
    """Return what a cell's data are, for its run id.

    Args:
        dataset: As :func:`open_dataset` takes it.
        root: The data's folder; None for the usual one.

    Returns:
        The fingerprint; :data:`ABSENT` where the data are not here, so that studies can be read without them.

    Example:
        >>> fingerprint_of("synthetic") == fingerprint_of("synthetic:hospitals=5") != fingerprint_of("synthetic:seed=1")
        True
        >>> fingerprint_of("nowhere/to_be_found.parquet")
        'absent'
    """
    if _is_synthetic(dataset):
        return _of_recipe(_recipe(dataset))
    if dataset in DATASETS:
        return open_dataset(dataset, root).fingerprint if data_root(root).is_dir() else ABSENT
    return open_dataset(dataset, root).fingerprint if manifest_path(dataset, root).is_file() else ABSENT


def is_folder(dataset: str) -> bool:
    """Return whether a text names a folder of images rather than a dataset: it is one, and has a slash.

    Args:
        dataset: The text.

    Returns:
        True for a folder.

    Example:
        >>> is_folder("synthetic"), is_folder("./")
        (False, True)
    """
    return dataset.endswith(("/", os.sep)) or (Path(dataset).name != dataset and Path(dataset).is_dir())


def fingerprint_of_folder(folder: Path) -> str:
    """Identify the images below a folder by their paths and sizes.

    Args:
        folder: The folder.

    Returns:
        A sha256 in hexadecimal, or :data:`ABSENT` where there is no such folder.
    """
    from recolorist.io.images import list_images

    if not folder.is_dir():
        return ABSENT
    files = [f"{path.relative_to(folder)}:{path.stat().st_size}" for path in list_images(folder)]
    return hashlib.sha256("\n".join(files).encode("utf-8", "surrogatepass")).hexdigest()


def data_of_images(config: Any) -> str:
    """Return what :func:`data_of` does, for a study whose dataset may be a folder of images.

    Args:
        config: A configuration with the fields ``dataset`` and ``root``.

    Returns:
        The fingerprint of the data.
    """
    return fingerprint_of_folder(Path(config.dataset)) if is_folder(config.dataset) else data_of(config)


def data_of(config: Any) -> str:
    """Return the fingerprint of a study's data; kinds name this function as their data.

    Args:
        config: A configuration with the fields ``dataset`` and ``root``.

    Returns:
        The fingerprint, or :data:`ABSENT` where the data are not here.
    """
    return fingerprint_of(config.dataset, config.root)


def _is_synthetic(dataset: str) -> bool:
    return dataset.partition(":")[0] == synthetic.NAME


def _recipe(dataset: str) -> synthetic.Recipe:
    """Parse the recipe in a name; whole numbers only, and always all classes."""
    _, colon, text = dataset.partition(":")
    accepted = [field.name for field in fields(synthetic.Recipe) if field.name != "classes"]
    values: dict[str, Any] = {}
    for part in text.split(",") if colon else ():
        name, equals, number = (piece.strip() for piece in part.partition("="))
        unknown([name], accepted, f"dataset {dataset!r}")
        if not equals or not number.isdecimal() or name in values:
            raise OptionError(f"dataset {dataset!r}: {part!r} is not understood; write each once, such as size=224")
        values[name] = int(number)
    return synthetic.Recipe(**values)


def _of_recipe(recipe: synthetic.Recipe) -> str:
    return digest([synthetic.NAME, *(list(value) if isinstance(value, tuple) else value for value in _values(recipe))])


def _values(recipe: synthetic.Recipe) -> list[Any]:
    return [getattr(recipe, field.name) for field in fields(recipe)]


def manifest_path(dataset: str, root: str | Path | None = None) -> Path:
    """Return where the manifest of a dataset should be.

    Args:
        dataset: A name, or a path that ends in `.parquet`.
        root: The data's folder; None for the usual one.

    Returns:
        The path, which need not exist.

    Raises:
        OptionError: The text is neither.

    Example:
        >>> manifest_path("pathmnist", "data").as_posix()
        'data/pathmnist.parquet'
    """
    if dataset.endswith(_SUFFIX):
        below = data_root(root) / dataset  # an absolute one replaces the folder
        return Path(dataset) if not below.is_file() and Path(dataset).is_file() else below
    if not dataset or Path(dataset).name != dataset:
        raise OptionError(
            f"dataset {dataset!r} is neither a name nor a manifest; accepted are 'synthetic', a name such as 'pathmnist', "
            f"and a path that ends in {_SUFFIX}"
        )
    return data_root(root) / f"{dataset}{_SUFFIX}"


def _sentence(dataset: str, path: Path) -> str:
    from recolorist_lab.data.registry import find_card

    card = find_card(dataset)
    make = f"recolorist-lab data index {dataset} --root {path.parent}" if card else "recolorist-lab data index --help"
    return (
        f"the dataset {dataset!r} was not found: there is no {path}; set {FOLDER} to the folder with the manifest, "
        f"or make one with: {make}"
    )


@lru_cache(maxsize=32)
def _indexed(dataset: str, folder: Path) -> Manifest:
    """Return the manifest that a plugin makes of a folder; made once in a process."""
    manifest = DATASETS[dataset](folder)
    if not isinstance(manifest, Manifest):
        raise OptionError(f"the dataset {dataset!r} of a plugin gave {type(manifest).__name__}; it must give a Manifest")
    return manifest


@lru_cache(maxsize=32)
def _read(path: Path, _changed: int, _bytes: int) -> tuple[Manifest, str]:
    """Read a manifest and its fingerprint, and keep them while the file does not change: every cell asks for them."""
    manifest = Manifest.read(path)
    return manifest, manifest.fingerprint()
