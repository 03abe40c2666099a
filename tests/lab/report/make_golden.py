"""Write the golden tables anew: ``python -m tests.lab.report.make_golden --yes``. Never run by the tests.

Read the difference before it is committed: every changed character is one that readers of a report would see change.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from recolorist_lab.report.sections import section_of
from recolorist_lab.report.writers import FORMS, write
from recolorist_lab.runs.ledger import Ledger
from recolorist_lab.runs.study import Study
from tests.lab.report import invented

GOLDEN = Path(__file__).parent / "golden"


def complete(studies: list[Study], ledger: Ledger) -> dict[str, str]:
    """All tables of all studies in each form, one after the other."""
    sections = [section_of(study, ledger) for study in studies]
    return {f"tables{form}": "\n".join(write(table, form) for one in sections for table in one.tables.values()) for form in FORMS}


def with_gaps(studies: list[Study], ledger: Ledger) -> str:
    """All tables as they are printed with gaps; run ids depend on the sources, and are left out."""
    sections = [section_of(study, ledger, partial=True) for study in studies]
    text = "\n".join(write(table, ".md") for one in sections for table in one.tables.values())
    return re.sub(r"\b[0-9a-f]{12}\b", "RUN", text)


#: What is taken out of the ledger: the first cell of every grid.
def taken(study: Study) -> list[str]:
    """Run ids."""
    return [cells[0].run_id for cells in study.grids().values()]


def main() -> None:
    """Make the files."""
    if sys.argv[1:] != ["--yes"]:
        raise SystemExit("this replaces the golden tables; read the top of this file, then pass --yes")
    with tempfile.TemporaryDirectory() as folder:
        studies, ledger = invented.studies(Path(folder)), Ledger(Path(folder) / "ledger")
        for study in studies:
            invented.fill(ledger, study)
        for name, text in complete(studies, ledger).items():
            (GOLDEN / name).write_text(text, "utf-8")
        for study in studies:
            for cell in study.cells:
                if cell.run_id in taken(study):
                    ledger.remove(ledger.folder(cell))
        (GOLDEN / "gaps.md").write_text(with_gaps(studies, ledger), "utf-8")


if __name__ == "__main__":
    main()
