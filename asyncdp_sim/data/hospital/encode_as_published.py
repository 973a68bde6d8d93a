"""The hospital table encoded as in the authors' published experiment (``as-published``).

Nine columns, every category an integer; rows with anything missing are dropped, and with them the
stays of "120 +" days, which are no numbers. The published order of the lists of race, ethnicity
and admission is not known; here it is that of :data:`LISTS`.

Which rows there are thus depends on private cells: no encoding of a guarantee, and labelled so.

Later years differ, and are made to fit: a CCSR code ("MUS009") becomes 100 times the place of its
chapter in the alphabet of chapters, plus its number; an empty procedure is 0, no procedure; a
table without MDC gets it from the DRG's number, whose ranges are those of the APR grouper.
"""

from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.data.dataset import Array, OnDemand, Rows, stacked
from asyncdp_sim.data.hospital.columns import TARGET
from asyncdp_sim.data.tables.text_columns import (
    choose,
    map_text,
    number_in,
    number_or_nan,
    some_rows,
)
from asyncdp_sim.notices import Counted

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "Age Group",
    "Gender",
    "Race",
    "Ethnicity",
    "Type of Admission",
    "CCS Diagnosis Code",
    "CCS Procedure Code",
    "APR DRG Code",
    "APR MDC Code",
)
LISTS: dict[str, tuple[str, ...]] = {
    "Gender": ("M", "F"),
    "Race": ("White", "Black/African American", "Multi-racial", "Other Race"),
    "Ethnicity": ("Not Span/Hispanic", "Spanish/Hispanic", "Multi-ethnic", "Unknown"),
    "Type of Admission": (
        "Emergency",
        "Urgent",
        "Elective",
        "Newborn",
        "Trauma",
        "Not Available",
    ),
}
"""A text's code is its place, from 1; any other text has the next number."""

_DIAGNOSES = """BLD CIR DEN DIG EAR END EXT EYE FAC GEN INF INJ MAL MBD MUS NEO NVS PNL PRG RSP SKN
SYM"""
_PROCEDURES = """ADM CAR CNS ENP ENT ESA EST EYP FRS GIS GNR HEP IMG LYM MAM MHT MRS MST NCM OST
OTR PGN PLC PNS RAD RES RHB SKB SUD URN"""
CHAPTERS = {
    "CCS Diagnosis Code": tuple(_DIAGNOSES.split()),
    "CCS Procedure Code": tuple(_PROCEDURES.split()),
}

_FIRST_DRG = """20 70 89 120 160 220 260 300 360 400 440 480 510 539 580 650 680 710 740 770 790 840
850 890 910 950"""
FIRST_DRG = np.array([int(number) for number in _FIRST_DRG.split()])
"""First DRG of MDC 1…25 (those before belong to none, 0), then of the DRGs without one."""


def encode(frame: "pd.DataFrame") -> OnDemand:
    """Encode a table of discharges in which nothing is missing (:func:`complete`)."""
    columns = tuple(_columns(frame.iloc[:0]))
    notes = ["Encoded as published: every category is an integer."]
    if "APR MDC Code" not in frame.columns:
        notes.append("APR MDC Code: worked out from the DRG's number.")
    absent = [name for name in COLUMNS if name not in columns]
    if absent:
        notes.append(f"Published columns that the table lacks: {', '.join(absent)}.")

    def encoded(rows: Rows) -> Array:
        return stacked(_columns(some_rows(frame, rows)).values(), len(rows), len(columns))

    return OnDemand(encoded, _stay(frame), columns, tuple(notes))


def complete(frame: "pd.DataFrame") -> tuple["pd.DataFrame", tuple[str, ...]]:
    """Return the rows with nothing missing, and notes."""
    known = ~np.isnan(_stay(frame))
    for values in _columns(frame).values():
        known &= ~np.isnan(values)
    dropped = int(np.count_nonzero(~known))
    if dropped == 0:
        return frame, ()
    note = Counted(
        "As published, {rows} rows with missing values or stays of 120 + days were dropped.",
        rows=dropped,
    )
    return frame[known].reset_index(drop=True), (note,)


def mdc_of_drg(drg: Array) -> Array:
    """Return the major diagnostic category of APR DRG numbers; 0 for none, NaN for NaN."""
    category = np.searchsorted(FIRST_DRG, drg, side="right") % len(FIRST_DRG)
    return np.where(np.isnan(drg), np.nan, category)


def _columns(frame: "pd.DataFrame") -> dict[str, Array]:
    """Return the encoded columns, NaN where missing."""
    columns: dict[str, Array] = {}
    for name in COLUMNS:
        if name in frame.columns:
            columns[name] = _column(name, frame[name])
        elif name == "APR MDC Code":
            columns[name] = mdc_of_drg(columns["APR DRG Code"])
    return columns


def _column(name: str, column: "pd.Series") -> Array:
    if name == "Age Group":
        return map_text(column, number_in)  # of "18 to 29" and "70 or Older" the first number
    if name in LISTS:
        codes = {text: float(place) for place, text in enumerate(LISTS[name], start=1)}
        coded = choose(column, codes, float(len(codes) + 1))
        return np.where(column.isna(), np.nan, coded)
    coded = map_text(column, lambda text: _code(text, CHAPTERS.get(name, ())))
    return np.where(column.isna(), 0.0, coded) if name == "CCS Procedure Code" else coded


def _code(text: str, chapters: tuple[str, ...]) -> float:
    text = text.strip()
    if text[:3] in chapters:
        return 100 * (chapters.index(text[:3]) + 1) + number_in(text[3:])
    return number_or_nan(text)


def _stay(frame: "pd.DataFrame") -> Array:
    return map_text(frame[TARGET], number_or_nan)
