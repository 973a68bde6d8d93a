"""The hospital table encoded for prediction (``plain``).

Indicators come from lists in this module, the texts that the schema knows. Only diagnosis,
procedure and DRG have open lists: each becomes one number, the mean stay of the *public* rows of
that code, in days,

    (Σ y + 10 ȳ)/(m + 10)  over its m public rows; ȳ, the mean of all public rows, if it has none.

So no dictionary, scale or imputation is learned from private rows. All five age groups have an
indicator, so that a model without intercept has one.

Not used, and why: the outcome (Patient Disposition, Total Charges, Total Costs); who treated
(license numbers) and where (area, county, facility: it is the owner); Zip Code; Payment Typology 2
and 3; Birth Weight; Discharge Year; descriptions of codes. Severity, risk of mortality and DRG are
coded at discharge, as the diagnosis is: they are no knowledge of the first day.
"""

import re
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import if_any
from asyncdp_sim.data.declared_columns import (
    available,
    choose,
    encoded,
    indicators,
    lacking,
    same_name,
)
from asyncdp_sim.data.tables.read import column_names, read_table
from asyncdp_sim.data.tables.rows import OnDemand, Rows, nearest, require_column
from asyncdp_sim.data.tables.text_columns import map_text, number_in, numbers

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


_GRADES = (("Minor",), ("Moderate", "Major", "Extreme"))
INDICATORS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Age Group": ((), ("0 to 17", "18 to 29", "30 to 49", "50 to 69", "70 or Older")),
    "Gender": (("M", "U"), ("F",)),
    "Race": (("White",), ("Black/African American", "Multi-racial", "Other Race")),
    "Ethnicity": (("Not Span/Hispanic",), ("Spanish/Hispanic", "Multi-ethnic", "Unknown")),
    "Type of Admission": (
        ("Elective", "Not Available"),
        ("Emergency", "Urgent", "Newborn", "Trauma"),
    ),
    "Emergency Department Indicator": (("N",), ("Y",)),
    "APR Severity of Illness Description": _GRADES,
    "APR Risk of Mortality": _GRADES,
    "APR Medical Surgical Description": (("Medical", "Not Applicable"), ("Surgical",)),
    "Payment Typology 1": (
        ("Miscellaneous/Other", "Unknown"),
        (
            "Medicaid",
            "Medicare",
            "Private Health Insurance",
            "Blue Cross/Blue Shield",
            "Managed Care, Unspecified",
            "Self-Pay",
            "Federal/State/Local/VA",
            "Department of Corrections",
        ),
    ),
}
"""Column → texts for which no indicator is set, and those with one each."""

CODES = ("CCS Diagnosis Code", "CCS Procedure Code", "APR DRG Code")
MEAN_STAY = "{}, mean stay"
PRIOR_ROWS = 10
"""Weight of the mean stay of all public rows beside a code's own."""


DECLARED = (
    *(
        column
        for name, (_, listed) in INDICATORS.items()
        for column in indicators(name, {text: (text,) for text in listed})
    ),
    *same_name(map(MEAN_STAY.format, CODES), numbers),
)


def encode(frame: "pd.DataFrame", public_records: int) -> OnDemand:
    """Encode a table of discharges, their target NaN where no length of stay is known.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns by their names of 2015.
    public_records : int
        How many of the last rows tell the codes' mean stays; with 0 the codes are left out.
    """
    target = map_text(frame[TARGET], number_in)
    notes = _notes(frame, public_records)
    frame = frame.copy(deep=False)
    if public_records > 0:
        public = slice(max(len(frame) - public_records, 0), None)
        for name in CODES:
            if name in frame.columns:
                frame[MEAN_STAY.format(name)] = _mean_stays(frame[name], target, public)
    return encoded(frame, available(DECLARED, frame.columns), target, notes)


def _groups(column: "pd.Series") -> Rows:
    """Return a number from 0 per distinct value, the same for all its rows; −1 where missing."""
    places: dict[str, int] = {}
    codes = map_text(column, lambda text: places.setdefault(text, len(places)))
    return np.where(np.isnan(codes), -1, codes).astype(np.int64)


def _mean_stays(column: "pd.Series", target: Array, public: slice) -> Array:
    codes = _groups(column) + 1  # 0 where no code is given
    has_stay = ~np.isnan(target[public])
    stays, of = target[public][has_stay], codes[public][has_stay]
    kinds = int(codes.max()) + 1
    rows = np.bincount(of, minlength=kinds)
    days = np.bincount(of, weights=stays, minlength=kinds)
    middle = stays.mean() if len(stays) > 0 else 0.0
    means = (days + PRIOR_ROWS * middle) / (rows + PRIOR_ROWS)
    return np.asarray(means[codes])


def _notes(frame: "pd.DataFrame", public_records: int) -> tuple[str, ...]:
    unlisted = 0
    for name, texts in INDICATORS.items():
        if name in frame.columns:
            listed = dict.fromkeys((*texts[0], *texts[1]), 0.0)
            unlisted += int(choose(frame[name], listed, 1.0).sum())
    codes = [name for name in CODES if name in frame.columns]
    codes_text, without = "; diagnosis, procedure and DRG as public rows' mean stays", []
    if public_records == 0:
        codes_text = ""
        without = [f"Without public rows no mean stay is known, left out: {', '.join(codes)}."]
    return (
        f"Encoded as indicators of the schema's texts{codes_text}.",
        *if_any(
            "{stays} lengths of stay were given as a lower limit (120 +): read as 120.",
            stays=capped(frame),
        ),
        *if_any(
            "{values} values are missing or not in the schema: no indicator is set.",
            values=unlisted,
        ),
        *without,
        *lacking("Columns missing from the table, left out", (*INDICATORS, *CODES), frame.columns),
    )
