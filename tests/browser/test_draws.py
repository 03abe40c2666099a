"""Banks and draws of the page in Node, against the library: the same styles for the same seed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recolorist as rc
from recolorist import studio
from recolorist.augment.streams import stream
from recolorist.bank.style_bank import StyleBank
from recolorist.core.style_change import StyleChange
from tests.browser.pairs import Bytes
from tests.full import full

_NODE = shutil.which("node")
_DRAWS = full(40, 400)

pytestmark = pytest.mark.skipif(_NODE is None, reason="node is not installed; banks are also opened in the browser tests")


def ask(folder: Path, *questions: dict[str, Any]) -> list[dict[str, Any]]:
    file, modules = folder / "questions.json", Path(studio.__file__).parent / "js"
    file.write_text(json.dumps(questions))
    command = [str(_NODE), str(Path(__file__).with_name("run_draws.mjs")), str(modules), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)  # noqa: S603 - our own script
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def bank_images(count: int = 23) -> list[Bytes]:
    rng = np.random.default_rng(5)
    return [rng.integers(rng.integers(0, 99), rng.integers(120, 256), (6, 7, 3), dtype=np.uint8) for _ in range(count)]


def bank_of(count: int = 23, *, named: bool = True) -> StyleBank:
    """Names beyond ASCII, rows without a label, groups of different size, a mean of exactly 1."""
    images = bank_images(count)
    images[3][...] = np.where(np.arange(42).reshape(6, 7, 1) % 2, 255, 0)
    keys = [f"földer/{i}\U0001f52c.png" for i in range(count)]
    labels = [None if i % 5 == 0 else ("tumör", "norm", "ö")[i % 3] for i in range(count)] if named else None
    domains = [("b", "a", "ä", "\U0001f3e5")[min(i % 7, 3)] for i in range(count)] if named else None
    return StyleBank.build(images, keys=keys, labels=labels, domains=domains, name="test “bank”", split="train")


@pytest.mark.parametrize("suffix", ["rcb", "json"])
@pytest.mark.parametrize("named", [True, False])
def test_both_files_of_a_bank_are_read(tmp_path: Path, suffix: str, *, named: bool) -> None:
    bank = bank_of(named=named)
    (read,) = ask(tmp_path, {"bank": str(bank.save(tmp_path / f"bank.{suffix}"))})
    assert read["name"] == bank.name
    rows = range(len(bank))
    assert [style["name"] for style in read["styles"]] == list(bank.keys)
    assert [style["label"] for style in read["styles"]] == [bank.label(row) for row in rows]
    assert [style["domain"] for style in read["styles"]] == [bank.domain(row) for row in rows]
    for row, style in enumerate(read["styles"]):
        moments = bank.moments(row)
        assert style["moments"] == {"count": moments.count, "mean": moments.mean.tolist(), "cov": moments.cov.tolist()}


@pytest.mark.parametrize("suffix", ["rcb", "json"])
def test_a_changed_digit_is_noticed(tmp_path: Path, suffix: str) -> None:
    file = bank_of().save(tmp_path / f"bank.{suffix}")
    data = file.read_bytes()
    pair = (b"test ", b"rest ") if suffix == "json" else (b'"split": "train"', b'"split": "trail"')
    (tmp_path / "broken").write_bytes(data.replace(*pair, 1))
    (tmp_path / "short").write_bytes(data[:-40])
    first, second = ask(tmp_path, {"bank": str(tmp_path / "broken")}, {"bank": str(tmp_path / "short")})
    assert "checksum does not fit" in first["error"]
    assert "is not a bank" in second["error"]


def test_blank_styles_of_a_bank_that_does_not_say_are_left_out(tmp_path: Path) -> None:
    images = [np.full((4, 4, 3), 200, np.uint8), *np.random.default_rng(0).integers(0, 256, (3, 4, 4, 3), dtype=np.uint8)]
    kept = StyleBank.build(images, with_blank=True, split="train")
    silent = StyleBank(kept.mean, kept.cov, kept.pixels, kept.keys, split="train")
    questions = [{"bank": str(bank.save(tmp_path / f"{name}.rcb"))} for name, bank in (("kept", kept), ("silent", silent))]
    assert [len(read["styles"]) for read in ask(tmp_path, *questions)] == [4, len(silent.without_blank())] == [4, 3]


@pytest.mark.parametrize(
    ("sampler", "content"),
    [
        ("uniform", {}),
        ("balanced_domain", {}),
        ("interpolate", {}),
        ("other_domain", {"domain": "a"}),
        ("same_label", {"label": "norm"}),
        ("other_label", {"label": "tumör"}),
    ],
)
def test_draws_are_the_library_s(tmp_path: Path, sampler: str, content: dict[str, str]) -> None:
    bank = bank_of()
    file = str(bank.save(tmp_path / "bank.rcb"))
    seeds = (0, 7, 2**40 + 3)
    group = next(iter(content.values()), "")
    asked = [{"bank": file, "options": {"sampler": sampler, "seed": seed, "group": group}, "count": _DRAWS} for seed in seeds]
    for seed, answer in zip(seeds, ask(tmp_path, *asked), strict=True):
        colorist = rc.Colorist(bank, p=1.0, sampler=sampler, seed=seed)
        for epoch, style in enumerate(answer["drawn"]):
            draw = colorist.draw(index=0, epoch=epoch, **content)
            assert draw is not None
            moments = draw.style.moments
            assert style["moments"] == {"count": moments.count, "mean": moments.mean.tolist(), "cov": moments.cov.tolist()}
            if draw.style.row is not None:
                assert style["name"] == f"{epoch + 1}: {draw.style.name}"


@pytest.mark.parametrize("count", [1, 2, 23])
def test_changes_of_the_own_style_are_the_library_s(tmp_path: Path, count: int) -> None:
    """To the last bit: the same normal numbers, sums, rotations, logarithms and exponentials."""
    bank = bank_of(count) if count > 3 else StyleBank.build(bank_images(count), split="train")
    file, seeds = str(bank.save(tmp_path / "bank.rcb")), (0, 7, 2**40 + 3)
    asked = [{"bank": file, "options": {"sampler": "own_style", "seed": seed, "group": ""}, "count": _DRAWS} for seed in seeds]
    for seed, answer in zip(seeds, ask(tmp_path, *asked), strict=True):
        colorist = rc.Colorist(bank, p=1.0, sampler="own_style", seed=seed)
        for epoch, style in enumerate(answer["drawn"]):
            draw = colorist.draw(index=0, epoch=epoch)
            assert draw is not None
            change = draw.style.goal
            assert isinstance(change, StyleChange)
            assert style["name"] == f"{epoch + 1}: own_style"
            matrix = [list(row) for row in change.matrix]
            numbers = {"step": list(change.step), "gains": list(change.gains), "matrix": matrix}
            assert style["change"] == numbers | {"seed": seed, "epoch": epoch}


def test_normal_numbers_are_numpy_s(tmp_path: Path) -> None:
    """Every strip is met about a hundred times. Only in the tail, beyond 3.654, does the browser's own logarithm enter."""
    (answer,) = ask(tmp_path, {"seed": 3, "normals": 26_000})
    expected = stream(3).standard_normal(26_000)
    np.testing.assert_array_max_ulp(np.array(answer["normals"]), expected, maxulp=1)
    body = np.abs(expected) < 3.654
    assert np.array_equal(np.array(answer["normals"])[body], expected[body])


def test_a_sampler_that_cannot_draw_says_so(tmp_path: Path) -> None:
    file = str(bank_of(named=False).save(tmp_path / "bank.json"))
    options = {"sampler": "balanced_domain", "seed": 0, "group": ""}
    (answer,) = ask(tmp_path, {"bank": file, "options": options, "count": 3})
    assert "needs domains" in answer["error"]
