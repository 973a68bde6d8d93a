"""Two neighbouring datasets that differ as much as one record of a scenario can make them.

Of records of the table one is replaced by another. A bound that is enforced holds for every record,
of a table or not: so a second record is made up, after encoding, along a coordinate or along all,
short and long, with small and large targets. Of all pairs one is taken whose gradients are as far
apart as the bound allows, and by other amounts at other queries: what moves all answers alike drops
out of their differences.

A neighbour of a table's file is a copy in which one row holds something else in every cell. A
guarantee is about what owners have in their files, so that it covers what a loader makes of a
file: the type of a column, the codes of its texts, and which rows there are. A neighbouring file is
therefore read by the same loader as the file itself.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.eavesdropper import View, overhear
from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import Dataset, Swap
from asyncdp_sim.data.dataset import blank, void
from asyncdp_sim.data.tables.file_form import PLAIN, FileForm, long_cells, opened
from asyncdp_sim.runs.problem import Problem, build_dataset, exact_answers, prepare
from asyncdp_sim.scenario import Scenario

if TYPE_CHECKING:
    import pyarrow as pa

FACTORS = (1.0, -1.0, 100.0, -100.0)
"""What a record's encoded features are multiplied by, where the bound is one on any record."""
_MOST = 1000
"""Number of each owner's first records that are searched."""
_QUERIES = 8
"""Queries of the trial run at which gradients are compared."""
_STARTS = 100
"""Records that are compared with all others, of each kind."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A scenario on two datasets.

    Attributes
    ----------
    owner : int
        The owner whose record differs, from 0.
    first, second : Problem
        The scenario on each of the two datasets.
    words : str
        The record, and what it is on each dataset.
    error : str, optional
        Why the scenario does not run on the second dataset, which reveals the record; ``second`` is
        then the first problem.
    """

    owner: int
    first: Problem
    second: Problem
    words: str
    error: str | None = None


def neighbours(scenario: Scenario) -> Neighbours:
    """Return the two, the record replaced before anything is made of the table.

    The owner is one that has public rows, or else the one whose record's gradient is the largest
    where the bound is declared, or else the one with the largest ε. Records that take the place
    are of the table, where the bound is declared: a bound that holds for them is not blamed. Else
    they are multiplied too, for a bound that is enforced must hold for any record. Of all pairs,
    one is taken whose gradients are far apart at the queries of a trial run. But where the records
    come from a file, a row of it is filled with what its columns may not expect, and the copy read
    by the same loader: should more than one record differ then, that is the pair.

    Raises
    ------
    DataError
        As :func:`asyncdp_sim.runs.run.run`.
    """
    dataset = build_dataset(scenario)
    problem = prepare(scenario, dataset)
    scope = Streams(scenario.run.seed).within("audit", "trial")
    queries = overhear(scenario.network, problem.task, scope).points[:_QUERIES]
    gradients, places = _single_gradients(scenario, dataset, problem, queries)
    order = 1 if scenario.privacy.norm == "l1" else 2
    lengths = np.linalg.norm(gradients, ord=order, axis=2).sum(axis=0)
    if scenario.privacy.per_owner:
        return _whole_owner_pair(scenario, dataset, gradients, places, lengths)
    public = np.array(dataset.public_rows_of_owner)
    if public.any():
        owner = int(np.argmax(public))
        row = int(dataset.rows[owner].max())  # public rows are the table's last
    else:
        owner = _owner(scenario, problem, dataset, places[int(np.argmax(lengths))].row)
        row = int(dataset.rows[owner][0])
        of_files = _pair_of_files(scenario, dataset, problem, owner, row)
        if of_files is not None:
            return of_files
    first_place, other = _far_records(gradients, lengths, order)
    swaps = [Swap(row, places[j].row, places[j].factor) for j in (first_place, other)]
    replacements = ", or by ".join(_name(dataset, places[j]) for j in (first_place, other))
    first, second = (prepare(scenario, build_dataset(scenario, swap)) for swap in swaps)
    name = f"{dataset.row_name(row)}, of owner {scenario.owners.participants[owner]},"
    return Neighbours(owner, first, second, f"{name} is replaced by {replacements}")


def _whole_owner_pair(
    scenario: Scenario,
    dataset: Dataset,
    gradients: Array,
    places: Sequence["_Place"],
    lengths: Array,
) -> Neighbours:
    """Return the scenario with one owner's table full of a record, and full of another, or empty.

    Ξ bounds a table's mean gradient as it bounds a record's: equal records reach what it allows.
    """
    order = 1 if scenario.privacy.norm == "l1" else 2
    pair = [places[at] for at in _far_records(gradients, lengths, order)]
    owner, records, names = most_charged_owner(scenario, dataset), [], []
    for place in pair:
        holder = next(i for i, rows in enumerate(dataset.rows) if place.row in rows)
        at = list(dataset.rows[holder]).index(place.row)
        features, target = dataset.features[holder][at], dataset.targets[holder][at]
        records.append((features * place.factor, float(target)))
        names.append(_name(dataset, place))
    if _adds_or_removes(scenario):
        records[1], names[1] = absent_record(dataset.features[0].shape[1]), "not there"
    first, second = (
        prepare(scenario, _with_record(scenario, dataset, owner, record)) for record in records
    )
    called = scenario.owners.participants[owner]
    words = f"each record of owner {called} is {names[0]}, or {names[1]}"
    return Neighbours(owner, first, second, words)


def changed_records(
    scenario: Scenario, dataset: Dataset, owner: int, place: int = 0
) -> list[tuple[int, int]]:
    """Return the (owner, place) of all records that differ together.

    They are one record, or all of the owner's where a whole owner is hidden.
    """
    if not scenario.privacy.per_owner:
        return [(owner, place)]
    return [(owner, at) for at in range(dataset.records[owner])]


def _with_record(scenario: Scenario, dataset: Dataset, owner: int, record: "Record") -> Dataset:
    """Return the dataset with this record in place of the owner's first, or of all its records."""
    return replaced(dataset, dict.fromkeys(changed_records(scenario, dataset, owner), record))


def _name(dataset: Dataset, place: "_Place") -> str:
    """Return the name of a record that stands in another one's place."""
    times = f" with its features times {place.factor:g}" if place.factor != 1 else ""
    return f"{dataset.row_name(place.row)}{times}"


def absent_record(features: int) -> "Record":
    """Return a record without a target, which has no loss and no gradient, as if it were none."""
    return np.zeros(features), np.nan


def _pair_of_files(
    scenario: Scenario, dataset: Dataset, problem: Problem, owner: int, row: int
) -> Neighbours | None:
    """Return the scenario on its file and on a copy of which one row moves other rows' records.

    A sound loader lets no row do so, nor end the run: then there is no such pair.
    """
    data, path, places = scenario.data, scenario.data.file, dataset.file_rows
    if path is None or places is None:
        return None
    _, row = places.place(row)
    most, worst = 1, None
    with TemporaryDirectory() as folder:
        for number, (words, cell) in enumerate(CELLS.items()):
            description = f"row {row + 1} of {Path(path).name} holds {words} in every cell"
            copy = Path(folder) / str(number)
            copy = write_neighbour(path, copy, row, cell, data.says_whose, data.form)
            changed = data.model_copy(update={"path": str(copy)})
            try:
                other = build_dataset(scenario.model_copy(update={"data": changed}))
                second = prepare(scenario, other)
            except DataError as error:
                return Neighbours(owner, problem, problem, description, "; ".join(error.lines()))
            moved = _number_that_differ(dataset, other, problem)
            if moved.sum() > most:
                most, attacked = int(moved.sum()), int(np.argmax(moved))
                description = f"{description}, so that {most} records differ"
                worst = Neighbours(attacked, problem, second, description)
    return worst


def _number_that_differ(dataset: Dataset, other: Dataset, problem: Problem) -> Ints:
    """Return how many records of each owner differ, (N,); of those that claim no ε, none."""
    moved = []
    both = dataset.features, dataset.targets, other.features, other.targets
    for x, y, z, t in zip(*both, strict=True):
        shared = min(len(y), len(t))
        same = (x[:shared] == z[:shared]).all(axis=1)
        same &= (y[:shared] == t[:shared]) | (np.isnan(y[:shared]) & np.isnan(t[:shared]))
        moved.append(max(len(y), len(t)) - int(np.count_nonzero(same)))
    return np.where(np.isfinite(problem.accountant.epsilon), moved, 0)


def _far_records(gradients: Array, lengths: Array, order: int) -> tuple[int, int]:
    """Return places of two records whose gradients (queries, records, p) are far apart.

    Distances are summed over queries. To save time one of the two is among the :data:`_STARTS`
    longest, or among as many at even distances in the table; the other is any record.
    """
    count = gradients.shape[1]
    longest, spread = np.argsort(lengths)[-_STARTS:], np.arange(0, count, -(-count // _STARTS))
    best = (-1.0, 0, 0)
    for first in np.union1d(longest, spread).tolist():
        apart = np.linalg.norm(gradients - gradients[:, [first]], ord=order, axis=2).sum(axis=0)
        other = int(np.argmax(apart))
        best = max(best, (float(apart[other]), first, other))
    return best[1], best[2]


@dataclass(frozen=True)
class _Place:
    """A row of the table whose encoded features are multiplied by a factor."""

    row: int
    factor: float


def _owner(scenario: Scenario, problem: Problem, dataset: Dataset, row: int) -> int:
    """Return the owner, from 0, that is attacked where none has public rows."""
    if scenario.privacy.on_trust:
        return next(i for i, rows in enumerate(dataset.rows) if row in rows)
    epsilon = problem.accountant.epsilon
    return int(np.argmax(np.where(np.isfinite(epsilon), epsilon, -1.0)))


def _single_gradients(
    scenario: Scenario, dataset: Dataset, problem: Problem, queries: Array
) -> tuple[Array, list[_Place]]:
    """Return gradients of single records (queries, m, p), and what these are.

    Bounded as the scenario bounds them, but projected as the table is without a replacement: what
    is chosen by them is only where to look.
    """
    factors = (1.0,) if scenario.privacy.on_trust else FACTORS
    count = max(1, _MOST // len(dataset.targets))
    x, y, places = list[Array](), list[Array](), list[_Place]()
    for owner_rows in zip(dataset.features, dataset.targets, dataset.rows, strict=True):
        features, targets, numbers = (rows[:count] for rows in owner_rows)
        for factor in factors:
            x += [row[None] * factor for row in features]
            y += [np.array([value]) for value in targets]
            places += [_Place(int(number), factor) for number in numbers]
    points = np.concatenate([queries, problem.task.objective.optimum[None]])
    return single_gradients(scenario, x, y, points), places


def single_gradients(
    scenario: Scenario, x: Sequence[Array], y: Sequence[Array], points: Array
) -> Array:
    """Return gradients (points, m, p) of m records (1, p), bounded as the scenario bounds them."""
    model, privacy = scenario.model, scenario.privacy
    x, nothing = [np.asfortranarray(row) for row in x], void(y)
    y = blank(y, nothing)
    if privacy.bounded is not None:
        x, y = privacy.bounded.confine(x, y, privacy.norm)
    bounded = blank(model.design(x), nothing)
    single = model.records(bounded, y, privacy.clip_bound, privacy.norm)
    every = np.arange(len(y))
    return np.stack([single.gradient(every, np.tile(point, (len(y), 1))) for point in points])


Record = tuple[Array, float]
"""Features (p,) and a target."""
SIZES = (0.1, 1.0, 10.0, 1000.0, -0.1, -1.0, -10.0, -1000.0)
"""What a direction of unit length is multiplied by."""
TARGETS = (0.0, 1.0, -1.0, 1000.0, -1000.0)
"""Targets of made-up records, where the model predicts numbers."""
_BETTER = 1 + 1e-9
"""Factor by which a later pair must be better: of equal ones the first stays, along a coordinate,
whatever rounding adds."""
_TRIALS = 4
"""Runs whose queries are those at which gradients are compared."""
_ASKED = 32
"""Queries at most at which gradients are compared."""


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Records that were made up for one owner's first, and where they move its answers.

    Attributes
    ----------
    scenario : Scenario
    dataset : Dataset
    owner : int
        From 0.
    varied : tuple of Record
        Two whose gradients are far apart, and the more or the less so from query to query.
    farthest : tuple of array (size,)
        What the owner would answer to one query, without noise, where that moves the most.
    """

    scenario: Scenario
    dataset: Dataset
    owner: int
    varied: tuple[Record, Record]
    farthest: tuple[Array, Array]

    def pair(self) -> Neighbours:
        """Return the scenario with the one record, and with the other.

        Raises
        ------
        DataError
            As :func:`asyncdp_sim.runs.run.run`.
        """
        first, second = (
            prepare(self.scenario, _with_record(self.scenario, self.dataset, self.owner, record))
            for record in self.varied
        )
        row = self.dataset.row_name(self.dataset.rows[self.owner][0])
        called = self.scenario.owners.participants[self.owner]
        records = " or ".join(_in_words(*record) for record in self.varied)
        words = f"{row}, of owner {called}, encoded, is {records}"
        if self.scenario.privacy.per_owner:
            words = f"each record of owner {called}, encoded, is {records}"
        return Neighbours(self.owner, first, second, words)


def made_up(
    scenario: Scenario, dataset: Dataset, problem: Problem, queries: Array | None = None
) -> MadeUp | None:
    """Return records that bring the answers of an owner as far apart as a record can.

    They do so at ``queries``, by default those of :func:`trial_runs`, for the owner of
    :func:`most_charged_owner`. None where the bound is declared: a made-up record would break it.
    """
    if scenario.privacy.on_trust:
        return None
    owner = most_charged_owner(scenario, dataset)
    queries = queries_of(trial_runs(scenario, problem)) if queries is None else queries
    p = scenario.data.features
    directions = [np.eye(1, p, at)[0] for at in sorted({0, p - 1})]
    records = records_along(scenario, [*directions, np.full(p, 1 / p)])
    gradients = gradients_of_records(scenario, records, queries)
    first, second, query = farthest_records(scenario, gradients, _largest_distance)
    answers = list[Array]()
    for record in (records[first], records[second]):
        changed = _with_record(scenario, dataset, owner, record)
        exact = exact_answers(scenario, changed, problem.task.steps)
        answers.append(exact.gradient(np.array([owner]), queries[[query]])[0])
    first, second, _ = farthest_records(scenario, gradients, _varying_distance)
    varied = records[first], records[second]
    return MadeUp(scenario, dataset, owner, varied, (answers[0], answers[1]))


def most_charged_owner(scenario: Scenario, dataset: Dataset) -> int:
    """Return the owner, from 0, whose answers cost the largest finite ε.

    Of several, it is the one whose record moves an answer most: the one with the fewest records, or
    with the most where a whole owner is hidden.
    """
    price = [
        (claim.of_one().epsilon, n if scenario.privacy.per_owner else -n)
        for claim, n in zip(owed(scenario), dataset.records, strict=True)
    ]
    finite = [owner for owner, (epsilon, _) in enumerate(price) if np.isfinite(epsilon)]
    return max(finite, key=lambda owner: (*price[owner], -owner))


def trial_runs(scenario: Scenario, problem: Problem) -> list[View]:
    """Return what an observer receives in a few runs of the scenario."""
    scopes = [Streams(scenario.run.seed).within("audit", "worst", r) for r in range(_TRIALS)]
    return [overhear(scenario.network, problem.task, scope) for scope in scopes]


def queries_of(runs: Sequence[View]) -> Array:
    """Return what runs ask, (q, p), none twice; the model that is 0 where they ask nothing."""
    unique_points = np.unique(np.concatenate([run.points for run in runs]), axis=0)[:_ASKED]
    return unique_points if len(unique_points) > 0 else np.zeros((1, unique_points.shape[1]))


def records_along(scenario: Scenario, directions: Sequence[Array]) -> list[Record]:
    """Return records along these directions, short and long, with small and large targets.

    Where an owner is there or is not, the first is none at all.
    """
    targets = scenario.model.labels[::-1] if scenario.model.classifies else TARGETS
    first = [absent_record(len(directions[0]))] if _adds_or_removes(scenario) else []
    made = product(directions, SIZES, targets)
    return [*first, *((size * direction, y) for direction, size, y in made)]


def _adds_or_removes(scenario: Scenario) -> bool:
    """Return whether neighbours differ in an owner that is there or is not."""
    return scenario.privacy.adjacency == "added-or-removed"


def gradients_of_records(scenario: Scenario, records: Sequence[Record], queries: Array) -> Array:
    """Return gradients (queries, records, p) of single records, bounded."""
    x, y = [features[None] for features, _ in records], [np.array([value]) for _, value in records]
    return single_gradients(scenario, x, y, queries)


def farthest_records(
    scenario: Scenario, gradients: Array, worth: Callable[[Array, int], Array]
) -> tuple[int, int, int]:
    """Return places of two records with distant gradients, and the query of the largest distance.

    Where an owner is there or is not, one of the two is the first record, which is absent.

    Parameters
    ----------
    scenario : Scenario
    gradients : array (queries, records, p)
    worth : callable
        From differences (queries, m, p), and the order of the norm, to their distances (m,).
    """
    best, pair = 0.0, (0, 1, 0)
    order = 1 if scenario.privacy.norm == "l1" else 2
    for first in range(1 if _adds_or_removes(scenario) else gradients.shape[1] - 1):
        apart = gradients[:, first + 1 :] - gradients[:, [first]]
        value = worth(apart, order)
        other = int(np.argmax(value))
        if value[other] > best * _BETTER:
            best = float(value[other])
            most = int(np.argmax(np.linalg.norm(apart[:, other], ord=order, axis=1)))
            pair = (first, first + 1 + other, most)
    return pair


def _largest_distance(apart: Array, order: int) -> Array:
    """Return the largest distance over queries, (m,), of differences (queries, m, p)."""
    return np.asarray(np.linalg.norm(apart, ord=order, axis=2).max(axis=0))


def mean_distance(apart: Array, order: int) -> Array:
    """Return the mean distance over queries, (m,), of differences (queries, m, p)."""
    return np.asarray(np.linalg.norm(apart, ord=order, axis=2).mean(axis=0))


def _varying_distance(apart: Array, order: int) -> Array:
    """Return the mean distance, plus the mean distance of differences from their own mean."""
    return mean_distance(apart, order) + mean_distance(apart - apart.mean(axis=0), order)


def replaced(dataset: Dataset, records: Mapping[tuple[int, int], Record]) -> Dataset:
    """Return the records of a scenario, some replaced after encoding, by owner and place."""
    features, targets = list(dataset.features), list(dataset.targets)
    for owner in {owner for owner, _ in records}:
        features[owner] = features[owner].copy(order="F")
        targets[owner] = targets[owner].copy()
    for (owner, place), (x, y) in records.items():
        features[owner][place], targets[owner][place] = x, y
    return replace(dataset, features=tuple(features), targets=tuple(targets))


def _in_words(x: Array, y: float) -> str:
    """Return a made-up record in words."""
    at = np.flatnonzero(x)
    if np.isnan(y):
        return "not there"
    where = "all" if len(at) > 1 or len(x) == 1 else f"coordinate {at[0] + 1}"
    return f"{x[at[0]]:g} in {where} with target {y:g}"


Kept = Callable[[str], bool]
"""Tells which columns stay as they are."""
CELLS: dict[str, str | float | None] = {
    "nothing": None,
    "the text maybe": "maybe",
    "the text True": "True",
    "the number 1e153": 1e153,
}
"""What a row may hold in every cell, in words and as it stands: too little, no number, another
type, too much."""


def write_neighbour(
    path: str, copy: Path, row: int, cell: str | float | None, kept: Kept, form: FileForm = PLAIN
) -> Path:
    """Write a copy of a table with one row changed, and return where it is.

    Parameters
    ----------
    path : str
        A CSV, a gzipped CSV or a Parquet file.
    copy : Path
        Where the copy goes, without a suffix: ``.csv`` or ``.parquet`` is added.
    row : int
        From 0, the header not counted; past the end nothing is changed.
    cell : str, float or None
        What its cells hold; None is nothing. A Parquet column of another type becomes one of texts.
    kept : callable
        Tells of columns that stay as they are, such as that which says whose a row is.
    form : FileForm
        Of a CSV.
    """
    if path.endswith(".parquet"):
        return _parquet(path, copy.with_suffix(".parquet"), row, cell, kept)
    written = "" if cell is None else f"{cell:g}" if isinstance(cell, float) else cell
    return _csv(path, copy.with_suffix(".csv"), row, written, kept, form)


def _csv(path: str, copy: Path, row: int, cell: str, kept: Kept, form: FileForm) -> Path:
    # a mark before the header is no part of a column's name
    charset = "utf-8-sig" if form.charset == "utf-8" else form.charset
    with (
        long_cells(),
        opened(path) as packed,
        io.TextIOWrapper(packed, encoding=charset, newline="") as source,
        copy.open("w", encoding=form.charset, newline="") as target,
    ):
        written = csv.writer(target, delimiter=form.separator)
        header: list[str] = []
        at = -1
        for line in csv.reader(source, delimiter=form.separator):
            if len(header) == 0:
                header = line if len(line) > 1 else []  # a title before the header has one cell
            elif len(line) > 0:
                at += 1
            if at == row and len(line) > 0:
                line = [
                    old if kept(name) else cell
                    for name, old in zip(header, [*line, *[""] * len(header)], strict=False)
                ]
            written.writerow(line)
    return copy


def _parquet(path: str, copy: Path, row: int, cell: str | float | None, kept: Kept) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    columns = {
        name: table[name] if kept(name) else _with_cell(table[name], row, cell)
        for name in table.column_names
    }
    pq.write_table(pa.table(columns).replace_schema_metadata(table.schema.metadata), copy)
    return copy


def _with_cell(column: "pa.ChunkedArray", row: int, cell: str | float | None) -> "pa.ChunkedArray":
    """Return a column with one cell replaced, in a type that holds it beside all the others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not any(holds(column.type) for holds in _tests_of_types()):
        return column
    if isinstance(cell, float) and (
        pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    ):
        column = column.cast(pa.float64(), safe=False)
    elif cell is not None:
        if pa.types.is_floating(column.type):
            column = column.cast(pa.float64())  # as text, 0.1 of four bytes is another number
        if pa.types.is_boolean(column.type):  # as the loader spells them; Arrow writes true
            column = pc.if_else(column, "True", "False")
        column = column.cast(pa.string())
        cell = f"{cell:g}" if isinstance(cell, float) else cell
    if row >= len(column):
        return column
    replacement = pa.chunked_array([pa.array([cell], type=column.type)])
    parts = [column.slice(0, row), replacement, column.slice(row + 1)]
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], type=column.type)


def _tests_of_types() -> tuple[Callable[["pa.DataType"], bool], ...]:
    """Return what tells the types of cells whose texts mean the same as they do."""
    from pyarrow import types

    numbers = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
    texts = (types.is_string, types.is_large_string)
    return (*numbers, *texts, types.is_date, types.is_timestamp, types.is_null)
