"""Styleformer's VGG-16."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from recolorist.errors import OptionError
from recolorist_lab.assets.weights import WEIGHTS
from recolorist_lab.baselines import build, layout
from recolorist_lab.baselines.networks import styleformer_vgg
from recolorist_lab.baselines.networks.styleformer import Styleformer
from recolorist_lab.baselines.networks.styleformer_vgg import standardised, unstandardised
from tests.lab.baselines import kit
from tests.lab.baselines.networks.test_styleformer import lively


def fresh(seed: int = 0, **options: Any) -> Styleformer:
    made = build("styleformer", encoder="random", seed=seed, **{"style_size": 32, **options})
    assert isinstance(made, Styleformer)
    return made


@pytest.fixture(scope="module")
def model() -> Styleformer:
    return lively(fresh()).eval().requires_grad_(requires_grad=False)


def torchvisions() -> Any:
    """The network whose weights are taken, without memory."""
    from recolorist._torchvision_ops import declare_missing_ops

    declare_missing_ops()
    from torchvision.models import vgg16

    with torch.device("meta"):
        return vgg16(weights=None)


class TestEncoder:
    def test_it_is_torchvisions_but_for_the_edges(self) -> None:
        """With zero padding put back the two agree."""
        other = torchvisions().features[:19]
        made, image = styleformer_vgg.encoder("random"), kit.tiles(1, 32)
        other = other.to_empty(device="cpu")
        other.load_state_dict(
            {name.removeprefix("features."): value for name, value in styleformer_vgg.to_torchvision(made.state_dict()).items()}
        )
        with torch.no_grad():
            wanted = other(standardised(image))
            assert not torch.allclose(made(image), wanted, atol=1e-3)
            for place, layer in enumerate(made):
                if isinstance(layer, nn.ReflectionPad2d):
                    made[place] = nn.ZeroPad2d(1)
            assert torch.allclose(made(image), wanted, atol=1e-4)

    def test_imagenets_figures(self) -> None:
        image = torch.tensor([1.0, 0.0, 0.406]).reshape(1, 3, 1, 1)
        assert standardised(image).flatten().tolist() == pytest.approx([0.515 / 0.229, -0.456 / 0.224, 0.0], abs=1e-6)
        assert torch.allclose(unstandardised(standardised(image)), image, atol=1e-6)

    def test_random_activations_are_of_a_size(self, model: Styleformer) -> None:
        for tap in model.encoder.taps(kit.tiles(2, 32)):
            assert 0.05 < float(tap.mean()) < 5

    def test_what_the_file_holds(self) -> None:
        with torch.device("meta"):
            part = styleformer_vgg.to_torchvision(styleformer_vgg.StyleformerEncoder().state_dict())
        shapes = {name: tuple(value.shape) for name, value in part.items()} | dict(styleformer_vgg._BEYOND)
        assert shapes == {name: tuple(value.shape) for name, value in torchvisions().state_dict().items()}
        assert len(shapes) == 32

    def test_the_whole_file_and_its_used_part_are_taken_and_nothing_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        small = {name: shape[:1] for name, shape in styleformer_vgg._BEYOND.items()}  # the real ones are half a gigabyte
        monkeypatch.setattr(styleformer_vgg, "_BEYOND", small)
        made = styleformer_vgg.StyleformerEncoder()
        part = styleformer_vgg.to_torchvision(made.state_dict())
        beyond = {name: torch.zeros(shape) for name, shape in small.items()}
        for state in (part, part | beyond):
            taken = styleformer_vgg.from_torchvision(state)
            assert list(taken) == list(made.state_dict())
            assert all(torch.equal(taken[name], value) for name, value in made.state_dict().items())
        for wrong in (beyond, part | dict(list(beyond.items())[1:]), {**part, "features.0.weight": torch.zeros(64, 3, 1, 1)}):
            with pytest.raises(layout.LayoutError):
                styleformer_vgg.from_torchvision(wrong)

    def test_the_file_is_the_one_of_the_table(self) -> None:
        entry, named = WEIGHTS["vgg16"], Styleformer.official[0]
        assert (entry.file, entry.address) == (named.file, named.address)
        with pytest.raises(OptionError, match="accepted"):
            styleformer_vgg.encoder("vgg")
