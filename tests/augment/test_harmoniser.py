"""Harmonising image by image: what the gate leaves, what it moves and where to, and that a record repeats it."""

from __future__ import annotations

import pickle  # noqa: TID251 - processes of a collection get it by it
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import recolorist as rc
from recolorist.augment.harmoniser import Harmonisation
from recolorist.bank.drift import SMALL_BANK, SmallBankWarning, region_of
from recolorist.core import kernels
from recolorist.errors import ImageError, OptionError, StatisticsError

Images = NDArray[np.uint8]


def tiles(count: int, seed: int, centre: float, spread: float) -> Images:
    rng = np.random.default_rng(seed)
    means, deviations = rng.normal(centre, 8, (count, 1, 1, 3)), rng.uniform(0.8 * spread, 1.2 * spread, (count, 1, 1, 3))
    shared = rng.normal(0, 0.7, (count, 19, 23, 1))  # channels of real images go together
    return np.clip(np.rint(means + deviations * (shared + rng.normal(0, 0.7, (count, 19, 23, 3)))), 0, 255).astype(np.uint8)


KNOWN = tiles(120, 0, 120, 25)
BANK = rc.StyleBank.build(KNOWN, domains=["a"] * 60 + ["b"] * 60, split="train", name="ours")
LIKE, OTHER = tiles(20, 1, 120, 25), tiles(20, 2, 190, 12)
BLANK = np.full((19, 23, 3), 243, np.uint8)


def outcome(harmoniser: rc.Harmoniser, image: Any) -> tuple[Any, Any]:
    """The image and the record; the numbers of a gated one are there, which its type leaves open."""
    return harmoniser.harmonise(image)


def distance(image: Any) -> float:
    moments = rc.measure(image).rescaled(1.0)
    return float(region_of(BANK).distance(moments.mean[None], moments.cov[None])[0])


class TestGate:
    def test_what_lies_inside_is_left_as_it_is(self) -> None:
        harmoniser = rc.Harmoniser(BANK)
        results = [(image, outcome(harmoniser, image)) for image in LIKE]
        assert sum(record.reason == "inside" for _, (_, record) in results) >= 18
        for image, (out, record) in results:
            assert record.distance == pytest.approx(distance(image))
            assert (record.reason == "inside") == (record.distance <= record.edge) == (out is image)

    def test_what_lies_outside_goes_to_the_average_style(self) -> None:
        harmoniser = rc.Harmoniser(BANK)
        for image in OTHER:
            out, record = outcome(harmoniser, image)
            assert (record.reason, record.strength, record.style) == ("outside", 1.0, "ours")
            assert np.array_equal(out, rc.match(image, BANK.average()))
            assert record.distance_after == pytest.approx(distance(out), abs=0.1)  # rounding

    def test_or_just_inside(self) -> None:
        harmoniser = rc.Harmoniser(BANK, "edge")
        for image in OTHER:
            out, record = outcome(harmoniser, image)
            assert 0 < record.strength < 1
            assert np.array_equal(out, rc.match(image, BANK.average(), strength=record.strength))
            assert record.edge - 0.2 < record.distance_after <= record.edge
            assert distance(out) == pytest.approx(record.edge, abs=0.3)

    def test_or_as_near_as_may_be(self) -> None:
        odd = LIKE[0].copy()
        odd[..., 1] = 255 - odd[..., 1]  # varies against the other channels, which no factor on a channel changes
        _, record = outcome(rc.Harmoniser(BANK, "edge"), odd)
        assert record.edge < record.distance_after <= record.distance
        _, record = outcome(rc.Harmoniser(BANK, "edge", method="covariance"), odd)
        assert record.distance_after <= record.edge

    def test_off_moves_everything(self) -> None:
        harmoniser = rc.Harmoniser(BANK, "off")
        for image in (*LIKE[:3], *OTHER[:3]):
            out, record = outcome(harmoniser, image)
            assert (record.reason, record.distance, record.edge) == ("ungated", None, None)
            assert np.array_equal(out, rc.match(image, BANK.average()))

    @pytest.mark.parametrize("gate", ["centre", "edge", "off"])
    def test_blank_images_are_left_as_they_are(self, gate: Any) -> None:
        out, record = rc.Harmoniser(BANK, gate).harmonise(BLANK)
        assert out is BLANK
        assert (record.reason, record.plan) == ("blank", None)
        assert rc.Harmoniser(BANK, gate, blank="match").harmonise(BLANK).record.is_changed

    def test_without_a_gate_the_pixels_are_measured_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = []

        def counted(measure: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any) -> Any:
                calls.append(args)
                return measure(*args)

            return call

        for name in ("moments_integer", "moments_rgba", "pairs_levels", "rows_levels"):
            monkeypatch.setattr(kernels.loops, name, counted(getattr(kernels.loops, name)))
        rc.Harmoniser(BANK, gate="off")(OTHER[0])
        assert len(calls) == 1

    def test_a_wider_region_leaves_more(self) -> None:
        kept = [
            sum(not rc.Harmoniser(BANK, coverage=coverage).decide(image).is_changed for image in LIKE) for coverage in (0.5, 0.99)
        ]
        assert kept[0] < kept[1]

    def test_a_domain_has_a_region_of_its_own(self) -> None:
        harmoniser = rc.Harmoniser(BANK, domain="b")
        assert harmoniser.style == BANK.average("b")
        assert harmoniser.harmonise(OTHER[0]).record.style == "b"


class TestSmallBank:
    """A gate from few styles may leave images of another laboratory as they are."""

    def test_is_warned_of_at_the_line_that_makes_the_gate(self) -> None:
        with pytest.warns(SmallBankWarning, match=r"30 styles; with fewer than 60 .* gate='off'") as caught:
            rc.Harmoniser(BANK.subset(rows=range(30)))
        assert caught[0].filename == __file__

    def test_also_where_a_domain_is_small(self) -> None:
        with pytest.warns(SmallBankWarning, match="59 styles"):
            rc.Harmoniser(BANK.subset(rows=range(119)), domain="b")

    def test_says_nothing_of_enough_styles_or_without_a_gate(self) -> None:
        rc.Harmoniser(BANK.subset(rows=range(SMALL_BANK)))  # warnings are errors in tests
        rc.Harmoniser(BANK.subset(rows=range(30)), "off")


class TestOptions:
    @pytest.mark.parametrize(
        "options",
        [
            {"strength": 0.5},
            {"method": "covariance"},
            {"space": "ycbcr"},
            {"max_gain": 1.1},
            {"space": "lab", "gate": "off"},
            {"mask": "tissue"},
            {"mask": "tissue", "apply_to": "mask"},
        ],
    )
    @pytest.mark.parametrize("kind", ["uint8", "uint16", "float32", "pil"])
    def test_decide_then_apply_is_the_call(self, options: dict[str, Any], kind: str) -> None:
        bank = rc.StyleBank.build(KNOWN, space="lab") if options.get("space") == "lab" else BANK
        harmoniser = rc.Harmoniser(bank, **options)
        image: Any = {
            "uint8": OTHER[0],
            "uint16": OTHER[0].astype(np.uint16) * 257,
            "float32": (OTHER[0] / 255).astype(np.float32),
            "pil": Image.fromarray(OTHER[0]),
        }[kind]
        record = Harmonisation.from_json(harmoniser.decide(image).to_json())
        out = harmoniser(image)
        assert type(out) is type(image)
        assert np.array_equal(np.asarray(harmoniser.apply(image, record)), np.asarray(out))
        assert not np.array_equal(np.asarray(out), np.asarray(image))

    def test_a_mask_in_the_call(self) -> None:
        inside = np.zeros(OTHER[0].shape[:2], bool)
        inside[:9] = True
        out = rc.Harmoniser(BANK, apply_to="mask")(OTHER[0], mask=inside)
        assert np.array_equal(out, rc.match(OTHER[0], BANK.average(), mask=inside, apply_to="mask"))
        assert rc.Harmoniser(BANK).harmonise(OTHER[0], mask=~inside & inside).record.reason == "blank"

    def test_one_style_has_no_gate(self) -> None:
        style = rc.measure(KNOWN[0])
        assert np.array_equal(rc.Harmoniser(style)(OTHER[0]), rc.match(OTHER[0], style))
        with pytest.raises(OptionError, match="needs a bank"):
            rc.Harmoniser(style, "edge")

    def test_a_bank_by_its_path(self, tmp_path: Any) -> None:
        BANK.save(tmp_path / "ours.rcb")
        assert np.array_equal(rc.Harmoniser(tmp_path / "ours.rcb")(OTHER[0]), rc.Harmoniser(BANK)(OTHER[0]))

    def test_a_copy_does_the_same(self) -> None:
        again = pickle.loads(pickle.dumps(rc.Harmoniser(BANK, "edge")))  # noqa: S301 - our own
        assert np.array_equal(again(OTHER[0]), rc.Harmoniser(BANK, "edge")(OTHER[0]))
        assert "gate='edge'" in repr(again)


class TestRefusals:
    @pytest.mark.parametrize(
        "options",
        [{"gate": "ajar"}, {"method": "histogram"}, {"strength": 2}, {"mask": "skin"}, {"domain": "c"}, {"blank": "paint"}],
    )
    def test_bad_options(self, options: dict[str, Any]) -> None:
        with pytest.raises(OptionError):
            rc.Harmoniser(BANK, **options)

    @pytest.mark.parametrize("bank", [BANK.subset(rows=range(5)), rc.StyleBank.build(KNOWN, space="lab")])
    def test_a_bank_without_a_region_names_the_remedy(self, bank: rc.StyleBank) -> None:
        with pytest.raises(StatisticsError, match=r"--gate off"):
            rc.Harmoniser(bank)

    def test_other_images(self) -> None:
        with pytest.raises(ImageError, match="one at a time"):
            rc.Harmoniser(BANK)(OTHER)
        with pytest.raises(StatisticsError, match="channel"):
            rc.Harmoniser(BANK)(OTHER[0][..., 0])

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"reason": "whim", "plan": null}', '{"reason": "inside", "plan": 3}'])
    def test_a_record_that_is_none(self, text: str) -> None:
        with pytest.raises(StatisticsError, match=r"no record|not a plan"):
            Harmonisation.from_json(text)
