"""Splitting of a table's rows among owners."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer
from pydantic_core import PydanticCustomError
from typing_extensions import override

from asyncdp_sim.data.dataset import Array, Rows
from asyncdp_sim.errors import DataError, Fault, SpecError
from asyncdp_sim.families import FAMILY_BY_NAME
from asyncdp_sim.faults import faults_of
from asyncdp_sim.notices import Counted, Ends
from asyncdp_sim.outside import Place
from asyncdp_sim.spec import Kind
from asyncdp_sim.streams import Scope, Streams

ValuesOf = Callable[[str], Sequence[object]]
"""From a column of a table to its raw values, None where empty."""


@dataclass(frozen=True)
class Owned:
    """Which rows of a table are whose.

    Attributes
    ----------
    rows : list of NDArray
        Row numbers, owner by owner.
    names : tuple of str
        What the table calls the owners; without members where it does not.
    notes : tuple of str
        For the user.
    """

    rows: list[Rows]
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class SplitKind(Kind):
    """A way to give the rows of a table to owners."""

    @property
    def of_column(self) -> str | None:
        """The column whose values are the owners; None where no column says whose a row is."""
        return None

    @property
    def by_target(self) -> bool:
        """Whether a row's own target has a say in whose it is."""
        return False

    @property
    def says_records(self) -> bool:
        """Whether it says how many records each owner has."""
        return self.of_column is not None or self.by_target

    @property
    def shared_rows(self) -> int | None:
        """How many rows it shares out; None where the scenario or the table says so."""
        return None

    @abstractmethod
    def named(self, values: Sequence[object]) -> tuple[str, ...]:
        """Return the owners' names by a column's values over the rows that owners may hold."""

    @abstractmethod
    def owned(
        self,
        values_of: ValuesOf,
        available: int,
        public: int,
        n_owners: int,
        records: Sequence[int] | None,
        streams: Streams | Scope,
        target: Array,
        known: Array,
    ) -> Owned:
        """Return which rows are whose.

        Parameters
        ----------
        values_of : callable
        available : int
            Rows 0…available−1 may be given to owners.
        public : int
            Public rows held back from the owners; for the error's text.
        n_owners : int
        records : sequence of int, optional
        streams : Streams or Scope
        target, known : array
            Targets of all rows, NaN where there is none, and of the public ones.

        Raises
        ------
        DataError
            On ``owners.records`` or ``owners.count``, where the table does not have them.
        """


class InTurn(SplitKind):
    """Owners take as many rows as they have records, one after the other."""

    @abstractmethod
    def order(self, available: int, streams: Streams | Scope) -> Rows:
        """Return the order in which rows are taken."""

    @override
    def named(self, values: Sequence[object]) -> tuple[str, ...]:
        return ()

    @override
    def owned(
        self,
        values_of: ValuesOf,
        available: int,
        public: int,
        n_owners: int,
        records: Sequence[int] | None,
        streams: Streams | Scope,
        target: Array,
        known: Array,
    ) -> Owned:
        wanted = require_records(records, n_owners)
        require_rows(wanted, available, public)
        order, ends = self.order(available, streams), np.cumsum(wanted)
        return Owned([order[end - n : end] for end, n in zip(ends, wanted, strict=True)])


class InOrder(InTurn):
    """Consecutive blocks in file order: owner i has rows (i−1)n to in − 1, where all have n."""

    kind: Literal["in-order"] = "in-order"

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(),)

    @override
    def order(self, available: int, streams: Streams | Scope) -> Rows:
        return np.arange(available)


class Shuffled(InTurn):
    """Blocks of a permutation that is drawn from the stream ``("data", "split")``."""

    kind: Literal["shuffled"] = "shuffled"

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(),)

    @override
    def order(self, available: int, streams: Streams | Scope) -> Rows:
        return streams.generator("data", "split").permutation(available)


class ByColumn(SplitKind):
    """One owner per distinct value of a column of the table, in sorted order of the values.

    Attributes
    ----------
    column : str
    least : int
        Values with fewer rows than this (≥ 1) are no owners.
    """

    kind: Literal["by-column"] = "by-column"
    column: str
    least: Annotated[int, Field(ge=1)] = 1

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(column="who"), cls(column="who", least=2))

    @model_serializer(mode="wrap")
    def _without_kind(self, table: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in table(self).items() if name != "kind"}

    @property
    @override
    def of_column(self) -> str:
        return self.column

    @override
    def named(self, values: Sequence[object]) -> tuple[str, ...]:
        return tuple(map(name_of, _in_order(_groups(values, self.least)[0])))

    @override
    def owned(
        self,
        values_of: ValuesOf,
        available: int,
        public: int,
        n_owners: int,
        records: Sequence[int] | None,
        streams: Streams | Scope,
        target: Array,
        known: Array,
    ) -> Owned:
        values = values_of(self.column)[:available]
        rows, notes = rows_by_value(self.column, values, n_owners, records, self.least)
        return Owned(rows, tuple(name_of(values[r[0]]) for r in rows), notes)


class Dirichlet(SplitKind):
    """A simulated partition: rows of like targets go to owners by shares of their own.

    Rows are grouped by their target. Group g goes to owners by shares p_g ~ Dir(αN·w), w being
    the owners' weights, and each row draws its owner by them: from the stream ``("data", "split",
    "rows")`` by its place in the table, and from its own target, of all that is private. No row
    has a say in whose another one is, and a record that is replaced keeps its owner. Which groups
    there are is for public rows to say: a target that none of them has, and one that is missing,
    are a group together.

    Attributes
    ----------
    dirichlet : float
        α, 10⁻³ to 10⁶: the smaller, the fewer groups an owner has; 10⁶ is nearly alike.
    groups : int, optional
        As many groups between quantiles of the public targets, 2 to 100. Absent: every label, of
        at most 100, is a group.
    cv : float
        Owners' weights are lognormal with mean one and this coefficient of variation, ≥ 0, from
        the stream ``("data", "split", "weights")``; 0 makes them equal.
    rows : int, optional
        The first rows of the table that are shared out, ≥ 1; absent: all that are not public. A
        synthetic twin needs it.
    """

    kind: Literal["dirichlet"] = "dirichlet"
    dirichlet: Annotated[float, Field(ge=1e-3, le=1e6)]
    groups: Annotated[int, Field(ge=2, le=100)] | None = None
    cv: Annotated[float, Field(ge=0, le=100)] = 0.0
    rows: Annotated[int, Field(ge=1)] | None = None

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(dirichlet=0.5), cls(dirichlet=10.0, groups=4, cv=1.0, rows=900))

    @model_serializer(mode="wrap")
    def _without_kind(self, table: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in table(self).items() if name != "kind"}

    @property
    @override
    def by_target(self) -> bool:
        return True

    @property
    @override
    def shared_rows(self) -> int | None:
        return self.rows

    @override
    def named(self, values: Sequence[object]) -> tuple[str, ...]:
        return ()

    @override
    def owned(
        self,
        values_of: ValuesOf,
        available: int,
        public: int,
        n_owners: int,
        records: Sequence[int] | None,
        streams: Streams | Scope,
        target: Array,
        known: Array,
    ) -> Owned:
        count = available if self.rows is None else self.rows
        require_rows([count], available, public)
        group, n_groups = self._groups(target[:count], known[~np.isnan(known)])
        weights = np.ones(n_owners)
        if self.cv > 0:
            drawn = streams.generator("data", "split", "weights")
            weights = drawn.lognormal(sigma=np.sqrt(np.log1p(self.cv**2)), size=n_owners)
        alpha = self.dirichlet * n_owners * weights / weights.sum()
        shares = np.stack(
            [
                streams.generator("data", "split", "group", g).dirichlet(alpha)
                for g in range(n_groups)
            ]
        )
        # In order, so that a row's owner is where its own number falls among its group's shares.
        ends = np.cumsum(shares, axis=1)[:, :-1]
        number = streams.generator("data", "split", "rows").random(count)
        owner = np.empty(count, dtype=np.int64)
        for g in range(n_groups):
            mine = group == g
            owner[mine] = np.searchsorted(ends[g], number[mine], side="right")
        rows = [np.flatnonzero(owner == i) for i in range(n_owners)]
        none = [i for i, mine in enumerate(rows, start=1) if len(mine) == 0]
        if len(none) > 0:
            given = f"{self.dirichlet:g}, which leaves owner {none[0]} without a record"
            allowed = "allowed is a larger one, fewer owners, or another run.seed"
            raise DataError([Fault("data.split.dirichlet", given, allowed)])
        return Owned(rows, notes=(self._said([len(mine) for mine in rows], n_groups - 1),))

    def _groups(self, target: Array, known: Array) -> tuple[Rows, int]:
        """Return each row's group, and how many groups there are: the last of what is unknown."""
        if len(known) == 0:
            allowed = "allowed are some with targets: they say which groups there are"
            raise DataError([Fault("data.public_records", "no public target", allowed)])
        if self.groups is not None:
            edges = np.quantile(known, np.arange(1, self.groups) / self.groups)
            group = np.searchsorted(edges, target, side="right")
            return np.where(np.isnan(target), self.groups, group), self.groups + 1
        labels = np.unique(known)
        if len(labels) > 100:
            given = f"nothing for {len(labels)} different targets of public rows"
            allowed = "allowed is 2 to 100, groups between quantiles"
            raise DataError([Fault("data.split.groups", given, allowed)])
        group = np.searchsorted(labels, target)
        seen = labels[np.minimum(group, len(labels) - 1)] == target
        return np.where(seen, group, len(labels)), len(labels) + 1

    def _said(self, sizes: Sequence[int], n_groups: int) -> str:
        return Counted(
            "Who holds which record is an assumption: each row drew its owner by its own target, "
            "of {groups} groups, with α = {alpha:g}; owners have {sizes} records. A record that is "
            "replaced keeps its owner, and moves no other.",
            groups=n_groups,
            alpha=self.dirichlet,
            sizes=Ends(min(sizes), max(sizes)),
        )


def _is_split(value: object) -> object:
    """Say in one line what a split may be, rather than one line per member of the union."""
    if isinstance(value, SplitKind) or (isinstance(value, Mapping) and "kind" in value):
        return value
    table = value if isinstance(value, Mapping) else {}
    if "dirichlet" in table:
        try:
            return Dirichlet(**table)
        except SpecError as error:
            raise faults_of(error.faults) from None
    if {"column"} <= set(table) <= {"column", "least"} and isinstance(table["column"], str):
        try:
            return ByColumn(**table)
        except SpecError as error:
            raise faults_of(error.faults) from None
    if isinstance(value, str) and (value in ("in-order", "shuffled") or Place.named(value)):
        return value
    allowed = 'allowed: in-order, shuffled, { column = "name" }, or { dirichlet = 0.5 }'
    raise PydanticCustomError("split", allowed)


Split = Annotated[
    InOrder | Shuffled | ByColumn | Dirichlet, FAMILY_BY_NAME, BeforeValidator(_is_split)
]
"""Every way to split a table; a new one joins by its line here."""


def name_of(value: object) -> str:
    """Return a value as text; a whole number that was read as a fraction without its zero."""
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


def require_rows(records: Sequence[int], available: int, public: int) -> None:
    """Refuse more records than there are rows for owners, besides those that are public.

    Raises
    ------
    DataError
        On ``owners.records``.
    """
    needed = sum(records)
    if needed > available:
        held = f", and {public} more are public" if public > 0 else ""
        change = ", or data.public_records, or set data.public_overlap = true" if public > 0 else ""
        allowed = (
            f"more records than the table has: owners can share {available} rows{held}; "
            f"lower owners.records or owners.count{change}"
        )
        raise DataError([Fault("owners.records", f"{needed} in all", allowed)])


def rows_by_value(
    column: str,
    values: Sequence[object],
    n_owners: int,
    records: Sequence[int] | None,
    least: int = 1,
) -> tuple[list[Rows], tuple[str, ...]]:
    """Return each owner's row numbers when every distinct value of a column is an owner.

    Parameters
    ----------
    column : str
        The column's name, for the error's text.
    values : sequence
        The column over the rows that owners may hold; None where it is empty.
    n_owners : int
        The number of owners that the scenario states.
    records : sequence of int, optional
        If given, owner i keeps the first n_i of its rows.
    least : int
        Values with fewer rows are no owners.

    Returns
    -------
    tuple
        Rows per owner, in sorted order of the values (numbers before texts), and notes.

    Raises
    ------
    DataError
        On ``owners.count`` when it is not the number of distinct values; on ``owners.records``
        when an owner has fewer rows than that.
    """
    groups, too_few = _groups(values, least)
    unowned = sum(value is None for value in values)
    if len(groups) != n_owners:
        enough = f" with at least {least} rows" if least > 1 else ""
        allowed = f"allowed is {len(groups)}, the number of distinct values of {column!r}{enough}"
        raise DataError([Fault("owners.count", str(n_owners), allowed)])
    names = _in_order(groups)
    rows = [np.array(groups[name], dtype=np.int64) for name in names]
    notes = [
        Counted(
            "Each of the {values} values of {column!r} is one owner, in sorted order.",
            values=len(groups),
            column=column,
        )
    ]
    if too_few > 0:
        notes.append(
            Counted(
                "{values} values of {column!r} have fewer than {least} rows: no owners.",
                values=too_few,
                column=column,
                least=least,
            )
        )
    if unowned > 0:
        notes.append(
            Counted(
                "{rows} rows without a value of {column!r} belong to no owner.",
                rows=unowned,
                column=column,
            )
        )
    if records is not None:
        short = [
            Fault(
                "owners.records", f"{n} for owner {i + 1}", f"{column} {name!r} has {len(r)} rows"
            )
            for i, (n, r, name) in enumerate(zip(records, rows, names, strict=True))
            if n > len(r)
        ]
        if short:
            raise DataError(short)
        rows = [r[:n] for r, n in zip(rows, records, strict=True)]
    return rows, tuple(notes)


def _groups(values: Sequence[object], least: int) -> tuple[dict[object, list[int]], int]:
    """Return the rows of each value that has enough, and how many values have too few."""
    groups: dict[object, list[int]] = {}
    for row, value in enumerate(values):
        if value is not None:
            groups.setdefault(value, []).append(row)
    enough = {value: rows for value, rows in groups.items() if len(rows) >= least}
    return enough, len(groups) - len(enough)


def _in_order(groups: Iterable[object]) -> list[Any]:
    """Return values in sorted order, numbers before texts."""
    return sorted(groups, key=lambda v: (isinstance(v, str), v))


def require_records(records: Sequence[int] | None, n_owners: int) -> Sequence[int]:
    """Return the records per owner, refusing their absence.

    Raises
    ------
    DataError
        On ``owners.records``, when absent or not one number ≥ 1 per owner.
    """
    if records is None:
        allowed = "this field is required unless data.split names a column"
        raise DataError([Fault("owners.records", "nothing", allowed)])
    if len(records) != n_owners:
        allowed = f"allowed is one number, or {n_owners} (one per owner)"
        raise DataError([Fault("owners.records", f"{len(records)} numbers", allowed)])
    if min(records) < 1:
        raise DataError([Fault("owners.records", str(min(records)), "allowed is a number ≥ 1")])
    return records
