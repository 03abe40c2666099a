"""The table of methods: the paper's thirteen, lazily, exactly."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from recolorist.errors import OptionError
from recolorist_lab.baselines import METHODS, build, registry
from recolorist_lab.baselines.base import Baseline
from recolorist_lab.baselines.recipe import TrainingRecipe

PAPER = (
    *("AdaIN", "ArtFlow", "EFDM", "IEContrAST", "MAST", "SANET", "Styleformer", "StyTr2"),
    *("Contrimix", "SGViTs", "StylizingViT", "Modflows", "WCT2"),
)
PUBLISHED = {"modflows", "wct2"}
SIZES = {"contrimix": 224, "sgvits": 224, "stylizingvit": 224, "modflows": 512, "wct2": 512}
IN_PLACE = [name for name, method in METHODS.items() if method.in_place]


def test_the_table_is_the_papers() -> None:
    assert tuple(method.title for method in METHODS.values()) == PAPER
    assert [name.upper() for name in METHODS] == [name.upper() for name in PAPER]


@pytest.mark.parametrize("name", IN_PLACE)
def test_every_method_says_what_it_must(name: str) -> None:
    found = registry.class_of(name)
    assert issubclass(found, Baseline)
    assert found.name == METHODS[name].title
    assert found.native_size == SIZES.get(name, 256)
    assert found.needs_training == (name not in PUBLISHED)
    assert len(found.paper) > 30
    assert found.licence
    assert isinstance(found.defaults, TrainingRecipe)
    with torch.device("meta"):
        model = build(name, encoder="random")
    counts = model.parameters_by_part()
    assert set(model.trained_parts()) | set(model.training_only) <= set(counts)
    assert {file.part for file in model.official} <= set(counts)


def test_unknown_names_are_refused_and_guessed_at() -> None:
    with pytest.raises(OptionError, match="did you mean 'adain'"):
        build("adian")
    with pytest.raises(OptionError, match="encoder='vgg'"):
        build("adain", encoder="vgg")
    with pytest.raises(OptionError, match=r"'beta' is unknown.*'alpha'"):
        build("adain", encoder="random", beta=1)


def test_a_method_that_is_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = registry.Method("Later", "recolorist_lab.baselines.later", "Later", "2030")
    monkeypatch.setattr(registry, "METHODS", {**METHODS, "later": absent})
    assert not absent.in_place
    with pytest.raises(OptionError, match="Later is not implemented yet; implemented are adain"):
        build("later")


def test_a_seed_makes_a_model_and_nothing_else_moves() -> None:
    before = torch.get_rng_state()
    one, same, other = (build("adain", encoder="random", seed=seed) for seed in (1, 1, 2))
    assert torch.equal(before, torch.get_rng_state())
    key = "decoder.1.weight"
    assert torch.equal(one.state_dict()[key], same.state_dict()[key])
    assert not torch.equal(one.state_dict()[key], other.state_dict()[key])
    assert one.made is not None
    assert (one.made.method, one.made.seed, one.made.options) == ("adain", 1, {})


def test_looking_at_the_table_imports_no_framework() -> None:
    code = "import sys, recolorist_lab.baselines.registry, recolorist_lab.cli.baseline; print('torch' in sys.modules)"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert process.stdout.strip() == "False"
