"""Exact moments of synchronous learning: all owners answer in every round."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.exact.answers import DRAWS, NormalSample, sample_spread, variance_of
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.algorithms import Schedule, StepsInRounds
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.streams import Streams
from asyncdp_sim.theory.bounds.async_theorem2 import answer_noise
from asyncdp_sim.theory.bounds.collab_theorem2 import along
from asyncdp_sim.theory.moments.per_update import CentralMoments
from asyncdp_sim.theory.moments.sample_spread import SampleSpread
from asyncdp_sim.theory.moments.synchronous import (
    DescentMoments,
    drawn,
    moments,
    sampled_moments,
)

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class InRounds:
    """Moments of a synchronous learning; :class:`~asyncdp_sim.forecasts.exact.choose.Exact`.

    Owners' second moments count pooled alone, so that "common" and "own" ones come to the same.

    Attributes
    ----------
    known : Population
    objective : Quadratic
        What the forecast is of.
    algorithm : StepsInRounds
    """

    known: Population
    objective: Quadratic
    algorithm: StepsInRounds

    @property
    def answers(self) -> Array:
        """One of each owner in a round, shape (N,)."""
        return np.ones(self.objective.n_owners)

    @property
    def psi(self) -> Array:
        """E ψ of the model that is judged, k = 0 … T."""
        return self._judged(self._loud.judged)

    @property
    def noise_free(self) -> Array:
        """The same without noise."""
        return self._judged(self._moments(0.0).judged)

    @cached_property
    def _schedule(self) -> Schedule:
        return self.algorithm.schedule(self.algorithm.step, self.known.scenario.run.updates)

    @cached_property
    def _spread(self) -> SampleSpread | None:
        return sample_spread(self.known, self.objective)

    @cached_property
    def _loud(self) -> DescentMoments:
        share, variance = self.objective.weights, variance_of(self.known)
        if variance.ndim == 1:
            return self._moments(float(share**2 @ variance))
        return self._moments(share**2 @ variance[:, : self.known.scenario.run.updates])

    def _moments(self, variance: float | Array) -> DescentMoments:
        """Return moments for a variance Σ (n_i/n)² v_i on each coordinate, of rounds or each."""
        objective, schedule = self.objective, self._schedule
        noise, initial = self.known.problem.noise.shape, self.algorithm.initial
        numbers = (objective.hessian, objective.free_optimum, schedule)
        if self._spread is None or not isinstance(variance, float):
            return moments(*numbers, variance, noise=noise, initial=initial)
        spread, weights = self._spread, objective.weights
        return sampled_moments(
            *numbers, variance, spread=spread, weights=weights, noise=noise, initial=initial
        )

    def _judged(self, found: CentralMoments) -> Array:
        judge = self.objective if self.known.judge is None else self.known.judge
        return found.expected_excess(judge.hessian, judge.optimum) / judge.least

    def refuted(self, theta_max: float | None) -> str:
        """Return why these moments are not those of learning in Θ; empty where they are."""
        reach = self._loud.model.reach
        if not np.isfinite(reach) or not np.isfinite(self.psi[-1]):
            return "the learning diverges"
        if theta_max is not None and reach > theta_max:
            return "the projection onto Θ may act"
        lost = "first steps are so long that rounding leaves no digits of the average"
        return "" if self._loud.sound else lost

    def draws(self) -> Array:
        """Return ψ at the end of independent learnings, shape (DRAWS,).

        θ⁺ = θ − γ_k (2H(θ − θ*) + w) with all owners' noise drawn in every round, and what their
        samples add.
        """
        objective, reply = self.objective, self.known.problem.task.reply
        noise = reply.noise
        source = Streams(self.known.scenario.run.seed).generator("forecast", "rounds")
        middle, variance = drawn(self.algorithm.initial)
        shape = (DRAWS, objective.n_features)
        u = middle + (12 * variance) ** 0.5 * (source.random(shape) - 0.5) - objective.free_optimum
        judged, schedule = u, self._schedule
        sample = None if self._spread is None else NormalSample(objective, self._spread)
        with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
            for k, size in enumerate(schedule.sizes.tolist()):
                slope = 2 * u @ objective.hessian
                for owner, share in enumerate(objective.weights.tolist()):
                    rows = noise.rows(source, DRAWS, objective.n_features)
                    owners, exact = np.full(DRAWS, owner), np.zeros(shape)
                    if sample is not None:
                        exact = sample.apart(owners, u, source.random(shape))
                    places = reply.places(owners, np.full(DRAWS, k))
                    slope += share * noise.hide(places, exact, rows)
                if schedule.kept is not None:
                    judged = schedule.kept[k] * judged + (1 - schedule.kept[k]) * u
                u = u - size * slope
            judge = objective if self.known.judge is None else self.known.judge
            last = u if schedule.kept is None else judged
            return judge.relative_fitness(last + objective.free_optimum)

    def bound(self) -> tuple[float, str] | None:
        """Return a bound on E ψ at the end, and whose it is; None where another f judges.

        Nor is there one where answers are over samples, or have unequal parts of a budget: neither
        is in a theorem here.
        """
        objective, reply = self.objective, self.known.problem.task.reply
        if self.known.judge is not None or self._spread is not None or reply.allotment is not None:
            return None
        values = np.linalg.eigvalsh(objective.hessian)
        found = along(
            self._schedule.sizes,
            float(
                answer_noise(objective.weights, reply.noise.variance, objective.n_features).sum()
            ),
            convexity=2 * float(values[0]),
            smoothness=2 * float(values[-1]),
            start=float(self.psi[0] * objective.least),
            kept=self._schedule.kept,
        )
        return float(found[-1] / objective.least), self.algorithm.theorem
