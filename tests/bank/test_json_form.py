"""A bank as JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist import StyleBank
from recolorist.errors import RecoloristError, StatisticsError

Images = NDArray[np.uint8]


class TestWrite:
    def test_json_is_plain_numbers(self, bank: StyleBank) -> None:
        entries = json.loads(bank.to_json())
        assert entries["format"] == "recolorist.bank/2"
        assert entries["count"] == 6
        assert np.array(entries["cov"]).shape == (6, 6)
        np.testing.assert_array_equal(np.array(entries["cov"])[:, [0, 3, 5]], np.diagonal(bank.cov, axis1=1, axis2=2))

    def test_names_that_are_unknown_are_null(self, tiles: Images) -> None:
        entries = json.loads(StyleBank.build(tiles[:2], labels=["x", None]).to_json())
        assert (entries["label"], entries["domain"]) == (["x", None], [None, None])

    def test_histograms_are_left_out(self, tiles: Images) -> None:
        bank = StyleBank.build(tiles[:2], with_histograms=True)
        assert StyleBank.from_json(bank.to_json()).histograms is None
        assert "histograms" not in json.loads(bank.to_json())


class TestRead:
    def test_every_number_comes_back(self, bank: StyleBank) -> None:
        again = StyleBank.from_json(bank.to_json())
        assert again.fingerprint == bank.fingerprint
        assert again.to_json() == bank.to_json()
        assert again.size == (13, 17)

    @pytest.mark.parametrize("text", ["", "[]", "null", '{"format": "recolorist.bank/1"}', "{" * 5000, '{"format": 3}'])
    def test_something_else_is_refused(self, text: str) -> None:
        with pytest.raises(StatisticsError, match="not a bank in JSON"):
            StyleBank.from_json(text)

    @pytest.mark.parametrize(
        ("entry", "value"),
        [
            ("mean", [[0.1, 0.2]] * 6),
            ("mean", "dark"),
            ("mean", [[1e999, 0.0, 0.0]] * 6),
            ("cov", [[1.0, 2.0]] * 6),
            ("cov", [[-1.0] * 6] * 6),
            ("pixels", [0] * 6),
            ("pixels", [2**70] * 6),
            ("key", ["same"] * 6),
            ("key", ["a", "b"]),
            ("label", ["a"]),
            ("size", [3]),
            ("space", "cmyk"),
            ("format", "recolorist.bank/3"),
            ("mask", "tissue"),
        ],
    )
    def test_a_wrong_entry_is_refused(self, bank: StyleBank, entry: str, value: Any) -> None:
        entries = json.loads(bank.to_json()) | {entry: value}
        with pytest.raises(RecoloristError, match=r"checksum|format"):
            StyleBank.from_json(json.dumps(entries))
        if entry not in ("format", "mask"):  # in the format of earlier versions, which has no checksum
            with pytest.raises(RecoloristError, match=r"^(?!.*checksum)"):
                StyleBank.from_json(json.dumps(_first_format(entries)))

    def test_entries_of_later_versions_are_ignored(self, bank: StyleBank) -> None:
        entries = _first_format(json.loads(bank.to_json())) | {"colour_of_the_year": "plum"}
        assert StyleBank.from_json(json.dumps(entries)).fingerprint == bank.fingerprint

    def test_entries_with_a_default_may_be_missing(self, bank: StyleBank) -> None:
        entries = _first_format(json.loads(bank.to_json()))
        again = StyleBank.from_json(json.dumps({name: entries[name] for name in entries if name not in ("space", "size")}))
        assert (again.space, again.size) == ("rgb", None)

    def test_the_first_format_is_read_and_says_nothing_of_its_making(self, bank: StyleBank) -> None:
        again = StyleBank.from_json(json.dumps(_first_format(json.loads(bank.to_json()))))
        assert again.fingerprint == bank.fingerprint
        assert (bank.mask, bank.blank, again.mask, again.blank) == ("none", "left out", None, None)

    def test_how_the_bank_was_made_comes_back(self, tiles: Images) -> None:
        glass = np.full((13, 17, 3), 243, np.uint8)
        bank = StyleBank.build([*tiles, glass], masks="tissue", domains=list("aaabbbc"))
        again = StyleBank.from_json(bank.to_json())
        assert (again.mask, again.blank, again.left_out) == ("tissue", "left out", (("6", None, "c"),))

    def test_line_breaks_do_not_count(self, bank: StyleBank) -> None:
        assert StyleBank.from_json(json.dumps(json.loads(bank.to_json()), indent=2)).fingerprint == bank.fingerprint


def _first_format(entries: dict[str, Any]) -> dict[str, Any]:
    """The entries that the first format had."""
    later = ("mask", "blank", "left_out", "sha256")
    return {name: value for name, value in entries.items() if name not in later} | {"format": "recolorist.bank/1"}
