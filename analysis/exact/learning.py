"""Expected ψ of a scenario by exact moments of what it learns from its data, or why there is none.

Exact, or exact over counts of answers, or exact given the order of the updates.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from analysis.exact import assumptions, per_update, synchronous
from analysis.exact.per_update import CentralMoments, GossipMap, Initial, Moments, Shape
from analysis.exact.sample_spread import SampleSpread
from analysis.exact.turns import capped_moments, capped_size, ordered, orders
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.forecasts.population import Population, population
from asyncdp_sim.learning.algorithms.gathered import Collab1, Collab2, ParameterServer
from asyncdp_sim.learning.algorithms.gossip import AsyncGossip
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.results.manifest import digest
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.predict.update_order import Releases, releases, shares
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
class Expected:
    """Expected ψ of a learning in the whole space.

    Attributes
    ----------
    psi, noise_free : array (T + 1,)
        E ψ of the model that is judged, k = 0 … T, with noise and without.
    refuted : str
        Why it is not that of learning in Θ; empty where it is.
    """

    psi: Array
    noise_free: Array
    refuted: str

    @classmethod
    def of(
        cls,
        known: Population,
        objective: Quadratic,
        models: tuple[CentralMoments, CentralMoments],
        reach: float,
        lost: str = "",
    ) -> "Expected":
        """Judge moments of models with noise and without, that reach so far in any coordinate.

        ``lost`` says that rounding leaves no digits of them, if so.
        """
        judge = objective if known.judge is None else known.judge
        psi, quiet = (
            found.expected_excess(judge.hessian, judge.optimum) / judge.least for found in models
        )
        refuted, least = lost, -np.inf if lost else -ROUNDING
        if not (np.isfinite(reach) and least <= psi[-1] < np.inf):
            refuted = "the learning diverges"
        elif objective.theta_max is not None and reach > objective.theta_max:
            refuted = "the projection onto Θ may act"
        return cls(psi, quiet, refuted)

    @classmethod
    def of_copies(
        cls, known: Population, objective: Quadratic, loud: Moments, quiet: Moments
    ) -> "Expected":
        """Judge the learner's model, whose owners' copies must be in Θ too."""
        with np.errstate(over="ignore", invalid="ignore"):
            own = np.einsum("iaia->ia", loud.copies_second)
            own = own - np.square(loud.copies_mean - loud.optimum)
            copies = np.abs(loud.copies_mean) + 6 * np.sqrt(np.maximum(own, 0.0))
            reach = max(loud.reach, float(copies.max()))
        return cls.of(known, objective, (loud, quiet), reach)

    @classmethod
    def in_rounds(
        cls, known: Population, objective: Quadratic, algorithm: Collab1 | Collab2 | ParameterServer
    ) -> "Expected":
        """Judge a synchronous learning: owners' second moments count pooled alone."""
        updates = known.scenario.run.updates
        schedule = algorithm.schedule(algorithm.step_length, updates)
        spread, share = sample_spread(known, objective), objective.weights
        how: Any = {"noise": known.problem.noise.shape, "initial": algorithm.initial}
        each = variance_of(known)  # Σ (n_i/n)² v_i, of all rounds or of each
        even = each.ndim == 1
        variance = float(share**2 @ each) if even else share**2 @ each[:, :updates]
        numbers = (objective.hessian, objective.free_optimum, schedule)
        run: Callable[[Any], synchronous.DescentMoments] = partial(
            synchronous.moments, *numbers, **how
        )
        if spread is not None:
            run = partial(
                synchronous.sampled_moments, *numbers, spread=spread, weights=share, **how
            )
        loud, quiet = run(variance), run(0.0)
        lost = "first steps are so long that rounding leaves no digits of the average"
        models = loud.judged, quiet.judged
        return cls.of(known, objective, models, loud.model.reach, "" if loud.sound else lost)


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

    def expect(self, known: Population, objective: Quadratic, chosen: Array) -> Expected:
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
        start, spread = algorithm.initial, sample_spread(known, objective)
        if spread is not None:
            run = partial(per_update.moments, process, noise=shape, initial=start, spread=spread)
            return Expected.of_copies(known, objective, run(noise.variance), run())
        quiet, variance = self._moments(process, start, "vector", None), noise.variance
        if not np.any(variance > 0):
            return Expected.of_copies(known, objective, quiet, quiet)
        formers = self._loud.setdefault(_named(process, start, shape, None), [])
        for former, loud in formers:
            most = int(np.argmax(former))
            share = float(variance[most] / former[most])
            if np.allclose(variance, share * former, rtol=1e-12, atol=0.0):
                scaled = _scaled(quiet, loud, share)
                return Expected.of_copies(known, objective, scaled, quiet)
        loud = self._moments(process, start, shape, variance)
        formers.append((variance, loud))
        return Expected.of_copies(known, objective, loud, quiet)

    def _moments(
        self, process: GossipMap, initial: Initial, shape: Shape, variance: Array | None
    ) -> Moments:
        """Return moments, run unless they are known."""
        name = _named(process, initial, shape, variance)
        if name not in self.known:
            self.known[name] = per_update.moments(process, variance, noise=shape, initial=initial)
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
    return algorithm, per_update.gossip_map_of(
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


def broken(population: Population) -> list[str]:
    """Return why exact moments do not apply, a reason each; none where they do."""
    return [*nonlinear(population), *assumptions.out_of_order(population.scenario)]


def nonlinear(population: Population) -> list[str]:
    """Return why there are none even if it is known who updates when, a reason each."""
    objective = population.objective
    interior = objective is None or objective.interior
    return assumptions.nonlinear(population.scenario, interior=interior)


def ending(population: Population) -> Releases | None:
    """Return how owners release answers if they fall silent after K_i updates of their own each.

    None where it is not known, where answers that are lost use budgets up too, or where a run may
    end for another reason.
    """
    network = population.scenario.network
    law = releases(assumptions.endless(network))
    if isinstance(law, Unknown) or np.any(law.loss > 0) or network.until is not None:
        return None
    return law


def exact(known: Population, shared: Recursions | None = None) -> Expected | tuple[str, ...]:
    """Return the expected ψ of a scenario, or why exact moments do not apply.

    Parameters
    ----------
    known : Population
    shared : Recursions, optional
        Moments that several scenarios share.
    """
    doubts, objective = broken(known), known.objective
    if len(doubts) > 0 or objective is None:
        return tuple(doubts)
    rounds = known.scenario.algorithm.in_rounds
    if rounds is not None:
        result = Expected.in_rounds(known, objective, rounds)
    else:
        law = assumptions.answering(known.scenario.network)
        if isinstance(law, Unknown):
            raise TypeError("broken() lets no such scenario pass")
        recursions = Recursions() if shared is None else shared
        result = recursions.expect(known, objective, law.chosen)
    return (result.refuted,) if result.refuted else result


def grid(
    scenario: Scenario, *, shared: Recursions | None = None
) -> list[Expected | tuple[str, ...]]:
    """Return the expected ψ of every cell of a scenario's sweep, or why there is none.

    Nothing is simulated. Cells that differ in budgets alone share their recursions.

    Parameters
    ----------
    scenario : Scenario
        With a sweep.
    shared : Recursions, optional
        What other grids have run; no bit depends on it.
    """
    own = Recursions() if shared is None else Recursions(shared.known)
    found, alike = dict[int, Expected | tuple[str, ...]](), dict[str, list[tuple[int, Scenario]]]()
    for place, values in enumerate(scenario.grid()):
        cell = scenario.cell(values)
        raw = cell.plain()
        of = {"data": raw["data"], "owners": raw["owners"], "seed": raw["run"]["seed"]}
        alike.setdefault(digest(of), []).append((place, cell))
    for cells in alike.values():  # with the same records, which may be large
        read: Any = {}
        for place, cell in cells:
            known = population(cell, private=True, **read)
            read = {"dataset": known.dataset, "like": known.problem}
            found[place] = exact(known, own)
    return [found[place] for place in range(len(found))]


LARGEST = 2**27
"""Numbers that the recursion over counts of answers may take, some seconds' work."""
ORDERS = 125
"""Simulated orders of the updates, where they have no law that helps."""
POINTS = 21
"""Values of k at which expected ψ is computed over orders."""


@dataclass(frozen=True, eq=False)
class ExpectedPsi:
    """Expected ψ of a scenario.

    Attributes
    ----------
    psi : array (J,)
        E ψ(θ_L,k) at some k, the last of them T.
    noise_free : float
        E ψ at the end without noise.
    half_width : float
        Of its 95 % interval over the simulated orders; 0 where it is exact.
    doubts : tuple of str
        Why it is exact given the order of the updates alone; none where it is exact.
    """

    psi: Array
    noise_free: float
    half_width: float = 0.0
    doubts: tuple[str, ...] = ()


def expected_psi(known: Population) -> ExpectedPsi | list[str]:
    """Return the expected ψ by second moments, or why there is none.

    Exact where owners are independent, and no budget ends before T; exact over the counts of
    answers where budgets do end, and counts are few; else exact given the order of the updates
    and averaged over simulated orders, which may be of any law that does not look at models.

    Parameters
    ----------
    known : Population
    """
    doubts, objective = broken(known), known.objective
    if len(nonlinear(known)) > 0 or objective is None:
        return doubts
    if len(doubts) == 0 or known.scenario.algorithm.in_rounds is not None:
        return _exact(exact(known))
    ends = ending(known)
    if ends is not None:
        algorithm, process = process_of(known, objective, ends.chosen)
        caps, variance = np.array(known.scenario.network.answers_allowed), variance_of(known)
        if capped_size(process, caps) <= LARGEST:
            run = partial(
                capped_moments, process, caps, noise=known.problem.noise.shape,
                initial=algorithm.initial, spread=sample_spread(known, objective),
            )  # fmt: skip
            quiet = run()
            loud = run(variance) if np.any(variance > 0) else quiet
            found = Expected.of_copies(known, objective, loud, quiet)
            return _exact((found.refuted,) if found.refuted else found)
    if known.scenario.privacy.sampling is not None:
        return [*doubts, assumptions.SAMPLED]
    return _ordered(known, objective, doubts)


def _exact(found: Expected | tuple[str, ...]) -> ExpectedPsi | list[str]:
    if isinstance(found, tuple):
        return list(found)
    return ExpectedPsi(found.psi, float(found.noise_free[-1]))


def _ordered(known: Population, objective: Quadratic, doubts: list[str]) -> ExpectedPsi | list[str]:
    """Average over simulated orders of the updates.

    Models are taken in the whole space: no such ψ is known where a projection may act.
    """
    network, algorithm = known.scenario.network, known.scenario.algorithm
    if known.scenario.model.theta_max is not None:
        return [*doubts, "the projection onto Θ may act"]
    simulated = orders(network, ORDERS, known.scenario.run.seed)
    if np.all(np.sum(simulated.owners >= 0, axis=1) >= network.updates):
        doubts = [doubt for doubt in doubts if doubt != assumptions.ENDS_EARLY]
    needed = np.array(shares(network)) if algorithm.needs_shares else None
    one_on_one, process = process_of(known, objective, needed)
    judge = objective if known.judge is None else known.judge
    places = np.unique(np.rint(np.linspace(0, simulated.owners.shape[1], POINTS)).astype(np.int64))
    run = partial(
        ordered, process, simulated.owners, places, noise=known.problem.noise.shape,
        initial=one_on_one.initial, numbers=simulated.numbers, hessian=judge.hessian,
        optimum=judge.optimum,
    )  # fmt: skip
    psi, quiet = run(variance_of(known)) / judge.least, run() / judge.least  # (R, J)
    if not np.isfinite(psi).all():
        return [*doubts, "the learning diverges"]
    error = psi[:, -1].std(ddof=1) / np.sqrt(len(psi))
    half_width, noise_free = 1.98 * float(error), float(quiet[:, -1].mean())  # t, 124 degrees
    return ExpectedPsi(np.asarray(psi.mean(axis=0)), noise_free, half_width, tuple(doubts))
