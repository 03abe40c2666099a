"""`recolorist`: the command line. Each command parses, calls one function of the library, and prints."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recolorist._version import __version__
from recolorist.bank.drift import SmallBankWarning
from recolorist.bank.making import PreprocessingWarning
from recolorist.cli import bank, common
from recolorist.cli.app import App, run_app
from recolorist.cli.audit import audit
from recolorist.cli.doctor import doctor
from recolorist.cli.drift import drift
from recolorist.cli.match import match
from recolorist.cli.recolour import augment, harmonise
from recolorist.cli.studio import studio
from recolorist.cli.wording import for_commands

if TYPE_CHECKING:
    from recolorist.demo.pairs import Pair
    from recolorist.demo.run import DemoResult

__all__ = ["app", "demo", "main"]

_STUDIO = "studio.html"  # beside the page of the demonstration

app = App(help="Reproducible, fast and auditable colour matching for images.")


def _version(*, show: bool) -> None:
    if show:
        common.echo(f"recolorist {__version__}")
        raise typer.Exit


_Version = Annotated[bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)]
_Out = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="Folder for the page and the pictures; made if it is not there.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the tables as JSON instead.")]


@app.callback()
def _options(*, version: _Version = False) -> None:
    """Reproducible, fast and auditable colour matching for images."""


@app.command()
def demo(*, out: _Out = Path("recolorist-demo"), as_json: _Json = False) -> None:
    """Match pairs of images, train a tiny classifier on synthetic hospitals, and show all of it on one page."""
    from recolorist.demo.run import run  # Pillow and the drawing are loaded only when asked for
    from recolorist.studio import write

    result = run(out, studio=_STUDIO)
    result = replace(result, files=(*result.files, write(out / _STUDIO, overwrite=True)))
    if as_json:
        common.echo(result.to_json())
    else:
        _print(result)


for _command in (match, augment, harmonise, audit, drift, studio, doctor):
    app.command(_command.__name__)(_command)
app.add_typer(bank.commands, name="bank")


def main() -> None:
    """Run the command line; warnings of ours are one line on standard error."""
    with warnings.catch_warnings():
        for category in (PreprocessingWarning, SmallBankWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = _show_warning  # type: ignore[assignment]  # the other arguments are not shown
        run_app(app, "recolorist", for_commands)


def _show_warning(message: Warning | str, *_: Any) -> None:
    """Print a warning as one line on standard error, without the place in the code that Python adds."""
    common.echo(f"recolorist: warning: {for_commands(' '.join(str(message).split()))}", err=True)


def _print(result: DemoResult) -> None:
    """Print the tables, what their columns mean, and where the files are."""
    console = Console()
    table = Table(title="x' = α·x + β, levels 0 to 255", title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.add_column("pair", no_wrap=True)
    for name in ("", "α", "β", "clipped", "Pearson", "error", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for pair in result.pairs:
        for channel in range(3):
            table.add_row(*_cells(pair, channel), end_section=channel == 2)
    console.print(table)
    console.print("clipped: share of the channel's pixels. error: mean absolute difference from the true scan, before and after.")
    console.print(_scores(result))
    console.print("Drawings, one seed and a setting chosen to show the mechanism: not how much Colorist helps on your images.")
    text = f"{len(result.files)} files in {result.folder.resolve()}; open {result.page.name} in a browser."
    console.print(Text(text), soft_wrap=True)


def _scores(result: DemoResult) -> Table:
    """Return the accuracies of the classifier, one line for each hospital that was left out."""
    table = Table(
        title="Accuracy on a synthetic hospital that was left out of training (guessing gives 50 %)",
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
    )
    table.add_column("left out", no_wrap=True)
    trainings = list(dict.fromkeys(score.training for score in result.scores))
    for training in trainings:
        table.add_column(training, justify="right", no_wrap=True)
    for unseen in dict.fromkeys(score.unseen for score in result.scores):
        table.add_row(unseen, *(f"{100 * score.target:.1f} %" for score in result.scores if score.unseen == unseen))
    return table


def _cells(pair: Pair, channel: int) -> list[str]:
    """One line of the table: a channel of a pair; what belongs to the pair stands on its first line."""
    first = channel == 0
    error = f"{pair.error[0]:.1f} → {pair.error[1]:.1f}" if pair.error else "unknown"
    return [
        pair.case.key if first else "",
        "RGB"[channel],
        f"{pair.plan.gain[channel]:.4f}",
        f"{pair.plan.offset[channel]:+.2f}",
        f"{100 * pair.audit.clipped[channel]:.2f} %",
        f"{pair.audit.pearson[channel]:.5f}",
        error if first else "",
        f"{1e3 * pair.seconds:.2f} ms" if first else "",
    ]
