"""Rows of a table and whose they are; and which of each owner are held out of training."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer
from pydantic_core import PydanticCustomError
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import DataError, Fault, SpecError
from asyncdp_sim.core.messages import Extent
from asyncdp_sim.core.plugins import Place
from asyncdp_sim.core.specification import FAMILY_BY_NAME, Variant, about, trait
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.core.validation import faults_of
from asyncdp_sim.data.tables.rows import Swap, note, note_if_any
from asyncdp_sim.data.tables.text_columns import cells

if TYPE_CHECKING:
    import pandas as pd

HeldOutShare = Annotated[
    float,
    Field(ge=0, lt=1, allow_inf_nan=False),
    about("Share of every owner's rows that is kept apart from training", "none"),
]


def trained_on(share: float, records: Sequence[int]) -> tuple[int, ...]:
    """Return how many of each owner's rows are left to train on: n − round(share·n).

    Rounding is to the nearest whole number, of two to the even one.
    """
    return tuple(n - round(share * n) for n in records)


def held_out_faults(share: float, records: Sequence[int]) -> list[Fault]:
    """Return a fault where an owner has no row left to train on, or where no row is kept apart."""
    left = trained_on(share, records) if share > 0 else ()
    if 0 in left:
        owner = left.index(0)
        problem = f"{share:g}, which keeps all {records[owner]} rows of owner {owner + 1} apart"
        rule = "allowed is a share that leaves every owner one row"
        return [Fault("data.held_out", problem, rule)]
    if len(left) > 0 and sum(left) == sum(records):
        problem = f"{share:g}, which is at most half a row of every owner"
        return [Fault("data.held_out", problem, "allowed is 0, or a share that keeps rows apart")]
    return []


def keep_apart(
    share: float,
    records: Sequence[int],
    streams: Streams | Scope,
    persons: Sequence[Ints] | None = None,
    order: Sequence[Array] | None = None,
) -> tuple[list[Ints], list[Ints]]:
    """Return the places of each owner's rows to train on, and of those kept apart.

    Owner i's are drawn from the stream ``("data", "owner", i, "held-out")``, so that adding owners
    changes nothing, and a larger share keeps apart what a smaller one does, and more.

    Parameters
    ----------
    share : float
        In [0, 1); of n rows, round(share·n) are kept apart.
    records : sequence of int
        Rows per owner.
    streams : Streams or Scope
        The run's random streams; nothing is drawn where the share is 0.
    persons : sequence of array, optional
        Whose each of the owner's rows is: all rows of a person are kept apart, or none. Persons
        are drawn until round(share·n) rows or more are apart; one person at least stays.
    order : sequence of array, optional
        Ranks in time: the latest rows are kept apart, or the persons with the latest ones; nothing
        is drawn.

    Returns
    -------
    list of array, list of array
        From 0 to n − 1, ascending, owner by owner.

    Raises
    ------
    DataError
        On ``data.held_out``, where an owner has no row left to train on, or no row is kept apart.
    """
    wrong = held_out_faults(share, records)
    if len(wrong) > 0:
        raise DataError(wrong)
    if share == 0:
        return [np.arange(n) for n in records], [np.arange(0) for _ in records]
    kept, apart = [], []
    for owner, (n, left) in enumerate(zip(records, trained_on(share, records), strict=True), 1):
        if order is None:
            ranked = streams.generator("data", "owner", owner, "held-out").permutation(n)
        else:
            ranked = np.argsort(-order[owner - 1], kind="stable")
        count = n - left
        if persons is not None:
            ranked = by_person(persons[owner - 1], ranked)
            count = _of_whole_persons(persons[owner - 1][ranked], count)
        apart.append(np.sort(ranked[:count]))
        kept.append(np.sort(ranked[count:]))
    if sum(map(len, apart)) == 0:
        problem = f"{share:g}, with data.person, of which each owner has one that stays"
        raise DataError([Fault("data.held_out", problem, "allowed is 0")])
    return kept, apart


def by_person(persons: Ints, ranked: Ints) -> Ints:
    """Return ranked rows with those of a person together, persons in the order of their first."""
    _, firsts, group = np.unique(persons[ranked], return_index=True, return_inverse=True)
    return ranked[np.argsort(firsts[group], kind="stable")]


def half_of(rows: Ints, persons: Ints, generator: np.random.Generator) -> tuple[Ints, Ints]:
    """Return a random half of some rows or a little more, and the others, all of whole persons.

    ``persons`` names the person of each row of the table.
    """
    order = by_person(persons, generator.permutation(rows))
    ends = np.append(np.flatnonzero(np.diff(persons[order])) + 1, len(order))
    count = ends[np.searchsorted(ends, (len(order) + 1) // 2)]
    return order[:count], order[count:]


def _of_whole_persons(persons: Ints, least: int) -> int:
    """Return the smallest number ≥ ``least`` of first rows that ends with a person, but the last.

    ``persons`` names the person of each row, rows of a person together.
    """
    ends = np.append(0, np.flatnonzero(np.diff(persons) != 0) + 1)
    return int(min(ends[ends >= least], default=ends[-1]))


def held_out_note(kept: Sequence[Ints], apart: Sequence[Ints]) -> tuple[str, ...]:
    """Return what was kept apart in a sentence, for the user; nothing where nothing was."""
    held, left = sum(map(len, apart)), sum(map(len, kept))
    return note_if_any("held-out", held=held, rows=held + left)


def codes_of(column: "pd.Series") -> Ints:
    """Return whose each row is, from 0; a row without a name is a person of its own."""
    import pandas as pd

    codes, names = pd.factorize(column.astype(object).where(column.notna(), None))
    nobody = codes < 0
    codes = np.array(codes, dtype=np.int64)
    codes[nobody] = len(names) + np.arange(np.count_nonzero(nobody))
    return codes


def ranks_of(column: "pd.Series", decimal: str) -> Array:
    """Return how late each row is, from 0: equal values rank alike, rows without one first.

    Numbers are ordered as numbers; behind them stand texts in their order, as of dates such as
    2024-05-17. The order of two rows depends on no other row.
    """
    import pandas as pd

    if column.dtype.kind in "mM":
        return np.asarray(pd.factorize(column, sort=True)[0], dtype=np.float64)
    values, words = cells(column, decimal, ("number",))
    numbers, distinct = pd.factorize(values, sort=True)
    texts, _ = pd.factorize(column.astype(object).map(str).where(words), sort=True)
    return np.asarray(np.where(words, len(distinct) + texts, numbers), dtype=np.float64)


ValuesOf = Callable[[str], Sequence[object]]
"""From a column of a table to its raw values, None where empty."""


@dataclass(frozen=True)
class BuildRequest:
    """The owners that records are built for.

    Attributes
    ----------
    n_owners : int
        N ≥ 1.
    records : sequence of int or None
        n_i; None where the data say it.
    streams : Streams or Scope
        The run's random streams.
    swap : Swap, optional
        The record that is replaced.
    """

    n_owners: int
    records: Sequence[int] | None
    streams: Streams | Scope
    swap: Swap | None = None


@dataclass(frozen=True, eq=False)
class TableToSplit:
    """A table whose rows are to be given to owners.

    Attributes
    ----------
    request : BuildRequest
    values_of : callable
        From a column to its raw values, None where empty.
    available : int
        Rows 0…available−1 may be given to owners.
    public : int
        Public rows held back from the owners; for the error's text.
    targets, public_targets : array
        Targets of all rows, NaN where there is none, and of the public ones.
    """

    request: BuildRequest
    values_of: ValuesOf
    available: int
    public: int
    targets: Array
    public_targets: Array

    def require_rows(self, needed: int) -> None:
        """Refuse more records than there are rows for owners, besides those that are public.

        Raises
        ------
        DataError
            On ``owners.records``.
        """
        if needed > self.available:
            held = change = ""
            if self.public > 0:
                held = f", and {self.public} more are public"
                change = ", or data.public_records, or set data.public_overlap = true"
            rule = (
                f"more records than the table has: owners can share {self.available} rows{held}; "
                f"lower owners.records or owners.count{change}"
            )
            raise DataError([Fault("owners.records", f"{needed} in all", rule)])


@dataclass(frozen=True)
class OwnerSplit:
    """The rows of a table, by owner.

    Attributes
    ----------
    rows : list of NDArray
        Row numbers, owner by owner.
    names : tuple of str
        What the table calls the owners; without members where it does not.
    notes : tuple of str
        For the user.
    """

    rows: list[Ints]
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class SplitKind(Variant):
    """A way to give the rows of a table to owners."""

    by_target: ClassVar[bool] = False
    """A row's own target has a say in whose it is."""
    of_column: ClassVar[str | None] = None
    """The column whose values are the owners; None where no column names the owners."""
    says_records: ClassVar[bool] = trait(lambda self: self.of_column is not None or self.by_target)
    """Whether it decides how many records each owner has."""
    shared_rows: ClassVar[int | None] = None
    """How many rows it shares out; None where the scenario or the table says so."""

    def likened(
        self, owned: OwnerSplit, values_of: ValuesOf, first: int, public: int, apart: bool
    ) -> Ints:
        """Return whose rows the public ones are like, from 0; −1 where nobody's more than others'.

        Parameters
        ----------
        owned : OwnerSplit
            Whose rows are whose.
        values_of : callable
            From a column to its raw values over all rows, public ones last.
        first, public : int
            The first public row, from 0, and how many there are.
        apart : bool
            Whether they are in a file of their own, and not the last of the table.
        """
        return np.full(public, -1, dtype=np.int64)

    def named(self, values: Sequence[object]) -> tuple[str, ...]:
        """Return the owners' names by a column's values over the rows that owners may hold."""
        return ()

    @abstractmethod
    def owned(self, table: TableToSplit) -> OwnerSplit:
        """Return which rows are whose.

        Raises
        ------
        DataError
            On ``owners.records`` or ``owners.count``, where the table does not have them.
        """


def require_records(records: Sequence[int] | None) -> Sequence[int]:
    """Return the records per owner, refusing their absence.

    Raises
    ------
    DataError
        On ``owners.records``.
    """
    if records is None:
        rule = "this field is required unless data.split names a column"
        raise DataError([Fault("owners.records", "nothing", rule)])
    return records


class InTurn(SplitKind):
    """Owners take as many rows as they have records, one after the other."""

    @abstractmethod
    def order(self, available: int, streams: Streams | Scope) -> Ints:
        """Return the order in which rows are taken."""

    @override
    def owned(self, table: TableToSplit) -> OwnerSplit:
        wanted = require_records(table.request.records)
        table.require_rows(sum(wanted))
        order, ends = self.order(table.available, table.request.streams), np.cumsum(wanted)
        return OwnerSplit([order[end - n : end] for end, n in zip(ends, wanted, strict=True)])


class InOrder(InTurn):
    """Consecutive blocks in file order: owner 1 has the first rows, owner 2 the next ones."""

    kind: Literal["in-order"] = "in-order"

    @override
    def order(self, available: int, streams: Streams | Scope) -> Ints:
        return np.arange(available)

    @override
    def likened(
        self, owned: OwnerSplit, values_of: ValuesOf, first: int, public: int, apart: bool
    ) -> Ints:
        """Take a file of public rows to stand in the order of the table: each has its place there.

        The last rows of the table itself have none among the owners'.
        """
        like = np.full(public, -1, dtype=np.int64)
        if not apart:
            return like
        place = (np.arange(public) + 0.5) * first / public
        for owner, rows in enumerate(owned.rows):
            like[(rows[0] <= place) & (place < rows[-1] + 1)] = owner
        return like


class Shuffled(InTurn):
    """Blocks of a permutation that is drawn from the stream ``("data", "split")``."""

    kind: Literal["shuffled"] = "shuffled"

    @override
    def order(self, available: int, streams: Streams | Scope) -> Ints:
        return streams.generator("data", "split").permutation(available)


_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,300})(\.[0-9]+)?")


class NamedByFields(SplitKind):
    """A split that a scenario writes as a table without a kind."""

    @model_serializer(mode="wrap")
    def _without_kind(self, table: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in table(self).items() if name != "kind"}


class ByColumn(NamedByFields):
    """One owner per distinct value of a column of the table, in sorted order of the values."""

    kind: Literal["by-column"] = "by-column"
    column: str
    least: Annotated[int, Field(ge=1)] = 1

    of_column = trait(lambda self: self.column)

    @override
    def named(self, values: Sequence[object]) -> tuple[str, ...]:
        return tuple(_in_order(_groups(values, self.least)[0]))

    @override
    def owned(self, table: TableToSplit) -> OwnerSplit:
        request = table.request
        values = table.values_of(self.column)[: table.available]
        groups, too_few = _groups(values, self.least)
        if len(groups) != request.n_owners:
            enough = f" with at least {self.least} rows" if self.least > 1 else ""
            values_of = f"the number of distinct values of {self.column!r}{enough}"
            rule = f"allowed is {len(groups)}, {values_of}"
            raise DataError([Fault("owners.count", str(request.n_owners), rule)])
        names = tuple(_in_order(groups))
        rows = [groups[name] for name in names]
        notes = (
            *note_if_any("owner-of-each-value", values=len(groups), column=self.column),
            *note_if_any("too-few", values=too_few, column=self.column, least=self.least),
            *note_if_any("without-a-name", rows=values.count(None), column=self.column),
        )
        if request.records is None:
            return OwnerSplit(rows, names, notes)
        faults, asked = list[Fault](), zip(request.records, rows, names, strict=True)
        for owner, (n, own, name) in enumerate(asked, 1):
            if n > len(own):
                rule = f"{self.column} {name!r} has {len(own)} rows"
                faults.append(Fault("owners.records", f"{n} for owner {owner}", rule))
        if len(faults) > 0:
            raise DataError(faults)
        rows = [own[:n] for own, n in zip(rows, request.records, strict=True)]
        return OwnerSplit(rows, names, notes)

    @override
    def likened(
        self, owned: OwnerSplit, values_of: ValuesOf, first: int, public: int, apart: bool
    ) -> Ints:
        """Take a public row that names an owner to be like that owner's."""
        places = {name: place for place, name in enumerate(owned.names)}
        values = values_of(self.column)[first:]
        like = [-1 if value is None else places.get(name_of(value), -1) for value in values]
        return np.array(like, dtype=np.int64)


def name_of(value: object) -> str:
    """Return a value as text, as it is written; of a Parquet's fractions 1.0 is 1.

    Whole numbers with gaps are such fractions in files that others write. An empty text, which a
    Parquet file may hold, has a name that can be seen.
    """
    if value == "":
        return "(no name)"
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


def _groups(values: Sequence[object], least: int) -> tuple[dict[str, Ints], int]:
    """Return the rows of each value that has enough, and how many values have too few."""
    numbers = dict[object, int]()
    held = [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values]
    names = dict[str, int]()  # of values that differ some have one name, such as 1 and 1.0
    named = [names.setdefault(name_of(value), len(names)) for value in numbers]
    groups = np.array([*named, -1], dtype=np.int64)[held]
    ends = np.cumsum(np.bincount(groups + 1, minlength=len(names) + 1))
    _, *parts = np.split(np.argsort(groups, kind="stable"), ends[:-1])
    enough = {name: rows for name, rows in zip(names, parts, strict=True) if len(rows) >= least}
    return enough, len(names) - len(enough)


def _in_order(names: Iterable[str]) -> list[str]:
    """Return names in sorted order: numbers by size, then all others."""
    return sorted(
        names, key=lambda name: (float(name), name) if _NUMBER.fullmatch(name) else (inf, name)
    )


class Dirichlet(NamedByFields):
    """A simulated partition: each group of similar targets is divided by random shares.

    Rows are grouped by their target. Group g goes to owners by shares p_g ~ Dir(αN·w), w being the
    owners' weights, and each row draws its owner by them: from the stream ``("data", "split",
    "rows")`` by its place in the table, and from its own target, of all that is private. A row's
    owner does not depend on other rows, so a replaced record keeps its owner. The groups are
    determined by public rows; missing targets, and targets that no public row has, form one group.
    """

    by_target = True

    kind: Literal["dirichlet"] = "dirichlet"
    dirichlet: Annotated[float, Field(ge=1e-3, le=1e6)]
    groups: Annotated[int, Field(ge=2, le=100)] | None = None
    cv: Annotated[float, Field(ge=0, le=100)] = 0.0
    rows: Annotated[int, Field(ge=1)] | None = None

    shared_rows = trait(lambda self: self.rows)

    @override
    def owned(self, table: TableToSplit) -> OwnerSplit:
        request = table.request
        count = table.available if self.rows is None else self.rows
        table.require_rows(count)
        public = table.public_targets
        group, n_groups = self._groups(table.targets[:count], public[~np.isnan(public)])
        shares = self._shares(n_groups, request.n_owners, request.streams)
        # In order, so that a row's owner is where its own number falls among its group's shares.
        ends = np.cumsum(shares, axis=1)[:, :-1]
        number = request.streams.generator("data", "split", "rows").random(count)
        owner = np.empty(count, dtype=np.int64)
        for g in range(n_groups):
            mine = group == g
            owner[mine] = np.searchsorted(ends[g], number[mine], side="right")
        rows = [np.flatnonzero(owner == i) for i in range(request.n_owners)]
        sizes = [len(mine) for mine in rows]
        if 0 in sizes:
            empty = sizes.index(0) + 1
            problem = f"{self.dirichlet:g}, which leaves owner {empty} without a record"
            rule = "allowed is a larger one, fewer owners, or another run.seed"
            raise DataError([Fault("data.split.dirichlet", problem, rule)])
        drawn = {"groups": n_groups - 1, "alpha": self.dirichlet}
        assumption = note("drawn-by-target", **drawn, sizes=Extent(min(sizes), max(sizes)))
        return OwnerSplit(rows, notes=(assumption,))

    def _shares(self, n_groups: int, n_owners: int, streams: Streams | Scope) -> Array:
        """Return p_g of each group, (groups, N): Dirichlet(αN·w), w lognormal with this cv."""
        weights = np.ones(n_owners)
        if self.cv > 0:
            drawn = streams.generator("data", "split", "weights")
            weights = drawn.lognormal(sigma=np.sqrt(np.log1p(self.cv**2)), size=n_owners)
        alpha = self.dirichlet * n_owners * weights / weights.sum()
        drawers = [streams.generator("data", "split", "group", g) for g in range(n_groups)]
        return np.stack([drawer.dirichlet(alpha) for drawer in drawers])

    def _groups(self, target: Array, known: Array) -> tuple[Ints, int]:
        """Return each row's group, and the number of groups: the last is of unknown targets."""
        if len(known) == 0:
            rule = "allowed are some with targets: they say which groups there are"
            raise DataError([Fault("data.public_records", "no public target", rule)])
        if self.groups is not None:
            edges = np.quantile(known, np.arange(1, self.groups) / self.groups)
            group = np.searchsorted(edges, target, side="right")
            return np.where(np.isnan(target), self.groups, group), self.groups + 1
        labels = np.unique(known)
        if len(labels) > 100:
            problem = f"nothing for {len(labels)} different targets of public rows"
            rule = "allowed is 2 to 100, groups between quantiles"
            raise DataError([Fault("data.split.groups", problem, rule)])
        group = np.searchsorted(labels, target)
        seen = labels[np.minimum(group, len(labels) - 1)] == target
        return np.where(seen, group, len(labels)), len(labels) + 1


def _is_split(value: object) -> object:
    """Say in one line what a split may be, rather than one line per member of the union."""
    if isinstance(value, SplitKind) or (isinstance(value, Mapping) and "kind" in value):
        return value
    table = value if isinstance(value, Mapping) else {}
    of_column = isinstance(table.get("column"), str) and {*table} <= {"column", "least"}
    if "dirichlet" in table or of_column:
        try:
            return (Dirichlet if "dirichlet" in table else ByColumn)(**table)
        except SpecError as error:
            raise faults_of(error.faults) from None
    if isinstance(value, str) and (value in ("in-order", "shuffled") or Place.named(value)):
        return value
    rule = 'allowed: in-order, shuffled, { column = "name" }, or { dirichlet = 0.5 }'
    raise PydanticCustomError("split", rule)


Split = Annotated[
    InOrder | Shuffled | ByColumn | Dirichlet, FAMILY_BY_NAME, BeforeValidator(_is_split)
]
"""Every way to split a table; a new one joins by its line here."""
