"""Seals of weights: every flipped bit that changes a tensor is noticed, and other programs read the file as before."""

from __future__ import annotations

import pytest

from recolorist_lab.assets.seals import SealError, seal_weights, verify_weights
from tests.full import full

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
SafetensorError = pytest.importorskip("safetensors").SafetensorError

TENSORS = {"a": torch.arange(12.0).reshape(3, 4), "b": torch.ones(5, dtype=torch.float16)}


def _file() -> bytes:
    return bytes(safetensors.save(TENSORS, {"format": "pt"}))


def test_other_programs_read_a_sealed_file() -> None:
    loaded = safetensors.load(seal_weights(_file()))
    assert loaded.keys() == TENSORS.keys()
    assert all(torch.equal(loaded[name], TENSORS[name]) for name in TENSORS)


def test_equal_content_gives_equal_bytes_and_sealing_twice_changes_nothing() -> None:
    sealed = seal_weights(_file())
    assert sealed == seal_weights(_file()) == seal_weights(sealed)


def test_files_of_others_have_no_seal() -> None:
    assert verify_weights(seal_weights(_file()), "a")
    assert not verify_weights(_file(), "a")
    assert not verify_weights(b"PK\3\4 something else entirely", "a")
    assert not verify_weights(b"", "a")
    assert not verify_weights((2).to_bytes(8, "little") + b"[]", "a")


def test_one_wrong_bit() -> None:
    sealed, noticed = seal_weights(_file()), 0
    for bit in range(0, 8 * len(sealed), full(7, 1)):
        changed = bytearray(sealed)
        changed[bit // 8] ^= 1 << bit % 8
        try:
            verify_weights(bytes(changed), "a.safetensors")
            loaded = safetensors.load(bytes(changed))
        except (SealError, SafetensorError):
            noticed += 1
            continue
        assert all(torch.equal(loaded[name], TENSORS[name]) for name in TENSORS)
    assert noticed > 50


def test_a_change_is_an_error_that_names_the_file() -> None:
    sealed = bytearray(seal_weights(_file()))
    sealed[-1] ^= 1
    with pytest.raises(SealError, match=r"a\.safetensors does not match its checksum"):
        verify_weights(bytes(sealed), "a.safetensors")
