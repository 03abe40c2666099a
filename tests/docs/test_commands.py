"""Every command line that the documentation shows is one that the real commands accept; nothing is run."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from typing import Any, Final

import pytest
from typer.main import get_command

from tests.docs.reading import PROGRAMS, ROOT, Command, commands, name_of, pages, prose, script_commands

MODULES: Final = {"recolorist": "recolorist.cli.main", "recolorist-lab": "recolorist_lab.cli.main"}
#: Options of other programs that pages name in running text.
FOREIGN: Final = frozenset(
    {
        *("--no-deps", "--require-hashes"),  # pip
        *("--gpus", "--nv", "--shm-size"),  # Docker, Apptainer
        *("--from",),  # written before `=` in running text
    }
)
#: Of the scripts in benchmarks/ and tools/, which parse their own.
SCRIPTS: Final = frozenset({"--containers", "--data", "--kills", "--ledger", "--strict"})


@cache
def program(name: str) -> Any:
    """The command with every leaf emptied: it parses as always, and then does nothing."""
    made: Any = get_command(importlib.import_module(MODULES[name]).app)
    for leaf in leaves(made):
        leaf.callback = lambda **_: None
        for parameter in leaf.params:
            if "--plugin" in parameter.opts:
                parameter.callback = None  # the files that the pages name are not here
    return made


def leaves(command: Any) -> list[Any]:
    """The commands below a group that are no groups."""
    below = getattr(command, "commands", None)
    return [command] if below is None else [leaf for each in below.values() for leaf in leaves(each)]


def complaint(command: Command) -> str | None:
    """What the command line says to these words."""
    node = program(command.program)
    depth = 0
    while getattr(node, "commands", None) is not None and depth < len(command.words):
        word = command.words[depth]
        if word == "--version":
            return None
        if word not in node.commands:
            return f"there is no command {word!r}; there are {sorted(node.commands)}"
        node, depth = node.commands[word], depth + 1
    if getattr(node, "commands", None) is not None:
        return None  # the name of a group, in running text
    try:
        program(command.program).main(list(command.words), standalone_mode=False)
    except Exception as error:  # noqa: BLE001 - typer's own kinds of errors have no public names
        unfinished = type(error).__name__ == "MissingParameter" and not command.whole
        message = str(error.format_message()) if hasattr(error, "format_message") else repr(error)
        return None if unfinished else message
    return None


def options(command: Any) -> set[str]:
    """Every option below a command."""
    own = {name for parameter in command.params for name in [*parameter.opts, *parameter.secondary_opts]}
    return own.union(*(options(each) for each in getattr(command, "commands", {}).values()))


def test_every_command_line_parses() -> None:
    scripts = [path for path in sorted((ROOT / "examples").rglob("*")) if path.suffix in {".py", ".sh"}]
    found = [command for page in pages() for command in commands(page)]
    found += [command for script in scripts for command in script_commands(script)]
    assert len(found) > 60, "the pages show dozens of commands"
    wrong = [f"{command}\n    {message}" for command in found if (message := complaint(command))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("drift", "today/"), "--bank"),
        (("match", "a.png", "b.png", "-o", "c.png", "--colour"), "--colour"),
        (("bank", "biuld", "x"), "biuld"),
        (("match", "a.png", "b.png", "c.png", "-o", "d.png"), "c.png"),
        (("match", "a.png", "b.png", "-o", "d.png", "--quality", "high"), "--quality"),
    ],
)
def test_a_wrong_line_is_noticed(words: tuple[str, ...], part: str) -> None:
    assert part in str(complaint(Command("here", "recolorist", words, whole=True)))


def test_every_option_named_in_the_text_exists() -> None:
    known = FOREIGN | SCRIPTS | {"--help"}
    known = known.union(*(options(program(name)) for name in PROGRAMS))
    wrong = []
    for page in pages():
        named = re.findall(r"`(--[a-z][\w-]*)", prose(page))
        wrong += [f"{name_of(page)}: {name}" for name in named if name not in known]
    assert not wrong, "\n".join(wrong)


def test_every_script_that_is_named_exists() -> None:
    named = {
        (name_of(page), module)
        for page in pages()
        for module in re.findall(r"python -m ((?:tools|benchmarks|tests)[\w.]+)", page.read_text("utf-8"))
    }
    assert len(named) > 5
    assert [pair for pair in sorted(named) if importlib.util.find_spec(pair[1]) is None] == []


def test_every_target_of_make_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {(name_of(page), target) for page in pages() for target in re.findall(r"`make ([a-z-]+)", page.read_text("utf-8"))}
    assert len(named) > 5
    assert [pair for pair in sorted(named) if pair[1] not in targets] == []
