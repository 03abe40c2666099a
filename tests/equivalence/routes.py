"""The routes of the equivalence matrix: every way from an image and a style to an output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import recolorist as rc
from recolorist import collections
from recolorist.core import kernels
from recolorist.core.options import MatchOptions
from recolorist.errors import OptionError, RecoloristError
from recolorist.io.images import Reading, read_image
from tests.commands import run_here
from tests.equivalence.cases import SEED, Case, content_of, mask_of, reference, style_bank, style_image, suffix_of

__all__ = ["ROUTES", "Route"]

Run = Callable[[Case, Path], NDArray[Any]]
_SMALL: Final = 300  # pixels; every picture of the matrix is larger, and so goes through in strips


@dataclass(frozen=True, slots=True)
class Route:
    """One way to match; ``serves`` says which cases it answers. It must refuse the others with a sentence."""

    name: str
    run: Run
    serves: Callable[[Case], bool]
    styles: tuple[str, ...] = ("image", "bank")  #: the kinds of style it can be given at all
    options: tuple[str, ...] = ("method", "space", "strength", "max_gain", "apply_to")  #: those it has
    expected: Callable[[Case], NDArray[Any]] = reference
    is_slide: bool = False  #: slides have three channels of 8 bits

    def adapt(self, case: Case) -> Case:
        """Return the case with a kind of style and of pixels that this route takes."""
        case = replace(case, dtype="uint8", alpha=False) if self.is_slide else case
        return case if case.style in self.styles else replace(case, style=self.styles[0])


# ---- from Python -------------------------------------------------------------------------------------------------------------


def _style(case: Case) -> Any:
    return style_image() if case.style == "image" or case.needs_pixels else style_bank(case).moments(0)


def _moments(case: Case, image: NDArray[Any]) -> rc.Moments:
    if case.style == "bank":
        return style_bank(case).moments(0)
    known = rc.SPACES.get(case.space)
    return rc.measure(image, space="rgb" if known is None or known.is_linear else case.space)


def _match(case: Case, _: Path) -> NDArray[Any]:
    content = content_of(case)
    result: NDArray[Any] = rc.match(content, _style(case), mask=mask_of(case, content), **case.options)
    return result


def _in_numpy(run: Run) -> Run:
    """Return the same route with the NumPy loops; the reference is matched by those in use, which are the compiled ones."""

    def run_in_numpy(case: Case, folder: Path) -> NDArray[Any]:
        with kernels.using("numpy"):
            return run(case, folder)

    return run_in_numpy


def _match_into(case: Case, _: Path) -> NDArray[Any]:
    content = content_of(case)
    out = np.zeros_like(content)
    result: NDArray[Any] = rc.match(content, _style(case), mask=mask_of(case, content), out=out, **case.options)
    assert result is out
    return out


def _steps(case: Case, _: Path) -> NDArray[Any]:
    content = content_of(case)
    mask = mask_of(case, content)
    style = _moments(case, style_image())
    MatchOptions(apply_to=case.apply_to)  # type: ignore[arg-type]  # apply() takes a mask or none, and has no such option
    plan = rc.plan(
        rc.measure(content, mask, space=style.space),
        style,
        case.space,
        case.strength,
        case.max_gain,
        method=case.method,  # type: ignore[arg-type]
    )
    result: NDArray[Any] = rc.apply(content, plan, mask=mask if case.apply_to == "mask" else None)
    return result


def _colorist(case: Case) -> rc.Colorist:
    return rc.Colorist(style_bank(case), p=1.0, seed=SEED, sampler=case.sampler, mask=case.mask, **case.options)


def _key(case: Case) -> str:
    """Return the name under which the routes of files draw for the content."""
    return f"content{suffix_of(case)}"


def _call(case: Case, _: Path) -> NDArray[Any]:
    return np.asarray(_colorist(case)(content_of(case), key=_key(case), epoch=0))


def _params(case: Case, _: Path) -> NDArray[Any]:
    aug, content = _colorist(case), content_of(case)
    return np.asarray(aug.apply(content, aug.params(content, key=_key(case), epoch=0)))


def _limited(case: Case, _: Path) -> NDArray[Any]:
    options = case.options | {"sampler": case.sampler, "mask": case.mask, "max_clip": 1.0}
    aug = rc.Colorist(style_bank(case), p=1.0, seed=SEED, **options)
    return np.asarray(aug(content_of(case), key=_key(case), epoch=0))


def _harmoniser(case: Case) -> rc.Harmoniser:
    style = _moments(case, style_image())
    return rc.Harmoniser(style, "off", mask=case.mask, blank="match", **case.options)


def _harmonise_one(case: Case, _: Path) -> NDArray[Any]:
    return np.asarray(_harmoniser(case)(content_of(case)))


def _decide_and_apply(case: Case, _: Path) -> NDArray[Any]:
    harmoniser, content = _harmoniser(case), content_of(case)
    return np.asarray(harmoniser.apply(content, harmoniser.decide(content)))


def _batch(case: Case) -> NDArray[Any]:
    """Return two images of one dtype; the second is the mirrored and darkened first."""
    content = content_of(case)
    return np.stack([content, (content[::-1] // 2 if content.dtype.kind == "u" else content[::-1] / np.float32(2))])


def _within_batch(case: Case, _: Path) -> NDArray[Any]:
    batch = _batch(case)
    mask = mask_of(case, batch[0])
    return np.asarray(rc.match_within_batch(batch, 1.0, "batch_fraction", mask=mask, **case.options)[0])


def _partner(case: Case) -> NDArray[Any]:
    content, style = _batch(case)
    result: NDArray[Any] = rc.match(content, style, mask=mask_of(case, content), **case.options)
    return result


def _tensors(case: Case, _: Path) -> NDArray[Any]:
    import torch

    from recolorist.torch import ColorMatch

    options = {name: value for name, value in case.options.items() if name != "apply_to"}
    module = ColorMatch(style_bank(case), p=1.0, **options)
    batch = torch.from_numpy(np.ascontiguousarray(content_of(case).transpose(2, 0, 1))[None])
    return np.asarray(np.ascontiguousarray(module(batch)[0].numpy().transpose(1, 2, 0)))


def _unmasked(case: Case) -> NDArray[Any]:
    """ColorMatch has no masks: the expected output is the one without."""
    return reference(replace(case, mask=None, apply_to="all"))


# ---- files -------------------------------------------------------------------------------------------------------------------


def _files(case: Case, folder: Path, suffix: str | None = None) -> tuple[Path, Path]:
    """Write content and style; the content lies alone in its folder. Both can be read in strips."""
    source, style = folder / "in" / f"content{suffix or suffix_of(case)}", folder / "style.tif"
    source.parent.mkdir()
    _write(source, content_of(case))
    _write(style, style_image())
    return source, style


def _write(path: Path, pixels: NDArray[Any]) -> None:
    if path.suffix == ".npy":
        np.save(path, pixels)
        return
    import tifffile

    extra: dict[str, Any] = {"extrasamples": ["unassalpha"]} if pixels.shape[-1] == 4 else {}
    extra |= {"compression": "zlib"} if path.suffix == ".svs" else {}  # OpenSlide reads no plain tiles
    tifffile.imwrite(path, pixels, photometric="rgb", tile=(16, 16), **extra)


def _style_file(case: Case, folder: Path, image: Path) -> Path:
    if case.style == "image":
        return image
    return style_bank(case).save(folder / "style.rcb")


def _one_file(case: Case, folder: Path, reading: Reading, suffix: str | None = None) -> NDArray[Any]:
    source, image = _files(case, folder, suffix)
    out = folder / f"out{suffix_of(case)}"
    options = MatchOptions(**case.options)
    collections.match_file(
        source, _style_file(case, folder, image), out, options, masks=collections.Masks(case.mask), reading=reading
    )
    return read_image(out)


def _harmonise(case: Case, folder: Path, reading: Reading, suffix: str | None = None) -> NDArray[Any]:
    source, image = _files(case, folder, suffix)
    style = _moments(case, read_image(image))
    where = collections.Where(jobs=1)
    result = collections.harmonise(
        source.parent, folder / "out", style, mask=case.mask, reading=reading, where=where, **case.options
    )
    return _only(result, folder / "out" / f"content{suffix_of(case)}")


def _augment(case: Case, folder: Path, reading: Reading, suffix: str | None = None) -> NDArray[Any]:
    source, _ = _files(case, folder, suffix)
    draws: dict[str, Any] = {"p": 1.0, "seed": SEED, "sampler": case.sampler, "mask": case.mask}
    where = collections.Where(jobs=1)
    result = collections.augment(
        source.parent, folder / "out", style_bank(case), reading=reading, where=where, **draws, **case.options
    )
    return _only(result, folder / "out" / f"content{suffix_of(case)}")


def _only(result: Any, path: Path) -> NDArray[Any]:
    if result.failures:
        raise RecoloristError(result.failures[0].message)
    return read_image(path)


def _whole(run: Callable[..., NDArray[Any]]) -> Run:
    return lambda case, folder: run(case, folder, Reading())


def _strips(run: Callable[..., NDArray[Any]]) -> Run:
    return lambda case, folder: run(case, folder, Reading(max_pixels=_SMALL))


def _slide(run: Callable[..., NDArray[Any]]) -> Run:
    return lambda case, folder: run(case, folder, Reading(), ".svs")


# ---- commands ----------------------------------------------------------------------------------------------------------------


def _command(*words: object) -> None:
    """Run the command in this process; any refusal is raised."""
    answer = run_here(*words)
    if answer.code:
        raise OptionError(answer.err)


def _words(case: Case) -> list[object]:
    words: list[object] = []
    for name, value in case.options.items():
        words += [f"--{name.replace('_', '-')}", value]
    return words if case.mask is None else [*words, "--mask", case.mask]


def _match_command(case: Case, folder: Path, *more: object, suffix: str | None = None) -> NDArray[Any]:
    source, image = _files(case, folder, suffix)
    out = folder / f"out{suffix_of(case)}"
    _command("match", source, _style_file(case, folder, image), "--out", out, *_words(case), *more)
    return read_image(out)


def _harmonise_command(case: Case, folder: Path, *more: object, suffix: str | None = None) -> NDArray[Any]:
    source, image = _files(case, folder, suffix)
    style = _style_file(case, folder, image)
    _command("harmonise", source.parent, folder / "out", "--to", style, "--gate", "off", "--jobs", 1, *_words(case), *more)
    return read_image(folder / "out" / f"content{suffix_of(case)}")


def _augment_command(case: Case, folder: Path, *more: object, suffix: str | None = None) -> NDArray[Any]:
    source, _ = _files(case, folder, suffix)
    bank = style_bank(case).save(folder / "style.rcb")
    draws = ("--p", 1, "--seed", SEED, "--sampler", case.sampler)
    _command("augment", source.parent, folder / "out", "--bank", bank, *draws, "--jobs", 1, *_words(case), *more)
    return read_image(folder / "out" / f"content{suffix_of(case)}")


def _command_in_strips(run: Callable[..., NDArray[Any]]) -> Run:
    return lambda case, folder: run(case, folder, "--max-pixels", _SMALL)


def _command_of_slide(run: Callable[..., NDArray[Any]]) -> Run:
    return lambda case, folder: run(case, folder, suffix=".svs")


# ---- which cases each route answers ------------------------------------------------------------------------------------------


def _any(case: Case) -> bool:  # noqa: ARG001 - the common signature
    return True


def _affine(case: Case) -> bool:
    """Histogram methods need the pixels of the style, and whole images."""
    return not case.needs_pixels


def _with_bank(case: Case) -> bool:
    """Banks keep moments, and histograms of RGB only."""
    return not case.needs_pixels or case.space == "rgb"


def _bank_file_or_image(case: Case) -> bool:
    return case.style == "image" or not case.needs_pixels


def _in_tensors(case: Case) -> bool:
    linear = case.method == "mean_std" and rc.SPACES[case.space].is_linear
    return linear and not case.alpha and case.dtype != "uint16"


def _of_a_slide(case: Case) -> NDArray[Any]:
    """A slide has a name of its own, for which own_style draws."""
    return reference(case, ".svs")


_BANK: Final = ("bank", "own")
_NOT_APPLY_TO: Final = ("method", "space", "strength", "max_gain")

ROUTES: Final = (
    Route("match, NumPy kernels", _in_numpy(_match), _any),
    Route("match into out", _match_into, _any),
    Route("measure, plan, apply", _steps, _affine),
    Route("Colorist", _call, _with_bank, _BANK),
    Route("Colorist.params and apply", _params, _with_bank, _BANK),
    Route("Colorist with max_clip", _limited, _with_bank, _BANK),
    Route("Harmoniser", _harmonise_one, _affine),
    Route("Harmoniser.decide and apply", _decide_and_apply, _affine),
    Route("match_within_batch", _within_batch, _any, ("image",), expected=_partner),
    Route("ColorMatch", _tensors, _in_tensors, ("bank",), _NOT_APPLY_TO, expected=_unmasked),
    Route("match_file", _whole(_one_file), _bank_file_or_image),
    Route("match_file in strips", _strips(_one_file), _affine),
    Route("harmonise", _whole(_harmonise), _affine),
    Route("harmonise in strips", _strips(_harmonise), _affine),
    Route("augment", _whole(_augment), _with_bank, _BANK),
    Route("augment in strips", _strips(_augment), _affine, _BANK),
    Route("match_file of a slide", _slide(_one_file), _affine, is_slide=True),
    Route("harmonise of a slide", _slide(_harmonise), _affine, is_slide=True),
    Route("augment of a slide", _slide(_augment), _affine, _BANK, expected=_of_a_slide, is_slide=True),
    Route("recolorist match", _match_command, _bank_file_or_image),
    Route("recolorist harmonise", _harmonise_command, _affine),
    Route("recolorist augment", _augment_command, _with_bank, _BANK),
    Route("recolorist match in strips", _command_in_strips(_match_command), _affine),
    Route("recolorist harmonise in strips", _command_in_strips(_harmonise_command), _affine),
    Route("recolorist augment in strips", _command_in_strips(_augment_command), _affine, _BANK),
    Route("recolorist match of a slide", _command_of_slide(_match_command), _affine, is_slide=True),
    Route("recolorist harmonise of a slide", _command_of_slide(_harmonise_command), _affine, is_slide=True),
    Route(
        "recolorist augment of a slide", _command_of_slide(_augment_command), _affine, _BANK, expected=_of_a_slide, is_slide=True
    ),
    Route("measure, plan, apply, NumPy kernels", _in_numpy(_steps), _affine),
    Route("Colorist, NumPy kernels", _in_numpy(_call), _with_bank, _BANK),
    Route("match_within_batch, NumPy kernels", _in_numpy(_within_batch), _any, ("image",), expected=_partner),
    Route("match_file, NumPy kernels", _in_numpy(_whole(_one_file)), _bank_file_or_image),
    Route("harmonise in strips, NumPy kernels", _in_numpy(_strips(_harmonise)), _affine),
    Route("augment, NumPy kernels", _in_numpy(_whole(_augment)), _with_bank, _BANK),
)
