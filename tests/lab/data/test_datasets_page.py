"""The page on datasets: written from the cards as they are, with commands and code that run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from recolorist_lab.cli.main import app
from recolorist_lab.data.manifest import COLUMNS
from recolorist_lab.data.registry import CARDS
from tools.dataset_page import PAGE, page

TEXT = PAGE.read_text("utf-8")
JOINED = TEXT.replace("\\\n", " ")  # commands on two lines
COMMANDS = [line.split("#")[0].strip() for line in JOINED.splitlines() if line.startswith("recolorist-lab ")]


def test_it_is_up_to_date() -> None:
    assert page(TEXT) == TEXT, "run: python -m tools.dataset_page"


@pytest.mark.parametrize("key", CARDS)
def test_every_dataset_has_a_section_with_its_terms(key: str) -> None:
    card = CARDS[key]
    section = TEXT.partition(f"\n### {card.title}\n")[2].partition("\n### ")[0]
    assert card.split_rule in section
    for source in card.sources:
        assert source.page in section
        assert source.licence in section
        assert all(line in section for line in source.layout)
        assert all(step in section for step in source.request)


def test_columns_are_all_described() -> None:
    table = TEXT.partition("## The manifest")[2].partition("## Loading")[0]
    assert set(re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines() if line.startswith("|")))) == set(
        COLUMNS
    )


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 9


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_can_be_parsed(line: str) -> None:
    """With the real parser, so a renamed option fails here."""
    words = shlex.split(line)[1:]
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    assert command.make_context(command.name, words).args == []


def test_the_python_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 2
    from recolorist_lab.data.synthetic import Recipe, write

    path = write(Recipe(hospitals=3, tiles=4, size=16), tmp_path)
    for block in blocks:
        code = block.replace("data/retina.parquet", path.as_posix()).replace("tiles=160", "tiles=4")
        exec(compile(code, str(PAGE), "exec"), {})  # noqa: S102 - our own page
