"""Today's outputs against the stored ones, bit for bit, with the compiled loops and with the NumPy ones."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.golden.cases import FOLDER, HIGHEST, Case, all_cases, digest, image

CASES = {case.name: case for case in all_cases()}


@pytest.fixture(name="manifest", scope="module")
def read_manifest() -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    return manifest


@pytest.fixture(name="golden", scope="module")
def read_golden(manifest: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Cut the stored rows of values back into images, in the order of the manifest."""
    with np.load(FOLDER / "golden.npz", allow_pickle=False) as stored:
        rows = {dtype: stored[dtype] for dtype in HIGHEST}
    outputs, used = {}, dict.fromkeys(HIGHEST, 0)
    for name, entry in manifest["cases"].items():
        dtype, size = name.split("-")[0], int(np.prod(entry["shape"]))
        outputs[name] = rows[dtype][used[dtype] : used[dtype] + size].reshape(entry["shape"])
        used[dtype] += size
    assert used == {dtype: len(row) for dtype, row in rows.items()}
    return outputs


def test_manifest_lists_the_cases(manifest: dict[str, Any]) -> None:
    assert list(manifest["cases"]) == list(CASES)


def test_stored_outputs_are_whole(manifest: dict[str, Any], golden: dict[str, NDArray[Any]]) -> None:
    assert {name: digest(output) for name, output in golden.items()} == {n: e["sha256"] for n, e in manifest["cases"].items()}


def test_images_are_as_they_were(manifest: dict[str, Any]) -> None:
    for name, expected in manifest["images"].items():
        seed, channels, dtype = name.split("-")
        assert digest(image(int(seed), int(channels), dtype)) == expected, name


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_output_is_golden(case: Case, golden: dict[str, NDArray[Any]]) -> None:
    output, stored = case.output(), golden[case.name]
    assert (output.dtype.name, output.shape) == (case.dtype, stored.shape)
    assert np.isfinite(output).all()
    assert output.tobytes() == stored.tobytes()
