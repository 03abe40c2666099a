"""A training that begins with parts trained elsewhere: what is taken, what is refused, and that the run remembers it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.baselines import build, store
from recolorist_lab.baselines.layout import LayoutError
from recolorist_lab.baselines.start import begin_with
from tests.lab.cli.baseline_kit import trained


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights of another method whose decoder has the same layout."""
    return store.save(build("adain", encoder="random", seed=5), tmp_path_factory.mktemp("adain") / "adain.safetensors")


class TestBeginWith:
    @pytest.mark.parametrize("method", ["efdm", "sanet", "mast", "iecontrast", "stytr2"])
    def test_takes_the_decoder_they_have_in_common_and_leaves_the_rest(self, method: str, decoder: Path) -> None:
        model, untouched = (build(method, encoder="random", seed=1) for _ in range(2))
        assert begin_with(model, decoder) == ("decoder",)
        given = build("adain", encoder="random", seed=5).parts()["decoder"].state_dict()
        for name, value in model.parts()["decoder"].state_dict().items():
            assert torch.equal(value, given[name])
        for part in set(model.trained_parts()) - {"decoder"}:
            for one, other in zip(model.parts()[part].parameters(), untouched.parts()[part].parameters(), strict=True):
                assert torch.equal(one, other)
        assert list(model.started) == ["decoder"]

    def test_tells_apart_weights_that_differ_in_one_bit(self, decoder: Path, tmp_path: Path) -> None:
        other = build("adain", encoder="random", seed=5)
        with torch.no_grad():
            bias = next(other.parts()["decoder"].parameters())
            bias.view(-1)[0] = torch.nextafter(bias.view(-1)[0], torch.tensor(9.0))
        first, second = build("efdm", encoder="random"), build("efdm", encoder="random")
        begin_with(first, decoder)
        begin_with(second, store.save(other, tmp_path / "other.safetensors"))
        assert first.started != second.started

    def test_refuses_weights_without_a_part_in_common(self, decoder: Path) -> None:
        model = build("contrimix", encoder="random")
        with pytest.raises(
            OptionError, match=r"contains decoder and Contrimix trains .*; give weights with at least one of these parts"
        ):
            begin_with(model, decoder)

    def test_refuses_a_part_that_does_not_fit_and_changes_nothing(self, decoder: Path) -> None:
        model, untouched = (build("styleformer", encoder="random", seed=1) for _ in range(2))
        assert "decoder" in model.trained_parts()
        with pytest.raises(LayoutError, match=r"decoder in .* does not have the expected layout"):
            begin_with(model, decoder)
        for one, other in zip(model.parameters(), untouched.parameters(), strict=True):
            assert torch.equal(one, other)
        assert not model.started

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(RecoloristError, match=r"nowhere\.safetensors cannot be read"):
            begin_with(build("efdm", encoder="random"), tmp_path / "nowhere.safetensors")


class TestTrain:
    def test_a_run_begins_there_and_says_so(self, decoder: Path, tmp_path: Path) -> None:
        cold, warm = tmp_path / "cold", tmp_path / "warm"
        rate = ("--iterations", "1", "--rate", "1e-9")  # too little to move a weight, so the weights are those of the start
        trained(cold, *rate)
        trained(warm, *rate, "--start", decoder)
        begun, drawn = (store.load(folder / "weights.safetensors") for folder in (warm, cold))
        given = build("adain", encoder="random", seed=5).parts()["decoder"].state_dict()
        for name, value in begun.parts()["decoder"].state_dict().items():
            torch.testing.assert_close(value, given[name], rtol=0, atol=1e-7)
            assert "weight" not in name or not torch.equal(value, drawn.parts()["decoder"].state_dict()[name])
        before, after = (store.read(folder / "weights.safetensors")[1]["about"]["start"] for folder in (cold, warm))
        assert before == {}
        assert list(after) == ["decoder"]
