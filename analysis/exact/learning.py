"""Exact moments of what a scenario learns from its data, or the reasons for none."""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from analysis.exact import assumptions, synchronous
from analysis.exact.gossip_map import GossipMap, gossip_map_of
from analysis.exact.per_update import CentralMoments, Initial, Moments, Shape, moments
from analysis.exact.sample_spread import SampleSpread
from analysis.exact.silence import answering, endless
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.algorithms import Schedule
from asyncdp_sim.learning.algorithms.gathered import Collab1, Collab2, ParameterServer
from asyncdp_sim.learning.algorithms.gossip import AsyncGossip
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.results.manifest import digest
from asyncdp_sim.theory.predict.update_order import Releases, releases
from asyncdp_sim.theory.prediction import Unknown


def variance_of(known: Population) -> Array:
    """Return the variance of each coordinate of the noise on owners' answers, (N,).

    Where parts of a budget are unequal, of the first, second … answer of each, (N, K); 0 beyond
    its last.
    """
    scenario, noise = known.scenario, known.problem.task.reply.noise
    allotment = scenario.privacy.allotment(scenario.owners.count)
    if allotment is None:
        return noise.variance
    variances = np.zeros((len(allotment.answers), int(allotment.answers.max())))
    held = np.arange(variances.shape[1]) < allotment.answers[:, None]
    variances[held] = noise.variance  # owner after owner, as allotments have it
    return variances


def sample_spread(known: Population, objective: Quadratic) -> SampleSpread | None:
    """Return how answers spread about their means; None where all records are in each of them.

    Parameters
    ----------
    known : Population
    objective : Quadratic
        Whose optimum deviations are taken from.
    """
    probability, records = known.scenario.privacy.sampling, known.problem.records.linear
    if probability is None:
        return None
    if records is None:
        raise TypeError(f"no fourth moments of model {known.scenario.model.kind}")
    return SampleSpread.from_records(
        records.features, records.targets, objective.free_optimum, probability
    )


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
        loud = self.with_noise
        with np.errstate(over="ignore", invalid="ignore"):
            bias = loud.copies_mean - loud.optimum
            own = np.einsum("iaia->ia", loud.copies_second) - np.square(bias)
            copies = np.abs(loud.copies_mean) + 6 * np.sqrt(np.maximum(own, 0.0))
            return max(loud.reach, float(copies.max()))


@dataclass
class Recursions:
    """Moments that many scenarios share.

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
            What is learned.
        chosen : array (N,)
            π_i.

        Raises
        ------
        TypeError
            If the algorithm is another.
        """
        algorithm, process = process_of(known, objective, chosen)
        shape, noise = known.problem.noise.shape, known.problem.task.reply.noise
        judge = objective if known.judge is None else known.judge
        start, spread = algorithm.initial, sample_spread(known, objective)
        if spread is not None:
            run = partial(moments, process, noise=shape, initial=start, spread=spread)
            return ExpectedMoments(run(noise.variance), run(), judge)
        quiet, variance = self._moments(process, start, "vector", None), noise.variance
        if not np.any(variance > 0):
            return ExpectedMoments(quiet, quiet, judge)
        formers = self._loud.setdefault(_named(process, start, shape, None), [])
        for former, loud in formers:
            most = int(np.argmax(former))
            share = float(variance[most] / former[most])
            if np.allclose(variance, share * former, rtol=1e-12, atol=0.0):
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
    numbers = {name: np.asarray(value).tobytes().hex() for name, value in vars(process).items()}
    level = None if variance is None else variance.tobytes().hex()
    return digest(numbers | {"start": initial, "noise": shape, "variance": level})


def process_of(
    known: Population, objective: Quadratic, chosen: Array | None
) -> tuple[AsyncGossip, GossipMap]:
    """Return the algorithm of a scenario, and its numbers.

    Parameters
    ----------
    known : Population
    objective : Quadratic
        What is learned.
    chosen : array (N,), optional
        π_i; may be absent where the step does not look at them.

    Raises
    ------
    TypeError
        If the algorithm is another than asynchronous gossip.
    """
    algorithm: AsyncGossip | None = known.scenario.algorithm.one_on_one
    if algorithm is None:
        raise TypeError(f"no exact moments of {known.scenario.algorithm.kind}")
    updates = known.scenario.run.updates
    return algorithm, gossip_map_of(
        objective,
        rho=algorithm.rho_of(objective.n_owners, updates, objective.sigma),
        updates=updates,
        central_step=algorithm.central_step,
        probability=chosen,
        inverse_rate=algorithm.needs_shares,
    )


def _scaled(quiet: Moments, loud: Moments, share: float) -> Moments:
    """Return the moments with the noise's part ``share`` times as large; means have none."""
    parts = ("second", "copies_second", "cross_second")
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        scaled = {
            name: getattr(quiet, name) + share * (getattr(loud, name) - getattr(quiet, name))
            for name in parts
        }
    return replace(quiet, **scaled)


@dataclass(frozen=True, eq=False)
class InRounds:
    """Moments of a synchronous learning.

    Owners' second moments count pooled alone.

    Attributes
    ----------
    known : Population
    objective : Quadratic
        What is learned.
    algorithm : Collab1, Collab2 or ParameterServer
    """

    known: Population
    objective: Quadratic
    algorithm: Collab1 | Collab2 | ParameterServer

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
        return self.algorithm.schedule(self.algorithm.step_length, self.known.scenario.run.updates)

    @cached_property
    def _spread(self) -> SampleSpread | None:
        return sample_spread(self.known, self.objective)

    @cached_property
    def _loud(self) -> synchronous.DescentMoments:
        share, variance = self.objective.weights, variance_of(self.known)
        if variance.ndim == 1:
            return self._moments(float(share**2 @ variance))
        return self._moments(share**2 @ variance[:, : self.known.scenario.run.updates])

    def _moments(self, variance: float | Array) -> synchronous.DescentMoments:
        """Return moments for a variance Σ (n_i/n)² v_i on each coordinate, of rounds or each."""
        objective, schedule = self.objective, self._schedule
        noise, initial = self.known.problem.noise.shape, self.algorithm.initial
        numbers = (objective.hessian, objective.free_optimum, schedule)
        if self._spread is None or not isinstance(variance, float):
            return synchronous.moments(*numbers, variance, noise=noise, initial=initial)
        spread, weights = self._spread, objective.weights
        return synchronous.sampled_moments(
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


def broken(population: Population) -> list[str]:
    """Return why exact moments do not apply, a reason each; none where they do."""
    return [*nonlinear(population), *assumptions.out_of_order(population.scenario)]


def nonlinear(population: Population) -> list[str]:
    """Return why there are none even if it is known who updates when, a reason each."""
    objective = population.objective
    interior = objective is None or objective.interior
    return assumptions.nonlinear(population.scenario, interior=interior)


def ending(population: Population) -> Releases | None:
    """Return the same where owners do fall silent, each after K_i updates of its own.

    None where it is not known, where answers that are lost use budgets up too, or where a run may
    end for another reason.
    """
    network = population.scenario.network
    law = releases(endless(network))
    if isinstance(law, Unknown) or np.any(law.loss > 0) or network.until is not None:
        return None
    return law


def exact(
    known: Population, shared: Recursions | None = None
) -> "ExpectedMoments | InRounds | tuple[str, ...]":
    """Return the exact moments of a scenario, or why they do not apply.

    Parameters
    ----------
    known : Population
    shared : Recursions, optional
        Moments that several scenarios share.
    """
    doubts, objective = broken(known), known.objective
    if len(doubts) > 0 or objective is None:
        return tuple(doubts)
    result: ExpectedMoments | InRounds
    rounds = known.scenario.algorithm.in_rounds
    if rounds is not None:
        result = InRounds(known, objective, rounds)
    else:
        law = answering(known.scenario.network)
        if isinstance(law, Unknown):
            raise TypeError("broken() lets no such scenario pass")
        recursions = Recursions() if shared is None else shared
        result = recursions.expect(known, objective, law.chosen)
    why = result.refuted(objective.theta_max)
    return (why,) if why else result
