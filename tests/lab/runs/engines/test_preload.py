"""What the server of local cells does once for all of them."""

from __future__ import annotations

import importlib

from recolorist_lab.runs.engines import preload
from recolorist_lab.runs.fingerprint import code_fingerprint
from recolorist_lab.runs.kinds import KINDS


def test_the_fingerprint_of_every_kind_is_known_afterwards() -> None:
    code_fingerprint.cache_clear()
    importlib.reload(preload)
    before = code_fingerprint.cache_info().misses
    assert before >= len({kind.run.__module__ for kind in KINDS.values()})
    for kind in KINDS.values():
        code_fingerprint(kind.run.__module__)
    assert code_fingerprint.cache_info().misses == before
