"""Files of every kind: read exactly, refused with a sentence, written without anything but their pixels."""

from __future__ import annotations

import io
import os
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from recolorist.errors import ImageError, RecoloristError
from recolorist.io.images import HugeError, Reading, list_images, open_file, read_image, read_picture, sniff
from recolorist.io.pillow import read_orientation, turn_upright
from recolorist.io.write import encode, output_name
from tests.commands import picture

Pixels = NDArray[Any]
CONVERT = Reading(convert=True)
SECRETS = (b"Jane Q. Patient", b"GPSMARK", b"SECRETCOMMENT")


def sixteen(seed: int = 0, depth: int = 3) -> NDArray[np.uint16]:
    return np.random.default_rng(seed).integers(0, 65536, (31, 23, depth)).astype(np.uint16)


def saved(path: Path, pixels: Pixels, **options: Any) -> Path:
    Image.fromarray(pixels).save(path, **options)
    return path


def tiff(path: Path, pixels: Pixels, **options: Any) -> Path:
    tifffile = pytest.importorskip("tifffile")
    if options.get("compression") not in (None, "zlib"):
        pytest.importorskip("imagecodecs")
    tifffile.imwrite(path, pixels, **options)
    return path


def png_header(width: int, height: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 20)) + chunk(b"IEND", b"")


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


class TestTiff:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"tile": (16, 16)},
            {"tile": (32, 16), "compression": "zlib"},
            {"rowsperstrip": 7, "compression": "lzw"},
            {"planarconfig": "separate"},
            {"planarconfig": "separate", "tile": (16, 16), "compression": "zlib"},
            {"bigtiff": True},
            {"byteorder": ">"},
            {"predictor": True, "compression": "zlib"},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("wide", [False, True], ids=["8 bits", "16 bits"])
    def test_however_it_is_stored(self, tmp_path: Path, options: dict[str, Any], wide: bool) -> None:
        pixels = sixteen() if wide else (sixteen() >> 8).astype(np.uint8)
        planar = options.get("planarconfig") == "separate"
        path = tiff(tmp_path / "a.tif", np.moveaxis(pixels, -1, 0) if planar else pixels, photometric="rgb", **options)
        assert np.array_equal(read_image(path), pixels)

    def test_pyramid_levels(self, tmp_path: Path) -> None:
        tifffile = pytest.importorskip("tifffile")
        with tifffile.TiffWriter(tmp_path / "p.tif") as writer:
            writer.write(picture(0, (128, 96)), tile=(32, 32), subifds=1, photometric="rgb")
            writer.write(picture(1, (64, 48)), tile=(32, 32), subfiletype=1, photometric="rgb")
        for level in (0, 1):
            found = read_picture(tmp_path / "p.tif", Reading(level=level)).pixels
            assert np.array_equal(found, picture(level, (128, 96) if level == 0 else (64, 48)))
        with pytest.raises(ImageError, match=r"2 level\(s\), and level 2"):
            read_picture(tmp_path / "p.tif", Reading(level=2))

    def test_a_stack_is_refused(self, tmp_path: Path) -> None:
        Image.fromarray(picture()).save(tmp_path / "s.tif", save_all=True, append_images=[Image.fromarray(picture(1))])
        with pytest.raises(ImageError, match="several pages of the same size"):
            read_image(tmp_path / "s.tif")

    def test_signed_pixels_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ImageError, match="int16"):
            read_image(tiff(tmp_path / "a.tif", np.zeros((4, 4, 3), np.int16), photometric="rgb"))


class TestOtherFormats:
    def test_npy_and_npz(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.asfortranarray(sixteen()))
        np.savez_compressed(tmp_path / "a.npz", picture())
        assert np.array_equal(read_image(tmp_path / "a.npy"), sixteen())
        assert np.array_equal(read_image(tmp_path / "a.npz"), picture())

    def test_objects_are_never_unpacked(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.array([[{}]], dtype=object), allow_pickle=True)
        with pytest.raises(ImageError, match="Python objects"):
            read_image(tmp_path / "a.npy")

    @pytest.mark.parametrize(("stored", "form"), [(8, "MONOCHROME2"), (12, "MONOCHROME2"), (12, "MONOCHROME1"), (8, "RGB")])
    def test_dicom(self, tmp_path: Path, stored: int, form: str) -> None:
        pixels = (
            picture() if form == "RGB" else (sixteen()[..., 0] >> (16 - stored)).astype(np.uint8 if stored == 8 else np.uint16)
        )
        found = read_picture(dicom(tmp_path / "a.dcm", pixels, stored, form))
        assert found.data_range == (None if stored == 8 else 4095.0)
        assert np.array_equal(found.pixels, 4095 - pixels if form == "MONOCHROME1" else pixels)

    @pytest.mark.parametrize(
        ("change", "words"),
        [({"NumberOfFrames": 2}, "2 frames"), ({"PixelRepresentation": 1}, "signed"),
         ({"PhotometricInterpretation": "PALETTE COLOR"}, "PALETTE"), ({"Rows": 60000, "Columns": 60000}, "over the limit")],
    )  # fmt: skip
    def test_dicom_refused(self, tmp_path: Path, change: dict[str, Any], words: str) -> None:
        with pytest.raises(ImageError, match=words):
            read_image(dicom(tmp_path / "a.dcm", picture()[..., 0], 8, "MONOCHROME2", **change))

    def test_zarr(self, tmp_path: Path) -> None:
        zarr = pytest.importorskip("zarr")
        array = zarr.create_array(str(tmp_path / "a.zarr"), shape=(31, 23, 3), dtype="uint16", chunks=(8, 8, 3))
        array[:] = sixteen()
        assert np.array_equal(read_image(tmp_path / "a.zarr"), sixteen())

    def test_ome_zarr(self, tmp_path: Path) -> None:
        zarr = pytest.importorskip("zarr")
        group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
        axes = [{"name": name} for name in "tczyx"]
        group.attrs["ome"] = {"multiscales": [{"axes": axes, "datasets": [{"path": "0"}, {"path": "1"}]}]}
        for level in (0, 1):
            data = np.moveaxis(picture(level), -1, 0)[None, :, None]
            group.create_array(str(level), shape=data.shape, dtype="uint8", chunks=(1, 1, 1, 16, 16))[:] = data
        for level in (0, 1):
            assert np.array_equal(read_picture(tmp_path / "a.zarr", Reading(level=level)).pixels, picture(level))

    def test_slide(self, tmp_path: Path) -> None:
        pytest.importorskip("openslide")
        pixels = picture(0, (300, 500))
        path = tiff(tmp_path / "a.svs", pixels, tile=(64, 64), compression="zlib", photometric="rgb")
        assert np.array_equal(read_image(path), pixels)

    def test_a_missing_library_is_named_with_its_extra(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def gone(name: str) -> Any:
            raise ImportError(f"No module named {name!r}")

        (tmp_path / "a.dcm").write_bytes(b"\0" * 128 + b"DICM" + b"\0" * 64)
        monkeypatch.setattr("importlib.import_module", gone)
        with pytest.raises(RecoloristError, match=r"a\.dcm.*pip install 'recolorist\[dicom\]'"):
            read_image(tmp_path / "a.dcm")


def dicom(path: Path, pixels: Pixels, stored: int, form: str, **change: Any) -> Path:
    pydicom = pytest.importorskip("pydicom")
    meta = pydicom.dataset.FileMetaDataset()
    meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = "1.2.840.10008.5.1.4.1.1.7", "1.2.3"
    data = pydicom.dataset.FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    data.PatientName, data.StudyDescription = "Jane Q. Patient", "SECRETCOMMENT"
    data.Rows, data.Columns = pixels.shape[:2]
    data.SamplesPerPixel, data.PhotometricInterpretation = pixels.ndim if pixels.ndim == 3 else 1, form
    data.BitsAllocated, data.BitsStored, data.HighBit = 8 * pixels.itemsize, stored, stored - 1
    data.PixelRepresentation = 0
    if pixels.ndim == 3:
        data.PlanarConfiguration = 0
    data.PixelData = pixels.tobytes() + b"\0" * (pixels.nbytes % 2)
    for name, value in change.items():
        setattr(data, name, value)
    data.save_as(path, enforce_file_format=True)
    return path


class TestModes:
    @pytest.mark.parametrize("mode", ["P", "CMYK", "1", "LA"])
    def test_refused_unless_conversion_is_asked_for(self, tmp_path: Path, mode: str) -> None:
        path = tmp_path / ("a.jpg" if mode == "CMYK" else "a.png")
        Image.fromarray(picture()).convert(mode).save(path)
        with pytest.raises(ImageError, match=r"convert \(--convert\)"):
            read_image(path)
        assert read_picture(path, CONVERT).pixels.ndim == (3 if mode in ("P", "CMYK") else 2)

    def test_declared_bits(self, tmp_path: Path) -> None:
        (tmp_path / "a.png").write_bytes(encode(sixteen() >> 4, ".png"))
        assert read_picture(tmp_path / "a.png", Reading(bits=12)).data_range == 4095.0
        assert read_picture(tmp_path / "a.png").data_range is None

    def test_almost_black_sixteen_bits_stay_sixteen_bits(self, tmp_path: Path) -> None:
        (tmp_path / "a.png").write_bytes(encode(sixteen() >> 12, ".png"))
        found = read_image(tmp_path / "a.png")
        assert (found.dtype.name, int(found.max())) == ("uint16", 15)


class TestOrientation:
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_applied_once(self, tmp_path: Path, orientation: int) -> None:
        image = Image.fromarray(picture())
        exif = Image.Exif()
        exif[0x0112] = orientation
        for name in ("a.png", "a.jpg", "a.tif"):
            image.save(tmp_path / name, exif=exif)
        expected = turn_upright(picture(), orientation)
        assert np.array_equal(read_image(tmp_path / "a.png"), expected)
        assert np.array_equal(read_image(tmp_path / "a.tif"), expected)
        image.save(tmp_path / "plain.jpg")
        assert np.array_equal(read_image(tmp_path / "a.jpg"), turn_upright(read_image(tmp_path / "plain.jpg"), orientation))

    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_as_pillow_turns(self, orientation: int) -> None:
        from PIL import ImageOps

        image = Image.fromarray(picture())
        image.getexif()[0x0112] = orientation
        assert np.array_equal(turn_upright(picture(), orientation), np.asarray(ImageOps.exif_transpose(image)))

    @pytest.mark.parametrize("orientation", [3, 6])
    def test_sixteen_bit_tiff(self, tmp_path: Path, orientation: int) -> None:
        path = tiff(tmp_path / "a.tif", sixteen(), photometric="rgb", extratags=[(274, 3, 1, orientation, True)])
        assert np.array_equal(read_image(path), turn_upright(sixteen(), orientation))

    @pytest.mark.parametrize("block", [b"", b"II", b"MM\0*\xff\xff\xff\xff", b"Exif\0\0II*\0\x08\0\0\0\xff\xff", b"garbage" * 9])
    def test_nonsense_is_upright(self, block: bytes) -> None:
        assert read_orientation(block) == 1


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

    def test_dicom_names_are_dropped(self, tmp_path: Path) -> None:
        path = dicom(tmp_path / "a.dcm", picture()[..., 0], 8, "MONOCHROME2")
        assert b"Jane Q. Patient" in path.read_bytes()
        assert b"Jane" not in encode(read_image(path), ".png")

    def test_tiff_written_by_the_extra_says_nothing_of_itself(self) -> None:
        pytest.importorskip("tifffile")
        data = encode(sixteen(), ".tif")
        assert b"tifffile" not in data
        assert b"shape" not in data

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


class TestHostile:
    @pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tif", "b.tif", "c.tif", "a.npy", "sixteen.png"])
    def test_truncated_anywhere_is_an_error(self, tmp_path: Path, name: str) -> None:
        kinds: dict[str, Callable[[], bytes]] = {
            "a.png": lambda: encode(picture(), ".png"),
            "a.jpg": lambda: encode(picture(), ".jpg"),
            "a.tif": lambda: encode(picture(), ".tif"),
            "b.tif": lambda: _bytes_of("TIFF"),
            "c.tif": lambda: _bytes_of("TIFF", compression="tiff_lzw"),
            "a.npy": lambda: encode(picture(), ".npy"),
            "sixteen.png": lambda: encode(sixteen(), ".png"),
        }
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
        read_picture(saved(tmp_path / "small.png", picture()))  # imports are not the file's cost
        tracemalloc.start()
        with pytest.raises(HugeError, match=r"declares 2,500,000,000 pixels, over the limit of 89,478,485"):
            read_image(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2_000_000
        assert before == Image.MAX_IMAGE_PIXELS

    def test_our_limit_is_the_only_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = saved(tmp_path / "a.png", picture())
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)  # Pillow's would refuse, or warn
        assert read_image(path).shape == picture().shape
        with pytest.raises(HugeError):
            read_image(path, max_pixels=1960)
        assert read_image(path, max_pixels=1961).shape == picture().shape

    def test_bombs(self, tmp_path: Path) -> None:
        bomb = np.zeros((9000, 9000, 3), np.uint8)
        np.savez_compressed(tmp_path / "a.npz", bomb)
        with pytest.raises(ImageError, match="over 200 times its size"):
            read_image(tmp_path / "a.npz")
        header = io.BytesIO()
        np.lib.format.write_array_header_2_0(header, {"descr": "|u1", "fortran_order": False, "shape": (10**9, 10**9)})
        (tmp_path / "a.npy").write_bytes(header.getvalue())
        with pytest.raises(ImageError):
            read_image(tmp_path / "a.npy")

    def test_a_file_larger_than_any_image_within_the_limit(self, tmp_path: Path) -> None:
        path = saved(tmp_path / "a.png", picture())
        with path.open("r+b") as file:
            file.truncate(1 << 34)  # sparse: no bytes on disk
        with pytest.raises(HugeError, match="17,179,869,184 bytes"):
            read_image(path)

    @pytest.mark.parametrize(
        ("name", "data"),
        [("a.png", b"%!PS-Adobe-3.0 EPSF-3.0\n"), ("a.jpg", b"GIF89a" + b"\0" * 50), ("a.tif", b""),
         ("a.png", b"\x93NUMPY\x01\0"),
         ("a.npy", encode(picture(), ".png")), ("a.dcm", encode(picture(), ".png"))],
    )  # fmt: skip
    def test_not_what_the_name_says(self, tmp_path: Path, name: str, data: bytes) -> None:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ImageError, match=r"is not what its name says|rename it to what it is"):
            read_image(tmp_path / name)

    def test_pictures_may_be_misnamed_for_one_another(self, tmp_path: Path) -> None:
        (tmp_path / "a.png").write_bytes(encode(picture(), ".tif"))
        assert (sniff(tmp_path / "a.png"), open_file(tmp_path / "a.png")[0]) == ("TIFF", "TIFF")
        assert np.array_equal(read_image(tmp_path / "a.png"), picture())

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
    def test_pipes_and_folders_are_refused_and_do_not_block(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "a.png")
        (tmp_path / "b.png").mkdir()
        for name in ("a.png", "b.png", "missing.png"):
            for read in (read_image, open_file):
                with pytest.raises(ImageError):
                    read(tmp_path / name)

    def test_messages_stay_on_one_line(self, tmp_path: Path) -> None:
        path = tmp_path / "a\nb\x1b[31m.png"
        path.write_bytes(b"nothing")
        with pytest.raises(ImageError) as caught:
            read_image(path)
        assert str(caught.value).isprintable()

    def test_encrypted_and_broken_archives(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("x.npy", b"\x93NUMPY\x01\0nonsense")
        with pytest.raises(ImageError):
            read_image(tmp_path / "a.npz")
        (tmp_path / "b.npz").write_bytes(b"PK\x03\x04" + b"\0" * 99)
        with pytest.raises(ImageError):
            read_image(tmp_path / "b.npz")


def _bytes_of(form: str, pixels: Pixels | None = None, **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture() if pixels is None else pixels).save(buffer, form, **options)
    return buffer.getvalue()


class TestListing:
    def test_links_out_are_not_followed(self, tmp_path: Path) -> None:
        inside, outside = tmp_path / "inside", tmp_path / "outside"
        for folder in (inside / "deep", outside):
            folder.mkdir(parents=True)
        saved(inside / "deep" / "a.png", picture())
        saved(outside / "b.png", picture())
        (inside / "link.png").symlink_to(outside / "b.png")
        (inside / "own.png").symlink_to(inside / "deep" / "a.png")
        (inside / "folder").symlink_to(outside, target_is_directory=True)
        (inside / "loop.png").symlink_to(inside / "loop.png")
        (inside / "up").symlink_to(inside, target_is_directory=True)
        assert [path.relative_to(inside).as_posix() for path in list_images(inside)] == ["deep/a.png", "own.png"]

    def test_hidden_and_other_files_are_passed_over(self, tmp_path: Path) -> None:
        for name in (".hidden.png", "notes.txt", "b.PNG", "a.jpeg"):
            (tmp_path / name).write_bytes(b"x")
        (tmp_path / ".git").mkdir()
        (tmp_path / ".git" / "c.png").write_bytes(b"x")
        (tmp_path / "store.zarr").mkdir()
        (tmp_path / "store.zarr" / "d.png").write_bytes(b"x")
        assert [path.name for path in list_images(tmp_path)] == ["a.jpeg", "b.PNG", "store.zarr"]

    def test_not_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ImageError, match="is not a folder"):
            list_images(tmp_path / "none")
