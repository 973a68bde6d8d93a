"""Learning over recorded traces: a fold over the answers that updates are made of."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.progress import Advance
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms import Algorithm, AnswerBatch, Array, Asks, CellRows
from asyncdp_sim.learning.answers import add_reserved_answers, answers_of
from asyncdp_sim.learning.replay_cells import CellTask, alike, together
from asyncdp_sim.learning.reply import AnswerModel
from asyncdp_sim.learning.trajectory import Trajectory, recorders_of
from asyncdp_sim.learning.watch import GradientMonitor, Reads
from asyncdp_sim.trace import Trace


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

    A stale answer is taken at the point that the learner read, so many updates ago. Answers that
    the end of a run left in the buffer are not replayed. No row's bits depend on the others.

    Parameters
    ----------
    traces : sequence of Trace
        One per replicate.
    cells : sequence of CellTask
        Which are :func:`~.cells.alike`: their rows advance together, by the same random numbers.
    replicates : sequence of Scope
        Random streams of the replicates, for each cell in turn, (CR,); one set of them serves one
        cell.
    asks : str
        Where gradients are taken.
    advance : callable, optional
        Told how many more updates are done, of all replicates and cells.

    Raises
    ------
    ValueError
        If a trace made its updates of another number of answers than the algorithm does.
    """
    n_owners = traces[0].n_owners if len(cells) > 1 else 0  # places are for several cells alone
    rows = CellRows(len(cells), len(traces), n_owners)
    cell, scopes = together(cells, rows), replicates[: len(traces)]
    steps = cell.steps
    per_update = steps.answers_per_update
    if any(trace.answers_per_update != per_update for trace in traces):
        raise ValueError(f"a trace to be replayed needs updates of {per_update} answers")
    rows_of = rows if len(cells) > 1 else None
    answers = answers_of(steps, cell.reply, scopes, rows_of)
    updates = np.array([trace.n_updates for trace in traces], dtype=np.int64)
    horizon = int(updates.max(initial=0))
    state = steps.init(replicates) if state is None else state
    ask = steps.query if asks == "average" else steps.central
    schedule = (
        Iterations(traces)
        if steps.several_servers
        else TraceSchedule(traces, per_update, cell.reply.allotment is not None)
    )
    stale = StaleReads([] if per_update is None else traces, ask, rows)
    watches = [task.watch for task in cells]
    watched = None
    if any(watch is not None for watch in watches):
        watched = WatchedReads(watches, traces, ask, rows)
    recorders = recorders_of(cells, len(traces), horizon)
    for recorder in recorders:
        recorder.record(0, state.central)
    final, clipped = state.central.copy(), np.zeros(len(replicates), dtype=np.int64)
    ends = set(updates.tolist())
    from_now, asks_average = steps.apply_at == "current", asks == "average"
    with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge; the result says so
        for k in range(horizon):
            stale.read(k, state)
            if watched is not None:
                watched.read(k, state)
            for use, of_cell in schedule.turns(k):
                turn = rows.repeated(of_cell)
                fresh = ask(state, turn)
                points = stale.points(use, fresh)
                taken = answers.give(turn, points)
                if from_now:
                    points = fresh if asks_average else steps.query(state, turn)
                if steps.answers_once:
                    add_reserved_answers(steps, state, turn, answers)
                steps.apply(state, turn, points, taken)
            going = schedule.rows(k)
            going = None if going is None else rows.rows(going)
            steps.update(state, going)
            answers.end_round(going)
            if advance is not None:
                advance(len(cells) * int(np.count_nonzero(updates > k)))
            for recorder in recorders:
                recorder.record(k + 1, state.central)
            if k + 1 in ends:
                done = rows.rows(np.flatnonzero(updates == k + 1))
                final[done], clipped[done] = state.central[done], state.clipped[done]
        if watched is not None:
            watched.read(horizon, state)
    blocks = [slice(n * len(traces), (n + 1) * len(traces)) for n in range(len(cells))]
    centrals = [central for recorder in recorders for central in recorder.ended(updates, final)]
    path = None if answers.bounds is None else answers.bounds.path
    return [
        Trajectory(
            updates, task.record_every, central, final[b], clipped[b],
            None if path is None else path[:, b],
        )
        for task, central, b in zip(cells, centrals, blocks, strict=True)
    ]  # fmt: skip


BYTES = 2**28
"""Of paths and models held at a time at most, unless one cell has more."""


def replay_together(
    traces: Sequence[Trace],
    cells: Sequence[CellTask],
    scopes: Callable[[], Sequence[Scope]],
    asks: Asks = "average",
    advance: Advance | None = None,
) -> Iterator[tuple[int, Trajectory]]:
    """Replay cells over the same traces with the same random streams (common random numbers).

    Each path is to the bit what :func:`fold` gives for its cell alone. It is yielded as soon as it
    is there; at most :data:`BYTES` are held for cells that learn together, unless one has more, for
    as long as the caller keeps none.

    Parameters
    ----------
    traces : sequence of Trace
        One per replicate.
    cells : sequence of CellTask
    scopes : callable
        Gives the replicates' random streams, fresh each time.
    asks : str
        Where gradients are taken.
    advance : callable, optional
        Told how many more updates are done, of all replicates and cells.

    Yields
    ------
    tuple of int and Trajectory
        The number of a cell, from 0, and its path; cells that learn together, one after another.

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
        for batch in _batches(same, [cells[number].size(*shape) for number in same], held):
            rows = [scope for _ in batch for scope in scopes()]
            tasks = [cells[number] for number in batch]
            yield from zip(batch, fold(traces, tasks, rows, asks, advance=advance), strict=True)


def _batches(numbers: Sequence[int], sizes: Sequence[int], most: int) -> list[list[int]]:
    """Split numbers into runs that have at most so much in all, or one member."""
    batches, held = list[list[int]](), most
    for number, size in zip(numbers, sizes, strict=True):
        if held + size > most:
            batches, held = [*batches, []], 0
        batches[-1].append(number)
        held += size
    return batches


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
        Is shown the queries that were answered.
    advance : callable, optional
        Told how many more updates are done, of all replicates.

    Raises
    ------
    ValueError
        If a trace made its updates of another number of answers than the algorithm does.
    """
    cell = CellTask(steps, reply, record_every, watch)
    return fold(traces, [cell], replicates, asks, advance=advance)[0]


class TraceSchedule:
    """The owners whose answers each update is made of, all replicates side by side.

    Where B answers make an update, replicates go together, those that have ended too; where the
    protocol decides, each replicate has as many as its trace says.
    """

    def __init__(self, traces: Sequence[Trace], per_update: int | None, numbered: bool) -> None:
        self._per_update = per_update
        most = max((len(trace.updates) for trace in traces), default=0)
        self._owners = np.zeros((most, len(traces)), dtype=np.int64)
        self._staleness = np.zeros_like(self._owners)
        self._peers = np.zeros_like(self._owners)
        self._numbers = np.zeros_like(self._owners) if numbered else None
        for column, trace in enumerate(traces):
            used = trace.updates
            if self._numbers is not None:
                self._numbers[: len(used), column] = trace.numbers
            self._owners[: len(used), column] = used["owner"] - 1
            self._staleness[: len(used), column] = used["staleness"]
            self._peers[: len(used), column] = used["peer"]
        if per_update is None:
            horizon = max((trace.n_updates for trace in traces), default=0)
            counts = [np.bincount(t.updates["k"], minlength=horizon + 1)[1:] for t in traces]
            self._counts = np.stack(counts, axis=1)
            self._first = np.cumsum(self._counts, axis=0) - self._counts

    def turns(self, k: int) -> Iterator[tuple[int, AnswerBatch]]:
        """Yield the number of an answer, from 0, and the answer, for all of update k + 1."""
        if self._per_update is not None:
            for use in range(k * self._per_update, (k + 1) * self._per_update):
                numbers = None if self._numbers is None else self._numbers[use]
                yield use, AnswerBatch(self._owners[use], self._staleness[use], numbers=numbers)
            return
        counts, first = self._counts[k], self._first[k]
        for number in range(int(counts.max())):
            rows = np.flatnonzero(counts > number)
            use = first[rows] + number
            late, peers = self._staleness[use, rows], self._peers[use, rows]
            numbers = None if self._numbers is None else self._numbers[use, rows]
            yield number, AnswerBatch(self._owners[use, rows], late, peers, rows, numbers)

    def rows(self, k: int) -> Ints | None:
        """Return the replicates that have an update k + 1; None is all of them."""
        return None if self._per_update is not None else np.flatnonzero(self._counts[k] > 0)


class Iterations:
    """The owners whose answers each iteration of several servers is made of.

    Each client has one in every iteration, or one for each of its servers; those of all clients
    and replicates are taken together.
    """

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._updates = np.array([trace.n_updates for trace in traces])
        self._owners = np.arange(traces[0].n_owners if len(traces) > 0 else 0)
        self._peers = []
        for trace in traces:
            used = trace.updates[np.lexsort([trace.updates[x] for x in ("message", "owner", "k")])]
            per_owner = len(used) // max(1, trace.n_updates * trace.n_owners)
            self._peers.append(used["peer"].reshape(trace.n_updates, trace.n_owners, per_owner))

    def turns(self, k: int) -> Iterator[tuple[int, AnswerBatch]]:
        """Yield the number of an answer in its iteration, from 0, and all such of update k + 1."""
        rows = self.rows(k)
        peers = np.stack([self._peers[row][k] for row in rows]).astype(np.int64)
        owners = np.tile(self._owners, len(rows))
        for number in range(peers.shape[2]):
            read = peers[:, :, number].ravel()
            yield number, AnswerBatch(owners, None, read, np.repeat(rows, len(self._owners)))

    def rows(self, k: int) -> Ints:
        """Return the replicates that have an update k + 1."""
        return np.flatnonzero(self._updates > k)


class StaleReads:
    """Reads that are used some updates later: formed when they were read, kept till then.

    Where the protocol decides what an update is made of, nothing that was read changes before its
    use, and there is nothing to keep.
    """

    def __init__(
        self, traces: Sequence[Trace], ask: Callable[..., Array], rows_of: CellRows
    ) -> None:
        self._ask = ask
        self._rows_of = rows_of
        self._reads: dict[int, list[tuple[int, int, int]]] = {}
        self._kept: dict[int, list[tuple[int, Array]]] = {}
        for row, trace in enumerate(traces):
            used = trace.updates
            for j in np.flatnonzero(used["staleness"] > 0).tolist():
                read_k = int(used["k"][j]) - 1 - int(used["staleness"][j])
                self._reads.setdefault(read_k, []).append((row, int(used["owner"][j]) - 1, j))

    def read(self, k: int, state: Any) -> None:
        """Form the queries that were read after ``k`` updates and used later."""
        due = self._reads.pop(k, None)
        if due is not None:
            rows, owners, uses = np.array(due, dtype=np.int64).T
            asked = self._ask(state, self._rows_of.repeated(AnswerBatch(owners, rows=rows)))
            points = _by_cell(asked, self._rows_of)
            for place, (row, use) in enumerate(zip(rows.tolist(), uses.tolist(), strict=True)):
                self._kept.setdefault(use, []).append((row, points[:, place]))

    def points(self, use: int, fresh: Array) -> Array:
        """Return where the gradients of an answer (from 0) are taken."""
        kept = self._kept.pop(use, None)
        if kept is None:
            return fresh
        asked = fresh.copy()
        for row, points in kept:
            _by_cell(asked, self._rows_of)[:, row] = points
        return asked


class WatchedReads:
    """Shows cells' watches the queries that were answered, formed when they were read."""

    def __init__(
        self,
        watches: Sequence[GradientMonitor | None],
        traces: Sequence[Trace],
        ask: Callable[..., Array],
        rows_of: CellRows,
    ) -> None:
        self._watches = watches
        self._reads = Reads.from_traces(traces)
        self._ask = ask
        self._rows_of = rows_of

    def read(self, k: int, state: Any) -> None:
        """Form the queries that were read after ``k`` updates."""
        due = self._reads.between(k, k + 1)
        if len(due.rows) > 0:
            turn = self._rows_of.repeated(AnswerBatch(due.owners, peers=due.peers, rows=due.rows))
            points = _by_cell(self._ask(state, turn), self._rows_of)
            for watch, of_cell in zip(self._watches, points, strict=True):
                if watch is not None:
                    watch.take(due.owners, of_cell)


def _by_cell(points: Array, rows_of: CellRows) -> Array:
    """Return points (Cm, p) as those of each cell, shape (C, m, p): a view of them."""
    return points.reshape(rows_of.cells, -1, points.shape[1])
