"""The columns of a table as numbers: each by its encoding, which public cells alone decide."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.core.words import key_of, shorten, some_of
from asyncdp_sim.data.tables.encodings import Encoding, usual
from asyncdp_sim.data.tables.preprocessing import Projection
from asyncdp_sim.data.tables.quantities import Codes, texts_of
from asyncdp_sim.data.tables.rows import FROM_PRIVATE, FileRows, require_column
from asyncdp_sim.data.tables.text_columns import cells, kinds_in, written
from asyncdp_sim.data.unlike_owners import UnlikeOwners

if TYPE_CHECKING:
    import pandas as pd


def encoded(
    frame: "pd.DataFrame",
    names: Sequence[str],
    declared: Mapping[str, Encoding],
    first_public: int,
    decimal: str,
    beside: UnlikeOwners | None = None,
) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
    """Return columns as finite numbers, (rows, columns), their names, and what was done.

    Parameters
    ----------
    frame : DataFrame
    names : sequence of str
        Columns that are features.
    declared : mapping
        From a column to its encoding; others have the usual one of what their public cells hold.
    first_public : int
        The row at which public rows begin, which go on to the end.
    decimal : str
    beside : UnlikeOwners, optional
        Compares owners.
    """
    codes = _learned(frame[names].iloc[first_public:], declared, decimal)
    matrix, notes = _matrix(frame, codes, first_public, beside)
    return matrix, tuple(part for code in codes.values() for part in code.names), notes


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
    target_kinds : frozenset of str
        As what public cells of the target are read: numbers, dates, times or truths.
    """

    public: "pd.DataFrame"
    declared: Mapping[str, Encoding]
    decimal: str
    missing: tuple[str, ...]
    projection: Projection
    classes: tuple[str, ...]
    target_kinds: frozenset[str]

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
        codes = _learned(self.public, self.declared, self.decimal)
        return _matrix(rows, codes, len(rows))[0]

    def _with_gaps(self, column: "pd.Series") -> "pd.Series":
        """Return a column without the texts that mean a missing cell."""
        words = {word.lower() for word in self.missing}
        texts = column.astype(object)
        gaps = [
            (isinstance(t, str) and t == "") or written(t).strip().lower() in words for t in texts
        ]
        return texts.mask(gaps) if any(gaps) and len(words) > 0 else column


def own_rows(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return rows that share no texts with the table that they were part of."""
    texts = [name for name in frame if frame[name].dtype in ("category", "str")]
    return frame.astype(dict.fromkeys(texts, object)).reset_index(drop=True)


def _matrix(
    frame: "pd.DataFrame",
    codes: Mapping[str, Codes],
    first_public: int,
    beside: UnlikeOwners | None = None,
) -> tuple[Array, tuple[str, ...]]:
    """Return columns as finite numbers, (rows, columns), and what was done."""
    width = sum(len(code.names) for code in codes.values())
    matrix, at, notes = np.empty((len(frame), width), order="F"), 0, list[str]()
    for name, code in codes.items():
        filled, column_notes = encode(frame[name], code, first_public, beside)
        matrix[:, at : at + len(filled)] = np.transpose(filled)
        at += len(filled)
        notes += column_notes
    return matrix, tuple(notes)


def _learned(
    public: "pd.DataFrame", declared: Mapping[str, Encoding], decimal: str
) -> dict[str, Codes]:
    """Return the codes of columns by their public cells."""
    encodings = {name: declared.get(str(name)) or usual(public[name], decimal) for name in public}
    return {
        name: encoding.learn(public[name], str(name), decimal)
        for name, encoding in encodings.items()
    }


def encode(
    column: "pd.Series", codes: Codes, first_public: int, beside: UnlikeOwners | None = None
) -> tuple[list[Array], list[str]]:
    """Return what becomes of a column, and in words how, and of how many private cells."""
    read = codes.read(column)
    if beside is not None and codes.measured:
        beside.add(str(column.name), read.values[0], read.misfits)
    lost = read.misfits.copy() if len(read.values) == 0 else np.zeros(len(column), dtype=np.bool_)
    for values, unknown in zip(read.values, codes.unknown, strict=True):
        gaps = np.isnan(values)
        values[gaps] = unknown
        lost |= gaps
    count = int(np.count_nonzero(lost[:first_public]))
    misfits = int(np.count_nonzero(read.misfits[:first_public]))
    sentences = (codes.coding, codes.said(count, misfits) if count + misfits > 0 else None)
    return read.values, [sentence for sentence in sentences if sentence is not None]


def _counted(column: "pd.Series") -> str:
    """Return the two most frequent texts of cells, and how many cells have each."""
    counts = texts_of(column)
    ranked = sorted(counts, key=lambda text: (-counts[text], text))
    few = ", ".join(f"{shorten(text)!r} ({counts[text]})" for text in ranked[:2])
    return few + ", …" * (len(ranked) > 2)


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
    if name in declared:
        [codes] = _learned(frame[[name]].iloc[first_public:], declared, decimal).values()
        read = codes.read(frame[name])
        values, none = read.values[0], read.misfits  # of an amount the first: others are flags
    else:
        kinds = kinds_in(frame[name].iloc[first_public:], decimal)
        values, none = cells(frame[name], decimal, kinds)
        if none[first_public:].any():
            raise _of_texts(frame, name, places, none, first_public, decimal)
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
        called, fields["texts"] = "unknown class {texts}", _counted(unread[name])
    sentence = f"{FROM_PRIVATE}{called}, so missing: {{misfits}} cells of the target {{column!r}}"
    if owner is not None and owner in unread:
        whose = unread[owner].astype(object).value_counts()
        fields["owners"] = some_of([f"{who} {n}" for who, n in whose.items() if n > 0], 5)
        sentence += " ({owners})"
    return values, (FormattedMessage(sentence + ".", **fields),)


def _of_texts(
    frame: "pd.DataFrame",
    name: str,
    places: FileRows,
    none: Bools,
    first_public: int,
    decimal: str,
) -> DataError:
    """Return what is wrong with a target of texts; the row that is named is a public one."""
    numeric_columns = [
        c for c in frame.columns if not cells(frame[c], decimal)[1][first_public:].any()
    ]
    row = places.said(first_public + int(np.argmax(none[first_public:])))
    rule = f"allowed is a column of numbers; columns: {', '.join(map(str, numeric_columns[:20]))}"
    return DataError([Fault("data.target", f"the text column {name!r} ({row})", rule)])
