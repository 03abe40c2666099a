"""Evaluating a stream: the protocol's self-checks, one pass, shared styles, and nothing in place of what failed."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import recolorist
from recolorist.errors import OptionError
from recolorist_lab import metrics as m
from recolorist_lab.assets.weights import WeightsError
from recolorist_lab.metrics import (
    ALL,
    PER_PAIR,
    FeatureCache,
    MetricError,
    RangeError,
    Triple,
    evaluate,
    inception,
    perceptual,
    streaming,
)
from tests.lab.metrics.pictures import noisy, scene, unit
from tests.lab.metrics.triples import SIZE, contents, matched, styles

LIGHT = ["ssim", "ssim_luminance", "gradient_similarity", "wasserstein"]


@pytest.mark.usefixtures("real_weights")
class TestProtocol:
    """The self-checks that a harness for this protocol must pass, on the real networks."""

    def test_nothing_transferred_leaves_the_content(self) -> None:
        found = evaluate([Triple(one, two, one) for one, two in zip(contents(4), styles(4), strict=True)])
        assert found.n == 4
        assert (found.ssim, found.ssim_luminance, found.gradient_similarity) == pytest.approx((1, 1, 1), abs=1e-12)
        assert found.lpips == 0
        assert found.wasserstein == pytest.approx(
            np.mean([m.wasserstein_levels(a, b) for a, b in zip(contents(4), styles(4), strict=True)])
        )
        assert found.fid is not None
        assert found.fid > 1
        assert found.artfid == 1 + found.fid

    def test_the_style_as_output_is_at_no_distance_from_it(self) -> None:
        found = evaluate([Triple(one, two, two) for one, two in zip(contents(4), styles(4), strict=True)])
        assert found.wasserstein == 0
        assert found.fid == pytest.approx(0, abs=1e-6)
        assert found.lpips is not None
        assert found.lpips > 0.01
        assert found.artfid == pytest.approx(1 + found.lpips, abs=1e-5)

    def test_every_number_is_that_of_its_function(self) -> None:
        triples = matched(4)
        found = evaluate(triples, batch=3)
        content, style, output = (unit(*(one[side] for one in triples)) for side in range(3))  # type: ignore[arg-type]
        each = {name: getattr(m, name)(content, output) for name in PER_PAIR if name != "wasserstein"}
        each["wasserstein"] = m.wasserstein(output, style)
        for name, values in each.items():
            assert found.pairs[name] == pytest.approx(values.numpy(), abs=1e-6)
            assert getattr(found, name) == pytest.approx(float(values.mean()), abs=1e-6)
        features = m.features(style), m.features(output)
        assert found.fid == pytest.approx(m.fid(*features), rel=1e-4)
        spread = m.kid(*features)
        assert (found.kid, found.kid_low, found.kid_high) == pytest.approx((spread.mean, spread.low, spread.high), rel=1e-3)
        assert found.artfid == m.artfid(found.lpips or 0, found.fid or 0)
        assert set(found.choices) == {"ssim", "lpips", "fid"}
        assert found.choices["fid"] == "classic.1/fid_inception:ed45cb790e0d3eb2"

    def test_the_styles_are_looked_at_once_for_all_configurations(self, tmp_path: Path) -> None:
        cache = FeatureCache(tmp_path / "features")
        first = evaluate(matched(4), metrics=["fid"], cache=cache, style_key="set/seed0")
        again = evaluate(matched(4), metrics=["fid"], cache=cache, style_key="set/seed0")
        assert "features of styles" in first.seconds
        assert "features of styles" not in again.seconds
        assert first.fid == again.fid


class TestStream:
    def test_images_are_let_go_of(self) -> None:
        alive: set[int] = set()
        most = 0

        def stream() -> Iterator[Triple]:
            nonlocal most
            for number in range(40):
                output = noisy(scene(number, (16, 16)), 5)
                alive.add(number)
                weakref.finalize(output, alive.discard, number)
                most = max(most, len(alive))
                yield Triple(output, output, output)

        assert evaluate(stream(), metrics=LIGHT, batch=4).n == 40
        assert most <= 9  # the group in work, the one being gathered, and the last one yielded

    @pytest.mark.parametrize("batch", [1, 4, 100])
    def test_batches_do_not_matter(self, batch: int) -> None:
        found, expected = evaluate(matched(), metrics=LIGHT, batch=batch), evaluate(matched(), metrics=LIGHT)
        assert {name: values.tolist() for name, values in found.pairs.items()} == {
            name: values.tolist() for name, values in expected.pairs.items()
        }

    def test_only_what_was_asked_for_is_there(self) -> None:
        found = evaluate(matched(), metrics=["ssim"])
        assert [name for name in ALL if getattr(found, name) is not None] == ["ssim"]
        assert set(found.pairs) == {"ssim"}
        assert set(found.seconds) == {"load", "read", "open", "ssim"}

    def test_artfid_brings_what_it_is_made_of(self, looked_at: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
        assert looked_at == []
        monkeypatch.setattr(perceptual, "load", lambda *_: None)
        monkeypatch.setitem(streaming._MEASURES, "lpips", lambda group, _: torch.full((len(group.triples),), 0.25))
        found = evaluate(matched(), metrics=["artfid"])
        assert found.fid is not None
        assert found.artfid == pytest.approx(1.25 * (1 + found.fid))
        assert found.kid is None

    def test_time_is_reported_by_part(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """By a clock of the test's own, which reading the images advances by a second each."""
        clock = [0.0]
        monkeypatch.setattr("recolorist_lab.metrics.clock.time", SimpleNamespace(perf_counter=lambda: clock[0]))

        def slow() -> Iterator[Triple]:
            for triple in matched(2):
                clock[0] += 1.0
                yield triple

        seconds = evaluate(slow(), metrics=LIGHT).seconds
        assert seconds["read"] == 2.0
        assert {name: seconds[name] for name in LIGHT} == dict.fromkeys(LIGHT, 0.0)

    def test_it_can_be_written_down(self, looked_at: list[int]) -> None:
        assert looked_at == []
        plain = json.loads(json.dumps(evaluate(matched(), metrics=[*LIGHT, "fid", "kid"]).to_dict(pairs=True), allow_nan=False))
        assert plain["n"] == 6
        assert len(plain["pairs"]["ssim"]) == 6
        assert plain["kid_low"] <= plain["kid"] <= plain["kid_high"]
        assert "pairs" not in evaluate(matched(), metrics=["ssim"]).to_dict()

    def test_the_other_form_of_ssim(self) -> None:
        found = evaluate(matched(), metrics=["ssim"], ssim_form="torchmetrics")
        content, output = unit(*contents()), unit(*(one.output for one in matched()))
        assert found.pairs["ssim"] == pytest.approx(m.ssim(content, output, form="torchmetrics").numpy(), abs=1e-6)
        assert found.choices == {"ssim": "torchmetrics"}


class TestAudits:
    def test_their_means_are_told(self) -> None:
        triples = [one._replace(audit=recolorist.audit(one.content, one.output)) for one in matched()]
        found = evaluate(triples, metrics=["ssim"])
        assert found.clipped == pytest.approx(np.mean([one.audit.clipped_overall for one in triples if one.audit]))
        assert found.pearson == pytest.approx(np.mean([one.audit.pearson_pooled for one in triples if one.audit]))
        assert len(found.pairs["clipped"]) == 6

    def test_a_flat_image_has_no_correlation(self) -> None:
        flat = np.full((*SIZE, 3), 90, np.uint8)
        triples = [one._replace(audit=recolorist.audit(one.content, one.output)) for one in matched(2)]
        triples.append(Triple(flat, flat, flat, recolorist.audit(flat, flat)))
        found = evaluate(triples, metrics=["ssim"])
        assert found.pearson == pytest.approx(found.pairs["pearson"][:2].mean())
        assert found.to_dict(pairs=True)["pairs"]["pearson"][2] is None
        assert evaluate(triples[2:], metrics=["ssim"]).pearson is None

    @pytest.mark.parametrize("bare", [0, 3, 5])
    def test_all_or_none(self, bare: int) -> None:
        triples = [one._replace(audit=recolorist.audit(one.content, one.output)) for one in matched()]
        triples[bare] = triples[bare]._replace(audit=None)
        with pytest.raises(OptionError, match="give all or none"):
            evaluate(triples, metrics=["ssim"], batch=2)


def _with(triple: Triple, side: str, image: Any) -> Triple:
    return Triple(**{**triple._asdict(), side: image})


class TestRefusals:
    @pytest.mark.parametrize("side", ["content", "style", "output"])
    def test_images_of_another_size(self, side: str) -> None:
        triples = matched()
        triples[3] = _with(triples[3], side, scene(0, (48, 40)))
        with pytest.raises(RangeError, match=f"{side} of pair 3 is 48 × 40, the first content 40 × 48; bring all"):
            evaluate(triples, metrics=["ssim"], batch=2)

    @pytest.mark.parametrize("side", ["content", "style", "output"])
    def test_images_that_are_no_levels(self, side: str) -> None:
        triples = matched()
        triples[4] = _with(triples[4], side, scene(0, SIZE) / 255)
        with pytest.raises(RangeError, match=f"{side} of pair 4 is float64 of shape"):
            evaluate(triples, metrics=["ssim"], batch=2)

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            ({"metrics": ["ssim", "psnr"]}, "metrics='psnr' is unknown; choose from 'ssim', "),
            ({"metrics": "ssim"}, "give a list of ssim, "),
            ({"metrics": []}, "give a list of ssim, "),
            ({"fid_backend": "clean"}, "fid_backend='clean' is unknown"),
            ({"ssim_form": "piq"}, "ssim_form='piq' is unknown"),
            ({"lpips_net": "squeeze"}, "lpips_net='squeeze' is unknown"),
            ({"batch": 0}, "batch is 0"),
        ],
    )
    def test_options_are_looked_at_before_any_image(self, options: dict[str, object], why: str) -> None:
        def never() -> Iterator[Triple]:
            raise AssertionError("an image was asked for")
            yield

        with pytest.raises(OptionError, match=why):
            evaluate(never(), **options)  # type: ignore[arg-type]

    @pytest.mark.parametrize("metric", ["lpips", "fid"])
    def test_missing_weights_are_said_before_any_image(
        self, metric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def never() -> Iterator[Triple]:
            raise AssertionError("an image was asked for")
            yield

        monkeypatch.setenv("RECOLORIST_WEIGHTS", str(tmp_path))
        monkeypatch.setenv("TORCH_HOME", str(tmp_path))
        inception._network.cache_clear()
        perceptual._model.cache_clear()
        with pytest.raises(WeightsError, match="is needed and was not found"):
            evaluate(never(), metrics=[metric])

    def test_no_pairs(self) -> None:
        with pytest.raises(OptionError, match="no pairs were given"):
            evaluate([], metrics=["ssim"])

    def test_too_few_for_a_distance_of_sets(self, looked_at: list[int]) -> None:
        assert looked_at == []
        with pytest.raises(RangeError, match="at least two rows"):
            evaluate(matched(1), metrics=["fid"])
        with pytest.raises(OptionError, match="100 subsets of 1 from 3 and 3 images"):
            evaluate(matched(3), metrics=["kid"])

    def test_images_too_small_for_a_window(self) -> None:
        small = scene(0, (6, 9))
        with pytest.raises(RangeError, match="needs 7 pixels a side"):
            evaluate([Triple(small, small, small)], metrics=["ssim"])

    @pytest.mark.parametrize("name", PER_PAIR)
    def test_a_value_that_is_no_number_raises(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(group: streaming._Group, _: object) -> torch.Tensor:
            return torch.where(torch.arange(len(group.triples)) == 1, float("nan"), 0.5).double()

        monkeypatch.setattr(perceptual, "load", lambda *_: None)
        monkeypatch.setitem(streaming._MEASURES, name, fails)
        with pytest.raises(MetricError, match=f"{name} of pair 1 is nan; no value is reported"):
            evaluate(matched(), metrics=[name])

    def test_a_distance_that_fails_raises(self, looked_at: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
        """What the paper's harness did: it recorded 100 for an FID that had failed."""

        def fails(*_: object, **__: object) -> None:
            raise np.linalg.LinAlgError("SVD did not converge")

        assert looked_at == []
        monkeypatch.setattr(np.linalg, "svd", fails)
        with pytest.raises(MetricError, match="SVD did not converge; no value is reported"):
            evaluate(matched(), metrics=["fid"])
