"""Features: the reference values that others publish, the networks of others, and nothing but them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from recolorist_lab.assets import weights
from recolorist_lab.assets.weights import WeightsError
from recolorist_lab.metrics import features, fid, inception
from recolorist_lab.metrics.kernel import kid_of_subsets
from tests.full import IS_FULL
from tests.lab.metrics.pictures import noisy, scene, unit, whole

# Folding the normalisation into the convolutions reorders sums of float32; features are of the order of 0.2, the largest about 5.
CLOSE = 1e-4


@pytest.fixture
def _no_network() -> Iterator[None]:
    """Networks built in this test are this test's."""
    inception._network.cache_clear()
    yield
    inception._network.cache_clear()


@pytest.mark.usefixtures("real_weights")
def test_the_values_that_torchmetrics_documents() -> None:
    """FID of 64 features and KID of 2,048, with `torch.manual_seed(42)` before its examples."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(42)
        inception._classic_network()  # there the network is built after seeding, and its layers draw first
        nn.Linear(2048, 1008)
        first = torch.randint(0, 200, (100, 3, 299, 299), dtype=torch.uint8)
        second = torch.randint(100, 255, (100, 3, 299, 299), dtype=torch.uint8)
        chosen = np.zeros((2, 100, 100))
        for row in range(100):
            for side in range(2):
                chosen[side, row, torch.randperm(100)[:50].numpy()] = 1
    shallow = [inception.extract(one, "classic", depth=64) for one in (first, second)]
    assert round(fid(*shallow), 4) == 12.6388
    if not IS_FULL:
        return  # the deep features take half a minute; TestClassic compares them with those of torch-fidelity
    deep = [inception.extract(one, "classic").astype(np.float64) for one in (first, second)]
    values = kid_of_subsets(*deep, *chosen)
    assert (round(values.mean(), 4), round(values.std(), 4)) == (0.0312, 0.0025)


class TestClassic:
    @pytest.mark.parametrize("size", [(32, 32), (37, 53), (224, 224), (299, 299), (300, 298), (640, 411), (1, 2)])
    def test_resizing_is_that_of_torch_fidelity_to_the_bit(self, size: tuple[int, int]) -> None:
        from torch_fidelity.interpolate_compat_tensorflow import interpolate_bilinear_2d_like_tensorflow1x as theirs

        images = whole(scene(1, size)).float()
        expected = (theirs(images, size=(299, 299), align_corners=False) - 128) / 128
        assert torch.equal(inception._classic_input(images), expected)

    @pytest.mark.usefixtures("real_weights")
    def test_the_network_is_that_of_torch_fidelity(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from torch_fidelity import feature_extractor_inceptionv3 as theirs

        rest = {"fc.weight": torch.zeros(1008, 2048), "fc.bias": torch.zeros(1008)}
        monkeypatch.setattr(theirs, "load_state_dict_from_url", lambda *_, **__: weights.state_of("fid_inception") | rest)
        network = theirs.FeatureExtractorInceptionV3("inception-v3-compat", ["64", "2048"])
        images = whole(scene(1, (60, 50)), scene(2, (60, 50)))
        shallow, deep = network(images)
        assert inception.extract(images, "classic", depth=64) == pytest.approx(shallow.numpy(), abs=CLOSE)
        assert inception.extract(images, "classic") == pytest.approx(deep.numpy(), abs=CLOSE)
        assert features(unit(scene(1, (60, 50)), scene(2, (60, 50)))) == pytest.approx(deep.numpy(), abs=CLOSE)

    @pytest.mark.usefixtures("real_weights")
    def test_batches_do_not_matter(self) -> None:
        images = unit(*(scene(seed) for seed in range(3)))
        together = features(images)
        assert together.shape == (3, 2048)
        assert together.dtype == np.float64
        assert together == pytest.approx(np.concatenate([features(one[None]) for one in images]), abs=CLOSE)

    @pytest.mark.usefixtures("real_weights")
    def test_fid_grows_with_noise(self) -> None:
        scenes = [scene(seed) for seed in range(4)]
        sets = [features(unit(*(noisy(one, level) for one in scenes))) for level in (0, 10, 60)]
        values = [fid(sets[0], one) for one in sets]
        assert abs(values[0]) < 1e-6
        assert values == sorted(values)


@pytest.mark.usefixtures("_no_network")
class TestBuilding:
    @pytest.mark.usefixtures("real_weights")
    def test_it_is_quiet_and_draws_nothing(self, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder) -> None:
        torch.manual_seed(3)
        before = torch.get_rng_state()
        inception._network("classic", "cpu")
        assert torch.equal(torch.get_rng_state(), before)
        assert capsys.readouterr() == ("", "")
        assert len(recwarn) == 0

    @pytest.mark.parametrize("backend", inception.BACKENDS)
    def test_without_weights_it_raises(self, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECOLORIST_WEIGHTS", str(tmp_path))
        monkeypatch.setenv("TORCH_HOME", str(tmp_path))
        with pytest.raises(WeightsError, match="is needed and was not found"):
            features(unit(scene(1)), backend)

    def test_weights_of_another_network_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(weights, "state_of", lambda *_: {"Conv2d_1a_3x3.conv.weight": torch.zeros(32, 3, 3, 3)})
        with pytest.raises(RuntimeError, match="Missing key"):
            features(unit(scene(1)))

    @pytest.mark.usefixtures("real_weights")
    def test_a_network_that_yields_no_numbers_raises(self, monkeypatch: pytest.MonkeyPatch) -> None:
        state = weights.state_of("fid_inception")
        state["Mixed_7c.branch1x1.bn.bias"] = torch.full((320,), float("nan"))
        monkeypatch.setattr(weights, "state_of", lambda *_: state)
        with pytest.raises(ValueError, match="feature sum of pair 0 is nan; no value is reported"):
            features(unit(scene(1)))


@pytest.mark.usefixtures("_no_network")
class TestTorchvision:
    """With drawn weights, as the published ones may not be at hand: the arithmetic is the same."""

    @pytest.fixture
    def model(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        from torchvision.models import inception_v3

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = inception_v3(weights=None, init_weights=False, transform_input=True).eval()
            for name, buffer in model.named_buffers():
                if name.endswith("running_var"):
                    buffer.uniform_(0.01, 0.1)  # otherwise nothing is left of the image after so many layers
        state = {name: value.clone() for name, value in model.state_dict().items()}
        monkeypatch.setattr(weights, "state_of", lambda *_: state)
        model.fc = nn.Identity()
        return model

    def test_it_is_the_twice_shifted_form(self, model: Any) -> None:
        from torchvision.transforms.v2.functional import resize

        images = unit(scene(1, (60, 50))).float()
        with torch.inference_mode():
            expected = model(resize(images, [299, 299], antialias=True) * 2 - 1).numpy()
            model.transform_input = False
            raw = model(resize(images, [299, 299], antialias=True)).numpy()
        scale = float(np.abs(expected).max())
        assert features(images, "torchvision") == pytest.approx(expected, abs=1e-4 * scale)
        assert features(images, "torchvision_raw") == pytest.approx(raw, abs=1e-4 * scale)
        assert np.abs(expected - raw).max() > 1e-2 * scale


def test_every_backend_has_a_name_of_its_own() -> None:
    assert len({inception.identity(one) for one in inception.BACKENDS}) == len(inception.BACKENDS)
