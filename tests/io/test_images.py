"""Reading files of any format: limits before decoding, and every damage is an ImageError that names the file."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recolorist.errors import ImageError, RecoloristError
from recolorist.io.images import HugeError, Reading, decode, open_file, read_image, read_picture
from recolorist.io.write import encode
from tests.commands import picture
from tests.io.kit import save, save_bytes, sixteen


def png_header(width: int, height: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 20)) + chunk(b"IEND", b"")


class TestHostile:
    @pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tif", "b.tif", "c.tif", "a.npy", "sixteen.png"])
    def test_truncated_anywhere_is_an_error(self, tmp_path: Path, name: str) -> None:
        kinds: dict[str, Callable[[], bytes]] = {
            "a.png": lambda: encode(picture(), ".png"),
            "a.jpg": lambda: encode(picture(), ".jpg"),
            "a.tif": lambda: encode(picture(), ".tif"),
            "b.tif": lambda: save_bytes("TIFF"),
            "c.tif": lambda: save_bytes("TIFF", compression="tiff_lzw"),
            "a.npy": lambda: encode(picture(), ".npy"),
            "sixteen.png": lambda: encode(sixteen(), ".png"),
        }
        if name in ("c.tif", "sixteen.png"):
            pytest.importorskip("imagecodecs")
        whole = kinds[name]()
        cuts = np.unique(np.linspace(0, len(whole) - 1, 200).astype(int))
        for cut in [*cuts.tolist(), *range(len(whole) - 20, len(whole))]:
            (tmp_path / name).write_bytes(whole[:cut])
            with pytest.raises(ImageError):
                read_image(tmp_path / name)
        (tmp_path / name).write_bytes(whole)
        read_image(tmp_path / name)

    @pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tif", "a.npy"])
    def test_changed_bytes_are_an_image_or_an_error(self, tmp_path: Path, name: str) -> None:
        rng = np.random.default_rng(3)
        whole = np.frombuffer(encode(picture(), Path(name).suffix), np.uint8)
        opened = 0
        for _ in range(250):
            bad = whole.copy()
            places = rng.integers(0, min(len(bad), 300) if rng.random() < 0.5 else len(bad), rng.integers(1, 6))
            bad[places] = rng.integers(0, 256, len(places))
            (tmp_path / name).write_bytes(bad.tobytes())
            try:
                read_image(tmp_path / name, max_pixels=10**6)
                opened += 1
            except RecoloristError:
                continue
        assert 0 < opened < 250

    def test_a_huge_header_is_refused_before_decoding(self, tmp_path: Path) -> None:
        before = Image.MAX_IMAGE_PIXELS
        path = tmp_path / "a.png"
        path.write_bytes(png_header(50_000, 50_000))
        read_picture(save(tmp_path / "small.png", picture()))  # imports are not the file's cost
        tracemalloc.start()
        with pytest.raises(HugeError, match=r"declares 2,500,000,000 pixels, over the limit of 89,478,485"):
            read_image(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2_000_000
        assert before == Image.MAX_IMAGE_PIXELS

    def test_our_limit_is_the_only_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = save(tmp_path / "a.png", picture())
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)  # Pillow's would refuse, or warn
        assert read_image(path).shape == picture().shape
        with pytest.raises(HugeError):
            read_image(path, max_pixels=1960)
        assert read_image(path, max_pixels=1961).shape == picture().shape

    def test_a_file_larger_than_any_image_within_the_limit(self, tmp_path: Path) -> None:
        path = save(tmp_path / "a.png", picture())
        with path.open("r+b") as file:
            file.truncate(1 << 34)  # sparse: no bytes on disk
        with pytest.raises(HugeError, match="17,179,869,184 bytes"):
            read_image(path)


class TestOpening:
    def test_bytes_of_pictures_are_read_once(self, tmp_path: Path) -> None:
        data = encode(picture(), ".png")
        (tmp_path / "a.png").write_bytes(data)
        (tmp_path / "a.npy").write_bytes(encode(picture(), ".npy"))
        assert open_file(tmp_path / "a.png") == ("PNG", data)
        assert open_file(tmp_path / "a.npy") == ("NPY", None)

    def test_decoding_with_and_without_the_bytes(self, tmp_path: Path) -> None:
        data = encode(picture(), ".jpg")
        (tmp_path / "a.jpg").write_bytes(data)
        with_bytes, without = (decode(tmp_path / "a.jpg", "JPEG", Reading(), given).pixels for given in (data, None))
        assert np.array_equal(with_bytes, without)

    def test_a_file_without_its_suffix(self, tmp_path: Path) -> None:
        (tmp_path / "image").write_bytes(encode(picture(), ".png"))
        assert np.array_equal(read_image(tmp_path / "image"), picture())

    def test_a_path_may_be_text(self, tmp_path: Path) -> None:
        save(tmp_path / "a.png", picture())
        assert np.array_equal(read_image(str(tmp_path / "a.png")), picture())

    def test_the_file_is_named_and_the_cause_kept(self, tmp_path: Path) -> None:
        (tmp_path / "a.png").write_bytes(encode(picture(), ".png")[:60])
        with pytest.raises(ImageError, match=r"a\.png") as caught:
            read_image(tmp_path / "a.png")
        assert caught.value.__cause__ is not None
