from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="timm stands on PyTorch")
from recolorist._torchvision_ops import declare_missing_ops  # noqa: E402 - before timm, which imports torchvision

declare_missing_ops()
pytest.importorskip("timm", reason="timm is an extra")

from PIL import Image  # noqa: E402 - skipped without the framework

from recolorist.timm import create_transform  # noqa: E402
from recolorist.torchvision import Colorist  # noqa: E402
from tests.frameworks import workers  # noqa: E402

COLOURS = Colorist(workers.bank(), p=1.0)
PICTURE = Image.fromarray(workers.tiles(1, seed=9)[0])


def names(compose: Any) -> list[str]:
    return [type(step).__name__ for step in compose.transforms]


@pytest.mark.filterwarnings("ignore::recolorist.augment.colorist.PreprocessingWarning")
class TestCreateTransform:
    @pytest.mark.parametrize("more", [{}, {"auto_augment": "rand-m9-mstd0.5"}, {"re_prob": 0.5}], ids=str)
    def test_one_step_more_after_the_geometry(self, more: dict[str, Any]) -> None:
        plain, changed = (create_transform(16, is_training=True, colorist=each, **more) for each in (None, COLOURS))
        place = names(changed).index("Colorist")
        assert [name for name in names(changed) if name != "Colorist"] == names(plain)
        assert "Crop" in names(changed)[0]
        assert place == names(changed).index("RandomHorizontalFlip") + 1
        assert changed(PICTURE).shape == (3, 16, 16)

    def test_separate_steps(self) -> None:
        first, second, last = create_transform(16, is_training=True, separate=True, colorist=COLOURS)
        assert names(first)[-1] == "Colorist"
        assert last(second(first(PICTURE))).shape == (3, 16, 16)

    @pytest.mark.parametrize("options", [{}, {"is_training": True, "no_aug": True}], ids=str)
    def test_evaluation_is_untouched(self, options: dict[str, Any]) -> None:
        assert "Colorist" not in names(create_transform(16, colorist=COLOURS, **options))

    def test_the_loader_gives_bytes_to_the_prefetcher(self) -> None:
        transform = create_transform(16, is_training=True, use_prefetcher=True, colorist=COLOURS)
        assert transform(PICTURE).dtype in (torch.uint8, "uint8")

    def test_unknown_options_are_timms_to_refuse(self) -> None:
        with pytest.raises(TypeError, match="colour"):
            create_transform(16, is_training=True, colour=COLOURS, colorist=COLOURS)
