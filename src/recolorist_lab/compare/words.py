"""Say in sentences what a comparison shows, and what it cannot show."""

from __future__ import annotations

import math
from typing import Final

from recolorist_lab.compare.results import Comparison, MethodResult
from recolorist_lab.report.paired import Difference

__all__ = ["can_conclude", "cannot_conclude"]

_NEAR_CHANCE: Final = 0.05  # above guessing; a network this close to it has learnt nothing
_ERRORS: Final = 2.0  # standard errors above guessing; less may be luck where few images are held out
_SMALL_DROP: Final = 0.03  # of balanced accuracy between known and unseen hospitals
_FEW: Final = 6  # targets; fewer say little about the next one


def can_conclude(comparison: Comparison) -> list[str]:
    """Say what the results show.

    Args:
        comparison: The results.

    Returns:
        Sentences, the most important first.
    """
    base = comparison.baseline
    if base.known.mean() < comparison.chance + _least_gain(comparison):
        return [_nothing_learnt(comparison)]
    sentences = [_verdict(method, comparison) for method in comparison.methods if method.difference is not None]
    return [_shift(comparison), *sentences, _harmonised_sentence(comparison), _highest(comparison)]


def cannot_conclude(comparison: Comparison) -> list[str]:
    """Say what the results do not show.

    Args:
        comparison: The results.

    Returns:
        Sentences.
    """
    targets, training = len(comparison.targets), comparison.training
    sentences = []
    if comparison.is_one_hospital:
        sentences.append(
            "How any method does on another hospital: all images, trained on and tested on, are of one. The intervals cover the "
            "choice of test images and of seeds."
        )
    elif targets < _FEW:
        sentences.append(
            f"How large the gain would be at a further hospital: {targets} hospitals are too few for that. The intervals cover "
            "these hospitals and the seeds."
        )
    started = "random weights" if not training.weights else "the weights given"
    sentences.append(
        f"What a larger network would gain: this is {training.model} from {started}, on images of {training.size} pixels, "
        f"for {training.epochs} {'epoch' if training.epochs == 1 else 'epochs'}. Repeat it with the network that you use "
        "(--model, --weights, --size)."
    )
    compared = len(comparison.methods) - 1
    if compared > 1:
        sentences.append(
            f"That the best method is the best: {compared} were compared, each with no augmentation, and the intervals are not "
            "corrected for that. Settings of the methods were not tuned."
        )
    return sentences


def _least_gain(comparison: Comparison) -> float:
    """Return how far above guessing a network must be: a little, and more than chance explains."""
    luck = math.sqrt(comparison.chance * (1 - comparison.chance) / comparison.held_out) if comparison.held_out else 0.0
    return max(_NEAR_CHANCE, _ERRORS * luck)


def _nothing_learnt(comparison: Comparison) -> str:
    return (
        f"There is no sign that the network learnt the task: balanced accuracy is {comparison.baseline.known.mean():.2f} on "
        f"held-out training images, guessing gives {comparison.chance:.2f}, and less than "
        f"{comparison.chance + _least_gain(comparison):.2f} may be luck. Nothing follows about the methods. Use more images, "
        "more --epochs, or --weights."
    )


def _name_test_images(comparison: Comparison) -> str:
    return "held-out images" if comparison.is_one_hospital else "unseen hospitals"


def _shift(comparison: Comparison) -> str:
    base = comparison.baseline
    known, unseen = float(base.known.mean()), float(base.unseen.mean())
    numbers = (
        f"Without augmentation, balanced accuracy is {unseen:.3f} on {_name_test_images(comparison)} "
        f"and {known:.3f} on held-out images of the hospitals trained on"
    )
    if comparison.is_one_hospital:
        return (
            f"Without augmentation, balanced accuracy on held-out images is {unseen:.3f}; guessing gives {comparison.chance:.3f}."
        )
    if known - unseen < _SMALL_DROP:
        return f"{numbers}. The hospitals hardly differ for this network, so there is little for a method to gain."
    return f"{numbers}; guessing gives {comparison.chance:.3f}. The change of hospital costs {100 * (known - unseen):.0f} points."


def _verdict(method: MethodResult, comparison: Comparison) -> str:
    gain = method.difference
    assert gain is not None  # noqa: S101 - only methods with a difference come here
    if not gain.is_enough:
        return f"{_capital(method.title)}: {_too_few(gain)}"
    count = f"better on {gain.better} of {gain.targets} {'splits' if comparison.is_one_hospital else 'hospitals'}"
    if gain.is_gain:
        return f"{_capital(method.title)} raised it by {_points(gain)}; {count}."
    if gain.is_loss:
        return f"{_capital(method.title)} lowered it by {_points(gain, -1)}; {count}."
    return f"{_capital(method.title)} made no difference that is distinct from chance: {_format_difference(gain)}; {count}."


def _harmonised_sentence(comparison: Comparison) -> str:
    gain = comparison.baseline.harmonised_difference
    start = "Matching each test image to the average training style, without retraining,"
    if not gain.is_enough:
        return f"{start[:-1]}: {_too_few(gain)}"
    if gain.is_gain:
        return f"{start} raised it by {_points(gain)}."
    if gain.is_loss:
        return f"{start} lowered it by {_points(gain, -1)}."
    return f"{start} made no difference that is distinct from chance: {_format_difference(gain)}."


def _highest(comparison: Comparison) -> str:
    means = [(float(method.unseen.mean()), method.title, "test images as they are") for method in comparison.methods]
    means += [(float(method.harmonised.mean()), method.title, "harmonised test images") for method in comparison.methods]
    mean, title, images = max(means)
    return f"The highest mean is {mean:.3f}, with {title} and {images}. It was picked after the results were seen: expect less."


def _too_few(gain: Difference) -> str:
    pairs = "pair" if gain.pairs == 1 else "pairs"
    return f"{100 * gain.mean:+.1f} points in {gain.pairs} {pairs} of trainings, too few to tell a difference from chance."


def _points(gain: Difference, sign: int = 1) -> str:
    ends = sorted((sign * gain.low, sign * gain.high))
    return f"{100 * sign * gain.mean:.1f} points (95 % interval {100 * ends[0]:.1f} to {100 * ends[1]:.1f})"


def _format_difference(gain: Difference) -> str:
    return f"{100 * gain.mean:+.1f} points (95 % interval {100 * gain.low:+.1f} to {100 * gain.high:+.1f})"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
