"""Two neighbouring datasets that differ as much as one record of a scenario can make them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from asyncdp_sim.audits.overheard import overhear
from asyncdp_sim.data import Dataset, Swap
from asyncdp_sim.data.tables.neighbour_file import CELLS, write_neighbour
from asyncdp_sim.data.void import blank, void
from asyncdp_sim.errors import DataError
from asyncdp_sim.runs.problem import Problem, build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.streams import Streams

Array = npt.NDArray[np.float64]
FACTORS = (1.0, -1.0, 100.0, -100.0)
"""What a record's encoded features are multiplied by, where the bound is one on any record."""
_MOST = 1000
"""Records that are looked at, from the front of every owner's."""
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
        Whose record differs, from 0.
    first, second : Problem
    words : str
        Which record, and what stands there.
    error : str, optional
        Why there is no run on the second dataset, in whose place the first stands: that tells all.
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
        As :func:`asyncdp_sim.runs.run`.
    """
    dataset = _built(scenario, None)
    problem = prepare(scenario, dataset)
    scope = Streams(scenario.run.seed).within("audit", "trial")
    talkative = scenario.model_copy(update={"trigger": None})
    queries = overhear(talkative.network, problem.task, scope).points[:_QUERIES]
    gradients, places = _records(scenario, dataset, problem, queries)
    order = 1 if scenario.privacy.norm == "l1" else 2
    length = np.linalg.norm(gradients, ord=order, axis=2).sum(axis=0)
    public = np.array(dataset.public_rows_of_owner)
    if public.any():
        owner = int(np.argmax(public))
        row = int(dataset.rows[owner].max())  # public rows are the table's last
    else:
        owner = _owner(scenario, problem, dataset, places[int(np.argmax(length))].row)
        row = int(dataset.rows[owner][0])
        recoded = _recoded(scenario, dataset, problem, owner, row)
        if recoded is not None:
            return recoded
    one, other = _apart(gradients, length, order)
    swaps = [Swap(row, places[j].row, places[j].factor) for j in (one, other)]
    told = ", or by ".join(
        dataset.row_name(swap.by)
        + (f" with its features times {swap.factor:g}" if swap.factor != 1 else "")
        for swap in swaps
    )
    first, second = (prepare(scenario, _built(scenario, swap)) for swap in swaps)
    called = scenario.owners.participants[owner]
    return Neighbours(
        owner, first, second, f"{dataset.row_name(row)}, of owner {called}, is replaced by {told}"
    )


def _recoded(
    scenario: Scenario, dataset: Dataset, problem: Problem, owner: int, row: int
) -> Neighbours | None:
    """Return the scenario on its file and on a copy of which one row moves other rows' records.

    A sound loader lets no row do so, nor end the run: then there is no such pair.
    """
    path, places = scenario.data.file, dataset.file_rows
    if path is None or places is None:
        return None
    _, row = places.place(row)
    most, worst = 1, None
    with TemporaryDirectory() as folder:
        for number, (words, cell) in enumerate(CELLS.items()):
            told = f"row {row + 1} of {Path(path).name} holds {words} in every cell"
            copy = Path(folder) / str(number)
            copy = write_neighbour(
                path, copy, row, cell, scenario.data.says_whose, scenario.data.form
            )
            data = scenario.data.model_copy(update={"path": str(copy)})
            try:
                other = _built(scenario.model_copy(update={"data": data}), None)
                there = prepare(scenario, other)
            except DataError as error:
                return Neighbours(owner, problem, problem, told, "; ".join(error.lines()))
            moved = _moved(dataset, other, problem)
            if moved.sum() > most:
                most, attacked = int(moved.sum()), int(np.argmax(moved))
                told = f"{told}, so that {most} records differ"
                worst = Neighbours(attacked, problem, there, told)
    return worst


def _moved(dataset: Dataset, other: Dataset, problem: Problem) -> npt.NDArray[np.int64]:
    """Return how many records of each owner differ, (N,); of those that claim no ε, none."""
    moved = []
    for x, y, z, t in zip(
        dataset.features, dataset.targets, other.features, other.targets, strict=True
    ):
        shared = min(len(y), len(t))
        same = (x[:shared] == z[:shared]).all(axis=1)
        same &= (y[:shared] == t[:shared]) | (np.isnan(y[:shared]) & np.isnan(t[:shared]))
        moved.append(max(len(y), len(t)) - int(np.count_nonzero(same)))
    return np.where(np.isfinite(problem.accountant.epsilon), moved, 0)


def _apart(gradients: Array, length: Array, order: int) -> tuple[int, int]:
    """Return two records whose gradients (queries, records, p) are far apart, summed over queries.

    One of them is among the longest or at an even distance in the table.
    """
    count = gradients.shape[1]
    starts = np.concatenate(
        [np.argsort(length)[-_STARTS:], np.arange(0, count, -(-count // _STARTS))]
    )
    best = (-1.0, 0, 0)
    for one in np.unique(starts).tolist():
        apart = np.linalg.norm(gradients - gradients[:, [one]], ord=order, axis=2).sum(axis=0)
        other = int(np.argmax(apart))
        best = max(best, (float(apart[other]), one, other))
    return best[1], best[2]


@dataclass(frozen=True)
class _Place:
    row: int
    factor: float


def _built(scenario: Scenario, swap: Swap | None) -> Dataset:
    return build_dataset(scenario, swap)


def _owner(scenario: Scenario, problem: Problem, dataset: Dataset, row: int) -> int:
    """Return the owner that is attacked where none has public rows."""
    if scenario.privacy.on_trust:
        return next(i for i, rows in enumerate(dataset.rows) if row in rows)
    epsilon = problem.accountant.epsilon
    return int(np.argmax(np.where(np.isfinite(epsilon), epsilon, -1.0)))


def _records(
    scenario: Scenario, dataset: Dataset, problem: Problem, queries: Array
) -> tuple[Array, list[_Place]]:
    """Return gradients of single records (queries, m, p), and what these are.

    Bounded as the scenario bounds them, but projected as the table is without a replacement: what
    is chosen by them is only where to look.
    """
    factors = (1.0,) if scenario.privacy.on_trust else FACTORS
    rows, places = [], []
    for features, targets, numbers in _some(dataset):
        for factor in factors:
            rows.append((features * factor, targets))
            places += [_Place(int(number), factor) for number in numbers]
    x = [row[None] for block, _ in rows for row in block]
    y = [np.array([value]) for _, block in rows for value in block]
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


def _some(dataset: Dataset) -> Iterator[tuple[Array, Array, npt.NDArray[np.int64]]]:
    """Yield features, targets and row numbers of every owner's first records."""
    each = max(1, _MOST // len(dataset.targets))
    for x, y, numbers in zip(dataset.features, dataset.targets, dataset.rows, strict=True):
        yield x[:each], y[:each], numbers[:each]
