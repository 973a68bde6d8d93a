"""Learning over recorded traces: a fold over the answers that updates are made of.

A number that is equal in all cells stays a number. One that differs becomes a column, with a row
for each replicate of each cell (:func:`~asyncdp_sim.learning.algorithms.steps.rows_column`). So a
row is computed by the same operations as if its cell were alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.progress import Advance
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms import Algorithm, AnswerBatch, Asks, CellRows
from asyncdp_sim.learning.answers import AnswerModel, AnswerNoise, Answers, apply_answers
from asyncdp_sim.learning.objectives import LinearRecords
from asyncdp_sim.learning.objectives.records import NUMBERS, GradientMonitor
from asyncdp_sim.learning.recording import ModelRecorder, Reads, Trajectory
from asyncdp_sim.trace import Trace


@dataclass(frozen=True, eq=False)
class CellTask:
    """A sweep's cell that is to learn over traces.

    Attributes
    ----------
    steps, reply
        The algorithm, and how owners answer.
    record_every : int
        Distance in k between recorded models, ≥ 1.
    watch : GradientMonitor, optional
        Receives the queries that were answered.
    """

    steps: Algorithm
    reply: AnswerModel
    record_every: int
    watch: GradientMonitor | None = None

    def size(self, replicates: int, horizon: int) -> int:
        """Return the bytes of its trajectory, state, second moments and waiting queries."""
        p, n = self.steps.n_features, self.reply.noise.scale.size
        numbers = p * (replicates * (horizon // self.record_every + 2 + n) + n * (p + 1))
        return 8 * (numbers + (0 if self.watch is None else NUMBERS))


def alike(cell: CellTask) -> Hashable:
    """Return a key that is equal for cells that can be rows of one fold; None for a cell alone."""
    steps, reply = cell.steps, cell.reply
    noise, sample = reply.noise, reply.sample
    if not (is_dataclass(steps) and is_dataclass(noise)):
        return None
    if any(is_dataclass(getattr(noise, field.name)) for field in fields(noise)):
        return None
    common = (
        _common(steps, steps.by_row),
        _common(noise, _tables(noise)),
        None if sample is None else (type(sample), sample.stream, sample.size),
        (reply.allotment is None, reply.copy, reply.whole),
        None if reply.bound is None else _common(reply.bound, reply.bound.by_row),
    )
    try:
        hash(common)
    except TypeError:
        return None
    return common


def together(cells: Sequence[CellTask], rows: CellRows) -> CellTask:
    """Return cells that are :func:`alike` as one cell, whose owners are at places cN + i."""
    if len(cells) == 1:
        return cells[0]
    first, replies = cells[0], [cell.reply for cell in cells]
    steps = _by_row([cell.steps for cell in cells], first.steps.by_row, rows.replicates)
    noises = [reply.noise for reply in replies]
    noise = replace(
        noises[0],  # type: ignore[type-var]  # alike has asked for a dataclass
        **{
            name: np.concatenate([getattr(cell_noise, name) for cell_noise in noises])
            for name in _tables(noises[0])
        },
    )

    sizes = [len(cell_noise.scale) for cell_noise in noises]
    samples = [reply.sample for reply in replies if reply.sample is not None]
    allotments = [reply.allotment for reply in replies if reply.allotment is not None]
    bounds = [reply.bound for reply in replies if reply.bound is not None]
    reply = AnswerModel(
        gradients=CellParts([reply.gradients for reply in replies], rows.owners, sizes),
        noise=noise,
        sample=CellParts(samples, rows.owners, sizes) if len(samples) > 0 else None,
        allotment=CellParts(allotments, rows.owners, sizes) if len(allotments) > 0 else None,
        copy=first.reply.copy,
        whole=first.reply.whole,
        bound=_by_row(bounds, bounds[0].by_row, rows.replicates) if len(bounds) > 0 else None,
    )
    return CellTask(steps, reply, first.record_every)


class CellParts:
    """The gradients, samples or allotments of several cells: each row uses its own cell's.

    The records of linear models that differ between cells are taken as those of further owners, so
    that one call computes all gradients.

    Parameters
    ----------
    parts : sequence of Gradients, Sample or Places
        One for each cell; cells may share one.
    n_owners : int
        N, in every cell.
    sizes : sequence of int
        Scales in the noise of each cell.
    """

    def __init__(self, parts: Sequence[Any], n_owners: int, sizes: Sequence[int]) -> None:
        self._parts = list({id(part): part for part in parts}.values())
        numbers = {id(part): number for number, part in enumerate(self._parts)}
        self._part_of_cell = np.array([numbers[id(part)] for part in parts])
        self._n_owners = n_owners
        self._first_owner = np.zeros_like(self._part_of_cell)
        joined = LinearRecords.joined(self._parts) if len(self._parts) > 1 else None
        if joined is not None:
            self._parts, self._first_owner = [joined], n_owners * self._part_of_cell
        self._first_scale = np.cumsum(sizes) - np.asarray(sizes)

    @property
    def stream(self) -> str:
        """Name of the stream of samples, the same in all cells."""
        return str(self._parts[0].stream)

    @property
    def size(self) -> int:
        """Random numbers of a sample, the same number in all cells."""
        return int(self._parts[0].size)

    def gradient(self, places: Ints, *given: Array) -> Array:
        """Return gradients (r, p) at the points, over samples if draws are given too."""
        shares = self._split(places)
        gradients: Array = _merged(
            shares,
            [
                part.gradient(owners, *(argument[rows] for argument in given))
                for part, owners, rows in shares
            ],
        )
        return gradients

    def places(self, places: Ints, numbers: Ints) -> Ints:
        """Return the places of answers in the noise of all cells, shape (r,)."""
        shares = self._split(places)
        within_cell = _merged(
            shares, [part.places(owners, numbers[rows]) for part, owners, rows in shares]
        )
        return np.asarray(within_cell + self._first_scale[places // self._n_owners])

    def _split(self, places: Ints) -> list[tuple[Any, Ints, Ints | slice]]:
        """Return each part with the owners that it is asked about, and their rows."""
        cells, owners = np.divmod(places, self._n_owners)
        if len(self._parts) == 1:
            return [(self._parts[0], owners + self._first_owner[cells], slice(None))]
        part_of_row = self._part_of_cell[cells]
        rows_of = [np.flatnonzero(part_of_row == number) for number in range(len(self._parts))]
        return [
            (part, owners[rows], rows)
            for part, rows in zip(self._parts, rows_of, strict=True)
            if len(rows) > 0
        ]


def _merged(shares: Sequence[tuple[Any, Ints, Ints | slice]], results: Sequence[Any]) -> Any:
    """Return the results of all shares, in the order of their rows."""
    if len(shares) == 1:
        return results[0]
    return np.concatenate(results)[np.argsort(np.concatenate([rows for *_, rows in shares]))]


def _common(held: Any, free: Sequence[str]) -> tuple[Hashable, ...]:
    """Return the fields of a dataclass that are equal in all cells: all but the ``free`` ones."""
    shared: list[Any] = [type(held)]
    for name, value in ((field.name, getattr(held, field.name)) for field in fields(held)):
        if is_dataclass(value):
            shared.append(_common(value, getattr(value, "by_row", ())))
        elif name in free:
            shared.append(value is None)
        elif isinstance(value, np.ndarray):
            shared.append((value.shape, value.dtype.str, value.tobytes()))
        else:
            shared.append(value)
    return tuple(shared)


def _by_row(parts: Sequence[Any], free: Sequence[str], replicates: int) -> Any:
    """Return one dataclass for all cells, whose ``free`` fields are by row where they differ."""
    changes: dict[str, Any] = {}
    for name in free:
        values = [getattr(part, name) for part in parts]
        if is_dataclass(values[0]):
            changes[name] = _by_row(values, getattr(values[0], "by_row", ()), replicates)
        elif not all(np.array_equal(value, values[0]) for value in values):
            rows = np.repeat(np.stack(values), replicates, axis=0)
            changes[name] = rows[:, None] if rows.ndim == 1 else rows
    return replace(parts[0], **changes)


def _tables(noise: AnswerNoise) -> list[str]:
    """Return the fields of noise that hold a number for each owner, or for each answer."""
    return [
        field.name
        for field in fields(noise)  # type: ignore[arg-type]
        if isinstance(getattr(noise, field.name), np.ndarray)
    ]


def recorders_of(cells: Sequence[CellTask], replicates: int, horizon: int) -> list[ModelRecorder]:
    """Return recorders of the models of cells: one for adjacent cells recorded equally often."""
    recorders, first = list[ModelRecorder](), 0
    for every, group in groupby(cells, key=lambda cell: cell.record_every):
        count, size = len(list(group)), cells[0].steps.n_features
        recorders.append(ModelRecorder(every, first, count, replicates, horizon, size))
        first += count * replicates
    return recorders


def fold(
    traces: Sequence[Trace],
    cells: Sequence[CellTask],
    replicates: Sequence[Scope],
    asks: Asks = "average",
    *,
    state: Any = None,
    advance: Advance | None = None,
) -> list[Trajectory]:
    """Fold the algorithm of cells over traces: the definition of learning from a record.

    The gradient of a stale answer is taken at the point that the learner read, before later
    updates. Answers that were still in the buffer when a run ended are not replayed. The bits of a
    row do not depend on the other rows.

    Parameters
    ----------
    traces : sequence of Trace
        One per replicate.
    cells : sequence of CellTask
        They are :func:`alike`, so that their rows advance together, with the same
        random numbers.
    replicates : sequence of Scope
        Random streams of the replicates: of the first cell, then of the second, …, (CR,).
    asks : str
        Where gradients are taken.
    state : optional
        The algorithm's state to begin with; absent, the one that it starts in.
    advance : callable, optional
        Called with the number of further updates that are done, of all replicates and cells.

    Returns
    -------
    list of Trajectory
        One for each cell.

    Raises
    ------
    ValueError
        If a trace made its updates of another number of answers than the algorithm does.
    """
    layout = CellRows(len(cells), len(traces), traces[0].n_owners if len(traces) > 0 else 0)
    cell = together(cells, layout)
    steps, per_update = cell.steps, cell.steps.answers_per_update
    if any(trace.answers_per_update != per_update for trace in traces):
        raise ValueError(f"a trace to be replayed needs updates of {per_update} answers")
    answers = Answers(steps, cell.reply, replicates[: len(traces)], layout)
    updates = np.array([trace.n_updates for trace in traces], dtype=np.int64)
    horizon = int(updates.max(initial=0))
    state = steps.init(replicates) if state is None else state
    schedule = _schedule_of(steps, traces, numbered=cell.reply.allotment is not None)
    stale = StaleReads([] if per_update is None else traces, steps, asks, layout)
    monitored = MonitoredReads([task.watch for task in cells], traces, steps, asks, layout)
    recorders = recorders_of(cells, len(traces), horizon)
    for recorder in recorders:
        recorder.record(0, state.central)
    final, clipped = state.central.copy(), np.zeros(len(replicates), dtype=np.int64)
    ends = set(updates.tolist())
    with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge; the result says so
        for k in range(horizon):
            stale.read(k, state)
            monitored.read(k, state)
            for use, of_one_cell in schedule.batches(k):
                batch = layout.repeated(of_one_cell)
                fresh = steps.asked(state, batch, asks)
                points = stale.points(use, fresh)
                current = fresh if asks == "average" else None
                apply_answers(steps, state, batch, points, answers, current)
            updated = schedule.rows(k)
            if updated is not None:
                updated = layout.rows(updated)
            steps.update(state, updated)
            answers.end_round(updated)
            if advance is not None:
                advance(len(cells) * int(np.count_nonzero(updates > k)))
            for recorder in recorders:
                recorder.record(k + 1, state.central)
            if k + 1 in ends:
                done = layout.rows(np.flatnonzero(updates == k + 1))
                final[done], clipped[done] = state.central[done], state.clipped[done]
        monitored.read(horizon, state)
    centrals = [central for recorder in recorders for central in recorder.ended(updates, final)]
    path = None if answers.bounds is None else answers.bounds.path
    trajectories = []
    for number, (task, central) in enumerate(zip(cells, centrals, strict=True)):
        rows = slice(number * len(traces), (number + 1) * len(traces))
        bounds = None if path is None else path[:, rows]
        trajectories.append(
            Trajectory(updates, task.record_every, central, final[rows], clipped[rows], bounds)
        )
    return trajectories


BYTES = 2**28
"""Most bytes of trajectories and models held at a time, unless one cell has more."""


def replay_together(
    traces: Sequence[Trace],
    cells: Sequence[CellTask],
    scopes: Callable[[], Sequence[Scope]],
    asks: Asks = "average",
    advance: Advance | None = None,
) -> Iterator[tuple[int, Trajectory]]:
    """Replay cells over the same traces with the same random streams (common random numbers).

    Each trajectory is equal to the bit to what :func:`fold` returns for its cell alone. It is
    yielded as soon as it is known. As long as the caller keeps none, at most :data:`BYTES` are held
    for cells that learn together, unless one has more.

    Parameters
    ----------
    traces : sequence of Trace
        One per replicate.
    cells : sequence of CellTask
    scopes : callable
        Returns the replicates' random streams, new ones at each call.
    asks : str
        Where gradients are taken.
    advance : callable, optional
        Called with the number of further updates that are done, of all replicates and cells.

    Yields
    ------
    tuple of int and Trajectory
        The number of a cell, from 0, and its trajectory. Cells that learn together are adjacent.

    Raises
    ------
    ValueError
        If a trace made its updates of another number of answers than a cell's algorithm does.
    """
    shape = (len(traces), max((trace.n_updates for trace in traces), default=0))
    kinds = [alike(cell) for cell in cells]
    for kind in dict.fromkeys(kinds):
        same = [number for number, other in enumerate(kinds) if other == kind]
        held = 0 if kind is None else BYTES
        for group in _groups(same, [cells[number].size(*shape) for number in same], held):
            rows = [scope for _ in group for scope in scopes()]
            tasks = [cells[number] for number in group]
            yield from zip(group, fold(traces, tasks, rows, asks, advance=advance), strict=True)


def _groups(numbers: Sequence[int], sizes: Sequence[int], most: int) -> list[list[int]]:
    """Return consecutive groups whose sizes sum to at most ``most``, or that have one member."""
    groups, held = list[list[int]](), most
    for number, size in zip(numbers, sizes, strict=True):
        if held + size > most:
            groups, held = [*groups, []], 0
        groups[-1].append(number)
        held += size
    return groups


def replay(
    traces: Sequence[Trace],
    steps: Algorithm,
    reply: AnswerModel,
    replicates: Sequence[Scope],
    record_every: int,
    asks: Asks = "average",
    watch: GradientMonitor | None = None,
    *,
    advance: Advance | None = None,
) -> Trajectory:
    """Learn over traces: :func:`fold` for one cell.

    Parameters
    ----------
    traces : sequence of Trace
        One per replicate.
    steps, reply
        The algorithm, and the owners' answers.
    replicates : sequence of Scope
        The replicates' random streams.
    record_every : int
        ≥ 1.
    asks : str
        Where gradients are taken.
    watch : GradientMonitor, optional
        Receives the queries that were answered.
    advance : callable, optional
        Called with the number of further updates that are done, of all replicates.

    Raises
    ------
    ValueError
        If a trace made its updates of another number of answers than the algorithm does.
    """
    cell = CellTask(steps, reply, record_every, watch)
    return fold(traces, [cell], replicates, asks, advance=advance)[0]


class BatchSchedule(ABC):
    """The owners whose answers each update is made of, all replicates side by side."""

    @abstractmethod
    def batches(self, k: int) -> Iterator[tuple[int, AnswerBatch]]:
        """Yield the number of an answer, from 0, and that answer of all replicates.

        Together they make update k + 1. Numbers go on from update to update where
        :class:`StaleReads` needs them, and begin again elsewhere.
        """

    @abstractmethod
    def rows(self, k: int) -> Ints | None:
        """Return the replicates that have an update k + 1; None is all of them."""


class FixedSchedule(BatchSchedule):
    """Updates of B answers each. Replicates advance together, even those that have ended."""

    def __init__(self, traces: Sequence[Trace], per_update: int, *, numbered: bool) -> None:
        self._per_update = per_update
        self._owners = _side_by_side([trace.updates["owner"] - 1 for trace in traces])
        self._staleness = _side_by_side([trace.updates["staleness"] for trace in traces])
        self._numbers = _side_by_side([t.numbers for t in traces]) if numbered else None

    @override
    def batches(self, k: int) -> Iterator[tuple[int, AnswerBatch]]:
        for use in range(k * self._per_update, (k + 1) * self._per_update):
            numbers = None if self._numbers is None else self._numbers[use]
            yield use, AnswerBatch(self._owners[use], self._staleness[use], numbers=numbers)

    @override
    def rows(self, k: int) -> None:
        return


class VaryingSchedule(BatchSchedule):
    """Updates of as many answers as the trace of each replicate says."""

    def __init__(self, traces: Sequence[Trace], *, numbered: bool) -> None:
        self._owners = _side_by_side([trace.updates["owner"] - 1 for trace in traces])
        self._staleness = _side_by_side([trace.updates["staleness"] for trace in traces])
        self._peers = _side_by_side([trace.updates["peer"] for trace in traces])
        self._numbers = _side_by_side([t.numbers for t in traces]) if numbered else None
        horizon = max((trace.n_updates for trace in traces), default=0)
        counts = [np.bincount(t.updates["k"], minlength=horizon + 1)[1:] for t in traces]
        self._counts = np.stack(counts, axis=1)
        self._first = np.cumsum(self._counts, axis=0) - self._counts

    @override
    def batches(self, k: int) -> Iterator[tuple[int, AnswerBatch]]:
        for number in range(int(self._counts[k].max())):
            rows = np.flatnonzero(self._counts[k] > number)
            at = (self._first[k, rows] + number, rows)
            numbers = None if self._numbers is None else self._numbers[at]
            owners, staleness, peers = self._owners[at], self._staleness[at], self._peers[at]
            yield number, AnswerBatch(owners, staleness, peers, rows, numbers)

    @override
    def rows(self, k: int) -> Ints:
        return np.flatnonzero(self._counts[k] > 0)


def _side_by_side(columns: Sequence[Ints]) -> Ints:
    """Return columns of unequal lengths as one table, with zeros at the ends of short ones."""
    table = np.zeros((max(map(len, columns), default=0), len(columns)), dtype=np.int64)
    for number, column in enumerate(columns):
        table[: len(column), number] = column
    return table


class ServerSchedule(BatchSchedule):
    """Iterations of several servers.

    Each client answers once in every iteration, or once for each of its servers. The answers of all
    clients and replicates with the same number are taken together.
    """

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._updates = np.array([trace.n_updates for trace in traces])
        self._owners = np.arange(traces[0].n_owners if len(traces) > 0 else 0)
        self._peers = []
        for trace in traces:
            used = trace.updates[np.lexsort([trace.updates[x] for x in ("message", "owner", "k")])]
            per_owner = len(used) // max(1, trace.n_updates * trace.n_owners)
            self._peers.append(used["peer"].reshape(trace.n_updates, trace.n_owners, per_owner))

    @override
    def batches(self, k: int) -> Iterator[tuple[int, AnswerBatch]]:
        rows = self.rows(k)
        peers = np.stack([self._peers[row][k] for row in rows]).astype(np.int64)
        owners = np.tile(self._owners, len(rows))
        for number in range(peers.shape[2]):
            read = peers[:, :, number].ravel()
            yield number, AnswerBatch(owners, None, read, np.repeat(rows, len(self._owners)))

    @override
    def rows(self, k: int) -> Ints:
        return np.flatnonzero(self._updates > k)


def _schedule_of(steps: Algorithm, traces: Sequence[Trace], *, numbered: bool) -> BatchSchedule:
    if steps.several_servers:
        return ServerSchedule(traces)
    if steps.answers_per_update is None:
        return VaryingSchedule(traces, numbered=numbered)
    return FixedSchedule(traces, steps.answers_per_update, numbered=numbered)


class StaleReads:
    """Queries that are used some updates after they were read: formed when read, kept until used.

    Where the protocol decides what an update is made of, nothing that was read changes before its
    use, so that there is nothing to keep.

    Parameters
    ----------
    traces : sequence of Trace
        One per replicate; empty where there is nothing to keep.
    steps : Algorithm
    asks : str
        Where gradients are taken.
    layout : CellRows
    """

    def __init__(
        self, traces: Sequence[Trace], steps: Algorithm, asks: Asks, layout: CellRows
    ) -> None:
        self._steps = steps
        self._asks = asks
        self._layout = layout
        self._reads: dict[int, list[tuple[int, int, int]]] = {}
        """By the number of updates before a read: its replicate, owner, and number of the answer"""
        self._kept: dict[int, list[tuple[int, Array]]] = {}
        """By the number of the answer: its replicate, and its query in every cell, (C, p)"""
        for replicate, trace in enumerate(traces):
            used = trace.updates
            for j in np.flatnonzero(used["staleness"] > 0).tolist():
                read_k = int(used["k"][j]) - 1 - int(used["staleness"][j])
                read = (replicate, int(used["owner"][j]) - 1, j)
                self._reads.setdefault(read_k, []).append(read)

    def read(self, k: int, state: Any) -> None:
        """Form the queries that were read after ``k`` updates and are used later."""
        due = self._reads.pop(k, None)
        if due is None:
            return
        replicates, owners, uses = np.array(due, dtype=np.int64).T
        batch = self._layout.repeated(AnswerBatch(owners, rows=replicates))
        points = self._layout.by_cell(self._steps.asked(state, batch, self._asks))
        for place, (replicate, use) in enumerate(
            zip(replicates.tolist(), uses.tolist(), strict=True)
        ):
            self._kept.setdefault(use, []).append((replicate, points[:, place]))

    def points(self, use: int, fresh: Array) -> Array:
        """Return where the gradients of an answer (from 0) are taken: as read, else ``fresh``."""
        kept = self._kept.pop(use, None)
        if kept is None:
            return fresh
        points = fresh.copy()
        of_cells = self._layout.by_cell(points)  # a view, through which ``points`` change
        for replicate, read in kept:
            of_cells[:, replicate] = read
        return points


class MonitoredReads:
    """Queries that were answered, formed when they were read, and given to the cells' monitors."""

    def __init__(
        self,
        monitors: Sequence[GradientMonitor | None],
        traces: Sequence[Trace],
        steps: Algorithm,
        asks: Asks,
        layout: CellRows,
    ) -> None:
        self._monitors = monitors
        self._steps = steps
        self._asks = asks
        self._layout = layout
        self._reads = None
        if any(monitor is not None for monitor in monitors):
            self._reads = Reads.from_traces(traces)

    def read(self, k: int, state: Any) -> None:
        """Form the queries that were read after ``k`` updates, if there is a monitor."""
        if self._reads is None:
            return
        due = self._reads.after(k)
        if len(due.rows) == 0:
            return
        batch = AnswerBatch(due.owners, peers=due.peers, rows=due.rows)
        points = self._steps.asked(state, self._layout.repeated(batch), self._asks)
        for monitor, of_cell in zip(self._monitors, self._layout.by_cell(points), strict=True):
            if monitor is not None:
                monitor.take(due.owners, of_cell)
