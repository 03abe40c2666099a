"""Colorist, the augmentation: what is drawn, what is done, and that it can be done again."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import recolorist as rc
from recolorist import Colorist, StyleBank
from recolorist.augment.colorist import Decision, PreprocessingWarning
from recolorist.augment.samplers import Content, Style, own_style_by
from recolorist.core.style_change import StyleChange
from recolorist.errors import ImageError, OptionError, StatisticsError

Images = NDArray[np.uint8]


@pytest.fixture(scope="module")
def tiles() -> Images:
    rng = np.random.default_rng(9)
    low, high = rng.integers(0, 100, (12, 1, 1, 3)), rng.integers(120, 256, (12, 1, 1, 3))
    return rng.integers(low, high, (12, 19, 23, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def bank(tiles: Images) -> StyleBank:
    return StyleBank.build(tiles, domains=["a", "b", "c"] * 4, split="train", with_histograms=True)


class TestCall:
    def test_equals_match_with_the_drawn_style(self, tiles: Images, bank: StyleBank) -> None:
        aug = Colorist(bank, p=1.0, seed=4)
        for i, tile in enumerate(tiles):
            row = aug.params(tile, index=i).row
            assert row is not None
            np.testing.assert_array_equal(aug(tile, index=i), rc.match(tile, bank.moments(row)))

    @pytest.mark.filterwarnings("ignore:the bank was measured on all pixels")
    def test_draw_then_apply_is_the_call(self, tiles: Images, bank: StyleBank) -> None:
        for options in (
            {},
            {"max_clip": 0.01},
            {"strength": (0.2, 0.9)},
            {"method": "covariance"},
            {"space": "yiq"},
            {"mask": "tissue"},
        ):
            aug = Colorist(bank, p=1.0, seed=1, **options)
            for i, tile in enumerate(tiles[:4]):
                decision = Decision.from_json(aug.params(tile, index=i).to_json())
                np.testing.assert_array_equal(aug.apply(tile, decision), aug(tile, index=i))

    def test_labels_domains_and_masks_reach_the_decision(self, tiles: Images) -> None:
        """What a call takes besides the image, `params` takes as well, and comes to the same."""
        names = ["a", "b", "c"] * 4
        styles = StyleBank.build(tiles, labels=names, domains=names[::-1], split="train")
        mask = np.zeros(tiles[0].shape[:2], bool)
        mask[3:11, 5:20] = True
        cases: tuple[tuple[str, dict[str, Any]], ...] = (
            ("same_label", {"label": "b"}),
            ("other_domain", {"domain": "c"}),
            ("uniform", {}),
        )
        for sampler, facts in cases:
            aug = Colorist(styles, p=1.0, seed=3, sampler=sampler, apply_to="mask")
            for i in range(6):
                decision = aug.params(tiles[0], key=f"new {i}", mask=mask, **facts)
                expected = aug(tiles[0], key=f"new {i}", mask=mask, **facts)
                assert decision.row is not None
                assert facts.get("label", names[decision.row]) == names[decision.row]
                assert facts.get("domain") != styles.domain(decision.row)
                np.testing.assert_array_equal(aug.apply(tiles[0], decision, mask=mask), expected)
                np.testing.assert_array_equal(expected[~mask], tiles[0][~mask])
                np.testing.assert_array_equal(
                    expected, rc.match(tiles[0], styles.moments(decision.row), mask=mask, apply_to="mask")
                )

    def test_p_is_a_probability(self, tiles: Images, bank: StyleBank) -> None:
        aug = Colorist(bank, p=0.3, seed=0)
        applied = sum(aug.params(tiles[0], index=i).applied for i in range(3000))
        assert abs(applied - 900) < 5 * (3000 * 0.3 * 0.7) ** 0.5  # five standard deviations
        tile = tiles[0]
        assert Colorist(bank, p=0.0)(tile) is tile

    def test_epoch_key_and_index_select_the_stream(self, tiles: Images, bank: StyleBank) -> None:
        aug = Colorist(bank, p=1.0, seed=2)
        styles = {aug.params(tiles[0], index=i, epoch=e).style for i in range(20) for e in range(5)}
        assert len(styles) > 8
        assert aug.params(tiles[0], key="0") == aug.params(tiles[0], key="0")
        assert aug.params(tiles[0], index=3, epoch=1) == Colorist(bank, p=1.0, seed=2).params(tiles[0], index=3, epoch=1)

    def test_without_an_index_it_goes_on(self, tiles: Images, bank: StyleBank) -> None:
        first, second = (Colorist(bank, p=1.0, seed=8) for _ in range(2))
        once = [first(tiles[0]).tobytes() for _ in range(10)]
        assert once == [second(tiles[0]).tobytes() for _ in range(10)]
        assert len(set(once)) > 5

    def test_types_are_kept(self, tiles: Images, bank: StyleBank) -> None:
        aug = Colorist(bank, p=1.0, seed=0)
        assert isinstance(aug(Image.fromarray(tiles[0])), Image.Image)
        assert aug((tiles[0] / 255).astype(np.float32)).dtype == np.float32
        assert aug(tiles[0].astype(np.uint16) * 257).dtype == np.uint16

    @pytest.mark.parametrize(
        "options",
        [{}, {"max_clip": 0.01}, {"mask": "tissue", "apply_to": "mask"}, {"method": "covariance"}, {"sampler": "own_style"}],
        ids=str,
    )
    def test_pil_images_get_the_pixels_of_arrays(self, tiles: Images, bank: StyleBank, options: dict[str, Any]) -> None:
        aug = Colorist(bank, p=0.7, seed=0, **options)
        glass = np.full((12, 9, 3), 243, np.uint8)
        for i, tile in enumerate([*tiles[:6], glass]):
            picture, result = Image.fromarray(tile), aug(Image.fromarray(tile), index=i, epoch=1)
            assert result == Image.fromarray(aug(tile, index=i, epoch=1))
            assert result.size == picture.size

    def test_never_matched_to_itself(self, tiles: Images, bank: StyleBank) -> None:
        aug = Colorist(bank, p=1.0, seed=0)
        assert all(aug.params(tiles[5], key="5", epoch=e).row != 5 for e in range(200))
        assert all(aug.params(tiles[5], index=5, epoch=e).row != 5 for e in range(200))

    def test_a_copy_draws_the_same(self, tiles: Images, bank: StyleBank) -> None:
        aug = Colorist(bank, p=1.0, seed=3)
        np.testing.assert_array_equal(copy.deepcopy(aug)(tiles[0], index=1), aug(tiles[0], index=1))


class TestOptions:
    def test_own_sampler(self, tiles: Images, bank: StyleBank) -> None:
        def always_the_third(bank: StyleBank, rng: np.random.Generator, content: Content) -> Style:  # noqa: ARG001
            return Style("third", 2, bank.moments(2))

        np.testing.assert_array_equal(
            Colorist(bank, p=1.0, sampler=always_the_third)(tiles[0]), rc.match(tiles[0], bank.moments(2))
        )

    @pytest.mark.parametrize("limit", [0.0, 0.002, 0.005])
    def test_max_clip_is_kept(self, tiles: Images, bank: StyleBank, limit: float) -> None:
        free = Colorist(bank, p=1.0, seed=1)
        held = Colorist(bank, p=1.0, seed=1, max_clip=limit)
        unbounded = [rc.audit(t, free.params(t, index=i).plan).clipped_overall for i, t in enumerate(tiles)]
        bounded = [rc.audit(t, held.params(t, index=i).plan).clipped_overall for i, t in enumerate(tiles)]
        assert max(unbounded) > limit  # or there would be nothing to hold
        assert max(bounded) <= limit

    def test_strength_range(self, tiles: Images, bank: StyleBank) -> None:
        aug = Colorist(bank, p=1.0, seed=1, strength=(0.25, 0.5))
        strengths = [aug.params(tiles[0], index=i).strength for i in range(300)]
        assert 0.25 <= min(strengths) < 0.28
        assert 0.47 < max(strengths) <= 0.5

    @pytest.mark.parametrize("method", ["histogram", "exact_histogram"])
    def test_histogram_methods_from_the_bank_equal_the_image(self, tiles: Images, bank: StyleBank, method: str) -> None:
        aug = Colorist(bank, p=1.0, seed=1, method=method)
        row = aug.params(tiles[0], index=0).row
        assert row is not None
        np.testing.assert_array_equal(aug(tiles[0], index=0), rc.match(tiles[0], tiles[row], method=method))

    def test_other_spaces_need_their_own_bank(self, tiles: Images, bank: StyleBank) -> None:
        with pytest.raises(OptionError, match="space='lab'"):
            Colorist(bank, space="lab")
        lab = Colorist(StyleBank.build(tiles, space="lab"), p=1.0, space="lab", seed=0)
        row = lab.params(tiles[0], index=0).row
        assert row is not None
        np.testing.assert_array_equal(lab(tiles[0], index=0), rc.match(tiles[0], tiles[row], space="lab"))

    @pytest.mark.filterwarnings("ignore:the bank was measured on all pixels")
    def test_mask_rule_and_outside(self, bank: StyleBank) -> None:
        eye = np.zeros((19, 23, 3), np.uint8)
        eye[4:15, 6:18] = np.random.default_rng(0).integers(60, 200, (11, 12, 3), dtype=np.uint8)
        out = Colorist(bank, p=1.0, mask="fundus", apply_to="mask", seed=0)(eye)
        assert (out[eye.max(axis=-1) == 0] == 0).all()
        assert (out != eye).any()
        by_call = Colorist(bank, p=1.0, apply_to="mask", seed=0)(eye, mask=eye.max(axis=-1) > 15)
        np.testing.assert_array_equal(by_call, out)

    @pytest.mark.parametrize(
        "options",
        [
            {"p": 1.5},
            {"p": "often"},
            {"sampler": "best"},
            {"strength": (0.9, 0.1)},
            {"max_clip": 2},
            {"mask": "skin"},
            {"seed": -1},
            {"method": "magic"},
            {"method": "histogram", "space": "lab"},
        ],
    )
    def test_bad_options_are_refused_at_once(self, bank: StyleBank, options: dict[str, Any]) -> None:
        with pytest.raises(OptionError):
            Colorist(bank, **options)

    def test_repr_is_enough_to_repeat(self, bank: StyleBank) -> None:
        text = repr(Colorist(bank, p=0.3))
        assert "p=0.3" in text
        assert f"seed={Colorist(bank, seed=77).seed}" == "seed=77"


class TestPreprocessing:
    def test_another_size_warns_once(self, bank: StyleBank) -> None:
        aug = Colorist(bank, p=1.0, seed=0)
        with pytest.warns(PreprocessingWarning, match="19 x 23"):
            aug(np.full((8, 9, 3), 40, np.uint8))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            aug(np.full((8, 9, 3), 40, np.uint8))

    def test_declared_otherwise_warns(self, tiles: Images) -> None:
        bank = StyleBank.build(tiles, preprocessing="resize 224 bilinear")
        with pytest.warns(PreprocessingWarning, match="resize 28"):
            Colorist(bank, preprocessing="resize 28")


class TestDecision:
    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"applied": true}', '{"applied": true, "plan": {}, "style": 1}'])
    def test_nonsense_is_refused(self, text: str) -> None:
        with pytest.raises(StatisticsError, match=r"not a decision|not a plan"):
            Decision.from_json(text)

    def test_a_row_the_bank_lacks(self, tiles: Images, bank: StyleBank) -> None:
        with pytest.raises(StatisticsError, match="row 99"):
            Colorist(bank, method="histogram").apply(tiles[0], Decision(True, "x", 99, 1.0))


class TestDraw:
    """A draw is complete in itself: what else is drawn before it is used changes nothing."""

    def test_other_draws_change_no_decision(self) -> None:
        images = np.random.default_rng(5).integers(0, 256, (30, 9, 7, 3), dtype=np.uint8)
        aug = Colorist(StyleBank.build(images // 2, split="train"), p=1.0, max_clip=0.01, seed=3)
        aug.set_epoch(0)
        alone, disturbed = [], []
        for i, image in enumerate(images):
            draw = aug.draw(index=i)
            assert draw is not None
            alone.append(aug.decide(image, draw))
            assert aug.params(image, index=i) == alone[-1]
        for i, image in enumerate(images):
            draw = aug.draw(index=i)
            aug.draw(index=1000 + i)
            assert draw is not None
            disturbed.append(aug.decide(image, draw))
        assert disturbed == alone
        assert len({decision.style for decision in alone}) > 5


GLASS = np.random.default_rng(0).integers(240, 246, (19, 23, 3), dtype=np.uint8)


class TestBlank:
    """Images with nothing in them stay as they are, and are no styles."""

    @pytest.mark.parametrize("options", [{}, {"max_clip": 0.01}, {"method": "histogram"}, {"mask": "tissue"}])
    def test_a_blank_image_stays_as_it_is_and_is_counted(self, bank: StyleBank, options: dict[str, Any]) -> None:
        aug = Colorist(bank, p=1.0, seed=1, **options)
        np.testing.assert_array_equal(aug(GLASS, key="x"), GLASS)
        np.testing.assert_array_equal(aug(np.stack([GLASS, GLASS]), key="y"), np.stack([GLASS, GLASS]))
        assert aug.blank_images == 3

    def test_match_and_the_published_setting_amplify_it(self, bank: StyleBank) -> None:
        for aug in (Colorist(bank, p=1.0, seed=1, blank="match"), Colorist.as_published(bank, p=1.0, seed=1)):
            assert aug(GLASS, key="x").std() > 5 * GLASS.std()

    def test_the_published_setting_is_the_formula_without_limits(self, tiles: Images, bank: StyleBank) -> None:
        aug = Colorist.as_published(bank, p=1.0, seed=1)
        row = aug.params(tiles[0], key="x").row
        assert row is not None
        np.testing.assert_array_equal(aug(tiles[0], key="x"), rc.match(tiles[0], bank.moments(row), max_gain=float("inf")))

    def test_a_tile_without_tissue_is_not_measured_as_a_whole(self, bank: StyleBank) -> None:
        """Ink at one corner gives contrast, but less than a hundredth of the pixels are foreground."""
        tile = GLASS.copy()
        tile[0, :3] = 20
        np.testing.assert_array_equal(Colorist(bank, p=1.0, seed=1, mask="tissue")(tile, key="x"), tile)
        assert not np.array_equal(Colorist(bank, p=1.0, seed=1)(tile, key="x"), tile)

    def test_a_blank_content_takes_no_draws_from_others(self, tiles: Images, bank: StyleBank) -> None:
        one, other = (Colorist(bank, p=0.5, seed=3) for _ in range(2))
        for i in range(20):  # without keys the draws come one after another
            before, after = one(tiles[i % 12]), other(GLASS if i % 3 == 0 else tiles[i % 12])
            assert i % 3 == 0 or np.array_equal(before, after)

    def test_blank_images_never_become_styles(self, tiles: Images) -> None:
        bank = StyleBank.build([*tiles, GLASS], split="train")
        assert (len(bank), bank.blank, [gone.key for gone in bank.left_out]) == (12, "left out", ["12"])
        asked = StyleBank.build([*tiles, GLASS], split="train", with_blank=True)
        assert (len(asked), asked.blank, asked.left_out) == (13, "kept", ())

    def test_blank_styles_of_an_old_bank_are_not_drawn(self, tiles: Images) -> None:
        made = StyleBank.build([*tiles, GLASS], split="train", with_blank=True)
        old = StyleBank(made.mean, made.cov, made.pixels, made.keys, split="train")
        drawn = {Colorist(old, p=1.0, seed=1).params(tiles[0], index=i).style for i in range(300)}
        assert drawn == {str(i) for i in range(12)}
        assert "12" in {Colorist(old, p=1.0, seed=1, blank="match").params(tiles[0], index=i).style for i in range(300)}

    @pytest.mark.parametrize("sampler", ["other_domain", "same_label", "balanced_domain"])
    def test_a_left_out_image_still_has_its_domain_and_label(self, tiles: Images, sampler: str) -> None:
        names = ["a", "b", "c"] * 4 + ["a"]
        bank = StyleBank.build([*tiles, GLASS], domains=names, labels=names, split="train")
        np.testing.assert_array_equal(Colorist(bank, p=1.0, sampler=sampler, seed=1)(GLASS, key="12"), GLASS)

    def test_a_bank_of_blank_images_only_is_refused(self) -> None:
        with pytest.raises(ImageError, match=r"all 2 image\(s\) are blank.*with_blank=True"):
            StyleBank.build([GLASS, GLASS])
        made = StyleBank.build([GLASS, GLASS], with_blank=True)
        with pytest.raises(StatisticsError, match="all 2 styles of the bank are blank"):
            Colorist(StyleBank(made.mean, made.cov, made.pixels, made.keys))


class TestOwnStyle:
    """Changes of the image's own style."""

    @pytest.mark.parametrize("method", ["mean_std", "covariance"])
    def test_changes_take_the_one_route(self, tiles: Images, bank: StyleBank, method: str) -> None:
        """A call equals matching to the image's own moments after the change, and a key always draws the same."""
        aug = Colorist(bank, p=1.0, sampler="own_style", method=method, seed=4)
        draw = aug.draw("x", epoch=2)
        assert draw is not None
        assert isinstance(draw.style.goal, StyleChange)
        style = draw.style.goal.change(rc.measure(tiles[0]), 255.0, method).style
        np.testing.assert_array_equal(aug(tiles[0], key="x", epoch=2), rc.match(tiles[0], style, method))
        np.testing.assert_array_equal(
            aug.apply(tiles[0], aug.params(tiles[0], key="x", epoch=2)), aug(tiles[0], key="x", epoch=2)
        )
        assert not np.array_equal(aug(tiles[0], key="x", epoch=2), aug(tiles[0], key="x", epoch=3))

    def test_every_image_of_a_batch_is_changed_from_its_own_style(self, tiles: Images, bank: StyleBank) -> None:
        aug = Colorist(bank, p=1.0, sampler="own_style", method="covariance", seed=4)
        for one, each in zip(aug(tiles, key="x"), tiles, strict=True):
            np.testing.assert_array_equal(one, aug(each, key="x"))

    @pytest.mark.parametrize("limit", ["max_clip", "max_loss"])
    def test_limits_are_kept_and_alternatives_recorded(self, tiles: Images, bank: StyleBank, limit: str) -> None:
        options: dict[str, Any] = {"sampler": own_style_by(20.0), "method": "covariance", limit: 0.01}
        aug = Colorist(bank, p=1.0, seed=4, **options)
        free = Colorist(bank, p=1.0, seed=4, **options | {limit: None})
        weaker = 0
        for epoch in range(20):
            decision = aug.params(tiles[0], key="x", epoch=epoch)
            assert decision.plan is not None
            np.testing.assert_array_equal(aug.apply(tiles[0], decision), aug(tiles[0], key="x", epoch=epoch))
            assert Decision.from_json(decision.to_json()) == decision
            if limit == "max_clip":
                assert rc.audit(tiles[0], decision.plan).clipped_overall <= 0.01
            weaker += decision != free.params(tiles[0], key="x", epoch=epoch)
        assert weaker > 0

    def test_histogram_methods_refuse_it(self, tiles: Images) -> None:
        bank = StyleBank.build(tiles, split="train", with_histograms=True)
        with pytest.raises(OptionError, match="use a sampler of rows"):
            Colorist(bank, sampler="own_style", method="histogram")


class TestBeyond:
    """Styles outside the bank."""

    @pytest.mark.parametrize("method", ["mean_std", "covariance"])
    def test_styles_beyond_the_bank_take_the_one_route(self, tiles: Images, bank: StyleBank, method: str) -> None:
        """A call equals matching to the drawn moments, bit for bit, and a key always draws the same."""
        aug = Colorist(bank, p=1.0, sampler="beyond", method=method, seed=4)
        draw = aug.draw("x", epoch=2)
        assert draw is not None
        np.testing.assert_array_equal(aug(tiles[0], key="x", epoch=2), rc.match(tiles[0], draw.style.moments, method))
        np.testing.assert_array_equal(
            aug.apply(tiles[0], aug.params(tiles[0], key="x", epoch=2)), aug(tiles[0], key="x", epoch=2)
        )
        assert not np.array_equal(aug(tiles[0], key="x", epoch=2), aug(tiles[0], key="x", epoch=3))
