"""Learning over recorded traces: all replicates advance together, one answer at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Asks, Indices, Steps
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Trace

_BLOCK = 512
"""Rows of noise drawn at a time; does not change their values."""


class Gradients(Protocol):
    """Answers queries: mean record gradients, one owner (from 0) and one point per replicate."""

    def gradient(self, owners: Indices, points: Array) -> Array:
        """Return the gradients, shape (R, p)."""


class Noise(Protocol):
    """The mechanism's noise: unit rows from a stream, and what each owner multiplies them by."""

    @property
    def scale(self) -> Array:
        """Factor per owner, shape (N,)."""

    def rows(self, generator: np.random.Generator, count: int, n_features: int) -> Array:
        """Return the next ``count`` unit rows, shape (count, p)."""


@dataclass(frozen=True, eq=False)
class Path:
    """Where the central model went.

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


def replay(
    traces: Sequence[Trace],
    steps: Steps,
    gradients: Gradients,
    noise: Noise,
    replicates: Sequence[Scope],
    record_every: int,
    asks: Asks = "average",
) -> Path:
    """Fold an algorithm over traces.

    A stale answer is taken at the point that the learner read, so many updates ago. Where an
    update takes B answers, every B-th answer completes one, in all replicates alike; answers that
    the end of a run left in the buffer are not replayed.

    Parameters
    ----------
    traces : sequence of Trace
        One per replicate.
    steps, gradients, noise
        The algorithm, the owners' answers, and what the mechanism adds to them. The noise of
        the j-th answer used is row j of the replicate's stream ``noise``.
    replicates : sequence of Scope
        The replicates' random streams.
    record_every : int
        ≥ 1.
    asks : str
        Where gradients are taken.

    Raises
    ------
    ValueError
        If a trace made its updates of another number of answers than the algorithm does.
    """
    per_update = steps.answers_per_update
    if any(trace.answers_per_update != per_update for trace in traces):
        raise ValueError(f"a trace to be replayed needs updates of {per_update} answers")
    updates = np.array([trace.n_updates for trace in traces], dtype=np.int64)
    horizon = int(updates.max(initial=0))
    answers_used = horizon * per_update
    owners = np.zeros((answers_used, len(traces)), dtype=np.int64)
    staleness = np.zeros_like(owners)
    for column, trace in enumerate(traces):
        owners[: len(trace.updates), column] = trace.updates["owner"] - 1
        staleness[: len(trace.updates), column] = trace.updates["staleness"]
    state = steps.init(replicates)
    ask = steps.query if asks == "average" else steps.central
    stale = _Stale(traces, ask)
    central = np.empty((horizon // record_every + 1, len(traces), steps.n_features))
    central[0] = state.central
    final, clipped = state.central.copy(), np.zeros(len(traces), dtype=np.int64)
    ends = set(updates.tolist())
    from_now = steps.apply_at == "current"
    sources = [scope.generator("noise") for scope in replicates]
    with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge; the result says so
        for j in range(answers_used):
            row = j % _BLOCK
            if row == 0:
                count = min(_BLOCK, answers_used - j)
                drawn = [noise.rows(g, count, steps.n_features) for g in sources]
                added = np.stack(drawn, axis=1) * noise.scale[owners[j : j + count], None]
            k, held = divmod(j, per_update)
            if held == 0:
                stale.read(k, state)
            points = steps.query(state, owners[j])
            asked = stale.points(j, points if asks == "average" else ask(state, owners[j]))
            answers = gradients.gradient(owners[j], asked)
            answers += added[row]
            steps.apply(state, owners[j], points if from_now else asked, answers, staleness[j])
            if held + 1 < per_update:
                continue
            if (k + 1) % record_every == 0:
                central[(k + 1) // record_every] = state.central
            if k + 1 in ends:
                done = updates == k + 1
                final[done], clipped[done] = state.central[done], state.clipped[done]
    for column, last in enumerate(updates.tolist()):
        central[last // record_every + 1 :, column] = final[column]
    return Path(updates, record_every, central, final, clipped)


class _Stale:
    """Reads that are used some updates later: formed when they were read, kept till then."""

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
            points = self._ask(state, owners, rows)
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
