"""Lightning: a real trainer sets the epochs, with and without workers, and after a resume."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="Lightning stands on PyTorch")
from recolorist._torchvision_ops import declare_missing_ops  # noqa: E402

declare_missing_ops()
L = pytest.importorskip("lightning.pytorch", reason="lightning is an extra")

from torch.utils.data import DataLoader, Subset  # noqa: E402

from recolorist import Colorist, StyleBank  # noqa: E402
from recolorist.errors import OptionError  # noqa: E402
from recolorist.lightning import ColoristDataMixin, ColoristEpochs, find_colorists  # noqa: E402
from recolorist.torch import ColoristDataset  # noqa: E402
from tests.frameworks import workers  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    *workers.LOADER_WARNINGS,
    "ignore:.*does not have many workers",
    "ignore:.*log_every_n_steps",
    "ignore:.*LeafSpec.*:FutureWarning",  # Lightning beside a newer torch
)

TILES = workers.tiles(6, seed=1)
SAMPLES = [(tile, i) for i, tile in enumerate(TILES)]
BANK = workers.bank()


class Watcher(L.LightningModule):  # type: ignore[name-defined,misc,unused-ignore]
    """Notes the images of every epoch, and learns nothing worth mentioning."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.seen: dict[int, dict[int, bytes]] = {}

    def training_step(self, batch: Any, _: int) -> Any:
        for image, number in zip(*batch, strict=True):
            self.seen.setdefault(self.current_epoch, {})[int(number)] = np.asarray(image).tobytes()
        return self.weight * batch[0].float().mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.0)


class Data(ColoristDataMixin, L.LightningDataModule):  # type: ignore[name-defined,misc,unused-ignore]
    def __init__(self, **loading: Any) -> None:
        super().__init__()
        self.loading = loading

    def train_dataloader(self) -> Any:
        data = self.recolour_training(SAMPLES, bank_options={"label": 1}, p=1.0, seed=3)
        return DataLoader(data, batch_size=2, **self.loading)


def trainer(epochs: int, *callbacks: Any, **options: Any) -> Any:
    silent = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    return L.Trainer(max_epochs=epochs, accelerator="cpu", callbacks=list(callbacks), **silent | options)


def expected(epoch: int, bank: StyleBank) -> dict[int, bytes]:
    core = Colorist(bank, p=1.0, seed=3)
    return {i: core(tile, index=i, epoch=epoch).tobytes() for i, tile in enumerate(TILES)}


class TestMixin:
    @pytest.mark.parametrize("loading", [{}, {"num_workers": 1, "persistent_workers": True}], ids=str)
    def test_nothing_to_remember(self, loading: dict[str, Any]) -> None:
        model, data = Watcher(), Data(**loading)
        trainer(2).fit(model, datamodule=data)
        assert data.style_bank is not None
        assert data.style_bank.split == "train"
        assert len(data.style_bank) == len(TILES)
        assert model.seen == {epoch: expected(epoch, data.style_bank) for epoch in range(2)}

    def test_a_resume_goes_on(self, tmp_path: Path) -> None:
        first = trainer(1)
        first.fit(Watcher(), datamodule=Data())
        first.save_checkpoint(tmp_path / "last.ckpt")
        model, data = Watcher(), Data(num_workers=1)
        trainer(2).fit(model, datamodule=data, ckpt_path=tmp_path / "last.ckpt")
        assert data.style_bank is not None
        assert model.seen == {1: expected(1, data.style_bank)}

    def test_a_bank_of_ones_own_and_the_seed_of_everything(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PL_GLOBAL_SEED", "11")
        data = Data()
        made = data.recolour_training(SAMPLES, bank=BANK)
        assert made.colorist.seed == 11
        assert data.style_bank is BANK
        assert data.recolour_training(SAMPLES, seed=2).colorist.seed == 2


class TestCallback:
    def test_loaders_are_searched(self) -> None:
        data = ColoristDataset(SAMPLES, BANK, p=1.0, seed=3)
        model = Watcher()
        trainer(2, ColoristEpochs()).fit(model, DataLoader(Subset(data, range(6)), batch_size=3))
        assert model.seen == {epoch: expected(epoch, BANK) for epoch in range(2)}

    def test_named_sources_are_set_before_workers_start(self, tmp_path: Path) -> None:
        data = ColoristDataset(SAMPLES, BANK, p=1.0, seed=3)
        first = trainer(1, ColoristEpochs(data))
        first.fit(Watcher(), DataLoader(data, batch_size=2))
        first.save_checkpoint(tmp_path / "last.ckpt")
        again, model = ColoristDataset(SAMPLES, BANK, p=1.0, seed=3), Watcher()
        loader: Any = DataLoader(again, batch_size=2, num_workers=1)
        trainer(2, ColoristEpochs(again)).fit(model, loader, ckpt_path=tmp_path / "last.ckpt")
        assert model.seen == {1: expected(1, BANK)}

    def test_a_source_without_a_colorist_is_refused(self) -> None:
        with pytest.raises(OptionError, match="no Colorist was found in list"):
            ColoristEpochs([1, 2])

    def test_what_is_searched(self) -> None:
        colorist = Colorist(BANK, seed=1)
        loop: list[Any] = [colorist]
        loop.append(loop)
        assert find_colorists(DataLoader(SAMPLES, collate_fn=Holder(colorist))) == [colorist]  # type: ignore[arg-type]
        assert find_colorists({"a": loop, "b": Colorist}) == [colorist]
        assert find_colorists(SAMPLES) == []


class Holder:
    """A transform of the user's own."""

    def __init__(self, colorist: Colorist) -> None:
        self.steps = [len, {"colours": colorist}]

    def __call__(self, samples: Any) -> Any:
        return samples
