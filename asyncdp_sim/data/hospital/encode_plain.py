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

from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.data.dataset import Array, OnDemand, Rows, stacked
from asyncdp_sim.data.hospital.columns import TARGET, capped
from asyncdp_sim.data.tables.text_columns import choose, groups, map_text, number_in, some_rows
from asyncdp_sim.notices import Counted

if TYPE_CHECKING:
    import pandas as pd

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
PRIOR_ROWS = 10
"""Weight of the mean stay of all public rows beside a code's own."""


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
    unlisted = 0
    for name, texts in INDICATORS.items():
        if name in frame.columns:
            listed = dict.fromkeys((*texts[0], *texts[1]), 0.0)
            unlisted += int(choose(frame[name], listed, 1.0).sum())
    codes = [name for name in CODES if name in frame.columns]
    stays: dict[str, Array] = {}
    if public_records > 0:
        public = slice(max(len(frame) - public_records, 0), None)
        for name in codes:
            stays[f"{name}, mean stay"] = _mean_stays(frame[name], target, public)
    columns = (*_indicators(frame.iloc[:0]), *stays)

    def encoded(rows: Rows) -> Array:
        indicators = _indicators(some_rows(frame, rows)).values()
        values = (*indicators, *(days[rows] for days in stays.values()))
        return stacked(values, len(rows), len(columns))

    notes = _notes(frame, unlisted, codes, public_records)
    return OnDemand(encoded, target, columns, notes)


def _indicators(frame: "pd.DataFrame") -> dict[str, Array]:
    return {
        f"{name}={text}": choose(frame[name], {text: 1.0}, 0.0)
        for name, (_, listed) in INDICATORS.items()
        if name in frame.columns
        for text in listed
    }


def _mean_stays(column: "pd.Series", target: Array, public: slice) -> Array:
    codes = groups(column) + 1  # 0 where no code is given
    known = ~np.isnan(target[public])
    stays, of = target[public][known], codes[public][known]
    kinds = int(codes.max()) + 1
    rows = np.bincount(of, minlength=kinds)
    days = np.bincount(of, weights=stays, minlength=kinds)
    middle = stays.mean() if len(stays) > 0 else 0.0
    means = (days + PRIOR_ROWS * middle) / (rows + PRIOR_ROWS)
    return np.asarray(means[codes])


def _notes(
    frame: "pd.DataFrame", unlisted: int, codes: list[str], public_records: int
) -> tuple[str, ...]:
    said = ["Encoded as indicators of the schema's texts; diagnosis, procedure and DRG as public "
            "rows' mean stays."]  # fmt: skip
    longest = capped(frame)
    if longest > 0:
        said.append(
            Counted(
                "{stays} lengths of stay were given as a lower limit (120 +): read as 120.",
                stays=longest,
            )
        )
    if unlisted > 0:
        said.append(
            Counted(
                "{values} values are missing or not in the schema: no indicator is set.",
                values=unlisted,
            )
        )
    if public_records == 0:
        said[0] = "Encoded as indicators of the schema's texts."
        said.append(f"Without public rows no mean stay is known, left out: {', '.join(codes)}.")
    absent = [name for name in (*INDICATORS, *CODES) if name not in frame.columns]
    if absent:
        said.append(f"Columns that the table lacks, left out: {', '.join(absent)}.")
    return tuple(said)
