"""The nineteen cards, in the order of the paper's table."""

from __future__ import annotations

from typing import Final

from recolorist.errors import OptionError
from recolorist_lab.data.cards import Card
from recolorist_lab.data.cards_blood import BONE_MARROW, PERIPHERAL_BLOOD
from recolorist_lab.data.cards_medmnist import CARDS as MEDMNIST
from recolorist_lab.data.cards_pathology import CAMELYON17, EPISTR
from recolorist_lab.data.cards_retina import RETINA
from recolorist_lab.data.cards_skin import DDI, FITZPATRICK17K

CARDS: Final[dict[str, Card]] = {
    card.key: card for card in (CAMELYON17, EPISTR, PERIPHERAL_BLOOD, BONE_MARROW, FITZPATRICK17K, DDI, RETINA, *MEDMNIST)
}


def card_of(name: str) -> Card:
    """The card of a dataset.

    >>> card_of("ddi").classes
    ('benign', 'malignant')
    >>> card_of("imagenet")
    Traceback (most recent call last):
    recolorist.errors.OptionError: 'imagenet' is no dataset of the study; choose from camelyon17, epistr, ...
    """
    if name not in CARDS:
        raise OptionError(f"{name!r} is no dataset of the study; choose from {', '.join(CARDS)}")
    return CARDS[name]
