"""The wavelets and the networks around them: nothing is lost, and every map has the size it should."""

from __future__ import annotations

import pytest
import torch

from recolorist_lab.baselines.networks.wct2_wavelet import Haar, WaveDecoder, WaveEncoder


def test_unpooling_undoes_pooling() -> None:
    haar, x = Haar(6), torch.randn(2, 6, 10, 14, generator=torch.Generator().manual_seed(0))
    bands = haar(x)
    assert all(band.shape == (2, 6, 5, 7) for band in bands)
    assert float((torch.stack(list(haar.unpool(bands))).sum(0) - x).abs().max()) < 1e-5
    energy = sum(float(band.square().sum()) for band in bands)
    assert energy == pytest.approx(float(x.square().sum()), rel=1e-5)


def test_what_each_band_sees() -> None:
    haar = Haar(1)
    flat = [float(band.abs().max()) for band in haar(torch.full((1, 1, 4, 4), 3.0))]
    assert flat == [6.0, 0.0, 0.0, 0.0]
    ramp = torch.arange(6.0).expand(1, 1, 6, 6)
    across = [bool(band.any()) for band in haar(ramp)]
    down = [bool(band.any()) for band in haar(ramp.mT)]
    assert across == [True, True, False, False]
    assert down == [True, False, True, False]
    assert float(haar(ramp)[1].min()) == 1.0, "brighter to the right is positive"
    assert float(haar(ramp.mT)[2].min()) == 1.0, "brighter below is positive"


@pytest.mark.parametrize("unpool", ["cat5", "sum"])
def test_shapes(unpool: str) -> None:
    with torch.device("meta"):
        encoder, decoder = WaveEncoder(unpool), WaveDecoder(unpool)
        for height, width in ((256, 256), (512, 512), (48, 80)):
            encoded = encoder(torch.zeros(1, 3, height, width))
            widths, cut = (64, 128, 256, 512), (1, 2, 4, 8) if unpool == "cat5" else (2, 4, 8, 8)
            wanted = [(1, w, height // c, width // c) for w, c in zip(widths, cut, strict=True)]
            assert [tuple(level.shape) for level in encoded.levels] == wanted
            assert [tuple(skip.high[0].shape) for skip in encoded.skips] == [
                (1, 64 << n, height >> n + 1, width >> n + 1) for n in range(3)
            ]
            assert decoder(encoded).shape == (1, 3, height, width)
