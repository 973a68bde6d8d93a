"""The steps by which encoded rows of any kind of table become features of owners."""

import shlex
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import Listed
from asyncdp_sim.core.specification import trait
from asyncdp_sim.data import splits
from asyncdp_sim.data.dataset import SYNTHETIC, DataKind, Dataset
from asyncdp_sim.data.tables.preprocessing import (
    LARGEST,
    EigenUncentred,
    Preprocessing,
    Projection,
    WithOnes,
    records_of,
    too_large_rows,
)
from asyncdp_sim.data.tables.rows import (
    FileRows,
    Source,
    Table,
    note,
    note_if_any,
    require_column,
    take,
)

Features = Annotated[int, Field(ge=1, le=100_000)]
PublicRecords = Annotated[int, Field(ge=0)]


class FaultCollector:
    """A collector of the faults of several steps, so that all of them are reported together.

    A step stands in a ``with`` block of its own and may fail where later steps do not need its
    result; :meth:`end` raises what was found before the first step that does.
    """

    def __init__(self) -> None:
        self._found: dict[Fault, None] = {}

    @contextmanager
    def step(self) -> Iterator[None]:
        """Collect the faults of a ``DataError`` that is raised inside."""
        try:
            yield
        except DataError as error:
            self._found |= dict.fromkeys(error.faults)

    def end(self, *last: Fault) -> None:
        """Raise a ``DataError`` if there are faults, the last ones included."""
        self._found |= dict.fromkeys(last)
        if len(self._found) > 0:
            raise DataError(self._found)


class TableRecipe(DataKind):
    """The fields of a table of any kind."""

    has_columns = True

    path: str | None = None
    features: Features
    public_records: PublicRecords
    public_overlap: bool = False
    preprocessing: Preprocessing = EigenUncentred()
    split: splits.Split = splits.InOrder()
    held_out: splits.HeldOutShare = 0.0
    score_on: Literal["participants", "all"] = "participants"

    file = trait(lambda self: self.path)

    @override
    def read_for(self, labels: int, *, intercept: bool) -> Self:
        if not intercept:
            return self
        return self.model_copy(
            update={"preprocessing": WithOnes(kind="with-ones", other=self.preprocessing)}
        )

    synthetic = trait(lambda self: self.file is None)
    public_file: ClassVar[str | None] = trait(lambda self: self.path)
    """The file whose last rows are public, if any."""
    origin = trait(
        lambda self: (
            f"{SYNTHETIC} twin of {self.kind}"
            if self.path is None
            else f"{self.kind} table {Path(self.path).name}"
        )
    )

    split_column = trait(lambda self: self.split.of_column)
    says_records = trait(lambda self: self.split_column is not None or self.split.by_target)
    target_column: ClassVar[str] = ""
    """The column of the file that the target is made of."""

    @override
    def says_whose(self, column: str) -> bool:
        by_target = self.split.by_target and column == self.target_column
        return by_target or super().says_whose(column)

    @override
    def owner_names(self) -> tuple[str, ...]:
        column = self.split_column
        if column is None or self.path is None:
            return ()
        values = self._column(column)
        return self._row_split.named(values[: max(len(values) - self._held_back, 0)])

    _of_labels: ClassVar[bool] = False
    """Whether the target is one of labels, which no shift centres."""
    chosen_by: ClassVar[int | None] = None
    """The seed by which public rows are chosen; None where they are the last ones."""
    _held_back: ClassVar[int] = trait(
        lambda self: 0 if self.public_overlap else self.public_records
    )
    """How many of the file's last rows are no owner's."""

    _row_split: ClassVar[splits.SplitKind] = trait(lambda self: self.split)
    """How the rows are given to owners: ``split``, unless another field names their column."""

    @abstractmethod
    def _column(self, name: str) -> Sequence[object]:
        """Read a raw column of the file, over all rows of the table, None where empty.

        Raises
        ------
        DataError
            If the file cannot be read, or has no such column.
        """

    @override
    def twin(self) -> Self | None:
        return self.model_copy(update={"path": None})

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.preprocessing.fitted and self.public_records < self.features:
            rule = f"allowed is at least features = {self.features} with preprocessing = "
            rule += f'"{self.preprocessing.kind}"'
            yield Fault("public_records", str(self.public_records), rule)

    def _wanted(self, used: Collection[str], columns: Sequence[str]) -> Callable[[str], bool]:
        """Tell which of a file's columns are read: the used ones and the one that splits.

        Raises
        ------
        DataError
            On ``data.split``, when there is no such column.
        """
        wanted = set(used)
        if self.split_column is not None:
            require_column(self.split_column, columns)
            wanted.add(self.split_column)
        return wanted.__contains__

    def _dataset(
        self,
        table: Table,
        values_of: splits.ValuesOf,
        request: splits.BuildRequest,
        source: Source | None = None,
        places: FileRows | None = None,
        collector: FaultCollector | None = None,
        given: Projection | None = None,
        persons: Ints | None = None,
        order: Array | None = None,
    ) -> Dataset:
        """Return the data set of an encoded table: fit on public rows, split, hold out, project.

        Parameters
        ----------
        table : Table
            The encoded rows, public ones last.
        values_of : callable
            From a column to its raw values over the table's rows, None where empty.
        request : BuildRequest
        source : Source, optional
            The file that private rows were read from; None where no private row was read.
        places : FileRows, optional
            Where the table's rows stand in files.
        collector : FaultCollector, optional
            The faults that were found in the table before.
        given : Projection, optional
            The projection, where it is not fitted here.
        persons, order : array (rows,), optional
            The person of each row, and its rank in time.
        """
        collector = FaultCollector() if collector is None else collector
        total = len(table.target)
        first_public = self._first_public(total, collector)
        available = total if self.public_overlap else first_public
        held_back = 0 if self.public_overlap else self.public_records
        streams = request.streams
        to_split = splits.TableToSplit(
            request, values_of, available, held_back, table.target, table.target[first_public:]
        )
        with collector.step():
            replaced = request.swap is not None and self._row_split.by_target
            owned = self._owned_before(request) if replaced else self._row_split.owned(to_split)
        with collector.step():
            public, public_targets = self._public(table, first_public, places)
            projection = self._projection(public, public_targets) if given is None else given
        collector.end()
        rows = owned.rows
        overlap = tuple(int(np.count_nonzero(r >= first_public)) for r in rows)
        whose = None if persons is None else [persons[r] for r in rows]
        ranks = None if order is None else [order[r] for r in rows]
        kept, apart = splits.keep_apart(self.held_out, list(map(len, rows)), streams, whose, ranks)
        unowned = np.arange(0)
        if self.score_on == "all":
            unowned = np.delete(np.arange(total), np.concatenate(rows))
        trained = [take(r, place) for r, place in zip(rows, kept, strict=True)]
        unseen = [r[a] for r, a in zip(rows, apart, strict=True)] if self.held_out > 0 else []
        sets = trained + unseen + ([unowned] if len(unowned) > 0 else [])
        real = source is not None
        features, targets, set_aside = records_of(table, projection, sets, first_public, real=real)
        notes = (
            *public_rows_note(source, self.public_file, self.public_records, self.chosen_by),
            *table.notes,
            *projection.notes,
            *owned.notes,
            *usage(rows, total, first_public, overlap),
            *splits.held_out_note(kept, apart),
            *persons_said(persons, rows, first_public),
            *without_targets([table.target[r] for r in trained], owned.names, real=real),
            *note_if_any("unowned", rows=len(unowned)),
            *set_aside,
        )
        of_owners, held = len(trained), slice(len(trained), len(trained) + len(unseen))
        return Dataset(
            features=features[:of_owners],
            targets=targets[:of_owners],
            columns=table.columns,
            public_rows_of_owner=overlap,
            real=real,
            source=source,
            notes=notes,
            held_out_features=features[held],
            held_out_targets=targets[held],
            rows=tuple(trained),
            unowned_features=features[-1] if len(unowned) > 0 else None,
            unowned_targets=targets[-1] if len(unowned) > 0 else None,
            owner_names=owned.names,
            public_targets=(
                projection.targets(table.target[first_public:]) if self.public_records > 0 else None
            ),
            file_rows=places,
            table=table,
            projection=projection,
            held_out_rows=tuple(unseen),
            persons=persons,
            order=order,
        )

    def _first_public(self, total: int, collector: FaultCollector) -> int:
        """Return how many rows come before the public ones; refuse a table that has fewer."""
        first = total - self.public_records
        if first < 0:
            rule = f"allowed is at most {total}, the number of rows of the table"
            collector.end(Fault("data.public_records", str(self.public_records), rule))
        return first

    def _owned_before(self, request: splits.BuildRequest) -> splits.OwnerSplit:
        """Return whose rows were before one was replaced: it keeps its owner."""
        recipe = self.model_copy(update={"held_out": 0.0, "score_on": "participants"})
        counts = None if request.records is None else tuple(request.records)
        before = recipe.build(request.n_owners, counts, request.streams.afresh())
        return splits.OwnerSplit(list(before.rows), before.owner_names)

    def _projection(self, rows: Array, target: Array) -> Projection:
        """Return what the public rows make of all rows and targets."""
        projection = self.preprocessing.fit(rows, target, self.features)
        return replace(projection, target_shift=0.0) if self._of_labels else projection

    def _public(self, table: Table, first: int, places: FileRows | None) -> tuple[Array, Array]:
        """Return the public rows and targets that are to be fitted, as far as they have targets.

        Raises
        ------
        DataError
            On ``data.public_records``, where a public row holds a number that is too large.
        """
        target = table.target[first:]
        rows = np.concatenate(list(table.pieces(np.arange(first, len(table.target)))))
        large = too_large_rows(rows) | (np.abs(target) > LARGEST)
        if large.any():
            row = int(np.argmax(large))
            cells = np.abs(np.append(rows[row], target[row]))
            at = int(np.nanargmax(cells))
            where = f"column {table.columns[at]!r}" if at < len(table.columns) else "the target"
            row += first
            called = f"row {row + 1}" if places is None else places.name_of(row)
            problem = f"{self.public_records}, with {cells[at]:g} in {where} of {called}"
            rule = f"allowed are public rows of numbers up to {LARGEST:g}"
            raise DataError([Fault("data.public_records", problem, rule)])
        has_target = ~np.isnan(target)
        return (rows, target) if has_target.all() else (rows[has_target], target[has_target])


def persons_said(persons: Ints | None, rows: Sequence[Ints], first_public: int) -> tuple[str, ...]:
    """Return how many rows a person has at most, and what that means for privacy."""
    if persons is None:
        return ()
    most, both = 0, 0
    public = np.unique(persons[first_public:])
    for owned in rows:
        private = owned[owned < first_public]
        private_persons, counts = np.unique(persons[private], return_counts=True)
        most = max(most, int(counts.max(initial=0)))
        both += int(np.isin(private_persons, public).sum())
    of_persons = note_if_any("rows-of-a-person", most=most)
    return (*of_persons, *note_if_any("persons-in-public", both=both))


def without_targets(
    targets: Sequence[Array], names: Sequence[str], *, real: bool
) -> tuple[str, ...]:
    """Return which owners have no target at all, and what leaves them out."""
    none = [i for i, y in enumerate(targets) if len(y) > 0 and bool(np.isnan(y).all())]
    if not real or len(none) == 0:
        return ()
    option = "--without NUMBER"
    if len(names) > 0 and len(none) <= 5:
        option = " ".join(f"--without {shlex.quote(names[i])}" for i in none)
    owners = Listed.from_numbers([i + 1 for i in none])
    return (note("without-a-target", owners=owners, option=option),)


def public_rows_note(
    source: Source | None, file: str | None, public: int, seed: int | None
) -> tuple[str, ...]:
    """Return which rows of a file are public, where one was read."""
    if source is None:
        return ()
    which = "last-rows-public" if seed is None else "chosen-rows-public"
    return note_if_any(which, public=public, file=Path(file or source.name).name)


def usage(
    rows: Sequence[Ints], total: int, first_public: int, overlap: Sequence[int]
) -> tuple[str, ...]:
    """Return how many owners' rows are public, and how many rows have no owner."""
    used, public, shared = sum(map(len, rows)), total - first_public, sum(overlap)
    unused = total - used - (public - shared)
    return (
        *note_if_any("public-and-owned", shared=shared, public=public),
        *note_if_any("unused", unused=unused, total=total),
    )
