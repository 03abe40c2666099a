"""What is to be done to one image in harmonising, and what was done, as small records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from recolorist.core import image as check
from recolorist.core.plan import Plan
from recolorist.errors import StatisticsError

__all__ = ["Harmonisation", "Harmonised", "Judgement", "Reason"]

Reason = Literal["blank", "inside", "outside", "ungated"]

_REASONS: Final = ("blank", "inside", "outside", "ungated")


@dataclass(frozen=True, slots=True)
class Harmonisation:
    """What was done to one image, and why: plain data, to JSON and back.

    Example:
        >>> kept = Harmonisation("inside", 1.5, 4.0)
        >>> kept.is_changed, Harmonisation.from_json(kept.to_json()) == kept
        (False, True)
    """

    #: ``"blank"`` and ``"inside"``: left as it is. ``"outside"``: moved. ``"ungated"``: moved, and no gate was asked.
    reason: Reason
    distance: float | None = None  #: from the centre of the bank, in deviations of it; None without a gate
    edge: float | None = None  #: the distance of the bank's edge
    distance_after: float | None = None  #: that of the moved image, before rounding and clipping
    style: str = ""  #: name of the style that the image was moved to
    strength: float = 0.0
    plan: Plan | None = None  #: the map; None for an image that was left as it is

    @property
    def is_changed(self) -> bool:
        """Whether the image was moved."""
        return self.plan is not None

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return values | {"plan": None if self.plan is None else json.loads(self.plan.to_json())}

    def to_json(self) -> str:
        """Return one line of JSON."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Harmonisation:
        """Return the record that :meth:`to_json` wrote.

        Args:
            text: The line.

        Raises:
            StatisticsError: The text is something else.
        """
        try:
            entries = json.loads(text)
            check.option(entries["reason"], _REASONS, "reason")
            plan = entries.pop("plan")
            return cls(**entries, plan=None if plan is None else Plan.from_json(json.dumps(plan)))
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            raise StatisticsError(
                f"this is no record of harmonising: {error}. Expected is what Harmonisation.to_json wrote."
            ) from error


class Harmonised(NamedTuple):
    """An image, and what was done to it."""

    image: Any
    record: Harmonisation


class Judgement(NamedTuple):
    """What is to be done to an image, known from its moments."""

    reason: Reason
    strength: float
    distance: float | None = None
    distance_after: float | None = None

    @property
    def keeps(self) -> bool:
        """Whether the image is left as it is."""
        return self.reason in ("inside", "blank")
