"""Options of commands, made from the option objects of the library.

A command takes option objects as parameters. :func:`with_options` replaces each by one command-line option for every field:
the name and the default come from the object, the help from the table here. A field that is not in the table is not offered.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, get_type_hints

import typer

from recolorist.cli import common

__all__ = ["OPTIONS", "strength_of", "with_options"]


def strength_of(text: Any) -> float | tuple[float, float]:
    """Read a strength as typed: a number, or two with a dash between.

    Args:
        text: The strength as typed.

    Returns:
        A number, or the ends of a range.

    Raises:
        BadParameter: It is something else.

    Example:
        >>> strength_of("1"), strength_of("0.5-1")
        (1.0, (0.5, 1.0))
    """
    try:
        low, dash, high = str(text).partition("-")
        return (float(low), float(high)) if dash else float(low)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor a range like 0.5-1") from None


_LABEL: Final = "Sub-folder level that names the label (0, 1, … or -1), or 'none'."
_GATE: Final = (
    "Images outside the bank go to its 'centre' or to its 'edge', those inside are left; 'off': all go to the centre. "
    "By default 'centre' for a bank, 'off' for an image."
)
_LOSS: Final = "Largest share of patches that may lose more than half of their detail."
_DOMAIN: Final = "Sub-folder level that names the domain, or 'none'."

#: Type and help of every field that commands offer; the library checks the values.
OPTIONS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        # MatchOptions
        "method": Annotated[str, typer.Option(metavar="NAME", help="mean_std, covariance, histogram or exact_histogram.")],
        "space": Annotated[str, typer.Option(metavar="NAME", help="Colour space: rgb, ycbcr, lab, hed, …")],
        "strength": Annotated[float, typer.Option(metavar="SHARE", help="0 leaves images as they are, 1 matches them fully.")],
        "max_gain": Annotated[float, typer.Option(metavar="N", help="Largest factor on a channel.")],
        "eps_mode": Annotated[str, typer.Option(metavar="NAME", help="'exact', or 'paper' for equation (1) as printed.")],
        "strict": Annotated[bool, typer.Option("--strict", help="Refuse a style with a flat channel.")],
        "max_clip": Annotated[
            float | None, typer.Option(metavar="SHARE", help="Largest share of values (0.02 is 2 %) that may be clipped.")
        ],
        "max_loss": Annotated[float | None, typer.Option(metavar="SHARE", help=_LOSS)],
        "ties": Annotated[
            str, typer.Option(metavar="NAME", help="exact_histogram: order equal pixels by 'neighbours', or by 'position' alone.")
        ],
        "apply_to": Annotated[str, typer.Option(metavar="NAME", help="Change 'all' pixels, or those of the 'mask'.")],
        # AugmentOptions, HarmoniseOptions
        "copies": Annotated[
            int, typer.Option("--copies", "-k", metavar="N", help="Copies of each image, each in another style.")
        ],
        "p": Annotated[float, typer.Option(metavar="SHARE", help="Probability from 0 to 1 that an image is changed.")],
        "seed": Annotated[int, typer.Option(metavar="N", help="Equal seeds give equal outputs.")],
        "sampler": Annotated[str, typer.Option(metavar="NAME", help="How styles are drawn: uniform, interpolate, gaussian, …")],
        "mask": Annotated[str | None, typer.Option(metavar="NAME", help="Measure the foreground only: 'tissue' or 'fundus'.")],
        "allow_split": Annotated[bool, typer.Option("--allow-split", help="Accept a bank that is not of a training split.")],
        "blank": Annotated[
            str, typer.Option(metavar="NAME", help="'keep' blank images as they are, or 'match' them like all others.")
        ],
        "pool": Annotated[bool, typer.Option("--pool", help="Measure all images of a folder (tiles of a slide) together.")],
        "gate": Annotated[str | None, typer.Option(metavar="NAME", help=_GATE)],
        # Masks, BankOptions, DriftOptions
        "style_mask": Annotated[
            str | None, typer.Option(metavar="FILE|NAME", help="Pixels of the style to measure, given in the same way.")
        ],
        "name": Annotated[str | None, typer.Option(metavar="TEXT", help="Name of the bank; by default that of the folder.")],
        "preprocessing": Annotated[str, typer.Option(metavar="TEXT", help="What was done to the images, in your words.")],
        "with_histograms": Annotated[bool, typer.Option("--histograms", help="Keep histograms, for the histogram methods.")],
        "with_blank": Annotated[bool, typer.Option("--with-blank", help="Keep the styles of blank images.")],
        "coverage": Annotated[
            float, typer.Option(metavar="SHARE", help="Share of images like the training data that count as inside.")
        ],
        "alpha": Annotated[float, typer.Option(metavar="P", help="Probability below which a group counts as drifted.")],
        "patients": Annotated[
            str | None,
            typer.Option(
                metavar="REGEX", help="Regular expression for the patient or slide in file names; its images are drawn together."
            ),
        ],
        # SourceOptions
        "label_from": Annotated[int | None, typer.Option(parser=common.level_of, metavar="LEVEL", help=_LABEL)],
        "domain_from": Annotated[int | None, typer.Option(parser=common.level_of, metavar="LEVEL", help=_DOMAIN)],
        "split": Annotated[str | None, typer.Option(metavar="NAME", help="Split of a manifest or .npz; recorded in banks.")],
        "root": Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where the paths of a manifest or list begin.")],
        "follow_links": Annotated[bool, typer.Option("--follow-links", help="Read links that lead out of the folder.")],
        # OutputOptions
        "quality": Annotated[int, typer.Option(metavar="N", help="JPEG quality of outputs, 1 to 100.")],
        "keep_icc": Annotated[bool, typer.Option("--keep-icc", help="Keep colour profiles; all other metadata is dropped.")],
        "full_audit": Annotated[bool, typer.Option("--full-audit", help="Also record correlations and inversions.")],
        "force": common.Force,
        "resume": Annotated[bool, typer.Option("--resume", help="Continue an earlier run; its outputs are verified and kept.")],
        # Reading
        "max_pixels": Annotated[int, typer.Option(metavar="N", help="Largest image that is decoded as a whole.")],
        "convert": Annotated[bool, typer.Option("--convert", help="Turn palette, CMYK, 1-bit and grey-alpha into RGB or grey.")],
        "grey": Annotated[str, typer.Option(metavar="NAME", help="'keep' grey images grey, or read them as 'rgb'.")],
        "bits": Annotated[int | None, typer.Option(metavar="N", help="Bits in use in 16-bit files, 9 to 16.")],
        "data_range": Annotated[float | None, typer.Option(metavar="N", help="White in float files; 1.0 by default.")],
        "level": Annotated[int, typer.Option(metavar="N", help="Level of slides and pyramids; 0 is the finest.")],
        # Where
        "jobs": common.Jobs,
        "engine": common.EngineName,
        "address": Annotated[str | None, typer.Option(metavar="TEXT", help="Ray cluster to use; without it one is started.")],
    }
)
_PANELS: Final = {
    "Matching": (
        "method",
        "space",
        "strength",
        "max_gain",
        "eps_mode",
        "strict",
        "apply_to",
        "mask",
        "style_mask",
        "max_clip",
        "max_loss",
        "ties",
    ),
    "Drawing styles": ("copies", "p", "seed", "sampler", "allow_split"),
    "The style": ("gate", "pool"),
    "Which images": ("label_from", "domain_from", "split", "root", "follow_links"),
    "Reading files": ("max_pixels", "convert", "grey", "bits", "data_range", "level"),
    "Writing files": ("quality", "keep_icc", "full_audit", "force", "resume"),
    "Processes": ("jobs", "engine", "address"),
}


def _complete_from(module: str, name: str) -> Callable[[], list[str]]:
    """Return a function that lists the keys of a table for the completion of the shell; the table is loaded when it is asked."""
    return lambda: list(getattr(import_module(module), name))


_COMPLETIONS: Final = {
    "method": _complete_from("recolorist.core.options", "MATCHERS"),
    "space": _complete_from("recolorist.core.spaces", "SPACES"),
    "sampler": _complete_from("recolorist.augment.samplers", "SAMPLERS"),
    "mask": _complete_from("recolorist.core.foreground", "RULES"),
    "eps_mode": lambda: ["exact", "paper"],
    "apply_to": lambda: ["all", "mask"],
    "ties": lambda: ["neighbours", "position"],
    "grey": lambda: ["keep", "rgb"],
    "gate": lambda: ["centre", "edge", "off"],
    "engine": lambda: ["local", "ray"],
}
for _panel, _fields in _PANELS.items():
    for _field in _fields:
        OPTIONS[_field].__metadata__[0].rich_help_panel = _panel
        OPTIONS[_field].__metadata__[0].autocompletion = _COMPLETIONS.get(_field)


def with_options(*hidden: str, **other: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function that takes option objects.

    Args:
        hidden: Fields that this command does not offer; they keep their defaults.
        other: Annotations that this command uses instead of those in :data:`OPTIONS`.

    Returns:
        A decorator. Its result has one plain parameter for each field, which typer turns into an option.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Speed:
        ...     jobs: int | None = None
        ...     secret: int = 7
        >>> @with_options()
        ... def run(speed: Speed) -> None:
        ...     print(speed)
        >>> list(inspect.signature(run).parameters)
        ['jobs']
        >>> run(jobs=3)
        Speed(jobs=3, secret=7)
    """
    table = {name: annotation for name, annotation in {**OPTIONS, **other}.items() if name not in hidden}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        signature = inspect.signature(command)
        groups = {name: hints[name] for name in signature.parameters if is_dataclass(hints[name])}
        parameters: dict[str, inspect.Parameter] = {}
        for name, parameter in signature.parameters.items():
            if name in groups:
                for offered in _list_fields(groups[name], table):
                    parameters.setdefault(offered.name, _parameter(offered, table[offered.name]))
            else:
                parameters[name] = parameter.replace(annotation=hints[name])

        @functools.wraps(command)
        def run(**values: Any) -> None:
            objects = {name: _make(group, values, table) for name, group in groups.items()}
            command(**objects, **{name: value for name, value in values.items() if name in signature.parameters})

        ordered = sorted(parameters.values(), key=lambda parameter: parameter.kind)
        run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
        del run.__wrapped__  # typer would look at the signature behind it
        return run

    return decorate


def _list_fields(group: Any, table: Mapping[str, Any]) -> Iterator[Field[Any]]:
    """Yield the fields of an option object, and of those inside it, that are options of the command."""
    hints = get_type_hints(group)
    nested = [entry for entry in fields(group) if is_dataclass(hints[entry.name])]
    yield from (entry for entry in fields(group) if entry.name in table)
    for entry in nested:
        yield from _list_fields(hints[entry.name], table)


def _parameter(entry: Field[Any], annotation: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if entry.default is MISSING else entry.default
    return inspect.Parameter(entry.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _make(group: Any, values: Mapping[str, Any], table: Mapping[str, Any], outer: tuple[str, ...] = ()) -> Any:
    """Make an option object of the values of a command; a field of the outer object is not repeated in an inner one."""
    hints = get_type_hints(group)
    values_of = {entry.name: values[entry.name] for entry in fields(group) if entry.name in table and entry.name not in outer}
    inner = {
        entry.name: _make(hints[entry.name], values, table, (*outer, *values_of))
        for entry in fields(group)
        if is_dataclass(hints[entry.name])
    }
    return group(**values_of, **inner)
