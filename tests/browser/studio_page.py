"""The Studio's page in a real browser, with the gestures the tests share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

from tests.browser.chromium import Chromium, wait_for
from tests.browser.pairs import Bytes, Settings

# Set controls, wait until the page has settled, return the fingerprint of the output; for each of several settings.
_RUN: Final = """
(async (all) => {
  const settled = () => new Promise((done) => {
    const look = () => (document.body.dataset.state === "settled" ? done() : setTimeout(look, 1));
    look();
  });
  const answers = [];
  for (const controls of all) {
    await settled();
    for (const [id, value] of Object.entries(controls)) {
      const control = document.getElementById(id);
      if (control.type === "checkbox") control.checked = value;
      else control.value = String(value);
    }
    document.body.dataset.state = "asked";
    for (const id of ["method", "mask"]) document.getElementById(id).dispatchEvent(new Event("change"));
    await settled();
    answers.push(document.getElementById("fingerprint").textContent);
  }
  return answers;
})
"""


class StudioPage:
    """The page, with a person's gestures."""

    def __init__(self, browser: Chromium, file: Path) -> None:
        self.browser = browser
        self.file = file

    def open(self) -> None:
        """A fresh page with its first example."""
        self.browser.reset()
        self.browser.open(self.file.as_uri())
        self.settle()

    def settle(self) -> None:
        self.browser.wait("document.body.dataset.state === 'settled'")

    def load(self, content: Path, *styles: Path) -> None:
        """Choose files through the two file inputs."""
        self.browser.choose("#content-file", content)
        self.browser.wait(f"document.querySelector('#content-meta').textContent.startsWith({json.dumps(content.name)})")
        if styles:
            self.browser.choose("#style-file", *styles)
            self.browser.wait(f"document.querySelector('#style-meta').textContent.startsWith({json.dumps(styles[0].name)})")
        self.settle()

    def fingerprints(self, *settings: Settings) -> list[str]:
        """What comes out for each setting."""
        answers: list[str] = []
        for start in range(0, len(settings), 40):  # in pieces, so that no single answer takes long
            piece = [one.controls() for one in settings[start : start + 40]]
            answers += self.browser.run(f"{_RUN}({json.dumps(piece)})")
        return answers

    def wait_fingerprint(self, expected: str) -> None:
        """Wait for these very bytes; says what came instead."""
        try:
            wait_for(lambda: self.browser.text("#fingerprint") == expected, 10, "the fingerprint")
        except TimeoutError:
            assert self.browser.text("#fingerprint") == expected

    def row(self, name: str) -> list[float]:
        """A row of the table, in full precision."""
        values = self.browser.run(f"Array.from(document.querySelectorAll('[data-row={name}] td'), (cell) => cell.dataset.value)")
        return [float(value) for value in values]

    def message(self) -> str:
        return str(
            self.browser.run("document.querySelector('#message').hidden ? '' : document.querySelector('#message').textContent")
        )

    def colours(self, canvas: str) -> Any:
        """The pixels a person sees on a canvas, as rows of RGBA."""
        flat = self.browser.run(
            f"(() => {{ const c = document.querySelector('{canvas}'), d = c.getContext('2d');"
            " return [c.width, c.height, Array.from(d.getImageData(0, 0, c.width, c.height).data)]; })()"
        )
        return np.array(flat[2], np.uint8).reshape(flat[1], flat[0], 4)


def save(path: Path, image: Bytes, **options: Any) -> Path:
    Image.fromarray(image).save(path, **options)
    return path
