"""Exact moments of asynchronous learning, where owners answer one at a time; and a bound on ψ."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import SpecError
from asyncdp_sim.forecasts.exact.answers import sample_spread
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.algorithms import OneOnOne
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.reply import Noise
from asyncdp_sim.results.provenance import digest
from asyncdp_sim.theory.bounds.async_smooth import quadratic_slopes, sharpened
from asyncdp_sim.theory.bounds.async_theorem2 import answer_noise, excess_bound, step_sizes
from asyncdp_sim.theory.moments.gossip_map import GossipMap, gossip_map_of
from asyncdp_sim.theory.moments.per_update import Initial, Moments, Shape, moments

Array = npt.NDArray[np.float64]
ROUNDING = 1e-6
"""ψ is never below 0: what is further below has lost its digits to a learning that diverges."""


@dataclass(frozen=True, eq=False)
class ExpectedMoments:
    """Moments of a learning with noise, and without.

    Attributes
    ----------
    with_noise, without : Moments
    judge : Quadratic
        Whose f and θ* ψ is of.
    """

    with_noise: Moments
    without: Moments
    judge: Quadratic

    @property
    def psi(self) -> Array:
        """E ψ(θ_L,k), k = 0 … T."""
        return self._judged(self.with_noise)

    @property
    def noise_free(self) -> Array:
        """E ψ(θ_L,k) without noise, k = 0 … T."""
        return self._judged(self.without)

    def _judged(self, found: Moments) -> Array:
        judge = self.judge
        return found.expected_excess(judge.hessian, judge.optimum) / judge.least

    def refuted(self, theta_max: float | None) -> str:
        """Return why these moments are not those of learning in Θ; empty where they are."""
        reach = self.reach()
        if not (np.isfinite(reach) and -ROUNDING <= self.psi[-1] < np.inf):
            return "the learning diverges"
        acts = theta_max is not None and reach > theta_max
        return "the projection onto Θ may act" if acts else ""

    def reach(self) -> float:
        """Return the largest |E θ| + 6 sd over coordinates of θ_L at every k and of all copies."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._reach()

    def _reach(self) -> float:
        found = self.with_noise
        bias = found.copies_mean - found.optimum
        own = np.einsum("iaia->ia", found.copies_second) - np.square(bias)
        copies = np.abs(found.copies_mean) + 6 * np.sqrt(np.maximum(own, 0.0))
        return max(found.reach, float(copies.max()))


@dataclass
class Recursions:
    """Moments that forecasts of many scenarios share.

    Second moments are affine in the noise variances: where all owners' are in proportion to those
    of a scenario that differs in its budgets alone, nothing needs to be run again.

    Attributes
    ----------
    known : dict
        Moments by all that they are of. Where several have the same of it, none runs again what
        another has run; which others there were changes no bit.
    """

    known: dict[str, Moments] = field(default_factory=dict)
    _loud: dict[str, list[tuple[Array, Moments]]] = field(default_factory=dict)

    def expect(self, known: Population, objective: Quadratic, chosen: Array) -> ExpectedMoments:
        """Return the moments of a scenario to which they apply, with its noise and without.

        Parameters
        ----------
        known : Population
            Of asynchronous gossip.
        objective : Quadratic
            What the forecast is of.
        chosen : array (N,)
            π_i.

        Raises
        ------
        TypeError
            If the algorithm is another.
        """
        algorithm, process = process_of(known, objective, chosen)
        shape, noise = shape_of(known), known.problem.task.reply.noise
        judge = objective if known.judge is None else known.judge
        spread = sample_spread(known, objective)
        if spread is not None:
            how: dict[str, Any] = {
                "noise": shape, "initial": algorithm.initial, "spread": spread,
            }  # fmt: skip
            return ExpectedMoments(
                moments(process, noise.variance, **how), moments(process, **how), judge
            )
        start = algorithm.initial
        quiet, variance = self._moments(process, start, "vector", None), noise.variance
        if not np.any(variance > 0):
            return ExpectedMoments(quiet, quiet, judge)
        formers = self._loud.setdefault(_named(process, start, shape, None), [])
        for former, loud in formers:
            share = _proportion(variance, former)
            if share is not None:
                return ExpectedMoments(_scaled(quiet, loud, share), quiet, judge)
        loud = self._moments(process, start, shape, variance)
        formers.append((variance, loud))
        return ExpectedMoments(loud, quiet, judge)

    def _moments(
        self, process: GossipMap, initial: Initial, shape: Shape, variance: Array | None
    ) -> Moments:
        """Return moments, run unless they are known."""
        name = _named(process, initial, shape, variance)
        if name not in self.known:
            self.known[name] = moments(process, variance, noise=shape, initial=initial)
        return self.known[name]


def _named(process: GossipMap, initial: Initial, shape: Shape, variance: Array | None) -> str:
    """Return what tells moments apart from all others: a digest of all that they are of."""
    said = {name: np.asarray(value).tobytes().hex() for name, value in vars(process).items()}
    level = None if variance is None else variance.tobytes().hex()
    return digest(said | {"start": initial, "noise": shape, "variance": level})


def process_of(
    known: Population, objective: Quadratic, chosen: Array | None
) -> tuple[OneOnOne, GossipMap]:
    """Return the algorithm of a scenario, and its numbers.

    Parameters
    ----------
    known : Population
    objective : Quadratic
        What the forecast is of.
    chosen : array (N,), optional
        π_i; may be absent where the step does not look at them.

    Raises
    ------
    TypeError
        If the algorithm is another than asynchronous gossip.
    """
    algorithm = known.scenario.algorithm.one_on_one
    if algorithm is None:
        raise TypeError(f"no exact moments of {known.scenario.algorithm.kind}")
    updates = known.scenario.run.updates
    return algorithm, gossip_map_of(
        objective,
        rho=algorithm.rho(objective.n_owners, updates, objective.sigma),
        updates=updates,
        central_step=algorithm.central_step,
        probability=chosen,
        inverse_rate=algorithm.inverse_rate,
    )


def shape_of(known: Population) -> Shape:
    """Return whether coordinates have noise of their own."""
    return known.problem.noise.shape


def _proportion(variance: Array, former: Array) -> float | None:
    """Return c where all variances are c times the former ones; None where they are not."""
    most = int(np.argmax(former))
    share = float(variance[most] / former[most])
    return share if np.allclose(variance, share * former, rtol=1e-12, atol=0.0) else None


def _scaled(quiet: Moments, loud: Moments, share: float) -> Moments:
    """Return the moments with the noise's part ``share`` times as large; means have none."""
    parts = ("second", "copies_second", "cross_second")
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        found = {
            name: getattr(quiet, name) + share * (getattr(loud, name) - getattr(quiet, name))
            for name in parts
        }
    return replace(quiet, **found)


def psi_bound(
    algorithm: OneOnOne, objective: Quadratic, noise: Noise, updates: int, chosen: Array
) -> float | None:
    """Return a bound on E ψ(θ_L,T), Theorem 2 (Async) mended and for smooth losses.

    None where its assumptions fail: steps too large for the curvature, or θ* on the bound of Θ.

    Parameters
    ----------
    algorithm, objective, noise
        Of the scenario.
    updates : int
        T.
    chosen : array (N,)
        π_i.
    """
    n_owners, sigma = objective.n_owners, objective.sigma
    start = {"zeros": 0.0, "ones": 1.0, "uniform": 0.5}[algorithm.initial]
    apart = float(np.sum(np.square(start - objective.optimum)))
    if algorithm.initial == "uniform":
        apart += objective.n_features / 12
    try:
        steps = step_sizes(
            n_owners,
            sigma,
            rho=algorithm.rho(n_owners, updates, sigma),
            updates=updates,
            central_step=algorithm.central_step,
            probability=chosen,
            inverse_rate=algorithm.inverse_rate,
        )
        found = sharpened(
            steps,
            answer_noise(objective.weights, noise.variance, objective.n_features),
            slopes=quadratic_slopes(
                objective.gram, objective.moment, objective.weights, objective.sigma
            ),
            start=(n_owners + 1) * apart,
        )
    except SpecError:
        return None
    return excess_bound(found.after(updates), objective.smoothness) / objective.least
