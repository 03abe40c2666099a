"""The Studio as a file: written whole, self-contained, the same every time, and locked by its policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import webbrowser
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import recolorist as rc
from recolorist import studio
from recolorist.bank.style_bank import StyleBank
from recolorist.cli import studio as cli_studio
from recolorist.studio import bundle

_RUNNER = CliRunner()


@pytest.fixture(scope="module")
def html() -> str:
    return studio.page()


@pytest.fixture(scope="module")
def app() -> typer.Typer:
    made = typer.Typer()
    made.callback()(lambda: None)  # so that the command keeps its name
    made.command()(cli_studio.studio)
    return made


class Elements(HTMLParser):
    """Every start tag, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the name is HTMLParser's
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[self._inside] = self.texts.get(self._inside, "") + data


def test_the_page_is_one_small_file_and_the_same_every_time(html: str) -> None:
    assert len(html.encode()) < 2_000_000
    assert studio.page() == html
    assert "{{" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)


def test_the_page_refers_to_nothing_outside(html: str) -> None:
    elements = Elements(html)
    links = [value for _, given in elements.tags for name, value in given.items() if name in ("src", "href", "action", "srcset")]
    assert links == ["data:,"]  # the empty icon, so that no browser asks for one
    code = elements.texts["script"] + elements.texts["worker"] + elements.texts["style"]
    assert set(re.findall(r"https?://[^\s\"']+", code)) == {"http://www.w3.org/2000/svg"}  # the name of SVG, not an address
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|eval)\b", code)
    assert "@import" not in code
    assert "url(" not in code


def test_the_policy_allows_this_script_and_style_alone(html: str) -> None:
    elements = Elements(html)
    policy = next(given["content"] for tag, given in elements.tags if given.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    hashed = {
        name: base64.b64encode(hashlib.sha256(elements.texts[name].encode()).digest()).decode() for name in ("script", "style")
    }
    assert rules == {
        "default-src": "'none'",
        "script-src": f"'sha256-{hashed['script']}' blob: 'wasm-unsafe-eval'",
        "worker-src": "blob:",
        "style-src": f"'sha256-{hashed['style']}'",
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_the_page_carries_the_library_s_own_numbers(html: str) -> None:
    carried = json.loads(Elements(html).texts["library"])
    assert carried["version"] == rc.__version__
    assert set(carried["spaces"]) == set(rc.SPACES)
    options = re.findall(r'<option value="(\w+)">', html.partition('id="space"')[2].partition("</select>")[0])
    assert set(options) == set(rc.SPACES)
    matrix = rc.SPACES["yiq"].matrix
    assert matrix is not None
    assert carried["spaces"]["yiq"]["linear"]["inverse"] == matrix.inverse.tolist()


def test_the_example_bank_is_one(html: str) -> None:
    text = json.loads(Elements(html).texts["library"])["bank"]
    assert len(StyleBank.from_json(text)) == 24
    bank = json.loads(text)
    assert bank["count"] == len(bank["mean"]) == len(bank["key"]) == 24
    assert np.array(bank["cov"]).shape == (24, 6)
    assert 0 < np.min(bank["mean"]) < np.max(bank["mean"]) < 1


def test_examples_use_images_and_controls_that_exist(html: str) -> None:
    elements = Elements(html)
    carried = json.loads(elements.texts["library"])
    ids = {given.get("id") for _, given in elements.tags}
    for example in carried["examples"]:
        assert {example["content"], *example["styles"]} <= set(carried["images"])
        assert set(example["controls"]) <= ids


def test_labels_point_at_controls_and_ids_are_unique(html: str) -> None:
    elements = Elements(html)
    ids = [given["id"] for _, given in elements.tags if "id" in given]
    assert len(ids) == len(set(ids))
    assert {given["for"] for _, given in elements.tags if "for" in given} <= set(ids)


def test_no_style_attribute_which_the_policy_would_refuse(html: str) -> None:
    assert not [tag for tag, given in Elements(html).tags if "style" in given or any(name.startswith("on") for name in given)]


def test_a_module_the_bundler_cannot_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for source in ('import * as all from "./exact.mjs";\n', "export default 3;\n"):
        monkeypatch.setattr(bundle, "_read", lambda *_, source=source: source)
        with pytest.raises(rc.RecoloristError, match="the bundler does not know"):
            bundle.bundle("any")
    monkeypatch.setattr(bundle, "_read", lambda *_: 'const end = "</script>";\n')
    with pytest.raises(rc.RecoloristError, match="would end its script"):
        bundle.bundle("any")


def test_every_module_is_bundled_once() -> None:
    modules = {
        file.name.removesuffix(".mjs")
        for file in (resources.files("recolorist.studio") / "js").iterdir()
        if file.name.endswith(".mjs")
    }
    used = {entry: re.findall(r"^const module_(\w+) = ", bundle.bundle(entry), re.MULTILINE) for entry in ("main", "worker")}
    assert all(len(names) == len(set(names)) for names in used.values())
    assert set(used["main"]) | set(used["worker"]) == modules


def test_writing_refuses_to_overwrite_and_leaves_nothing_half_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studio, "page", lambda: "<!doctype html>")
    target = tmp_path / "studio.html"
    assert studio.write(target).read_text() == "<!doctype html>"
    target.write_text("mine")
    with pytest.raises(rc.RecoloristError, match="exists already"):
        studio.write(target)
    assert target.read_text() == "mine"
    assert studio.write(target, overwrite=True).read_text() == "<!doctype html>"
    with pytest.raises(rc.RecoloristError, match="cannot be written"):
        studio.write(tmp_path / "nowhere" / "studio.html")
    assert [path.name for path in tmp_path.iterdir()] == ["studio.html"]


def test_the_command_writes_and_opens(app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studio, "page", lambda: "<!doctype html>")
    opened: list[str] = []

    def open_once(address: str) -> bool:
        opened.append(address)
        return len(opened) == 1

    monkeypatch.setattr(webbrowser, "open", open_once)
    target = tmp_path / "page.html"
    done = _RUNNER.invoke(app, ["studio", "-o", str(target), "--open"])
    assert done.exit_code == 0, done.output
    assert str(target) in done.output.replace("\n", "")
    assert opened == [target.resolve().as_uri()]
    refused = _RUNNER.invoke(app, ["studio", "-o", str(target)])
    assert isinstance(refused.exception, rc.RecoloristError)
    again = _RUNNER.invoke(app, ["studio", "-o", str(target), "--open", "--force"])
    assert again.exit_code == 0
    assert "No browser could be started" in again.output


def test_the_default_is_studio_html_here(app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studio, "page", lambda: "<!doctype html>")
    monkeypatch.chdir(tmp_path)
    assert _RUNNER.invoke(app, ["studio"]).exit_code == 0
    assert (tmp_path / "studio.html").read_text() == "<!doctype html>"
