"""EFDM against its sheet: exact matching, ties, other sizes, the sorted loss, controls, training, real images."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from recolorist.errors import OptionError
from recolorist_lab.baselines import build
from recolorist_lab.baselines.networks.adain import AdaIN
from recolorist_lab.baselines.networks.efdm import EFDM, VARIANTS, exact_loss, exact_match
from recolorist_lab.baselines.pretrained import ready
from recolorist_lab.baselines.statistics import adain, mean_std
from tests.full import full
from tests.lab.baselines import kit


def features(seed: int, *shape: int, skew: bool = False) -> Tensor:
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return made.exp() if skew else made


X, Y = features(0, 2, 3, 6, 8), features(1, 2, 3, 6, 8, skew=True)


def ordered(x: Tensor) -> Tensor:
    return x.flatten(2).sort(-1).values


class TestMatch:
    def test_the_values_are_exactly_the_styles(self) -> None:
        assert torch.equal(ordered(exact_match(X, Y)), ordered(Y))

    def test_ranks_are_the_contents(self) -> None:
        x, out = X.flatten(2), exact_match(X, Y).flatten(2)
        less = x[..., :, None] < x[..., None, :]
        assert bool((out[..., :, None] <= out[..., None, :])[less].all())

    def test_itself_and_increasing_maps(self) -> None:
        assert torch.equal(exact_match(X, X), X)
        for rising in (lambda v: v**3, torch.exp, lambda v: 5 * v - 2):
            assert torch.equal(exact_match(rising(X), Y), exact_match(X, Y))
        assert torch.equal(exact_match(X, 2.5 * X + 1), 2.5 * X + 1)

    def test_every_moment_agrees_where_adain_has_only_two(self) -> None:
        def moment(x: Tensor, power: int) -> Tensor:
            mean, std = mean_std(x)
            return (((x - mean) / std) ** power).mean((2, 3))

        out = exact_match(X, Y)
        for got, wanted in zip(mean_std(out), mean_std(Y), strict=True):
            assert torch.allclose(got, wanted, atol=1e-6)
        for power in (3, 4):
            assert torch.allclose(moment(out, power), moment(Y, power), atol=1e-3)
            assert not torch.allclose(moment(adain(X, Y), power), moment(Y, power), atol=0.3)

    def test_permutations(self) -> None:
        order = torch.randperm(48, generator=torch.Generator().manual_seed(2))

        def moved(x: Tensor) -> Tensor:
            return x.flatten(2)[..., order].reshape(x.shape)

        assert torch.equal(exact_match(X, moved(Y)), exact_match(X, Y))
        assert torch.equal(exact_match(moved(X), Y), moved(exact_match(X, Y)))

    def test_the_gradient_passes_as_it_came(self) -> None:
        x = X.clone().requires_grad_()
        weights = features(3, *X.shape)
        out = exact_match(x, Y)
        (weights * out).sum().backward()
        assert x.grad is not None
        assert torch.equal(x.grad, weights)
        assert torch.allclose(out.detach(), exact_match(X, Y), atol=1e-5)

    @pytest.mark.parametrize("break_ties", [False, True])
    def test_ties_and_constants_take_all_values(self, break_ties: bool) -> None:
        rectified = X.clamp(min=0)
        flat = torch.zeros_like(X)
        for x in (rectified, flat):
            out = exact_match(x, Y, break_ties=break_ties)
            assert torch.equal(ordered(out), ordered(Y))
            assert torch.equal(out, exact_match(x, Y, break_ties=break_ties))

    def test_breaking_ties_removes_the_ramp_and_touches_nothing_else(self) -> None:
        flat = torch.zeros(1, 1, 16, 16)
        rows = torch.arange(256.0).reshape(1, 1, 16, 16)
        assert torch.equal(exact_match(flat, rows), rows)
        scattered = exact_match(flat, rows, break_ties=True)
        slope = torch.corrcoef(torch.stack([scattered.flatten(), rows.flatten()]))[0, 1]
        assert abs(float(slope)) < 0.3
        assert torch.equal(exact_match(X, Y, break_ties=True), exact_match(X, Y))

    def test_other_sizes_resample_the_quantiles(self) -> None:
        out = exact_match(X, features(4, 2, 3, 12, 16, skew=True))
        assert out.shape == X.shape
        twice = Y.repeat_interleave(2, -1)
        assert torch.allclose(ordered(exact_match(X, twice))[..., [0, -1]], ordered(Y)[..., [0, -1]])
        ramp = torch.linspace(0, 1, 101).reshape(1, 1, 1, 101)
        assert torch.allclose(ordered(exact_match(features(5, 1, 1, 1, 11), ramp))[0, 0], torch.linspace(0, 1, 11), atol=1e-6)
        with pytest.raises(OptionError, match="samples and channels"):
            exact_match(X, Y[:, :2])


class TestLoss:
    def test_zero_only_for_equal_values(self) -> None:
        order = torch.randperm(48, generator=torch.Generator().manual_seed(2))
        moved = Y.flatten(2)[..., order].reshape(Y.shape)
        assert float(exact_loss([Y], [moved])) == 0
        other = Y.clone()
        other[0, 0, 0, 0] += 1
        assert float(exact_loss([Y], [other])) > 0

    def test_value_and_gradient_are_those_of_matching(self) -> None:
        one, two = X.clone().requires_grad_(), X.clone().requires_grad_()
        sorted_form = exact_loss([one], [Y])
        scattered = (two - exact_match(two.detach(), Y)).square().mean()
        assert float(sorted_form.detach()) == pytest.approx(float(scattered.detach()), rel=1e-6)
        sorted_form.backward()
        scattered.backward()
        assert one.grad is not None
        assert two.grad is not None
        assert torch.allclose(one.grad, two.grad, atol=1e-8)

    def test_it_sees_what_moments_do_not(self) -> None:
        same_moments = adain(X, Y)
        assert float(exact_loss([same_moments], [Y])) > 0.01


class TestNetwork:
    def test_is_adains_but_for_transform_and_loss(self) -> None:
        assert issubclass(EFDM, AdaIN)
        assert EFDM.defaults == AdaIN.defaults
        with torch.device("meta"):
            model = build("efdm", encoder="random")
        kit.check_counts(model, {"encoder": 3_505_740, "decoder": 3_505_219})
        assert list(model.to_official("decoder")) == list(AdaIN.to_official(model, "decoder"))

    def test_images(self) -> None:
        model = build("efdm", encoder="random")
        kit.check_images(model, [(33, 47), (5, 40)])
        kit.check_batch_is_loop(model, 24)
        kit.check_follows(model, 24)
        content, styles = kit.tiles(1, 24), [kit.tiles(1, 24, seed=seed) for seed in (1, 2)]
        assert torch.allclose(model.stylise_mix(content, styles, [0, 1]), model.stylise(content, styles[1]), atol=1e-5)

    def test_controls(self) -> None:
        content, style = features(6, 1, 512, 3, 3), features(7, 1, 512, 3, 3) * 2 + 1
        with torch.device("meta"):
            models = {name: build("efdm", encoder="random", transform=name) for name in VARIANTS}
        outs = {}
        for name, model in models.items():
            assert isinstance(model, EFDM)
            outs[name] = model.match(content, style)
        assert torch.equal(outs["adain"], adain(content, style))
        assert torch.allclose(mean_std(outs["mean"])[0], mean_std(style)[0], atol=1e-5)
        assert torch.allclose(mean_std(outs["mean"])[1], mean_std(content)[1], atol=1e-5)
        assert torch.allclose(mean_std(outs["std"])[1], mean_std(style)[1], atol=1e-3)
        with pytest.raises(OptionError, match="efdm, adain, mean, std"):
            build("efdm", encoder="random", transform="histogram")

    def test_a_control_is_judged_by_the_statistic_it_moves(self) -> None:
        with torch.device("meta"):
            models = {name: build("efdm", encoder="random", transform=name) for name in VARIANTS}
        mean, std = ((one - other).square().mean() for one, other in zip(mean_std(X), mean_std(Y), strict=True))
        terms = {name: model.style_term([X], [Y]) for name, model in models.items()}  # type: ignore[operator]
        torch.testing.assert_close(terms["mean"], mean)
        torch.testing.assert_close(terms["std"], std)
        torch.testing.assert_close(terms["adain"], mean + std)
        torch.testing.assert_close(terms["efdm"], exact_loss([X], [Y]))

    def test_official_files(self, tmp_path: Path) -> None:
        kit.check_official(lambda seed: build("efdm", encoder="random", seed=seed), tmp_path, size=16)

    def test_no_published_weights_is_said(self, real_weights: Path) -> None:
        del real_weights
        with pytest.raises(OptionError, match="EFDM has no published weights here; train it"):
            ready("efdm")


class TestTraining:
    def test_only_the_decoder_learns(self) -> None:
        model = build("efdm", encoder="random")
        content, style = kit.tiles(2, 24), kit.tiles(2, 24, seed=1)
        kit.check_gradients(model, content, style)
        kit.check_step(model, content, style)

    def test_the_loss_is_the_sheets(self) -> None:
        model = build("efdm", encoder="random")
        assert isinstance(model, EFDM)
        content, style = kit.tiles(2, 24), kit.tiles(2, 24, seed=1)
        (step,) = model.training_step(content, style, 0)
        with torch.no_grad():
            target = exact_match(model.encoder(content), model.encoder(style))
            image = model.decoder(target)
            wanted = (model.encoder(image) - target).square().mean()
            for got, tap in zip(model.encoder.taps(image), model.encoder.taps(style), strict=True):
                wanted = wanted + 10 * (got - exact_match(got, tap)).square().mean()
        assert float(step.loss.detach()) == pytest.approx(float(wanted), rel=1e-5)

    def test_steps_on_real_tiles_lower_the_loss(self, real_weights: Path) -> None:
        del real_weights
        tiles = kit.real_tiles(4, 32)
        kit.check_learns(build("efdm"), tiles[:2], tiles[2:], steps=full(12, 30), to=0.8)
