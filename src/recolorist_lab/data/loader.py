"""One loader for every manifest, for images in files and in rows of mapped arrays.

It knows no framework: ``len`` and ``[i]`` are all that a torch ``DataLoader`` asks for. Workers share the maps: each opens a map
when it first reads from it, and none is sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recolorist.core.moments import Moments, measure
from recolorist.errors import ImageError, OptionError, RecoloristError
from recolorist.io.images import Reading, read_picture
from recolorist_lab.data.arrays import open_array
from recolorist_lab.data.manifest import Entry, Manifest
from recolorist_lab.data.packed import Packed, find_packed
from recolorist_lab.data.pixels import Box, Bytes, Resize, digest_of, resize_square, to_rgb8

__all__ = ["READING", "Label", "Sample", "Samples"]

READING: Final = Reading(convert=True)  #: how image files of datasets are read
_READERS: Final = 4  # threads that compare images with the manifest
_TOGETHER: Final = 1024
Label: TypeAlias = "int | NDArray[np.float32]"


class Sample(NamedTuple):
    """One image, ready for use.

    ``label`` is a class index, or, with several labels to an image, one 0 or 1 per class. ``box`` is where the picture lies in
    the image, ``(x0, y0, x1, y1)``: all of it, except after letterboxing.
    """

    image: Bytes
    label: Label
    domain: str
    key: str
    place: int
    box: Box

    @property
    def picture(self) -> Bytes:
        """Return the image without its border."""
        x0, y0, x1, y1 = self.box
        return self.image[y0:y1, x0:x1]

    @property
    def mask(self) -> NDArray[np.bool_] | None:
        """Return a mask that is True on the picture, for colour matching; None where there is no border."""
        if self.picture.shape == self.image.shape:
            return None
        x0, y0, x1, y1 = self.box
        mask = np.zeros(self.image.shape[:2], bool)
        mask[y0:y1, x0:x1] = True
        return mask

    def moments(self) -> Moments:
        """Measure colour statistics of the picture; a black border takes no part in them.

        Returns:
            The moments.
        """
        measured: Moments = measure(self.picture)
        return measured


class Samples:
    """The images of a manifest, or of one split of it."""

    def __init__(
        self,
        manifest: Manifest | str | Path,
        split: str | None = None,
        *,
        root: str | Path | None = None,
        domain: str | None = None,
        size: int | None = 224,
        resize: Resize = "squash",
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """``root`` is the folder of the data; a manifest that is named by its path has its own folder.

        ``arrays`` holds, by path, arrays that are in memory instead of on disk.
        """
        if root is None and arrays is None and isinstance(manifest, Manifest):
            raise OptionError("root is missing; a manifest in memory needs the folder that its paths are relative to")
        self.manifest = manifest if isinstance(manifest, Manifest) else Manifest.read(manifest)
        self.root = Path(root) if root is not None else Path() if arrays is not None else Path(str(manifest)).resolve().parent
        self.split, self.size, self.resize = split, size, resize
        self.rows = self.manifest.rows(split, domain)
        self._arrays = dict(arrays or {})
        self._maps: dict[str, NDArray[Any]] = {}
        self._packed: Packed | None = None
        self._looked_for_pack = arrays is not None
        if not len(self.rows):
            raise OptionError(
                f"{self.manifest.facts.title} has no image in split {split!r}, domain {domain!r}; it has {self.manifest.sizes()}"
            )
        resize_square(np.zeros((1, 1, 3), np.uint8), size, resize)  # refuses a wrong size now, not in a worker

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.rows)

    def __getitem__(self, index: int) -> Sample:
        """Read one image; an error names its file."""
        place = range(len(self.rows))[index]  # refuses what is out of range, and counts negative ones from the end
        entry = self.manifest[int(self.rows[place])]
        try:
            image, box = self._square(entry, int(self.rows[place]))
        except RecoloristError as error:
            raise ImageError(f"{entry.key} of {self.manifest.facts.title}: {error}") from error
        writable = image if image.flags.writeable else image.copy()  # torch takes no array that cannot be written to
        return Sample(writable, self.label(entry), entry.domain, entry.key, place, box)

    def __iter__(self) -> Iterator[Sample]:
        """Yield all images in order."""
        return (self[index] for index in range(len(self)))

    def __getstate__(self) -> dict[str, Any]:
        """Copy without the maps for another process, which opens them again; the system shares the pages."""
        return {**self.__dict__, "_maps": {}, "_packed": None, "_looked_for_pack": bool(self._arrays)}

    @property
    def packed(self) -> Packed | None:
        """The pack that images are read from; None where there is none, so that images are decoded and resized."""
        if not self._looked_for_pack:
            self._packed = find_packed(self.manifest, self.root, self.size, self.resize)
            self._looked_for_pack = True
        return self._packed

    def refuse_changed(self, index: int) -> None:
        """Refuse an image that is not the one that was indexed.

        Args:
            index: The place of the image.

        Raises:
            ImageError: Its file, or its row, holds something else.
        """
        entry = self.manifest[int(self.rows[index])]
        if entry.digest and entry.digest != digest_of(self._row(entry) if entry.row is not None else self.root / entry.path):
            raise ImageError(
                f"{entry.key} of {self.manifest.facts.title} holds other pixels than when it was indexed; put the image back, or "
                "index the data again"
            )

    def refuse_any_changed(self) -> None:
        """Refuse the images if one of them is not the one that was indexed; those of a pack were compared when it was made.

        Raises:
            ImageError: A file, or a row, holds something else.
        """
        if self.packed is not None or self._arrays:
            return
        with ThreadPoolExecutor(_READERS) as pool:  # hashing releases Python's lock
            for start in range(0, len(self), _TOGETHER):
                deque(pool.map(self.refuse_changed, range(start, min(start + _TOGETHER, len(self)))), maxlen=0)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes in index order."""
        return self.manifest.facts.classes

    @cached_property
    def labels(self) -> list[tuple[int, ...]]:
        """Class indices of every image, without reading one."""
        labels = self.manifest.labels()
        return [labels[row] for row in self.rows]

    def label(self, entry: Entry) -> Label:
        """Return the label as a training loop takes it.

        Args:
            entry: The image.

        Returns:
            The class index, or a vector of 0 and 1 with several labels to an image.
        """
        if self.manifest.facts.task != "multilabel":
            return entry.labels[0]
        target = np.zeros(len(self.classes), np.float32)
        target[list(entry.labels)] = 1.0
        return target

    def _square(self, entry: Entry, row: int) -> tuple[Bytes, Box]:
        if self.packed is not None:
            return self.packed.read(row)
        return resize_square(self._cropped(entry), self.size, self.resize)

    def _cropped(self, entry: Entry) -> Bytes:
        pixels = to_rgb8(self._stored(entry))
        if entry.box is None:
            return pixels
        x0, y0, x1, y1 = entry.box
        return np.ascontiguousarray(pixels[y0:y1, x0:x1])

    def _stored(self, entry: Entry) -> NDArray[Any]:
        if entry.row is None:
            return read_picture(self.root / entry.path, READING).pixels
        return self._row(entry)

    def _row(self, entry: Entry) -> NDArray[Any]:
        images = self._arrays.get(entry.path, self._maps.get(entry.path))
        if images is None:
            images = self._maps[entry.path] = open_array(self.root / entry.path)
        if entry.row is None or entry.row >= len(images):
            raise ImageError(f"the array has {len(images):,} rows; index the data again")
        return np.asarray(images[entry.row])
