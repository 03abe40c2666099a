"""The page's engine in Node, against the library: the same bytes, the same plans, the same figures."""

from __future__ import annotations

import base64
import itertools
import json
import math
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recolorist as rc
from recolorist import studio
from recolorist.augment.samplers import own_style_by
from recolorist.bank.style_bank import StyleBank
from recolorist.core.blank import blank_map, is_blank
from recolorist.core.histograms import match_levels
from recolorist.core.image import open_image
from recolorist.core.kernels.fallback_math import natural_log, power_of_e
from recolorist.core.spaces import SPACES, mix_channels
from recolorist.core.style_change import StyleChange
from recolorist.studio.bundle import blank_rule, space_numbers
from tests.browser.pairs import (
    CONVERTED,
    FEW,
    LINEAR,
    METHODS,
    OFFERED,
    THOROUGH,
    Bytes,
    Settings,
    fingerprint,
    narrow_noise,
    noise,
    slides,
)
from tests.core.contracts import channels_of
from tests.full import full
from tests.golden import cases as golden

_MODULES = Path(studio.__file__).parent / "js"
_NODE = shutil.which("node")
_TSC = shutil.which("tsc")

pytestmark = pytest.mark.skipif(_NODE is None, reason="node is not installed; the same arithmetic is tested in the browser")


EACH = [Settings(method, space) for method, space in OFFERED]


def run_node(folder: Path, images: list[Bytes], cases: list[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    opaque = [np.dstack([image, np.full(image.shape[:2], 255, np.uint8)]).tobytes() for image in images]
    file = folder / "cases.json"
    encoded = [base64.b64encode(data).decode() for data in opaque]
    library = {"spaces": space_numbers(), "blank": blank_rule()}
    widths = [image.shape[1] for image in images]
    file.write_text(json.dumps(library | {"images": encoded, "widths": widths, "cases": cases, **more}))
    script = Path(__file__).with_name("run_cases.mjs")
    done = subprocess.run(  # noqa: S603 - our own script
        [str(_NODE), str(script), str(_MODULES), str(file)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare(folder: Path, content: Bytes, style: Bytes, settings: list[Settings]) -> list[dict[str, Any]]:
    cases = [{"content": 0, "style": 1, "options": one.options()} for one in settings]
    answers = run_node(folder, [content, style], cases)[:-1]
    different = [
        one for one, answer in zip(settings, answers, strict=True) if answer["sha256"] != fingerprint(one.match(content, style))
    ]
    assert not different
    return answers


def test_slides_in_every_setting_give_the_same_bytes(tmp_path: Path) -> None:
    compare(tmp_path, *slides(), THOROUGH)


@pytest.mark.parametrize("swapped", [False, True])
def test_noise_in_every_setting_gives_the_same_bytes(tmp_path: Path, *, swapped: bool) -> None:
    content, style = (narrow_noise(), noise()) if swapped else (noise(), narrow_noise())
    compare(tmp_path, content, style, THOROUGH)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (9, 1), (2, 3)])
def test_tiny_images_give_the_same_bytes(tmp_path: Path, shape: tuple[int, int]) -> None:
    everything = [one for one in FEW if one.mask == "off"]
    compare(tmp_path, noise(3, shape), noise(4, (5, 6)), everything)
    compare(tmp_path, noise(5, (5, 6)), noise(6, shape), everything)


def test_flat_and_grey_images_give_the_same_bytes_and_flags(tmp_path: Path) -> None:
    flat, grey = np.full((4, 5, 3), 77, np.uint8), np.repeat(noise(7)[..., :1], 3, axis=2)
    whole = [Settings(method, space) for method, space in OFFERED]
    whole += [Settings(method, space, 0.37, 1.3) for method, space in OFFERED]
    for content, style in itertools.permutations([flat, grey, noise(8)], 2):
        for one, answer in zip(whole, compare(tmp_path, content, style, whole), strict=True):
            if one.is_affine:
                assert tuple(map(tuple, answer["flags"])) == one.plan(content, style).flags


def test_golden_images_give_the_stored_bytes(tmp_path: Path) -> None:
    """Every method in every space; C and the fallback are compared with the same files, also at tolerance zero."""
    manifest = json.loads((golden.FOLDER / "manifest.json").read_text("utf-8"))["cases"]
    cases = [one for one in golden.all_cases() if (one.dtype, one.channels) == ("uint8", 3) and set(one.options) <= {"strength"}]
    assert {(one.method, one.space) for one in cases} == set(OFFERED)
    images = [golden.image(seed, 3, "uint8") for seed in (1, 2)]
    settings = [Settings(one.method, one.space, **one.options) for one in cases]
    asked = [{"content": 0, "style": 1, "options": one.options()} for one in settings]
    for case, answer in zip(cases, run_node(tmp_path, images, asked), strict=False):
        pixels = np.frombuffer(base64.b64decode(answer["pixels"]), np.uint8).reshape(images[0].shape)
        assert golden.digest(pixels) == manifest[case.name]["sha256"], case.name


def test_an_image_matched_to_itself_stays(tmp_path: Path) -> None:
    for image in (noise(9), np.full((3, 4, 3), 9, np.uint8)):
        answers = run_node(tmp_path, [image], [{"content": 0, "style": 0, "options": one.options()} for one in FEW[::2]])
        assert {answer["sha256"] for answer in answers[:-1]} == {fingerprint(image)}


@pytest.mark.parametrize("pair", ["slides", "small gains"])
def test_plans_are_the_library_s_character_for_character_and_reproduce_the_bytes(tmp_path: Path, pair: str) -> None:
    content, style = slides() if pair == "slides" else (noise(), narrow_noise())
    settings = [one for one in THOROUGH if one.is_affine]
    for one, answer in zip(settings, compare(tmp_path, content, style, settings), strict=True):
        assert answer["plan"] == one.plan(content, style).to_json()
        inside = one.masks(content, style)[0] if one.only_inside else None
        assert fingerprint(rc.apply(content, rc.Plan.from_json(answer["plan"]), mask=inside)) == answer["sha256"]


def hostile() -> list[Bytes]:
    """Of one colour, grey, of one luminance but for rounding, nearly flat, one pixel."""
    flat, grey = np.full((4, 5, 3), (3, 77, 251), np.uint8), np.repeat(noise(7)[..., :1], 3, axis=2)
    steps = np.random.default_rng(14).integers(-1, 2, (9, 11, 1))
    level = (128 + steps * (15, -9, 7)).astype(np.uint8)  # 299 · 15 - 587 · 9 + 114 · 7 = 0
    nearly = np.where(np.arange(99).reshape(9, 11, 1) == 50, np.uint8(8), np.uint8(9)) * np.ones(3, np.uint8)
    return [flat, grey, level, nearly, noise(15, (1, 1)), noise(8)]


@pytest.mark.parametrize("strength", [1.0, 0.37])
@pytest.mark.parametrize("method", METHODS)
def test_hostile_images_give_the_same_plans_and_bytes(tmp_path: Path, method: str, strength: float) -> None:
    images = hostile()
    pairs = list(itertools.product(range(len(images)), repeat=2))
    caps = (10.0, 0.3) if method in ("mean_std", "covariance") else (10.0,)
    asked = [(pair, Settings(method, space, strength, cap)) for pair in pairs for space in LINEAR + CONVERTED for cap in caps]
    cases = [{"content": i, "style": j, "options": one.options()} for (i, j), one in asked[:: full(3, 1)]]
    for ((i, j), one), answer in zip(asked[:: full(3, 1)], run_node(tmp_path, images, cases), strict=False):
        if one.is_affine:
            assert answer["plan"] == one.plan(images[i], images[j]).to_json(), (i, j, one)
        assert answer["sha256"] == fingerprint(one.match(images[i], images[j])), (i, j, one)


def test_histograms_of_many_colours_give_the_same_bytes(tmp_path: Path) -> None:
    """About a hundred thousand colours; in the second image all but two crowd into a sliver of the blue-yellow axis."""
    crowd = np.repeat(noise(17, (200, 300))[..., :1], 3, axis=2)
    crowd += np.random.default_rng(18).integers(0, 9, (200, 300, 3), np.uint8)
    crowd[0, :2] = [[0, 0, 255], [255, 255, 0]]
    for content, style in ((noise(16, (300, 333)), crowd), (crowd, noise(19, (300, 200)))):
        masked = ("off", False), ("darker", True), ("darker", False)
        settings = [
            Settings("histogram", space, strength, mask=mask, only_inside=inside)
            for space, strength, (mask, inside) in itertools.product(("ycbcr", "yiq"), (1.0, 0.63), masked)
        ]
        compare(tmp_path, content, style, settings)


def unclipped(one: Settings, content: Bytes, style: Bytes) -> NDArray[np.float64]:
    """Histogram matching of whole numbers in a linear space, rounded but not held in the range."""
    inside, style_inside = one.masks(content, style)
    pairs = zip(channels_of(content, one.space), channels_of(style, one.space), strict=True)
    moved = []
    for (values, unit), (goal, _) in pairs:
        matched = match_levels(values, inside, goal.ravel() if style_inside is None else goal[style_inside], unit)
        moved.append((matched if one.strength == 1 else values + one.strength * (matched - values)) / unit)
    basis = SPACES[one.space].basis
    assert basis is not None
    return np.rint(mix_channels(np.stack(moved, axis=-1), basis.inverse) * 255)


def test_clipping_by_histograms_is_counted(tmp_path: Path) -> None:
    """Against the library's parts, put together without the last step; with it they give what the library gives."""
    content, style = slides()
    settings = [one for one in THOROUGH if one.method == "histogram" and one.space in LINEAR[1:] and one.max_gain > 2]
    clipped = 0.0
    for one, answer in zip(settings, compare(tmp_path, content, style, settings), strict=True):
        inside, style_inside = one.masks(content, style)
        free = unclipped(one, content, style)
        apply_to = "mask" if one.only_inside else "all"
        options: Any = {"mask": inside, "style_mask": style_inside, "strength": one.strength, "apply_to": apply_to}
        output = rc.match(content, style, "histogram", one.space, **options)
        if one.only_inside:
            free, output = free[inside], output[inside]
        assert np.array_equal(np.clip(free, 0, 255), output)
        expected = ((free < 0) | (free > 255)).reshape(-1, 3).mean(axis=0)
        assert answer["report"]["clipped"] == expected.tolist()
        clipped += float(expected.sum())
    assert clipped > 0  # else the comparison above would say nothing


@pytest.mark.parametrize("kind", ["bright", "all contrast"])
def test_moments_of_large_images_are_exact(tmp_path: Path, kind: str) -> None:
    """Bright: a block's sums come close to 2**31. All contrast: squared count times variance exceeds 2**53."""
    drawn = np.random.default_rng(12).integers(0, 6, (1013, 997, 3), dtype=np.uint8)
    image = drawn + np.uint8(250) if kind == "bright" else np.where(drawn > 2, 255 - drawn, drawn)
    settings = Settings(), Settings(mask="brighter", content_threshold=100, style_threshold=100)
    answers = run_node(tmp_path, [image], [{"content": 0, "style": 0, "options": one.options()} for one in settings])
    for one, answer in zip(settings, answers, strict=False):
        measured = rc.measure(image, one.masks(image, image)[0])
        assert answer["moments"] == {"count": measured.count, "mean": measured.mean.tolist(), "cov": measured.cov.tolist()}


def same_loss(loss: dict[str, Any], audit: rc.Audit) -> None:
    """The page's map of lost detail is the library's, but for the last of its three digits."""
    patches = np.array(loss["patches"], float).reshape(loss["rows"], loss["columns"])
    np.testing.assert_allclose(patches, audit.loss, rtol=0, atol=0.0011)
    assert math.isclose(loss["share"], audit.loss_share)
    assert math.isclose(loss["worst"], audit.loss_worst, abs_tol=0.0011)
    assert (None if loss["box"] is None else tuple(loss["box"])) == audit.loss_worst_box


@pytest.mark.parametrize("shape", [(1, 1), (5, 90), (40, 28), (131, 97), (160, 128)])
def test_lost_detail_is_the_library_s(tmp_path: Path, shape: tuple[int, int]) -> None:
    content, style = noise(21, shape) // 3, noise(22)
    content[: shape[0] // 2] += 40
    settings = [one for one in EACH if one.is_affine]
    for one, answer in zip(settings, compare(tmp_path, content, style, settings), strict=True):
        same_loss(answer["loss"], rc.audit(content, one.plan(content, style)))
    whole = Settings("histogram", "rgb")
    (answer,) = compare(tmp_path, content, style, [whole])
    same_loss(answer["loss"], rc.audit(content, whole.match(content, style)))


def test_the_report_is_the_library_s_audit(tmp_path: Path) -> None:
    content, style = narrow_noise(), noise()
    settings = [one for one in THOROUGH if one.is_affine and one.strength > 0]
    clipped = 0.0
    for one, answer in zip(settings, compare(tmp_path, content, style, settings), strict=True):
        inside = one.masks(content, style)[0] if one.only_inside else None
        audit = rc.audit(content, one.plan(content, style), mask=inside)
        assert answer["report"]["clipped"] == audit.clipped.tolist()
        np.testing.assert_allclose(answer["report"]["pearson"], audit.pearson, rtol=1e-11)
        assert math.isclose(answer["report"]["pearsonPooled"], audit.pearson_pooled, rel_tol=1e-11)
        assert math.isclose(answer["report"]["clippedOverall"], audit.clipped_overall, rel_tol=1e-12)
        same_loss(answer["loss"], audit)
        clipped += audit.clipped_overall
    assert clipped > 0  # else the comparison above would say nothing


def test_a_style_of_a_bank_gives_the_same_bytes(tmp_path: Path) -> None:
    content, style = slides()
    unit = rc.measure(style).rescaled(1.0)
    moments = {"count": unit.count, "mean": unit.mean.tolist(), "cov": unit.cov.tolist()}
    settings = [one for one in EACH if one.is_affine and one.space in LINEAR]
    answers = run_node(tmp_path, [content], [{"content": 0, "moments": moments, "options": one.options()} for one in settings])
    for one, answer in zip(settings, answers, strict=False):
        assert answer["sha256"] == fingerprint(rc.match(content, unit, one.method, one.space))


def test_changes_of_the_own_style_give_the_library_s_plans_and_bytes(tmp_path: Path) -> None:
    """Small and large changes of usual and unusual images, in every method and space that has one map."""
    images = [*slides(), *hostile(), narrow_noise()]
    bank = StyleBank.build([*slides(), noise(1)], split="train")
    samplers = [own_style_by(), own_style_by(4.0, 0.3, 0.5)]
    settings = [
        Settings(method, space, strength, mask=mask, content_threshold=140)
        for method, space, strength, mask in itertools.product(METHODS[:2], LINEAR, (1.0, 0.63), ("off", "darker"))
    ]
    asked = list(itertools.product(range(len(images)), settings, samplers))[:: full(7, 1)]
    cases, expected = [], []
    for number, (i, one, sampler) in enumerate(asked):
        colorist = rc.Colorist(
            *(bank, 1.0, one.method, one.space, sampler, one.strength, one.max_gain), seed=number, blank="match"
        )
        draw = colorist.draw(index=0, epoch=0)
        assert draw is not None
        change = draw.style.goal
        assert isinstance(change, StyleChange)
        options = {"step": change.step, "gains": change.gains, "matrix": change.matrix}
        cases.append({"content": i, "change": options, "options": one.options()})
        mask = one.masks(images[i], images[i])[0]
        empty = mask is not None and not mask.any()
        expected.append(None if empty else colorist.decide(images[i], draw, mask).plan)
    for (i, one, _), plan, answer in zip(asked, expected, run_node(tmp_path, images, cases), strict=False):
        if plan is None:
            assert "selects no pixel" in answer["error"]
        else:
            assert answer["plan"] == plan.to_json(), (i, one)
            assert answer["sha256"] == fingerprint(rc.apply(images[i], plan)), (i, one)


def test_logarithms_and_powers_are_the_library_s(tmp_path: Path) -> None:
    positive = np.concatenate([np.random.default_rng(23).uniform(1e-6, 1.5, 3000), 10.0 ** np.arange(-300, 300)])
    answer = run_node(tmp_path, [noise()], [], positive=positive.tolist())[-1]
    assert list(map(float, answer["logarithms"])) == natural_log(positive).tolist()
    assert list(map(float, answer["powers"])) == power_of_e(natural_log(positive)).tolist()


def nearly_blank() -> list[Bytes]:
    """Images on both sides of the two limits, with dust, tinted, masked and of one pixel."""
    rng = np.random.default_rng(20)
    grey = [rng.normal(243, spread, (40, 30, 3)) for spread in (0.5, 2.0, 3.3, 3.6, 7.0, 7.6, 7.8, 9.0)]
    dusty = [np.full((40, 30, 3), (240.0, 235.0, 243.0)) for _ in range(6)]
    for grains, image in zip((0, 12, 35, 36, 37, 60), dusty, strict=True):  # of 1,200 pixels; 36 are the limit of 3 %
        image.reshape(-1, 3)[:grains] -= 40
    return [np.clip(np.rint(image), 0, 255).astype(np.uint8) for image in grey + dusty] + [noise(15, (1, 1)), noise(8)]


def test_blank_images_are_the_library_s_and_are_left_as_they_are(tmp_path: Path) -> None:
    images, style = nearly_blank(), noise()
    settings = [
        Settings(method, space, mask=mask, content_threshold=240, style_threshold=110, keep_blank=True)
        for (method, space), mask in itertools.product(
            [("mean_std", "rgb"), ("covariance", "yiq"), ("histogram", "rgb")], ("off", "darker")
        )
    ]
    asked = list(itertools.product(range(len(images)), settings))
    cases = [{"content": i, "style": len(images), "options": one.options()} for i, one in asked]
    seen = []
    for (i, one), answer in zip(asked, run_node(tmp_path, [*images, style], cases), strict=False):
        inside, _ = one.masks(images[i], style)
        if inside is not None and not inside.any():
            assert "selects no pixel" in answer["error"]
            continue
        expected = is_blank(open_image(images[i]), inside)
        assert answer["blank"] == {"content": expected, "style": False}, (i, one)
        if expected:
            assert answer["sha256"] == fingerprint(images[i])
            assert answer["flags"] == [["blank"]] * 3
            if inside is None:
                assert answer["plan"] == blank_map(open_image(images[i])).plan().to_json()
        else:
            assert answer["sha256"] == fingerprint(one.match(images[i], style))
        seen.append(expected)
    assert min(seen.count(True), seen.count(False)) > 20  # both sides of the limits were met


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    nothing = Settings(mask="brighter", content_threshold=255)
    moments = {"count": 1, "mean": [0.5] * 3, "cov": [[0.0] * 3] * 3}
    cases = [
        {"content": 0, "style": 0, "options": nothing.options()},
        {"content": 0, "moments": moments, "options": Settings("histogram").options()},
    ]
    first, second, _ = run_node(tmp_path, [noise()], cases)
    assert "selects no pixel of the content" in first["error"]
    assert "needs the style's pixels" in second["error"]


def test_sums_are_rounded_as_numpy_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(13)
    sums = [rng.normal(0, 100, count) for count in (1, 2, 7, 8, 9, 127, 128, 129, 136, 255, 256, 257, 1000, 4097, 100_003)]
    answer = run_node(tmp_path, [noise()], [], sums=[terms.tolist() for terms in sums])[-1]
    assert answer["totals"] == [repr(float(np.sum(terms))) for terms in sums]


def test_floats_are_written_and_integers_divided_as_python_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    drawn = [struct.unpack("d", rng.bytes(8))[0] for _ in range(400)]
    floats = [x for x in drawn if math.isfinite(x)] + [
        0.0,
        -0.0,
        1.0,
        255.0,
        1e16,
        9999999999999998.0,
        1e-4,
        1e-5,
        0.1,
        -2.5e-7,
        1e22,
    ]
    divisions = [
        (int(rng.integers(-(2**62), 2**62)) * 7**k, int(rng.integers(1, 2**62)) * 3**j) for k in range(9) for j in range(9)
    ]
    divisions += [(2**53 + 1, 1), (2**54 + 2, 2), (-(2**53) - 1, 1), (0, 5), (3, 3)]  # ties, which go to even
    texts = [[str(a), str(b)] for a, b in divisions]
    answer = run_node(tmp_path, [noise()], [], floats=floats, divisions=texts)[-1]
    assert answer["texts"] == [repr(x) for x in floats]
    assert answer["quotients"] == [repr(a / b) for a, b in divisions]


@pytest.mark.skipif(_TSC is None, reason="the TypeScript compiler is not installed; it only checks the types in comments")
def test_types_in_comments_hold() -> None:
    command = [str(_TSC), "-p", str(_MODULES / "jsconfig.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the compiler, by its name
    assert done.returncode == 0, done.stdout
