"""Encoding: pixels come back as they were, and nothing but pixels is written."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from recolorist.errors import ImageError
from recolorist.io.images import read_image, read_picture
from recolorist.io.strips import ArrayStrips
from recolorist.io.write import encode, format_of, output_name, write_bands
from tests.commands import picture
from tests.io.kit import SECRETS, Pixels, sixteen


class TestRoundTrip:
    @pytest.mark.parametrize("suffix", [".png", ".tif", ".npy"])
    @pytest.mark.parametrize("depth", [1, 3, 4])
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    def test_pixels_come_back_as_they_were(self, tmp_path: Path, suffix: str, depth: int, dtype: Any) -> None:
        if suffix == ".png" and dtype == np.uint16 and depth > 1:
            pytest.importorskip("imagecodecs")
        pixels = sixteen(depth=depth).astype(dtype) if dtype == np.uint16 else (sixteen(depth=depth) >> 8).astype(dtype)
        (tmp_path / f"a{suffix}").write_bytes(encode(pixels, suffix))
        read = read_image(tmp_path / f"a{suffix}")
        assert read.dtype == dtype
        assert np.array_equal(read, pixels[..., 0] if depth == 1 else pixels)

    def test_jpeg_is_read_as_pillow_reads_it(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jpg"
        path.write_bytes(encode(picture(), ".jpg"))
        with Image.open(path) as image:
            assert np.array_equal(read_image(path), np.asarray(image))

    def test_one_channel_is_grey(self) -> None:
        assert encode(picture()[..., :1], ".png") == encode(picture()[..., 0], ".png")

    def test_float_tiff(self, tmp_path: Path) -> None:
        values = picture().astype(np.float32) / 255
        (tmp_path / "grey.tif").write_bytes(encode(values[..., 0], ".tif"))
        assert np.array_equal(read_image(tmp_path / "grey.tif"), values[..., 0])
        pytest.importorskip("tifffile")
        (tmp_path / "colour.tif").write_bytes(encode(values, ".tif"))
        assert np.array_equal(read_image(tmp_path / "colour.tif"), values)

    @pytest.mark.parametrize(
        ("pixels", "suffix"),
        [(sixteen(), ".jpg"), (picture(channels=4), ".jpg"), (np.zeros((3, 3), np.float32), ".png"), (picture(), ".gif"),
         (np.zeros((3, 3, 5), np.uint16), ".png"), (picture(), "")],
    )  # fmt: skip
    def test_what_a_format_cannot_hold_is_refused(self, pixels: Pixels, suffix: str) -> None:
        with pytest.raises(ImageError):
            encode(pixels, suffix)

    def test_names_of_outputs(self) -> None:
        assert [output_name(name, form) for name, form in (("a.svs", "SLIDE"), ("b.dcm", "DICOM"), ("c.tiff", "TIFF"))] == [
            "a.tif",
            "b.png",
            "c.tiff",
        ]


class TestMetadata:
    def test_nothing_but_pixels_is_written(self, tmp_path: Path) -> None:
        exif = Image.Exif()
        exif[0x013B], exif[0x010E] = "Jane Q. Patient", "SECRETCOMMENT"
        exif.get_ifd(0x8825)[1] = "GPSMARK"
        image = Image.fromarray(picture())
        image.save(tmp_path / "a.jpg", exif=exif, comment="SECRETCOMMENT", xmp=b"<x>Jane Q. Patient</x>")
        from PIL.PngImagePlugin import PngInfo

        text = PngInfo()
        text.add_text("Author", "Jane Q. Patient")
        text.add_itxt("Comment", "SECRETCOMMENT")
        image.save(tmp_path / "a.png", exif=exif, pnginfo=text)
        image.save(tmp_path / "a.tif", tiffinfo={315: "Jane Q. Patient", 270: "SECRETCOMMENT"})
        for name in ("a.jpg", "a.png", "a.tif"):
            source = (tmp_path / name).read_bytes()
            assert b"Jane Q. Patient" in source  # or the test would show nothing
            written = encode(read_image(tmp_path / name), Path(name).suffix)
            assert not [secret for secret in SECRETS if secret in written]
            with Image.open(io.BytesIO(written)) as again:
                assert not again.getexif().get_ifd(0x8825)
                assert {"comment", "exif", "xmp", "Author"}.isdisjoint(again.info)

    @pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif"])
    def test_a_profile_only_on_request(self, tmp_path: Path, suffix: str) -> None:
        from PIL import ImageCms

        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
        Image.fromarray(picture()).save(tmp_path / f"a{suffix}", icc_profile=profile)
        found = read_picture(tmp_path / f"a{suffix}")
        assert found.icc == profile
        for icc in (None, profile):
            with Image.open(io.BytesIO(encode(found.pixels, suffix, icc=icc))) as image:
                assert image.info.get("icc_profile") == icc


class TestNames:
    @pytest.mark.parametrize(("suffix", "form"), [(".png", "PNG"), (".JPG", "JPEG"), (".Tiff", "TIFF"), (".npy", "NPY")])
    def test_formats_by_suffix(self, suffix: str, form: str) -> None:
        assert format_of(suffix) == form

    @pytest.mark.parametrize("suffix", ["", ".gif", ".dcm", ".svs", ".npz"])
    def test_suffixes_that_are_not_written(self, suffix: str) -> None:
        with pytest.raises(ImageError, match=r"are not written; choose from \.png, \.jpg"):
            format_of(suffix)


class TestQuality:
    def test_of_jpeg_only(self) -> None:
        assert len(encode(picture(), ".jpg", quality=30)) < len(encode(picture(), ".jpg"))
        assert encode(picture(), ".png", quality=30) == encode(picture(), ".png")

    def test_colour_is_kept_in_full(self) -> None:
        with Image.open(io.BytesIO(encode(picture(), ".jpg"))) as image:
            assert {component[1:3] for component in image.layer} == {(1, 1)}  # type: ignore[attr-defined]


class TestBands:
    @pytest.mark.parametrize("suffix", [".tif", ".tiff", ".npy", ".zarr"])
    @pytest.mark.parametrize("depth", [3, 4])
    def test_rows_become_a_file(self, tmp_path: Path, suffix: str, depth: int) -> None:
        if suffix == ".zarr":
            pytest.importorskip("zarr")
        pixels = sixteen(depth=depth)
        like = ArrayStrips(pixels, step=9)
        write_bands(tmp_path / f"o{suffix}", suffix, (rows for _, rows in like.bands()), like)
        assert np.array_equal(read_image(tmp_path / f"o{suffix}"), pixels)

    @pytest.mark.parametrize("suffix", [".png", ".jpg", ""])
    def test_other_formats_are_refused(self, tmp_path: Path, suffix: str) -> None:
        with pytest.raises(ImageError, match=r"written as \.tif, \.npy or \.zarr"):
            write_bands(tmp_path / "o", suffix, iter([]), ArrayStrips(picture()))
        assert list(tmp_path.iterdir()) == []
