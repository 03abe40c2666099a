"""Networks with weights: official files are known by a checksum, by git, or not at all."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import torch

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.assets import weights
from recolorist_lab.assets.weight_table import WeightFile
from recolorist_lab.baselines import build, pretrained
from recolorist_lab.baselines.networks.artflow import ArtFlow
from recolorist_lab.baselines.networks.contrimix import ContriMix
from recolorist_lab.baselines.networks.wct2 import WCT2
from tests.lab.cli.baseline_kit import run_json

SMALL: dict[str, Any] = {"stains": 4}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A checkpoint of ContriMix laid out as the released one."""
    donor = build("contrimix", seed=3, **SMALL)
    state = {name: value for part in donor.trained_parts() for name, value in donor.to_official(part).items()}
    torch.save({"algorithm": state}, tmp_path / "checkpoint.pth")
    return tmp_path / "checkpoint.pth"


def converted(file: Path, **more: Any) -> dict[str, str]:
    files = dict.fromkeys(("content_encoder", "attribute_encoder"), file)
    return pretrained.convert("ContriMix", files, file.with_name("out.safetensors"), **SMALL, **more)


def known(monkeypatch: pytest.MonkeyPatch, blob: str) -> None:
    """Give the table of ContriMix's files a git id."""
    files = tuple(official._replace(git_blobs=MappingProxyType({blob: "a file"})) for official in ContriMix.official)
    monkeypatch.setattr(ContriMix, "official", files)


def test_git_vouches_for_a_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="no checksum is known"):
        converted(file)
    known(monkeypatch, "0" * 40)
    with pytest.raises(OptionError, match=r"no git id of a released file matches 'content_encoder'; .* has the sha256"):
        converted(file)
    known(monkeypatch, pretrained.git_blob_of(file))
    assert set(converted(file)) == {"content_encoder", "attribute_encoder"}


def test_a_part_that_does_not_exist_is_named(file: Path) -> None:
    with pytest.raises(OptionError, match=r"parts of Contrimix: 'content_encodr' is unknown; did you mean 'content_encoder'\?"):
        pretrained.convert("contrimix", {"content_encodr": file}, file.with_name("out.safetensors"), **SMALL)


def test_the_id_is_gits(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"what is up, doc?")
    assert pretrained.git_blob_of(tmp_path / "a") == "bd9dbf5aae1a3862dd1526723246b20206e5fc37"
    with pytest.raises(OptionError, match="cannot be read"):
        pretrained.git_blob_of(tmp_path / "b")


def test_wct2_has_the_ids_of_its_four_files() -> None:
    assert sum(len(official.git_blobs) for official in WCT2.official) == 4
    assert all(len(blob) == 40 for official in WCT2.official for blob in official.git_blobs)


def test_a_file_of_another_network_is_refused_whatever_is_said_of_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = pretrained.digest_of(file)
    entry = WeightFile("decoder.pth", digest, None, None, licence="none", what="the decoder of another network")
    monkeypatch.setattr(weights, "WEIGHTS", {"other": entry})
    with pytest.raises(OptionError, match="the decoder of another network"):
        converted(file, checksums=dict.fromkeys(("content_encoder", "attribute_encoder"), digest))


def test_the_published_decoder_is_adains_and_not_efdms(real_weights: Path, tmp_path: Path) -> None:
    path = real_weights / "adain_decoder.pth"
    done = run_json("convert", "adain", "--from", f"decoder={path}", "--out", tmp_path / "adain.safetensors")
    assert done["sha256"]["decoder"].startswith("379ca41d")
    with pytest.raises(OptionError, match="not the decoder of EFDM"):
        pretrained.convert(
            "efdm", {"decoder": path}, tmp_path / "x.safetensors", checksums={"decoder": pretrained.digest_of(path)}
        )


def test_artflow_takes_a_bare_state_dict(tmp_path: Path) -> None:
    with torch.device("meta"):
        donor = build("artflow", encoder="random")
    assert isinstance(donor, ArtFlow)
    assert next(official.entry for official in ArtFlow.official) == "state_dict"
    state = {name: torch.zeros(value.shape, dtype=value.dtype) for name, value in donor.to_official("glow").items()}
    for held in (state, {"state_dict": state, "iter": 1}):
        torch.save(held, tmp_path / "glow.pth")
        heir = build("artflow", encoder="random")
        heir.load_official({"glow": tmp_path / "glow.pth"})
        assert not any(bool(value.any()) for value in heir.parts()["glow"].state_dict().values())


class _Object:
    """Something that is no tensor."""


def test_a_pickle_is_refused_without_advice_to_load_it(tmp_path: Path) -> None:
    torch.save({"model": _Object()}, tmp_path / "x.pth")
    with pytest.raises(RecoloristError, match="Python objects beside tensors") as caught:
        weights.state_of(tmp_path / "x.pth")
    assert "weights_only" not in str(caught.value)
    assert "trust" not in str(caught.value)
