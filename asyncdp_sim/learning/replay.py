"""Learning over recorded traces: all replicates advance together, one answer at a time."""

from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Asks, Indices, Steps, Turn
from asyncdp_sim.learning.answers import Answers, OnceAnswers
from asyncdp_sim.learning.fused.learn import CellTask, fused, learn
from asyncdp_sim.learning.objectives import LinearRecords
from asyncdp_sim.learning.reply import Reply
from asyncdp_sim.learning.trajectory import Trajectory
from asyncdp_sim.learning.watch import Reads, Watch
from asyncdp_sim.progress import Advance
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Trace


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
    """Learn over traces, by the fused loop where there is one: to the bit, what folding gives.

    A stale answer is taken at the point that the learner read, so many updates ago. Answers that
    the end of a run left in the buffer are not replayed.

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
    if fused(traces, cell, asks) is not None:
        return next(learn(traces, [cell], lambda: replicates, advance=advance))
    return fold(traces, cell, replicates, asks, advance=advance)


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
        _Iterations(traces) if apart else _Schedule(traces, per_update, reply.allotment is not None)
    )
    stale = _Stale([] if per_update is None else traces, ask)
    watched = None if cell.watch is None else _Watched(cell.watch, traces, ask)
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


class _Schedule:
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
            each = [np.bincount(t.updates["k"], minlength=horizon + 1)[1:] for t in traces]
            self._counts = np.stack(each, axis=1)
            self._first = np.cumsum(self._counts, axis=0) - self._counts

    def turns(self, k: int) -> Iterator[tuple[int, Turn]]:
        """Yield the number of an answer, from 0, and the answer, for all of update k + 1."""
        if self._per_update is not None:
            for use in range(k * self._per_update, (k + 1) * self._per_update):
                numbers = None if self._numbers is None else self._numbers[use]
                yield use, Turn(self._owners[use], self._staleness[use], numbers=numbers)
            return
        counts, first = self._counts[k], self._first[k]
        for number in range(int(counts.max())):
            rows = np.flatnonzero(counts > number)
            use = first[rows] + number
            late, peers = self._staleness[use, rows], self._peers[use, rows]
            numbers = None if self._numbers is None else self._numbers[use, rows]
            yield number, Turn(self._owners[use, rows], late, peers, rows, numbers)

    def rows(self, k: int) -> Indices | None:
        """Return the replicates that have an update k + 1; None is all of them."""
        return None if self._per_update is not None else np.flatnonzero(self._counts[k] > 0)


class _Iterations:
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
            each = len(used) // max(1, trace.n_updates * trace.n_owners)
            self._peers.append(used["peer"].reshape(trace.n_updates, trace.n_owners, each))

    def turns(self, k: int) -> Iterator[tuple[int, Turn]]:
        """Yield the number of an answer in its iteration, from 0, and all such of update k + 1."""
        rows = self.rows(k)
        peers = np.stack([self._peers[row][k] for row in rows]).astype(np.int64)
        owners = np.tile(self._owners, len(rows))
        for number in range(peers.shape[2]):
            read = peers[:, :, number].ravel()
            yield number, Turn(owners, None, read, np.repeat(rows, len(self._owners)))

    def rows(self, k: int) -> Indices:
        """Return the replicates that have an update k + 1."""
        return np.flatnonzero(self._updates > k)


class OwnAnswers(Answers):
    """The answers of owners that each have streams of their own, whoever answers before them.

    Row j of owner h's ``("client", h, "batch")`` and ``"noise"`` is that of its own j-th answer:
    with several servers, the order in which all owners answer is nobody's to say.
    """

    def __init__(self, reply: Reply, replicates: Sequence[Scope], size: int) -> None:
        self._n_owners = len(reply.noise.scale)
        owners = range(1, self._n_owners + 1)
        super().__init__(reply, [s.within("client", h) for s in replicates for h in owners], size)

    def give(self, turn: Turn, points: Array) -> Array:
        """Return the answers that the servers' clients compute, shape (r, size)."""
        own = turn.replicates * self._n_owners + turn.owners
        return super().give(replace(turn, rows=own), points)


def answers_of(steps: Steps, reply: Reply, replicates: Sequence[Scope]) -> Answers:
    """Return what gives the owners' answers to an algorithm."""
    if steps.several_servers:
        return OwnAnswers(reply, replicates, steps.answer_size)
    kind = OnceAnswers if steps.answers_once else Answers
    return kind(reply, replicates, steps.answer_size, steps.local)


def put_in_besides(steps: Steps, state: Any, turn: Turn, answers: Answers) -> None:
    """Let an algorithm take what else this turn needs: answers that did not arrive in it."""
    also = steps.besides(state, turn)
    if also is not None:
        steps.put_in(state, also, answers.give(also, steps.query(state, also)))


class _Stale:
    """Reads that are used some updates later: formed when they were read, kept till then.

    Where the protocol decides what an update is made of, nothing that was read changes before its
    use, and there is nothing to keep.
    """

    def __init__(self, traces: Sequence[Trace], ask: Callable[..., Array]) -> None:
        self._ask = ask
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
            points = self._ask(state, Turn(owners, rows=rows))
            for row, use, point in zip(rows.tolist(), uses.tolist(), points, strict=True):
                self._kept.setdefault(use, []).append((row, point))

    def points(self, use: int, fresh: Array) -> Array:
        """Return where the gradients of an answer (from 0) are taken."""
        kept = self._kept.pop(use, None)
        if kept is None:
            return fresh
        asked = fresh.copy()
        for row, point in kept:
            asked[row] = point
        return asked


class _Watched:
    """Shows a watch the queries that were answered, formed when they were read."""

    def __init__(self, watch: Watch, traces: Sequence[Trace], ask: Callable[..., Array]) -> None:
        self._watch = watch
        self._reads = Reads.of(traces)
        self._ask = ask

    def read(self, k: int, state: Any) -> None:
        """Form the queries that were read after ``k`` updates."""
        due = self._reads.between(k, k + 1)
        if len(due.rows) > 0:
            turn = Turn(due.owners, peers=due.peers, rows=due.rows)
            self._watch.take(due.owners, self._ask(state, turn))


__all__ = [
    "OwnAnswers",
    "Trajectory",
    "alike",
    "answers_of",
    "fold",
    "fold_together",
    "put_in_besides",
    "replay",
]
