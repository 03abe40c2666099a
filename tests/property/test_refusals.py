"""Odd values of options, moments and images are refused with a sentence, never with an exception of Python or NumPy."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import recolorist as rc
from recolorist import Colorist, StyleBank

IMAGES = np.random.default_rng(4).integers(0, 256, (4, 6, 5, 3), dtype=np.uint8)
CONTENT, STYLE = IMAGES[:2]
BANK = StyleBank.build(IMAGES, split="train", labels=["a", "b", "a", "b"])
PLAN = rc.plan(rc.measure(CONTENT), rc.measure(STYLE))
HUGE = rc.Moments(4, [1.0] * 3, np.eye(3) * 1e308, 1e154)
HALF = np.linspace(0, 60000, 90).reshape(6, 5, 3).astype(np.float16)


def doubling() -> rc.Plan:
    narrow, wide = (rc.Moments(1, [0.0] * 3, np.eye(3) * variance, math.inf) for variance in (1.0, 4.0))
    return rc.plan(narrow, wide)


def huge_plan() -> rc.Plan:
    entries = json.loads(rc.plan(rc.measure(CONTENT, space="lab"), rc.measure(STYLE, space="lab"), "lab").to_json())
    return rc.Plan.from_json(json.dumps(entries | {"matrix": [[1e308] * 3] * 3}))


CASES: dict[str, Callable[[], Any]] = {
    "a label the bank has not seen": lambda: Colorist(BANK, p=1, sampler="same_label")(CONTENT, label="unseen"),
    "no image": lambda: Colorist(BANK, p=1)(None),
    "no image, and nothing drawn": lambda: Colorist(BANK, p=0)(None),
    "a list": lambda: Colorist(BANK, p=1)([[1, 2], [3, 4]]),
    "one strength of two": lambda: Colorist(BANK, strength=(1,)),  # type: ignore[arg-type]
    "three strengths": lambda: Colorist(BANK, strength=(0, 0.5, 1)),  # type: ignore[arg-type]
    "a word for alpha": lambda: rc.match(CONTENT, STYLE, alpha="x"),  # type: ignore[arg-type]
    "results float16 cannot hold": lambda: rc.apply(HALF, doubling(), data_range=math.inf),
    "a plan that leaves the numbers": lambda: rc.apply(CONTENT, huge_plan()),
}


@pytest.mark.parametrize("case", CASES)
def test_refused_with_a_sentence(case: str) -> None:
    with pytest.raises(rc.RecoloristError) as caught:
        CASES[case]()
    assert len(str(caught.value).split()) > 5


def test_huge_variances_give_finite_numbers() -> None:
    smaller = rc.Moments(4, [1.0] * 3, np.eye(3) * 1e307, 1e154)
    assert rc.plan(HUGE, smaller, "ycbcr").gain == pytest.approx([math.sqrt(0.1)] * 3)


def test_half_precision_declares_a_range() -> None:
    float16: Any = np.float16(1)
    image = (CONTENT / 255.0).astype(np.float16)
    assert np.array_equal(rc.match(image, image[::-1], data_range=float16), rc.match(image, image[::-1], data_range=1.0))


def test_a_list_of_two_strengths_is_a_range() -> None:
    assert Colorist(BANK, strength=[0.2, 0.8]).strength == (0.2, 0.8)  # type: ignore[arg-type]


ODD: list[Any] = [
    None, math.nan, math.inf, -math.inf, "", "x", [], (), {}, True, False, 0, -1, 10**400, 2**70, 1e308, -0.0, b"rgb",
    np.float16(1), np.float32("nan"), np.int8(-1), np.uint64(2**63), np.bool_(True), np.array(1.0), np.array([1.0, 2.0]),
    [0.2, 0.8], (1, 0), object(), 1j,
]  # fmt: skip
MATCH: tuple[str, ...] = (
    "method",
    "space",
    "mask",
    "style_mask",
    "strength",
    "max_gain",
    "eps_mode",
    "strict",
    "data_range",
    "style_range",
)
MATCH += ("clip", "apply_to", "on_nonfinite", "alpha", "out", "content", "style")
CALLS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "match": (lambda **o: rc.match(**({"content": CONTENT, "style": STYLE} | o)), MATCH),
    "measure": (lambda **o: rc.measure(**({"image": CONTENT} | o)), ("image", "mask", "space", "data_range", "alpha")),
    "plan": (
        lambda **o: rc.plan(**({"content": rc.measure(CONTENT), "style": rc.measure(STYLE)} | o)),
        ("content", "style", "space", "strength", "max_gain", "eps_mode", "method", "strict"),
    ),
    "apply": (
        lambda **o: rc.apply(**({"image": CONTENT, "plan": PLAN} | o)),
        ("image", "plan", "out", "mask", "data_range", "clip", "alpha", "on_nonfinite"),
    ),
    "audit": (
        lambda **o: rc.audit(**({"content": CONTENT, "out_or_plan": PLAN} | o)),
        ("content", "out_or_plan", "plan", "mask", "data_range", "alpha", "on_nonfinite"),
    ),
    "Moments": (
        lambda **o: rc.Moments.from_dict({"count": 4, "mean": [0.5], "cov": [[0.1]]} | o),
        ("count", "mean", "cov", "data_range", "space"),
    ),
    "Colorist": (
        lambda **o: Colorist(BANK, **({"p": 1.0, "seed": 1} | o))(CONTENT),
        ("p", "method", "space", "sampler", "strength", "max_gain", "max_clip", "mask", "seed", "apply_to", "data_range"),
    ),
    "call": (
        lambda **o: Colorist(BANK, p=1.0, seed=1)(**({"image": CONTENT} | o)),
        ("image", "index", "epoch", "label", "domain", "mask"),
    ),
    "Harmoniser": (
        lambda **o: rc.Harmoniser(BANK, **({"gate": "off"} | o))(CONTENT),
        ("gate", "coverage", "domain", "method", "space", "strength", "max_gain", "mask", "apply_to", "data_range", "blank"),
    ),
    "harmonise": (
        lambda **o: rc.Harmoniser(BANK, "off").harmonise(**({"image": CONTENT} | o)),
        ("image", "mask"),
    ),
    "match_within_batch": (
        lambda **o: rc.match_within_batch(**({"images": IMAGES} | o)),
        ("images", "p", "mode", "seed", "epoch", "index", "method", "space", "strength", "alpha", "data_range"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_odd_values_give_a_result_or_a_refusal(name: str) -> None:
    call, options = CALLS[name]
    chance = random.Random(name)
    odd = [{option: value} for option in options for value in ODD]
    odd += [{option: chance.choice(ODD) for option in chance.sample(options, 2)} for _ in range(100)]
    for given in odd:
        try:
            call(**given)
        except rc.RecoloristError as error:
            assert len(str(error)) > 20, given  # noqa: PT017
        except Exception as error:  # noqa: BLE001
            pytest.fail(f"{name}({given}) raised {type(error).__name__}: {error}")
