"""LPIPS: against torchmetrics' own version of it, and what a distance of pictures must do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from recolorist_lab.assets import weights
from recolorist_lab.assets.weights import WeightsError
from recolorist_lab.metrics import lpips, perceptual
from tests.lab.metrics.pictures import noisy, scene, unit

SIZE = (64, 80)
A = unit(scene(1, SIZE), scene(2, SIZE), scene(3, SIZE)).float()
B = unit(noisy(scene(1, SIZE), 20), scene(4, SIZE), noisy(scene(3, SIZE), 60)).float()


@pytest.fixture
def _no_network() -> Iterator[None]:
    perceptual._model.cache_clear()
    yield
    perceptual._model.cache_clear()


def theirs(net: Literal["alex", "vgg"], state: dict[str, torch.Tensor]) -> Any:
    """The copy that torchmetrics keeps, with linear layers of its own, on the same backbone."""
    import warnings

    from torchmetrics.functional.image.lpips import _LPIPS

    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = _LPIPS(net=net, pnet_rand=True)
    model.net.load_state_dict({key: state[f"features.{key.partition('.')[2]}"] for key in model.net.state_dict()})
    return model.eval()


@pytest.mark.usefixtures("real_weights")
class TestAlex:
    def test_it_is_that_of_torchmetrics(self) -> None:
        with torch.inference_mode():
            expected = theirs("alex", weights.state_of("alexnet_features"))(A * 2 - 1, B * 2 - 1).reshape(-1)
        assert lpips(A, B) == pytest.approx(expected.numpy(), abs=1e-6)
        assert lpips(A, B).shape == (3,)

    def test_an_image_is_at_no_distance_from_itself(self) -> None:
        assert lpips(A, A).tolist() == [0.0, 0.0, 0.0]

    def test_it_is_symmetric(self) -> None:
        assert lpips(A, B) == pytest.approx(lpips(B, A).numpy(), abs=1e-7)

    def test_batches_do_not_matter(self) -> None:
        assert lpips(A, B) == pytest.approx(
            torch.cat([lpips(x[None], y[None]) for x, y in zip(A, B, strict=True)]).numpy(), abs=1e-6
        )

    def test_it_grows_with_noise(self) -> None:
        image = scene(1, SIZE)
        values = [float(lpips(unit(image), unit(noisy(image, level)))) for level in (0, 5, 20, 60, 120)]
        assert values == sorted(set(values))

    def test_it_grows_with_blur(self) -> None:
        image = unit(noisy(scene(1, SIZE), 25))
        mean = torch.nn.functional.avg_pool2d
        values = [float(lpips(image, mean(image, k, 1, k // 2, count_include_pad=False))) for k in (1, 3, 5, 9)]
        assert values == sorted(set(values))

    def test_without_the_shift_it_is_another_number(self) -> None:
        with torch.inference_mode():
            expected = theirs("alex", weights.state_of("alexnet_features"))(A, B).reshape(-1)
        assert lpips(A, B, shift=False) == pytest.approx(expected.numpy(), abs=1e-6)
        assert bool(((lpips(A, B, shift=False) - lpips(A, B)).abs() > 1e-3).all())

    def test_the_linear_layers_are_as_published(self) -> None:
        model = perceptual._model("alex", "cpu")
        layers = [layer.model[-1].weight for layer in model.lins]
        assert [layer.numel() for layer in layers] == [64, 192, 384, 256, 256]
        assert all(bool((layer >= 0).all()) for layer in layers)

    def test_the_smallest_image_is_measured(self) -> None:
        small = A[:, :, :31, :31]
        assert bool((lpips(small, B[:, :, :31, :31]) > 0).all())

    @pytest.mark.usefixtures("_no_network")
    def test_building_is_quiet_and_draws_nothing(
        self, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
    ) -> None:
        torch.manual_seed(3)
        before = torch.get_rng_state()
        perceptual._model("alex", "cpu")
        assert torch.equal(torch.get_rng_state(), before)
        assert capsys.readouterr() == ("", "")
        assert len(recwarn) == 0


@pytest.mark.usefixtures("_no_network")
class TestVgg:
    def test_it_is_that_of_torchmetrics(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """On a drawn backbone, as the published one may not be at hand; the smallest image that it takes."""
        from torchvision.models.vgg import cfgs, make_layers

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            layers = make_layers(cfgs["D"], batch_norm=False)
        state = {f"features.{name}": value for name, value in layers.state_dict().items()}
        monkeypatch.setattr(weights, "state_of", lambda name: {"vgg16": state}[name])
        a, b = A[:1, :, :16, :16], B[:1, :, :16, :16]
        with torch.inference_mode():
            expected = float(theirs("vgg", state)(a * 2 - 1, b * 2 - 1))
        assert float(lpips(a, b, net="vgg")) == pytest.approx(expected, rel=1e-5)
        assert expected > 0


@pytest.mark.usefixtures("_no_network")
@pytest.mark.parametrize("net", perceptual.BACKBONES)
def test_without_weights_it_raises(net: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLORIST_WEIGHTS", str(tmp_path))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(WeightsError, match="is needed and was not found"):
        lpips(A, B, net=net)
