"""A data market: the cheapest budgets that reach a target where privacy has a price."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.forecasts.exact.choose import broken, choice
from asyncdp_sim.forecasts.population import Moments, Population, population
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.formulas.arguments import finite, positive
from asyncdp_sim.theory.moments.gossip_map import gossip_map_of
from asyncdp_sim.theory.moments.noise_gain import noise_gain
from asyncdp_sim.theory.moments.per_update import moments as run_moments
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Demand:
    """Cost of noise to a learning: E ψ(θ_L,T) = free + Σ loss_i/ε_i².

    loss_i = gain_i 2 (2ΞK_i/n_i)²/f*, gain_i of :mod:`~asyncdp_sim.theory.moments.noise_gain`.

    Attributes
    ----------
    free : float
        E ψ without noise, ≥ 0.
    loss : array (N,)
        ≥ 0; an owner of loss 0 needs no budget.
    """

    free: float
    loss: Array

    def psi(self, epsilon: Array) -> float:
        """Return E ψ at budgets ε_i, shape (N,)."""
        return self.free + float(np.sum(self.loss / np.square(epsilon)))


@dataclass(frozen=True, eq=False)
class Purchase:
    """The cheapest budgets.

    Attributes
    ----------
    epsilon : array (N,)
        ε_i.
    paid : array (N,)
        c_i ε_i.
    psi : float
        Expected, at most the target.
    target : float
    price_of_target : float
        −d Σ c_i ε_i/d target = c_i ε_i³/(2 loss_i) of every owner of loss > 0: what a ψ lower by
        one unit costs, in the limit.
    """

    epsilon: Array
    paid: Array
    psi: float
    target: float
    price_of_target: float

    @property
    def total(self) -> float:
        """Σ c_i ε_i."""
        return float(self.paid.sum())


def demand(scenario: Scenario, *, moments: Moments = None, private: bool = False) -> Demand:
    """Return what noise costs a scenario, by exact moments; its own ε do not matter.

    Raises
    ------
    SpecError
        If exact moments do not apply, or noise is not Laplace's at a fixed number of answers.
    DataError
        As :func:`~asyncdp_sim.forecasts.forecast`.
    """
    known = population(scenario.base(), moments, private=private)
    return priced(known, broken(known))


def priced(known: Population, doubts: Sequence[str]) -> Demand:
    """Return what noise costs by moments, clipping taken as inactive.

    Raises
    ------
    SpecError
        If there are doubts, or noise is not Laplace's at a fixed number of answers.
    """
    doubts = list(doubts)
    scenario, objective, chosen = known.scenario, known.objective, choice(known)
    privacy, algorithm = scenario.privacy, scenario.algorithm.one_on_one
    if not (privacy.laplace_variance and privacy.budget.named_answers):
        doubts.append("only Laplace noise for a fixed number of answers has a price here")
    if privacy.overlap > 1:
        doubts.append("owners that share records cannot sell budgets one by one")
    if scenario.algorithm.in_rounds is not None:
        doubts.append("budgets of learning in rounds have no prices here")
    if len(doubts) > 0:
        given, why = "a scenario that cannot be priced", "prices are by exact moments, but"
        raise SpecError([Fault("", given, f"{why} {doubt}") for doubt in doubts])
    if objective is None or isinstance(chosen, Unknown) or algorithm is None:
        raise TypeError("broken() lets no such scenario pass")
    rho = algorithm.rho(objective.n_owners, scenario.run.updates, objective.sigma)
    process = gossip_map_of(
        objective,
        rho=rho,
        updates=scenario.run.updates,
        central_step=algorithm.central_step,
        probability=chosen,
        inverse_rate=algorithm.inverse_rate,
    )
    quiet = run_moments(process, noise=privacy.noise, initial=algorithm.initial)
    judge = objective if known.judge is None else known.judge
    gain = noise_gain(replace(process, hessian=judge.hessian), noise=privacy.noise)[-1]
    count = scenario.owners.count
    answers = np.array(scenario.spending.answers_allowed(count, scenario.run.updates), dtype=float)
    xi = 0.0 if known.problem.xi is None else known.problem.xi
    unit = 2 * np.square(2 * xi * answers / objective.records)
    free = float(quiet.expected_excess(judge.hessian, judge.optimum)[-1] / judge.least)
    if not np.isfinite(free):
        given = f"ρ = {rho:g}"
        raise SpecError([Fault("algorithm", given, "no prices: the learning diverges")])
    return Demand(free, np.asarray(gain * unit / judge.least))


def cheapest(wanted: Demand, prices: Sequence[float] | Array, target: float) -> Purchase:
    """Return the budgets that reach a target for the least Σ c_i ε_i.

    Parameters
    ----------
    wanted : Demand
    prices : array (N,)
        c_i > 0 for each unit of ε_i.
    target : float
        Expected ψ, > 0.

    Raises
    ------
    SpecError
        If no budgets reach the target, or an argument is outside its domain.
    """
    cost = finite("prices", np.asarray(prices, dtype=float), wanted.loss.shape)
    for price in cost.tolist():
        positive("prices", price)
    if not wanted.free < target:
        allowed = f"allowed is more than {wanted.free:.4g}, the expected ψ without noise"
        raise SpecError([Fault("target", f"{target:g}", allowed)])
    epsilon = lagrange(wanted, cost, target)
    margin = float(cost @ epsilon) / (2 * (target - wanted.free))
    buying = wanted.loss > 0
    psi = wanted.free + float(np.sum(wanted.loss[buying] / np.square(epsilon[buying])))
    return Purchase(epsilon, cost * epsilon, psi, float(target), margin)


def lagrange(wanted: Demand, prices: Array, target: float) -> Array:
    """Return the cheapest budgets in closed form, shape (N,); 0 for owners of loss 0.

    ε_i = (loss_i/c_i)^{1/3} (Σ_j loss_j^{1/3} c_j^{2/3} / (target − free))^{1/2}: at the optimum
    c_i = 2μ loss_i/ε_i³ for one μ, and the target is met.
    """
    ratio = np.cbrt(wanted.loss / prices)
    return np.asarray(ratio * np.sqrt(np.sum(ratio * prices) / (target - wanted.free)))
