"""`recolorist-lab zoo`."""

from __future__ import annotations

import json
from pathlib import Path

from recolorist_lab.assets.zoo import CHECKPOINTS
from tests.lab.assets.test_zoo import made
from tests.lab.cli.train_kit import lab
from tests.lab.training.contexts import TINY


class TestZoo:
    def test_the_list(self) -> None:
        listed = json.loads(lab("zoo", "list", "--json").stdout)
        assert [row["name"] for row in listed] == list(CHECKPOINTS)
        assert "93.04 ± 3.90" in lab("zoo", "list").stdout

    def test_a_checkpoint_is_loaded_and_tested(self, tmp_path: Path) -> None:
        made(tmp_path, "own", 4, "test_resnet", model="test_resnet", size=32, dataset=TINY)
        assert "test_resnet, 4 classes" in lab("zoo", "load", "own", "--folder", tmp_path).stdout
        done = lab("zoo", "evaluate", "own", "--folder", tmp_path, "--json")
        assert done.exit_code == 0, done.output
        listed = json.loads(done.stdout)
        assert (listed["images"], listed["dataset"], len(listed["confusion"])) == (12, TINY, 4)
        assert "of the training split here" in lab("zoo", "evaluate", "own", "--folder", tmp_path).stdout
