"""What the two transformers share."""

from __future__ import annotations

import math

import pytest
import torch

from recolorist.errors import OptionError
from recolorist_lab.baselines.vit import PATCH, Normalisation, places, refuse_odd, resized, synthesise


class TestPlaces:
    def test_columns_first_then_rows_sines_then_cosines(self) -> None:
        table = places(14, 768)[0]
        assert not table[0].any()
        row, column, wave = 3, 5, 7
        token = table[1 + row * 14 + column]
        speed = 1 / 10000 ** (wave / 192)
        assert token[wave].item() == pytest.approx(math.sin(column * speed), abs=1e-6)
        assert token[192 + wave].item() == pytest.approx(math.cos(column * speed), abs=1e-6)
        assert token[384 + wave].item() == pytest.approx(math.sin(row * speed), abs=1e-6)
        assert token[576 + wave].item() == pytest.approx(math.cos(row * speed), abs=1e-6)


class TestSynthesis:
    def test_linear_in_each_half(self) -> None:
        first, second = torch.randn(2, 5, 96), torch.randn(2, 5, 96)
        out = synthesise(first, second)
        assert out.shape == (2, 3, 32, 32)
        assert torch.allclose(synthesise(2 * first, second), 2 * out, atol=1e-5)
        assert torch.allclose(synthesise(first, 2 * second), 2 * out, atol=1e-5)

    def test_a_patch_changes_its_own_square_alone(self) -> None:
        first, second = torch.randn(1, 10, 96), torch.randn(1, 10, 96)
        other = second.clone()
        other[0, 1 + 4] += 1.0  # the middle of 3 x 3
        changed = (synthesise(first, second) != synthesise(first, other)).any(1)[0]
        assert not changed[:16].any()
        assert changed[16:32, 16:32].all()
        changed[16:32, 16:32] = False
        assert not changed.any()

    def test_the_class_token_is_left_out(self) -> None:
        first, second = torch.randn(1, 5, 96), torch.randn(1, 5, 96)
        other = first.clone()
        other[0, 0] = 9.0
        assert torch.equal(synthesise(first, second), synthesise(other, second))

    def test_planes_are_read_as_rows_columns_channels(self) -> None:
        first, second = torch.randn(1, 2, 96), torch.randn(1, 2, 96)
        planes = (first[0, 1].view(3, PATCH, 2) @ second[0, 1].view(3, 2, PATCH)).flatten()
        out = synthesise(first, second)[0]
        for flat in (0, 1, 47, 48, 300, 767):
            assert torch.allclose(out[flat % 3, flat // 48, (flat // 3) % 16], planes[flat], atol=1e-6)

    def test_a_plane_has_the_rank_of_its_factors(self) -> None:
        first, second = torch.randn(1, 2, 384), torch.randn(1, 2, 384)
        patch = synthesise(first, second)[0].permute(1, 2, 0).reshape(3, PATCH, PATCH)
        assert all(int(torch.linalg.matrix_rank(plane, rtol=1e-4)) <= 8 for plane in patch)


class TestNormalisation:
    def test_there_and_back(self) -> None:
        made = Normalisation((0.5, 0.6, 0.7), (0.1, 0.2, 0.3))
        image = torch.rand(2, 3, 8, 8)
        assert torch.allclose(made.undo(made(image)), image, atol=1e-6)

    def test_given_figures_stay(self) -> None:
        made = Normalisation((0.5, 0.6, 0.7), (0.1, 0.2, 0.3))
        made.learn(torch.rand(2, 3, 8, 8))
        assert torch.equal(made.mean, torch.tensor((0.5, 0.6, 0.7)))

    def test_learnt_figures_make_mean_zero_and_deviation_one(self) -> None:
        made, images = Normalisation((), ()), torch.rand(4, 3, 16, 16) * 0.4
        made.learn(images)
        out = made(images)
        assert torch.allclose(out.mean((0, 2, 3)), torch.zeros(3), atol=1e-5)
        assert torch.allclose(out.std((0, 2, 3)), torch.ones(3), atol=1e-5)

    def test_half_a_story_is_refused(self) -> None:
        with pytest.raises(OptionError, match="three numbers each"):
            Normalisation((0.5, 0.5, 0.5), ())


def test_resizing_to_the_same_size_is_nothing() -> None:
    image = torch.rand(1, 3, 32, 32)
    assert resized(image, 32) is image
    assert resized(image, (20, 48)).shape == (1, 3, 20, 48)


@pytest.mark.parametrize(
    ("width", "size", "word"), [(1024, 224, "multiples of 96"), (0, 224, "multiples of 96"), (768, 200, "multiples of 16")]
)
def test_odd_shapes_are_refused(width: int, size: int, word: str) -> None:
    with pytest.raises(OptionError, match=word):
        refuse_odd(width, size)
