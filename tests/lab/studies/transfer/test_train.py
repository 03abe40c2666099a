"""Training a network as a cell."""

from __future__ import annotations

import pytest

from recolorist.errors import OptionError
from recolorist_lab.baselines import build
from recolorist_lab.studies.transfer import train as transfer_train
from recolorist_lab.studies.transfer.train import TransferTrain, recipe_of
from tests.lab.studies.transfer.kit import SMALL, Context


class TestTraining:
    def test_a_resumed_run_keeps_the_same_weights(self) -> None:
        config = TransferTrain(method="contrimix", checkpoint=2, **SMALL)
        whole = Context()
        transfer_train.run(config, whole)
        assert list(whole.saved) == [2]
        again = Context(found=(2, whole.saved[2]))
        transfer_train.run(config, again)
        assert again.kept[transfer_train.WEIGHTS] == whole.kept[transfer_train.WEIGHTS]
        assert again.kept[transfer_train.SAMPLE].startswith(b"\x89PNG")

    def test_one_budget_bounds_every_recipe(self) -> None:
        import torch

        config = TransferTrain(method="adain", **SMALL)
        with torch.device("meta"):
            own = recipe_of(config, build("adain", encoder="random"))
            large = recipe_of(config, build("iecontrast", encoder="random"))
            epochs = recipe_of(config, build("sgvits", encoder="random", size=64))
        assert (own.batch, own.iterations, own.load_size, own.crop_size) == (2, 4, 64, 64)
        assert large.crop_size == large.load_size >= 125  # what its discriminator needs goes before
        assert (epochs.epochs, epochs.iterations, epochs.accumulate, epochs.crop_size) == (None, 4, 1, 64)

    def test_zeros_are_the_methods_own(self) -> None:
        import torch

        with torch.device("meta"):
            model = build("adain", encoder="random")
        assert recipe_of(TransferTrain(method="adain"), model) == model.defaults

    def test_odd_numbers_are_refused(self) -> None:
        with pytest.raises(OptionError, match="numbers from 0"):
            TransferTrain(method="adain", batch=-1)
