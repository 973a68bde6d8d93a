"""Profile of a table: public rows, the header, and the number of records of each owner."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.words import aligned, extent, number, percent, shorten, some_of
from asyncdp_sim.data.column_profile import (
    ColumnLook,
    as_declared,
    looked_at,
    lost_digits,
    target_looked_at,
)
from asyncdp_sim.data.splits import name_of, trained_on
from asyncdp_sim.data.tables.amounts import parts_of
from asyncdp_sim.data.tables.column_type import Beside
from asyncdp_sim.data.tables.encodings import Drop, Encoding, texts_of
from asyncdp_sim.data.tables.file_form import MISSING, PLAIN, FileForm
from asyncdp_sim.data.tables.read import (
    found_form,
    public_form,
    read_table,
    require_one_header,
    with_public_rows,
)
from asyncdp_sim.data.tables.rows import FileRows, nearest
from asyncdp_sim.data.tables.text_columns import SUMS, WORDS

if TYPE_CHECKING:
    import pandas as pd

NOT_FOR_RELEASE = "not for release: all rows were read, private ones too"
HELD_OUT = 0.2
"""Share of every owner's rows that a proposal keeps apart."""
LEAST_RECORDS = (20, 10, 5)
"""Owners with fewer records are left out, for their noise is that of one record in so few.

The first that leaves two owners or more.
"""
DROPPED: dict[str, list[str]] = WORDS["dropped"]
"""Why a column, or several, make no feature, in words."""
TARGETS, OWNERS = WORDS["likely"]["targets"], WORDS["likely"]["owners"]
"""Words in names of columns that are likely targets, and owners."""
MOST_SUMS = 3
"""Rows of sums at most: more are a category."""
_WIDEST = 34


@dataclass(frozen=True, eq=False)
class TableLook:
    """A table as it was seen.

    Attributes
    ----------
    path, public_path : str
        The files; the latter None where public rows are the last of the table.
    form : FileForm
    rows : int
        In ``path``, public ones among them.
    public : int
        Public rows.
    target, owner : str or None
    columns : tuple of ColumnLook
        But that of the owners.
    owners, public_of : dict
        From an owner's name to its records, and to its public rows of this file; empty where no
        column says whose they are.
    unowned : int
        Private rows whose owner is missing.
    missing : tuple of str
        Texts that mean a missing cell, beside the usual ones.
    public_seed : int or None
        By which public rows were chosen at random.
    private : bool
        Whether all rows were looked at.
    seen : DataFrame
        The rows that were looked at.
    sums : tuple of (str, str, int)
        Rows that may be sums or notes: a text that stands there, the file, and the place in it.
    """

    path: str
    public_path: str | None
    form: FileForm
    rows: int
    public: int
    target: str | None
    owner: str | None
    columns: tuple[ColumnLook, ...]
    owners: dict[str, int]
    public_of: dict[str, int]
    unowned: int
    missing: tuple[str, ...]
    public_seed: int | None
    private: bool
    seen: "pd.DataFrame"
    sums: tuple[tuple[str, str, int], ...] = ()

    @property
    def basis(self) -> str:
        """The rows that types and encodings were chosen from, as in ``chosen_from``."""
        return "private rows" if self.private else "public rows"

    @property
    def classes(self) -> tuple[str, ...]:
        """The target's classes; without members where it is a number."""
        labels = [column.encoding.labels for column in self.columns if column.name == self.target]
        return (labels[0] or ()) if len(labels) > 0 else ()

    @property
    def least(self) -> int:
        """Records that an owner needs; the fewest of all where no number leaves two owners."""
        enough = (n for n in LEAST_RECORDS if self.with_records(n) > 1)
        return next(enough, LEAST_RECORDS[-1])

    def with_records(self, least: int) -> int:
        """Return how many owners have so many records or more."""
        return sum(n >= least for n in self.owners.values())

    def lines(self, *, details: bool = False) -> list[str]:
        """Return the table in words; with ``details``, what needs no decision too."""
        parquet = self.path.endswith(".parquet")
        form = "Parquet" if parquet else self.form.describe()
        lines = [NOT_FOR_RELEASE] if self.private else []
        size = f"{self.rows} row{'s' * (self.rows != 1)}"
        lines.append(f"table: {Path(self.path).name}, {size}, {form}")
        chosen = "last {} rows" if self.public_seed is None else "{} rows, chosen at random,"
        file = Path(self.public_path or self.path).name
        whose = f"the {chosen.format(self.public)} of {file}"
        seen = "all rows" if self.private else "column names and the number of rows of each owner"
        lines.append(f"read: {seen}" + (f", and {whose}, which are public" * (self.public > 0)))
        lines += [*self.form.doubts(), *self._sums()]
        if len(self.seen) == 0:
            names = ", ".join(column.name for column in self.columns)
            types = "types: unknown, because no row is public; add --public M or --public FILE"
            return [*lines, f"columns: {names}", *self._owned(), types]
        head = ("column", "type", "missing", "distinct", "becomes", "smallest", "median", "largest")
        rows = [(shorten(c.name, _WIDEST), c.type, percent(c.missing), str(c.distinct),
                 "the target" if c.name == self.target else c.encoding.kind,
                 *(c.span or ("", "", "")))
                for c in self.columns]  # fmt: skip
        lines += [*aligned([head, *rows]), *self._dropped()]
        lines += [f"{c.name}: {remark}" for c in self.columns for remark in c.suspicious]
        if details:
            usual = [(shorten(c.name, _WIDEST), *(c.usual or ("", "")), "; ".join(c.details))
                     for c in self.columns]  # fmt: skip
            lines += aligned([("column", "most frequent value", "share", "remark"), *usual])
        return [*lines, *self._owned()]

    def _dropped(self) -> Iterator[str]:
        """Yield how many columns make no feature, and why."""
        whys = Counter(c.dropped for c in self.columns if c.dropped != "" and c.name != self.target)
        parts = [f"{n} {DROPPED[why][n > 1]}" for why in DROPPED if (n := whys[why]) > 0]
        features = len(self.columns) - (self.target is not None)
        if len(parts) > 0:
            yield f"{whys.total()} of {features} columns dropped: {', '.join(parts)}"

    def _owned(self) -> Iterator[str]:
        """Yield the owners, their records, and what is odd about them."""
        if len(self.owners) > 0:
            yield from self._records()
        if self.unowned > 0 and self.public > 0:
            rows = f"{self.unowned} private rows, which no model is trained on"
            yield f"rows without an owner: {rows}"
        if len(self.owners) > 0:
            yield from self._doubtful_names()
            few = [f"{name} ({n})" for name, n in self.owners.items() if n < self.least]
            if len(few) > 0:
                fewer = f"{len(few)} with fewer than {self.least} records"
                yield f"owners too small for the proposal ({fewer}): {some_of(few, 5)}"
            yield from self._mostly_public()
            yield from self._similar_names()

    def _records(self) -> Iterator[str]:
        """Yield how many records owners have, and how a proposal splits them."""
        sizes = sorted(self.owners.values())
        least, most = (f(self.owners, key=self.owners.__getitem__) for f in (min, max))
        records = f"{number(sizes[0])} records each"
        if sizes[0] < sizes[-1]:
            middle = number(float(np.median(sizes)))
            span = f"{number(sizes[0])} records ({least}) to {number(sizes[-1])} ({most})"
            records = f"{span}, median {middle}"
        yield f"owners: {len(sizes)} by {self.owner}, {records}"
        enough = [n for n in sizes if n >= self.least]
        if self.public > 0 and len(enough) > 0:
            left = trained_on(HELD_OUT, enough)
            held = [n - m for n, m in zip(enough, left, strict=True)]
            sizes_of = f"{extent(left)} trained on, {extent(held)} held out"
            yield f"records of each owner: {sizes_of} (held_out = {HELD_OUT})"

    def _sums(self) -> Iterator[str]:
        """Yield which rows of a file may be sums or notes, and the command that leaves them out."""
        for file in dict.fromkeys(file for _, file, _ in self.sums):
            of_file = [(text, place) for text, name, place in self.sums if name == file]
            rows = some_of([f"row {place + 1} ({text!r})" for text, place in of_file], 3)
            where = "" if file == Path(self.path).name else f" of {file}"
            yield f"rows that may be sums or notes, and no records: {rows}{where}"
            dropped = f"t = t.drop({[place for _, place in of_file]})"
            yield f"to leave them out: {self._rewritten(file, dropped, 'rows')}"

    def _rewritten(self, file: str, change: str, name: str) -> str:
        """Return the command that writes a file of the table with a change."""
        read = "parquet" if file.endswith(".parquet") else "csv"
        form, extra = self.form, ""
        if self.public_path is not None and file == Path(self.public_path).name:
            form = found_form(self.public_path, None)
        if read == "csv":  # a cell NA may be an owner's name
            extra = f", sep={form.separator!r}, dtype=str, na_filter=False"
            extra += f", encoding={form.charset!r}" if form.charset != PLAIN.charset else ""
            extra += f", skiprows={form.skip}" if form.skip > 0 else ""
        return (
            f'python -c "import pandas as pd; t = pd.read_{read}({file!r}{extra}); '
            f"{change}; t.to_{read}('{name}.{read}', index=False)\""
        )

    def _doubtful_names(self) -> Iterator[str]:
        """Yield which names of owners may be sums or a header, and whether digits are lost."""
        odd = [f"{name} ({n})" for name, n in self.owners.items()
               if SUMS.fullmatch(name.strip()) or name == self.owner]  # fmt: skip
        if len(odd) > 0:
            yield f"owners that may be sums or a header: {', '.join(odd)}; delete their rows"
        if lost_digits(self.owners):
            yield "owners' names as 1.23E+11 lost digits in a spreadsheet; export them as text"

    def _mostly_public(self) -> Iterator[str]:
        """Yield which owners lose most of their records to the public rows."""
        all_rows = {name: n + self.public_of.get(name, 0) for name, n in self.owners.items()}
        lost = [name for name in self.public_of if name not in self.owners]
        if len(lost) > 0:
            yield f"left out, because all of their records are public: {some_of(lost, 5)}"
        shrunk = [name for name, n in all_rows.items() if self.owners[name] < n / 2]
        if len(shrunk) > 0:
            yield f"owners with more than half of their records public: {some_of(shrunk, 5)}"
        if len(lost) + len(shrunk) > 0 and self.public_seed is None:
            options = f"--public {self.public} --public-seed 1"
            yield f"to choose the public rows at random instead: {options}"

    def _similar_names(self) -> Iterator[str]:
        """Yield which owners' names differ in capitals and spaces alone, and what merges them."""
        places: dict[str, list[str]] = {}
        for name in sorted({*self.owners, *self.public_of}):
            places.setdefault("".join(name.split()).casefold(), []).append(name)
        alike = [names for names in places.values() if len(names) > 1]
        if len(alike) > 0:
            examples = "; ".join(", ".join(map(repr, names)) for names in alike[:3])
            merged = f"t[{self.owner!r}] = t[{self.owner!r}].str.strip().str.title()"
            yield f"owners whose names look alike: {examples}{'; …' if len(alike) > 3 else ''}"
            yield f"to merge them: {self._rewritten(Path(self.path).name, merged, 'merged')}"


def likely(names: Sequence[str], words: str) -> str | None:
    """Return the column whose name has one of the words, the first of them; None for none."""
    parts = {name: set(re.split(r"[^a-z0-9]+", name.lower())) for name in names}
    return next((name for word in words.split() for name in names if word in parts[name]), None)


def look(
    path: str,
    *,
    target: str | None = None,
    owner: str | None = None,
    public: int = 0,
    public_path: str | None = None,
    public_seed: int | None = None,
    private: bool = False,
    charset: str | None = None,
    declared: Mapping[str, Encoding] | None = None,
    missing: Sequence[str] = (),
    drop: Sequence[str] = (),
    sizes: bool = False,
) -> TableLook:
    """Look at a table.

    Parameters
    ----------
    path : str
    target, owner : str, optional
        Columns.
    public : int
        How many of the last rows are public.
    public_path : str, optional
        A file of public rows, all of which are taken.
    public_seed : int, optional
        By which public rows are chosen among all; absent, they are the last.
    private : bool
        Whether private rows may be looked at.
    charset : str, optional
        By which bytes of a CSV are text; absent, as the rows show that are looked at.
    declared : mapping, optional
        From a column to its encoding; others have the one that fits.
    missing : sequence of str
        Texts that mean a missing cell, beside the usual ones: TEXT, or COLUMN=TEXT in one column.
    drop : sequence of str
        Columns that make no feature.
    sizes : bool
        Whether ``path`` may be a list of owners' names and numbers of rows, beside public rows.

    Raises
    ------
    DataError
        If a file is none, or lacks a column, or has fewer rows.
    """
    if public_path is not None and Path(public_path).resolve() == Path(path).resolve():
        rule = "allowed is a file of other rows, which are no owner's; these are the table's own"
        raise DataError([Fault("--public", public_path, rule)], path)
    read: Any = {"owner": owner, "unused": drop, "missing": (*MISSING, *missing)}
    if public_path is None:
        seed = None if private else public_seed
        form = found_form(path, None if private else public, None, None, charset, seed=seed)
        frame, places = with_public_rows(path, None, public, form, seed=public_seed, **read)
    else:
        rows = _with_public_file(path, public_path, charset, sizes=sizes, private=private, **read)
        frame, places, form, public = rows
    encodings = {**(declared or {}), **dict.fromkeys(drop, Drop())}
    _require(path, frame, target, owner, public, form, encodings, missing)
    require_one_header(path, public_path, frame, public, form, public_seed)
    seen, private_rows = frame if private else frame.tail(public), frame.head(len(frame) - public)
    sums = _sums_in(seen.drop(columns=[*drop]))
    public_of = _owners(frame.tail(public if public_path is None else 0), owner)
    public_of.pop(name_of(""), None)  # public rows need no owner
    return TableLook(
        path=path,
        public_path=public_path,
        form=form,
        rows=len(frame) - (0 if public_path is None else public),
        public=public,
        target=target,
        owner=owner,
        columns=_columns(seen, target, owner, form, encodings, drop),
        owners=_owners(private_rows, owner),
        public_of=public_of,
        unowned=0 if owner is None else int(private_rows[owner].isna().sum()),
        missing=tuple(missing),
        public_seed=public_seed,
        private=private,
        seen=seen.drop(columns=[] if owner is None else owner).reset_index(drop=True),
        sums=tuple((text, *places.place(row)) for text, row in sums),
    )


def _with_public_file(
    path: str, public_path: str, charset: str | None, *, sizes: bool, private: bool, **read: Any
) -> tuple["pd.DataFrame", FileRows, FileForm, int]:
    """Read a table with the public rows of another file behind its own.

    With ``sizes`` the table may be a list of owners and sizes, of which the owners' names are read.

    Returns
    -------
    tuple
        All rows, their places in the files, the form of the table's file, and the number of public
        rows.
    """
    form = found_form(path, None if private else 0, None, None, charset)
    form = public_form(public_path, form, None, None, charset)
    form_of_public = found_form(public_path, None, None, None, charset)
    public = len(read_table(public_path, form=form_of_public, **read))
    listed = _listed(path, read["owner"], form) if sizes else None
    if listed is None:
        frame, places = with_public_rows(path, public_path, public, form, (read["owner"],), **read)
        return frame, places, form, public
    import pandas as pd

    rows, places = with_public_rows(public_path, None, public, form_of_public, **read)
    places = FileRows(((Path(path).name, range(len(listed))), *places.parts))
    return pd.concat([listed, rows], ignore_index=True), places, form_of_public, public


def _columns(
    seen: "pd.DataFrame",
    target: str | None,
    owner: str | None,
    form: FileForm,
    encodings: Mapping[str, Encoding],
    drop: Sequence[str],
) -> tuple[ColumnLook, ...]:
    """Return each column of the rows that may be read, but that of the owners, in file order."""
    owners = None if owner is None else seen[owner]
    seen = seen.drop(columns=[] if owner is None else owner)
    sure = _shows_decimal_mark(seen.drop(columns=[*drop]), form)
    beside = Beside(form.decimal, sure, owners=owners)
    if target is not None and len(seen) > 0:
        beside = _beside_target(seen[target], beside, encodings.get(target))

    def looked(name: str) -> ColumnLook:
        if name in encodings:
            return as_declared(seen[name], name, encodings[name], beside)
        return (target_looked_at if name == target else looked_at)(seen[name], name, beside)

    return tuple(looked(name) for name in map(str, seen.columns))


def _listed(path: str, owner: str | None, form: FileForm) -> "pd.DataFrame | None":
    """Return the owners' names, one for each of their rows, of a list of names and sizes.

    None where a table is no such list: two columns, names of owners, each once, and whole numbers.
    """
    table = read_table(path, form=form, owner=owner)
    others = table.columns.drop(owner, errors="ignore")
    if (len(table.columns), len(others)) != (2, 1) or table[owner].duplicated().any():
        return None
    texts = table[others[0]].astype(str)
    if not texts.str.fullmatch(r"[1-9][0-9]{0,8}").all():
        return None
    return table[[owner]].loc[table.index.repeat(texts.astype(int))]


def _sums_in(seen: "pd.DataFrame") -> list[tuple[str, int]]:
    """Return rows with a word for a sum, or with one cell alone, and that text; none if many."""
    marked, words = np.zeros(len(seen), dtype=np.bool_), set[str]()
    for name in seen:
        cells = (t for t in seen[name].dropna().unique() if isinstance(t, str))
        of_column = [t for t in cells if not t[-1:].isdigit() and SUMS.fullmatch(t.strip(" :*"))]
        marked |= seen[name].isin(of_column).to_numpy()
        words.update(of_column)
    if len(seen.columns) > 3:
        marked |= seen.notna().sum(axis=1).to_numpy() == 1
    rows = np.flatnonzero(marked)
    if len(rows) > max(MOST_SUMS, len(seen) // 100):
        return []
    by_row = [seen.iloc[row].dropna().tolist() for row in rows]
    shown = [str(next((cell for cell in cells if cell in words), cells[0])) for cells in by_row]
    return list(zip(shown, seen.index[rows].tolist(), strict=True))


def _shows_decimal_mark(seen: "pd.DataFrame", form: FileForm) -> bool:
    """Tell whether some cell shows which decimal mark the table has."""
    for name in seen:
        if seen[name].dtype.kind in "fiub":
            return True
        texts = (text for text in texts_of(seen[name]) if "." in text or "," in text)
        if any((parts := parts_of(text)) and parts.shown == form.decimal for text in texts):
            return True
    return False


def _beside_target(column: "pd.Series", beside: Beside, given: Encoding | None) -> Beside:
    """Return what other columns are looked at beside: the target's numbers or labels."""
    encoding = target_looked_at(column, "", beside).encoding if given is None else given
    values = np.full(len(column), np.nan)
    if encoding.single and not encoding.makes_nothing:
        values = encoding.learn(column, "", beside.decimal).read(column).values[0]
    return replace(beside, target=values, classes=encoding.labels or ())


def _owners(frame: "pd.DataFrame", owner: str | None) -> dict[str, int]:
    if owner is None:
        return {}
    counted = frame[owner].value_counts()
    return {name_of(value): int(count) for value, count in counted.items() if count > 0}


def _require(
    path: str,
    frame: "pd.DataFrame",
    target: str | None,
    owner: str | None,
    public: int,
    form: FileForm,
    given: Mapping[str, Encoding],
    missing: Sequence[str],
) -> None:
    names = [str(name) for name in frame.columns]
    guess = "; ".join(["", *form.doubts()])
    asked = [("--target", target), ("--owner", owner), *(("--column or --drop", n) for n in given)]
    of_columns = (w for w in missing if not any(w.startswith(f"{name}=") for name in names))
    asked += [("--missing", word.partition("=")[0]) for word in of_columns if "=" in word]
    faults = [
        Fault(option, f"a column {name!r}", nearest(name, names) + guess)
        for option, name in asked
        if name is not None and name not in names
    ]
    if owner is not None and owner in given:
        rule = "allowed is another column than --owner"
        faults.append(Fault("--column or --drop", f"{owner!r}", rule))
    if target is not None and target == owner:
        faults.append(Fault("--owner", f"{owner!r}", "allowed is another column than --target"))
    encoding = given.get(target or "")
    if encoding is not None and (encoding.makes_nothing or not encoding.single):
        rule = "allowed for the target is an encoding with one number per cell"
        faults.append(Fault("--column or --drop", f"{target!r}", rule))
    if public >= len(frame):
        rule = f"allowed is fewer than {len(frame)}, the number of rows of the table"
        faults.append(Fault("--public", str(public), rule))
    if len(faults) > 0:
        raise DataError(faults, path)
