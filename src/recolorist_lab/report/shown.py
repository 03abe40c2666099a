"""Tables and figures of every kind of study, from rows of the ledger. Rows without a result take part: they are the gaps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial as partial_of
from typing import TYPE_CHECKING, Any, Final

from recolorist.errors import OptionError
from recolorist_lab.report.sections import Cells, Row, Section
from recolorist_lab.report.tables import Table
from recolorist_lab.runs.config import Json
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.studies.pages import GAP, finished, has_result, markdown

if TYPE_CHECKING:
    from recolorist_lab.data.cards import Card

__all__ = ["SHOWN", "plain"]


def _spaces(made: Section, cells: Cells, _: Ledger) -> None:
    """Grids whose names agree up to a hyphen are one table: the same protocol on other data."""
    families: dict[str, list[Row]] = defaultdict(list)
    for _cell, row in cells:
        families[str(row["grid"]).partition("-")[0]].append(row)
    for family, rows in families.items():
        part = Section("", "")
        _family_of_spaces(part, rows)
        several = len(families) > 1
        mark, words = (f"{family}-", f" (grid “{family}”)") if several else ("", "")
        made.basis += [f"Grid “{family}”: {told}" if several else told for told in part.basis]
        made.tables |= {mark + name: replace(table, title=table.title + words) for name, table in part.tables.items()}
        made.figures |= {mark + name: figure for name, figure in part.figures.items()}


def _family_of_spaces(made: Section, rows: Sequence[Row]) -> None:
    from recolorist_lab.paper import numbers as paper
    from recolorist_lab.studies.spaces import figure as spaces_figure
    from recolorist_lab.studies.spaces import table as spaces_table

    scores = spaces_table.Scores.of(rows)
    of_paper = [row for row in rows if row["method"] == "mean_std"]
    marks = _MARKS if any(space not in paper.SPACES for space in scores.spaces) else ""
    if of_paper:
        title = "Mean–std matching in every space, with the paper's printed and corrected numbers"
        more = " ".join(words for words in (_LAST_DIGIT, marks, _UNMEASURED if _lacks(rows, "artfid") else "") if words)
        made.table("spaces", title, spaces_table.table_one(scores), of_paper, more)
        agreed = spaces_table.agreement(scores)
        told = any(cell[-1].isdigit() for row in Table.parsed(agreed).rows for cell in row[1:] if cell)
        if told or len(scores.cells) < len(scores.expected):
            made.table("agreement", "Rank correlation of our spaces with the paper's", agreed, of_paper)
    metric = "wasserstein" if _lacks(rows, "artfid") else "artfid"
    name = spaces_table.CALLED[metric]
    if len(scores.methods) > 1:
        text = spaces_table.by_method(scores, metric)
        made.table("methods", f"{name} of every method", text, rows, _MARKS if "†" in text else "")
        words = f"{name}, mean over datasets (lower is better)"
        draw = partial_of(spaces_figure.methods, scores, metric, words)
        made.figure("methods", f"{name} of every space and method", draw, rows)
    if len(scores.datasets) > 1:
        made.table("datasets", f"{name} on every dataset", spaces_table.by_dataset(scores, metric=metric), of_paper, marks)
    _significance(made, scores, metric, rows)
    made.table("sizes", "What was compared", spaces_table.sizes(scores), rows)


_MARKS: Final = "† is not in the paper."
_LAST_DIGIT: Final = (
    "The corrected ArtFID is what the authors gave after 45 runs had recorded 100 for an FID that failed; “last digit”: it moves "
    "there, and the new value was not given."
)
_UNMEASURED: Final = (
    "LPIPS, FID, KID and ArtFID need networks whose weights these runs did not ask for; they were left out, and no number stands "
    "in for them."
)


def _lacks(rows: Sequence[Row], metric: str) -> bool:
    return all(row.get(f"result.{metric}") is None for row in rows)


def _significance(made: Section, scores: Any, metric: str, rows: Sequence[Row]) -> None:
    """The tests of section 3.1 and the critical-difference diagram, where the table is complete and large enough."""
    from recolorist_lab.studies.spaces import figure as spaces_figure
    from recolorist_lab.studies.spaces import statistics as spaces_statistics

    if len(scores.datasets) < 2 or len(scores.methods) < 3 or len(scores.spaces) < 2:
        made.basis.append("Nothing is tested: tests need two datasets, two spaces and three methods.")
        return
    try:
        tests = spaces_statistics.significance(scores, metric)
    except OptionError as error:
        made.basis.append(f"Nothing is tested: {error}.")
        return
    least = f"Tests are of means over seeds. The smallest p that {len(tests.datasets)} datasets can give is {tests.smallest:.2g}."
    made.table("friedman", "Friedman's test of the methods in every space", spaces_statistics.friedman_table(tests), rows, least)
    words = "Wilcoxon's signed-rank test of mean–std against the other methods"
    made.table("against-methods", words, spaces_statistics.method_table(tests), rows, least)
    words = "Wilcoxon's signed-rank test of RGB against the other spaces"
    made.table("against-spaces", words, spaces_statistics.space_table(tests), rows, f"{_printed_tests()} {least}")
    draw = partial_of(spaces_figure.ranks, tests)
    made.figure("ranks", "Critical difference of the colour spaces under mean–std matching", draw, rows)


def _printed_tests() -> str:
    from recolorist_lab.paper.numbers import TESTS

    told = "; ".join(f"{one.what}, p = {one.p:g}, Z = {one.z:.2f}, r = {one.r:.2f}" for one in TESTS)
    return f"The paper prints: {told}."


def _cost(made: Section, cells: Cells, _: Ledger) -> None:
    from recolorist_lab.studies.spaces import figure as spaces_figure
    from recolorist_lab.studies.spaces import page as spaces_page

    for number, (cell, row) in enumerate((cell, row) for cell, row in cells if has_result(row)):
        rows = [{**row, "grid": "cost"}]
        mark = f"-{number}" if number else ""
        title = f"What a transfer costs in every space, {cell.config.size} pixels a side"
        made.table(f"cost{mark}", title, spaces_page.cost_table(rows), [row])
        draw = partial_of(spaces_figure.costs, spaces_page.cost(rows), cell.config.size)
        made.figure(f"cost{mark}", title, draw, [row])


def _properties(made: Section, cells: Cells, ledger: Ledger) -> None:
    from recolorist_lab.studies.properties import figure as properties_figure
    from recolorist_lab.studies.properties import table as properties_table
    from recolorist_lab.studies.properties.table import family

    by_family: dict[str, list[Row]] = defaultdict(list)
    for _, row in cells:
        by_family[family(row)].append(row)
    compared = [*by_family["paper"], *by_family["native"]]
    if compared:
        title = "Correlation and clipping, with the paper's figures"
        made.table("comparison", title, properties_table.comparison(compared), compared)
    limited = [row for name in properties_table.LIMITS for row in by_family[name]]
    if limited:
        made.table("limits", "Holding the transform back", properties_table.limits(limited), limited)
    if finished([*by_family["gain"], *by_family["clip"]]):
        made.figure("limits", "What holding back changes", lambda: properties_figure.limits(limited), limited)
    if by_family["space"]:
        made.table("spaces", "The same in other colour spaces", properties_table.spaces(by_family["space"]), by_family["space"])
    shown = _instances(cells, ledger)
    if shown:
        draw = partial_of(properties_figure.clipping, shown)
        made.figure("clipping", "Clipping and correlation of every channel", draw, compared)


def _instances(cells: Cells, ledger: Ledger) -> dict[str, dict[str, Any]]:
    """Every channel of every pair, by dataset and size; the seeds of one are put together."""
    import numpy as np

    from recolorist_lab.studies.properties import cell as properties
    from recolorist_lab.studies.properties import figure as properties_figure
    from recolorist_lab.studies.properties.table import family, titled

    mine = [(cell, row) for cell, row in cells if family(row) in ("paper", "native") and has_result(row)]
    several = len({row["size"] for _, row in mine}) > 1
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for cell, row in mine:
        size = f", {row['size']} px" if row["size"] else ", own size"
        name = titled(str(row["dataset"])) + (size if several else "")
        found[name].append(properties_figure.instances(ledger.result(cell).read(properties.FILE)))
    return {name: {key: np.concatenate([one[key] for one in each]) for key in each[0]} for name, each in found.items()}


def _classify(made: Section, cells: Cells, _: Ledger) -> None:
    from recolorist_lab.data.registry import CARDS
    from recolorist_lab.studies.classify import table as classify_table

    rows = [row for _, row in cells]
    rest = [row for row in rows if row.get("probability") is None]
    known = [row for row in rest if row["dataset"] in CARDS]
    if known:
        title = "Balanced accuracy on the test images, the paper's in brackets"
        made.table("main", title, classify_table.main_table(known), known)
        made.table("datasets", "Every dataset, what the authors published in brackets", classify_table.by_dataset(known), known)
        made.table("data", "The datasets, counted here and as the paper prints them", _datasets(cells))
    _others(made, [row for row in rest if row["dataset"] not in CARDS])
    _swept(made, [row for row in rows if row.get("probability") is not None])


def _others(made: Section, rows: Sequence[Row]) -> None:
    """Data the paper does not have: the synthetic hospitals, and one's own."""
    from recolorist_lab.studies.classify import hospitals as hospitals_table

    for number, dataset in enumerate(dict.fromkeys(str(row["dataset"]) for row in rows)):
        mine, mark = [row for row in rows if row["dataset"] == dataset], f"-{number}" if number else ""
        if dataset.partition(":")[0] == "synthetic" and any("result.val_split.balanced_accuracy" in row for row in mine):
            title = "Balanced accuracy on synthetic hospitals: the source, and two that nobody trained on"
            made.table(f"hospitals{mark}", title, hospitals_table.methods(mine), mine, f"Data: {dataset}.")
        else:
            made.table(f"scored{mark}", f"Balanced accuracy on {dataset}", hospitals_table.scored(mine), mine)


def _swept(made: Section, rows: Sequence[Row]) -> None:
    from recolorist_lab.data.registry import CARDS
    from recolorist_lab.studies.classify import hospitals as hospitals_table
    from recolorist_lab.studies.probability import figure as probability_figure
    from recolorist_lab.studies.probability import table as probability_table

    there = finished(rows)
    title = "Balanced accuracy against the probability of the augmentation"
    if there and all(row["dataset"] in CARDS for row in rows):
        made.table("probabilities", title, probability_table.table(rows), rows)
        made.figure("sweep", title, lambda: probability_figure.sweep(there), rows)
    elif there:
        same = [{**row, "grid": "probability"} for row in rows]
        made.table("probabilities", f"{title}, synthetic hospitals", hospitals_table.probabilities(same), rows)
        made.figure("sweep", f"{title}, synthetic hospitals", lambda: probability_figure.hospitals(there), rows)


def _datasets(cells: Cells) -> str:
    """The paper's table of datasets from the manifests that the runs were made with."""
    from recolorist_lab.data.describe import stats_rows
    from recolorist_lab.data.named import ABSENT, named
    from recolorist_lab.data.registry import CARDS
    from recolorist_lab.data.statistics import summary

    found = {str(row["dataset"]): cell.config.root for cell, row in cells if row["dataset"] in CARDS and cell.data != ABSENT}
    head, *body = stats_rows([summary(named(name, found[name]).manifest, CARDS[name]) for name in CARDS if name in found])
    return markdown([*head[:-1], "verdict"], [*body, *(_uncounted(card) for card in CARDS.values() if card.key not in found)])


def _uncounted(card: Card) -> list[str]:
    """A dataset whose manifest is not here: only what the paper prints."""
    want = card.expected
    sizes = " / ".join(f"{size:,}" for size in want.sizes.values())
    return [card.title, str(len(card.classes)), GAP, sizes, GAP, f"{want.ir:.2f}", GAP, f"{want.entropy:.4f}", "not counted here"]


def _transfer(made: Section, cells: Cells, ledger: Ledger) -> None:
    from recolorist_lab.studies.transfer import cell as transfer
    from recolorist_lab.studies.transfer import figure as transfer_figure
    from recolorist_lab.studies.transfer import table as transfer_table

    rows = [row for _, row in cells]
    more = _UNMEASURED if _lacks(rows, "artfid") else ""
    made.table("transfer", "The metrics of every method, the paper's in brackets", transfer_table.table(rows), rows, more)
    kept: dict[str, dict[str, Any]] = defaultdict(dict)
    titles: dict[str, str] = {}
    for cell, row in sorted(cells, key=lambda one: one[1]["method"] != transfer.COLORIST):
        name = transfer_table.label(row)
        if has_result(row) and name not in kept[str(row["dataset"])]:
            kept[str(row["dataset"])][name] = transfer_table.shown(ledger.result(cell).read(transfer.SHOWN))
            titles[name] = name
    found = transfer_figure.examples({dataset: methods for dataset, methods in kept.items() if methods})
    own = transfer_table.title(transfer.COLORIST)
    if all(own in one.outputs for one in found):
        words = "Content, style and result of Colorist, pairs that the runs kept"
        made.figure("triplets", words, lambda: transfer_figure.triplets(found, own))
    made.figure("qualitative", "Every method on the same pairs", lambda: transfer_figure.qualitative(found, titles), rows)


_LISTED: Final = 40  # trainings; more is no table that anybody reads


def _trained(made: Section, cells: Cells, _: Ledger) -> None:
    from recolorist_lab.studies.transfer import table as transfer_table

    rows = [row for _, row in cells]
    if len(rows) > _LISTED:
        made.basis.append(f"{len(rows)} trainings are behind it; `recolorist-lab sweep export` lists them.")
        return
    made.table("training", "What the rivals learnt from", transfer_table.budget(rows), rows)


def _runtime(made: Section, cells: Cells, _: Ledger) -> None:
    from recolorist_lab.studies.runtime import figure as runtime_figure
    from recolorist_lab.studies.runtime import table as runtime_table

    rows = [row for _, row in cells]
    for device in dict.fromkeys(str(row["device"]) for row in rows if row["grid"] == "latency"):
        mine = [row for row in rows if row["grid"] == "latency" and row["device"] == device]
        made.table(f"latency-{device}", f"Time of one image on {device}", runtime_table.latency(rows, device), mine, _PERCENTILES)
        made.table(f"energy-{device}", f"Energy of one image on {device}", runtime_table.energy(rows, device), mine)
        for quantity, title in (("mean_ms", "Time"), ("energy_mwh", "Energy")) if finished(mine) else ():
            draw = partial_of(runtime_figure.bars, rows, quantity, device)
            made.figure(f"{title.lower()}-{device}", f"{title} of one image on {device}", draw, mine)
    grown = [row for row in rows if str(row["grid"]).partition("-")[0] == "growth"]
    if finished(grown):
        made.table("growth", "Time against the side of the image, milliseconds", runtime_table.growth(rows), grown)
        made.figure("growth", "Time against the side of the image", lambda: runtime_figure.growth(rows), grown)


_PERCENTILES: Final = "P50 to P99 are percentiles over the iterations of a run, which are its spread."


def plain(made: Section, cells: Cells, _: Ledger) -> None:
    """A study without a form of its own: its rows, one a line."""
    hidden = {"selection", "run"}
    rows = [row for _, row in cells]
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in hidden]
    lines = [[_word(row.get(name)) if name in row else GAP for name in names] for row in rows]
    made.table(cells[0][0].kind, "Every cell", markdown([name.removeprefix("result.") for name in names], lines), rows)


def _word(value: Json) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "–" if value is None else str(value).replace("|", "/")


SHOWN: Final[Mapping[str, Callable[[Section, Cells, Ledger], None]]] = {
    "spaces": _spaces,
    "transfer_cost": _cost,
    "properties": _properties,
    "classify": _classify,
    "transfer": _transfer,
    "transfer_train": _trained,
    "runtime": _runtime,
}
