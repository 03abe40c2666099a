"""The Studio for everybody: no request leaves it, it works by keyboard, in narrow windows, in both themes, and at once."""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path

import numpy as np
import pytest

import recolorist as rc
from tests.browser.pairs import Settings, fingerprint, narrow_noise, noise
from tests.browser.studio_page import StudioPage, save

_AXE = Path(os.environ.get("RECOLORIST_AXE", Path(sys.prefix) / "npm" / "node_modules" / "axe-core" / "axe.min.js"))

# ---- nothing leaves --------------------------------------------------------------------------------------------------------


def test_no_request_leaves_the_page(page: StudioPage, tmp_path: Path) -> None:
    """Everything that can be done is done once; every request the browser notes must stay on this machine."""
    browser = page.browser
    browser.events.clear()
    page.open()
    page.load(save(tmp_path / "content.png", noise()), save(tmp_path / "style.jpg", narrow_noise()))
    page.fingerprints(Settings("covariance", mask="darker"), Settings("histogram"))
    browser.click("#bank-example")
    assert [browser.download(button)[0] for button in ("#save-png", "#save-snippet")] == [
        "content-matched.png",
        "content-matched.py",
    ]
    requested = [e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"]
    assert requested  # the page itself
    assert {address.partition(":")[0] for address in requested} <= {"file", "blob", "data"}
    complaints = [e for e in browser.events if e["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")]
    assert not complaints


@pytest.mark.parametrize(
    "attempt",
    [
        "fetch('http://127.0.0.1:9/')",
        "new Promise((ok, no) => { const i = new Image(); i.onload = ok; i.onerror = no; i.src = 'http://127.0.0.1:9/x.png'; })",
        "new Promise((ok, no) => { const s = new WebSocket('ws://127.0.0.1:9/'); s.onopen = ok; s.onerror = no; })",
        "import('http://127.0.0.1:9/x.mjs')",
        "Promise.reject(document.body.append(Object.assign(document.createElement('script'), { textContent: 'ran = 1' })))",
    ],
)
def test_the_policy_forbids_what_a_changed_page_might_try(page: StudioPage, attempt: str) -> None:
    """The same page with a hostile line in it: the browser itself must refuse, and say that the policy did."""
    violated = page.browser.run(
        "(async () => { const seen = []; document.addEventListener('securitypolicyviolation',"
        f" (e) => seen.push(e.effectiveDirective)); try {{ await {attempt}; return ['it worked']; }} catch {{}}"
        " await new Promise((r) => setTimeout(r, 50)); return seen; })()"
    )
    assert len(violated) == 1
    assert violated[0].endswith(("-src", "-src-elem"))


def test_the_worker_may_not_open_a_connection_either(page: StudioPage) -> None:
    """The worker is where the pixels are; its script comes from a blob and takes over the page's policy."""
    source = json.dumps(
        "addEventListener('securitypolicyviolation', (e) => postMessage(e.effectiveDirective));"
        " fetch('http://127.0.0.1:9/').catch(() => 0)"
    )
    refused = page.browser.run(
        "new Promise((done) => { const w = new Worker(URL.createObjectURL(new Blob([" + source + "])));"
        " w.onmessage = ({ data }) => done(data); setTimeout(() => done('nothing'), 3000); })"
    )
    assert refused == "connect-src"


# ---- keyboard and screen reader --------------------------------------------------------------------------------------------


def test_a_slider_moves_by_keyboard(page: StudioPage, tmp_path: Path) -> None:
    content, style = noise(), narrow_noise()
    page.load(save(tmp_path / "content.png", content), save(tmp_path / "style.png", style))
    page.browser.run("document.querySelector('#strength').focus()")
    for _ in range(3):
        page.browser.key("ArrowLeft")
    page.wait_fingerprint(fingerprint(rc.match(content, style, strength=0.97)))
    assert page.browser.run("document.querySelector('#strength-number').value") == "0.97"


def test_a_slider_moves_by_mouse(page: StudioPage, tmp_path: Path) -> None:
    content, style = noise(), narrow_noise()
    page.load(save(tmp_path / "content.png", content), save(tmp_path / "style.png", style))
    left, top, width, height = page.browser.place("#strength")
    page.browser.drag((left + width - 8, top + height / 2), (left + width / 2, top + height / 2))
    strength = float(page.browser.run("document.querySelector('#strength').value"))
    assert 0.4 < strength < 0.6
    page.wait_fingerprint(fingerprint(rc.match(content, style, strength=strength)))


def test_numbers_can_be_typed_and_nonsense_is_not_taken(page: StudioPage, tmp_path: Path) -> None:
    content, style = narrow_noise(), noise()
    page.load(save(tmp_path / "content.png", content), save(tmp_path / "style.png", style))
    for typed, cap in (("1.3", 1.3), ("-4", 1.3)):
        page.browser.run("document.querySelector('#gain-number').select()")
        for letter in typed:
            page.browser.key(letter, letter)
        page.browser.key("Tab")
        page.wait_fingerprint(fingerprint(rc.match(content, style, max_gain=cap)))
    assert page.browser.run("document.querySelector('#gain-number').value") == "1.3"


def test_everything_is_reached_by_tab_and_has_a_name(page: StudioPage) -> None:
    page.browser.click("#bank-example")
    page.browser.run("document.activeElement.blur()")
    reached = set()
    for _ in range(70):
        page.browser.key("Tab")
        reached.add(page.browser.run("document.activeElement.id || document.activeElement.name"))
    expected = {"theme", "example", "content-file", "style-file", "view", "zoom-out", "zoom-in", "zoom-actual", "zoom-fit"}
    expected |= {"content-canvas", "style-canvas", "output-canvas", "style", "method", "space", "strength", "strength-number"}
    expected |= {
        "gain",
        "gain-number",
        "show-clipped",
        "show-loss",
        "mask",
        "bank-file",
        "bank-example",
        "bank-plane",
        "bank-list",
        "sampler",
        "seed",
        "draw",
        "sheet-make",
    }
    expected |= {"save-png", "save-plan", "save-snippet", "copy-snippet", "snippet"}
    assert expected <= reached
    nodes = page.browser.send("Accessibility.getFullAXTree")["nodes"]
    focusable = [
        node for node in nodes if any(p["name"] == "focusable" and p["value"]["value"] for p in node.get("properties", []))
    ]
    nameless = [node["role"]["value"] for node in focusable if not node.get("name", {}).get("value")]
    assert len(focusable) > 25
    assert set(nameless) <= {"RootWebArea", "MenuListPopup"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(page: StudioPage, tmp_path: Path, theme: str) -> None:
    """The rules of WCAG 2 and good practice that a program can check, with every part of the page in use, wide and narrow."""
    if not _AXE.is_file():
        pytest.skip("axe-core is not installed; `make test` gets it from npm where it can, or name its file in RECOLORIST_AXE")
    page.browser.prefer(theme)
    tiles = [save(tmp_path / f"{i}.png", noise(i)) for i in range(3)]
    page.browser.choose("#content-file", *tiles)
    page.browser.wait("document.querySelectorAll('#content-strip label').length === 3")
    page.browser.run("document.querySelector('#mask').value = 'darker'")
    page.browser.run("document.querySelector('#mask').dispatchEvent(new Event('change'))")
    page.browser.click("#draw")
    page.browser.wait("!document.querySelector('#sheet-save').disabled")
    page.browser.run(_AXE.read_text("utf-8") + "; 0")
    for width in (1280, 390):
        page.browser.window(width, 844)
        found = page.browser.run("axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)")
        serious = [f"{one['id']}: {[node['html'][:120] for node in one['nodes']]}" for one in found]
        assert serious == []


def test_text_is_legible_in_both_themes(page: StudioPage) -> None:
    """Contrast of every text colour on every surface it stands on: at least 4.5 to 1."""
    for theme in ("light", "dark"):
        page.browser.run(f"document.documentElement.dataset.theme = '{theme}'")
        colours = page.browser.run(
            "(() => { const s = getComputedStyle(document.documentElement);"
            " return Object.fromEntries(['paper','card','ink','muted','accent','accent-ink','warn','warn-paper',"
            "'bad','bad-paper','red','green','blue'].map((name) => [name, s.getPropertyValue('--' + name).trim()])); })()"
        )
        pairs = [(ink, "card") for ink in ("ink", "muted", "accent", "red", "green", "blue")]
        pairs += [("ink", "paper"), ("muted", "paper"), ("accent-ink", "accent"), ("warn", "warn-paper"), ("bad", "bad-paper")]
        weak = [(theme, a, b) for a, b in pairs if _contrast(colours[a], colours[b]) < 4.5]
        assert not weak


def _contrast(one: str, other: str) -> float:
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    levels = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


# ---- looking ---------------------------------------------------------------------------------------------------------------


def test_zoom_and_pan_go_in_step(page: StudioPage, tmp_path: Path) -> None:
    content = noise(0, (64, 64))
    page.load(save(tmp_path / "content.png", content), save(tmp_path / "style.png", content[:, ::-1].copy()))
    page.browser.run("document.querySelector('#content-canvas').focus()")
    for _ in range(6):
        page.browser.key("+", "+")
    for _ in range(5):
        page.browser.key("ArrowRight")
    page.browser.run("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")
    seen = {name: page.colours(f"#{name}-canvas")[..., :3] for name in ("content", "style", "output")}
    middle = tuple(side // 2 for side in seen["content"].shape[:2])
    pixel = seen["content"][middle]
    places = np.argwhere((content == pixel).all(axis=2))
    assert len(places) == 1  # enlarged: the middle shows one pixel of the image, to the right of its centre
    row, column = places[0]
    assert column > 32
    assert tuple(seen["style"][middle]) == tuple(content[:, ::-1][row, column])
    assert tuple(seen["output"][middle]) == tuple(rc.match(content, content[:, ::-1].copy())[row, column])


def test_the_divider_is_dragged_and_moved_by_keyboard(page: StudioPage, tmp_path: Path) -> None:
    content = np.zeros((40, 40, 3), np.uint8)
    content[:8] = 255  # so that the image is not blank; the row that is looked at is black
    page.load(
        save(tmp_path / "content.png", content),
        save(tmp_path / "style.png", np.full((4, 4, 3), 200, np.uint8)),
    )
    page.browser.click("input[value=compare]")
    page.browser.wait("document.querySelector('#compare-canvas').clientWidth > 100")
    left, top, width, height = page.browser.place("#compare-canvas")
    page.browser.drag((left + width / 2, top + height / 2), (left + 0.6 * width, top + height / 2))
    value = "Number(document.querySelector('#divider').getAttribute('aria-valuenow'))"
    assert page.browser.run(value) == 60
    page.browser.run("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")
    seen = page.colours("#compare-canvas")
    middle = seen[seen.shape[0] // 2]
    shown = np.flatnonzero(middle[:, 3])
    assert (middle[shown[shown < 0.59 * len(middle)], 0] == 0).all()  # before: black
    assert (middle[shown[shown > 0.61 * len(middle)], 0] == 200).all()  # after: the style's grey
    page.browser.run("document.querySelector('#divider').focus()")
    page.browser.key("ArrowLeft")
    assert page.browser.run(value) == 58
    page.browser.key("End")
    assert page.browser.run(value) == 100


@pytest.mark.parametrize("width", [320, 380, 700, 1000, 1920])
def test_no_window_scrolls_sideways(page: StudioPage, width: int) -> None:
    page.browser.click("#bank-example")
    page.browser.window(width, 800)
    for view in ("side", "compare"):
        page.browser.run(f"document.querySelector('input[value={view}]').click()")
        page.browser.run("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")
        assert page.browser.run("document.documentElement.scrollWidth") <= width
        beyond = page.browser.run(
            "Array.from(document.querySelectorAll('.card:not(.stage) > *, .card td'), (e) => [e.tagName, e.className, e.id,"
            " e.getBoundingClientRect().right, e.closest('.card').getBoundingClientRect().right]).filter((e) => e[3] > e[4])"
        )
        assert beyond == []


@pytest.mark.parametrize("view", ["side", "compare"])
def test_the_pictures_stay_in_view_on_a_phone_while_sliders_move(page: StudioPage, view: str) -> None:
    page.browser.window(390, 844)
    page.browser.run(f"document.querySelector('input[value={view}]').click()")
    canvas = "#output-canvas" if view == "side" else "#compare-canvas"
    for control in ("#method", "#strength", "#gain", "#mask"):
        left, top, width, height = page.browser.place(control)
        seen = page.browser.run(
            f"(() => {{ const b = document.querySelector('{canvas}').getBoundingClientRect();"
            " return [b.left, b.top, b.right, b.bottom]; })()"
        )
        assert 0 <= seen[0] < seen[2] <= 390, control
        assert 0 <= seen[1] < seen[3] <= top, control  # whole, and above the control
        assert seen[2] - seen[0] > 190, control  # large enough to see something
        at = f"document.elementFromPoint({left + width / 2}, {top + height / 2}).id"
        assert page.browser.run(at) == control[1:]  # and nothing lies over the control


def test_a_long_name_does_not_push_the_pictures_down(page: StudioPage, tmp_path: Path) -> None:
    long = "a_slide_with_the_whole_history_of_its_scanner_" * 4
    where = "Array.from(document.querySelectorAll('.single canvas'), (c) => c.getBoundingClientRect().top - scrollY)"
    for width in (1280, 390):
        page.browser.window(width, 844)
        tops = []
        for name in ("a.png", f"{long}.png"):
            page.load(save(tmp_path / name, noise()), save(tmp_path / name, narrow_noise()))
            page.browser.run("scrollTo(0, 0)")
            tops.append(page.browser.run(where))
        assert tops[0] == tops[1]
        assert page.browser.run("document.querySelector('#content-meta .name').title") == f"{long}.png"


def test_themes_follow_the_system_and_the_switch(page: StudioPage) -> None:
    def paper() -> int:
        return int(page.browser.run("parseInt(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])"))

    page.browser.prefer("dark")
    assert paper() < 60
    page.browser.prefer("light")
    assert paper() > 200
    for theme, dark in (("dark", True), ("light", False)):
        page.browser.run(
            f"(() => {{ const t = document.querySelector('#theme'); t.value = '{theme}';"
            " t.dispatchEvent(new Event('change')); })()"
        )
        page.browser.prefer("light" if dark else "dark")
        assert (paper() < 60) is dark


# ---- at once ---------------------------------------------------------------------------------------------------------------


def test_a_megapixel_answers_at_once(page: StudioPage, tmp_path: Path) -> None:
    """The aim is 50 ms from the slider to the picture; the limit here allows for a busy machine."""
    page.load(save(tmp_path / "content.png", noise(0, (1000, 1000))), save(tmp_path / "style.png", narrow_noise(1, (1000, 1000))))
    times = page.browser.run(
        """(async () => {
          const status = document.querySelector("#status"), slider = document.querySelector("#strength"), times = [];
          for (let k = 0; k < 15; k++) {
            const drawn = new Promise((done) => {
              const watch = new MutationObserver(() => (watch.disconnect(), done()));
              watch.observe(status, { childList: true });
            });
            document.body.dataset.state = "asked"; // so that the wait below is for this question
            const start = performance.now();
            slider.value = String(0.5 + k / 100);
            slider.dispatchEvent(new Event("input"));
            await drawn;
            times.push(performance.now() - start);
            while (document.body.dataset.state !== "settled") await new Promise((r) => setTimeout(r, 2));
          }
          return times;
        })()"""
    )
    assert statistics.median(times) < 250
