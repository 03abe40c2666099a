"""The training loop where something goes wrong: gradients that are not finite, and a device without enough memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch import Tensor

from recolorist_lab.training import loop
from recolorist_lab.training.algorithms.base import StepLoss
from recolorist_lab.training.algorithms.erm import Plain
from recolorist_lab.training.loop import TrainingError
from recolorist_lab.training.normalise import Normalise
from recolorist_lab.training.run import run
from tests.lab.training.contexts import Memory, small

TILES = "synthetic:hospitals=3,tiles=12,size=8"
HOW: dict[str, Any] = {"dataset": TILES, "size": 8, "epochs": 1, "batch": 4}


def are_finite(weights: dict[str, Tensor]) -> bool:
    return all(bool(torch.isfinite(tensor).all()) for tensor in weights.values())


def with_room_for(images: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the network run out of memory with more images than these; returns the sizes it was asked for."""
    asked: list[int] = []
    forward = Plain.forward

    def limited(self: Plain, seen: Tensor, targets: Tensor, domains: Tensor) -> StepLoss:
        asked.append(len(seen))
        outcome = forward(self, seen, targets, domains)  # batch norm has changed by the time memory is out
        if len(seen) > images:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return outcome

    monkeypatch.setattr(Plain, "forward", limited)
    return asked


class TestNotFinite:
    @pytest.mark.parametrize("clip_norm", [0.0, 1.0])
    def test_an_infinite_gradient_is_not_applied(self, clip_norm: float, monkeypatch: pytest.MonkeyPatch) -> None:
        backward, calls = Tensor.backward, []

        def infinite(loss: Tensor, *given: Any, **named: Any) -> None:
            calls.append(1)
            backward(loss * (float("inf") if len(calls) == 2 else 1.0), *given, **named)

        monkeypatch.setattr(Tensor, "backward", infinite)
        context = Memory()
        result = run(small(**HOW, clip_norm=clip_norm), context)
        assert len(calls) == 3
        assert result["skipped_minibatches"] == 1
        assert are_finite(context.weights())

    def test_without_clipping_the_gradient_is_applied_as_it_is(self) -> None:
        off, far = Memory(), Memory()
        run(small(**HOW, clip_norm=0.0), off)
        run(small(**HOW, clip_norm=1e30), far)
        assert off.kept["model.safetensors"] == far.kept["model.safetensors"]

    def test_an_input_that_is_not_finite_leaves_batch_norm_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        unit, calls = Normalise.unit, []

        def poisoned(self: Normalise, images: Tensor) -> Tensor:
            calls.append(1)
            return unit(self, images) * (float("nan") if len(calls) == 2 else 1.0)

        monkeypatch.setattr(Normalise, "unit", poisoned)
        context = Memory()
        result = run(small(**HOW), context)
        assert result["skipped_minibatches"] == 1
        assert are_finite(context.weights())


class TestOutOfMemory:
    def test_a_minibatch_is_halved_until_it_fits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same bits as the same batch worked through in as many parts from the start."""
        how = {**HOW, "batch": 12, "epochs": 2}
        parts, halved = Memory(), Memory()
        expected: Any = run(small(**how, accumulate=4), parts)
        asked = with_room_for(3, monkeypatch)
        result: Any = run(small(**how), halved)
        assert asked == [12, 6, *[3] * 8]
        assert halved.weights().keys() == parts.weights().keys()
        assert all(torch.equal(tensor, parts.weights()[name]) for name, tensor in halved.weights().items())
        assert {**result, "best_val_loss": None} == {**expected, "best_val_loss": None}
        assert result["parts"] == 4
        assert [row["parts"] for row in json.loads(halved.kept["history.json"])] == [4, 4]

    def test_a_resumed_run_goes_on_in_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        how = {**HOW, "batch": 12, "epochs": 2, "checkpoint_seconds": 0.0}
        asked = with_room_for(6, monkeypatch)
        whole, again = Memory(), Memory()
        run(small(**how), whole)
        again.saved = whole.saved[:1]
        asked.clear()
        run(small(**how), again)
        assert asked == [6, 6]
        assert again.kept == whole.kept

    def test_two_images_that_do_not_fit_end_the_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with_room_for(1, monkeypatch)
        with pytest.raises(TrainingError, match=r"out of memory with 2 images at a time.*smaller model or size"):
            run(small(**HOW), Memory())

    def test_several_devices_do_not_halve(self) -> None:
        with pytest.raises(TrainingError, match="accumulate=2"):
            loop.halve_pieces(small(devices=2), 1, 8)


class TestFormats:
    def test_channels_side_by_side_change_rounding_only(self) -> None:
        beside, apart = Memory(), Memory()
        run(small(**HOW, memory_format="channels_last"), beside)
        run(small(**HOW, memory_format="contiguous"), apart)
        for name, tensor in beside.weights().items():
            torch.testing.assert_close(tensor, apart.weights()[name], atol=2e-3, rtol=1e-3)
            assert tensor.is_contiguous()

    def test_a_resumed_run_keeps_the_bits(self) -> None:
        how = {**HOW, "memory_format": "channels_last", "checkpoint_seconds": 0.0, "epochs": 2}
        whole, again = Memory(), Memory()
        run(small(**how), whole)
        again.saved = whole.saved[:2]
        run(small(**how), again)
        assert again.kept == whole.kept

    def test_compiling_is_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A compiler takes minutes; whether it is given the right modules takes none."""
        asked: list[str] = []
        monkeypatch.setattr(torch.nn.Module, "compile", lambda module: asked.append(type(module).__name__))
        run(small(**HOW, compile=True), Memory())
        assert asked == ["Plain", "Classifier"]
