"""Recipes of training and learning rates."""

from __future__ import annotations

import pytest

from recolorist.errors import OptionError
from recolorist_lab.baselines.recipe import TrainingRecipe, constant, cosine_by_epoch, inverse_time


class TestRecipe:
    @pytest.mark.parametrize(
        "wrong",
        [{"batch": 0}, {"crop_size": 600}, {"rate": 0.0}, {"view": "round"}, {"accumulate": 3}, {"iterations": -1}],
    )
    def test_nonsense_is_refused(self, wrong: dict[str, object]) -> None:
        with pytest.raises(OptionError):
            TrainingRecipe().but(**wrong)

    def test_unknown_names_are_refused(self) -> None:
        with pytest.raises(OptionError, match="'speed' is not a value of a recipe"):
            TrainingRecipe().but(speed=3)

    def test_epochs_become_iterations(self) -> None:
        recipe = TrainingRecipe(batch=64, epochs=50).resolved(130)
        assert (recipe.iterations, recipe.epoch_steps, recipe.laps) == (150, 3, 50)
        counted = TrainingRecipe(batch=64, epochs=50, iterations=7).by_iterations().resolved(130)
        assert (counted.iterations, counted.epoch_steps, counted.laps) == (7, 3, 3)

    def test_rates(self) -> None:
        shared = inverse_time(1e-4, 5e-5)
        assert shared(0) == 1e-4
        assert shared(20_000) == pytest.approx(5e-5)
        assert shared(159_999) == pytest.approx(1.1111e-5, rel=1e-4)
        assert constant(3.0)(10**6) == 3.0
        cosine = cosine_by_epoch(1.0, 4, 10)
        assert [cosine(step) for step in (0, 9)] == [1.0, 1.0]
        assert cosine(20) == pytest.approx(0.5)
        assert cosine(10**6) == pytest.approx(0.0, abs=1e-12)
