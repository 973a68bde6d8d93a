"""Exact moments of a scenario with its data, or the reasons for none."""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.evidence import exact_moments
from asyncdp_sim.evidence.exact_moments import endless
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.algorithms import AnswerBatch, OneOnOne, Schedule, StepsInRounds
from asyncdp_sim.learning.answers import Answers
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.reply import AnswerModel, AnswerNoise, Sampling
from asyncdp_sim.results.provenance import digest
from asyncdp_sim.theory.bounds.async_smooth import quadratic_slopes, sharpened
from asyncdp_sim.theory.bounds.async_theorem2 import answer_noise, excess_bound, step_sizes
from asyncdp_sim.theory.bounds.collab_theorem2 import along
from analysis.exact import synchronous
from analysis.exact.gossip_map import GossipMap, gossip_map_of
from analysis.exact.per_update import CentralMoments, Initial, Moments, Shape, moments
from analysis.exact.per_update import drawn as first_moments
from asyncdp_sim.theory.predict.releases import Releases
from analysis.exact.sample_spread import SampleSpread
from asyncdp_sim.theory.predict.update_order import releases
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


def made_before(owners: Ints) -> Ints:
    """Return how many updates of its owner come before each one of an order, (R, T).

    Parameters
    ----------
    owners : array of int (R, T)
        Owners (from 0) of the updates; −1 after the last.
    """
    counts = np.zeros_like(owners)
    for owner in range(int(owners.max(initial=0)) + 1):
        his = owners == owner
        counts[his] = (np.cumsum(his, axis=1) - 1)[his]
    return counts


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
    spread = SampleSpread.from_records(
        records.features, records.targets, objective.free_optimum, probability
    )
    return spread.pooled(objective.weights) if known.common else spread


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

    def gradient(self, owners: Ints, points: Array, draws: Array) -> Array:
        """Return gradients, shape (r, p), of which rows of ``draws`` (r, p) are the quantiles."""
        away = points - self.objective.free_optimum
        return self.objective.gradient(owners, points) + self.apart(owners, away, draws)

    def apart(self, owners: Ints, away: Array, draws: Array) -> Array:
        """Return how far gradients at θ* + ``away`` are from those over all records, (r, p)."""
        from scipy.special import ndtri  # a slow import

        deviations = np.zeros_like(away)
        normal = ndtri(np.clip(draws, np.finfo(float).tiny, None))
        for owner in np.unique(owners).tolist():
            rows = np.flatnonzero(owners == owner)
            u = away[rows]
            square = self.spread.of_owner(owner, u[:, :, None] * u[:, None, :], u, np.ones(len(u)))
            largest = np.einsum("raa->ra", square).max(axis=1, initial=0.0)
            square += (_ROUNDING * largest)[:, None, None] * np.eye(u.shape[1])
            if np.isfinite(square).all() and np.all(largest > 0):
                deviations[rows] = np.einsum("rab,rb->ra", np.linalg.cholesky(square), normal[rows])
        return deviations


DRAWS = 500


def draws(
    known: Population,
    objective: Quadratic,
    owners: Ints,
    *,
    numbers: Ints | None = None,
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
    reply = AnswerModel(objective, task.reply.noise, sample, allotment=task.reply.allotment)
    before = made_before(owners) if numbers is None else numbers
    answers = Answers(reply, scopes, task.steps.answer_size)
    state, ends = task.steps.init(scopes), np.sum(owners >= 0, axis=1)
    final, clipped = state.central.copy(), np.zeros(len(owners), dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        for k in range(int(ends.max(initial=0))):
            # those that have ended go along
            turn = AnswerBatch(np.maximum(owners[:, k], 0), numbers=before[:, k])
            points = task.steps.query(state, turn)
            given_answers = answers.give(turn, points)
            task.steps.apply(state, turn, points, given_answers)
            task.steps.update(state)
            done = ends == k + 1
            final[done], clipped[done] = state.central[done], state.clipped[done]
        judge = objective if known.judge is None else known.judge
        return judge.relative_fitness(final), bool(np.any(clipped > 0))


def drawn(known: Population, chosen: Array, answers: Ints) -> Ints:
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
    orders = np.full((DRAWS, scenario.run.updates), -1)
    count, every = np.zeros((DRAWS, n), dtype=np.int64), np.arange(DRAWS)
    caps = answers * (chosen > 0)
    for k in range(min(scenario.run.updates, int(caps.sum()))):
        chance = np.cumsum((count < caps) * chosen, axis=1)
        least = source.random(DRAWS) * chance[:, -1]
        orders[:, k] = np.sum(chance <= least[:, None], axis=1)
        count[every, orders[:, k]] += 1
    return orders


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


def _scaled(quiet: Moments, loud: Moments, share: float) -> Moments:
    """Return the moments with the noise's part ``share`` times as large; means have none."""
    parts = ("second", "copies_second", "cross_second")
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        scaled = {
            name: getattr(quiet, name) + share * (getattr(loud, name) - getattr(quiet, name))
            for name in parts
        }
    return replace(quiet, **scaled)


def psi_bound(
    algorithm: OneOnOne, objective: Quadratic, noise: AnswerNoise, updates: int, chosen: Array
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
            n_owners, sigma, rho=algorithm.rho(n_owners, updates, sigma), updates=updates,
            central_step=algorithm.central_step, probability=chosen,
            inverse_rate=algorithm.inverse_rate,
        )  # fmt: skip
        loud = answer_noise(objective.weights, noise.variance, objective.n_features)
        slopes = quadratic_slopes(objective.gram, objective.moment, objective.weights, sigma)
        bound = sharpened(steps, loud, slopes=slopes, start=(n_owners + 1) * apart)
    except SpecError:
        return None
    return excess_bound(bound.after(updates), objective.smoothness) / objective.least


@dataclass(frozen=True, eq=False)
class InRounds:
    """Moments of a synchronous learning.

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

    def draws(self) -> Array:
        """Return ψ at the end of independent learnings, shape (DRAWS,).

        θ⁺ = θ − γ_k (2H(θ − θ*) + w) with all owners' noise drawn in every round, and what their
        samples add.
        """
        objective, reply = self.objective, self.known.problem.task.reply
        noise = reply.noise
        source = Streams(self.known.scenario.run.seed).generator("forecast", "rounds")
        middle, variance = first_moments(self.algorithm.initial)
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
                    slope += share * noise.add_noise(places, exact, rows)
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
        loud = answer_noise(objective.weights, reply.noise.variance, objective.n_features)
        bounds = along(
            self._schedule.sizes,
            float(loud.sum()),
            convexity=2 * float(values[0]),
            smoothness=2 * float(values[-1]),
            start=float(self.psi[0] * objective.least),
            kept=self._schedule.kept,
        )
        return float(bounds[-1] / objective.least), self.algorithm.theorem


def broken(population: Population) -> list[str]:
    """Return why exact moments do not apply, a reason each; none where they do."""
    return [*nonlinear(population), *exact_moments.out_of_order(population.scenario)]


def nonlinear(population: Population) -> list[str]:
    """Return why there are none even if it is known who updates when, a reason each."""
    objective = population.objective
    interior = objective is None or objective.interior
    return exact_moments.nonlinear(population.scenario, interior=interior)


def answering(population: Population) -> Releases | Unknown:
    """Return how owners release answers until update T, none of them silent before, or why not."""
    return exact_moments.answering(population.scenario.network)


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
        law = answering(known)
        if isinstance(law, Unknown):
            raise TypeError("broken() lets no such scenario pass")
        recursions = Recursions() if shared is None else shared
        result = recursions.expect(known, objective, law.chosen)
    why = result.refuted(objective.theta_max)
    return (why,) if why else result
