"""A whole table looked at: public rows, the header, and how many records each owner has."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.data.dataset import Array
from asyncdp_sim.data.look.column import ColumnLook, looked_at, percent
from asyncdp_sim.data.splits import name_of
from asyncdp_sim.data.tables.file_form import FileForm
from asyncdp_sim.data.tables.generic.with_public import public_form, with_public_rows
from asyncdp_sim.data.tables.named_columns import nearest
from asyncdp_sim.data.tables.read import found_form, read_table
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.words import aligned, number

if TYPE_CHECKING:
    import pandas as pd

NOT_FOR_RELEASE = "not for release: all rows were looked at, private ones too"
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
    owners : dict
        From an owner's name to its records; empty where no column says whose they are.
    private : bool
        Whether all rows were looked at.
    seen : DataFrame
        The rows that were looked at.
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
    private: bool
    seen: "pd.DataFrame"

    @property
    def basis(self) -> str:
        """What types and encodings were chosen from, as ``chosen_from`` says it."""
        return "private rows" if self.private else "public rows"

    @property
    def target_varies(self) -> bool:
        """Whether the rows that were looked at have more than one target."""
        return any(each.name == self.target and each.distinct > 1 for each in self.columns)

    def lines(self) -> list[str]:
        """Return the table in words."""
        parquet = self.path.endswith(".parquet")
        form = "Parquet" if parquet else self.form.words()
        told = [NOT_FOR_RELEASE] if self.private else []
        told.append(f"table: {Path(self.path).name}, {self.rows} rows, {form}")
        whose = f"the last {self.public} rows of {Path(self.public_path or self.path).name}"
        seen = "all rows" if self.private else "the header and n_i"
        told.append(f"looked at: {seen}" + (f", and {whose}, which are public" * (self.public > 0)))
        if len(self.seen) == 0:
            names = ", ".join(each.name for each in self.columns)
            return [*told, f"columns: {names}", *self._owned(), "types: not known, for no row is "
                    "public: name the public rows by --public M or --public FILE"]  # fmt: skip
        head = ("column", "type", "missing", "distinct", "becomes")
        rows = [(_cut(c.name), c.type, percent(c.missing), str(c.distinct),
                 "the target" if c.name == self.target else c.encoding.kind)
                for c in self.columns]  # fmt: skip
        told += aligned([head, *rows])
        told += [f"{c.name}: {what}" for c in self.columns for what in c.suspicious]
        return [*told, *self._owned()]

    def _owned(self) -> list[str]:
        if len(self.owners) == 0:
            return []
        sizes = sorted(self.owners.values())
        least, most = (f(self.owners, key=self.owners.__getitem__) for f in (min, max))
        return [
            f"owners: {len(sizes)} by {self.owner}, {number(sizes[0])} ({least}) to "
            f"{number(sizes[-1])} ({most}) records, median {number(float(np.median(sizes)))}"
        ]


def look(
    path: str,
    *,
    target: str | None = None,
    owner: str | None = None,
    public: int = 0,
    public_path: str | None = None,
    private: bool = False,
    charset: str | None = None,
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
    private : bool
        Whether private rows may be looked at.
    charset : str, optional
        By which bytes of a CSV are text; absent, as the rows show that are looked at.

    Raises
    ------
    DataError
        If a file is none, or lacks a column, or has fewer rows.
    """
    if public_path is not None and Path(public_path).resolve() == Path(path).resolve():
        allowed = "allowed is a file of other rows, which are no owner's; these are the table's own"
        raise DataError([Fault("--public", public_path, allowed)], path)
    known = (None, None, charset)
    form = found_form(path, None if private else public if public_path is None else 0, *known)
    if public_path is None:
        frame = read_table(path, form=form, owner=owner)
    else:
        form = public_form(public_path, form, *known)
        own = read_table(public_path, form=found_form(public_path, None, *known))
        public = len(own)
        frame, _ = with_public_rows(path, public_path, public, form, (owner,), owner)
    _require(path, frame, target, owner, public)
    seen = frame if private else frame.tail(public)
    if owner is not None:
        seen = seen.drop(columns=owner)
    values = None if target is None or len(seen) == 0 else _values(seen[target], form)
    columns = tuple(
        looked_at(seen[name], str(name), form.decimal, None if name == target else values)
        for name in seen.columns
    )
    return TableLook(
        path=path,
        public_path=public_path,
        form=form,
        rows=len(frame) - (0 if public_path is None else public),
        public=public,
        target=target,
        owner=owner,
        columns=columns,
        owners=_owners(frame, owner, public),
        private=private,
        seen=seen.reset_index(drop=True),
    )


def _values(column: "pd.Series", form: FileForm) -> Array:
    """Return the target's numbers, by the encoding that fits it."""
    encoding = looked_at(column, "", form.decimal).encoding
    values = encoding.learn(column, "", form.decimal).read(column).values
    return values[0] if encoding.single and len(values) > 0 else np.full(len(column), np.nan)


def _owners(frame: "pd.DataFrame", owner: str | None, public: int) -> dict[str, int]:
    if owner is None:
        return {}
    counted = frame[owner].head(len(frame) - public).value_counts()
    return {name_of(value): int(count) for value, count in counted.items() if count > 0}


def _require(
    path: str, frame: "pd.DataFrame", target: str | None, owner: str | None, public: int
) -> None:
    names = [str(name) for name in frame.columns]
    found = [
        Fault(option, f"a column {name!r}", nearest(name, names))
        for option, name in (("--target", target), ("--owner", owner))
        if name is not None and name not in names
    ]
    if target is not None and target == owner:
        found.append(Fault("--owner", f"{owner!r}", "allowed is another column than --target"))
    if public >= len(frame):
        allowed = f"allowed is fewer than {len(frame)}, the number of rows of the table"
        found.append(Fault("--public", str(public), allowed))
    if len(found) > 0:
        raise DataError(found, path)


def _cut(name: str) -> str:
    return name if len(name) <= _WIDEST else f"{name[: _WIDEST - 1]}…"
