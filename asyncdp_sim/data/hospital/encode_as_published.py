"""The hospital table encoded as in the authors' published experiment (``as-published``).

Nine columns, every category an integer; rows with anything missing are dropped, and with them the
stays of "120 +" days, which are no numbers. The published order of the lists of race, ethnicity
and admission is not known; here it is that of :data:`LISTS`.

Which rows there are thus depends on private cells: no encoding of a guarantee, and labelled so.

Later years differ, and are made to fit: a CCSR code ("MUS009") becomes 100 times the place of its
chapter in the alphabet of chapters, plus its number; an empty procedure is 0, no procedure; a
table without MDC gets it from the DRG's number, whose ranges are those of the APR grouper.
"""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.messages import if_any
from asyncdp_sim.data.dataset import OnDemand
from asyncdp_sim.data.declared_columns import (
    EncodedColumn,
    available,
    encoded,
    lacking,
    place_in,
    same_name,
)
from asyncdp_sim.data.hospital.encode_plain import TARGET
from asyncdp_sim.data.tables.text_columns import map_text, number_in, number_or_nan

if TYPE_CHECKING:
    import pandas as pd

LISTS: dict[str, tuple[str, ...]] = {
    "Gender": ("M", "F"),
    "Race": ("White", "Black/African American", "Multi-racial", "Other Race"),
    "Ethnicity": ("Not Span/Hispanic", "Spanish/Hispanic", "Multi-ethnic", "Unknown"),
    "Type of Admission": ("Emergency", "Urgent", "Elective", "Newborn", "Trauma", "Not Available"),
}
"""A text's code is its place, from 1; any other text has the next number."""

_DIAGNOSES = """BLD CIR DEN DIG EAR END EXT EYE FAC GEN INF INJ MAL MBD MUS NEO NVS PNL PRG RSP SKN
SYM"""
_PROCEDURES = """ADM CAR CNS ENP ENT ESA EST EYP FRS GIS GNR HEP IMG LYM MAM MHT MRS MST NCM OST
OTR PGN PLC PNS RAD RES RHB SKB SUD URN"""
DIAGNOSES, PROCEDURES = tuple(_DIAGNOSES.split()), tuple(_PROCEDURES.split())

_FIRST_DRG = """20 70 89 120 160 220 260 300 360 400 440 480 510 539 580 650 680 710 740 770 790 840
850 890 910 950"""
FIRST_DRG = np.array([int(number) for number in _FIRST_DRG.split()])
"""First DRG of MDC 1…25 (those before belong to none, 0), then of the DRGs without one."""


def mdc_of_drg(drg: Array) -> Array:
    """Return the major diagnostic category of APR DRG numbers; 0 for none, NaN for NaN."""
    category = np.searchsorted(FIRST_DRG, drg, side="right") % len(FIRST_DRG)
    return np.where(np.isnan(drg), np.nan, category)


def _place_or_nan(texts: tuple[str, ...], column: "pd.Series") -> Array:
    return np.where(column.isna(), np.nan, place_in(texts, column))


def _in_chapter(chapters: tuple[str, ...], text: str) -> float:
    text = text.strip()
    if text[:3] in chapters:
        return 100 * (chapters.index(text[:3]) + 1) + number_in(text[3:])
    return number_or_nan(text)


_number = partial(map_text, code=number_or_nan)
_DRG, _MDC = "APR DRG Code", "APR MDC Code"
DECLARED = (
    EncodedColumn(
        "Age Group", ("Age Group",), partial(map_text, code=number_in)
    ),  # "18 to 29": the first
    *(EncodedColumn(name, (name,), partial(_place_or_nan, texts)) for name, texts in LISTS.items()),
    *same_name(["CCS Diagnosis Code"], partial(map_text, code=partial(_in_chapter, DIAGNOSES))),
    *same_name(
        ["CCS Procedure Code"],
        lambda c: np.where(c.isna(), 0.0, map_text(c, partial(_in_chapter, PROCEDURES))),
    ),
    *same_name([_DRG, _MDC], _number),
    EncodedColumn(_MDC, (_DRG,), lambda column: mdc_of_drg(_number(column))),
)
COLUMNS = tuple(dict.fromkeys(column.name for column in DECLARED))


def encode(frame: "pd.DataFrame") -> OnDemand:
    """Encode a table of discharges in which nothing is missing (:func:`complete`)."""
    used = available(DECLARED, frame.columns)
    notes = ["Encoded as published: every category is an integer."]
    if _MDC not in frame.columns:
        notes.append("APR MDC Code: worked out from the DRG's number.")
    names = [column.name for column in used]
    notes += lacking("Published columns that the table lacks", COLUMNS, names)
    return encoded(frame, used, _number(frame[TARGET]), notes)


def complete(frame: "pd.DataFrame") -> tuple["pd.DataFrame", tuple[str, ...]]:
    """Return the rows with nothing missing, and notes."""
    complete_rows = ~np.isnan(_number(frame[TARGET]))
    for column in available(DECLARED, frame.columns):
        complete_rows &= ~np.isnan(column.of(frame))
    dropped = int(np.count_nonzero(~complete_rows))
    if dropped > 0:
        frame = frame[complete_rows]
    return frame, if_any(
        "As published, {rows} rows with missing values or stays of 120 + days were dropped.",
        rows=dropped,
    )
