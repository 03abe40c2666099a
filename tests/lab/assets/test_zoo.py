"""The published checkpoints: names, and the layout of the Hub on files made to it here."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import close_session
from safetensors.torch import save_file

from recolorist.errors import OptionError
from recolorist_lab.assets import zoo
from recolorist_lab.data.registry import CARDS
from recolorist_lab.paper.numbers import ZOO
from recolorist_lab.training import published

NAME = "colorist_densenet121_ddi_s71397589"


def network(architecture: str, num_classes: int) -> Any:
    """A network of timm, which is only loaded after our own package has made torchvision loadable."""
    import timm

    return timm.create_model(architecture, num_classes=num_classes)


def made(folder: Path, name: str = NAME, classes: int = 2, architecture: str = "densenet121", **config: Any) -> Path:
    """A checkpoint as the Hub lays it out."""
    place = folder / name
    place.mkdir(parents=True)
    torch.manual_seed(0)
    save_file(network(architecture, num_classes=classes).state_dict(), place / "model.safetensors")
    (place / "config.json").write_text(json.dumps(config), "utf-8")
    return place


class TestNames:
    def test_there_are_fifty_seven_one_for_every_dataset_and_seed(self) -> None:
        assert len(zoo.CHECKPOINTS) == 57
        assert tuple(ZOO) == zoo.THEIR_DATASETS
        assert {one.dataset for one in zoo.CHECKPOINTS.values()} == set(CARDS)
        assert zoo.CHECKPOINTS[NAME].repository == "sdoerrich97/colorist_densenet121_ddi_s71397589"
        assert all(len(CARDS[one.dataset].classes) == ZOO[one.their_dataset].classes for one in zoo.CHECKPOINTS.values())

    def test_an_unknown_one_is_refused_with_its_neighbour(self) -> None:
        with pytest.raises(OptionError, match="did you mean 'colorist_densenet121_ddi_s71397589'"):
            published.load("colorist_densenet121_ddi_s7139758")


class TestLoading:
    def test_from_a_folder_of_checkpoints(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        made(tmp_path, num_classes=2, mean=[0.5, 0.4, 0.3], std=[0.2, 0.2, 0.2])
        found = published.load(NAME, tmp_path)
        assert (found.architecture, found.classes, found.mean) == ("densenet121", 2, (0.5, 0.4, 0.3))
        assert not found.classifier.training
        torch.manual_seed(0)
        wanted = network("densenet121", num_classes=2).eval()
        images = torch.rand(1, 3, 32, 32)
        with torch.no_grad():
            assert torch.equal(found.classifier(images), wanted(images))
        monkeypatch.setenv("RECOLORIST_ZOO", str(tmp_path))
        assert zoo.find(NAME) == tmp_path / NAME
        assert zoo.find(str(tmp_path / NAME)) == tmp_path / NAME

    def test_what_is_not_said_is_found_out(self, tmp_path: Path) -> None:
        found = published.load(str(made(tmp_path, classes=5)))
        assert (found.architecture, found.classes, found.mean, found.std) == ("densenet121", 5, None, None)

    def test_statistics_as_timm_writes_them(self, tmp_path: Path) -> None:
        settings = {"mean": [0.1, 0.2, 0.3], "std": [1, 1, 1]}
        place = made(tmp_path, "own", 3, "test_resnet", architecture_="x", model="test_resnet", pretrained_cfg=settings)
        assert published.load(str(place)).mean == (0.1, 0.2, 0.3)

    def test_a_wrappers_prefix_is_taken_off(self, tmp_path: Path) -> None:
        place = made(tmp_path, "own", 3, "test_resnet", model="test_resnet")
        net = network("test_resnet", num_classes=3)
        save_file({f"module.{key}": value for key, value in net.state_dict().items()}, place / "model.safetensors")
        found = published.load(str(place)).classifier.net.state_dict()
        assert all(torch.equal(found[key], value) for key, value in net.state_dict().items())

    @pytest.mark.parametrize(
        ("change", "message"),
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
    def test_what_does_not_fit_is_refused(self, tmp_path: Path, change: Any, message: str) -> None:
        place = made(tmp_path, "own", 3, "test_resnet", model="test_resnet")
        change(place)
        with pytest.raises(zoo.ZooError, match=message):
            published.load(str(place))

    def test_offline_it_says_what_goes_where(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path))
        monkeypatch.setenv("RECOLORIST_OFFLINE", "1")
        with pytest.raises(zoo.ZooError, match="sdoerrich97/colorist_densenet121_ddi_s71397589 into"):
            zoo.find(NAME)


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loopback: str) -> Iterator[list[str]]:
    """A server that answers as the Hub does, for one checkpoint; yields the paths it was asked for."""
    place, asked = made(tmp_path / "hub", num_classes=2), []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            head, _, rest = self.path.partition("/resolve/")
            revision, _, file = rest.partition("/")
            if head != f"/sdoerrich97/{NAME}" or revision not in ("main", COMMIT):
                self.send_response(404)
                self.send_header("X-Error-Code", "RevisionNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            data = (place / file).read_bytes()
            self.send_response(200)
            for name, value in (("Content-Length", len(data)), ("ETag", f'"{len(data)}"'), ("X-Repo-Commit", COMMIT)):
                self.send_header(name, str(value))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer((loopback, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://{loopback}:{server.server_port}")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv("RECOLORIST_OFFLINE", raising=False)
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        close_session()
        yield asked
        server.shutdown()
    close_session()


class TestDownloading:
    def test_it_is_fetched_once_and_then_taken_from_the_cache(self, hub: list[str]) -> None:
        assert published.load(NAME, revision=COMMIT).classes == 2
        assert all(f"/resolve/{COMMIT}/" in path for path in hub)
        asked = len(hub)
        assert published.load(NAME).classes == 2
        assert published.load(NAME, revision=COMMIT).classes == 2
        assert len(hub) == asked

    def test_a_branch_is_pinned_to_its_commit(self, hub: list[str]) -> None:
        place = zoo.find(NAME, revision="main")
        assert json.loads((place / "fetched.json").read_text("utf-8"))["revision"] == COMMIT
        assert {path.name for path in place.iterdir()} == {"model.safetensors", "config.json", "fetched.json"}
        assert [path for path in hub if path.startswith("GET")] == [
            f"GET /sdoerrich97/{NAME}/resolve/{COMMIT}/{file}" for file in ("config.json", "model.safetensors")
        ]

    def test_what_was_lost_comes_again_from_the_recorded_commit(self, hub: list[str]) -> None:
        place = zoo.find(NAME, revision="main")
        (place / "config.json").unlink()
        hub.clear()
        assert zoo.find(NAME) == place
        assert hub
        assert all(f"/resolve/{COMMIT}/" in path for path in hub)

    def test_other_bytes_of_the_recorded_commit_are_refused(self, hub: list[str], tmp_path: Path) -> None:
        place = zoo.find(NAME, revision=COMMIT)
        (place / "config.json").unlink()
        (tmp_path / "hub" / NAME / "config.json").write_text('{"num_classes": 3}', "utf-8")
        with pytest.raises(zoo.ZooError, match="not what it was at its first download"):
            zoo.find(NAME)
        assert not (place / "config.json").exists()
        assert hub

    def test_without_a_revision_one_is_asked_for(self, hub: list[str]) -> None:
        with pytest.raises(zoo.ZooError, match="name one with --revision"):
            zoo.find(NAME)
        assert hub == []

    def test_a_revision_that_is_not_there_is_named(self, hub: list[str]) -> None:
        with pytest.raises(zoo.ZooError, match="at v9 could not be downloaded"):
            zoo.find(NAME, revision="v9")
        assert hub

    def test_another_revision_than_the_cached_one_is_refused(self, hub: list[str]) -> None:
        zoo.find(NAME, revision=COMMIT)
        hub.clear()
        with pytest.raises(zoo.ZooError, match="remove the folder"):
            zoo.find(NAME, revision="f" * 40)
        assert hub == []
