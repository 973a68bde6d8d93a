"""New York's hospital discharges, real or as a synthetic twin: predict the days of a stay.

``as-published`` encodes as in the authors' published experiment.
Nine columns, every category an integer; rows with anything missing are dropped, and with them the
stays of "120 +" days, which are no numbers. The published order of the lists of race, ethnicity
and admission is not known; here it is that of ``hospital_columns.toml``.

Which rows there are thus depends on private cells: no encoding of a guarantee, and labelled so.

Later years differ, and are made to fit: a CCSR code ("MUS009") becomes 100 times the place of its
chapter in the alphabet of chapters, plus its number; an empty procedure is 0, no procedure; a
table without MDC gets it from the DRG's number, whose ranges are those of the APR grouper.

``plain`` encodes for prediction. Indicators come from ``hospital_columns.toml``, the texts that the
schema knows. Only diagnosis, procedure and DRG have open lists: each becomes one number, the mean
stay of the *public* rows of that code, in days,

    (Σ y + 10 ȳ)/(m + 10)  over its m public rows; ȳ, the mean of all public rows, if it has none.

So no dictionary, scale or imputation is learned from private rows. All five age groups have an
indicator, so that a model without intercept has one.

Not used, and why: the outcome (Patient Disposition, Total Charges, Total Costs); who treated
(license numbers) and where (area, county, facility: it is the owner); Zip Code; Payment Typology 2
and 3; Birth Weight; Discharge Year; descriptions of codes. Severity, risk of mortality and DRG are
coded at discharge, as the diagnosis is: they are no knowledge of the first day.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import Extent
from asyncdp_sim.core.specification import trait
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.declared_columns import (
    DeclaredData,
    Encode,
    EncodedColumn,
    Encoding,
    Twin,
    Write,
    available,
    coded_texts,
    draw,
    encoded,
    indicators,
    lacking,
    place_in,
    same_name,
    shipped,
)
from asyncdp_sim.data.splits import BuildRequest
from asyncdp_sim.data.tables.read import column_names, read_table
from asyncdp_sim.data.tables.rows import (
    NOTES,
    Encoded,
    OnDemand,
    nearest,
    note_if_any,
    require_column,
)
from asyncdp_sim.data.tables.text_columns import map_text, number_in, number_or_nan, numbers

if TYPE_CHECKING:
    import pandas as pd


HOSPITAL, TARGET = "Facility Id", "Length of Stay"
"""The column that names the hospital, and the one to predict (days)."""
_KNOWN = shipped("hospital_columns.toml")
NAMES: dict[str, Sequence[str]] = _KNOWN["names"]
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
        rule, faults = "allowed is a table of SPARCS inpatient discharges", list[Fault]()
        for name in missing:
            hint = f"{rule}; {nearest(name, list(present))}"
            faults.append(Fault("data.path", f"a table without a column {name!r}", hint))
        raise DataError(faults)
    used = dict[str, str]()  # a name of 2015 comes before its other forms
    for name, published in sorted(present.items(), key=lambda pair: pair[0] != pair[1]):
        if published in NAMES:
            used.setdefault(published, name)
    renamed = {name: published for published, name in used.items()}
    kept = {*renamed}
    if split is not None and name_of_2015(split) not in used:
        require_column(split, [renamed.get(name, name) for name in present])
        kept.add(split)
    frame = read_table(path, wanted=kept.__contains__).rename(columns=renamed)
    lost = int(np.isnan(map_text(frame[TARGET], number_in)).sum())
    if lost == len(frame):
        rule = f"no row has a number in {TARGET!r}"
        raise DataError([Fault("data.path", f"a table of {len(frame)} rows", rule)])
    return frame, note_if_any("hospital-without-stay", rows=lost)


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


INDICATORS: dict[str, dict[str, list[str]]] = _KNOWN["plain"]
"""Column → texts for which no indicator is set, and those with one each."""

CODES = ("CCS Diagnosis Code", "CCS Procedure Code", "APR DRG Code")
MEAN_STAY = "{}, mean stay"
PRIOR_ROWS = 10
"""Weight of the mean stay of all public rows beside a code's own."""


DECLARED = (
    *(column for name, texts in INDICATORS.items() for column in indicators(name, texts["with"])),
    *same_name(map(MEAN_STAY.format, CODES), numbers),
)


def encode_plain(frame: "pd.DataFrame", public_records: int) -> OnDemand:
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


def _mean_stays(column: "pd.Series", target: Array, public: slice) -> Array:
    """Return for each row the mean stay, in days, of the public rows of its code."""
    places: dict[str, int] = {}
    numbered = map_text(column, lambda text: places.setdefault(text, len(places) + 1))
    codes = np.nan_to_num(numbered).astype(np.int64)  # 0 where no code is given
    has_stay = ~np.isnan(target[public])
    stays, coded = target[public][has_stay], codes[public][has_stay]
    rows = np.bincount(coded, minlength=len(places) + 1)
    days = np.bincount(coded, weights=stays, minlength=len(places) + 1)
    middle = stays.mean() if len(stays) > 0 else 0.0
    means = (days + PRIOR_ROWS * middle) / (rows + PRIOR_ROWS)
    return np.asarray(means[codes])


def _notes(frame: "pd.DataFrame", public_records: int) -> tuple[str, ...]:
    long_stays = np.nansum(map_text(frame[TARGET], lambda text: float("+" in text)))
    unlisted = 0
    for name, texts in INDICATORS.items():
        if name in frame.columns:
            listed = dict.fromkeys((*texts["without"], *texts["with"]), 0.0)
            unlisted += int(coded_texts(frame[name], listed, 1.0).sum())
    coded, without = "; diagnosis, procedure and DRG as public rows' mean stays", list[str]()
    if public_records == 0:
        codes = ", ".join(name for name in CODES if name in frame.columns)
        coded, without = "", [f"Without public rows no mean stay is known, left out: {codes}."]
    return (
        f"Encoded as indicators of the schema's texts{coded}.",
        *note_if_any("hospital-long-stays", stays=int(long_stays)),
        *note_if_any("hospital-not-in-schema", values=unlisted),
        *without,
        *lacking("Columns missing from the table, left out", (*INDICATORS, *CODES), frame.columns),
    )


LISTS: dict[str, Sequence[str]] = _KNOWN["as-published"]
"""A text's code is its place, from 1; any other text has the next number."""
DIAGNOSES, PROCEDURES = (_KNOWN["codes"][name].split() for name in ("diagnoses", "procedures"))
"""Chapters of codes."""
FIRST_DRG = np.array(_KNOWN["codes"]["first_drg"])
"""First DRG of MDC 1…25 (those before belong to none, 0), then of the DRGs without one."""


def mdc_of_drg(drg: Array) -> Array:
    """Return the major diagnostic category of APR DRG numbers; 0 for none, NaN for NaN."""
    category = np.searchsorted(FIRST_DRG, drg, side="right") % len(FIRST_DRG)
    return np.where(np.isnan(drg), np.nan, category)


def _place_or_nan(texts: Sequence[str], column: "pd.Series") -> Array:
    return np.where(column.isna(), np.nan, place_in(texts, column))


def _in_chapter(chapters: Sequence[str], text: str) -> float:
    text = text.strip()
    if text[:3] in chapters:
        return 100 * (chapters.index(text[:3]) + 1) + number_in(text[3:])
    return number_or_nan(text)


_number = partial(map_text, code=number_or_nan)
_DRG, _MDC = "APR DRG Code", "APR MDC Code"
PUBLISHED = (
    *same_name(["Age Group"], partial(map_text, code=number_in)),  # "18 to 29": the first
    *(EncodedColumn(name, (name,), partial(_place_or_nan, texts)) for name, texts in LISTS.items()),
    *same_name(["CCS Diagnosis Code"], partial(map_text, code=partial(_in_chapter, DIAGNOSES))),
    *same_name(
        ["CCS Procedure Code"],
        lambda c: np.where(c.isna(), 0.0, map_text(c, partial(_in_chapter, PROCEDURES))),
    ),
    *same_name([_DRG, _MDC], _number),
    EncodedColumn(_MDC, (_DRG,), lambda column: mdc_of_drg(_number(column))),
)
COLUMNS = tuple(dict.fromkeys(column.name for column in PUBLISHED))


def encode_as_published(frame: "pd.DataFrame") -> OnDemand:
    """Encode a table of discharges in which nothing is missing (:func:`complete`)."""
    used = available(PUBLISHED, frame.columns)
    notes = ["Encoded as published: every category is an integer."]
    if _MDC not in frame.columns:
        notes.append("APR MDC Code: worked out from the DRG's number.")
    names = [column.name for column in used]
    notes += lacking("Published columns that the table lacks", COLUMNS, names)
    return encoded(frame, used, _number(frame[TARGET]), notes)


def complete(frame: "pd.DataFrame") -> tuple["pd.DataFrame", tuple[str, ...]]:
    """Return the rows with nothing missing, and notes."""
    complete_rows = ~np.isnan(_number(frame[TARGET]))
    for column in available(PUBLISHED, frame.columns):
        complete_rows &= ~np.isnan(column.encode(frame))
    dropped = int(np.count_nonzero(~complete_rows))
    if dropped > 0:
        frame = frame[complete_rows]
    return frame, note_if_any("hospital-dropped", rows=dropped)


LEAST_RECORDS = 10_000


def twin_table(
    encoding: Encoding,
    hospitals: Sequence[int],
    other_rows: int,
    public_rows: int,
    streams: Streams | Scope,
) -> Encoded:
    """Draw a table: hospital after hospital, then rows of other hospitals, then public rows.

    Parameters
    ----------
    encoding : {"plain", "as-published"}
        Whose columns and moments to reproduce.
    hospitals : sequence of int
        Rows of hospital i = 1…N, ≥ 0; from the streams ``("data", "twin", "hospital", i)``.
    other_rows, public_rows : int
        ≥ 0, each of a hospital of its own; from the streams ``("data", "twin")`` and
        ``("data", "twin", "public")``.
    streams : Streams or Scope
        The run's random streams.
    """
    twin = calibrated(encoding)

    def write_one(matrix: Array, target: Array, generator: np.random.Generator) -> None:
        twin.of_one_group(generator).write(matrix, target, generator)

    parts: list[tuple[int, Write, tuple[str | int, ...]]] = [
        *((rows, write_one, ("hospital", i)) for i, rows in enumerate(hospitals, start=1)),
        (other_rows, twin.write, ()),
        (public_rows, twin.write, ("public",)),
    ]
    return draw(twin.columns, parts, streams, NOTES["hospital-twin"])


def twin_sizes(n_hospitals: int, streams: Streams | Scope) -> tuple[int, ...]:
    """Draw the hospitals' numbers of records, ≥ :data:`LEAST_RECORDS`.

    Hospital i's is from the stream ``("data", "twin", "hospital", i, "size")``.
    """
    quantiles = shipped("hospital_twin.json")["sizes"]
    at = np.linspace(0, 1, len(quantiles))
    sizes = []
    for i in range(1, n_hospitals + 1):
        draw = streams.generator("data", "twin", "hospital", i, "size").random()
        sizes.append(round(LEAST_RECORDS * float(np.interp(draw, at, quantiles))))
    return tuple(sizes)


@cache
def calibrated(encoding: Encoding) -> Twin:
    """Return one of the laws that the package ships."""
    return Twin.from_json(shipped("hospital_twin.json")["encodings"][encoding])


_DROPS_ROWS = (
    "encoding as-published of a file: rows with anything missing are dropped, so that one private "
    "cell moves all records behind it to other places, and owners"
)


class HospitalData(DeclaredData):
    """Inpatient discharges (SPARCS): features of a patient, target the length of stay (days).

    ``split = { column = "Facility Id" }`` makes every hospital an owner. In the twin, owner i is
    hospital i with ``split = "in-order"`` too, and has n_i rows.
    """

    table_rows = 36_631
    kind: Literal["hospital"] = "hospital"
    path: str | None = None
    encoding: Encoding = "plain"

    target_unit = "days"
    target_labels = ()

    @override
    def _name_of(self, column: str) -> str:
        return name_of_2015(column)

    unsound = trait(
        lambda self: None if self.path is None or self.encoding == "plain" else _DROPS_ROWS
    )

    target_column = TARGET

    @override
    def _read(self, path: str) -> tuple["pd.DataFrame", Encode, tuple[str, ...]]:
        frame, notes = read_discharges(path, self.split_column)
        if self.encoding == "plain":
            encode = partial(encode_plain, public_records=self.public_records)
            return frame, encode, notes
        frame, more = complete(frame)
        return frame, encode_as_published, (*notes, *more)

    @override
    def _no_split(self) -> str | None:
        column = self.split_column
        if column is None or name_of_2015(column) == HOSPITAL:
            return None
        return f"the synthetic twin has one column to split by, {HOSPITAL!r}"

    @override
    def _twin(self, request: BuildRequest) -> tuple[Encoded, Sequence[object]]:
        self._require_split()
        notes = tuple[str, ...]()
        if request.records is None:
            sizes = twin_sizes(request.n_owners, request.streams)
            ends = Extent(min(sizes), max(sizes))
            notes = note_if_any("hospital-sizes", sizes=ends)
        else:
            sizes = tuple(request.records)
        total = sum(sizes)
        body = self._body_rows(total)
        drawn = np.diff(np.minimum(np.cumsum([0, *sizes]), body)).tolist()  # the first of them all
        others = body - sum(drawn)
        table = twin_table(self.encoding, drawn, others, self.public_records, request.streams)
        hospitals: list[object] = [i for i, n in enumerate(sizes, start=1) for _ in range(n)]
        hospitals += [None] * (len(table.target) - total)
        return replace(table, notes=(*table.notes, *notes)), hospitals
