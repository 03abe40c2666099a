"""The published checkpoints: names, and the layout of the Hub on files made to it here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from safetensors.torch import save_file

from recolorist.errors import OptionError
from recolorist_lab.assets import zoo
from recolorist_lab.assets.download import Link
from recolorist_lab.data.registry import CARDS
from recolorist_lab.training.run import run
from tests.lab.server import Server
from tests.lab.training.contexts import TINY, Memory, small

NAME = "colorist_densenet121_ddi_s71397589"


def made(folder: Path, name: str = NAME, classes: int = 2, architecture: str = "densenet121", **config: Any) -> Path:
    """A checkpoint as the Hub lays it out."""
    place = folder / name
    place.mkdir(parents=True)
    torch.manual_seed(0)
    save_file(timm.create_model(architecture, num_classes=classes).state_dict(), place / "model.safetensors")
    (place / "config.json").write_text(json.dumps(config), "utf-8")
    return place


class TestNames:
    def test_there_are_fifty_seven_one_for_every_dataset_and_seed(self) -> None:
        assert len(zoo.CHECKPOINTS) == 57
        assert {one.dataset for one in zoo.CHECKPOINTS.values()} == set(CARDS)
        assert zoo.CHECKPOINTS[NAME].repository == "sdoerrich97/colorist_densenet121_ddi_s71397589"
        assert all(len(CARDS[one.dataset].classes) == one.printed.classes for one in zoo.CHECKPOINTS.values())

    def test_an_unknown_one_is_refused_with_its_neighbour(self) -> None:
        with pytest.raises(OptionError, match="did you mean 'colorist_densenet121_ddi_s71397589'"):
            zoo.load("colorist_densenet121_ddi_s7139758")


class TestLoading:
    def test_from_a_folder_of_checkpoints(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        made(tmp_path, num_classes=2, mean=[0.5, 0.4, 0.3], std=[0.2, 0.2, 0.2])
        found = zoo.load(NAME, tmp_path)
        assert (found.architecture, found.classes, found.mean) == ("densenet121", 2, (0.5, 0.4, 0.3))
        assert not found.classifier.training
        torch.manual_seed(0)
        wanted = timm.create_model("densenet121", num_classes=2).eval()
        images = torch.rand(1, 3, 32, 32)
        with torch.no_grad():
            assert torch.equal(found.classifier(images), wanted(images))
        monkeypatch.setenv("RECOLORIST_ZOO", str(tmp_path))
        assert zoo.find(NAME) == tmp_path / NAME
        assert zoo.find(str(tmp_path / NAME)) == tmp_path / NAME

    def test_what_is_not_said_is_found_out(self, tmp_path: Path) -> None:
        found = zoo.load(str(made(tmp_path, classes=5)))
        assert (found.architecture, found.classes, found.mean, found.std) == ("densenet121", 5, None, None)

    def test_statistics_as_timm_writes_them(self, tmp_path: Path) -> None:
        told = {"mean": [0.1, 0.2, 0.3], "std": [1, 1, 1]}
        place = made(tmp_path, "own", 3, "test_resnet", architecture_="x", model="test_resnet", pretrained_cfg=told)
        assert zoo.load(str(place)).mean == (0.1, 0.2, 0.3)

    def test_a_wrappers_prefix_is_taken_off(self, tmp_path: Path) -> None:
        place = made(tmp_path, "own", 3, "test_resnet", model="test_resnet")
        net = timm.create_model("test_resnet", num_classes=3)
        save_file({f"module.{key}": value for key, value in net.state_dict().items()}, place / "model.safetensors")
        found = zoo.load(str(place)).classifier.net.state_dict()
        assert all(torch.equal(found[key], value) for key, value in net.state_dict().items())

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda place: (place / "config.json").write_text("[]", "utf-8"), "expected is a table"),
            (lambda place: (place / "config.json").write_text("{", "utf-8"), "cannot be read as JSON"),
            (lambda place: (place / "config.json").write_text("{}", "utf-8"), "names no network"),
            (lambda place: (place / "model.safetensors").write_bytes(b"0" * 100), "cannot be read as safetensors"),
            (lambda place: (place / "config.json").write_text('{"model": "test_resnet", "num_classes": 9}', "utf-8"), "says 9"),
            (lambda place: (place / "config.json").write_text('{"model": "test_vit"}', "utf-8"), "does not fit test_vit"),
            (lambda place: (place / "config.json").write_text('{"model": "test_resnet", "mean": 3}', "utf-8"), "three numbers"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, tmp_path: Path, change: Any, said: str) -> None:
        place = made(tmp_path, "own", 3, "test_resnet", model="test_resnet")
        change(place)
        with pytest.raises(zoo.ZooError, match=said):
            zoo.load(str(place))

    def test_offline_it_says_what_goes_where(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path))
        monkeypatch.setenv("RECOLORIST_OFFLINE", "1")
        with pytest.raises(zoo.ZooError, match="sdoerrich97/colorist_densenet121_ddi_s71397589 into"):
            zoo.find(NAME)

    def test_it_is_fetched_once_and_then_taken_from_the_cache(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server, link: Link
    ) -> None:
        place = made(tmp_path / "hub", num_classes=2)
        base = "https://huggingface.co/sdoerrich97/colorist_densenet121_ddi_s71397589/resolve/main"
        server.serve({f"{base}/{path.name}": path.read_bytes() for path in place.iterdir()})
        monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv("RECOLORIST_OFFLINE", raising=False)
        assert zoo.load(NAME, link=link).classes == 2
        asked = len(server.asked)
        assert asked == 2
        assert zoo.load(NAME, link=link).classes == 2
        assert len(server.asked) == asked


class TestEvaluating:
    def test_a_run_of_our_own_scores_as_it_did(self, tmp_path: Path) -> None:
        context = Memory()
        result: Any = run(small(), context)
        for name in ("model.safetensors", "config.json"):
            (tmp_path / name).write_bytes(context.kept[name])
        found: Any = zoo.evaluate(zoo.load(str(tmp_path)), TINY, batch=16, accelerator="cpu")
        for name in ("balanced_accuracy", "loss", "auc", "ece"):
            assert found[name] == pytest.approx(result["test"][name], abs=1e-6)
        assert (found["size"], found["normalised_with"]) == (32, "of the checkpoint")

    def test_without_statistics_those_of_the_training_split_serve(self, tmp_path: Path) -> None:
        loaded = zoo.load(str(made(tmp_path, "own", 4, "test_resnet", model="test_resnet")))
        found = zoo.evaluate(loaded, TINY, size=32, accelerator="cpu")
        assert found["normalised_with"] == "of the training split here"

    def test_other_classes_are_refused(self, tmp_path: Path) -> None:
        loaded = zoo.load(str(made(tmp_path, "own", 3, "test_resnet", model="test_resnet")))
        with pytest.raises(OptionError, match="has 4 classes"):
            zoo.evaluate(loaded, TINY, size=32, accelerator="cpu")
