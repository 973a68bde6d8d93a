"""Folding algorithms over recorded traces: all rows advance together, answer by answer."""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.learning.algorithms import Asks, CellRows
from asyncdp_sim.learning.answers import Answers
from asyncdp_sim.learning.replay.answering import answers_of, put_in_besides
from asyncdp_sim.learning.replay.cells import CellTask, together
from asyncdp_sim.learning.replay.reads import StaleReads, WatchedReads
from asyncdp_sim.learning.replay.schedule import Iterations, TraceSchedule
from asyncdp_sim.learning.trajectory import Trajectory
from asyncdp_sim.progress import Advance
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Trace


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
