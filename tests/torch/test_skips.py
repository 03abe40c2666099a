"""Samples that cannot be read are replaced by others, the same ones for any number of workers."""

from __future__ import annotations

import copy
import io
import logging
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra recolorist[torch]")

from PIL import Image, UnidentifiedImageError
from torch.utils.data import DataLoader

from recolorist import Colorist
from recolorist.errors import ImageError, OptionError
from recolorist.torch import ColoristDataset
from recolorist.torch.skips import Skips
from tests.torch.data import Tiles, bank_of, tiles

BAD = {3, 4, 17}


class Damaged(Tiles):
    """Tiles of which some cannot be read."""

    def __init__(self, count: int = 30, bad: set[int] = BAD, error: Exception | None = None) -> None:
        super().__init__(count)
        self.bad, self.error = bad, error

    def __getitem__(self, index: int) -> Any:
        if index in self.bad:
            raise self.error or FileNotFoundError(f"scan_{index}.png")
        return super().__getitem__(index)


class DamagedBatches(Damaged):
    def __getitems__(self, numbers: list[int]) -> list[Any]:
        return [self[number] for number in numbers]


def dataset(source: Tiles, **options: Any) -> ColoristDataset:
    return ColoristDataset(source, Colorist(bank_of(tiles(30)), p=0.6, seed=11), **{"on_error": "skip", **options})


def passes(data: ColoristDataset, **options: Any) -> list[tuple[list[int], bytes]]:
    """Return the numbers and the pixels of two epochs, in order."""
    loader, result = DataLoader(data, **options), []
    for epoch in range(2):
        data.set_epoch(epoch)
        batches = list(loader)
        numbers = [number for _, batch in batches for number in batch.tolist()]
        result.append((numbers, b"".join(images.numpy().tobytes() for images, _ in batches)))
    return result


class TestSkip:
    def test_samples_are_raised_by_default(self) -> None:
        data = dataset(Damaged(), on_error="raise")
        with pytest.raises(FileNotFoundError, match=r"scan_3\.png"):
            data[3]
        with pytest.raises(FileNotFoundError, match=r"scan_3\.png"):
            dataset(DamagedBatches(), on_error="raise").__getitems__([2, 3])

    def test_bits_do_not_depend_on_workers(self) -> None:
        data = dataset(Damaged())
        reference = passes(data, batch_size=4)
        assert data.skipped == 2 * len(BAD)
        for source, options in (
            (Damaged(), {"batch_size": 7, "num_workers": 2, "multiprocessing_context": "fork"}),
            (DamagedBatches(), {"batch_size": 5}),
        ):
            data = dataset(source)
            assert passes(data, **options) == reference
            assert data.skipped == 2 * len(BAD)  # workers count in memory that is shared

    def test_replacements_are_new_in_every_epoch_and_the_others_stay(self) -> None:
        whole = dataset(Tiles(30), on_error="raise")
        (first, _), (second, _) = passes(dataset(Damaged()), batch_size=30)
        assert [number for number in range(30) if first[number] != number] == sorted(BAD)
        assert not BAD & {*first, *second}
        assert [first[number] for number in BAD] != [second[number] for number in BAD]
        data = dataset(Damaged())
        for number in (0, 29):
            assert np.array_equal(data[number][0], whole[number][0])

    def test_a_replacement_has_the_colours_of_its_own_turn(self) -> None:
        data = dataset(Damaged())
        data.set_epoch(2)
        image, number = data[3]
        assert np.array_equal(image, data[number][0])

    def test_counted_epochs_do_not_depend_on_replacements(self) -> None:
        """Without set_epoch a replacement leaves the count of the sample it shows as it is."""
        data, whole = dataset(Damaged()), dataset(Tiles(30), on_error="raise")
        for _ in range(3):
            for number in BAD:
                data[number]
        assert all(np.array_equal(data[number][0], whole[number][0]) for number in range(30) if number not in BAD)

    @pytest.mark.parametrize(
        "error",
        [UnidentifiedImageError("no image"), Image.DecompressionBombError("large"), SyntaxError("broken PNG"), ImageError("NaN")],
        ids=lambda error: type(error).__name__,
    )
    def test_errors_of_files(self, error: Exception) -> None:
        data = dataset(Damaged(error=error))
        assert data[3][1] not in BAD
        assert data.skipped == 1

    @pytest.mark.parametrize("error", [OptionError("p=2"), ZeroDivisionError("a defect"), IndexError("30")])
    def test_other_errors_are_raised(self, error: Exception) -> None:
        with pytest.raises(type(error), match=str(error)):
            dataset(Damaged(error=error))[3]

    def test_a_file_that_pillow_decodes_late(self) -> None:
        files = []
        for image in tiles(4, size=(64, 64)):
            file = io.BytesIO()
            Image.fromarray(image).save(file, "png")
            files.append(file.getvalue())
        files[2] = files[2][: len(files[2]) // 2]

        class Files:
            def __len__(self) -> int:
                return 4

            def __getitem__(self, index: int) -> Any:
                return Image.open(io.BytesIO(files[index]))

        colorist = Colorist(bank_of(tiles(4, size=(64, 64))), p=1.0, seed=1)
        with pytest.raises(ImageError, match="truncated"):
            ColoristDataset(Files(), colorist)[2]
        data = ColoristDataset(Files(), colorist, on_error="skip")
        assert np.asarray(data[2]).shape == (64, 64, 3)
        assert data.skipped == 1

    def test_each_file_is_logged_once(self, caplog: pytest.LogCaptureFixture) -> None:
        data = dataset(Damaged())
        with caplog.at_level(logging.WARNING, "recolorist.torch"):
            for _ in range(3):
                data[3], data[17]
        assert [message for message in caplog.messages if "sample 3 " in message] == [
            "sample 3 cannot be read and is replaced by others: FileNotFoundError: scan_3.png"
        ]
        assert len(caplog.messages) == len(set(caplog.messages)) <= len(BAD)
        assert data.skipped == 6

    @pytest.mark.parametrize("count", [1, 5])
    def test_no_readable_sample_is_an_error(self, count: int) -> None:
        data = dataset(Damaged(count, bad=set(range(count))))
        with pytest.raises(ImageError, match=rf"sample 0 cannot be read.*{count} of {count} samples.*check the paths.*scan_"):
            data[0]
        assert data.skipped == 0

    def test_an_unknown_rule(self) -> None:
        with pytest.raises(OptionError, match=r"on_error='ignore'.*choose from 'raise', 'skip'"):
            dataset(Damaged(), on_error="ignore")

    def test_a_copy_replaces_the_same_and_counts_by_itself(self) -> None:
        data = dataset(Damaged())
        other = copy.deepcopy(data)
        assert other[3][1] == data[3][1]
        other[4]
        assert (data.skipped, other.skipped) == (1, 2)
        assert "on_error='skip'" in repr(other)


def test_few_readable_samples_are_given_up() -> None:
    """A dataset whose disk is gone must not be read to its end for every sample."""
    tried: list[int] = []

    def read(number: int) -> None:
        tried.append(number)
        raise OSError("gone")

    with pytest.raises(ImageError, match="of 100000 samples were tried"):
        Skips(100_000, seed=1).find_readable(5, 0, read)
    assert tried[0] == 5
    assert 90 < len(tried) == len(set(tried)) <= 101
