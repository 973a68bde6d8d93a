"""Learning over recorded traces: a fold over the answers that updates are made of."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Asks, CellRows, Indices, Steps
from asyncdp_sim.learning.answers import Answers, answers_of, put_in_besides
from asyncdp_sim.learning.replay_cells import CellTask, alike, together
from asyncdp_sim.learning.replay_reads import Iterations, StaleReads, TraceSchedule, WatchedReads
from asyncdp_sim.learning.reply import Reply
from asyncdp_sim.learning.watch import Watch
from asyncdp_sim.progress import Advance
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Trace


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The way of the central model.

    Attributes
    ----------
    updates : array of int (R,)
        Number of updates of each replicate.
    record_every : int
        Distance in k between recorded models.
    central : array (J, R, p)
        θ_L at k = 0, record_every, 2·record_every, …; rows past a replicate's end repeat the last.
    final : array (R, p)
        θ_L after the last update.
    clipped : array of int (R,)
        Updates in which a projection was active.
    """

    updates: Indices
    record_every: int
    central: Array
    final: Array
    clipped: Indices

    def ks(self, replicate: int) -> Indices:
        """Return the recorded k of a replicate: 0, the multiples of record_every, and the last."""
        last = int(self.updates[replicate])
        ks = np.arange(0, last + 1, self.record_every)
        return ks if ks[-1] == last else np.append(ks, last)

    def models(self, replicate: int) -> Array:
        """Return θ_L at :meth:`ks`, shape (len(ks), p)."""
        last = int(self.updates[replicate])
        models = self.central[: last // self.record_every + 1, replicate]
        if last % self.record_every != 0:
            models = np.concatenate([models, self.final[replicate][None]])
        return models


def fold(
    traces: Sequence[Trace],
    cells: Sequence[CellTask],
    replicates: Sequence[Scope],
    asks: Asks = "average",
    *,
    given: Answers | None = None,
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
    given : Answers, optional
        Gives the owners' answers, where their noise is not of the replicates' streams.
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
    steps, every = cell.steps, cell.record_every
    per_update = steps.answers_per_update
    if any(trace.answers_per_update != per_update for trace in traces):
        raise ValueError(f"a trace to be replayed needs updates of {per_update} answers")
    answers = given
    if answers is None:
        rows_of = rows if len(cells) > 1 else None
        answers = answers_of(steps, cell.reply, scopes, rows_of)
    updates = np.array([trace.n_updates for trace in traces], dtype=np.int64)
    horizon = int(updates.max(initial=0))
    state = steps.init(replicates)
    ask = steps.query if asks == "average" else steps.central
    schedule = (
        Iterations(traces)
        if steps.several_servers
        else TraceSchedule(traces, per_update, cell.reply.allotment is not None)
    )
    stale = StaleReads([] if per_update is None else traces, ask, rows)
    watches = [each.watch for each in cells]
    watched = None
    if any(watch is not None for watch in watches):
        watched = WatchedReads(watches, traces, ask, rows)
    shape = (len(replicates), horizon // every + 1, steps.n_features)
    central = np.empty(shape).transpose(1, 0, 2)  # a replicate's models are judged together
    central[0] = state.central
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
                found = answers.give(turn, points)
                if from_now:
                    points = fresh if asks_average else steps.query(state, turn)
                if steps.answers_once:
                    put_in_besides(steps, state, turn, answers)
                steps.apply(state, turn, points, found)
            going = schedule.rows(k)
            steps.update(state, None if going is None else rows.rows(going))
            if advance is not None:
                advance(len(cells) * int(np.count_nonzero(updates > k)))
            if (k + 1) % every == 0:
                central[(k + 1) // every] = state.central
            if k + 1 in ends:
                done = rows.rows(np.flatnonzero(updates == k + 1))
                final[done], clipped[done] = state.central[done], state.clipped[done]
        if watched is not None:
            watched.read(horizon, state)
    for column, last in enumerate(updates.tolist() * len(cells)):
        central[last // every + 1 :, column] = final[column]
    blocks = [slice(n * len(traces), (n + 1) * len(traces)) for n in range(len(cells))]
    return [Trajectory(updates, every, central[:, b], final[b], clipped[b]) for b in blocks]


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
        held = max(1, BYTES // max(cells[number].size(*shape) for number in same))
        held = 1 if kind is None else held
        for first in range(0, len(same), held):
            some = same[first : first + held]
            rows = [scope for _ in some for scope in scopes()]
            tasks = [cells[number] for number in some]
            yield from zip(some, fold(traces, tasks, rows, asks, advance=advance), strict=True)


def replay(
    traces: Sequence[Trace],
    steps: Steps,
    reply: Reply,
    replicates: Sequence[Scope],
    record_every: int,
    asks: Asks = "average",
    watch: Watch | None = None,
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
    watch : Watch, optional
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
