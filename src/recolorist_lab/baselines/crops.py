"""Training images as endless shuffles of crops. Draws depend on (seed, shuffle, draw) only, so no state is saved.

Each shuffle is an endless sequence of permutations of the images. A batch may hold the end of one and the beginning of the next,
so a set smaller than a batch works too. The number of the draw is the only state. A resumed run asks for the same numbers and
gets the same crops, and any number of threads gives the same bits.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from recolorist.augment.streams import stream
from recolorist.errors import ImageError, OptionError
from recolorist.io.images import list_images, read_picture
from recolorist_lab.baselines.recipe import TrainingRecipe
from recolorist_lab.data.loader import READING, Samples
from recolorist_lab.data.named import fingerprint_of_folder, is_folder, open_dataset
from recolorist_lab.data.pixels import Bytes, resize_square, to_rgb8

__all__ = ["Folder", "Images", "Loader", "SampleImages", "images_of", "view"]

_ORDER: Final = 0xBA5E  # purposes of random streams: permutations …
_PLACE: Final = 0xBA5F  # … and places of crops
_AREA: Final = (0.08, 1.0)
_RATIO: Final = (math.log(3 / 4), math.log(4 / 3))
_TRIES: Final = 10
_LONGEST: Final = 1800  # pixels; longer images are halved …
_LONG_SHAPE: Final = 3.5  # … unless they are this much longer than wide


class Images(Protocol):
    """A collection of 8-bit RGB images of any size."""

    @property
    def fingerprint(self) -> str:
        """Text that differs between collections."""

    def __len__(self) -> int:
        """Return the number of images."""

    def __getitem__(self, index: int) -> Bytes:
        """Return one image, (H, W, 3)."""


class Folder:
    """Every image file below a folder, in the order of their paths."""

    def __init__(self, folder: Path) -> None:
        """List the files now; each is opened when it is read."""
        self.paths = list_images(folder)
        if not self.paths:
            raise OptionError(f"{folder} contains no images; give a folder of images, or a manifest (.parquet)")
        self.fingerprint = fingerprint_of_folder(folder)

    def __len__(self) -> int:
        """Return the number of files."""
        return len(self.paths)

    def __getitem__(self, index: int) -> Bytes:
        """Read one image; an error names the file."""
        pixels = read_picture(self.paths[index], READING).pixels
        try:
            return to_rgb8(pixels)
        except ImageError as error:
            raise ImageError(f"{self.paths[index]}: {error}") from error


class SampleImages:
    """The images of one split of a manifest at the size they are stored in, so without letterbox borders."""

    def __init__(self, samples: Samples, known_as: str = "") -> None:
        """``samples`` must have been made with ``size=None``; ``known_as`` is the data's fingerprint if not the manifest's."""
        if samples.size is not None:
            raise OptionError(f"samples of size={samples.size}; crops are made from images as they are stored: size=None")
        self.samples = samples
        text = f"{known_as or samples.manifest.fingerprint()}:{samples.split}:{len(samples)}"
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.samples)

    def __getitem__(self, index: int) -> Bytes:
        """Return the pixels of one sample."""
        return self.samples[index].image


def images_of(data: str | Path, *, split: str | None = "train", root: Path | None = None) -> Images:
    """Open the training images of a folder, of a manifest, or of a dataset by name.

    Args:
        data: A folder, which has a slash in its name; a manifest (.parquet); or a dataset's name.
        split: The split of a manifest or dataset. Of a folder all images are taken: it has no splits.
        root: The folder of the data.

    Returns:
        The images.
    """
    place = Path(data)
    if is_folder(str(data)):
        return Folder(place)
    if place.suffix == ".parquet" and place.exists():
        return SampleImages(Samples(place, split, root=root, size=None))
    dataset = open_dataset(str(data), root)
    return SampleImages(dataset.samples(split, size=None), dataset.fingerprint)


class Loader:
    """Batches by number: ``batch(shuffle, first, count)`` gives the same crops in every process and at any time."""

    def __init__(self, images: Images, recipe: TrainingRecipe, *, seed: int, distinct: int = 0, threads: int = 1) -> None:
        """``distinct`` is the number of draws among which no image may come twice; 0 if it does not matter."""
        if distinct > len(images):
            raise OptionError(f"a batch needs {distinct} different images and the data have {len(images)}; lower the batch")
        self.images, self.recipe, self.seed = images, recipe, seed
        self._lap = len(images) - len(images) % distinct if distinct else len(images)
        self._pool = ThreadPoolExecutor(max(1, threads), "crops")
        self._ahead: dict[tuple[int, int, int], list[Future[Bytes]]] = {}
        self._order = lru_cache(maxsize=8)(self._permutation)

    def close(self) -> None:
        """Stop the reading threads."""
        self._pool.shutdown(cancel_futures=True)

    def ask(self, shuffle: int, first: int, count: int) -> None:
        """Start to read a batch that will be needed soon.

        Args:
            shuffle: The number of the shuffle.
            first: The first draw.
            count: How many draws.
        """
        request = (shuffle, first, count)
        if request not in self._ahead:
            self._ahead[request] = [self._pool.submit(self.crop, shuffle, draw) for draw in range(first, first + count)]

    def batch(self, shuffle: int, first: int, count: int) -> Tensor:
        """Read draws ``first`` to ``first + count - 1`` of a shuffle.

        Args:
            shuffle: The number of the shuffle.
            first: The first draw.
            count: How many draws.

        Returns:
            `(count, 3, side, side)` in [0, 1].
        """
        self.ask(shuffle, first, count)
        crops = [future.result() for future in self._ahead.pop((shuffle, first, count))]
        return tensor_of(crops)

    def index(self, shuffle: int, draw: int) -> int:
        """Return which image a draw takes.

        Args:
            shuffle: The number of the shuffle.
            draw: The number of the draw.

        Returns:
            The place of the image.
        """
        return int(self._order(shuffle, draw // self._lap)[draw % self._lap])

    def crop(self, shuffle: int, draw: int) -> Bytes:
        """Read one draw.

        Args:
            shuffle: The number of the shuffle.
            draw: The number of the draw.

        Returns:
            The crop.
        """
        image = self.images[self.index(shuffle, draw)]
        return view(image, self.recipe, stream(self.seed, draw, shuffle, _PLACE))

    def _permutation(self, shuffle: int, lap: int) -> NDArray[np.int64]:
        return stream(self.seed, lap, shuffle, _ORDER).permutation(len(self.images))


def view(image: Bytes, recipe: TrainingRecipe, random: np.random.Generator) -> Bytes:
    """Make a crop of an image as the recipe says; see :data:`recolorist_lab.baselines.recipe.VIEWS`.

    Args:
        image: An image, 8 bits.
        recipe: Says how.
        random: Draws place and size.

    Returns:
        The crop, 8 bits.
    """
    side = recipe.crop_size
    if recipe.view in ("whole", "padded"):
        return resize_square(image, side, "letterbox" if recipe.view == "padded" else "squash")[0]
    if recipe.view == "centre_crop":
        edge = round(side * 8 / 7) - side
        return np.ascontiguousarray(resize_square(image, side + edge)[0][edge // 2 :, edge // 2 :][:side, :side])
    if recipe.view in ("resized_crop", "distorted_crop"):
        part = _resized_crop(image, side, random)
        if recipe.view == "resized_crop":
            return part
        from recolorist_lab.baselines.networks.sgvits_distortions import distort

        return distort(part, random)
    large = _grown(image, side) if recipe.view == "grown_crop" else resize_square(image, recipe.load_size)[0]
    top, left = (int(random.integers(0, extent - side + 1)) for extent in large.shape[:2])
    part = large[top : top + side, left : left + side]
    if recipe.view == "crop_turned":
        turns, mirror = (int(value) for value in random.integers(0, (4, 2)))
        part = np.rot90(part[:, ::-1] if mirror else part, turns)
    return np.ascontiguousarray(part)


def tensor_of(images: Sequence[NDArray[Any]]) -> Tensor:
    """Convert 8-bit images of one size to floats in [0, 1].

    Args:
        images: The images.

    Returns:
        `(B, 3, H, W)`.

    Example:
        >>> tensor_of([np.full((2, 2, 3), 255, np.uint8)]).shape
        torch.Size([1, 3, 2, 2])
    """
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).float().div(255.0).contiguous()


def _grown(image: Bytes, side: int) -> Bytes:
    """Double an image until a crop fits into it; halve it while its longer side is too long and its shape is not extreme."""
    height, width = image.shape[:2]
    while min(height, width) < side:
        height, width = 2 * height, 2 * width
    while (
        max(height, width) > _LONGEST and max(height, width) < _LONG_SHAPE * min(height, width) and min(height, width) >= 2 * side
    ):
        height, width = height // 2, width // 2
    if (height, width) == image.shape[:2]:
        return image
    return np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR))


def _resized_crop(image: Bytes, side: int, random: np.random.Generator) -> Bytes:
    """Draw a part of random area and shape; after ten tries that do not fit, take the largest allowed one in the middle."""
    height, width = image.shape[:2]
    for _ in range(_TRIES):
        area = height * width * random.uniform(*_AREA)
        ratio = math.exp(random.uniform(*_RATIO))
        wide, high = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < wide <= width and 0 < high <= height:
            left, top = int(random.integers(0, width - wide + 1)), int(random.integers(0, height - high + 1))
            break
    else:
        wide = min(width, round(height * math.exp(_RATIO[1])))
        high = min(height, round(width / math.exp(_RATIO[0])))
        left, top = (width - wide) // 2, (height - high) // 2
    part = Image.fromarray(image[top : top + high, left : left + wide])
    return np.asarray(part.resize((side, side), Image.Resampling.BICUBIC))
