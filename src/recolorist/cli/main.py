"""`recolorist`: the command line. Each command parses, calls one function of the library, and prints."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recolorist._version import __version__
from recolorist.bank.making import PreprocessingWarning
from recolorist.cli import audit as cli_audit
from recolorist.cli import bank as cli_bank
from recolorist.cli import common
from recolorist.cli import doctor as cli_doctor
from recolorist.cli import drift as cli_drift
from recolorist.cli import match as cli_match
from recolorist.cli import recolour as cli_recolour
from recolorist.cli import studio as cli_studio
from recolorist.cli.app import App, run_app
from recolorist.cli.wording import for_commands

if TYPE_CHECKING:
    from recolorist.demo.pairs import Pair
    from recolorist.demo.run import DemoResult

__all__ = ["app", "main"]


app = App(help="Exact, fast and auditable colour matching for images.")


def _version(*, asked: bool) -> None:
    if asked:
        common.echo(f"recolorist {__version__}")
        raise typer.Exit


_Version = Annotated[bool, typer.Option("--version", help="Print the version and leave.", callback=_version, is_eager=True)]
_Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder for the pictures; made if it is not there.")]
_Json = Annotated[bool, typer.Option("--json", help="Print the table as JSON instead.")]


@app.callback()
def _options(*, version: _Version = False) -> None:
    """Exact, fast and auditable colour matching for images."""


@app.command()
def demo(*, out: _Out = Path("recolorist-demo"), as_json: _Json = False) -> None:
    """Match a few pairs of images, write their pictures and print what was done."""
    from recolorist.demo.run import run  # Pillow and the drawing are loaded only when asked for

    result = run(out)
    if as_json:
        common.echo(result.to_json())
    else:
        _print(result)


for _module in (cli_match, cli_bank, cli_recolour, cli_audit, cli_drift, cli_studio, cli_doctor):
    _module.register(app)


def main() -> None:
    """Run the command line; warnings of ours are one line on standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PreprocessingWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]  # the other arguments are not shown
        run_app(app, "recolorist", for_commands)


def _show_warning(message: Warning | str, *_: Any) -> None:
    """Print a warning as one line on standard error, without the place in the code that Python adds."""
    common.echo(f"recolorist: warning: {for_commands(' '.join(str(message).split()))}", err=True)


def _print(result: DemoResult) -> None:
    """The table, what its columns mean, and where the files are."""
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
    console.print(
        Text(f"{len(result.files)} files in {result.folder.resolve()}; look at {result.sheet.name} first."), soft_wrap=True
    )


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
