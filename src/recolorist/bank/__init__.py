"""Style banks: the colour statistics of many images, kept in one file."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recolorist.bank.style_bank import StyleBank

__all__ = ["StyleBank"]


def __getattr__(name: str) -> Any:
    """Load :class:`StyleBank` on first use."""
    if name == "StyleBank":
        from recolorist.bank.style_bank import StyleBank

        return StyleBank
    raise AttributeError(f"module 'recolorist.bank' has no attribute {name!r}")
