"""The strong attack on a style bank: recognise an image, or tell whether it took part, from a changed copy of it.

The attacker holds changed copies of images and knows what such changes do to the nine numbers: the covariance of the differences,
measured on images of its own, whitens the distance. Recognised: the nearest style of the bank is the image's own. Membership: the
area under the curve of the distance to the nearest style, for images in the bank against images of the same set that are not.
Against a rounded bank the attacker rounds its copies in the same way: a style that is there and that few share speaks for it.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sklearn.metrics import roc_auc_score

from benchmarks.claims.images import ImageSet, Pixels, load_set, run
from recolorist.bank.features import style_features
from recolorist.bank.gaussian import Budget, share_gaussian
from recolorist.bank.share import _round_moments, share
from recolorist.bank.style_bank import StyleBank
from recolorist.errors import StatisticsError

__all__ = ["measure"]

Array = NDArray[np.float64]
SEED: Final = 0
HELD: Final = 400  # images that the attacker holds: half of them are in the bank
OWN: Final = 200  # images of its own, to learn what changes do
STEPS: Final = ((4.0, 1), (4.0, 5), (8.0, 1), (8.0, 5), (16.0, 5))


def measure(folder: Path) -> dict[str, Any]:
    """Return recognition and membership for each change of the copies and each form of the bank."""
    files = sorted((folder / "blood" / "acevedo20").rglob("*.jpg"))  # whole images, not the crops of the other measurements
    names = np.array([file.name for file in files])
    images = ImageSet("acevedo20", [_open(file) for file in files], names, names)
    retina = load_set(folder, "DeepDRiD", side=None)
    return {"attacks": _attack(images), "shared": _shared(images, retina), "gaussian": _gaussian(images)}


def _open(name: Path) -> Pixels:
    with Image.open(name) as image:
        return np.asarray(image.convert("RGB"))


def _crop(pixels: int) -> Callable[[Pixels], Pixels]:
    return lambda image: image[pixels:-pixels, pixels:-pixels]


def _jpeg(image: Pixels) -> Pixels:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=50)
    return np.asarray(Image.open(file))


def _resized(factor: float | None) -> Callable[[Pixels], Pixels]:
    def change(image: Pixels) -> Pixels:
        size = (224, 224) if factor is None else (round(image.shape[1] * factor), round(image.shape[0] * factor))
        return np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BILINEAR))

    return change


CHANGES: Final[dict[str, Callable[[Pixels], Pixels]]] = {
    "the very file": lambda image: image,
    "5 pixels cut off each side": _crop(5),
    "20 pixels cut off": _crop(20),
    "40 pixels cut off": _crop(40),
    "JPEG quality 50": _jpeg,
    "half the size": _resized(0.5),
    "resized to 224": _resized(None),
}


def features_of(images: list[Pixels]) -> Array:
    """Return the nine numbers of each image."""
    bank = StyleBank.build(images, keys=[str(i) for i in range(len(images))], with_blank=True)
    return style_features(bank.mean, bank.cov)


def whitening(exact: Array, changed: Array) -> Array:
    """Return the map under which what a change does has unit covariance."""
    differences = changed - exact
    spread, axes = np.linalg.eigh(np.cov(differences.T) + np.outer(differences.mean(0), differences.mean(0)))
    return np.asarray(axes / np.sqrt(np.maximum(spread, 1e-12)))


def nearest(held: Array, bank: Array, whiten: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the row of the nearest style of each held image, and its distance."""
    apart = ((held @ whiten)[:, None] - (bank @ whiten)[None]) ** 2
    distance = apart.sum(axis=-1)
    return distance.argmin(axis=1), np.sqrt(distance.min(axis=1))


def _attack(images: ImageSet) -> list[dict[str, Any]]:
    order = np.random.default_rng(SEED).permutation(len(images.images))
    own, outside, inside = order[:OWN], order[OWN : OWN + HELD // 2], order[OWN + HELD // 2 :]
    held = [*inside[: HELD // 2], *outside]
    exact = features_of([images.images[i] for i in inside])
    own_exact = features_of([images.images[i] for i in own])
    bank = images._replace(images=[images.images[i] for i in inside]).bank()
    forms = {"exact": exact} | {
        f"step {step:g}, at least {least}": style_features(given.mean, given.cov)
        for step, least in STEPS
        for given in [share(bank, step, least).bank]
    }
    forms["Gaussian"] = _drawn(share_gaussian(bank).bank)
    steps = {f"step {step:g}, at least {least}": (step, least) for step, least in STEPS}
    rows = []
    for name, change in CHANGES.items():
        whiten = whitening(own_exact, features_of([change(images.images[i]) for i in own]))
        held_bank = StyleBank.build([change(images.images[i]) for i in held], keys=[str(i) for i in held], with_blank=True)
        copies = style_features(held_bank.mean, held_bank.cov)
        for form, known in forms.items():
            which, distance = nearest(copies, known, whiten)
            row = {"copy": name, "bank": form, "styles": len(known)}
            step, least = steps.get(form, (0.0, 0))
            score = _rounded_score(held_bank, bank, step, least) if step else -distance
            row["membership_auc"] = round(float(roc_auc_score(np.arange(HELD) < HELD // 2, score)), 3)
            if form == "exact":
                row["recognised"] = round(float((which[: HELD // 2] == np.arange(HELD // 2)).mean()), 3)
            rows.append(row)
            print(row, flush=True)
    return rows


def _rounded_score(held: StyleBank, bank: StyleBank, step: float, least: int) -> Array:
    """Return one over the number of styles equal to each held image's after rounding; zero where there is none."""
    cells = [
        np.column_stack([mean, std, each.reshape(len(mean), -1)]).round(9)
        for mean, std, each in (_round_moments(one, step) for one in (held, bank))
    ]
    counts = Counter(map(tuple, cells[1]))
    return np.array([1 / counts[key] if counts[key] >= least else 0.0 for key in map(tuple, cells[0])])


def _drawn(bank: StyleBank, count: int = 1000) -> Array:
    features = style_features(bank.mean, bank.cov)
    return np.asarray(np.random.default_rng(SEED).multivariate_normal(features.mean(0), np.cov(features.T), count))


def _shared(*sets: ImageSet) -> list[dict[str, Any]]:
    """Return what rounding leaves: styles that stand alone, styles kept, and how far the mean colour moved."""
    rows = []
    for images in sets:
        bank = images.bank()
        patients = images.units if len(set(images.units)) < len(images.images) else None
        for step, least in ((1.0, 1), (1.0, 5), *STEPS):
            for owners in [None] if patients is None else [None, patients]:
                row: dict[str, Any] = {"set": images.name, "step": step, "at_least": least}
                row["counted"] = "images" if owners is None else "patients"
                try:
                    given = share(bank, step, least, patients=owners)
                except StatisticsError:
                    rows.append(row | {"styles": 0})
                    continue
                moved = float(np.abs(given.bank.mean.mean(0) - bank.mean.mean(0)).max() * 255)
                row |= {"styles": len(given.bank), "alone": round(given.alone_after, 4), "mean_moved": round(moved, 2)}
                if patients is not None and owners is None:
                    row["of one patient"] = _of_one_patient(bank, patients, step, least)
                rows.append(row)
                print(row, flush=True)
    return rows


def _of_one_patient(bank: StyleBank, patients: NDArray[np.str_], step: float, least: int) -> int:
    """Count the styles, shared by enough images, that all come from one patient."""
    by_images = share(bank, step, least).bank
    try:
        by_both = len(share(bank, step, 2, patients=patients).bank)
    except StatisticsError:
        by_both = 0
    known = {tuple(row) for row in np.column_stack([by_images.mean, by_images.cov.reshape(len(by_images), -1)]).round(9)}
    if not by_both:
        return len(known)
    several = share(bank, step, 2, patients=patients).bank
    others = {tuple(row) for row in np.column_stack([several.mean, several.cov.reshape(len(several), -1)]).round(9)}
    return len(known - others)


def _gaussian(images: ImageSet) -> list[dict[str, Any]]:
    """Return how far the private Gaussian lies from the exact one, in levels of the mean and ratios of deviations."""
    bank = images.bank()
    features = style_features(bank.mean, bank.cov)
    rows = []
    for epsilon in (1.0, 3.0, 10.0):
        errors, ratios = [], []
        for seed in range(20):
            made = share_gaussian(bank, Budget(epsilon), rng=np.random.default_rng(seed)).bank
            private = style_features(made.mean, made.cov)
            errors.append(255 * np.abs(private.mean(0)[:3] - features.mean(0)[:3]).max())
            ratios.append(np.median(private.std(0, ddof=1) / features.std(0, ddof=1)))
        rows.append(
            {
                "images": len(features),
                "epsilon": epsilon,
                "mean_error_levels": round(float(np.median(errors)), 2),
                "deviation_ratio": round(float(np.median(ratios)), 2),
            }
        )
        print(rows[-1], flush=True)
    return rows


if __name__ == "__main__":
    run(measure, "privacy")
