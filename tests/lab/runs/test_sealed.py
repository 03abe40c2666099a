"""Sealed files: every damage is noticed."""

from __future__ import annotations

import pytest

from recolorist_lab.runs.sealed import CorruptError, seal, unseal


class TestSeal:
    def test_every_flipped_bit_is_found(self) -> None:
        data = seal({"result": {"error": 0.25, "name": "é"}, "run": "ab"})
        for place in range(len(data)):
            for bit in range(8):
                damaged = bytearray(data)
                damaged[place] ^= 1 << bit
                with pytest.raises(CorruptError):
                    unseal(bytes(damaged), "result.json")

    def test_every_cut_is_found(self) -> None:
        data = seal({"result": {"error": 0.25}})
        for length in range(len(data)):
            with pytest.raises(CorruptError, match=r"result\.json does not match its checksum"):
                unseal(data[:length], "result.json")

    @pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b'{"payload": 3}', b"[" * 100_000, seal({"a": 1}) + b" "])
    def test_other_files_are_not_believed(self, data: bytes) -> None:
        with pytest.raises(CorruptError):
            unseal(data, "result.json")
