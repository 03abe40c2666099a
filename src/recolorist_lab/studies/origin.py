"""Whether published results were made by the present code, and by which commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from recolorist.errors import OptionError
from recolorist_lab.runs.environment import CHANGED
from recolorist_lab.runs.study import Cell, Study

__all__ = ["is_current", "origin_sentence", "refuse_unclean"]


def is_current(study: Study, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Compare the run ids of published rows with those of the present code.

    Data need not be here: a row says which data it was made from, and they count as the same.

    Args:
        study: The study that the rows were made by, as it is read now.
        rows: The published rows, in the order of the study; each has its ``run``, and ``data`` where it was recorded.

    Returns:
        True if every run id is the one that the present code gives.
    """
    if len(rows) != len(study.cells):
        return False
    present: dict[str, Cell] = {}
    for cell, row in zip(study.cells, rows, strict=True):
        inputs = tuple((grid, present[earlier.config_digest]) for grid, earlier in cell.inputs)
        present[cell.config_digest] = replace(cell, inputs=inputs, data=str(row.get("data", cell.data)))
    return all(present[cell.config_digest].run_id == row.get("run") for cell, row in zip(study.cells, rows, strict=True))


def origin_sentence(environments: Sequence[Mapping[str, Any]], *, current: bool) -> str:
    """Write where results come from, for the page that shows them.

    Args:
        environments: The environments recorded with the results.
        current: Whether the present code gives the same run ids.

    Returns:
        One or two sentences.

    Example:
        >>> origin_sentence([{"commit": "0123456789abcdef"}], current=True)
        'Made from commit 0123456789ab by the present version of the code.'
        >>> origin_sentence([{"commit": None}], current=False)
        'Made by an earlier version of the code; its commit was not recorded. Run the study again for results of the present one.'
    """
    commits = [str(environment.get("commit") or "") for environment in environments] or [""]
    if current:
        return f"Made {_commits(commits)} by the present version of the code."
    recorded = [commit for commit in commits if commit]
    commits_text = f", {_commits(recorded)}" if recorded else "; its commit was not recorded"
    return f"Made by an earlier version of the code{commits_text}. Run the study again for results of the present one."


def refuse_unclean(environments: Sequence[Mapping[str, Any]]) -> None:
    """Refuse to publish results whose code is in no commit.

    Args:
        environments: The environments recorded with the results.

    Raises:
        OptionError: The commit of one was not recorded, or the sources were changed since.

    Example:
        >>> refuse_unclean([{"commit": "0123456789abcdef"}])
    """
    for environment in environments:
        commit = str(environment.get("commit") or "")
        if not commit or commit.endswith(CHANGED):
            reason = "sources that were changed since their commit" if commit else "code whose commit was not recorded"
            raise OptionError(
                f"results were made from {reason}, so they cannot be reproduced; commit the changes and run the study again, "
                "or publish them with --unclean"
            )


def _commits(commits: Sequence[str]) -> str:
    texts = []
    for commit in dict.fromkeys(commits):
        name, mark, _ = commit.partition(CHANGED)
        text = f"from commit {name[:12]}" if name else "from a commit that was not recorded"
        texts.append(text + (" with changes that were not committed" if mark else ""))
    return " and ".join(texts)
