"""NumPy files: sizes are checked before anything is read, and nothing is ever unpickled."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recolorist.collections.items import open_collection
from recolorist.collections.options import SourceOptions
from recolorist.errors import ImageError
from recolorist.io.images import HugeError, Reading, open_strips, read_image, read_picture
from recolorist.io.npy import NpyStrips, encode_npy, npy_header, npy_stack, write_npy
from recolorist.io.strips import ArrayStrips
from tests.commands import picture
from tests.io.kit import sixteen


def header(shape: tuple[int, ...], dtype: str = "|u1", *, fortran: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_2_0(buffer, {"descr": dtype, "fortran_order": fortran, "shape": shape})
    return buffer.getvalue()


class TestWhole:
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32, np.float64])
    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("depth", [None, 1, 3, 4])
    def test_any_accepted_array(self, tmp_path: Path, dtype: Any, order: Any, depth: int | None) -> None:
        pixels = np.asarray(sixteen(depth=depth or 1) / 300).astype(dtype)
        pixels = np.asarray(pixels[..., 0] if depth is None else pixels, order=order)
        np.save(tmp_path / "a.npy", pixels)
        read = read_image(tmp_path / "a.npy")
        assert read.dtype == dtype
        assert np.array_equal(read, pixels)

    def test_big_endian(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", sixteen().astype(">u2"))
        assert np.array_equal(read_image(tmp_path / "a.npy"), sixteen())

    def test_the_bits_in_use_count_in_either_byte_order(self, tmp_path: Path) -> None:
        """They were ignored in files with the high byte first, whose 12 bits were taken for 16."""
        np.save(tmp_path / "a.npy", (sixteen() >> 4).astype(">u2"))
        assert read_picture(tmp_path / "a.npy", Reading(bits=12)).data_range == 4095.0
        with open_strips(tmp_path / "a.npy", Reading(bits=12)) as strips:
            assert strips.data_range == 4095.0

    def test_encoded_bytes_are_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.npy").write_bytes(encode_npy(picture()))
        assert np.array_equal(np.load(tmp_path / "a.npy"), picture())

    def test_the_declared_range(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", picture() / 255)
        assert read_picture(tmp_path / "a.npy", Reading(data_range=1.0)).data_range == 1.0
        assert read_picture(tmp_path / "a.npy").data_range is None

    def test_objects_are_never_unpacked(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.array([[{}]], dtype=object), allow_pickle=True)
        with pytest.raises(ImageError, match="Python objects"):
            read_image(tmp_path / "a.npy")

    @pytest.mark.parametrize(("array", "words"), [
        (np.zeros(5, np.uint8), r"its shape is \(5,\)"),
        (np.zeros((2, 3, 4, 3), np.uint8), "an image is"),
        (np.zeros((3, 4), np.int16), "int16"),
        (np.zeros((3, 4), np.uint32), "uint32"),
        (np.zeros((3, 4), bool), "bool"),
        (np.zeros((3, 4), complex), "complex128"),
    ])  # fmt: skip
    def test_refused(self, tmp_path: Path, array: Any, words: str) -> None:
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(ImageError, match=words):
            read_image(tmp_path / "a.npy")

    def test_more_pixels_declared_than_held(self, tmp_path: Path) -> None:
        (tmp_path / "a.npy").write_bytes(header((100, 100)) + b"\0" * 99)
        with pytest.raises(ImageError, match="declares 10,000 bytes of pixels and holds 99; it is cut off"):
            read_image(tmp_path / "a.npy")

    def test_a_huge_header(self, tmp_path: Path) -> None:
        (tmp_path / "a.npy").write_bytes(header((10**9, 10**9)))
        with pytest.raises(HugeError, match="over the limit"):
            read_image(tmp_path / "a.npy")


class TestArchives:
    def test_one_array(self, tmp_path: Path) -> None:
        np.savez_compressed(tmp_path / "a.npz", picture())
        assert np.array_equal(read_image(tmp_path / "a.npz"), picture())

    def test_several_arrays(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", picture(), picture())
        with pytest.raises(ImageError, match="it holds 2 arrays"):
            read_image(tmp_path / "a.npz")

    def test_a_bomb(self, tmp_path: Path) -> None:
        np.savez_compressed(tmp_path / "a.npz", np.zeros((9000, 9000, 3), np.uint8))
        with pytest.raises(ImageError, match="over 200 times its size"):
            read_image(tmp_path / "a.npz")

    def test_more_pixels_declared_than_held(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("x.npy", header((100, 100)) + b"\0" * 99)
        with pytest.raises(ImageError, match="more pixels than the archive holds"):
            read_image(tmp_path / "a.npz")

    def test_an_array_that_a_wrong_bit_hides_is_missed(self, tmp_path: Path) -> None:
        """A comment of a wrong length swallows the entry that follows; then two arrays were read as one."""
        np.savez(tmp_path / "a.npz", picture(), picture())
        data = bytearray((tmp_path / "a.npz").read_bytes())
        first, second = (match.start() for match in re.finditer(b"PK\1\2", data))
        data[first + 32 : first + 34] = (len(data) - 22 - second).to_bytes(2, "little")
        (tmp_path / "a.npz").write_bytes(data)
        with pytest.raises(ImageError, match="declares 2 members and lists 1"):
            read_image(tmp_path / "a.npz")

    def test_broken(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("x.npy", b"\x93NUMPY\x01\0nonsense")
        (tmp_path / "b.npz").write_bytes(b"PK\x03\x04" + b"\0" * 99)
        for name in ("a.npz", "b.npz"):
            with pytest.raises(ImageError, match=rf"{name}.* cannot be read"):
                read_image(tmp_path / name)


class TestRows:
    @pytest.mark.parametrize("dtype", ["u1", "<u2", ">u2", "<f4"])
    def test_rows_equal_the_array(self, tmp_path: Path, dtype: str) -> None:
        pixels = sixteen().astype(dtype)
        np.save(tmp_path / "a.npy", pixels)
        with open_strips(tmp_path / "a.npy", Reading()) as strips:
            assert (strips.shape, strips.step, strips.packed) == (pixels.shape, 1, False)
            assert np.array_equal(strips.rows(7, 19), pixels[7:19])
            assert strips.rows(0, 1).dtype.isnative

    def test_grey(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", picture()[..., 0])
        with NpyStrips(tmp_path / "a.npy", Reading()) as strips:
            assert strips.shape == (37, 53, 1)
            assert np.array_equal(strips.rows(0, 37)[..., 0], picture()[..., 0])

    @pytest.mark.parametrize("data", [
        header((31, 23), fortran=True) + b"\0" * 31 * 23,
        header((31, 23)) + b"\0" * 99,
        header((31,)) + b"\0" * 31,
        header((31, 23), "<i4") + b"\0" * 31 * 23 * 4,
        b"\x93NUMPY\x01\0nonsense",
    ], ids=["columns first", "cut off", "one axis", "signed", "nonsense"])  # fmt: skip
    def test_refused_and_closed(self, tmp_path: Path, data: bytes) -> None:
        (tmp_path / "a.npy").write_bytes(data)
        with pytest.raises(ImageError, match=r"a\.npy"):
            open_strips(tmp_path / "a.npy", Reading())

    @pytest.mark.parametrize("shape", [(5, 0, 3), (0, 5, 3), (5, 4, 0)])
    def test_no_pixels(self, tmp_path: Path, shape: tuple[int, ...]) -> None:
        """A width of zero ended in a division by zero, and a height of zero in an empty image."""
        np.save(tmp_path / "a.npy", np.zeros(shape, np.uint8))
        with pytest.raises(ImageError, match=r"a\.npy: its shape is .*; it has no pixels"):
            open_strips(tmp_path / "a.npy", Reading())

    @pytest.mark.parametrize("depth", [1, 3])
    def test_bands_are_written_as_one_array(self, tmp_path: Path, depth: int) -> None:
        pixels = sixteen(depth=depth)
        like = ArrayStrips(pixels, step=10)
        write_npy(tmp_path / "o.npy", (rows for _, rows in like.bands()), like)
        assert np.array_equal(np.load(tmp_path / "o.npy"), pixels[..., 0] if depth == 1 else pixels)


class TestStacks:
    def test_is_mapped(self, tmp_path: Path) -> None:
        stack = np.stack([picture(seed) for seed in range(3)])
        np.save(tmp_path / "a.npy", stack)
        assert np.array_equal(npy_stack(tmp_path / "a.npy"), stack)

    @pytest.mark.parametrize(
        ("array", "words"), [(np.zeros((4, 4), np.uint8), "a stack of images is"), (np.zeros((2, 4, 4), np.int8), "int8")]
    )
    def test_refused(self, tmp_path: Path, array: Any, words: str) -> None:
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(ImageError, match=words):
            npy_stack(tmp_path / "a.npy")

    def test_missing_or_damaged(self, tmp_path: Path) -> None:
        (tmp_path / "b.npy").write_bytes(b"nothing")
        for name in ("a.npy", "b.npy"):
            with pytest.raises(ImageError, match=rf"{name} cannot be read as a stack of images"):
                npy_stack(tmp_path / name)


def test_header_leaves_the_file_at_its_first_pixel() -> None:
    file = io.BytesIO(header((2, 3), fortran=True) + b"abcdef")
    assert npy_header(file) == ((2, 3), True, np.dtype(np.uint8))
    assert file.read() == b"abcdef"


class TestDamagedHeaders:
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b"'descr'", b"'descr("),  # NumPy's tokenizer finds no end
            (b"(3, 4, 5, 3)", b"(3, 4, 5, 3("),
            (b"\x93NUMPY\x01\0v\0", b"\x93NUMPY\x02\0\xff\xff\xff\x7f"),  # declares a header of two gigabytes
        ],
        ids=["key", "shape", "length"],
    )
    def test_are_refused_with_a_sentence_and_not_read_on(self, old: bytes, new: bytes, tmp_path: Path) -> None:
        data = encode_npy(np.zeros((3, 4, 5, 3), np.uint8))
        assert old in data
        path = tmp_path / "a.npy"
        path.write_bytes(data.replace(old, new, 1))
        reads: list[int] = []

        class File(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                reads.append(-1 if size is None else size)
                return super().read(size)

        with pytest.raises(ImageError, match="its header cannot be read"):
            npy_header(File(path.read_bytes()))
        assert all(0 <= size <= 2**16 for size in reads)
        with pytest.raises(ImageError, match="cannot be read as a stack"):
            npy_stack(path)
        with pytest.raises(ImageError), open_collection(path, SourceOptions()):
            pass
