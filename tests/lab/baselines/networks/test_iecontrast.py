"""IEContrAST: the fact sheet's checks, at full width where numbers are counted and narrow where something is trained."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from recolorist.errors import OptionError
from recolorist_lab.baselines import build
from recolorist_lab.baselines.networks.iecontrast import Discriminator, IEContrAST, Layout, _surprise, contrast, head
from tests.lab.baselines import kit
from tests.lab.baselines.shrunk import on_meta, shrunk, training_tiles

COUNTS = {
    "encoder": 12_944_972,
    "transform": 4_461_056,
    "decoder": 3_505_219,
    "style_head": 49_408,
    "content_head": 164_224,
    "discriminator": 8_283_459,
}
CRITIC = {0: (64, 3, 4, 4), 2: (128, 64, 4, 4), 5: (256, 128, 4, 4), 8: (512, 256, 4, 4), 11: (1, 512, 3, 3)}


def iecontrast(seed: int = 0, **options: Any) -> IEContrAST:
    model = shrunk("iecontrast", seed, **options)
    assert isinstance(model, IEContrAST)
    return model


# ---- counts and names --------------------------------------------------------------------------------------------------------


def test_the_parameters_are_as_many_as_published() -> None:
    model = on_meta("iecontrast")
    kit.check_counts(model, COUNTS)
    assert COUNTS["discriminator"] == 3 * 2_761_153
    assert sum(COUNTS[part] for part in IEContrAST.generator) == 8_179_907
    assert model.trained_parts() == (*IEContrAST.generator, "discriminator")


def test_the_tensors_are_named_as_in_the_official_files() -> None:
    model, sanet = on_meta("iecontrast"), on_meta("sanet")
    for part in ("transform", "decoder"):
        kit.check_layout(model, part, {name: tuple(value.shape) for name, value in sanet.to_official(part).items()})
    assert [file.part for file in model.official] == ["encoder", "transform", "decoder"]


def test_the_discriminator_has_convolutions_and_nothing_else_to_save() -> None:
    expected: dict[str, tuple[int, ...]] = {}
    for scale in range(3):
        for index, shape in CRITIC.items():
            expected |= {f"models.disc_{scale}.{index}.weight": shape, f"models.disc_{scale}.{index}.bias": shape[:1]}
    kit.check_layout(on_meta("iecontrast"), "discriminator", expected)
    kit.check_layout(
        on_meta("iecontrast"), "style_head", {"0.weight": (128, 256), "0.bias": (128,), "2.weight": (128, 128), "2.bias": (128,)}
    )


def test_official_files_are_loaded_strictly(tmp_path: Path) -> None:
    kit.check_official(iecontrast, tmp_path)


def test_files_of_sanet_give_sanet_s_images(tmp_path: Path) -> None:
    donor, model = shrunk("sanet", 1), iecontrast(2)
    files = {}
    for part in ("encoder", "transform", "decoder"):
        files[part] = tmp_path / f"{part}.pth"
        torch.save(donor.to_official(part), files[part])
    model.load_official(files)
    content, style = kit.tiles(1, 40), kit.tiles(1, 32, seed=1)
    assert torch.equal(model.stylise(content, style), donor.stylise(content, style))


# ---- the discriminator -------------------------------------------------------------------------------------------------------


def test_score_maps_have_the_published_sizes() -> None:
    critic = Discriminator(4)
    assert [tuple(scores.shape) for scores in critic(torch.zeros(2, 3, 256, 256))] == [(2, 1, 16, 16), (2, 1, 8, 8), (2, 1, 4, 4)]


def test_125_pixels_are_the_least() -> None:
    critic = Discriminator(4)
    assert len(critic(kit.tiles(1, 125))) == 3
    for side in (112, 124):
        with pytest.raises(OptionError, match="125"):
            critic(kit.tiles(1, side))
    with pytest.raises(ValueError, match="more than 1 spatial element"):  # what torch itself would say, at the third scale
        critic.models["disc_2"](kit.tiles(1, 31))


def test_each_scale_looks_at_an_average_that_leaves_out_the_padding() -> None:
    critic = Discriminator(4)
    seen: list[Tensor] = []
    for place, model in enumerate(critic.models.values()):
        model.register_forward_pre_hook(lambda _, given, place=place: seen.insert(place, given[0]))
    critic(torch.full((1, 3, 128, 128), 0.25))
    assert [tuple(image.shape[-2:]) for image in seen] == [(128, 128), (64, 64), (32, 32)]
    assert all(torch.equal(image, torch.full_like(image, 0.25)) for image in seen)


class Oracle(nn.Module):
    """Knows the real images by heart."""

    def __init__(self, real: Tensor) -> None:
        super().__init__()
        self.real = real

    def forward(self, image: Tensor) -> list[Tensor]:
        known = image.shape == self.real.shape and torch.equal(image, self.real)
        return [torch.full((len(image), 1, side, side), float(known)) for side in (4, 2, 1)]


def test_an_oracle_has_no_loss_and_the_generator_three() -> None:
    model = iecontrast()
    real, made = kit.tiles(2, 32), kit.tiles(2, 32, seed=1)
    model.discriminator = Oracle(real)  # type: ignore[assignment]
    step = model._critic_step(real, made)
    assert step.optimiser == "discriminator"
    assert float(step.loss) == 0.0
    assert float(model._judged(made, real=True)) == 3.0


def test_the_logarithmic_form_is_cross_entropy() -> None:
    model = iecontrast(adversarial="log")
    model.discriminator = Oracle(kit.tiles(2, 32))  # type: ignore[assignment]
    assert float(model._judged(kit.tiles(2, 32, seed=1), real=True)) == pytest.approx(3 * math.log(2))


# ---- layout and contrast -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("half", range(2, 9))
def test_every_result_has_one_partner_of_each_kind_and_the_rest_are_strangers(half: int) -> None:
    layout = Layout(half)
    pairs = list(zip(layout.contents.tolist(), layout.styles.tolist(), strict=True))
    assert pairs == [(k, k) for k in range(half)] + [((k + 1) % half, k) for k in range(half)]
    for anchor, (content, style) in enumerate(pairs):
        others = [place for place in range(2 * half) if place != anchor]
        assert layout.style_pairs[anchor].nonzero().flatten().tolist() == [k for k in others if pairs[k][1] == style]
        assert layout.content_pairs[anchor].nonzero().flatten().tolist() == [k for k in others if pairs[k][0] == content]
        strangers = [k for k in others if pairs[k][0] != content and pairs[k][1] != style]
        assert layout.strangers[anchor].nonzero().flatten().tolist() == strangers
        assert len(strangers) == 2 * half - 3


def test_the_first_of_twelve_results_has_the_published_partners() -> None:
    layout = Layout(6)
    assert layout.style_pairs[0].nonzero().tolist() == [[6]]
    assert layout.content_pairs[0].nonzero().tolist() == [[11]]
    assert not layout.strangers[0][[0, 6, 11]].any()


@pytest.mark.parametrize("half", [2, 6])
@pytest.mark.parametrize("kind", ["style_pairs", "content_pairs"])
def test_equal_embeddings_give_the_logarithm_of_the_candidates(half: int, kind: str) -> None:
    layout = Layout(half)
    found = contrast(torch.ones(2 * half, 1), getattr(layout, kind), layout.strangers)
    assert float(found) == pytest.approx(2 * half * math.log(2 * half - 2), rel=1e-5)


def test_the_best_case_has_the_published_value() -> None:
    layout = Layout(6)
    similar = torch.full((12, 12), -1.0, dtype=torch.float64)
    similar[layout.style_pairs] = 1.0
    found = float(_surprise(similar / 0.2, layout.style_pairs, layout.strangers))
    assert found == pytest.approx(12 * math.log(1 + 9 * math.exp(-10)), rel=1e-6)
    assert found == pytest.approx(0.0049, abs=5e-5)
    pair = Layout(2)  # with two of each, embeddings can be that good
    assert float(contrast(torch.tensor([[1.0], [-1], [1], [-1]]).double(), pair.style_pairs, pair.strangers)) == pytest.approx(
        4 * math.log(1 + math.exp(-10)), rel=1e-6
    )


@pytest.mark.parametrize("kind", ["style_pairs", "content_pairs"])
def test_contrast_equals_a_plain_loop(kind: str) -> None:
    layout = Layout(4)
    rows = torch.nn.functional.normalize(torch.randn(8, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    total = 0.0
    for anchor in range(8):
        partner = int(getattr(layout, kind)[anchor].nonzero())
        good = math.exp(float(rows[anchor] @ rows[partner]) / 0.2)
        bad = sum(math.exp(float(rows[anchor] @ rows[k]) / 0.2) for k in range(8) if layout.strangers[anchor, k])
        total -= math.log(good / (good + bad))
    assert float(contrast(rows, getattr(layout, kind), layout.strangers)) == pytest.approx(total)


def test_embeddings_have_unit_length_whatever_the_head_s_scale() -> None:
    model = iecontrast()
    taps = model.encoder.taps(kit.tiles(3, 32))
    style, content = model.embeddings(taps)
    assert style.shape == content.shape == (3, 8)
    for rows in (style, content):
        torch.testing.assert_close(rows.norm(dim=1), torch.ones(3))
    with torch.no_grad():
        for part in (model.style_head, model.content_head):
            for value in part[2].parameters():
                value.mul_(7.0)
    for rows, again in zip((style, content), model.embeddings(taps), strict=True):
        torch.testing.assert_close(rows, again)


def test_features_are_summed_and_not_averaged() -> None:
    model = iecontrast()
    taps = model.encoder.taps(kit.tiles(1, 32))
    wanted = model.style_head(taps[2].sum((2, 3)))
    torch.testing.assert_close(model.embeddings(taps)[0], wanted / wanted.norm())


def test_the_paper_s_heads_are_an_option() -> None:
    with torch.device("meta"):
        model = build("iecontrast", encoder="random", heads="paper")
    assert model.parameters_by_part()["style_head"] == sum(value.numel() for value in head((256, 256, 128)).parameters())
    assert model.parameters_by_part()["content_head"] == 512 * 128 + 128 + 128 * 128 + 128


# ---- the network -------------------------------------------------------------------------------------------------------------


def test_any_size_goes_in_and_comes_out() -> None:
    kit.check_images(iecontrast(), sizes=((33, 47), (5, 40), (200, 72)))


def test_batches_are_loops() -> None:
    kit.check_batch_is_loop(iecontrast())


@pytest.mark.parametrize("options", [{"alpha": 2}, {"heads": "none"}, {"adversarial": "hinge"}, {"content_term": "x"}])
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="accepted"):
        on_meta("iecontrast", **options)


# ---- training ----------------------------------------------------------------------------------------------------------------


def test_half_a_batch_is_drawn_of_each() -> None:
    model = iecontrast()
    assert model.draws(model.defaults) == (6, 6)
    assert model.draws(model.defaults.but(batch=4)) == (2, 2)
    assert model.distinct_draws
    assert model.least_crop == 125
    for wrong in (2, 7):
        with pytest.raises(OptionError, match="even numbers"):
            model.draws(model.defaults.but(batch=wrong))
    with pytest.raises(OptionError, match="the same number of each"):
        next(model.training_step(kit.tiles(2, 128), kit.tiles(3, 128), 0))
    with pytest.raises(OptionError, match="at least 2"):
        next(model.training_step(kit.tiles(1, 128), kit.tiles(1, 128), 0))


def test_without_critic_and_contrast_the_loss_is_sanet_s_on_the_whole_batch() -> None:
    model = iecontrast(style_weight=3.0, adversarial_weight=0.0, contrast_content_weight=0.0, contrast_style_weight=0.0)
    sanet = shrunk("sanet", 5)
    for part in ("encoder", "transform", "decoder"):
        sanet.parts()[part].load_state_dict(model.parts()[part].state_dict())
    content, style, layout = kit.tiles(3, 125), kit.tiles(3, 125, seed=1), Layout(3)
    with torch.no_grad():
        (wanted,) = sanet.training_step(content[layout.contents], style[layout.styles], 0)
        *_, found = model.training_step(content, style, 0)
    torch.testing.assert_close(found.loss, wanted.loss, rtol=1e-4, atol=1e-4)


def test_every_term_is_about_what_it_says() -> None:
    model, layout = iecontrast(), Layout(3)
    content, style = kit.tiles(3, 125), kit.tiles(3, 125, seed=1)
    with torch.no_grad():
        first, second = model.training_step(content, style, 0)
        made = model.transfer(content[layout.contents], style[layout.styles])[..., :125, :125]
        by_style, by_content = model.embeddings(model.encoder.taps(made))
        scores = {"real": model.discriminator(style[layout.styles]), "made": model.discriminator(made)}
    wanted = {
        "contrast_style": contrast(by_style, layout.style_pairs, layout.strangers),
        "contrast_content": contrast(by_content, layout.content_pairs, layout.strangers),
        "adversarial": torch.stack([(score - 1).square().mean() for score in scores["made"]]).sum(),
    }
    torch.testing.assert_close({name: second.parts[name] for name in wanted}, wanted, rtol=1e-4, atol=1e-4)
    critic = {
        "real": torch.stack([(score - 1).square().mean() for score in scores["real"]]).sum(),
        "made": torch.stack([score.square().mean() for score in scores["made"]]).sum(),
    }
    torch.testing.assert_close(first.parts, critic, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(first.loss, critic["real"] + critic["made"], rtol=1e-4, atol=1e-4)


def test_the_discriminator_s_step_comes_first_and_stays_out_of_the_generator() -> None:
    model = iecontrast()
    steps = model.training_step(kit.tiles(2, 125), kit.tiles(2, 125, seed=1), 0)
    first = next(steps)
    first.loss.backward()
    touched = {name for name, value in model.named_parameters() if value.grad is not None}
    assert touched == {name for name, _ in model.named_parameters() if name.startswith("discriminator.")}
    before = {name: value.grad.clone() for name, value in model.discriminator.named_parameters() if value.grad is not None}
    with torch.no_grad():
        judged = float(model._judged(kit.tiles(2, 125), real=True))
        for value in model.discriminator.parameters():
            value.mul_(3.0)
        assert float(model._judged(kit.tiles(2, 125), real=True)) != judged
    second = next(steps)
    assert (first.optimiser, second.optimiser) == ("discriminator", "main")
    second.loss.backward()
    for name, value in model.discriminator.named_parameters():
        assert value.grad is not None
        assert torch.equal(value.grad, before[name]), "the generator's step leaves the critic's gradients alone"
        assert value.requires_grad
    assert next(steps, None) is None


def test_the_generator_is_judged_by_the_critic_that_has_learnt() -> None:
    content, style = kit.tiles(2, 125), kit.tiles(2, 125, seed=1)
    values = []
    for scale in (1.0, 2.0):
        model = iecontrast()
        steps = model.training_step(content, style, 0)
        next(steps)
        with torch.no_grad():
            for value in model.discriminator.parameters():
                value.mul_(scale)
        values.append(float(next(steps).parts["adversarial"].detach()))
    assert values[0] != values[1]


def test_contrast_counts_the_same_in_smaller_batches_unless_told() -> None:
    kept, code = iecontrast(keep_contrast=True)._weights(4), iecontrast()._weights(4)
    assert kept["contrast_style"] == pytest.approx(0.9)
    assert code["contrast_style"] == pytest.approx(0.3)
    assert iecontrast()._weights(12) == {
        "content": 1.0,
        "style": 1.0,
        "identity_pixels": 50.0,
        "identity_features": 1.0,
        "contrast_content": 0.3,
        "contrast_style": 0.3,
        "adversarial": 5.0,
    }


def test_the_paper_s_content_loss_is_an_option() -> None:
    model = iecontrast(content_term="conv4_2")
    content = kit.tiles(1, 32)
    image, other = model.look(content), model.look(kit.tiles(1, 32, seed=1))
    assert float(model.transferred(image, image, other)["content"]) == 0.0
    wanted = nn.Sequential(*list(model.encoder)[:33])
    difference = (wanted(other.image) - wanted(image.image)).square().mean()
    torch.testing.assert_close(model.transferred(other, image, image)["content"], difference)


def test_the_two_optimisers_are_the_published_ones() -> None:
    model = iecontrast()
    made = model.configure_optimiser(model.defaults)
    assert made["main"].optimiser.defaults["betas"] == (0.9, 0.999)
    assert made["discriminator"].optimiser.defaults["betas"] == (0.5, 0.999)
    assert made["discriminator"].rate(20_000) == made["main"].rate(20_000) == 5e-5
    held = {id(value) for one in made.values() for group in one.optimiser.param_groups for value in group["params"]}
    trained = {id(value) for part in model.trained_parts() for value in model.parts()[part].parameters()}
    assert held == trained


def test_gradients_reach_what_is_trained_and_nothing_else() -> None:
    quiet = [f"transform.{block}.g.bias" for block in ("sanet4_1", "sanet5_1")]  # a softmax does not see what its logits share
    # what is constant over a map is taken out by the instance normalisation behind it
    quiet += [f"discriminator.models.disc_{scale}.{index}.bias" for scale in range(3) for index in (2, 5, 8)]
    kit.check_gradients(iecontrast(), kit.tiles(2, 125), kit.tiles(2, 125, seed=1), unused=quiet)


def test_a_step_changes_what_is_trained_and_nothing_else() -> None:
    kit.check_step(iecontrast(), kit.tiles(2, 125), kit.tiles(2, 125, seed=1))


def test_thirty_steps_on_tiles_lower_the_loss() -> None:
    tiles = training_tiles(4, 125)
    record = kit.check_learns(iecontrast(), tiles[:2], tiles[2:], rate=3e-4)
    for term in ("identity_pixels", "identity_features", "style"):
        kit.check_falls(record, term)
