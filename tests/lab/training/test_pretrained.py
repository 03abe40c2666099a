"""A classifier starts from a file of weights, without its last layer, and only from the file it was planned with."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from recolorist.errors import OptionError
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
