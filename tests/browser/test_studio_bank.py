"""Banks, draws and contact sheets of the Studio in a real Chromium."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist.bank.style_bank import StyleBank
from tests.browser.chromium import wait_for
from tests.browser.pairs import Bytes, Settings, fingerprint, narrow_noise, noise, slides
from tests.browser.studio_page import StudioPage, save

# ---- the bank --------------------------------------------------------------------------------------------------------------


def _bank(*styles: Bytes) -> StyleBank:
    keys = [f"style {i}" for i in range(len(styles))]
    return StyleBank.build(styles, domains=["hospital"] * len(styles), keys=keys, name="test bank", split="train")


@pytest.mark.parametrize("suffix", ["rcb", "json"])
def test_a_dot_of_the_bank_applies_its_style(page: StudioPage, tmp_path: Path, suffix: str) -> None:
    content, styles = noise(), (narrow_noise(), *slides())
    page.load(save(tmp_path / "content.png", content))
    bank = _bank(*styles)
    page.browser.choose("#bank-file", bank.save(tmp_path / f"bank.{suffix}"))
    page.browser.wait("document.querySelectorAll('#bank-list option').length === 3")
    assert page.browser.text("#bank-name") == "test bank: 3 styles"
    for unit in (bank.moments(1), bank.moments(2)):
        page.browser.place("#bank-plot")
        seen = page.colours("#bank-plot")[..., :3].astype(int)
        rows, columns = np.nonzero((np.abs(seen - np.rint(255 * unit.mean)) <= 1).all(axis=2))
        across, down = float(np.median(columns)) / seen.shape[1], float(np.median(rows)) / seen.shape[0]
        page.browser.click("#bank-plot", across, down)
        page.wait_fingerprint(fingerprint(rc.match(content, unit)))


def test_the_list_of_the_bank_does_the_same_by_keyboard(page: StudioPage, tmp_path: Path) -> None:
    content, styles = noise(), (narrow_noise(), *slides())
    page.load(save(tmp_path / "content.png", content))
    bank = _bank(*styles)
    (tmp_path / "bank.json").write_text(bank.to_json())
    page.browser.drop("#style-canvas", tmp_path / "bank.json")
    page.browser.wait("document.querySelectorAll('#bank-list option').length === 3")
    page.browser.run("document.querySelector('#bank-list').focus()")
    for row in range(3):
        page.browser.key("ArrowDown")
        page.wait_fingerprint(fingerprint(rc.match(content, bank.moments(row))))
    page.fingerprints(Settings("histogram"))
    assert "needs the style's pixels" in page.message()


def test_a_file_that_is_no_bank_is_refused(page: StudioPage, tmp_path: Path) -> None:
    whole = json.loads(_bank(noise()).to_json())
    bad = {"b.json": {}, "c.json": whole | {"mean": [[1, 2]]}, "d.json": whole | {"space": "lab"}, "e.json": whole | {"count": 2}}
    for name, text in {"a.json": "{", **{name: json.dumps(entries) for name, entries in bad.items()}}.items():
        (tmp_path / name).write_text(text)
        page.browser.choose("#bank-file", tmp_path / name)
        wait_for(lambda name=name: f"“{name}” is not a bank" in page.message(), 5, name)  # type: ignore[misc]


# ---- many at once ------------------------------------------------------------------------------------------------------------


def test_thirty_draws_are_the_library_s_and_can_be_shown_large(page: StudioPage, tmp_path: Path) -> None:
    content, bank = noise(), _bank(narrow_noise(), *slides())
    page.load(save(tmp_path / "content.png", content))
    page.browser.drop("#style-canvas", bank.save(tmp_path / "bank.rcb"))
    page.browser.wait("document.querySelectorAll('#bank-list option').length === 3")
    page.browser.run("document.querySelector('#seed').value = '11'")
    page.browser.click("#draw")
    page.browser.wait("document.querySelectorAll('#sheet .cell').length === 30")
    page.browser.wait("!document.querySelector('#sheet-save').disabled")
    colorist = rc.Colorist(bank, p=1.0, seed=11)
    for epoch in (0, 7, 29):
        page.browser.click(f"#sheet .cell:nth-child({epoch + 1})")
        page.wait_fingerprint(fingerprint(colorist(content, index=0, epoch=epoch)))


def test_changes_of_the_own_style_are_the_library_s_and_follow_content_and_method(page: StudioPage, tmp_path: Path) -> None:
    content, other, bank = noise(), slides()[0], _bank(narrow_noise(), *slides())
    page.load(save(tmp_path / "content.png", content))
    page.browser.drop("#style-canvas", bank.save(tmp_path / "bank.rcb"))
    page.browser.wait("document.querySelectorAll('#bank-list option').length === 3")
    page.browser.run("document.querySelector('#seed').value = '5'; document.querySelector('#sampler').value = 'own_style'")
    page.browser.click("#draw")
    page.browser.wait("!document.querySelector('#sheet-save').disabled")
    assert page.browser.text("#sheet .cell:nth-child(13) .name") == "13: own_style"
    colorist = rc.Colorist(bank, p=1.0, sampler="own_style", seed=5)
    page.browser.click("#sheet .cell:nth-child(13)")
    page.wait_fingerprint(fingerprint(colorist(content, index=0, epoch=12)))
    assert 'rc.Colorist(bank, p=1, sampler="own_style", seed=5' in page.browser.text("#snippet")
    assert "own nine numbers after a change" in page.browser.text("#notes")
    style = colorist.params(content, index=0, epoch=12).plan
    assert style is not None
    assert page.row("mean-style") == style.style_mean.tolist()
    seen = page.colours("#style-canvas")[..., :3].reshape(-1, 3)
    painted = seen[seen.std(axis=1) > 0]  # not the paper round the palette
    np.testing.assert_allclose(painted.mean(axis=0), style.style_mean, atol=20)  # 144 colours stand for the style

    colorist = rc.Colorist(bank, p=1.0, sampler="own_style", seed=5, method="covariance")
    (answer,) = page.fingerprints(Settings("covariance"))
    assert answer == fingerprint(colorist(content, index=0, epoch=12))
    page.browser.choose("#content-file", save(tmp_path / "other.png", other))
    page.wait_fingerprint(fingerprint(colorist(other, index=0, epoch=12)))
    page.fingerprints(Settings("mean_std", "lab"))
    assert "needs the style's pixels" in page.message()


def test_several_contents_make_a_contact_sheet(page: StudioPage, tmp_path: Path) -> None:
    contents, style = [noise(1), narrow_noise(), slides()[0]], slides()[1]
    files = [save(tmp_path / f"{i}.png", one) for i, one in enumerate(contents)]
    page.load(files[0], save(tmp_path / "style.png", style))
    page.browser.drop("#content-canvas", *files)
    page.browser.wait("document.querySelectorAll('#content-strip label').length === 3")
    page.browser.click("#sheet-make")
    page.browser.wait("!document.querySelector('#sheet-save').disabled")
    cells = page.browser.run("Array.from(document.querySelectorAll('#sheet .cell'), (cell) => cell.textContent)")
    assert [cell[:5] for cell in cells] == ["0.png", "1.png", "2.png"]
    assert all("clipped" in cell and "lost" in cell for cell in cells)
    name, png = page.browser.download("#sheet-save")
    assert name == "contact-sheet.png"
    sheet = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    assert len(np.unique(sheet.reshape(-1, 3), axis=0)) > 1000  # pictures, not paper
    page.browser.click("#sheet .cell:nth-child(2)")
    page.wait_fingerprint(fingerprint(rc.match(contents[1], style)))
    assert page.browser.run("document.querySelector('#content-strip input:checked').value") == "1"


def test_a_cell_that_cannot_be_matched_says_why_and_the_others_go_on(page: StudioPage, tmp_path: Path) -> None:
    dark, bright = np.minimum(noise(1), 90), np.maximum(noise(2), 160)
    page.browser.choose("#content-file", save(tmp_path / "dark.png", dark), save(tmp_path / "bright.png", bright))
    page.browser.wait("document.querySelectorAll('#content-strip label').length === 2")
    page.fingerprints(Settings(mask="darker", content_threshold=100, style_threshold=250))
    page.browser.click("#sheet-make")
    page.browser.wait("!document.querySelector('#sheet-save').disabled")
    first, second = page.browser.run("Array.from(document.querySelectorAll('#sheet .cell'), (cell) => cell.textContent)")
    assert "clipped" in first
    assert "selects no pixel" in second
