"""Whole collections as functions: what the commands do, for use from Python.

Every function takes a folder, a manifest, a list of paths or a stack of images. A manifest is CSV or Parquet with
``path,label,domain,split``; a stack is .npy, or .npz in MedMNIST layout. The result does not depend on the number of processes.
A file that cannot be read stops nothing: it is listed in ``failures``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from recolorist.augment.harmoniser import Gate
from recolorist.bank.drift import COVERAGE
from recolorist.collections import tasks
from recolorist.collections.chunks import Failure
from recolorist.collections.items import Source
from recolorist.collections.options import (
    AuditOptions,
    AugmentOptions,
    BankOptions,
    DriftOptions,
    HarmoniseOptions,
    Limits,
    MeasureOptions,
    OutputOptions,
    SourceOptions,
    Where,
)
from recolorist.collections.tasks import AuditResult, Bank, BankResult, DriftResult, RunResult
from recolorist.core.moments import Moments
from recolorist.core.options import Blank, MatchOptions
from recolorist.io.images import Reading

__all__ = [
    "AuditResult",
    "BankResult",
    "DriftResult",
    "Failure",
    "Limits",
    "Reading",
    "RunResult",
    "Where",
    "audit",
    "augment",
    "build_bank",
    "drift",
    "harmonise",
]

_READING: Final = Reading()
_HERE: Final = Where()
_LIMITS: Final = Limits()


def build_bank(
    source: Source,
    *,
    name: str | None = None,
    split: str | None = None,
    preprocessing: str = "",
    mask: str | None = None,
    space: str = "rgb",
    with_histograms: bool = False,
    label_from: int | None = -1,
    domain_from: int | None = None,
    root: str | Path | None = None,
    follow_links: bool = False,
    reading: Reading = _READING,
    where: Where = _HERE,
    any_split: bool = False,
    with_blank: bool = False,
) -> BankResult:
    """Measure a collection and make a style bank of it.

    Args:
        source: The images.
        name: Name of the bank; by default that of the folder or file.
        split: Split of the images. A manifest with several splits needs one, unless ``any_split`` is set.
        preprocessing: What was done to the images before, in your words.
        mask: Name of a foreground rule (``"tissue"``, ``"fundus"``); only its pixels are measured.
        space: Colour space the bank will be used in.
        with_histograms: Keep histograms as well, for the histogram methods.
        label_from: Level of sub-folders that names the label: 0 is the first, -1 the one that holds the file.
        domain_from: The same for the domain.
        root: Folder that the paths of a manifest or list are relative to.
        follow_links: Read links of a folder that lead out of it.
        reading: How files are read.
        where: Processes or cluster that do the work.
        any_split: Accept a manifest with several splits as a whole.
        with_blank: Keep the styles of blank images, which are left out otherwise; ``bank.left_out`` names them.

    Returns:
        The bank, and the files that could not be measured.

    Raises:
        OptionError: An option is wrong, or a split must be chosen.
        ImageError: The source does not exist, or none of its images could be measured.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.effect_noise((8, 8), 90).save(f"{folder}/a.png")
        ...     _ = Path(folder, "b.png").write_bytes(b"not an image")
        ...     result = build_bank(folder, split="train")
        >>> len(result.bank), [failure.key for failure in result.failures]
        (1, ['b.png'])
    """
    options = BankOptions(MeasureOptions(mask, space, with_histograms), name, preprocessing, any_split, with_blank)
    return tasks.measure_bank(source, options, SourceOptions(label_from, domain_from, split, root, follow_links), reading, where)


def augment(
    source: Source,
    out: str | Path,
    bank: Bank,
    *,
    copies: int = 1,
    p: float = 1.0,
    seed: int = 0,
    sampler: str = "uniform",
    method: str = "mean_std",
    space: str = "rgb",
    strength: float | tuple[float, float] = 1.0,
    max_gain: float = 10.0,
    max_clip: float | None = None,
    max_loss: float | None = None,
    mask: str | None = None,
    apply_to: str = "all",
    allow_split: bool = False,
    blank: Blank = "keep",
    label_from: int | None = -1,
    domain_from: int | None = None,
    split: str | None = None,
    root: str | Path | None = None,
    follow_links: bool = False,
    quality: int = 95,
    keep_icc: bool = False,
    full_audit: bool = False,
    force: bool = False,
    resume: bool = False,
    reading: Reading = _READING,
    where: Where = _HERE,
) -> RunResult:
    """Write stylised copies of a collection, with the structure of its folders and one line of provenance for each.

    Args:
        source: The images.
        out: Folder to write into.
        bank: The styles to draw from; a bank, or the path of a saved one.
        copies: Copies of each image, each in another style. Copy k of an image draws from the stream of (seed, k, key).
        p: Probability that a copy is changed.
        seed: Equal seeds give equal outputs.
        sampler: A key of :data:`recolorist.samplers.SAMPLERS`.
        method: A key of :data:`recolorist.MATCHERS`.
        space: A key of :data:`recolorist.SPACES`.
        strength: 0 leaves the image as it is, 1 matches it fully; two numbers are a range to draw from.
        max_gain: Largest factor on a channel.
        max_clip: Largest share of values that may be clipped.
        max_loss: Largest share of patches that may lose more than half of their detail.
        mask: Name of a foreground rule; only its pixels are measured.
        apply_to: Change ``"all"`` pixels, or only those of the ``"mask"``.
        allow_split: Accept a bank that is not of a training split.
        blank: ``"keep"`` leaves blank images as they are, flagged ``blank``, and draws no style of one; ``"match"`` does not.
        label_from: Level of sub-folders that names the label.
        domain_from: Level of sub-folders that names the domain.
        split: Split of a manifest or archive.
        root: Folder that the paths of a manifest or list are relative to.
        follow_links: Read links of a folder that lead out of it.
        quality: JPEG quality of outputs.
        keep_icc: Keep colour profiles; all other metadata is dropped.
        full_audit: Also record correlations and inversions of every image.
        force: Replace files that exist.
        resume: Continue an earlier run; outputs that it recorded are verified and kept.
        reading: How files are read.
        where: Processes or cluster that do the work.

    Returns:
        The records of all outputs, and the files that could not be read.

    Raises:
        OptionError: An option is wrong, or outputs exist and neither ``force`` nor ``resume`` is set.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for i in range(3):
        ...         Path(folder, "in").mkdir(exist_ok=True)
        ...         Image.effect_noise((8, 8), 20 + 9 * i).save(f"{folder}/in/{i}.png")
        ...     bank = build_bank(f"{folder}/in", split="train").bank
        ...     result = augment(f"{folder}/in", f"{folder}/out", bank, copies=2)
        >>> [record["output"] for record in result.records][:2]
        ['0_1.png', '0_2.png']
    """
    limits = {"max_clip": max_clip, "max_loss": max_loss}
    match = _match_options(method=method, space=space, max_gain=max_gain, apply_to=apply_to, **limits)
    options = AugmentOptions(match, strength, copies, p, seed, sampler, mask, allow_split, blank)
    select = SourceOptions(label_from, domain_from, split, root, follow_links)
    output = OutputOptions(quality, keep_icc, full_audit, force, resume)
    return tasks.write_augmented(source, out, bank, options, select, output, reading, where)


def harmonise(
    source: Source,
    out: str | Path,
    style: Bank | Moments,
    *,
    style_name: str = "",
    method: str = "mean_std",
    space: str = "rgb",
    strength: float = 1.0,
    max_gain: float = 10.0,
    max_clip: float | None = None,
    max_loss: float | None = None,
    mask: str | None = None,
    apply_to: str = "all",
    pool: bool = False,
    gate: Gate | None = None,
    coverage: float = COVERAGE,
    blank: Blank = "keep",
    split: str | None = None,
    root: str | Path | None = None,
    follow_links: bool = False,
    quality: int = 95,
    keep_icc: bool = False,
    full_audit: bool = False,
    force: bool = False,
    resume: bool = False,
    reading: Reading = _READING,
    where: Where = _HERE,
) -> RunResult:
    """Give every image of a collection one style; :class:`recolorist.Harmoniser` does the same image by image.

    Args:
        source: The images.
        out: Folder to write into.
        style: A bank, whose average style it is; or the moments of one, from :func:`recolorist.measure`.
        style_name: Name of the style in the records.
        method: ``"mean_std"`` or ``"covariance"``; the histogram methods need the pixels of a style.
        space: A key of :data:`recolorist.SPACES`.
        strength: 0 leaves images as they are, 1 matches them fully.
        max_gain: Largest factor on a channel.
        max_clip: Largest share of values that may be clipped.
        max_loss: Largest share of patches that may lose more than half of their detail.
        mask: Name of a foreground rule; only its pixels are measured.
        apply_to: Change ``"all"`` pixels, or only those of the ``"mask"``.
        pool: Measure all images of a folder (the tiles of a slide) together and map them alike. A pale tile of a dark slide
            then stays paler than its neighbours, and a blank tile is mapped like them.
        gate: What happens to images outside the region of the bank: ``"centre"`` moves them to its average style, ``"edge"``
            just inside. Images inside are left as they are. ``"off"`` moves all. None is ``"centre"`` for a bank, else ``"off"``.
        coverage: Share of images like those of the bank that count as inside.
        blank: ``"keep"`` leaves blank images as they are, flagged ``blank``; ``"match"`` matches them like all others.
        split: Split of a manifest or archive.
        root: Folder that the paths of a manifest or list are relative to.
        follow_links: Read links of a folder that lead out of it.
        quality: JPEG quality of outputs.
        keep_icc: Keep colour profiles; all other metadata is dropped.
        full_audit: Also record correlations and inversions of every image.
        force: Replace files that exist.
        resume: Continue an earlier run; outputs that it recorded are verified and kept.
        reading: How files are read.
        where: Processes or cluster that do the work.

    Returns:
        The records of all outputs, and the files that could not be read.

    Raises:
        OptionError: An option is wrong, or outputs exist and neither ``force`` nor ``resume`` is set.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "in").mkdir()
        ...     Image.effect_noise((8, 8), 20).save(f"{folder}/in/a.png")
        ...     result = harmonise(f"{folder}/in", f"{folder}/out", Moments(1, [128.0], [[900.0]], 255.0))
        >>> result.records[0]["output"], result.failures
        ('a.png', [])
    """
    limits = {"max_clip": max_clip, "max_loss": max_loss}
    match = _match_options(method=method, space=space, strength=strength, max_gain=max_gain, apply_to=apply_to, **limits)
    options = HarmoniseOptions(match, mask, pool, style_name, gate, coverage, blank)
    output = OutputOptions(quality, keep_icc, full_audit, force, resume)
    return tasks.write_harmonised(
        source, out, style, options, SourceOptions(split=split, root=root, follow_links=follow_links), output, reading, where
    )


def audit(
    source: Source,
    bank: Bank | None = None,
    *,
    mask: str | None = None,
    limits: Limits = _LIMITS,
    label_from: int | None = -1,
    domain_from: int | None = None,
    split: str | None = None,
    root: str | Path | None = None,
    follow_links: bool = False,
    reading: Reading = _READING,
    where: Where = _HERE,
) -> AuditResult:
    """Report images that are flat, blank or saturated and, with a bank, those that matching would clip.

    Args:
        source: The images.
        bank: Styles that every image is tried against.
        mask: Name of a foreground rule; only its pixels are counted.
        limits: Where a figure becomes a flag.
        label_from: Level of sub-folders that names the label.
        domain_from: Level of sub-folders that names the domain.
        split: Split of a manifest or archive.
        root: Folder that the paths of a manifest or list are relative to.
        follow_links: Read links of a folder that lead out of it.
        reading: How files are read.
        where: Processes or cluster that do the work.

    Returns:
        One line for each image, the failures and a summary.

    Raises:
        OptionError: An option is wrong.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (5, 4), "red").save(f"{folder}/a.png")
        ...     audit(folder).lines[0]["flags"]
        ['flat', 'blank']
    """
    select = SourceOptions(label_from, domain_from, split, root, follow_links)
    return tasks.audit_images(source, bank, AuditOptions(mask, limits), select, reading, where)


def drift(
    bank: Bank,
    source: Source,
    *,
    coverage: float = 0.99,
    mask: str | None = None,
    alpha: float = 0.001,
    patients: str | None = None,
    group_from: int | None = 0,
    split: str | None = None,
    root: str | Path | None = None,
    follow_links: bool = False,
    reading: Reading = _READING,
    where: Where = _HERE,
) -> DriftResult:
    """Compare a collection with the bank a model was trained on; groups are sub-folders or a manifest's domains.

    Args:
        bank: The bank of the training data.
        source: The images to compare.
        coverage: Share of images like the training data that count as inside.
        mask: Name of a foreground rule; only its pixels are measured.
        alpha: Probability below which a group counts as drifted.
        patients: Regular expression for the patient or slide in keys and paths, where there are several images of each.
        group_from: Level of sub-folders that names the group.
        split: Split of a manifest or archive.
        root: Folder that the paths of a manifest or list are relative to.
        follow_links: Read links of a folder that lead out of it.
        reading: How files are read.
        where: Processes or cluster that do the work.

    Returns:
        The region of usual styles, the figures of all images and of each group, and one line for each image.

    Raises:
        OptionError: The coverage or the rule is not one of those accepted.
        StatisticsError: The bank is too small, or its channels are not those of the images.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from PIL import Image
        >>> from recolorist import StyleBank
        >>> rng = np.random.default_rng(0)
        >>> bank = StyleBank.build(rng.integers(rng.integers(0, 99, (40, 1, 1, 1)), 200, (40, 8, 8, 3), dtype=np.uint8))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (8, 8), "white").save(f"{folder}/a.png")
        ...     drift(bank, folder).lines[0]["outside"]
        True
    """
    select = SourceOptions(None, group_from, split, root, follow_links)
    return tasks.compare_images(bank, source, DriftOptions(coverage, mask, alpha, patients), select, reading, where)


def _match_options(**values: Any) -> MatchOptions:
    """Make checked options from values of any type."""
    return MatchOptions(**values)
