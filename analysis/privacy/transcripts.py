"""Answers of one owner, worked out by all others from the queries and answers that they know.

Steps are public, so that answers follow from models. An owner that plays the learner and adds no
noise to its own gradient (Collab's remark) reveals it, exactly, to anybody who sees two successive
queries and knows the answers of all others; with N = 2 that is the other owner. A learner that
colludes with owners sees every answer of another one, and can average them.

What an owner's ε says holds against all of them, for it is about all of its answers together:
a test of whether one record was replaced has an advantage of at most tanh(ε/2) with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any

import numpy as np
from typing_extensions import override

from analysis.again import traces_of
from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import Algorithm, AnswerBatch, Wrapped
from asyncdp_sim.learning.algorithms.gathered import Collab1Steps
from asyncdp_sim.learning.algorithms.gossip import GossipSteps
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.runs.problem import Problem, build_dataset, prepare
from asyncdp_sim.scenario import Scenario

HIDDEN = 0
"""The owner that plays the learner, from 0; all others collude."""


@dataclass(frozen=True, eq=False)
class Transcript:
    """All exchanges of one replicate whose answers were used, in that order.

    Attributes
    ----------
    k : array of int (m,)
        Updates made before the answer's own.
    owners : array of int (m,)
        Whose, from 0.
    points, answers : array (m, p)
        The queries, and the answers as the learner takes them; of answers that others have worked
        out NaN where Π_Θ hides a coordinate.
    """

    k: Ints
    owners: Ints
    points: Array
    answers: Array

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, Array, Array]], n_features: int) -> "Transcript":
        """Return exchanges, one k, owner, query and answer after another."""
        k, owners, points, answers = zip(*rows, strict=True) if len(rows) > 0 else ((),) * 4
        shape = (len(rows), n_features)
        return cls(
            np.array(k, dtype=np.int64),
            np.array(owners, dtype=np.int64),
            np.array(points).reshape(shape),
            np.array(answers).reshape(shape),
        )


class Transcribed(Wrapped):
    """An algorithm that notes all exchanges and is otherwise what it was.

    Parameters
    ----------
    steps : Algorithm
        The algorithm.
    """

    def __init__(self, steps: Algorithm) -> None:
        super().__init__(steps)
        self._seen: list[tuple[int, AnswerBatch, Array, Array]] = []
        self._updates = 0

    @override
    def apply(self, state: Any, batch: AnswerBatch, points: Array, answers: Array) -> None:
        self._seen.append((self._updates, batch, points.copy(), answers.copy()))
        super().apply(state, batch, points, answers)

    @override
    def update(self, state: Any, rows: Ints | None = None) -> None:
        super().update(state, rows)
        self._updates += 1

    def transcript(self, replicate: int) -> Transcript:
        """Return the exchanges of a replicate, from 0; points are queries where none is stale."""
        found = [
            (k, batch.owners[row], points[row], answers[row])
            for k, batch, points, answers in self._seen
            for row in np.flatnonzero(batch.replicates == replicate).tolist()
        ]
        return Transcript.of(found, self.n_features)


def from_rounds(
    seen: Transcript, hidden: int, weights: Array, sizes: Array, sigma: float
) -> Transcript:
    """Return answers of one owner from successive queries of synchronous learning.

    θ[k+1] = θ[k] − s_k (σθ[k] + Σ w_i Q_i) is solved for
    Q_h = ((θ[k] − θ[k+1])/s_k − σθ[k] − Σ_{i≠h} w_i Q_i)/w_h, in every round but the last one.

    Parameters
    ----------
    seen : Transcript
        Rows of h are read for nothing but who answered; all owners answer in every round.
    hidden : int
        h, from 0.
    weights : array (N,)
        w_i = n_i/n.
    sizes : array (T,)
        s_k: ρ/(T²k) in Collab's Algorithm 1, c_1/√k in its Algorithm 2, where Π_Θ does nothing.
    sigma : float
        σ.
    """
    n_owners, found = len(weights), []
    others = np.flatnonzero(np.arange(n_owners) != hidden)
    rounds = int(seen.k[-1]) + 1
    place = np.full((rounds, n_owners), -1)
    place[seen.k, seen.owners] = np.arange(len(seen.k))
    for k in range(rounds - 1):
        before, after = seen.points[place[k, others[0]]], seen.points[place[k + 1, others[0]]]
        known = weights[others] @ seen.answers[place[k, others]]
        answer = ((before - after) / sizes[k] - sigma * before - known) / weights[hidden]
        found.append((k, hidden, before, answer))
    return Transcript.of(found, seen.points.shape[1])


def from_exchanges(seen: Transcript, hidden: int, steps: GossipSteps) -> Transcript:
    """Return answers of one owner from the queries to all others, in asynchronous learning.

    Between two updates of colluders let there be one, of the hidden owner h. The first one's
    θ_L follows from its query, and the second's query θ̄ and copy θ_c give the θ_L = 2θ̄ − θ_c
    that h left: m_L θ̄_h = θ_L gives the query that h was sent, and 2θ̄_h − θ_L its copy before.
    Where two successive updates of h are such, the copies before both are known, and
    Q_h = (m_h θ̄_h − θ_h⁺)/s_h. With N = 2 uniform owners that is one in eight of h's answers.

    Parameters
    ----------
    seen : Transcript
        Rows of h are read for nothing but who answered; no answer may be stale.
    hidden : int
        h, from 0.
    steps : GossipSteps
        The public rule; models start at 0 or 1.

    Raises
    ------
    ValueError
        If the models start where colluders do not know.
    """
    if steps.initial == "uniform":
        raise ValueError("models must start at zeros or ones, given uniform")
    bound = np.inf if steps.theta_max is None else steps.theta_max
    inside = bound * (1 - 1e-9)  # a coordinate that rounding moved off the bound is on it
    shrink = steps.shrink_copy
    central = np.full(steps.n_features, 0.0 if steps.initial == "zeros" else min(1.0, bound))
    copies = np.tile(central, (steps.n_owners, 1))
    owners, queries = seen.owners, seen.points
    previous: tuple[int, Array] | None = None  # k and query of h's last update, if worked out
    found: list[tuple[int, int, Array, Array]] = []
    for k, owner in enumerate(owners.tolist()):
        if owner == hidden:
            continue
        if k > 1 and owners[k - 1] == owners[k - 2] == hidden:
            # Two updates of h in a row: no colluder saw the model between them.
            previous = None
        elif k > 0 and owners[k - 1] == hidden:
            # One update of h: this query is the mean of the model that h left and of this
            # owner's copy, which colluders know. A coordinate on the bound stays unknown.
            central_after = 2 * queries[k] - copies[owner]
            on_no_bound = np.where(np.abs(central_after) < inside, central_after, np.nan)
            point = on_no_bound / steps.shrink_central
            copy = 2 * point - central  # of h, before this update
            if previous is not None:
                # The copy before this update is the one after h's previous update.
                copy_after = np.where(np.abs(copy) < inside, copy, np.nan)
                answer = (shrink[hidden] * previous[1] - copy_after) / steps.step[hidden]
                found.append((previous[0], hidden, previous[1], answer))
            previous = (k - 1, point)
        # The steps of this owner's own update, as the public rule has them.
        central = np.clip(steps.shrink_central * queries[k], -bound, bound)
        own = shrink[owner] * queries[k] - steps.step[owner] * seen.answers[k]
        copies[owner] = np.clip(own, -bound, bound)
    return Transcript.of(found, steps.n_features)


def transcribed(scenario: Scenario) -> tuple[Problem, Transcribed, Array]:
    """Run a scenario with all that is sent noted; return the final models (R, p) too."""
    problem = prepare(scenario, build_dataset(scenario))
    traces, streams = traces_of(scenario), Streams(scenario.run.seed)
    scopes = [streams.within("replicate", r + 1) for r in range(len(traces))]
    task, noted = problem.task, Transcribed(problem.task.steps)
    path = replay(traces, noted, task.reply, scopes, task.record_every, task.asks)
    return problem, noted, path.final


def recover(problem: Problem, noted: Transcribed, replicate: int) -> Transcript:
    """Return what all owners but one know of its answers.

    Raises
    ------
    SpecError
        If nothing is worked out for this algorithm.
    """
    steps, seen = problem.task.steps, noted.transcript(replicate)
    # What follows from a transcript is algebra on these algorithms' own steps, and on no others.
    if isinstance(steps, GossipSteps):
        return from_exchanges(seen, HIDDEN, steps)
    if isinstance(steps, Collab1Steps):
        sizes = steps.rate / np.arange(1, int(seen.k[-1]) + 2)
        return from_rounds(seen, HIDDEN, steps.weights, sizes, float(steps.sigma))
    raise SpecError([Fault("algorithm.kind", "another", "allowed: async-gossip, collab-1")])


def learned(scenario: Scenario) -> dict[str, float]:
    """Return how well a scenario's hidden owner is known; NaN where nothing is worked out.

    Returns
    -------
    dict
        ``epsilon`` of the owner, over all of its answers; ``answers``, how many of them are known,
        in the mean; ``single`` and ``mean``, the error of one gradient that was worked out, and of
        the mean of all, in root mean square relative to a gradient's size; ``noise`` and
        ``averaged_noise``, what both should be by the noise alone.
    """
    problem, noted, _ = transcribed(scenario)
    reply, p = problem.task.reply, problem.task.steps.n_features
    sizes, singles, means, counts = list[float](), list[float](), list[float](), list[int]()
    for replicate in range(scenario.run.replicates):
        found = recover(problem, noted, replicate)
        whole = np.isfinite(found.answers).all(axis=1)
        points, answers = found.points[whole], found.answers[whole]
        counts.append(len(points))
        if len(points) > 0:
            exact = reply.gradients.gradient(np.full(len(points), HIDDEN), points)
            sizes += np.square(exact).sum(axis=1).tolist()
            singles += np.square(answers - exact).sum(axis=1).tolist()
            means.append(float(np.square((answers - exact).mean(axis=0)).sum()))
    shares = [1 / count for count in counts if count > 0]
    size = float(np.mean(sizes)) if len(shares) > 0 else np.nan
    noise = 2 * p * float(reply.noise.scale[HIDDEN]) ** 2  # E‖b w‖²
    return {
        "epsilon": float(problem.accountant.epsilon[HIDDEN]),
        "answers": float(np.mean(counts)),
        "single": sqrt(fsum(singles) / max(1, len(singles)) / size),
        "mean": sqrt(fsum(means) / max(1, len(means)) / size),
        "noise": sqrt(noise / size),
        "averaged_noise": sqrt(noise * fsum(shares) / max(1, len(shares)) / size),
    }
