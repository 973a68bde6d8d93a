"""Folding algorithms over recorded traces: all replicates advance together, answer by answer."""

from collections.abc import Callable, Generator, Hashable, Sequence

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Asks, Turn
from asyncdp_sim.learning.answers import Answers
from asyncdp_sim.learning.objectives import LinearRecords
from asyncdp_sim.learning.replay.answering import answers_of, put_in_besides
from asyncdp_sim.learning.replay.cells import CellTask
from asyncdp_sim.learning.replay.reads import StaleReads, WatchedReads
from asyncdp_sim.learning.replay.schedule import Iterations, TraceSchedule
from asyncdp_sim.learning.trajectory import Trajectory
from asyncdp_sim.progress import Advance
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Trace


def fold(
    traces: Sequence[Trace],
    cell: CellTask,
    replicates: Sequence[Scope],
    asks: Asks = "average",
    *,
    given: Answers | None = None,
    advance: Advance | None = None,
) -> Trajectory:
    """Fold an algorithm over traces, answer by answer; the definition of :func:`replay`.

    ``given`` gives the owners' answers, where their noise is not of the replicates' streams.
    """
    answers = answers_of(cell.steps, cell.reply, replicates) if given is None else given
    course = _course(traces, cell, replicates, asks, answers, advance)
    with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge; the result says so
        asked = _next(course, None)
        while not isinstance(asked, Trajectory):
            asked = _next(course, answers.give(*asked))
    return asked


def fold_together(
    traces: Sequence[Trace],
    cells: Sequence[CellTask],
    scopes: Callable[[], Sequence[Scope]],
    asks: Asks = "average",
    *,
    advance: Advance | None = None,
) -> list[Trajectory]:
    """Fold the algorithms of cells over the same traces, an answer of each in turn.

    Cells that :func:`alike` says are so: each path is to the bit what :func:`fold` gives. Their
    owners work out the gradients at all cells' points together, which reads the records once.
    """
    replicates = [scopes() for _ in cells]
    answers = [
        answers_of(cell.steps, cell.reply, some)
        for cell, some in zip(cells, replicates, strict=True)
    ]
    courses = [
        _course(traces, cell, some, asks, each, advance)
        for cell, some, each in zip(cells, replicates, answers, strict=True)
    ]
    gradients, done = cells[0].reply.gradients, list[Trajectory]()
    with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge; the result says so
        asked = [_next(course, None) for course in courses]
        while len(done) < len(cells):
            turns, points = zip(*(each for each in asked if isinstance(each, tuple)), strict=True)
            owners = np.concatenate([turn.owners for turn in turns])
            exact = gradients.gradient(owners, np.concatenate(points))
            parts = np.split(exact, np.cumsum([len(each) for each in points[:-1]]))
            asked = [
                _next(course, each.made_of(part, turn))
                for course, each, part, turn in zip(courses, answers, parts, turns, strict=True)
            ]
            done = [each for each in asked if isinstance(each, Trajectory)]
    return done


def alike(cell: CellTask) -> Hashable:
    """Return what cells must have in common to fold together; None where they cannot.

    Their owners must answer with one gradient over all of their records, of the same records, at
    whose points of several cells no bit depends on the others.
    """
    steps, reply = cell.steps, cell.reply
    if type(reply.gradients) is not LinearRecords or reply.sample is not None:
        return None
    apart = steps.local is not None or steps.answers_once or steps.several_servers
    return None if apart else id(reply.gradients)


Course = Generator[tuple[Turn, Array], Array, Trajectory]
"""Gives who answers and the points that gradients are taken at, is sent the answers, and ends."""


def _next(course: Course, answers: Array | None) -> tuple[Turn, Array] | Trajectory:
    try:
        return next(course) if answers is None else course.send(answers)
    except StopIteration as end:
        path: Trajectory = end.value
        return path


def _course(
    traces: Sequence[Trace],
    cell: CellTask,
    replicates: Sequence[Scope],
    asks: Asks,
    answers: Answers,
    advance: Advance | None,
) -> Course:
    """Make a cell's updates; ``answers`` are asked for those alone that did not arrive."""
    steps, reply, record_every = cell.steps, cell.reply, cell.record_every
    per_update = steps.answers_per_update
    if any(trace.answers_per_update != per_update for trace in traces):
        raise ValueError(f"a trace to be replayed needs updates of {per_update} answers")
    updates = np.array([trace.n_updates for trace in traces], dtype=np.int64)
    horizon = int(updates.max(initial=0))
    apart = steps.several_servers
    state = steps.init(replicates)
    ask = steps.query if asks == "average" else steps.central
    schedule = (
        Iterations(traces)
        if apart
        else TraceSchedule(traces, per_update, reply.allotment is not None)
    )
    stale = StaleReads([] if per_update is None else traces, ask)
    watched = None if cell.watch is None else WatchedReads(cell.watch, traces, ask)
    shape = (len(traces), horizon // record_every + 1, steps.n_features)
    central = np.empty(shape).transpose(1, 0, 2)  # a replicate's models are judged together
    central[0] = state.central
    final, clipped = state.central.copy(), np.zeros(len(traces), dtype=np.int64)
    ends = set(updates.tolist())
    from_now, asks_average = steps.apply_at == "current", asks == "average"
    for k in range(horizon):
        stale.read(k, state)
        if watched is not None:
            watched.read(k, state)
        for use, turn in schedule.turns(k):
            fresh = ask(state, turn)
            asked = stale.points(use, fresh)
            found = yield turn, asked
            points = asked
            if from_now:
                points = fresh if asks_average else steps.query(state, turn)
            if steps.answers_once:
                put_in_besides(steps, state, turn, answers)
            steps.apply(state, turn, points, found)
        steps.update(state, schedule.rows(k))
        if advance is not None:
            advance(int(np.count_nonzero(updates > k)))
        if (k + 1) % record_every == 0:
            central[(k + 1) // record_every] = state.central
        if k + 1 in ends:
            done = updates == k + 1
            final[done], clipped[done] = state.central[done], state.clipped[done]
    if watched is not None:
        watched.read(horizon, state)
    for column, last in enumerate(updates.tolist()):
        central[last // record_every + 1 :, column] = final[column]
    return Trajectory(updates, record_every, central, final, clipped)
