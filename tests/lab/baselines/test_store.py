"""Files of weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.baselines import build, layout, store
from recolorist_lab.baselines.crops import Images, images_of
from recolorist_lab.baselines.trainer import BaselineTrainer
from tests.lab.baselines import kit


@pytest.fixture(scope="module")
def images() -> Images:
    return images_of("synthetic:hospitals=3,tiles=6,size=24")


class TestFiles:
    def test_weights_come_back_with_their_model(self, images: Images, tmp_path: Path) -> None:
        model = build("efdm", encoder="random", seed=5, alpha=0.5)
        recipe = model.defaults.but(batch=1, iterations=1, load_size=24, crop_size=16)
        BaselineTrainer(model, images, recipe).advance()
        path = store.save(model, tmp_path / "efdm.safetensors", about={"steps": 1})
        back = store.load(path)
        content, style = kit.tiles(1, 16), kit.tiles(1, 16, seed=1)
        assert torch.equal(back.stylise(content, style), model.stylise(content, style))
        assert back.made == model.made
        assert store.load(path, alpha=1.0).made != model.made
        metadata = store.read(path)[1]
        assert metadata["about"]["steps"] == 1
        assert metadata["parts"] == ["decoder"]

    def test_a_decoder_refuses_another_encoder(self, tmp_path: Path) -> None:
        model = build("adain", encoder="random", seed=5)
        path = store.save(model, tmp_path / "a.safetensors")
        tensors, metadata = store.unpacked(path.read_bytes(), "a")
        other = tmp_path / "b.safetensors"
        other.write_bytes(store.packed(tensors, {**metadata, "seed": 6}))
        with pytest.raises(layout.LayoutError, match="trained with another encoder"):
            store.load(other)

    def test_damaged_files(self, tmp_path: Path) -> None:
        path = tmp_path / "a.safetensors"
        for content in (b"", b"\x05\0\0\0\0\0\0\0hello", store.packed({"x": torch.zeros(2)}, {"format": "other"})):
            path.write_bytes(content)
            with pytest.raises(RecoloristError):
                store.load(path)
        with pytest.raises(OptionError, match="cannot be read"):
            store.load(tmp_path / "none.safetensors")

    def test_equal_weights_are_equal_bytes(self) -> None:
        tensors = {f"{place}": torch.arange(6.0).reshape(2, 3).T for place in range(9)}
        assert store.packed(tensors, {"b": 1, "a": 2}) == store.packed(dict(reversed(tensors.items())), {"a": 2, "b": 1})
