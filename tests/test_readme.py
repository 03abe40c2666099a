"""What the README shows must run, and print what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_the_examples_run_as_one_session(capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 2
    names: dict[str, object] = {}
    exec("\n".join(blocks), names)  # noqa: S102 - our own README
    promised = re.search(r"# \.\.\. (R' = \S+ [-+] \S+)", text)
    assert promised is not None
    assert promised.group(1) in capsys.readouterr().out
    assert (names["out"] == names["same"]).all()  # type: ignore[attr-defined]


def test_every_picture_and_link_exists() -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert len(targets) >= 3
    missing = [target for target in targets if "://" not in target and not (README.parent / target).exists()]
    assert missing == []
