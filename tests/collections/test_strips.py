"""Huge images: whatever the strips, the result is that of the whole image."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist.collections import Masks, OutputOptions, match_file
from recolorist.collections.strips import StripLimits, apply_strips, are_strips_blank, count_strips, measure_strips, write_strips
from recolorist.collections.target import Target
from recolorist.core import foreground
from recolorist.core import image as check
from recolorist.core.blank import is_blank
from recolorist.core.clipping import level_counts
from recolorist.core.options import MatchOptions
from recolorist.errors import ImageError, OptionError
from recolorist.io.images import Reading, open_strips, read_image
from recolorist.io.pyramid import halve
from recolorist.io.strips import ArrayStrips, Strips
from recolorist.io.write import encode
from tests.commands import picture

SMALL = Reading(max_pixels=20_000)  # anything larger goes through in strips


@pytest.fixture(params=[np.uint8, np.uint16], ids=["8 bits", "16 bits"])
def image(request: pytest.FixtureRequest) -> NDArray[Any]:
    pixels = picture(0, (613, 401))
    return pixels if request.param is np.uint8 else pixels.astype(np.uint16) * 251


@pytest.fixture(autouse=True)
def _narrow_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recolorist.io.strips.BAND_BYTES", 1)  # one row of tiles at a time, so that there are many


class TestAnyStrips:
    @pytest.mark.parametrize("step", [1, 7, 64, 256, 2048])
    @pytest.mark.parametrize("method", ["mean_std", "covariance"])
    def test_equal_bytes(self, image: NDArray[Any], step: int, method: Any) -> None:
        style = rc.measure(picture(1))
        source = ArrayStrips(image, step=step)
        plan = rc.plan(measure_strips(source), style, method=method)
        assert np.array_equal(np.concatenate(list(apply_strips(source, plan))), rc.match(image, style, method))

    @pytest.mark.parametrize("rule", ["tissue", "fundus"])
    def test_rules(self, image: NDArray[Any], rule: str) -> None:
        image = image.copy()
        image[:300] = np.iinfo(image.dtype).max if rule == "tissue" else 0
        opened = check.open_image(image)
        mask = foreground.RULES[rule](opened.colour, opened.data_range)
        assert mask is not None
        assert measure_strips(ArrayStrips(image), rule) == rc.measure(image, mask)

    @pytest.mark.parametrize("step", [1, 30, 200])
    def test_the_disc_of_a_fundus_is_found_in_strips(self, step: int) -> None:
        y, x = np.mgrid[:90, :120]
        eye = np.where((x - 60) ** 2 + (y - 45) ** 2 < 1600, 90, 3).astype(np.uint8)[..., None].repeat(3, axis=2)
        eye[20:50, 20:60] = 4  # a dark part, which a threshold leaves out
        mask = foreground.fundus(eye, 255.0)
        assert mask is not None
        assert mask[30, 40]
        assert measure_strips(ArrayStrips(eye, step=step), "fundus") == rc.measure(eye, mask)

    def test_a_rule_that_finds_nothing_is_not_used(self) -> None:
        blank = np.full((600, 40, 3), 250, np.uint8)
        blank[5, 5] = 9
        assert measure_strips(ArrayStrips(blank, step=100), "tissue") == rc.measure(blank)

    def test_a_mask_with_empty_strips(self, image: NDArray[Any]) -> None:
        mask = np.zeros(image.shape[:2], np.uint8)
        mask[411:430, 7:300] = 255
        assert measure_strips(ArrayStrips(image, step=64), ArrayStrips(mask, step=64)) == rc.measure(image, mask)
        with pytest.raises(ImageError, match="selects no pixel"):
            measure_strips(ArrayStrips(image), ArrayStrips(mask * 0))

    def test_histograms(self, image: NDArray[Any]) -> None:
        assert np.array_equal(count_strips(ArrayStrips(image, step=50)), level_counts(check.open_image(image), None))


def stored(path: Path, image: NDArray[Any], **options: Any) -> Path:
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(path, image, photometric="rgb" if image.ndim == 3 else "minisblack", **options)
    return path


class TestFiles:
    @pytest.mark.parametrize(
        "options",
        [{}, {"tile": (64, 48)}, {"tile": (128, 128), "compression": "zlib"}, {"rowsperstrip": 100, "compression": "zlib"}],
        ids=str,
    )
    def test_tiff_to_tiff(self, tmp_path: Path, image: NDArray[Any], options: dict[str, Any]) -> None:
        path = stored(tmp_path / "a.tif", image, **options)
        (tmp_path / "s.png").write_bytes(encode(picture(1), ".png"))
        done = match_file(path, tmp_path / "s.png", tmp_path / "out.tif", reading=SMALL)
        assert done.output is None  # it did go through in strips
        assert np.array_equal(read_image(tmp_path / "out.tif"), rc.match(image, picture(1)))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tif", "out.tif", "s.png"]

    def test_the_output_is_tiled_and_says_nothing_of_itself(self, tmp_path: Path, image: NDArray[Any]) -> None:
        tifffile = pytest.importorskip("tifffile")
        path = stored(tmp_path / "a.tif", image, description="Jane Q. Patient", compression="zlib", tile=(64, 64))
        match_file(path, path, tmp_path / "out.tif", reading=SMALL)
        with tifffile.TiffFile(tmp_path / "out.tif") as file:
            assert file.pages[0].is_tiled
            assert {"ImageDescription", "Software", "DateTime"}.isdisjoint(file.pages[0].tags)
        assert b"Jane" not in (tmp_path / "out.tif").read_bytes()

    @pytest.mark.parametrize("suffix", [".npy", ".zarr"])
    def test_npy_and_zarr(self, tmp_path: Path, image: NDArray[Any], suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
        if suffix == ".zarr":
            pytest.importorskip("zarr")
            monkeypatch.setattr("recolorist.io.strips.BAND_BYTES", 50 * image[0].nbytes)  # each band packs a chunk anew
        np.save(tmp_path / "a.npy", image)
        plan = rc.plan(rc.measure(image), rc.measure(picture(1)))
        match_file(tmp_path / "a.npy", plan, tmp_path / f"out{suffix}", reading=SMALL)
        assert np.array_equal(read_image(tmp_path / f"out{suffix}"), rc.apply(image, plan))
        with pytest.raises(OptionError, match="exists"):
            match_file(tmp_path / "a.npy", plan, tmp_path / f"out{suffix}", reading=SMALL)
        match_file(tmp_path / "a.npy", plan, tmp_path / f"out{suffix}", reading=SMALL, output=OutputOptions(force=True))

    def test_slide(self, tmp_path: Path) -> None:
        pytest.importorskip("openslide")
        pixels = picture(0, (700, 900))
        path = stored(tmp_path / "a.svs", pixels, tile=(64, 64), compression="zlib")
        match_file(path, rc.plan(rc.measure(pixels), rc.measure(picture(1))), tmp_path / "out.tif")
        assert np.array_equal(read_image(tmp_path / "out.tif"), rc.match(pixels, picture(1)))

    @pytest.mark.parametrize("apply_to", ["all", "mask"])
    def test_mask_file(self, tmp_path: Path, image: NDArray[Any], apply_to: str) -> None:
        mask = np.zeros(image.shape[:2], np.uint8)
        mask[100:500, 50:] = 255
        np.save(tmp_path / "mask.npy", mask)
        (tmp_path / "s.png").write_bytes(encode(picture(1), ".png"))
        masks, options = Masks(str(tmp_path / "mask.npy")), MatchOptions(apply_to=apply_to)  # type: ignore[arg-type]
        match_file(stored(tmp_path / "a.tif", image), tmp_path / "s.png", tmp_path / "o.tif", options, masks=masks, reading=SMALL)
        expected = rc.match(image, picture(1), mask=mask, apply_to=apply_to)
        assert np.array_equal(read_image(tmp_path / "o.tif"), expected)

    def test_pyramid(self, tmp_path: Path) -> None:
        tifffile = pytest.importorskip("tifffile")
        image = picture(0, (1301, 1703))
        write_strips(Target(str(tmp_path)), "p.tif", ArrayStrips(image, step=100), None, None, pyramid=True)
        with tifffile.TiffFile(tmp_path / "p.tif") as file:
            levels = [level.asarray() for level in file.series[0].levels]
        assert [level.shape for level in levels] == [(1301, 1703, 3), (651, 852, 3), (326, 426, 3)]
        assert np.array_equal(levels[0], image)
        even = np.concatenate([image, image[-1:]])
        assert np.array_equal(levels[1], halve(even))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["p.tif"]

    def test_a_failed_write_leaves_nothing(self, tmp_path: Path, image: NDArray[Any]) -> None:
        pytest.importorskip("tifffile")

        class Broken(ArrayStrips):
            def rows(self, start: int, stop: int) -> NDArray[Any]:
                if start > 300:
                    raise ImageError("the disk was pulled out")
                return super().rows(start, stop)

        with pytest.raises(ImageError, match="pulled out"):
            write_strips(Target(str(tmp_path)), "o.tif", Broken(image), None, None)
        assert list(tmp_path.iterdir()) == []


class TestRefused:
    def test_formats_that_must_be_decoded_as_a_whole(self, tmp_path: Path) -> None:
        (tmp_path / "a.png").write_bytes(encode(picture(), ".png"))
        with pytest.raises(ImageError, match="over the limit of 1,960"):
            match_file(tmp_path / "a.png", tmp_path / "a.png", tmp_path / "o.png", reading=Reading(max_pixels=1960))

    def test_outputs_that_cannot_be_written_by_rows(self, tmp_path: Path, image: NDArray[Any]) -> None:
        with pytest.raises(ImageError, match=r"\.tif, \.npy or \.zarr"):
            match_file(stored(tmp_path / "a.tif", image), tmp_path / "a.tif", tmp_path / "o.png", reading=SMALL)

    def test_methods_that_need_all_pixels(self, tmp_path: Path, image: NDArray[Any]) -> None:
        with pytest.raises(OptionError, match="needs the whole image in memory"):
            match_file(
                stored(tmp_path / "a.tif", image),
                tmp_path / "a.tif",
                tmp_path / "o.tif",
                MatchOptions("histogram"),
                reading=SMALL,
            )

    def test_one_enormous_strip(self, tmp_path: Path, image: NDArray[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recolorist.io.strips.MOST_BAND_BYTES", 100_000)
        path = stored(tmp_path / "a.tif", image, rowsperstrip=613, compression="zlib")
        with pytest.raises(ImageError, match="save it in tiles first"):
            match_file(path, path, tmp_path / "o.tif", reading=SMALL)

    def test_a_bomb(self, tmp_path: Path) -> None:
        path = stored(tmp_path / "a.tif", np.zeros((9000, 9000, 3), np.uint8), compression="zlib", tile=(3008, 3008))
        with pytest.raises(ImageError, match="over 500 times its own size"):
            open_strips(path, Reading(max_pixels=10**7))

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    def test_cut_off(self, tmp_path: Path, image: NDArray[Any], share: float) -> None:
        path = stored(tmp_path / "a.tif", image, tile=(64, 64), compression="zlib")
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
        with pytest.raises(ImageError):
            open_strips(path, SMALL)

    def test_a_mask_of_another_size(self, tmp_path: Path, image: NDArray[Any]) -> None:
        mask: Strips = ArrayStrips(np.ones((9, 9), np.uint8))
        with pytest.raises(ImageError, match="the mask is 9 x 9"):
            write_strips(Target(str(tmp_path)), "o.tif", ArrayStrips(image), rc.plan(rc.measure(image), rc.measure(image)), mask)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell how much memory was used")
def test_memory_does_not_grow_with_the_image(tmp_path: Path) -> None:
    """198 MiB of pixels through a process whose peak grows by far less."""
    pytest.importorskip("tifffile")
    small = np.tile(picture(0, (428, 300)), (1, 10, 1))
    np.save(tmp_path / "tile.npy", small)
    code = (
        "import sys, numpy as np, tifffile\n"
        "from pathlib import Path\n"
        "from recolorist.collections.one_file import match_file\n"
        "from recolorist.io.images import Reading\n"
        "folder = Path(sys.argv[1]); tile = np.load(folder / 'tile.npy')\n"
        "with tifffile.TiffWriter(folder / 'a.tif') as writer:\n"
        "    strips = (tile for _ in range(54))\n"
        "    writer.write(strips, shape=(54 * 428, 3000, 3), dtype='uint8', photometric='rgb', rowsperstrip=428)\n"
        "np.save(folder / 's.npy', tile[:64, :64] // 2)\n"
        "match_file(folder / 's.npy', folder / 's.npy', folder / 'warm.npy')\n"
        "Path('/proc/self/clear_refs').write_text('5')\n"
        "status = lambda name: int(next(l for l in open('/proc/self/status') if l.startswith(name)).split()[1])\n"
        "before = status('VmRSS')\n"
        "match_file(folder / 'a.tif', folder / 's.npy', folder / 'o.tif', reading=Reading(max_pixels=10**6))\n"
        "print(status('VmHWM') - before)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)  # noqa: S603
    assert int(run.stdout) < 80 * 1024
    assert (tmp_path / "o.tif").stat().st_size > 54 * 428 * 3000 * 3


class TestLimits:
    """The limits of an image in strips are those of the whole image."""

    @pytest.mark.parametrize("space", ["rgb", "ycbcr"])
    @pytest.mark.parametrize("rule", [None, "tissue"])
    def test_share_clipped_and_detail_lost(self, space: str, rule: str | None) -> None:
        image = picture(0, (101, 67))
        image[:, 50:] = 250  # glass
        strong = rc.Moments(100, [128.0] * 3, np.diag([90.0**2] * 3), 255.0)
        plan = rc.plan(rc.measure(image), strong, space)
        inside = None if rule is None else foreground.RULES[rule](image, 255.0)
        limits = StripLimits(ArrayStrips(image, step=16), rule, MatchOptions(space=space))
        whole = rc.audit(image, plan, mask=inside)
        assert limits.count_clipped(plan) == pytest.approx(whole.clipped_overall, abs=1e-12)
        assert limits.loss(plan).share == whole.loss_share
        assert limits.loss(plan).worst_box == whole.loss_worst_box

    @pytest.mark.parametrize("limit", [0.0, 0.01, 0.5])
    def test_a_limit_on_clipping_is_kept(self, tmp_path: Path, limit: float) -> None:
        image, style = picture(0, (201, 103)), (picture(1) // 128 * 255).astype(np.uint8)
        (tmp_path / "s.png").write_bytes(encode(style, ".png"))
        source, options = stored(tmp_path / "a.tif", image), MatchOptions(max_clip=limit)
        strips = match_file(source, tmp_path / "s.png", tmp_path / "o.tif", options, reading=SMALL)
        whole = match_file(source, tmp_path / "s.png", tmp_path / "w.tif", options)
        assert np.array_equal(read_image(tmp_path / "o.tif"), read_image(tmp_path / "w.tif"))
        assert (strips.contrast, strips.plan) == (whole.contrast, whole.plan)
        assert strips.plan is not None
        assert rc.audit(image, strips.plan).clipped_overall <= limit


class TestBlank:
    def test_glass_in_strips_is_blank_and_tissue_is_not(self) -> None:
        glass, tissue = np.full((130, 40, 3), 243, np.uint8), picture(0, (130, 40))
        for pixels, expected in ((glass, True), (tissue, False)):
            source = ArrayStrips(pixels, step=16)
            assert are_strips_blank(source, None, measure_strips(source)) is expected

    @pytest.mark.parametrize("dtype", [np.uint8, np.float32])
    @pytest.mark.parametrize("space", ["rgb", "lab"])
    @pytest.mark.parametrize("name", ["even", "speck", "halves"])
    def test_an_image_is_blank_as_a_whole(self, dtype: Any, space: str, name: str) -> None:
        """A speck may fill much of one band, and bands may be of one colour each: what counts is the whole image."""
        levels = np.full((160, 40, 3), 240, np.uint8)
        levels[:8, :20] = 255 if name == "speck" else 240
        levels[80:] = 30 if name == "halves" else 240
        pixels = levels if dtype is np.uint8 else (levels / 255).astype(dtype)
        source = ArrayStrips(pixels, step=16)
        expected = is_blank(check.open_image(pixels))
        assert expected is (name != "halves")
        assert are_strips_blank(source, None, measure_strips(source, space=space)) is expected

    def test_without_a_declared_range_only_one_colour_is_blank(self) -> None:
        pixels = np.repeat(np.arange(10.0), 16)[:, None, None] * np.ones((1, 7, 3))
        for values, expected in ((pixels, False), (pixels * 0 + 3.5, True)):
            source = ArrayStrips(values, data_range=math.inf, step=16)
            assert is_blank(check.open_image(values, math.inf)) is expected
            assert are_strips_blank(source, None, measure_strips(source)) is expected

    def test_an_image_without_rows_is_refused(self) -> None:
        empty = ArrayStrips(np.zeros((0, 5, 3), np.uint8))
        with pytest.raises(ImageError, match="it has no rows"):
            count_strips(empty)


@pytest.mark.parametrize("pyramid", [False, True])
def test_a_grey_tiff_is_written_as_one_image(tmp_path: Path, image: NDArray[Any], pyramid: bool) -> None:
    """Tifffile takes (H, W, 1) for H images of one column; then tiles were missing, and no grey TIFF could be written."""
    source = stored(tmp_path / "a.tif", image[..., 1])
    style = rc.StyleBank.build([picture(1)[..., 0]], split="train").save(tmp_path / "s.rcb")
    match_file(source, style, tmp_path / "o.tif", reading=SMALL, pyramid=pyramid)
    match_file(source, style, tmp_path / "w.tif")
    assert np.array_equal(read_image(tmp_path / "o.tif"), read_image(tmp_path / "w.tif"))


def test_an_image_that_lies_on_its_side_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    """Strips are not turned: the output would lie on its side without saying so."""
    source: Strips = ArrayStrips(np.zeros((20, 30, 3), np.uint8))
    source.orientation = 6
    with pytest.raises(ImageError, match="its orientation tag rotates or mirrors it"):
        write_strips(Target(str(tmp_path)), "o.tif", source, None, None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_a_mask_without_a_pixel_in_some_bands_counts_the_others_only(dtype: Any) -> None:
    pixels = np.full((40, 10, 3), 250, np.uint8)
    pixels[30:] = np.random.default_rng(0).integers(0, 200, (10, 10, 3))
    image = pixels if dtype == np.uint8 else (pixels / 255).astype(np.float32)
    source, style = ArrayStrips(image, step=10), rc.Moments(1, [0.9] * 3, np.eye(3) * 0.2, 1.0)
    options = MatchOptions("covariance")
    plan = rc.plan(rc.measure(image[30:]), style, method="covariance")
    inside: Strips = ArrayStrips((np.arange(40)[:, None] >= 30).repeat(10, 1).astype(np.uint8), step=10)
    clipped = StripLimits(source, inside, options).count_clipped(plan)
    assert clipped == pytest.approx(rc.audit(image[30:], plan).clipped_overall, abs=1e-12)
    assert clipped > 0
