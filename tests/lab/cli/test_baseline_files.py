"""`recolorist-lab baseline stylise` and `convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from recolorist.errors import RecoloristError
from recolorist_lab.baselines import build
from recolorist_lab.baselines.networks.efdm import EFDM
from tests.commands import picture
from tests.lab.cli.baseline_kit import refused, run_json, run_text
from tests.lab.command import lab


def look(path: str | Path) -> NDArray[np.uint8]:
    with Image.open(path) as image:
        return np.asarray(image)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    for name, seed in (("c/a/one.png", 1), ("c/two.jpg", 2), ("s/x.png", 3), ("s/y.png", 4)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture(seed, (20, 27))).save(path)
    Image.fromarray(picture(5, (20, 27), 1)).save(tmp_path / "grey.png")
    return tmp_path


class TestStylise:
    def test_a_folder_keeps_its_shape_and_styles_take_turns(self, weights: Path, pictures: Path) -> None:
        words = ("stylise", "efdm", "--weights", weights, "--content", pictures / "c", "--style", pictures / "s")
        done = run_json(*words, "--out", pictures / "out")
        assert [Path(one["out"]).relative_to(pictures / "out").as_posix() for one in done["images"]] == ["a/one.png", "two.png"]
        assert [Path(one["styles"][0]).name for one in done["images"]] == ["x.png", "y.png"]
        for one in done["images"]:
            assert look(one["out"]).shape == (20, 27, 3)
        refused("exists; pass --force", *words, "--out", pictures / "out")
        assert "2 images by EFDM" in run_text(*words, "--out", pictures / "out", "--force", "--size", "16")
        assert look(pictures / "out" / "two.png").shape == (16, 16, 3)

    def test_one_image_mixed_and_grey_stays_grey(self, weights: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[Any] = []
        inner = EFDM.transfer_mix

        def spy(self: EFDM, content: Any, styles: Any, shares: Any) -> Any:
            seen.append((self.alpha, len(styles), list(shares)))
            return inner(self, content, styles, shares)

        monkeypatch.setattr(EFDM, "transfer_mix", spy)
        words = ("stylise", "efdm", "-w", weights, "-c", pictures / "grey.png", "-s", pictures / "s")
        run_json(*words, "-o", pictures / "mixed.png", "--mix", "1,3", "--option", "alpha=0.5")
        assert seen == [(0.5, 2, [0.25, 0.75])]
        assert look(pictures / "mixed.png").shape == (20, 27)

    def test_refusals(self, weights: Path, pictures: Path) -> None:
        words = ("stylise", "efdm", "-w", weights, "-c", pictures / "c", "-s", pictures / "s")
        refused("one file, but there are 2 contents", *words, "-o", pictures / "a.png")
        refused("write one number for each style", *words, "-o", pictures / "o", "--mix", "1;2")
        refused("2 styles were given with 3 weights", *words, "-o", pictures / "o", "--mix", "1,2,3")
        refused("contains EFDM, not AdaIN", "stylise", "adain", *words[2:], "-o", pictures / "o")
        Image.fromarray(picture(1, (20, 27))).save(pictures / "c" / "two.png")
        refused("overwrite each other", *words, "-o", pictures / "o2")


class TestConvert:
    def test_foreign_weights_once(self, tmp_path: Path, pictures: Path) -> None:
        donor = build("adain", encoder="random", seed=8)
        for part in ("encoder", "decoder"):
            torch.save(donor.to_official(part), tmp_path / f"{part}.pth")
        sources = ("--from", f"encoder={tmp_path / 'encoder.pth'}", "--from", f"decoder={tmp_path / 'decoder.pth'}")
        words = ("convert", "efdm", *sources, "--out", tmp_path / "efdm.safetensors")
        with pytest.raises(RecoloristError, match="should have 804ca283"):
            run_json(*words)
        sums = _checksums(tmp_path)
        refused("no git id of a released file matches 'decoder'", *words, "--sha256", f"encoder={sums['encoder']}")
        checked = [word for part, value in sums.items() for word in ("--sha256", f"{part}={value}")]
        done = run_json(*words, *checked)
        assert done["sha256"] == sums
        refused("exists; pass --force", *words, *checked)
        assert ", verified" in run_text(*words, *checked, "--force")
        run_json(
            "stylise",
            "efdm",
            "-w",
            tmp_path / "efdm.safetensors",
            "-c",
            pictures / "c",
            "-s",
            pictures / "s",
            "-o",
            tmp_path / "o",
        )

    def test_refusals(self, tmp_path: Path) -> None:
        torch.save({"a": torch.zeros(1)}, tmp_path / "decoder.pth")
        words = ("convert", "adain", "--from", f"decoder={tmp_path / 'decoder.pth'}", "--out", tmp_path / "a.safetensors")
        refused("should have 379ca41d", *words)
        refused(r"does not end in \.safetensors", *words[:-1], tmp_path / "a.pth")
        refused("as name=value", "convert", "adain", "--from", "decoder.pth", "--out", tmp_path / "a.safetensors")
        refused("cannot be read", "convert", "adain", "--from", "decoder=none.pth", "--out", tmp_path / "a.safetensors")

    def test_the_published_decoder(self, real_weights: Path, tmp_path: Path) -> None:
        out = tmp_path / "adain.safetensors"
        done = run_json("convert", "adain", "--from", f"decoder={real_weights / 'adain_decoder.pth'}", "--out", out)
        assert done["sha256"]["decoder"].startswith("379ca41d")


def test_as_a_command_of_its_own(tmp_path: Path) -> None:
    done = lab("baseline", "train", "adain", "--data", str(tmp_path), "--out", str(tmp_path / "run"), "--encoder", "random")
    assert done.code == 1
    assert done.err.startswith("recolorist-lab: ")
    assert "contains no images" in done.err
    assert "Traceback" not in done.err


def _checksums(folder: Path) -> dict[str, str]:
    import hashlib

    return {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.pth"))}
