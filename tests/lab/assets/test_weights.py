"""Weights: found where they should be, downloaded whole or not at all, checked, and read without running code."""

from __future__ import annotations

import hashlib
import io
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from recolorist.errors import OptionError
from recolorist_lab.assets import weights
from recolorist_lab.assets.download import Link
from recolorist_lab.assets.weights import WEIGHTS, WeightFile, WeightsError, find_weights, path_of, state_of
from tests.lab.server import Server

HOST = "weights.example.org"


def saved(**tensors: torch.Tensor) -> bytes:
    stream = io.BytesIO()
    torch.save(tensors, stream)
    return stream.getvalue()


SMALL = saved(**{"features.0.weight": torch.arange(6.0).reshape(2, 3)})


FULL = saved(**{"features.0.weight": torch.arange(6.0).reshape(2, 3), "classifier.weight": torch.ones(4)})


def entry(data: bytes, file: str, **changes: Any) -> WeightFile:
    made = WeightFile(file, hashlib.sha256(data).hexdigest(), len(data), f"https://{HOST}/{file}", "MIT", "made up")
    return replace(made, **changes)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, and nothing that lies on this machine."""
    monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.delenv("RECOLORIST_WEIGHTS", raising=False)
    monkeypatch.delenv("RECOLORIST_OFFLINE", raising=False)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> dict[str, WeightFile]:
    """Small files in place of the real ones."""
    made = {
        "part": entry(SMALL, "part.pth", address=None, instead=("whole",), keys=r"features\..*"),
        "whole": entry(FULL, "whole-0000.pth", names=("other-name.pth",)),
        "nowhere": entry(SMALL, "nowhere.pth", address=None),
    }
    made["whole"] = replace(made["whole"], sha256=made["whole"].sha256[:8], bytes=None)
    monkeypatch.setattr(weights, "WEIGHTS", made)
    return made


@pytest.fixture
def served(server: Server, table: dict[str, WeightFile]) -> Server:
    assert table
    server.files[f"/{HOST}/whole-0000.pth"] = FULL
    return server


def own(tmp_path: Path, name: str, file: str) -> Path:
    return tmp_path / "cache" / "weights" / name / file


class TestTable:
    @pytest.mark.parametrize("name", WEIGHTS)
    def test_every_file_can_be_had_or_is_part_of_one_that_can(self, name: str) -> None:
        one = WEIGHTS[name]
        addresses = [WEIGHTS[each].address for each in (name, *one.instead)]
        assert any(addresses)
        assert all(address is None or address.startswith("https://") for address in addresses)

    @pytest.mark.parametrize("name", WEIGHTS)
    def test_every_file_is_pinned(self, name: str) -> None:
        one = WEIGHTS[name]
        assert set(one.sha256) <= set("0123456789abcdef")
        assert len(one.sha256) == 64 or one.sha256 in one.file  # the digits that the publisher put into the name
        assert one.licence
        assert one.what

    def test_an_unknown_name_is_told_what_is_known(self) -> None:
        with pytest.raises(OptionError, match="'resnet' are not known; known are fid_inception, "):
            path_of("resnet")
        with pytest.raises(OptionError, match="'resnet' are not known"):
            state_of("resnet")


@pytest.mark.usefixtures("table")
class TestFinding:
    def test_the_named_folder_comes_first(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        places = [tmp_path / "mine" / "part.pth", own(tmp_path, "part", "part.pth"), tmp_path / "torch/hub/checkpoints/part.pth"]
        for path in places:
            path.parent.mkdir(parents=True)
            path.write_bytes(SMALL)
        monkeypatch.setenv("RECOLORIST_WEIGHTS", str(tmp_path / "mine"))
        for path in places:
            assert path_of("part") == path
            path.unlink()
        assert find_weights("part") is None

    def test_the_file_itself_comes_before_a_larger_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_WEIGHTS", str(tmp_path))
        (tmp_path / "other-name.pth").write_bytes(FULL)
        assert path_of("part") == tmp_path / "other-name.pth"
        (tmp_path / "part.pth").write_bytes(SMALL)
        assert path_of("part") == tmp_path / "part.pth"

    @pytest.mark.parametrize(("data", "why"), [(SMALL[:-1], "bytes and should have"), (b"?" * len(SMALL), "has the sha256")])
    def test_a_wrong_file_is_refused_and_not_passed_over(
        self, data: bytes, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RECOLORIST_WEIGHTS", str(tmp_path))
        (tmp_path / "part.pth").write_bytes(data)
        with pytest.raises(WeightsError, match=f"part.pth .*{why}"):
            path_of("part")

    def test_a_file_that_changes_is_looked_at_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_WEIGHTS", str(tmp_path))
        (tmp_path / "part.pth").write_bytes(SMALL)
        path_of("part")
        (tmp_path / "part.pth").write_bytes(b"?" * len(SMALL))
        with pytest.raises(WeightsError, match="has the sha256"):
            path_of("part")

    def test_a_folder_that_is_none_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_WEIGHTS", str(tmp_path / "gone"))
        with pytest.raises(WeightsError, match="gone, which is not a folder"):
            path_of("part")

    def test_what_has_no_address_says_what_to_do(self, tmp_path: Path) -> None:
        with pytest.raises(WeightsError) as caught:
            path_of("nowhere")
        for part in (
            "nowhere.pth",
            f"{len(SMALL):,} bytes",
            hashlib.sha256(SMALL).hexdigest(),
            str(tmp_path),
            "RECOLORIST_WEIGHTS",
        ):
            assert part in str(caught.value)

    def test_downloads_may_be_forbidden(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_OFFLINE", "1")
        with pytest.raises(WeightsError, match=r"part\.pth .* or whole-0000\.pth .*RECOLORIST_OFFLINE forbids"):
            path_of("part")


class TestDownload:
    def test_it_arrives_once(self, served: Server, link: Link, tmp_path: Path) -> None:
        path = path_of("part", link=link)
        assert path == own(tmp_path, "whole", "whole-0000.pth")
        assert path.read_bytes() == FULL
        assert path_of("part", link=link) == path_of("whole", link=link) == path
        assert len(served.asked) == 1

    def test_only_the_wanted_tensors_are_taken_from_a_larger_file(self, served: Server, link: Link) -> None:
        assert served.port
        path_of("part", link=link)
        assert list(state_of("part")) == ["features.0.weight"]
        assert list(state_of("whole")) == ["features.0.weight", "classifier.weight"]

    def test_cut_off_it_goes_on(self, served: Server, link: Link) -> None:
        served.cut_after = [700]
        assert path_of("whole", link=link).read_bytes() == FULL
        assert [asked for _, asked in served.asked] == [None, "bytes=700-"]

    def test_wrong_bytes_are_not_kept(self, served: Server, link: Link, tmp_path: Path) -> None:
        served.files[f"/{HOST}/whole-0000.pth"] = FULL[:-1] + b"?"
        with pytest.raises(
            WeightsError, match=r"part\.pth .* is needed and was not found; .*could not be downloaded: .*has the sha256"
        ):
            path_of("part", link=link)
        assert [path.name for path in own(tmp_path, "whole", "").iterdir()] == ["lock"]

    def test_without_a_network_the_message_says_what_is_wanted(
        self, loopback: str, table: dict[str, WeightFile], tmp_path: Path
    ) -> None:
        nobody = Link(mirror=f"https://{loopback}:9", tries=1, timeout=1)
        with pytest.raises(WeightsError) as caught:
            path_of("part", link=nobody)
        for part in ("part.pth", table["part"].sha256, "whole-0000.pth", f"https://{HOST}/whole-0000.pth", str(tmp_path)):
            assert part in str(caught.value)

    def test_several_at_once_download_once(self, served: Server, link: Link) -> None:
        pytest.importorskip("fcntl")
        paths: list[Path] = []
        threads = [threading.Thread(target=lambda: paths.append(path_of("whole", link=link))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(paths) == 4
        assert len(served.asked) == 1

    def test_a_cache_that_cannot_be_written_is_said(
        self, served: Server, link: Link, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert served.port
        (tmp_path / "file").write_bytes(b"")
        monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "file"))
        with pytest.raises(WeightsError, match=r"cannot be written .*RECOLORIST_CACHE"):
            path_of("whole", link=link)


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("code ran",)


class TestReading:
    def test_a_path_is_read_as_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "a.pth").write_bytes(FULL)
        assert (
            list(state_of(tmp_path / "a.pth")) == list(state_of(str(tmp_path / "a.pth"))) == list(state_of_bytes(FULL, tmp_path))
        )

    def test_half_precision_becomes_single(self, tmp_path: Path) -> None:
        (tmp_path / "a.pth").write_bytes(saved(a=torch.ones(2, dtype=torch.float16), count=torch.tensor(3)))
        state = state_of(tmp_path / "a.pth")
        assert (state["a"].dtype, state["count"].dtype) == (torch.float32, torch.int64)

    def test_safetensors(self, tmp_path: Path) -> None:
        save_file({"a": torch.arange(3.0)}, tmp_path / "a.safetensors")
        assert state_of(tmp_path / "a.safetensors")["a"].tolist() == [0.0, 1.0, 2.0]

    def test_code_is_never_run(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        torch.save({"a": Evil()}, tmp_path / "a.pth")
        with pytest.raises(WeightsError, match=r"a\.pth holds Python objects beside tensors"):
            state_of(tmp_path / "a.pth")
        assert "code ran" not in capsys.readouterr().out

    @pytest.mark.parametrize("name", ["a.pth", "a.safetensors"])
    @pytest.mark.parametrize("data", [b"", b"PK\3\4nonsense", FULL[:900], b"<html>"])
    def test_what_is_no_file_of_weights_is_one_sentence(self, name: str, data: bytes, tmp_path: Path) -> None:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(WeightsError, match=r"cannot be read as weights|is no file of weights"):
            state_of(tmp_path / name)

    def test_what_is_not_there_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(WeightsError, match=r"a\.pth is not a file"):
            state_of(tmp_path / "a.pth")

    def test_parts_are_named(self, tmp_path: Path) -> None:
        torch.save({"decoder": {"a": torch.ones(1)}, "epoch": 3}, tmp_path / "a.pth")
        assert list(state_of(tmp_path / "a.pth", part="decoder")) == ["a"]
        with pytest.raises(WeightsError, match="not one dictionary of tensors; it has decoder, epoch: name the part"):
            state_of(tmp_path / "a.pth")
        with pytest.raises(WeightsError, match="has no part 'encoder'; it has decoder, epoch"):
            state_of(tmp_path / "a.pth", part="encoder")


def state_of_bytes(data: bytes, folder: Path) -> dict[str, torch.Tensor]:
    (folder / "b.pt").write_bytes(data)
    return state_of(folder / "b.pt")


class TestRealFiles:
    def test_every_one_that_is_at_hand_is_right(self, real_weights: Path) -> None:
        at_hand = {name for name, one in WEIGHTS.items() if (real_weights / one.file).is_file()}
        assert at_hand >= {"fid_inception", "alexnet_features", "vgg_normalised_relu4_1", "adain_decoder"}
        assert {name for name in WEIGHTS if find_weights(name)} >= at_hand

    @pytest.mark.usefixtures("real_weights")
    def test_the_patterns_for_larger_files_fit(self) -> None:
        """What the small files hold is what would be taken from the large ones."""
        for name in ("fid_inception", "alexnet_features", "vgg_normalised_relu4_1", "vgg_normalised_stage5_half"):
            assert all(re.fullmatch(WEIGHTS[name].keys, key) for key in state_of(name))
        low, high = (re.compile(WEIGHTS[f"vgg_normalised_{part}"].keys) for part in ("relu4_1", "stage5_half"))
        for layer in range(53):
            fits = bool(low.fullmatch(f"{layer}.weight")), bool(high.fullmatch(f"{layer}.weight"))
            assert fits == (layer <= 30, 31 <= layer <= 43)
