"""The columns of a table as numbers: each by its encoding, which public cells alone decide.

Owners may write a column differently: in other units, with other codes, or in another notation; and
rows may be no records, as sums or a header among them. Each owner's private cells are compared with
the public ones. What is found tells of private cells and is for the owners alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.core.words import key_of, number, percent, shorten, some_of
from asyncdp_sim.data.tables.encodings import Codes, Encoding, Number, texts_of, usual
from asyncdp_sim.data.tables.file_form import words_of
from asyncdp_sim.data.tables.preprocessing import Projection
from asyncdp_sim.data.tables.rows import FROM_PRIVATE, FileRows, require_column
from asyncdp_sim.data.tables.text_columns import SUMS, WORDS, cell_or_nan, cells, written

if TYPE_CHECKING:
    import pandas as pd


FACTORS = dict(WORDS["factors"])
"""Factors between units that are often mixed, and whose they are."""
NEAR = 0.15
"""Relative distance from such a factor."""
LEAST = 8
"""Cells of an owner, and public ones, that are compared."""
UNREAD = 0.2
"""Share of unread cells beyond the public one that is named."""
MOST_CODES = 4


class UnlikeOwners:
    """Findings on the columns of a table, gathered one column after another.

    Parameters
    ----------
    whose : Series, optional
        The owner of each row; absent, all private rows are of one.
    first_public : int
        The row at which public rows begin, which go on to the end.
    """

    def __init__(self, whose: "pd.Series | None", first_public: int) -> None:
        self._first = first_public
        self.lines: list[str] = []
        self._rows: list[tuple[str, Ints]] = [("the private rows", np.arange(first_public))]
        if whose is not None:
            codes, names = whose.iloc[:first_public].factorize()
            order = np.argsort(codes, kind="stable")
            ends = np.searchsorted(codes[order], np.arange(len(names) + 1))
            self._rows = list(zip(map(str, names), np.split(order, ends)[1:-1], strict=True))

    def add(self, name: str, values: Array, misfits: Bools) -> None:
        """Compare a column: values (rows,), NaN where there is none, and which are unread."""
        public = values[self._first :]
        public = public[~np.isnan(public)]
        if len(public) < LEAST:
            return
        usual_misfits = float(misfits[self._first :].mean())
        codes = np.unique(public)
        differences: dict[str, list[str]] = {}
        for owner, rows in self._rows:
            unread = float(misfits[rows].mean()) if len(rows) >= LEAST else 0.0
            present = values[rows]
            present = present[~np.isnan(present)]
            difference = ""
            if unread > usual_misfits + UNREAD:
                difference = f"{percent(unread)} of the cells cannot be read, of public ones "
                difference += percent(usual_misfits)
            elif len(present) >= LEAST:
                difference = _other_codes(present, codes) or _other_unit(present, public)
            differences.setdefault(difference, []).append(owner)
        differences.pop("", None)
        self.lines += [
            f"{FROM_PRIVATE}{name}, as {some_of(owners, 5)} write{'s' * (len(owners) == 1)} it: "
            f"{difference}."
            for difference, owners in differences.items()
        ]

    def without_sums(self, frame: "pd.DataFrame", places: FileRows, decimal: str) -> Ints:
        """Name private rows that are no records, and return their numbers.

        A row of sums has a word for one that its column has in no public row, and else numbers or
        nothing; a header has the names of its columns. No other private row has a say.
        """
        private, public = frame.iloc[: self._first], frame.iloc[self._first :]
        suspects = np.zeros(self._first, dtype=np.bool_)
        for name in frame:
            words = {text for text in _texts(private[name]) if text == name or _of_sums(text)}
            if len(words) > 0:
                words -= _texts(public[name])
                suspects |= private[name].isin(words).to_numpy()
        rows = np.flatnonzero(suspects).tolist()
        rows = [row for row in rows if _no_record(private.iloc[row], decimal)]
        named = []
        for row in rows:
            texts = [written(value) for value in private.iloc[row].dropna()]
            named.append(f"{places.name_of(row)} ({next(filter(_of_sums, texts), texts[0])!r})")
        if len(rows) > 0:
            sums = f"rows of sums or names of columns, read as missing: {some_of(named, 3)}."
            self.lines.append(FROM_PRIVATE + sums)
        return np.array(rows, dtype=np.int64)


def _texts(column: "pd.Series") -> set[str]:
    """Return the texts of a column that begin with no digit, as most cells of numbers do."""
    texts = (text for text in column.dropna() if isinstance(text, str))
    return {text for text in texts if not text[:1].isdigit()}


def _of_sums(text: str) -> bool:
    return SUMS.fullmatch(text.strip(" :*")) is not None


def _no_record(row: "pd.Series", decimal: str) -> bool:
    """Tell whether a row has a word for sums and else numbers, or names of columns alone."""
    texts = {str(name): written(value) for name, value in row.dropna().items()}
    if all(text == name for name, text in texts.items()):
        return True
    rest = [text for text in texts.values() if not _of_sums(text)]
    return len(rest) < len(texts) and not any(np.isnan(cell_or_nan(t, decimal)) for t in rest)


def _other_codes(known: Array, usual: Array) -> str:
    """Return in words that an owner has other codes than public rows; empty if it has not."""
    if len(usual) > MOST_CODES:
        return ""
    codes = np.unique(known)
    if len(codes) != len(usual) or np.array_equal(codes, usual) or (codes % 1 != 0).any():
        return ""
    own, public = (", ".join(map(number, code_list.tolist())) for code_list in (codes, usual))
    return f"the codes are {own}, in public rows {public}"


def _other_unit(known: Array, public: Array) -> str:
    """Return in words by which known factor an owner's values differ; empty for none."""
    spans = [np.quantile(values, [0.1, 0.5, 0.9]) for values in (known, public)]
    (low, own, high), (lowest, median, highest) = spans
    if low <= highest and high >= lowest:
        return ""
    words = ""
    for fahrenheit, celsius in (spans, spans[::-1]):
        first, middle, last = (fahrenheit - 32) / 1.8
        # Temperatures of bodies, rooms and weather: others may be twice as large by chance.
        alike = celsius[0] <= middle <= celsius[2] and abs(celsius[1]) < 60
        if alike and 0.5 < (last - first) / max(celsius[2] - celsius[0], 1e-9) < 2:
            words = "as between °C and °F"
    if min(own, median) > 0:
        ratio = max(own / median, median / own)
        factor = min(FACTORS, key=lambda each: abs(ratio / each - 1))
        if abs(ratio / factor - 1) <= NEAR:
            words = f"{factor:g} times {'larger' if own > median else 'smaller'}{FACTORS[factor]}"
    medians = f"the median is {number(own)}, of public rows {number(median)}: "
    return medians + words if words != "" else ""


def learned(
    public: "pd.DataFrame", declared: Mapping[str, Encoding], decimal: str
) -> dict[str, Codes]:
    """Return the codes of columns by their public cells.

    Parameters
    ----------
    public : DataFrame
        The public rows, of the columns that are features.
    declared : mapping
        From a column to its encoding; others have the usual one of what their public cells hold.
    decimal : str
    """
    encodings = {name: declared.get(str(name)) or usual(public[name], decimal) for name in public}
    return {
        str(name): encoding.learn(public[name], str(name), decimal)
        for name, encoding in encodings.items()
    }


def encoded(
    frame: "pd.DataFrame",
    codes: Mapping[str, Codes],
    first_public: int,
    beside: UnlikeOwners | None = None,
) -> tuple[Array, tuple[str, ...]]:
    """Return columns as finite numbers, (rows, columns), and what was done.

    Parameters
    ----------
    frame : DataFrame
    codes : mapping
        Of the columns that are features.
    first_public : int
        The row at which public rows begin, which go on to the end.
    beside : UnlikeOwners, optional
        Compares owners.
    """
    width = sum(len(code.names) for code in codes.values())
    matrix, at, notes = np.empty((len(frame), width), order="F"), 0, list[str]()
    for name, code in codes.items():
        read = code.read(frame[name])
        if beside is not None and code.measured:
            beside.add(name, read.values[0], read.misfits)
        nothing = len(read.values) == 0
        lost = read.misfits.copy() if nothing else np.zeros(len(frame), dtype=np.bool_)
        for values, unknown in zip(read.values, code.unknown, strict=True):
            gaps = np.isnan(values)
            matrix[:, at] = np.where(gaps, unknown, values)
            at += 1
            lost |= gaps
        count = int(np.count_nonzero(lost[:first_public]))
        misfits = int(np.count_nonzero(read.misfits[:first_public]))
        notes += [] if code.coding is None else [code.coding]
        if code.said is not None and count + misfits > 0:
            notes.append(code.said(count, misfits))
    return matrix, tuple(notes)


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """From raw rows of a table to its features, by what public rows alone have decided.

    Attributes
    ----------
    public : DataFrame
        The public rows, of the columns that are features.
    declared : mapping
        From a column to its encoding.
    decimal : str
    missing : tuple of str
        Texts that mean a missing cell, as in a CSV; empty where the table is no CSV.
    projection : Projection
    classes : tuple of str
        Names of the target's classes, in the order of their labels; empty where it has none.
    target : Series
        The public cells of the target.
    """

    public: "pd.DataFrame"
    declared: Mapping[str, Encoding]
    decimal: str
    missing: tuple[str, ...]
    projection: Projection
    classes: tuple[str, ...]
    target: "pd.Series"

    def __call__(self, frame: "pd.DataFrame") -> Array:
        """Return the features (rows, p) of raw rows, whose other columns are not read.

        Raises
        ------
        DataError
            If a column is not there.
        """
        return self.projection.features(self.columns(frame))

    def columns(self, frame: "pd.DataFrame") -> Array:
        """Return the encoded columns (rows, c) of raw rows, before the projection."""
        for name in self.public:
            require_column(str(name), frame.columns, "columns")
        rows = frame[list(self.public)].apply(self._with_gaps)
        return encoded(rows, learned(self.public, self.declared, self.decimal), len(rows))[0]

    def targets(self, column: "pd.Series") -> Array:
        """Return raw cells of the target as the model learns them; NaN where there is none."""
        codes = target_codes(self.target, self.declared, self.decimal)
        return codes.read(self._with_gaps(column)).values[0] - self.projection.target_shift

    def _with_gaps(self, column: "pd.Series") -> "pd.Series":
        """Return a column without the texts that mean a missing cell."""
        words = words_of(self.missing, str(column.name))
        texts = column.astype(object)
        gaps = [
            (isinstance(t, str) and t == "") or written(t).strip().lower() in words for t in texts
        ]
        return texts.mask(gaps) if any(gaps) and len(words) > 0 else column


def target_codes(public: "pd.Series", declared: Mapping[str, Encoding], decimal: str) -> Codes:
    """Return the codes of the target by its public cells: as it is declared, else of numbers.

    Of an amount the first are the targets, the others flags.
    """
    name = str(public.name)
    return declared.get(name, Number()).learn(public, name, decimal)


def target_of(
    frame: "pd.DataFrame",
    name: str,
    places: FileRows,
    declared: Mapping[str, Encoding],
    first_public: int,
    decimal: str,
    owner: str | None,
) -> tuple[Array, tuple[str, ...]]:
    """Return the targets, NaN where a cell is none, and which private ones cannot be read.

    What is no number is for public rows to say. Cells that cannot be read are counted by what
    stands there, and by the column ``owner``.

    Raises
    ------
    DataError
        On ``data.target``, where the column is one of texts, or has no number at all.
    """
    read = target_codes(frame[name].iloc[first_public:], declared, decimal).read(frame[name])
    values, none = read.values[0], read.misfits
    if name not in declared and none[first_public:].any():
        public = frame.iloc[first_public:]
        numeric = [str(c) for c in public if not cells(public[c], decimal)[1].any()]
        row = places.name_of(first_public + int(np.argmax(none[first_public:])))
        rule = f"allowed is a column of numbers; columns: {', '.join(numeric[:20])}"
        raise DataError([Fault("data.target", f"the text column {name!r} ({row})", rule)])
    if np.isnan(values).all():
        rule = "allowed is a column of numbers, this one has none"
        if none.any():
            classes = f'data.columns.{key_of(name)} = {{ kind = "classes", values = [...] }}'
            rule += f"; {classes} names the classes of a column of texts"
        raise DataError([Fault("data.target", f"the column {name!r}", rule)])
    unread = frame[:first_public][none[:first_public]]
    if len(unread) == 0:
        return values, ()
    fields: dict[str, Any] = {"misfits": len(unread), "column": name}
    called = "not numbers"
    if name in declared and declared[name].labels is not None:
        counts = texts_of(unread[name])
        ranked = sorted(counts, key=lambda text: (-counts[text], text))
        few = [f"{shorten(text)!r} ({counts[text]})" for text in ranked[:2]]
        fields["texts"] = ", ".join([*few, *["…"] * (len(ranked) > 2)])
        called = "unknown class {texts}"
    sentence = f"{FROM_PRIVATE}{called}, so missing: {{misfits}} cells of the target {{column!r}}"
    if owner is not None and owner in unread:
        whose = unread[owner].astype(object).value_counts()
        fields["owners"] = some_of([f"{who} {n}" for who, n in whose.items() if n > 0], 5)
        sentence += " ({owners})"
    return values, (FormattedMessage(sentence + ".", **fields),)
