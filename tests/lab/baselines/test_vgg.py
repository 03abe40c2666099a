"""The shared encoder and decoder against the sheet: counts, names, sizes, preprocessing, gradients, real weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from recolorist.errors import OptionError
from recolorist_lab.assets.weights import state_of
from recolorist_lab.baselines import layout, vgg
from tests.lab.baselines import kit

CONVS = (0, 2, 5, 9, 12, 16, 19, 22, 25, 29, 32, 35, 38, 42, 45, 48, 51)
WIDTHS = (3, 64, 64, 128, 128, *[256] * 4, *[512] * 8)
_INDICES = (1, 5, 8, 11, 14, 18, 21, 25, 28)
_SHAPES = ((256, 512), (256, 256), (256, 256), (256, 256), (128, 256), (128, 128), (64, 128), (64, 64), (3, 64))
DECODER = dict(zip(_INDICES, _SHAPES, strict=True))


@pytest.fixture(scope="module")
def encoder() -> vgg.Encoder:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return vgg.encoder(5, "random")


def count(module: nn.Module) -> int:
    return sum(value.numel() for value in module.parameters())


def test_parameter_counts() -> None:
    with torch.device("meta"):
        assert [count(vgg.Encoder(stages)) for stages in (1, 2, 3, 4, 5, 6)] == [
            *(1_804, 112_588, 555_340, 3_505_740, 12_944_972, 20_024_396)
        ]
        assert [len(vgg.Encoder(stages)) for stages in (4, 5, 6)] == [31, 44, 53]
        assert count(vgg.Decoder()) == 3_505_219
        assert len(vgg.Decoder()) == 29


def test_names_and_shapes_of_the_official_files() -> None:
    with torch.device("meta"):
        whole, decoder = vgg.Encoder(6).state_dict(), vgg.Decoder().state_dict()
    before = (3, *WIDTHS)
    wanted: dict[str, tuple[int, ...]] = {}
    for place, index in enumerate(CONVS):
        side = 1 if index == 0 else 3
        wanted[f"{index}.weight"] = (WIDTHS[place], before[place], side, side)
        wanted[f"{index}.bias"] = (WIDTHS[place],)
    assert {name: tuple(value.shape) for name, value in whole.items()} == wanted
    assert list(whole) == list(wanted)
    mirrored: dict[str, tuple[int, ...]] = {}
    for index, (wide, narrow) in DECODER.items():
        mirrored[f"{index}.weight"] = (wide, narrow, 3, 3)
        mirrored[f"{index}.bias"] = (wide,)
    assert {name: tuple(value.shape) for name, value in decoder.items()} == mirrored
    assert list(decoder) == list(mirrored)


def test_pooling_rounds_up_and_nothing_pads_with_zeros() -> None:
    with torch.device("meta"):
        layers = list(vgg.Encoder(6))
    pools = [one for one in layers if isinstance(one, nn.MaxPool2d)]
    assert [index for index, one in enumerate(layers) if isinstance(one, nn.MaxPool2d)] == [7, 14, 27, 40]
    assert all(one.ceil_mode and one.kernel_size == 2 and one.stride == 2 for one in pools)
    assert all(one.padding == (0, 0) for one in layers if isinstance(one, nn.Conv2d))


def test_preprocessing(encoder: vgg.Encoder) -> None:
    pixels = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.5]]).reshape(2, 3, 1, 1)
    seen = encoder[0](pixels).flatten(1)
    wanted = torch.tensor([[-103.939, -116.779, 131.32], [23.561, 10.721, 3.82]])
    assert torch.allclose(seen, wanted, atol=1e-4)


@pytest.mark.parametrize("side", [17, 28, 64, 200, 224, 250, 256])
def test_sizes_of_the_taps(side: int) -> None:
    with torch.device("meta"):
        taps = vgg.Encoder(5).taps(torch.empty(1, 3, side, side))
    assert [tap.shape[-1] for tap in taps] == [side, *(-(-side // step) for step in (2, 4, 8, 16))]
    assert [tap.shape[1] for tap in taps] == [64, 128, 256, 512, 512]


def test_the_smallest_sides(encoder: vgg.Encoder) -> None:
    with pytest.raises(RuntimeError, match=r"[Pp]adding"):
        encoder.taps(kit.tiles(1, 16))
    assert encoder.taps(kit.tiles(1, 17))[-1].shape[-1] == 2
    assert encoder.taps(kit.tiles(1, 9), last=4)[-1].shape[-1] == 2
    with pytest.raises(RuntimeError, match=r"[Pp]adding"):
        encoder.taps(kit.tiles(1, 8), last=4)


def test_taps_are_stages_of_one_pass(encoder: vgg.Encoder) -> None:
    image = kit.tiles(1, 20)
    taps = encoder.taps(image)
    assert torch.equal(encoder(image), taps[-1])
    seen = image
    for index, layer in enumerate(list(encoder)):
        seen = layer(seen)
        if index in (3, 10, 17, 30, 43):
            assert torch.equal(seen, taps[(3, 10, 17, 30, 43).index(index)])
    assert len(encoder.taps(image, last=2)) == 2
    assert all(float(tap.min()) >= 0 for tap in taps)


def test_the_decoder_mirrors_and_hides_no_activation() -> None:
    decoder = vgg.decoder()
    with torch.device("meta"):
        assert vgg.Decoder()(torch.empty(2, 512, 32, 32)).shape == (2, 3, 256, 256)
    with torch.no_grad():
        decoder.state_dict()["28.bias"].fill_(-3.0)
        out = decoder(torch.rand(1, 512, 2, 2))
    assert out.shape == (1, 3, 16, 16)
    assert float(out.min()) < -1


def test_gradients_pass_through_the_encoder_and_stay_out_of_it(encoder: vgg.Encoder) -> None:
    decoder = vgg.decoder()
    encoder.taps(decoder(torch.rand(1, 512, 3, 3)))[-1].square().mean().backward()
    for value in decoder.parameters():
        assert value.grad is not None
        assert bool(value.grad.isfinite().all())
        assert bool((value.grad != 0).any())
    assert all(value.grad is None and not value.requires_grad for value in encoder.parameters())


def test_random_activations_are_of_the_size_of_the_real_ones(encoder: vgg.Encoder) -> None:
    for tap in encoder.taps(kit.tiles(2, 48)):
        assert 0.2 < float(tap.mean()) < 5


def test_the_whole_file_is_cut_to_what_is_used() -> None:
    with torch.device("meta"):
        whole = vgg.Encoder(6).state_dict()
    state = {name: torch.zeros(value.shape) for name, value in whole.items()}
    for stages, tensors in ((4, 20), (5, 28)):
        cut = vgg.truncated(state, stages)
        assert len(cut) == tensors
        assert vgg.truncated(cut, stages) is cut
    short = {name: value for name, value in state.items() if name != "51.bias"}
    with pytest.raises(layout.LayoutError, match=r"missing: 51\.bias"):
        vgg.truncated(short, 4)


def test_fingerprints_forgive_half_precision_and_nothing_else(encoder: vgg.Encoder) -> None:
    one, two = vgg.Encoder(1), vgg.Encoder(1)
    two.load_state_dict({name: value.half().float() for name, value in one.state_dict().items()})
    assert vgg.fingerprint(one) == vgg.fingerprint(two) != vgg.fingerprint(encoder)


def test_options() -> None:
    for stages in (0, 7):
        with pytest.raises(OptionError, match="stages"):
            vgg.Encoder(stages)
    with pytest.raises(OptionError, match="'auto' and 'random'"):
        vgg.encoder(1, "torchvision")


def test_real_weights_are_the_published_ones(real_weights: Path) -> None:
    """Bit for bit up to relu4_1; activations near 1 on real images, which is what 'normalised' means."""
    del real_weights
    made = vgg.encoder(5)
    held = state_of("vgg_normalised_relu4_1")
    assert all(torch.equal(made.state_dict()[name], value) for name, value in held.items())
    state = made.state_dict()
    assert torch.allclose(state["0.weight"].flatten(1), torch.tensor([[0.0, 0, 255], [0, 255, 0], [255, 0, 0]]))
    assert torch.allclose(state["0.bias"], torch.tensor([-103.939, -116.779, -123.68]), atol=1e-3)
    taps = made.taps(kit.real_tiles(4, 64))
    for tap in taps:
        assert 0.1 < float(tap.mean()) < 10
    assert all(value.dtype == torch.float32 for value in made.parameters())
