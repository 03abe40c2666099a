"""What was drawn, decided and done for one image, as small records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from recolorist.augment.samplers import Style
from recolorist.core import image as check
from recolorist.core.match import AffineMap
from recolorist.core.plan import Plan
from recolorist.errors import StatisticsError

__all__ = ["Decision", "Draw", "Recolouring"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What was drawn for one image: small, printable, and enough to do the same again.

    Example:
        >>> Decision.from_json(Decision(False).to_json())
        Decision(applied=False, style=None, row=None, strength=0.0, plan=None, contrast=1.0)
    """

    applied: bool  #: False: the image stays as it is, by chance or because it is blank
    style: str | None = None  #: key of the style, or a description of a drawn one
    row: int | None = None  #: its row in the bank
    strength: float = 0.0
    plan: Plan | None = None  #: the map; None for histogram methods, which are repeated from the bank
    contrast: float = 1.0  #: share of the style's contrast that the limits left

    @property
    def is_blank(self) -> bool:
        """Whether the image stays as it is because it is blank."""
        return self.plan is not None and "blank" in self.plan.flags

    def to_json(self) -> str:
        """Return one line of JSON.

        Returns:
            The text, which :meth:`from_json` reads.
        """
        plan = None if self.plan is None else json.loads(self.plan.to_json())
        return json.dumps(
            {
                "applied": self.applied,
                "style": self.style,
                "row": self.row,
                "strength": self.strength,
                "contrast": self.contrast,
                "plan": plan,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Decision:
        """Read what :meth:`to_json` wrote.

        Args:
            text: The JSON.

        Returns:
            The decision.

        Raises:
            StatisticsError: The text is something else.
        """
        try:
            entries = json.loads(text)
            plan = entries.pop("plan")
            decision = cls(**entries, plan=None if plan is None else Plan.from_json(json.dumps(plan)))
            decision._refuse_other_kinds()
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            raise StatisticsError(f"this is not a decision: {error}. Expected is what Decision.to_json wrote.") from error
        return decision

    def _refuse_other_kinds(self) -> None:
        """Raise ValueError unless every entry is of the kind that a decision has."""
        check.truth(self.applied, "applied")
        check.number(self.strength, 0, 1, "strength")
        check.number(self.contrast, 0, 1, "contrast")
        if not isinstance(self.style, str | None):
            raise ValueError(f"style={self.style!r} is no name")  # noqa: TRY004 - of a file, like the others here
        if self.row is not None and (type(self.row) is not int or self.row < 0):
            raise ValueError(f"row={self.row!r}; accepted are whole numbers from 0")


class Draw(NamedTuple):
    """What was drawn for one image before it was looked at: complete, so that it may be used later and in another thread."""

    style: Style
    strength: float
    alternatives: tuple[Style, ...] = ()  #: tried in turn where ``style`` exceeds a limit


class Recolouring(NamedTuple):
    """What was done to one image: the style, its strength and the map (None for histogram methods).

    A blank image that was left as it is has strength 0 and a map whose ``is_blank`` is True.
    """

    style: Style
    strength: float
    map: AffineMap | None
