"""A classifier starts from a file of weights, without its last layer, and only from the file it was planned with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from recolorist.errors import OptionError
from recolorist_lab.assets.weights import state_of
from recolorist_lab.training.models import build
from recolorist_lab.training.pretrained import identity_of_weights, load_weights


@pytest.fixture
def file(tmp_path: Path) -> Path:
    torch.manual_seed(1)
    save_file(build("test_resnet", 10, own_head=False).net.state_dict(), tmp_path / "ten.safetensors")
    return tmp_path / "ten.safetensors"


def test_all_but_the_last_layer_is_loaded(file: Path) -> None:
    torch.manual_seed(1)
    source = build("test_resnet", 10, own_head=False).net.state_dict()
    torch.manual_seed(2)
    net = build("test_resnet", 3, own_head=False).net
    head = net.get_classifier().weight.clone()
    assert not torch.equal(next(iter(net.parameters())), next(iter(source.values())))
    load_weights(net, str(file), identity_of_weights(file))
    loaded = net.state_dict()
    assert all(torch.equal(loaded[name], source[name]) for name in loaded if not name.startswith("fc."))
    assert torch.equal(net.get_classifier().weight, head)


def test_another_file_or_model_is_refused(file: Path) -> None:
    net = build("test_resnet", 3, own_head=False).net
    with pytest.raises(OptionError, match="the run starts from the file of sha256 000"):
        load_weights(net, str(file), "0" * 64)
    with pytest.raises(OptionError, match="does not fit the model"):
        load_weights(build("test_vit", 3, own_head=False).net, str(file), identity_of_weights(file))
    with pytest.raises(OptionError, match="cannot be read"):
        identity_of_weights(file / "absent")


def test_efficientnets_of_another_package_are_renamed(tmp_path: Path) -> None:
    net = build("efficientnet_lite0", 3, own_head=False).net
    numbers = {name: torch.full_like(tensor, place) for place, (name, tensor) in enumerate(net.state_dict().items())}
    names = {name: f"_{place}.{name.rpartition('.')[2]}" for place, name in enumerate(numbers)}
    save_file({names[name]: tensor for name, tensor in numbers.items()}, tmp_path / "a.safetensors")
    with pytest.raises(OptionError, match=r"does not fit the model: 29\d of 296 .* such as '_0\.weight'\. Give --model"):
        load_weights(net, str(tmp_path / "a.safetensors"), identity_of_weights(tmp_path / "a.safetensors"))
    names["conv_stem.weight"] = "_conv_stem.weight"
    torch.save({names[name]: tensor for name, tensor in numbers.items()}, tmp_path / "b.pth")
    load_weights(net, str(tmp_path / "b.pth"), identity_of_weights(tmp_path / "b.pth"))
    loaded = net.state_dict()
    assert all(torch.equal(loaded[name], numbers[name]) for name in loaded if not name.startswith("classifier."))


def test_a_published_network_of_that_package_knows_a_cup_of_coffee(real_weights: Path) -> None:
    file = real_weights / "efficientnet_lite0.pth"
    if not file.is_file():
        pytest.skip("efficientnet_lite0.pth is not among the real weights")
    coffee = pytest.importorskip("skimage.data").coffee()[:, 100:500]
    net = build("tf_efficientnet_lite0", 1000, own_head=False).net
    load_weights(net, str(file), identity_of_weights(file))
    state = state_of(file)
    net.get_classifier().load_state_dict({name: state[f"_fc.{name}"] for name in ("weight", "bias")})
    pixels = np.asarray(Image.fromarray(coffee).resize((224, 224), Image.Resampling.BICUBIC)) / 255
    image = torch.from_numpy((pixels - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)).permute(2, 0, 1)[None].float()
    assert int(net.eval()(image).argmax()) == 967  # espresso
