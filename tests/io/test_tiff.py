"""TIFF: however it is stored, the pixels are those that were written, whole or by rows."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image

from recolorist.errors import ImageError
from recolorist.io.images import HugeError, Reading, open_strips, read_image, read_picture
from recolorist.io.pillow import turn_upright
from recolorist.io.strips import TILE, ArrayStrips
from recolorist.io.tiff import TiffStrips, encode_tiff, read_tiff, split_tiles, write_tiff
from recolorist.optional import MissingExtraError
from tests.commands import picture
from tests.io.kit import SECRETS, bare_tiff, drop_tile, jpeg_2000, pack_bits, profile, save, save_tiff, sixteen

CONVERT = Reading(convert=True)
STORED: list[dict[str, Any]] = [
    {},
    {"tile": (16, 16)},
    {"tile": (32, 16), "compression": "zlib"},
    {"rowsperstrip": 7, "compression": "lzw"},
    {"rowsperstrip": 5, "compression": "packbits"},
    {"planarconfig": "separate"},
    {"planarconfig": "separate", "tile": (16, 16), "compression": "zlib"},
    {"bigtiff": True},
    {"byteorder": ">"},
    {"predictor": True, "compression": "zlib"},
]


class TestStorage:
    @pytest.mark.parametrize("options", STORED, ids=str)
    @pytest.mark.parametrize("wide", [False, True], ids=["8 bits", "16 bits"])
    def test_whole_and_by_rows(self, tmp_path: Path, options: dict[str, Any], wide: bool) -> None:
        pixels = sixteen() if wide else (sixteen() >> 8).astype(np.uint8)
        planar = options.get("planarconfig") == "separate"
        path = save_tiff(tmp_path / "a.tif", np.moveaxis(pixels, -1, 0) if planar else pixels, photometric="rgb", **options)
        assert np.array_equal(read_image(path), pixels)
        with open_strips(path, Reading()) as strips:
            assert (strips.shape, strips.dtype, strips.packed) == (pixels.shape, pixels.dtype, "compression" in options)
            assert np.array_equal(strips.rows(9, 27), pixels[9:27])
            assert np.array_equal(np.concatenate([strips.rows(i, i + 1) for i in range(31)]), pixels)

    @pytest.mark.parametrize("options", [{"tile": (32, 32)}, {"rowsperstrip": 16}], ids=str)
    def test_jpeg_inside(self, tmp_path: Path, options: dict[str, Any]) -> None:
        pixels = picture(0, (74, 106))
        path = save_tiff(tmp_path / "a.tif", pixels, photometric="rgb", compression="jpeg", **options)
        with Image.open(path) as image:
            expected = np.asarray(image)
        assert np.array_equal(read_image(path), expected)
        with open_strips(path, Reading()) as strips:  # the first segment is read before the decoder is looked up
            assert np.array_equal(strips.rows(0, 74), expected)
            assert np.array_equal(strips.rows(33, 60), expected[33:60])

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    @pytest.mark.parametrize("depth", [1, 3])
    def test_floats(self, tmp_path: Path, dtype: Any, depth: int) -> None:
        values = (sixteen(depth=depth) / 65535).astype(dtype)
        values = values if depth == 3 else values[..., 0]
        path = save_tiff(tmp_path / "a.tif", values, photometric="rgb" if depth == 3 else "minisblack")
        found = read_picture(path, Reading(data_range=1.0))
        assert (found.pixels.dtype, found.data_range) == (np.dtype(dtype), 1.0)
        assert np.array_equal(found.pixels, values)

    def test_a_sparse_tile_is_reported(self, tmp_path: Path) -> None:
        with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
            tiles = iter([np.full((16, 16, 3), 7, np.uint8), None])
            writer.write(tiles, shape=(16, 32, 3), dtype="uint8", tile=(16, 16), photometric="rgb")
        with pytest.raises(ImageError, match="1 of its 2 strips or tiles hold no pixels"):
            read_image(tmp_path / "a.tif")

    def test_a_missing_codec_is_named_with_its_extra(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = save_tiff(tmp_path / "a.tif", picture(), photometric="rgb", compression="lzw")

        def missing(name: str) -> Any:
            raise ImportError(f"No module named {name!r}")

        monkeypatch.setattr("importlib.import_module", missing)
        with pytest.raises(MissingExtraError, match=r"read TIFF files compressed with LZW.*pip install 'recolorist\[tiff\]'"):
            read_image(path)


class TestModes:
    @pytest.mark.parametrize(("mode", "target"), [("1", "L"), ("P", "RGB"), ("CMYK", "RGB"), ("LA", "L")])
    @pytest.mark.parametrize("compression", [None, "tiff_adobe_deflate", "packbits"])
    def test_converted_as_pillow_does(self, tmp_path: Path, mode: str, target: str, compression: str | None) -> None:
        image = Image.fromarray(picture()).convert(mode)
        image.save(tmp_path / "a.tif", compression=compression)
        with pytest.raises(ImageError, match=rf"it has mode '{mode}'.*pass convert=True"):
            read_image(tmp_path / "a.tif")
        assert np.array_equal(read_picture(tmp_path / "a.tif", CONVERT).pixels, np.asarray(image.convert(target)))

    @pytest.mark.parametrize("extra", ["unassalpha", "assocalpha", "unspecified"])
    def test_a_fourth_channel(self, tmp_path: Path, extra: str) -> None:
        path = save_tiff(tmp_path / "a.tif", picture(channels=4), photometric="rgb", extrasamples=[extra])
        with Image.open(path) as image:
            expected = np.asarray(image)
        if extra == "unspecified":  # a sample not declared as alpha is no colour either; Pillow 10 reads it as alpha
            expected = picture(channels=4)[..., :3]
        assert np.array_equal(read_image(path), expected)

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    def test_white_as_zero(self, tmp_path: Path, dtype: Any) -> None:
        grey = (sixteen()[..., 0] >> (16 - 8 * np.dtype(dtype).itemsize)).astype(dtype)
        path = save_tiff(tmp_path / "a.tif", grey, photometric="miniswhite")
        assert np.array_equal(read_image(path), np.iinfo(dtype).max - grey)

    @pytest.mark.parametrize("mode", ["YCbCr", "LAB"])
    def test_other_colours_are_refused(self, tmp_path: Path, mode: str) -> None:
        Image.fromarray(picture()).convert(mode).save(tmp_path / "a.tif")
        with pytest.raises(ImageError, match="accepted are grey and RGB"):
            read_picture(tmp_path / "a.tif", CONVERT)

    def test_sixteen_bits_multiplied_by_alpha_are_refused(self, tmp_path: Path) -> None:
        path = save_tiff(tmp_path / "a.tif", sixteen(depth=4), photometric="rgb", extrasamples=["assocalpha"])
        with pytest.raises(ImageError, match="multiplied by alpha"):
            read_image(path)

    def test_signed_pixels_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ImageError, match="int16"):
            read_image(save_tiff(tmp_path / "a.tif", np.zeros((4, 4, 3), np.int16), photometric="rgb"))

    def test_wide_integers_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ImageError, match="uint32"):
            read_image(save_tiff(tmp_path / "a.tif", np.zeros((4, 4), np.uint32), photometric="minisblack"))


_LENGTH, _COUNTS = 257, 279


def _patch(path: Path, tag: int, value: int) -> None:
    """Overwrite the first value of a tag."""
    with tifffile.TiffFile(path) as file:
        place, kind = file.pages.first.tags[tag].valueoffset, file.pages.first.tags[tag].dtype
    data = bytearray(path.read_bytes())
    struct.pack_into({3: "<H", 4: "<I"}[int(kind)], data, place, value)
    path.write_bytes(data)


class TestCoverage:
    """Strips that do not cover the image gave black rows; they are reported."""

    @pytest.mark.parametrize(
        "options", [{}, {"rowsperstrip": 8}, {"rowsperstrip": 8, "compression": "zlib"}, {"compression": "jpeg"}], ids=str
    )
    @pytest.mark.parametrize(("tag", "value"), [(_LENGTH, 400), (_COUNTS, 0), (_COUNTS, 100)])
    def test_pixels_are_not_invented(self, tmp_path: Path, options: dict[str, Any], tag: int, value: int) -> None:
        path = save_tiff(tmp_path / "a.tif", picture(0, (40, 24)), photometric="rgb", **options)
        read_image(path)
        _patch(path, tag, value)
        with pytest.raises(ImageError, match=r"a\.tif"):
            read_image(path)

    @pytest.mark.parametrize("compression", [None, "tiff_adobe_deflate", "packbits", "tiff_lzw"])
    def test_a_longer_image_than_its_strips(self, tmp_path: Path, compression: str | None) -> None:
        save(tmp_path / "a.tif", picture(0, (40, 24)), compression=compression)
        _patch(tmp_path / "a.tif", _LENGTH, 400)
        with pytest.raises(ImageError, match=r"cover|pixels up to|strips"):
            read_image(tmp_path / "a.tif")


class TestLimits:
    def test_tiles_far_larger_than_the_image(self, tmp_path: Path) -> None:
        path = save_tiff(tmp_path / "a.tif", picture(0, (40, 24)), photometric="rgb", tile=(16, 16), compression="zlib")
        for tag in (322, 323):
            _patch(path, tag, 32_768)
        with pytest.raises(HugeError, match=r"tiles.*1,073,741,824"):
            read_image(path)
        with pytest.raises(HugeError, match="tiles"):
            open_strips(path, Reading())

    def test_many_channels_count_as_pixels(self, tmp_path: Path) -> None:
        path = save_tiff(tmp_path / "a.tif", np.zeros((20, 20, 64), np.uint8), photometric="minisblack", planarconfig="contig")
        with pytest.raises(HugeError, match="6,400 pixels"):
            read_image(path, max_pixels=1000)


class TestPages:
    def test_levels_of_a_pyramid(self, tmp_path: Path) -> None:
        with tifffile.TiffWriter(tmp_path / "p.tif") as writer:
            writer.write(picture(0, (128, 96)), tile=(32, 32), subifds=1, photometric="rgb")
            writer.write(picture(1, (64, 48)), tile=(32, 32), subfiletype=1, photometric="rgb")
        for level, size in enumerate([(128, 96), (64, 48)]):
            assert np.array_equal(read_picture(tmp_path / "p.tif", Reading(level=level)).pixels, picture(level, size))
        with pytest.raises(ImageError, match=r"2 level\(s\), and level 2"):
            read_picture(tmp_path / "p.tif", Reading(level=2))

    def test_a_stack_is_refused(self, tmp_path: Path) -> None:
        Image.fromarray(picture()).save(tmp_path / "s.tif", save_all=True, append_images=[Image.fromarray(picture(1))])
        with pytest.raises(ImageError, match="several pages of the same size"):
            read_image(tmp_path / "s.tif")

    def test_a_second_page_of_another_size_is_passed_over(self, tmp_path: Path) -> None:
        label = Image.fromarray(picture(1, (9, 11)))
        Image.fromarray(picture()).save(tmp_path / "s.tif", save_all=True, append_images=[label])
        assert np.array_equal(read_image(tmp_path / "s.tif"), picture())

    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("wide", [False, True], ids=["8 bits", "16 bits"])
    def test_orientation_is_applied_once(self, tmp_path: Path, orientation: int, wide: bool) -> None:
        pixels = sixteen() if wide else picture()
        path = save_tiff(tmp_path / "a.tif", pixels, photometric="rgb", extratags=[(274, 3, 1, orientation, True)])
        assert np.array_equal(read_image(path), turn_upright(pixels, orientation))
        with TiffStrips(path, Reading()) as strips:
            assert strips.orientation == orientation

    def test_a_profile(self, tmp_path: Path) -> None:
        assert read_picture(save(tmp_path / "a.tif", picture(), icc_profile=profile())).icc == profile()
        assert read_picture(save(tmp_path / "b.tif", picture())).icc is None


class TestDamage:
    def test_the_limit(self, tmp_path: Path) -> None:
        with pytest.raises(HugeError, match="declares 1,961 pixels, over the limit of 1,960"):
            read_tiff(save(tmp_path / "a.tif", picture()), Reading(max_pixels=1960))

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    @pytest.mark.parametrize("options", [{}, {"tile": (16, 16), "compression": "zlib"}], ids=str)
    def test_cut_off(self, tmp_path: Path, share: float, options: dict[str, Any]) -> None:
        path = save_tiff(tmp_path / "a.tif", picture(), photometric="rgb", **options)
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
        for read in (read_image, lambda path: open_strips(path, Reading())):
            with pytest.raises(ImageError, match=r"a\.tif"):
                read(path)

    def test_a_damaged_tile(self, tmp_path: Path) -> None:
        path = save_tiff(tmp_path / "a.tif", picture(), photometric="rgb", tile=(16, 16), compression="zlib")
        with tifffile.TiffFile(path) as file:
            place, count = file.pages[0].dataoffsets[3], file.pages[0].databytecounts[3]
        data = bytearray(path.read_bytes())
        data[place : place + count] = bytes(count)
        path.write_bytes(bytes(data))
        with pytest.raises(ImageError, match="rows 0 to 37 cannot be decoded"):
            read_image(path)

    def test_a_bomb(self, tmp_path: Path) -> None:
        blank = np.zeros((9000, 9000, 3), np.uint8)
        path = save_tiff(tmp_path / "a.tif", blank, photometric="rgb", compression="zlib", tile=(3008, 3008))
        with pytest.raises(ImageError, match="over 500 times its own size"):
            open_strips(path, Reading())


class TestEncode:
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
    @pytest.mark.parametrize("depth", [1, 3, 4])
    def test_what_is_written_is_read(self, tmp_path: Path, dtype: Any, depth: int) -> None:
        pixels = (sixteen(depth=depth) >> 8).astype(dtype)
        pixels = pixels[..., 0] if depth == 1 else pixels
        (tmp_path / "a.tif").write_bytes(encode_tiff(pixels))
        read = read_image(tmp_path / "a.tif")
        assert read.dtype == dtype
        assert np.array_equal(read, pixels)

    def test_another_reader(self) -> None:
        with Image.open(io.BytesIO(encode_tiff(picture(channels=4), profile()))) as image:
            assert image.mode == "RGBA"
            assert image.info["icc_profile"] == profile()
            assert np.array_equal(np.asarray(image), picture(channels=4))

    def test_nothing_but_pixels_is_written(self, tmp_path: Path) -> None:
        path = save(tmp_path / "a.tif", picture(), tiffinfo={315: "Jane Q. Patient", 270: "SECRETCOMMENT"})
        assert b"Jane Q. Patient" in path.read_bytes()
        written = encode_tiff(read_image(path))
        assert not [secret for secret in (*SECRETS, b"tifffile", b"shape") if secret in written]

    @pytest.mark.parametrize(("shape", "dtype"), [((4, 4, 2), "uint8"), ((4, 4, 5), "uint16"), ((4, 4), "int16")])
    def test_refused(self, shape: tuple[int, ...], dtype: str) -> None:
        with pytest.raises(ImageError, match=r"TIFF cannot hold .* write a \.npy instead"):
            encode_tiff(np.zeros(shape, dtype))


class TestBands:
    @pytest.mark.parametrize("packed", [False, True])
    @pytest.mark.parametrize("size", [(613, 401), (256, 512), (1, 1)])
    def test_tiled_and_compressed_like_the_source(self, tmp_path: Path, packed: bool, size: tuple[int, int]) -> None:
        image = picture(0, size)
        like = ArrayStrips(image, step=100)
        like.packed = packed
        write_tiff(tmp_path / "o.tif", iter(np.array_split(image, 5)), like)
        with tifffile.TiffFile(tmp_path / "o.tif") as file:
            page: Any = file.pages[0]
            assert page.is_tiled
            assert (page.compression != 1) is packed
            assert {"ImageDescription", "Software", "DateTime"}.isdisjoint(page.tags)
        assert np.array_equal(read_image(tmp_path / "o.tif"), image)

    @pytest.mark.parametrize("pyramid", [False, True])
    def test_grey_is_one_image(self, tmp_path: Path, pyramid: bool) -> None:
        """Tifffile takes (H, W, 1) for H images of one column."""
        image = picture(0, (613, 401))[..., :1]
        write_tiff(tmp_path / "o.tif", iter(np.array_split(image, 5)), ArrayStrips(image), pyramid=pyramid)
        with tifffile.TiffFile(tmp_path / "o.tif") as file:
            assert [level.shape for level in file.series[0].levels] == [(613, 401), (307, 201)][: 1 + pyramid]
        assert np.array_equal(read_image(tmp_path / "o.tif"), image[..., 0])

    @pytest.mark.parametrize("heights", [[600], [1] * 600, [255, 1, 300, 44], [256, 256, 88]])
    def test_tiles_do_not_depend_on_the_bands(self, heights: list[int]) -> None:
        image = picture(0, (600, 300))
        bands = np.split(image, np.cumsum(heights)[:-1])
        tiles = list(split_tiles(iter(bands)))
        assert [tile.shape for tile in tiles] == [(TILE, TILE, 3)] * 6
        whole = np.zeros((768, 512, 3), np.uint8)
        whole[:600, :300] = image
        for number, tile in enumerate(tiles):
            top, left = number // 2 * TILE, number % 2 * TILE
            assert np.array_equal(tile, whole[top : top + TILE, left : left + TILE])


class TestScale:
    """Promise 13: whatever bits are stored, white is their largest number."""

    @pytest.mark.parametrize("bits", [9, 10, 12, 14, 15])
    @pytest.mark.parametrize("samples", [1, 3])
    @pytest.mark.parametrize("is_reversed", [False, True])
    def test_bits_that_do_not_fill_their_bytes(self, tmp_path: Path, bits: int, samples: int, is_reversed: bool) -> None:
        values, path = sixteen(bits, samples) >> (16 - bits), tmp_path / "a.tif"
        shown = {"t262": 0} if is_reversed and samples == 1 else {}
        path.write_bytes(bare_tiff(pack_bits(values, bits), (23, 31), bits, samples, **shown))
        wanted = (2**bits - 1 - values if shown else values).squeeze()
        found = read_picture(path)
        assert np.array_equal(found.pixels, wanted)
        assert found.data_range == 2**bits - 1
        with open_strips(path, Reading()) as strips:
            assert np.array_equal(strips.rows(0, 31).squeeze(), wanted)
            assert strips.data_range == 2**bits - 1

    def test_bits_that_are_declared_count_first(self, tmp_path: Path) -> None:
        (tmp_path / "a.tif").write_bytes(bare_tiff(pack_bits(sixteen(0, 1) >> 4, 12), (23, 31), 12))
        assert read_picture(tmp_path / "a.tif", Reading(bits=14)).data_range == 2**14 - 1

    def test_bits_in_reversed_order(self, tmp_path: Path) -> None:
        pixels, path = picture()[..., 0], tmp_path / "a.tif"
        turned = np.packbits(np.unpackbits(pixels[..., None], axis=-1)[..., ::-1], axis=-1)
        path.write_bytes(bare_tiff(turned.tobytes(), pixels.shape[::-1], 8, t266=2))
        assert np.array_equal(read_image(path), pixels)

    @pytest.mark.parametrize("inside", [8, 16])
    def test_jpeg_2000_of_other_bits_inside(self, tmp_path: Path, inside: int) -> None:
        pytest.importorskip("imagecodecs")
        pixels, path = (picture() if inside == 8 else sixteen())[..., 0], tmp_path / "a.tif"
        for declared in (8, 16):
            path.write_bytes(bare_tiff(jpeg_2000(pixels), pixels.shape[::-1], declared, t259=34712))
            if declared == inside:
                assert np.array_equal(read_image(path), pixels)
            else:
                with pytest.raises(ImageError, match=f"declares {declared} bits, and the JPEG 2000 frame .* of {inside} bits"):
                    read_image(path)


class TestImagesInside:
    """Strips and tiles that are images declare their own size; nothing larger than the strip or tile is decoded."""

    @pytest.mark.parametrize(("compression", "form"), [(7, "JPEG"), (34712, "JPEG2000"), (34933, "PNG"), (50001, "WEBP")])
    def test_larger_than_declared(self, tmp_path: Path, compression: int, form: str) -> None:
        pytest.importorskip("imagecodecs")
        buffer = io.BytesIO()
        Image.new("RGB", (500, 400)).save(buffer, form)
        (tmp_path / "a.tif").write_bytes(bare_tiff(buffer.getvalue(), (60, 64), 8, 3, t259=compression))
        with pytest.raises(ImageError, match="tile of 60 x 64 pixels holds an image of 500 x 400"):
            read_image(tmp_path / "a.tif")

    def test_kinds_whose_size_is_not_known(self, tmp_path: Path) -> None:
        pytest.importorskip("imagecodecs")
        (tmp_path / "a.tif").write_bytes(bare_tiff(b"\xff\x0a" + bytes(90), (60, 64), 8, t259=50002))
        with pytest.raises(ImageError, match="whose size cannot be checked"):
            read_image(tmp_path / "a.tif")

    def test_a_missing_tile(self, tmp_path: Path) -> None:
        pytest.importorskip("imagecodecs")
        data = drop_tile(jpeg_2000(picture()[..., 0], tile_size=(16, 16)), 3)
        (tmp_path / "a.tif").write_bytes(bare_tiff(data, picture().shape[1::-1], 8, t259=34712))
        with pytest.raises(ImageError, match="holds 11 tiles, and 12 would cover it"):
            read_image(tmp_path / "a.tif")
