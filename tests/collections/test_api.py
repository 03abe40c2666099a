"""Every keyword of the public functions arrives in the option object it belongs to."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from recolorist.collections import api, tasks
from recolorist.collections.options import DriftOptions, Limits, SourceOptions, Where
from recolorist.errors import OptionError
from recolorist.io.images import Reading

READING, WHERE, LIMITS = Reading(bits=12), Where(jobs=3), Limits(loss=0.25)
SELECT = {"label_from": 1, "domain_from": 2, "split": "test", "root": "elsewhere", "follow_links": True}
OUTPUT = {"quality": 81, "keep_icc": True, "full_audit": True, "force": True, "resume": True}
MATCH: dict[str, Any] = {"method": "covariance", "space": "yiq", "max_gain": 3.0, "apply_to": "mask", "mask": "tissue"}
MATCH |= {"max_clip": 0.125, "max_loss": 0.25, "blank": "match"}
BOTH = {"reading": READING, "where": WHERE}

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "measure_bank": (
        api.build_bank,
        ("source",),
        SELECT
        | BOTH
        | {"name": "n", "preprocessing": "words", "mask": "fundus", "space": "lab", "with_histograms": True, "any_split": True}
        | {"with_blank": True},
    ),
    "write_augmented": (
        api.augment,
        ("source", "out", "bank"),
        SELECT
        | OUTPUT
        | MATCH
        | BOTH
        | {"copies": 2, "p": 0.5, "seed": 7, "sampler": "gaussian", "strength": 0.25, "allow_split": True},
    ),
    "write_harmonised": (
        api.harmonise,
        ("source", "out", "style"),
        {"split": "test", "root": "elsewhere", "follow_links": True}
        | OUTPUT
        | MATCH
        | BOTH
        | {"strength": 0.25, "style_name": "x", "pool": True, "gate": "edge", "coverage": 0.75},
    ),
    "audit_images": (api.audit, ("source", "bank"), SELECT | BOTH | {"mask": "fundus", "limits": LIMITS}),
}


def flatten(value: Any) -> dict[str, Any]:
    """Every field of an option object and of those inside it; an outer field goes before an inner one of its name."""
    found: dict[str, Any] = {}
    for field in fields(value):
        inner = getattr(value, field.name)
        found = found | {field.name: inner}
        if is_dataclass(inner):
            found = flatten(inner) | found
    return found


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []
    for name in CALLS:
        monkeypatch.setattr(tasks, name, lambda *values: calls.append(values))
    return calls


@pytest.mark.parametrize("name", CALLS)
def test_every_keyword_arrives(received: list[tuple[Any, ...]], name: str) -> None:
    function, positional, keywords = CALLS[name]
    given = {key for key, entry in inspect.signature(function).parameters.items() if entry.kind is entry.KEYWORD_ONLY}
    assert given == set(keywords), "a keyword is not tried here"
    function(*positional, **keywords)
    (values,) = received
    assert values[: len(positional)] == positional
    assert READING in values
    assert WHERE in values
    options: dict[str, Any] = {}
    for value in values[len(positional) :]:
        options |= {} if value in (READING, WHERE) else flatten(value)
    assert {key: options[key] for key in keywords if key not in BOTH} == {
        key: value for key, value in keywords.items() if key not in BOTH
    }


def test_drift_takes_its_groups_as_domains(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(tasks, "compare_images", lambda *values: calls.append(values))
    keywords: dict[str, Any] = {"coverage": 0.75, "mask": "tissue", "alpha": 0.01, "patients": "^([a-z]+)", "group_from": 2}
    keywords |= {"split": "test", "root": "elsewhere", "follow_links": True, **BOTH}
    parameters = inspect.signature(api.drift).parameters.values()
    assert {entry.name for entry in parameters if entry.kind is entry.KEYWORD_ONLY} == set(keywords), (
        "a keyword is not tried here"
    )
    api.drift("bank", "source", **keywords)
    options, select = DriftOptions(0.75, "tissue", 0.01, "^([a-z]+)"), SourceOptions(None, 2, "test", "elsewhere", True)
    assert calls == [("bank", "source", options, select, READING, WHERE)]


@pytest.mark.parametrize(
    ("function", "values", "name"),
    [
        (api.augment, {"method": "mean_sdt"}, "method"),
        (api.augment, {"quality": 0}, "quality"),
        (api.harmonise, {"strength": 7}, "strength"),
        (api.harmonise, {"method": "histogram"}, "method"),
        (lambda source, _folder, bank, **values: api.drift(bank, source, **values), {"coverage": 2}, "coverage"),
    ],
)
def test_wrong_options_are_refused_before_the_source_is_looked_at(
    function: Callable[..., Any], values: dict[str, Any], name: str
) -> None:
    with pytest.raises(OptionError, match=rf"^{name}="):
        function("no source", "no folder", None, **values)
