"""Measurements on real images behind what the pages claim: the gate, drift, privacy, samplers and masks.

Each module is a command: `python -m benchmarks.claims.NAME FOLDER`. FOLDER holds the image sets; a set that is absent is left out
and named. All draws are seeded. The figures go to `benchmarks/results/claims/NAME.json`, and the pages' tables are made of them.
"""

__all__: list[str] = []
