"""Which images train, validate and test: patients stay together, and what cannot be divided is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recolorist.errors import OptionError
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.manifest import Entry, Facts, Manifest
from recolorist_lab.data.named import NamedDataset
from recolorist_lab.training.settings import Settings
from recolorist_lab.training.splits import divide, held_out


class TestShares:
    def test_patients_stay_together(self, tmp_path: Path) -> None:
        entries = [
            Entry("own", "train", "site", f"{number:03d}.png", (number // 8 % 2,), group=f"patient {number // 4}")
            for number in range(48)
        ]
        facts = Facts("own", "Own", "binary", ("no", "yes"))
        whole = Samples(Manifest.of(entries, facts), "train", root=tmp_path)
        parts = held_out(whole, [0.25, 0.25], 1)
        groups = [{int(place) // 4 for place in part} for part in parts]
        assert [len(part) for part in parts] == [12, 12]
        assert not groups[0] & groups[1]
        assert not np.array_equal(held_out(whole, [0.25], 2)[0], parts[0])
        assert np.array_equal(held_out(whole, [0.25], 1)[0], parts[0])

    def test_of_two_patients_are_refused_with_what_to_do(self, tmp_path: Path) -> None:
        entries = [
            Entry("own", split, "site", f"{split}{number}.png", (number % 2,), group=f"{split} {number // 8}")
            for split in ("train", "test")
            for number in range(16)
        ]
        manifest = Manifest.of(entries, Facts("own", "Own", "binary", ("no", "yes")))
        settings = Settings("own", 1, size=16, validation="train")
        with pytest.raises(OptionError, match=r"validation_share=0\.2 of the 16 .* together, and there are 2 of these\. Add"):
            divide(NamedDataset("own", manifest, "", tmp_path), settings)
