"""`recolorist-lab`: the command line of the study. Each group of commands lives in a module of its own."""

from __future__ import annotations

import importlib.util
import sys
from typing import Annotated, Final

import typer

from recolorist._version import __version__
from recolorist.cli.app import App, run_app
from recolorist.optional import how_to_install
from recolorist_lab.cli import baseline as cli_baseline
from recolorist_lab.cli import compare as cli_compare
from recolorist_lab.cli import data as cli_data
from recolorist_lab.cli import metrics as cli_metrics
from recolorist_lab.cli import report as cli_report
from recolorist_lab.cli import reproduce as cli_reproduce
from recolorist_lab.cli import sweep as cli_sweep
from recolorist_lab.cli import train as cli_train
from recolorist_lab.cli import weights as cli_weights
from recolorist_lab.cli import zoo as cli_zoo

__all__ = ["app", "main"]

app: Final = App(help="The study behind Recolorist: datasets, sweeps, tables.")
_NEEDED: Final = {  # what the extra `lab` installs, by the name it is imported with
    "torch": "torch",
    "torchvision": "torchvision",
    "pyarrow": "pyarrow",
    "codecarbon": "codecarbon",
    "lpips": "lpips",
    "huggingface_hub": "huggingface_hub",
    "lightning_fabric": "lightning-fabric",
    "matplotlib": "matplotlib",
    "cv2": "opencv-python-headless",
    "safetensors": "safetensors",
    "sklearn": "scikit-learn",
    "timm": "timm",
    "torch_fidelity": "torch-fidelity",
    "torchmetrics": "torchmetrics",
}


def _version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"recolorist-lab {__version__}")
        raise typer.Exit


_Version = Annotated[bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)]


@app.callback()
def _options(*, version: _Version = False) -> None:
    """Run the study of Recolorist: datasets, training, sweeps, tables."""


for _register in (
    cli_baseline.register,
    cli_compare.register,
    cli_data.register,
    cli_metrics.register,
    cli_report.register,
    cli_reproduce.register,
    cli_sweep.register,
    cli_train.register,
    cli_weights.register,
    cli_zoo.register,
):
    _register(app)


def main() -> None:
    """Run the command line; if the extra `lab` is not installed, print how to install it."""
    missing = [package for module, package in _NEEDED.items() if not _is_installed(module)]
    if missing:
        names = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        typer.echo(f"recolorist-lab: {names} not installed; install what the study needs with: {how_to_install('lab')}", err=True)
        sys.exit(1)
    run_app(app, "recolorist-lab")


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # a module that was put in place by hand, or blocked
        return sys.modules.get(module) is not None


if __name__ == "__main__":
    main()
