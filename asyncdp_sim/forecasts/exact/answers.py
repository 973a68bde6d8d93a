"""Answers as moments and draws of ψ take them: their noise, samples of records, and final ψ."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.algorithms import Turn
from asyncdp_sim.learning.answers import Answers
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.reply import Reply, Sampling
from asyncdp_sim.streams import Streams
from asyncdp_sim.theory.moments.sample_spread import SampleSpread

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def variance_of(known: Population) -> Array:
    """Return the variance of each coordinate of the noise on owners' answers, (N,).

    Where parts of a budget are unequal, of the first, second … answer of each, (N, K); 0 beyond
    its last.
    """
    scenario, noise = known.scenario, known.problem.task.reply.noise
    allotment = scenario.privacy.allotment(scenario.owners.count)
    if allotment is None:
        return noise.variance
    found = np.zeros((len(allotment.answers), int(allotment.answers.max())))
    held = np.arange(found.shape[1]) < allotment.answers[:, None]
    found[held] = noise.variance  # owner after owner, as allotments have it
    return found


def made_before(owners: Indices) -> Indices:
    """Return how many updates of its owner come before each one of an order, (R, T).

    Parameters
    ----------
    owners : array of int (R, T)
        Owners (from 0) of the updates; −1 after the last.
    """
    found = np.zeros_like(owners)
    for owner in range(int(owners.max(initial=0)) + 1):
        his = owners == owner
        found[his] = (np.cumsum(his, axis=1) - 1)[his]
    return found


_ROUNDING = 1e-14
"""Of the largest variance: what is added to all, so that rounding leaves none below 0."""


def sample_spread(known: Population, objective: Quadratic) -> SampleSpread | None:
    """Return how answers spread about their means; None where all records are in each of them.

    Parameters
    ----------
    known : Population
    objective : Quadratic
        What the forecast is of; with common moments all owners' records are taken for alike.
    """
    probability, records = known.scenario.privacy.sampling, known.problem.records.linear
    if probability is None:
        return None
    if records is None:
        raise TypeError(f"no fourth moments of model {known.scenario.model.kind}")
    found = SampleSpread.of(records.features, records.targets, objective.free_optimum, probability)
    return found.pooled(objective.weights) if known.common else found


@dataclass(frozen=True, eq=False)
class NormalSample:
    """Gradients over samples, drawn as normal with their own mean and covariance.

    Attributes
    ----------
    objective : Quadratic
        Gradients over all records.
    spread : SampleSpread
    """

    objective: Quadratic
    spread: SampleSpread
    stream: ClassVar[str] = "sample"

    @property
    def size(self) -> int:
        """How many numbers are drawn for an answer: p."""
        return self.objective.n_features

    def gradient(self, owners: Indices, points: Array, draws: Array) -> Array:
        """Return gradients, shape (r, p), of which rows of ``draws`` (r, p) are the quantiles."""
        away = points - self.objective.free_optimum
        return self.objective.gradient(owners, points) + self.apart(owners, away, draws)

    def apart(self, owners: Indices, away: Array, draws: Array) -> Array:
        """Return how far gradients at θ* + ``away`` are from those over all records, (r, p)."""
        from scipy.special import ndtri  # a slow import

        found = np.zeros_like(away)
        normal = ndtri(np.clip(draws, np.finfo(float).tiny, None))
        for owner in np.unique(owners).tolist():
            rows = np.flatnonzero(owners == owner)
            u = away[rows]
            square = self.spread.of_owner(owner, u[:, :, None] * u[:, None, :], u, np.ones(len(u)))
            largest = np.einsum("raa->ra", square).max(axis=1, initial=0.0)
            square += (_ROUNDING * largest)[:, None, None] * np.eye(u.shape[1])
            if np.isfinite(square).all() and np.all(largest > 0):
                found[rows] = np.einsum("rab,rb->ra", np.linalg.cholesky(square), normal[rows])
        return found


DRAWS = 500


def draws(
    known: Population,
    objective: Quadratic,
    owners: Indices,
    *,
    numbers: Indices | None = None,
    first: int = 0,
    sample: Sampling | None = None,
) -> tuple[Array, bool]:
    """Return ψ at the end of independent learnings, shape (R,), and whether a projection acted.

    Answers are never stale, so that with orders of the network's law this is the law of ψ itself.

    Parameters
    ----------
    known : Population
    objective : Quadratic
        Whose gradients owners answer with.
    owners : array of int (R, T)
        Owners (from 0) of the updates; −1 after a learning's last.
    numbers : array of int (R, T), optional
        How many answers their owners had released before; absent, every answer made an update.
    first : int
        Number of the first learning: others have noise of their own.
    sample : Sampling, optional
        Where answers are over samples of records.
    """
    task, scenario = known.problem.task, known.scenario
    streams = Streams(scenario.run.seed)
    scopes = [streams.within("forecast", "replicate", first + r) for r in range(len(owners))]
    reply = Reply(objective, task.reply.noise, sample, allotment=task.reply.allotment)
    before = made_before(owners) if numbers is None else numbers
    answers = Answers(reply, scopes, task.steps.answer_size)
    state, ends = task.steps.init(scopes), np.sum(owners >= 0, axis=1)
    final, clipped = state.central.copy(), np.zeros(len(owners), dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        for k in range(int(ends.max(initial=0))):
            # those that have ended go along
            turn = Turn(np.maximum(owners[:, k], 0), numbers=before[:, k])
            points = task.steps.query(state, turn)
            found = answers.give(turn, points)
            task.steps.apply(state, turn, points, found)
            task.steps.update(state)
            done = ends == k + 1
            final[done], clipped[done] = state.central[done], state.clipped[done]
        judge = objective if known.judge is None else known.judge
        return judge.relative_fitness(final), bool(np.any(clipped > 0))


def drawn(known: Population, chosen: Array, answers: Indices) -> Indices:
    """Draw whose the updates are, (DRAWS, T): of independent owners until they fall silent.

    Parameters
    ----------
    known : Population
    chosen : array (N,)
        π_i while nobody is silent.
    answers : array of int (N,)
        K_i; an owner that has had so many updates has no more.
    """
    scenario, n = known.scenario, len(chosen)
    source = Streams(scenario.run.seed).generator("forecast", "owners")
    found = np.full((DRAWS, scenario.run.updates), -1)
    count, every = np.zeros((DRAWS, n), dtype=np.int64), np.arange(DRAWS)
    caps = answers * (chosen > 0)
    for k in range(min(scenario.run.updates, int(caps.sum()))):
        chance = np.cumsum((count < caps) * chosen, axis=1)
        least = source.random(DRAWS) * chance[:, -1]
        found[:, k] = np.sum(chance <= least[:, None], axis=1)
        count[every, found[:, k]] += 1
    return found
