"""The result file: its records, how they become JSON, and the check that a file is whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.arms import ARMS
from benchmarks.memory import Peak
from benchmarks.targets import Figures, Verdict, key

__all__ = ["SCHEMA", "Result", "Run", "Skip", "document", "problems", "to_json"]

SCHEMA: Final = 1


@dataclass(frozen=True)
class Result:
    """One arm on one pair. Times are microseconds: lower quartile, median, upper quartile over the rounds."""

    arm: str
    dtype: str
    size: int
    calls: int
    rounds: int
    cpu_us: tuple[float, float, float]
    wall_us: tuple[float, float, float]
    mean_error: float | None
    different_bytes: float | None
    digest: str | None


@dataclass(frozen=True)
class Skip:
    """An arm that could not run there, and why."""

    arm: str
    dtype: str
    size: int
    reason: str


@dataclass(frozen=True)
class Run:
    """Everything of one run."""

    about: Mapping[str, Any]
    results: Sequence[Result]
    skipped: Sequence[Skip]
    memory: Sequence[Peak]
    verdicts: Sequence[Verdict]

    @property
    def figures(self) -> Figures:
        """The medians of the CPU time by arm, dtype and size."""
        return {key(result.arm, result.dtype, result.size): result.cpu_us[1] for result in self.results}


_ABOUT: Final = {
    "date": str,
    "commit": str,
    "cpu": str,
    "simd": str,
    "system": str,
    "kernel": str,
    "versions": dict,
    "settings": dict,
    "load_average": list,
    "wall_over_cpu": float,
}
_RESULT: Final = {"arm": str, "dtype": str, "size": int, "calls": int, "rounds": int, "cpu_us": list, "wall_us": list}
_CHECKED: Final = {"mean_error": (float, type(None)), "different_bytes": (float, type(None)), "digest": (str, type(None))}
_ROWS: Final[dict[str, dict[str, Any]]] = {
    "arms": {"name": str, "group": str, "package": str, "includes": str, "dtypes": list, "max_size": int, "promise": str},
    "results": {**_RESULT, **_CHECKED},
    "skipped": {"arm": str, "dtype": str, "size": int, "reason": str},
    "memory": {
        "call": str,
        "dtype": str,
        "size": int,
        "kernel": str,
        "output": int,
        "traced": int,
        "resident": (int, type(None)),
    },
    "verdicts": {"target": str, "limit": str, "value": (float, type(None)), "met": (bool, type(None)), "detail": str},
}


def document(run: Run) -> dict[str, Any]:
    """Return the run as plain JSON values."""
    arms = [{name: getattr(arm, name) for name in _ROWS["arms"]} for arm in ARMS]
    plain = {
        "schema": SCHEMA,
        **run.about,
        "arms": arms,
        "results": [vars(result) for result in run.results],
        "skipped": [vars(skip) for skip in run.skipped],
        "memory": [peak._asdict() for peak in run.memory],
        "verdicts": [vars(verdict) for verdict in run.verdicts],
    }
    return dict(json.loads(json.dumps(_rounded(plain))))


def _rounded(value: Any) -> Any:
    """Keep five significant digits of each float: more is noise, and the files are committed."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, Mapping):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_rounded(part) for part in value]
    return value


def to_json(plain: Mapping[str, Any]) -> str:
    """Write one row per line: small, and a change reads well in a diff."""
    lines = []
    for name, value in plain.items():
        if name in _ROWS:
            rows = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in value)
            lines.append(f" {json.dumps(name)}: [\n{rows}\n ]")
        else:
            lines.append(f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def problems(plain: Mapping[str, Any]) -> list[str]:
    """Say everything that is wrong with a result file; an empty list means it is whole.

    Besides names and types: quartiles are in order, and every arm of the file's own table was either timed or skipped with a
    reason, in each dtype it takes. A result that was left out because it looked bad would be found here.
    """
    found = [] if plain.get("schema") == SCHEMA else [f"schema is {plain.get('schema')!r}, expected {SCHEMA}"]
    found += _wrong_keys("the file", plain, {"schema": int, **_ABOUT, **dict.fromkeys(_ROWS, list)})
    if found:
        return found
    for name, columns in _ROWS.items():
        for place, row in enumerate(plain[name]):
            found += _wrong_keys(f"{name}[{place}]", row, columns)
    return found or _wrong_quartiles(plain) + _unaccounted(plain)


def _wrong_keys(where: str, row: object, columns: Mapping[str, Any]) -> list[str]:
    if not isinstance(row, Mapping):
        return [f"{where} is not an object"]
    found = [f"{where} lacks {name}" for name in columns if name not in row]
    found += [f"{where} has an unknown {name}" for name in row if name not in columns]
    return found + [
        f"{where}.{name} has the wrong type" for name, kind in columns.items() if name in row and not _is(row[name], kind)
    ]


def _is(value: object, kind: Any) -> bool:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, kinds) or (isinstance(value, int) and float in kinds)


def _wrong_quartiles(plain: Mapping[str, Any]) -> list[str]:
    return [
        f"{row['arm']} at {row['dtype']} {row['size']}: quartiles {row[name]} are not three increasing positive numbers"
        for row in plain["results"]
        for name in ("cpu_us", "wall_us")
        if len(row[name]) != 3 or sorted(row[name]) != row[name] or row[name][0] <= 0
    ]


def _unaccounted(plain: Mapping[str, Any]) -> list[str]:
    wanted, settings = [], plain["settings"]
    for arm in plain["arms"]:
        sizes = [size for size in settings["sizes"] if size <= arm["max_size"]]
        chosen = not settings["groups"] or arm["group"] in settings["groups"]
        wanted += [
            (arm["name"], dtype, size) for dtype in arm["dtypes"] if dtype in settings["dtypes"] for size in sizes if chosen
        ]
    present = {(row["arm"], row["dtype"], row["size"]) for name in ("results", "skipped") for row in plain[name]}
    return [
        f"{arm} at {dtype} {size} was neither timed nor skipped with a reason"
        for arm, dtype, size in wanted
        if (arm, dtype, size) not in present
    ]
