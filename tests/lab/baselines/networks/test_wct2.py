"""WCT2: wavelets that lose nothing, statistics handed over where they should be, and a decoder that learns to reconstruct."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from recolorist.errors import ImageError, OptionError
from recolorist_lab.baselines import build, vgg
from recolorist_lab.baselines.base import Baseline
from recolorist_lab.baselines.layout import LayoutError
from recolorist_lab.baselines.networks.wct2 import COLOURS, WCT2, gram, labels_of
from recolorist_lab.baselines.networks.wct2_wavelet import Haar, Skip
from recolorist_lab.baselines.whitening import wct
from tests.lab.baselines import kit
from tests.lab.baselines.shrunk import training_tiles

BOTH = pytest.mark.parametrize("unpool", ["cat5", "sum"])


def _haar_layout(prefix: str, numbers: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {
        f"{prefix}{number}.{band}.weight": (64 * 2 ** (number - 1), 1, 2, 2)
        for number in numbers
        for band in ("LL", "LH", "HL", "HH")
    }


def _conv_layout(convs: dict[str, tuple[int, int, int]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for name, (out, inside, side) in convs.items():
        found |= {f"{name}.weight": (out, inside, side, side), f"{name}.bias": (out,)}
    return found


ENCODER = _conv_layout(
    {
        "conv0": (3, 3, 1),
        "conv1_1": (64, 3, 3),
        "conv1_2": (64, 64, 3),
        "conv2_1": (128, 64, 3),
        "conv2_2": (128, 128, 3),
        "conv3_1": (256, 128, 3),
        "conv3_2": (256, 256, 3),
        "conv3_3": (256, 256, 3),
        "conv3_4": (256, 256, 3),
        "conv4_1": (512, 256, 3),
    }
) | _haar_layout("pool", (1, 2, 3))
_DECODER = {
    "conv4_1": (256, 512, 3),
    "conv3_3": (256, 256, 3),
    "conv3_2": (256, 256, 3),
    "conv3_1": (128, 256, 3),
    "conv2_1": (64, 128, 3),
    "conv1_1": (3, 64, 3),
}
DECODERS = {
    "cat5": _conv_layout({**_DECODER, "conv3_4_2": (256, 1280, 3), "conv2_2_2": (128, 640, 3), "conv1_2_2": (64, 320, 3)}),
    "sum": _conv_layout({**_DECODER, "conv3_4": (256, 256, 3), "conv2_2": (128, 128, 3), "conv1_2": (64, 64, 3)}),
}
DECODERS = {unpool: layout | _haar_layout("recon_block", (3, 2, 1)) for unpool, layout in DECODERS.items()}
COUNTS = {"cat5": 6_601_795, "sum": 3_505_219}


def model_of(**options: Any) -> WCT2:
    """With random weights through which a signal passes; as torch draws them, a decoder is all but constant and hides faults."""
    made = build("wct2", encoder="random", **options)
    assert isinstance(made, WCT2)
    generator = torch.Generator().manual_seed(5)
    for conv in made.decoder.children():
        if isinstance(conv, nn.Conv2d):
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu", generator=generator)
    nn.init.normal_(made.decoder.get_parameter("conv1_1.weight"), 0.0, 1e-2, generator=generator)
    nn.init.constant_(made.decoder.get_parameter("conv1_1.bias"), 0.5)
    return made.eval().requires_grad_(requires_grad=False)


@pytest.fixture(scope="module")
def model() -> WCT2:
    return model_of()


# ---- counts and layout ------------------------------------------------------------------------------------------------------


@BOTH
def test_counts_and_layout(unpool: str) -> None:
    with torch.device("meta"):
        made = build("wct2", encoder="random", unpool=unpool)
    kit.check_counts(made, {"encoder": 3_505_740, "decoder": COUNTS[unpool]})
    for part, wanted, tensors in (("encoder", ENCODER, 32), ("decoder", DECODERS[unpool], 30)):
        assert {name: tuple(value.shape) for name, value in made.to_official(part).items()} == wanted
        assert len(wanted) == tensors
        assert sum(value.numel() for value in made.parts()[part].buffers()) == 7_168, "the wavelets are kept, and not trained"


def test_the_encoder_is_the_shared_one(model: WCT2) -> None:
    """VGG's features up to the first pooling; from there twice the mean goes on."""
    plain = vgg.Encoder(4)
    numbers = {"conv0": 0, "conv1_1": 2, "conv1_2": 5, "conv2_1": 9, "conv2_2": 12, "conv3_1": 16, "conv3_2": 19, "conv3_3": 22}
    numbers |= {"conv3_4": 25, "conv4_1": 29}
    ours = model.encoder.state_dict()
    plain.load_state_dict({f"{n}.{end}": ours[f"{name}.{end}"] for name, n in numbers.items() for end in ("weight", "bias")})
    image = kit.tiles(1, 32)
    found: list[Tensor] = []
    encoded = model.encoder(image, found)
    torch.testing.assert_close(found[0], plain.taps(image)[0])
    before = nn.Sequential(*list(plain)[4:7])(found[0])
    assert encoded.skips[0].original is not None
    torch.testing.assert_close(encoded.skips[0].original, before)
    torch.testing.assert_close(found[1], nn.Sequential(*list(plain)[8:11])(2 * nn.functional.avg_pool2d(before, 2)))


@BOTH
def test_official_files(unpool: str, tmp_path: Path) -> None:
    def fresh(seed: int) -> Baseline:
        return build("wct2", encoder="random", unpool=unpool, seed=seed)

    kit.check_official(fresh, tmp_path)
    other = build("wct2", encoder="random", unpool="sum" if unpool == "cat5" else "cat5")
    with pytest.raises(LayoutError, match="conv3_4"):
        other.load_official({"decoder": tmp_path / "wave_decoder_cat5_l4.pth"})


def test_the_encoders_file_may_be_left_out_and_other_wavelets_are_refused(tmp_path: Path) -> None:
    donor, heir = (build("wct2", encoder="random", seed=seed) for seed in (1, 2))
    torch.save(donor.to_official("decoder"), tmp_path / "decoder.pth")
    before = kit.snapshot(heir.parts()["encoder"])
    heir.load_official({"decoder": tmp_path / "decoder.pth"})
    assert not kit.changed(heir.parts()["encoder"], before)
    assert not kit.changed(heir.parts()["decoder"], donor.parts()["decoder"].state_dict())
    bent = {name: value.clone() for name, value in donor.to_official("decoder").items()}
    bent["recon_block2.LH.weight"].neg_()
    torch.save(bent, tmp_path / "bent.pth")
    with pytest.raises(LayoutError, match=r"recon_block2\.LH\.weight"):
        heir.load_official({"decoder": tmp_path / "bent.pth"})


# ---- wavelets ---------------------------------------------------------------------------------------------------------------


def test_cat5_hands_over_five_maps_in_order(model: WCT2) -> None:
    """LL, LH, HL, HH and the map before pooling, joined, are what the merging convolution sees."""
    encoded = model.encoder(kit.tiles(1, 16))
    x = torch.rand(1, 128, 8, 8)
    before, after = (model.decoder.get_submodule(name) for name in ("conv2_1", "conv1_2_2"))
    pad = nn.ReflectionPad2d(1)
    bands = (before(pad(x)).relu(), *encoded.skips[0].high)
    original = encoded.skips[0].original
    assert original is not None
    joined = torch.cat([*Haar(64).unpool(bands), original], 1)
    torch.testing.assert_close(model.decoder.decode(x, 2, encoded.skips), after(pad(joined)).relu(), atol=1e-4, rtol=1e-4)


# ---- transfer ---------------------------------------------------------------------------------------------------------------


@BOTH
def test_its_own_style_and_alpha_zero_are_plain_reconstruction(unpool: str) -> None:
    made, content, style = model_of(unpool=unpool), kit.tiles(1, (16, 24)), kit.tiles(1, 24, seed=1)
    plain = made.reconstruct(content)
    assert float(plain.std()) > 0.01
    torch.testing.assert_close(made.transfer(content, content), plain, atol=1e-4, rtol=1e-4)
    assert float((made.transfer(content, style) - plain).abs().max()) > 0.01
    still = model_of(unpool=unpool, alpha=0.0)
    torch.testing.assert_close(still.transfer(content, style), plain, atol=1e-6, rtol=1e-6)


ENCODED = [f"encoder{level}" for level in (1, 2, 3, 4)]
SKIPPED = [f"pool{number}.{band}" for number in (1, 2, 3) for band in ("LH", "HL", "HH")]


@pytest.mark.parametrize(
    ("sites", "visited"),
    [
        ("encoder+skip+decoder", [*ENCODED, *SKIPPED, "decoder3", "decoder2", "decoder1"]),
        ("encoder", ENCODED),
        ("skip", SKIPPED),
        ("decoder", ["decoder4", "decoder3", "decoder2", "decoder1"]),
        ("decoder+encoder", [*ENCODED, "decoder3", "decoder2", "decoder1"]),
    ],
)
def test_the_places_visited(sites: str, visited: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    made, seen, plain = model_of(transfer_at=sites), [], WCT2.match

    def watch(self: WCT2, site: str, content: Tensor, style: Tensor, labels: object) -> Tensor:
        seen.append(site)
        assert content.shape[:2] == style.shape[:2]
        return plain(self, site, content, style, labels)  # type: ignore[arg-type]

    monkeypatch.setattr(WCT2, "match", watch)
    made.transfer(kit.tiles(1, 16), kit.tiles(1, 24, seed=1))
    assert seen == visited


def test_encoding_goes_on_from_what_was_matched() -> None:
    """Encoder only, sum: the levels by hand."""
    made, content, style = model_of(unpool="sum", transfer_at="encoder"), kit.tiles(1, 16), kit.tiles(1, 24, seed=1)
    skips: list[Skip] = []
    look, x = made.encoder(style), content
    for level in (1, 2, 3, 4):
        x = wct(made.encoder.encode(x, level, skips), look.levels[level - 1], ridge=1.0, clamp=True)
    for level in (4, 3, 2, 1):
        x = made.decoder.decode(x, level, tuple(skips))
    torch.testing.assert_close(made.transfer(content, style), x)


def test_skips_are_matched_band_by_band() -> None:
    """Skip only: each high band by hand, the map before pooling as it is."""
    made, content, style = model_of(transfer_at="skip"), kit.tiles(1, 16), kit.tiles(1, 24, seed=1)
    mine, theirs = made.encoder(content), made.encoder(style)
    skips = []
    for skip, look in zip(mine.skips, theirs.skips, strict=True):
        lh, hl, hh = (wct(a, b, ridge=1.0, clamp=True) for a, b in zip(skip.high, look.high, strict=True))
        skips.append(Skip((lh, hl, hh), skip.original))
    wanted = made.decoder(mine._replace(skips=tuple(skips)))
    torch.testing.assert_close(made.transfer(content, style), wanted)
    assert not torch.allclose(wanted, made.reconstruct(content), atol=1e-3)


def test_decoding_is_matched_to_the_styles_own_decoding() -> None:
    """Decoder only: what enters level 1 has the statistics of the style's."""
    made = model_of(transfer_at="decoder", ridge=0.0, clamp=False)
    content, style, seen = kit.tiles(1, 32), kit.tiles(1, 32, seed=1), []
    plain = made.decoder.decode

    def watch(x: Tensor, level: int, skips: object) -> Tensor:
        seen.append((level, x))
        return plain(x, level, skips)  # type: ignore[arg-type]

    made.decoder.decode = watch  # type: ignore[method-assign]
    made.transfer(content, style)
    assert [level for level, _ in seen] == [4, 3, 2, 4, 3, 2, 1]
    torch.testing.assert_close(seen[5][1].mean((2, 3)), seen[2][1].mean((2, 3)), atol=1e-3, rtol=1e-3)


def test_clamp_and_ridge_are_switches(model: WCT2) -> None:
    content, style = kit.tiles(1, 16), kit.tiles(1, 16, seed=1)
    plain = model.transfer(content, style)
    assert not torch.allclose(plain, model_of(clamp=False).transfer(content, style), atol=1e-4)
    assert not torch.allclose(plain, model_of(ridge=0.0).transfer(content, style), atol=1e-4)


def test_images(model: WCT2) -> None:
    kit.check_images(model, sizes=((17, 23), (5, 16)), style_size=(24, 20))
    kit.check_batch_is_loop(model, 16, tolerance=1e-4)
    kit.check_follows(model, 16)


def test_flat_and_grey_images_stay_finite(model: WCT2) -> None:
    grey = kit.tiles(1, 16)[:, :1].expand(-1, 3, -1, -1)
    exact = model_of(ridge=0.0, clamp=False)
    assert model.stylise(grey, torch.zeros(1, 3, 16, 16)).isfinite().all()
    assert exact.stylise(torch.ones(1, 3, 16, 16), grey).isfinite().all()


# ---- regions ----------------------------------------------------------------------------------------------------------------


def test_one_region_is_no_region(model: WCT2) -> None:
    content, style = kit.tiles(2, (20, 24)), kit.tiles(2, 24, seed=1)
    labels = torch.full((2, 20, 24), 3), torch.full((2, 24, 24), 3)
    torch.testing.assert_close(
        model.stylise_regions(content, style, *labels), model.stylise(content, style), atol=1e-5, rtol=1e-5
    )


def test_regions_take_from_their_own(model: WCT2) -> None:
    """Swapping the style's labels swaps where colours go; labels without a partner leave the content's features alone."""
    content, style = kit.tiles(1, 32), torch.cat([kit.tiles(1, (32, 16), seed=1), kit.tiles(1, (32, 16), seed=2)], 3)
    halves = torch.zeros(1, 32, 32, dtype=torch.long)
    halves[..., 16:] = 1
    straight = model.stylise_regions(content, style, halves, halves)
    assert float((straight - model.stylise_regions(content, style, halves, 1 - halves)).abs().max()) > 0.01
    lonely = model.stylise_regions(content, style, halves, halves + 5)
    torch.testing.assert_close(lonely, model.reconstruct(content).clamp(0, 1), atol=1e-5, rtol=1e-5)


def test_labels_are_checked(model: WCT2) -> None:
    image = kit.tiles(1, 16)
    good = torch.zeros(1, 16, 16, dtype=torch.long)
    for bad in (good.float(), good[:, :8], good[0]):
        with pytest.raises(ImageError, match="accepted"):
            model.stylise_regions(image, image, bad, good)


def test_labels_of_colours() -> None:
    rng = np.random.default_rng(0)
    palette = np.array(COLOURS, dtype=int)
    wanted = rng.integers(0, 9, (2, 6, 7))
    noisy = np.clip(palette[wanted] + rng.integers(-15, 16, (2, 6, 7, 3)), 0, 255)
    image = torch.from_numpy(noisy).permute(0, 3, 1, 2).float() / 255
    np.testing.assert_array_equal(labels_of(image), wanted)


# ---- training ---------------------------------------------------------------------------------------------------------------


def trainable(unpool: str) -> WCT2:
    made = model_of(unpool=unpool)
    made.decoder.requires_grad_(requires_grad=True)
    return made


@BOTH
def test_gradients_reach_the_decoder_and_nothing_else(unpool: str) -> None:
    image = kit.tiles(2, 16)
    kit.check_gradients(trainable(unpool), image, image)


def test_the_loss_is_the_sheets() -> None:
    made, image = trainable("cat5"), kit.tiles(2, 16)
    (step,) = made.training_step(image, image, 0)
    out = made.reconstruct(image)
    found: list[Tensor] = []
    wanted: list[Tensor] = []
    made.encoder(out, found)
    made.encoder(image, wanted)
    assert [tap.shape[1] for tap in found] == [64, 128, 256, 512]
    expected = 1000 * (out - image).square().mean()
    for x, y in zip(found, wanted, strict=True):
        expected = expected + 10 * (gram(x) - gram(y)).square().mean()
    torch.testing.assert_close(step.loss, expected)
    one = gram(found[1][1:])
    flat = found[1][1].flatten(1)
    torch.testing.assert_close(one[0], flat @ flat.T / flat.numel())


def test_recipe() -> None:
    recipe = WCT2.defaults
    assert (recipe.batch, recipe.iterations, recipe.crop_size, recipe.paired, WCT2.needs_training) == (
        8,
        60_000,
        256,
        False,
        False,
    )
    made = build("wct2", encoder="random").configure_optimiser(recipe)["main"]
    assert made.rate(0) == made.rate(59_999) == 1e-3


@pytest.mark.parametrize("encoder", ["random", "auto"])
def test_it_learns_to_reconstruct(encoder: str, request: pytest.FixtureRequest) -> None:
    if encoder == "auto":
        request.getfixturevalue("real_weights")
    tiles = training_tiles(2, 16)
    made = build("wct2", encoder=encoder, unpool="sum")
    kit.check_learns(made, tiles, tiles, key="reconstruction", to=0.5, steps=30 if encoder == "auto" else 12)


def test_options_are_checked() -> None:
    builds: list[Callable[[], Baseline]] = [
        lambda: build("wct2", encoder="random", unpool="max"),
        lambda: build("wct2", encoder="random", transfer_at="encoder+middle"),
        lambda: build("wct2", encoder="random", transfer_at=""),
        lambda: build("wct2", encoder="random", alpha=-0.1),
        lambda: build("wct2", encoder="random", ridge=-1.0),
    ]
    for bad in builds:
        with pytest.raises(OptionError, match=r"(?i)accepted"):
            bad()
