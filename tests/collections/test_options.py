"""Option objects are checked when they are made, and give back what decides the outputs."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest

from recolorist.augment.samplers import own_style_by
from recolorist.collections.options import (
    AuditOptions,
    AugmentOptions,
    BankOptions,
    DriftOptions,
    HarmoniseOptions,
    Limits,
    Masks,
    MeasureOptions,
    OutputOptions,
    SourceOptions,
    Where,
)
from recolorist.core.options import MatchOptions
from recolorist.errors import OptionError

MATCH = MatchOptions()


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        *((OutputOptions, {"quality": value}) for value in (0, 101, 95.0, True, "95")),
        *((MeasureOptions, values) for values in ({"mask": "liver"}, {"space": "cmyk"}, {"mask": 1})),
        *((Limits, {name: value}) for name in ("loss", "saturated", "clip") for value in (-0.1, 1.1, math.nan, "0.1")),
        *((Limits, {name: -1.0}) for name in ("max_gain", "outlier")),
        (AuditOptions, {"mask": "liver"}),
        *((Masks, {name: "tisue"}) for name in ("mask", "style_mask")),
        *((DriftOptions, {"coverage": value}) for value in (0.4, 1, 2, math.nan, "0.9")),
        (DriftOptions, {"mask": "liver"}),
        (HarmoniseOptions, {"match": MATCH, "mask": "liver"}),
        (HarmoniseOptions, {"match": MATCH, "blank": "drop"}),
        (AugmentOptions, {"match": MATCH, "blank": True}),
        *((AugmentOptions, {"match": MATCH, "copies": value}) for value in (0, -1, 1.5)),
        *((AugmentOptions, {"match": MATCH, "p": value}) for value in (-0.1, 1.1, math.nan)),
        (AugmentOptions, {"match": MATCH, "mask": "liver"}),
        *((AugmentOptions, {"match": MATCH, "seed": value}) for value in (None, -1, 1.5, "1")),
        *((AugmentOptions, {"match": MATCH, "sampler": value}) for value in ("own", None, own_style_by(2.0))),
        *((SourceOptions, {name: value}) for name in ("label_from", "domain_from") for value in ("-1", 1.0, True)),
        *((Where, {"jobs": value}) for value in (0, -2, 1.5)),
        (Where, {"engine": "dask"}),
    ],
)
def test_wrong_values_are_refused_by_name(kind: type[Any], values: dict[str, Any]) -> None:
    name = [name for name in values if name != "match"][0]  # noqa: RUF015
    with pytest.raises(OptionError, match=rf"^{name}="):
        kind(**values)


@pytest.mark.parametrize("method", ["histogram", "exact_histogram"])
def test_harmonising_by_histograms_is_refused_and_names_what_is_accepted(method: Any) -> None:
    with pytest.raises(OptionError, match=rf"method='{method}'.*harmonise with mean_std or covariance"):
        HarmoniseOptions(MatchOptions(method=method))


@pytest.mark.parametrize(
    "options",
    [SourceOptions(), OutputOptions(), MeasureOptions(), BankOptions(), Limits(), AuditOptions(), DriftOptions(), Masks(),
     HarmoniseOptions(MATCH), AugmentOptions(MATCH), Where()],
    ids=lambda options: type(options).__name__,
)  # fmt: skip
def test_options_cannot_be_changed_after_the_check(options: Any) -> None:
    name = dataclasses.fields(options)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(options, name, None)


def test_values_at_the_limits_are_accepted() -> None:
    assert OutputOptions(quality=1).quality == 1
    assert OutputOptions(quality=100).quality == 100
    assert DriftOptions(0.5).coverage == 0.5
    assert AugmentOptions(MATCH, p=0.0).p == 0
    assert Limits(loss=0, clip=1, max_gain=math.inf).max_gain == math.inf


def test_linear_spaces_are_measured_in_rgb() -> None:
    spaces = {space: MeasureOptions(space=space).measured_space for space in ("rgb", "ycbcr", "yiq", "lab", "hed")}
    assert spaces == {"rgb": "rgb", "ycbcr": "rgb", "yiq": "rgb", "lab": "lab", "hed": "hed"}


def test_records_hold_everything_that_decides_the_outputs() -> None:
    match = MatchOptions(method="covariance", space="lab", strength=0.5, max_gain=3.0, apply_to="mask", max_clip=0.1)
    harmonise = HarmoniseOptions(match, mask="tissue", pool=True, style_name="x", gate="edge").to_dict()
    common = {"method": "covariance", "space": "lab", "max_gain": 3.0, "apply_to": "mask", "mask": "tissue"}
    common |= {"max_clip": 0.1, "max_loss": None, "blank": "keep"}
    assert harmonise == common | {"strength": 0.5, "pool": True, "gate": "edge", "coverage": 0.99}
    augment = AugmentOptions(match, (0.2, 0.8), 3, 0.5, 7, "gaussian", "tissue", allow_split=True)
    own = {"strength": (0.2, 0.8), "p": 0.5, "seed": 7, "sampler": "gaussian", "allow_split": True}
    assert augment.for_colorist() == common | own
    assert augment.to_dict() == common | own | {"copies": 3}
    assert json.dumps(augment.to_dict())


@pytest.mark.parametrize("value", [0, 1e-4, 0.6, math.nan, "0.01", None])
def test_an_alpha_that_no_group_can_reach_is_refused(value: Any) -> None:
    with pytest.raises(OptionError, match=r"^alpha=.*accepted are probabilities above .* and up to 0\.5"):
        DriftOptions(alpha=value)


@pytest.mark.parametrize("gate", ["inside", "", 1])
def test_an_unknown_gate_is_refused_with_those_there_are(gate: Any) -> None:
    with pytest.raises(OptionError, match=r"^gate=.*centre.*edge.*off"):
        HarmoniseOptions(MATCH, gate=gate)


def test_harmonising_writes_every_image_once_and_has_no_option_for_it() -> None:
    assert HarmoniseOptions(MATCH).copies == 1
    assert "copies" not in {entry.name for entry in dataclasses.fields(HarmoniseOptions)}
    with pytest.raises(TypeError):
        HarmoniseOptions(MATCH, copies=2)  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", [AugmentOptions, HarmoniseOptions])
def test_what_happens_to_blank_images_is_said_once_and_reaches_the_match(kind: Any) -> None:
    assert [kind(MATCH, blank=value).match.blank for value in ("keep", "match")] == ["keep", "match"]
    assert kind(MatchOptions(blank="match")).match.blank == "keep"  # the option of the collection goes before


def test_a_mask_file_that_exists_is_accepted_beside_the_rules(tmp_path: Path) -> None:
    (tmp_path / "mask.png").touch()
    assert Masks(str(tmp_path / "mask.png"), "fundus").style_mask == "fundus"
    with pytest.raises(OptionError, match=r"^style_mask=.*give a file, or a foreground rule: 'tissue' or 'fundus'"):
        Masks("tissue", str(tmp_path / "none.png"))
