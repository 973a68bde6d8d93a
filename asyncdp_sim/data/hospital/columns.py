"""New York's inpatient discharges (SPARCS): which columns there are, whatever their names' form.

The table was published once a year, and its columns were renamed on the way: "Facility Id" of
2015 is "Permanent Facility Id" later, CCS codes became CCSR codes, and extracts write names with
dots or short ones of their own. Here a column goes by its name of 2015, and capitals, dots and
blanks are all one.
"""

import re
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.data.declared_columns import if_any
from asyncdp_sim.data.tables.names import nearest, require_column
from asyncdp_sim.data.tables.read import column_names, read_table
from asyncdp_sim.data.tables.text_columns import map_text, number_in

if TYPE_CHECKING:
    import pandas as pd

HOSPITAL, TARGET = "Facility Id", "Length of Stay"
"""The column that names the hospital, and the one to predict (days)."""

NAMES: dict[str, tuple[str, ...]] = {
    HOSPITAL: ("Permanent Facility Id",),
    TARGET: ("LOS",),
    "Age Group": ("Age",),
    "Gender": (),
    "Race": (),
    "Ethnicity": (),
    "Type of Admission": (),
    "Emergency Department Indicator": (),
    "CCS Diagnosis Code": ("CCSR Diagnosis Code",),
    "CCS Procedure Code": ("CCSR Procedure Code",),
    "APR DRG Code": (),
    "APR MDC Code": (),
    "APR Severity of Illness Description": ("IllSeverityDesc",),
    "APR Risk of Mortality": ("DeathRisk",),
    "APR Medical Surgical Description": (),
    "Payment Typology 1": ("Source of Payment 1",),
}
"""Name of 2015 → its other names."""

NEEDED = (TARGET, "Age Group", "Gender", "CCS Diagnosis Code", "APR DRG Code")


def name_of_2015(name: str) -> str:
    """Return what a column was called in 2015; the name itself if it is none that is used."""
    for published, later_names in NAMES.items():
        if _bare(name) in map(_bare, (published, *later_names)):
            return published
    return name


def read_discharges(path: str, split: str | None = None) -> tuple["pd.DataFrame", tuple[str, ...]]:
    """Return a table's discharges, its used columns named as in 2015, and notes.

    Columns that are neither used nor ``split`` are left out. Rows without a length of stay are not.

    Raises
    ------
    DataError
        On ``data.path``; on ``data.split``, when there is no such column.
    """
    present = {name: name_of_2015(name) for name in column_names(path)}
    missing = [name for name in NEEDED if name not in present.values()]
    if missing:
        raise DataError([_lacks(name, list(present)) for name in missing])
    taken: set[str] = set(present) & set(NAMES)  # a name of 2015 comes before its other forms
    renamed = {}
    for name, published in present.items():
        if name != published and published not in taken:
            renamed[name] = published
            taken.add(published)
    kept = {*NAMES, *renamed}
    if split is not None and name_of_2015(split) not in taken:
        require_column(split, [renamed.get(name, name) for name in present])
        kept.add(split)
    frame = read_table(path, wanted=kept.__contains__).rename(columns=renamed)
    return frame, stays(frame)


def stays(frame: "pd.DataFrame") -> tuple[str, ...]:
    """Return a note where a length of stay is not known.

    Raises
    ------
    DataError
        On ``data.path``, when there is none.
    """
    has_stay = ~np.isnan(map_text(frame[TARGET], number_in))
    if not has_stay.any():
        rule = f"no row has a number in {TARGET!r}"
        raise DataError([Fault("data.path", f"a table of {len(frame)} rows", rule)])
    lost = int(np.count_nonzero(~has_stay))
    return if_any("{rows} rows have no length of stay.", rows=lost)


def capped(frame: "pd.DataFrame") -> int:
    """Return how many lengths of stay are a lower limit ("120 +")."""
    return int(np.nansum(map_text(frame[TARGET], lambda text: float("+" in text))))


def _lacks(name: str, columns: list[str]) -> Fault:
    rule = f"allowed is a table of SPARCS inpatient discharges; {nearest(name, columns)}"
    return Fault("data.path", f"a table without a column {name!r}", rule)


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
