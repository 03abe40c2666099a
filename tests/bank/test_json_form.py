"""A bank as JSON."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recolorist import StyleBank
from recolorist.errors import RecoloristError, StatisticsError
from tests.full import full

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
            ("mean", [[7.0, 0.2, 0.2]] * 6),
            ("mean", [[-0.1, 0.2, 0.2]] * 6),
            ("cov", [[0.01, 0.02, 0.0, 0.01, 0.0, 0.01]] * 6),  # a correlation of 2
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
        if entry not in ("format", "mask"):  # with a checksum that fits, as somebody might write it on purpose
            with pytest.raises(RecoloristError, match=r"^(?!.*checksum)"):
                StyleBank.from_json(_seal(entries))

    def test_entries_of_later_versions_are_ignored(self, bank: StyleBank) -> None:
        entries = json.loads(bank.to_json()) | {"colour_of_the_year": "plum"}
        assert StyleBank.from_json(_seal(entries)).fingerprint == bank.fingerprint

    def test_entries_with_a_default_may_be_missing(self, bank: StyleBank) -> None:
        entries = json.loads(bank.to_json())
        again = StyleBank.from_json(_seal({name: entries[name] for name in entries if name not in ("space", "size")}))
        assert (again.space, again.size) == ("rgb", None)

    def test_the_first_format_is_refused(self, bank: StyleBank) -> None:
        """It had no checksum: 251 of 800 one-bit flips gave another bank."""
        later = ("mask", "blank", "left_out", "sha256")
        entries = {name: value for name, value in json.loads(bank.to_json()).items() if name not in later}
        with pytest.raises(StatisticsError, match=r"its format is not .*; build the bank again"):
            StyleBank.from_json(json.dumps(entries | {"format": "recolorist.bank/1"}))

    def test_one_wrong_bit(self, bank: StyleBank) -> None:
        data, refused = bank.to_json().encode(), 0
        for bit in range(0, 8 * len(data), full(97, 1)):
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            try:
                again = StyleBank.from_json(changed.decode("utf-8", "replace"))
            except StatisticsError:
                refused += 1
                continue
            assert again.to_json() == bank.to_json()  # a space or a line break, or the last digit of a number that means the same
        assert refused > 100

    def test_how_the_bank_was_made_comes_back(self, tiles: Images) -> None:
        glass = np.full((13, 17, 3), 243, np.uint8)
        bank = StyleBank.build([*tiles, glass], masks="tissue", domains=list("aaabbbc"))
        again = StyleBank.from_json(bank.to_json())
        assert (again.mask, again.blank, again.left_out) == ("tissue", "left out", (("6", None, "c"),))

    def test_line_breaks_do_not_count(self, bank: StyleBank) -> None:
        assert StyleBank.from_json(json.dumps(json.loads(bank.to_json()), indent=2)).fingerprint == bank.fingerprint


def _seal(entries: dict[str, Any]) -> str:
    """The entries with a checksum that fits them."""
    plain = {name: value for name, value in entries.items() if name != "sha256"}
    return json.dumps(plain | {"sha256": hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()})
