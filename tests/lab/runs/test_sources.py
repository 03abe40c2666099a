"""The modules behind a cell: all that it loads while it runs, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from recolorist.errors import OptionError
from recolorist_lab.augmentations.table import NAMES
from recolorist_lab.baselines.registry import METHODS
from recolorist_lab.data.own import IndexOptions, index_folder
from recolorist_lab.runs.kinds import KINDS
from recolorist_lab.runs.sources import HARMLESS, ON_REQUEST, sources
from tests.full import IS_FULL
from tests.lab.runs.loaded import computes, loaded, loaded_by_import

DATA = "synthetic:hospitals=3,tiles=8,size=64"
SMALL: dict[str, dict[str, Any]] = {
    "classify": {"dataset": DATA, "seed": 1, "model": "test_resnet", "size": 32, "epochs": 1, "batch": 4, "workers": 0}
    | {"validation": "train", "accelerator": "cpu", "threads": 1},
    "properties": {"dataset": DATA, "pairs": 2, "size": 32},
    "rehearsal": {"index": 0},
    "runtime": {"size": 64, "iterations": 5, "warmups": 0, "seconds": 0.1, "threads": 1},
    "spaces": {"dataset": DATA, "pairs": 2, "size": 32, "metrics": ["ssim"], "threads": 1},
    "transfer": {"dataset": DATA, "pairs": 2, "size": 32, "metrics": ["ssim"], "threads": 1},
    "transfer_check": {"space": "rgb", "method": "mean_std", "pairs": 1, "size": 32},
    "transfer_cost": {"dataset": DATA, "pairs": 2, "size": 32, "rounds": 3, "spaces": ["rgb"], "methods": ["mean_std"]},
    "transfer_train": {"dataset": DATA, "iterations": 1, "batch": 1, "load_size": 32, "crop_size": 32, "encoder": "random"}
    | {"threads": 1},
}
#: Every kind once.
CASES: list[tuple[str, dict[str, Any]]] = [
    ("classify", {"augmentation": "colorist", "harmonise": True}),
    ("properties", {"mask": "tissue"}),
    ("rehearsal", {}),
    ("runtime", {"method": "adain"}),
    ("spaces", {}),
    ("transfer", {"method": "colorist"}),
    ("transfer_check", {}),
    ("transfer_cost", {}),
    ("transfer_train", {"method": "contrimix"}),
]
#: Further choices of the kinds that have them; they take minutes and run with RECOLORIST_FULL_TESTS=1.
MORE: list[tuple[str, dict[str, Any]]] = [
    ("classify", {"augmentation": "none", "algorithm": "sd"}),
    ("classify", {"augmentation": "gray_scale+hed_jitter+targeted(corruptions='pathmnist')+histogram"}),
    ("classify", {"augmentation": "colorist(mode='batch_fraction')"}),
    ("runtime", {"method": "colorist"}),
    ("runtime", {"method": "colorist_batch"}),
]


def counted(kind: str, values: dict[str, Any]) -> set[str]:
    """The modules in the fingerprint of a cell."""
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    entry = KINDS[kind]
    modules = found(entry.run.__module__, *entry.code(entry.config(**plain)))
    return {name for name, path in modules.items() if path.name != "__init__.py" or computes(path)}


@cache
def found(*roots: str) -> dict[str, Path]:
    """The sources of a cell; many configurations ask for the same."""
    return sources(*roots)


def ran(cells: list[tuple[str, dict[str, Any]]]) -> list[set[str]]:
    """The modules that each cell loads, without those that cannot change its result."""
    every = loaded([(KINDS[kind].run.__module__, KINDS[kind].config.__name__, values) for kind, values in cells])
    return [{name for name in names - COMPILED if not _is_harmless(name)} for names in every]


def _is_harmless(name: str) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in HARMLESS)


#: Loaded by `import recolorist`, whatever is used of it.
WITH_THE_LIBRARY = set(
    subprocess.check_output(
        [
            sys.executable,
            "-c",
            "import sys, recolorist; print(*[name for name in sys.modules if name.startswith('recolorist.')])",
        ],
        text=True,
    ).split()
)
#: The compiled loops have no source; the NumPy fallback gives the same bits and stands for them.
COMPILED = {"recolorist.core.kernels._kernels"}
#: Loaded only where the loops are not compiled.
WITH_THE_LIBRARY |= {"recolorist.core.kernels.fallback_ranks"}


class TestSources:
    def test_every_kind_has_a_case(self) -> None:
        assert {kind for kind, _ in CASES} == set(KINDS) == set(SMALL)

    def test_are_the_modules_that_each_cell_loads(self) -> None:
        cells = [(kind, SMALL[kind] | choice) for kind, choice in CASES + (MORE if IS_FULL else [])]
        for (kind, values), names in zip(cells, ran(cells), strict=True):
            assert not names - counted(kind, values), (kind, values)
            assert not counted(kind, values) - names - WITH_THE_LIBRARY, (kind, values)

    def test_of_stored_images_have_the_decoders(self, tmp_path: Path) -> None:
        pixels = np.random.default_rng(0).integers(0, 256, (8, 40, 40, 3), dtype=np.uint8)
        for number, suffix in enumerate(("png", "jpg") * 4):
            path = tmp_path / f"hospital{number % 2}" / "a" / f"{number}.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels[number]).save(path)
        index_folder(tmp_path, IndexOptions("own")).write(tmp_path / "own.parquet")
        values = SMALL["properties"] | {"dataset": "own", "root": str(tmp_path)}
        (names,) = ran([("properties", values)])
        assert {"recolorist.io.images", "recolorist.io.pillow"} <= names
        assert names <= counted("properties", values)
        assert all(name.startswith("recolorist.io.") for name in counted("properties", values) - names)  # other formats

    @pytest.mark.parametrize("kind", ["spaces", "transfer_check", "transfer_cost"])
    def test_of_a_histogram_method_have_its_module(self, kind: str) -> None:
        ranks = {"recolorist.core.histograms", "recolorist.core.kernels.fallback_ranks"}
        option, method = ("methods", ["histogram"]) if kind == "transfer_cost" else ("method", "histogram")
        assert counted(kind, SMALL[kind] | {option: method}) - counted(kind, SMALL[kind]) == ranks

    def test_of_every_network_have_its_parts(self) -> None:
        modules = [method.module for method in METHODS.values()]
        for module, parts in loaded_by_import(modules, "recolorist_lab.baselines").items():
            assert set(parts) <= set(sources("recolorist_lab.studies.runtime.cell", module)), module

    @pytest.mark.parametrize("name", NAMES)
    def test_of_every_augmentation_have_its_module(self, name: str) -> None:
        with_it = counted("classify", SMALL["classify"] | {"augmentation": name})
        own = with_it - counted("classify", SMALL["classify"])
        assert any(module.startswith("recolorist_lab.augmentations.") for module in own) is (name != "none")

    @pytest.mark.parametrize("name", [*HARMLESS, *ON_REQUEST])
    def test_the_lists_name_modules_that_there_are(self, name: str) -> None:
        root = Path(__file__).parents[3].joinpath("src", *name.split("."))
        assert root.with_suffix(".py").is_file() or (root / "__init__.py").is_file()

    def test_every_reason_is_given(self) -> None:
        assert all(len(reason) > 10 for reason in (*HARMLESS.values(), *ON_REQUEST.values()))

    def test_refuses_what_is_not_a_module(self) -> None:
        with pytest.raises(OptionError, match=r"'recolorist_lab\.nothing' is not a module"):
            sources("recolorist_lab.nothing")

    def test_follows_a_plugin_through_its_own_package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        package = tmp_path / "their_plugin"
        package.mkdir()
        (package / "__init__.py").write_text("", "utf-8")
        (package / "network.py").write_text("import numpy\nfrom their_plugin.parts import layer\n", "utf-8")
        (package / "parts.py").write_text("from recolorist.errors import OptionError\nlayer = 1\n", "utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        assert set(sources("their_plugin.network")) == {"their_plugin.network", "their_plugin.parts", "recolorist.errors"}

    def test_follows_a_plugin_to_files_beside_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "their_file.py").write_text(
            "import numpy, json\nimport their_helper\nfrom their_parts.layer import a\n", "utf-8"
        )
        (tmp_path / "their_helper.py").write_text("from their_constants import B\n", "utf-8")
        (tmp_path / "their_constants.py").write_text("B = 1\n", "utf-8")
        (tmp_path / "their_parts").mkdir()
        (tmp_path / "their_parts" / "layer.py").write_text("a = 1\n", "utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        assert set(sources("their_file")) == {"their_file", "their_helper", "their_constants", "their_parts.layer"}

    def test_of_a_module_among_installed_libraries_are_its_own(self) -> None:
        assert set(sources("threadpoolctl")) == {"threadpoolctl"}  # a single file, beside all other libraries
