"""Contact sheets."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from recolorist.errors import RecoloristError
from recolorist_lab.baselines.crops import Images
from recolorist_lab.baselines.sheet import contact_sheet, sample
from tests.lab.baselines.small import trainer


class TestSample:
    def test_is_a_picture_of_the_same_pairs(self, images: Images) -> None:
        model = trainer(images)
        first = np.asarray(Image.open(io.BytesIO(sample(model))))
        model.advance()
        last = np.asarray(Image.open(io.BytesIO(sample(model))))
        assert first.shape == (3 * 18 - 2, 4 * 18 - 2, 3)
        assert np.array_equal(first[:34], last[:34])
        assert not np.array_equal(first[36:], last[36:])

    def test_a_sheet_wants_rows_of_one_kind(self) -> None:
        tile = np.zeros((4, 4, 3), np.uint8)
        with pytest.raises(RecoloristError, match="one number and one shape"):
            contact_sheet([[tile], [tile, tile]])
