"""The invertible network under ArtFlow."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from recolorist_lab.baselines.networks.artflow_glow import ActNorm, Coupling, Glow, InvertibleConv
from tests.lab.baselines import kit
from tests.lab.baselines.networks.test_artflow import lively


def test_reverse_undoes_forward() -> None:
    """The whole network, fresh, and as if trained after its layers were set by data."""
    image = kit.tiles(2, (64, 96))
    torch.manual_seed(0)
    glow = Glow()
    with torch.no_grad():
        assert float((glow.reverse(glow(image)) - image).abs().max()) < 1e-4
        lively(glow).initialise(image)
        latent = glow(image)
        assert latent.shape == (2, 48, 16, 24)
        assert float((glow.reverse(latent) - image).abs().max()) < 1e-4


def test_reverse_undoes_forward_in_float64() -> None:
    torch.manual_seed(0)
    glow, image = lively(Glow().double()), kit.tiles(2, (16, 24)).double()
    with torch.no_grad():
        glow.initialise(image)
        assert float((glow.reverse(glow(image)) - image).abs().max()) < 1e-10


def test_reverse_undoes_affine_couplings() -> None:
    torch.manual_seed(0)
    glow, image = lively(Glow(flows=3, width=32, affine=True)), kit.tiles(2, (16, 24))
    with torch.no_grad():
        assert float((glow.reverse(glow(image)) - image).abs().max()) < 1e-4
    coupling = Coupling(12, affine=True, width=8)
    x = torch.rand(1, 12, 4, 4)
    torch.testing.assert_close(coupling(x)[:, 6:], x[:, 6:] * torch.sigmoid(torch.tensor(2.0)))  # at the start log_s = t = 0


def test_squeeze_order() -> None:
    """Without flows the blocks only squeeze: channel 4c + 2dy + dx is the pixel at (dy, dx) of its cell."""
    image = kit.tiles(1, (8, 12))
    squeezed = Glow(flows=0, blocks=1)(image)
    for c in range(3):
        for dy in range(2):
            for dx in range(2):
                assert torch.equal(squeezed[:, 4 * c + 2 * dy + dx], image[:, c, dy::2, dx::2])
    assert torch.equal(Glow(flows=0)(image), functional.pixel_unshuffle(functional.pixel_unshuffle(image, 2), 2))


@pytest.mark.parametrize("channels", [12, 48])
def test_fresh_convolutions_are_rotations(channels: int) -> None:
    torch.manual_seed(3)
    layer = InvertibleConv(channels)
    weight = layer.weight().detach()
    assert float((weight @ weight.T - torch.eye(channels)).abs().max()) < 1e-5
    x = torch.rand(2, channels, 3, 4)
    torch.testing.assert_close(layer(x), torch.einsum("ij,bjhw->bihw", weight, x))
    layer.weight().square().sum().backward()  # masked entries get no gradient
    assert layer.w_l.grad is not None
    assert torch.equal(layer.w_l.grad * (1 - layer.l_mask), torch.zeros(channels, channels))


def test_couplings_pad_with_ones_at_the_end_and_zeros_at_the_start() -> None:
    coupling = Coupling(2, width=1)
    first, last = coupling.net[0], coupling.net[4]
    with torch.no_grad():
        for name, value in coupling.net.named_parameters():
            value.fill_(0.0 if name.endswith(("bias", "scale")) else 1.0)
    x = torch.ones(1, 1, 3, 3)
    torch.testing.assert_close(first(x)[0, 0], torch.tensor([[4.0, 6.0, 4.0], [6.0, 9.0, 6.0], [4.0, 6.0, 4.0]]))
    torch.testing.assert_close(last(2 * x)[0, 0, 0], torch.tensor([4 * 2.0 + 5, 6 * 2.0 + 3, 4 * 2.0 + 5]))
    torch.nn.init.constant_(last.get_parameter("scale"), 0.5)
    torch.testing.assert_close(last(2 * x)[0, 0, 1, 1], 18 * torch.tensor(1.5).exp())


def test_actnorm_is_set_once() -> None:
    layer, x = ActNorm(12), 5 * torch.rand(4, 12, 8, 8) + torch.arange(12.0).reshape(1, 12, 1, 1)
    layer.initialise(x)
    out = layer(x).detach()
    assert float(out.mean((0, 2, 3)).abs().max()) < 1e-5
    assert float((out.std((0, 2, 3)) - 1).abs().max()) < 1e-3
    before = kit.snapshot(layer)
    layer.initialise(3 * x)
    assert not kit.changed(layer, before)
    heir = ActNorm(12)
    heir.load_state_dict(layer.state_dict())
    heir.initialise(3 * x)
    assert not kit.changed(heir, before)


def test_actnorm_does_not_blow_up_flat_channels() -> None:
    layer, x = ActNorm(2), torch.rand(2, 2, 4, 4)
    x[:, 1] = 0.25
    layer.initialise(x)
    assert layer.scale[0, 1] == 1
    assert (layer(x)[:, 1] == 0).all()


def test_every_layer_is_set_by_what_reaches_it() -> None:
    torch.manual_seed(0)
    glow, image = lively(Glow(flows=2, width=16)), kit.tiles(4, 32)
    assert not glow.initialised
    glow(image)
    assert not glow.initialised, "looking at an image must not change the network"
    glow.initialise(image)
    assert glow.initialised
    seen: list[Tensor] = []
    for module in glow.modules():
        if isinstance(module, ActNorm):
            module.register_forward_hook(lambda _, __, out: seen.append(out.detach()))
    glow(image)
    assert len(seen) == 4
    for out in seen:
        assert float(out.mean((0, 2, 3)).abs().max()) < 1e-4
        assert float((out.std((0, 2, 3)) - 1).abs().max()) < 1e-3


def test_a_fresh_flow_is_linear() -> None:
    torch.manual_seed(0)
    glow = Glow(width=16)
    glow.initialise(kit.tiles(2, 16))
    a, b, c = kit.tiles(3, 16).split(1)
    with torch.no_grad():
        direction = glow(a) - glow(b)
        torch.testing.assert_close(glow(c + 0.5 * (a - b)) - glow(c), 0.5 * direction, atol=1e-4, rtol=1e-4)
