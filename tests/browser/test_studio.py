"""The Studio in a real Chromium, used as a person would: its bytes are the library's, and nothing leaves it."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from tests.browser.chromium import wait_for
from tests.browser.pairs import FEW, THOROUGH, Bytes, Settings, fingerprint, narrow_noise, noise, slides, with_alpha
from tests.browser.studio_page import StudioPage, save

# ---- the same bytes --------------------------------------------------------------------------------------------------------


def check_bytes(page: StudioPage, folder: Path, content: Bytes, style: Bytes, settings: list[Settings]) -> None:
    page.load(save(folder / "content.png", content), save(folder / "style.png", style))
    answers = page.fingerprints(*settings)
    different = [one for one, answer in zip(settings, answers, strict=True) if answer != fingerprint(one.match(content, style))]
    assert not different
    assert len(set(answers)) > len(settings) // 4  # the settings made a difference


def test_slides_in_every_setting_give_the_library_s_bytes(page: StudioPage, tmp_path: Path) -> None:
    check_bytes(page, tmp_path, *slides(), THOROUGH)


def test_noise_gives_the_library_s_bytes(page: StudioPage, tmp_path: Path) -> None:
    check_bytes(page, tmp_path, narrow_noise(), noise(), FEW)


def test_transparency_is_kept(page: StudioPage, tmp_path: Path) -> None:
    check_bytes(page, tmp_path, with_alpha(noise()), narrow_noise(), FEW)


def test_an_example_gives_the_library_s_bytes(page: StudioPage) -> None:
    library = json.loads(page.browser.text("#library"))
    read = {key: _decoded(entry) for key, entry in library["images"].items()}
    example = library["examples"][0]
    page.wait_fingerprint(fingerprint(rc.match(read[example["content"]], read[example["styles"][0]])))


def _decoded(entry: dict[str, str]) -> Bytes:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(entry["base64"]))).convert("RGB"))


def test_a_blank_content_is_left_as_it_is_until_it_is_asked_for(page: StudioPage, tmp_path: Path) -> None:
    glass, style = np.random.default_rng(0).normal(243, 2, (24, 32, 3)).round().astype(np.uint8), noise()
    page.load(save(tmp_path / "content.png", glass), save(tmp_path / "style.png", style))
    page.wait_fingerprint(fingerprint(glass))
    assert "left as it is" in page.browser.text("#flags")
    assert "the content is blank" in page.browser.text("#snippet")
    page.browser.run("document.getElementById('keep-blank').click()")
    page.wait_fingerprint(fingerprint(rc.match(glass, style)))
    assert "noise, amplified" in page.browser.text("#flags")


@pytest.mark.parametrize(
    "kind", ["RGB", "RGBA", "L", "LA", "1", "palette", "jpeg", "grey jpeg", "interlaced", "16-bit RGB", "16-bit grey"]
)
def test_files_are_decoded_to_pillow_s_pixels(page: StudioPage, tmp_path: Path, kind: str) -> None:
    """At strength 0 the output is the content: its fingerprint tells how the file was decoded."""
    image = Image.fromarray(np.asarray(Image.fromarray(slides()[0]).resize((67, 45))))
    file = tmp_path / ("content.jpg" if "jpeg" in kind else "content.png")
    expected = _write_kind(image, file, kind)
    page.load(file, save(tmp_path / "style.png", noise()))
    assert page.fingerprints(Settings(strength=0.0)) == [fingerprint(np.asarray(expected))]


def _write_kind(image: Image.Image, file: Path, kind: str) -> Image.Image:
    if kind.startswith("16-bit"):
        return _write_deep(image, file, grey=kind.endswith("grey"))
    if kind == "palette":
        image.quantize(31).save(file)
    elif kind == "jpeg":
        image.save(file, quality=90, subsampling="4:4:4")
    elif kind == "grey jpeg":
        image.convert("L").save(file, quality=90)
    elif kind == "interlaced":
        _write_interlaced(image, file)
    elif kind == "RGBA":
        Image.fromarray(with_alpha(np.asarray(image))).save(file)
    else:
        image.convert(kind).save(file)
    return Image.open(file).convert("RGBA" if kind in ("RGBA", "LA") else "RGB")


def _write_deep(image: Image.Image, file: Path, *, grey: bool) -> Image.Image:
    """Pillow writes no 16-bit colour; OpenCV does."""
    import cv2

    levels = np.asarray(image.convert("L") if grey else image).astype(np.uint16) * 256 + 200
    assert cv2.imwrite(str(file), levels if grey else np.ascontiguousarray(levels[..., ::-1]))
    return (image.convert("L") if grey else image).convert("RGB")


def _write_interlaced(image: Image.Image, file: Path) -> None:
    """Adam7 by hand, rows unfiltered: neither Pillow nor OpenCV writes it."""
    pixels, raw = np.asarray(image), b""
    for left, top, right, down in (
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ):
        part = pixels[top::down, left::right]
        raw += b"".join(b"\0" + row.tobytes() for row in part) if part.size else b""
    header = image.width.to_bytes(4, "big") + image.height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 1])
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(raw)), (b"IEND", b""))
    body = b"".join(len(d).to_bytes(4, "big") + n + d + zlib.crc32(n + d).to_bytes(4, "big") for n, d in chunks)
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


# ---- drop, look, read ------------------------------------------------------------------------------------------------------


def test_dropped_files_are_matched_and_the_numbers_are_the_library_s(page: StudioPage, tmp_path: Path) -> None:
    content, style = narrow_noise(), noise()
    page.browser.drop("#content-canvas", save(tmp_path / "mine.png", content))
    page.browser.drop("#style-canvas", save(tmp_path / "theirs.png", style), save(tmp_path / "other.png", content))
    page.wait_fingerprint(fingerprint(rc.match(content, style)))
    plan = Settings().plan(content, style)
    audit = rc.audit(content, plan)
    output = rc.measure(rc.match(content, style))
    exact = {
        "alpha": plan.gain,
        "beta": plan.offset,
        "mean-content": plan.content_mean,
        "std-content": plan.content_std,
        "mean-style": plan.style_mean,
        "std-style": plan.style_std,
        "mean-output": output.mean,
        "std-output": output.std,
        "clipped": audit.clipped,
    }
    assert {name: page.row(name) for name in exact} == {name: values.tolist() for name, values in exact.items()}
    np.testing.assert_allclose(page.row("pearson"), audit.pearson, rtol=1e-12)
    lines = page.browser.run("Array.from(document.querySelectorAll('.equation'), (line) => line.textContent)")
    assert lines[0] == f"R′ = {plan.gain[0]:.4f} R {'−' if plan.offset[0] < 0 else '+'} {abs(plan.offset[0]):.2f}"
    assert page.browser.run("document.querySelectorAll('#strip label').length") == 2  # the example's styles were removed


def test_clicking_through_the_strip_changes_the_style(page: StudioPage, tmp_path: Path) -> None:
    content, first, second = noise(), narrow_noise(), slides()[0]
    files = save(tmp_path / "first.png", first), save(tmp_path / "second.png", second)
    page.load(save(tmp_path / "content.png", content), *files)
    page.wait_fingerprint(fingerprint(rc.match(content, first)))
    page.browser.click("#strip label:nth-child(2)")
    page.wait_fingerprint(fingerprint(rc.match(content, second)))


def test_clipped_pixels_are_counted_and_coloured(page: StudioPage, tmp_path: Path) -> None:
    content = np.full((20, 30, 3), 100, np.uint8)
    content[::2], content[:, 29:] = 104, 140  # the few bright pixels will rise above 255
    style = noise()
    page.load(save(tmp_path / "content.png", content), save(tmp_path / "style.png", style))
    plan = Settings().plan(content, style)
    unclipped = np.rint(content @ plan.matrix.T + plan.offset)
    share = rc.audit(content, plan).clipped_overall
    assert 0 < share < 1
    assert share == pytest.approx(float(((unclipped < 0) | (unclipped > 255)).mean()))
    shown = float(page.browser.run("document.querySelector('#clipped-share').dataset.value"))
    assert shown == pytest.approx(share, rel=1e-12)  # the same figure as of the command
    page.browser.click("#show-loss")  # outlines lie above it, and the picture is small
    page.browser.click("#show-clipped")
    wait_for(lambda: _has_colour(page, "#output-canvas", (255, 128, 0)), 5, "orange on the output")
    page.browser.click("#show-clipped")
    wait_for(lambda: not _has_colour(page, "#output-canvas", (255, 128, 0)), 5, "the overlay to go")


def test_lost_detail_is_outlined_unless_it_is_switched_off(page: StudioPage, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(170, 14, (128, 128, 3))
    values[32:64, 32:64] = rng.normal(25, 8, (32, 32, 3))
    content = np.clip(values, 0, 255).astype(np.uint8)
    style = np.clip(2.0 * content - 170, 0, 255).astype(np.uint8)
    page.load(save(tmp_path / "content.png", content), save(tmp_path / "style.png", style))
    page.wait_fingerprint(fingerprint(rc.match(content, style)))
    audit = rc.audit(content, Settings().plan(content, style))
    assert audit.loss_share > 0.02
    shown = float(page.browser.run("document.querySelector('#loss-share').dataset.value"))
    assert shown == pytest.approx(audit.loss_share)
    assert not page.browser.run("document.querySelector('#loss-advice').hidden")
    wait_for(lambda: _has_colour(page, "#output-canvas", (255, 0, 200)), 5, "outlines on the output")
    page.browser.click("#show-loss")
    wait_for(lambda: not _has_colour(page, "#output-canvas", (255, 0, 200)), 5, "the outlines to go")


def _has_colour(page: StudioPage, canvas: str, colour: tuple[int, int, int]) -> bool:
    return bool((page.colours(canvas)[..., :3] == colour).all(axis=2).any())


def test_the_mask_is_previewed(page: StudioPage, tmp_path: Path) -> None:
    page.load(save(tmp_path / "content.png", noise()), save(tmp_path / "style.png", noise(1)))
    before = page.colours("#content-canvas")
    page.fingerprints(Settings(mask="darker", content_threshold=60))
    after = page.colours("#content-canvas")
    assert (before != after).any(axis=2).mean() > 0.3  # most of the noise is brighter and was hatched
    page.browser.click("#show-mask")
    wait_for(lambda: np.array_equal(page.colours("#content-canvas"), before), 5, "the hatching to go")


def test_flags_are_shown(page: StudioPage, tmp_path: Path) -> None:
    content = np.full((4, 5, 3), 9, np.uint8)
    content[1:3, :, 1] = 90  # so that the image is not blank
    page.load(save(tmp_path / "content.png", content), save(tmp_path / "style.png", noise()))
    flags = page.browser.run("Array.from(document.querySelectorAll('[data-flag]'), (line) => line.dataset.flag)")
    assert flags == ["R flat", "B flat"]


def test_what_cannot_be_used_is_said_and_does_not_stop_the_page(page: StudioPage, tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(60))
    (tmp_path / "words.jpg").write_text("not an image")
    for name in ("broken.png", "words.jpg"):
        page.browser.drop("#content-canvas", tmp_path / name)
        wait_for(lambda name=name: name in page.message(), 5, f"a sentence about {name}")  # type: ignore[misc]
    page.fingerprints(Settings(mask="brighter", content_threshold=255))
    assert "selects no pixel" in page.message()
    assert page.browser.run("document.querySelector('#save-png').disabled") is True
    page.load(save(tmp_path / "content.png", noise()), save(tmp_path / "style.png", noise(1)))
    assert page.fingerprints(Settings()) == [fingerprint(rc.match(noise(), noise(1)))]
    assert page.message() == ""


# ---- taking it away --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (Settings(), "png"),
        (Settings("covariance", "ycbcr", 0.7, mask="darker", only_inside=True), "png"),
        (Settings("mean_std", "yiq", mask="brighter"), "alpha"),
        (Settings("histogram", strength=0.8, mask="darker", only_inside=True), "png"),
        (Settings("histogram", "yiq", 0.6, mask="brighter"), "alpha"),
        (Settings("histogram", "ycbcr"), "jpeg"),
        (Settings("mean_std", "lab", 0.7, mask="darker", only_inside=True), "png"),
        (Settings("exact_histogram", "hsv", mask="darker"), "alpha"),
    ],
)
def test_png_plan_and_script_reproduce_the_bytes(page: StudioPage, tmp_path: Path, settings: Settings, kind: str) -> None:
    content, style = slides()
    if kind == "alpha":
        content = with_alpha(content)
    name = "my slide's “content”.jpg" if kind == "jpeg" else "my slide's “content”.png"
    page.load(save(tmp_path / name, content), save(tmp_path / "style.png", style))
    if kind == "jpeg":
        content = np.asarray(Image.open(tmp_path / name).convert("RGB"))
    expected = settings.match(content, style)
    assert page.fingerprints(settings) == [fingerprint(expected)]

    called, png = page.browser.download("#save-png")
    assert called.endswith("-matched.png")
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png))), expected)
    if not settings.is_affine:
        assert page.browser.run("document.querySelector('#save-plan').disabled") is True
        assert page.browser.run("document.querySelector('#space').disabled") is False
    else:
        plan = rc.Plan.from_json(page.browser.download("#save-plan")[1].decode())
        inside = settings.masks(content, style)[0] if settings.only_inside else None
        assert np.array_equal(rc.apply(content, plan, mask=inside), expected)
    _run_script(tmp_path, page.browser.download("#save-snippet")[1])
    assert np.array_equal(np.asarray(Image.open(tmp_path / "output.png")), expected)


def _run_script(folder: Path, script: bytes) -> None:
    (folder / "again.py").write_bytes(script)
    paths = os.pathsep.join([str(Path(rc.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "again.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
