"""A data market: the cheapest budgets that reach a target where privacy has a price."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import AsyncDPError, Fault, SpecError
from asyncdp_sim.forecasts.exact.assumptions import broken, choice
from asyncdp_sim.forecasts.population import Moments, Population, population
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.formulas.arguments import finite, nonnegative, positive
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
        ≥ 0; an owner of loss 0 needs no more than its least budget.
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
        −d Σ c_i ε_i/d target = c_i ε_i³/(2 loss_i) of every owner that is at no limit: what a ψ
        lower by one unit costs, in the limit; 0 where all are at a limit.
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


def cheapest(
    wanted: Demand,
    prices: Sequence[float] | Array,
    target: float,
    *,
    least: float = 0.0,
    most: float = np.inf,
) -> Purchase:
    """Return the budgets that reach a target for the least Σ c_i ε_i.

    min Σ c_i ε_i subject to free + Σ loss_i/ε_i² ≤ target, least ≤ ε_i ≤ most: convex, in
    x_i = ln ε_i too, in which sequential quadratic programming solves it from equal budgets that
    reach the target. Without limits it is :func:`lagrange`'s.

    Parameters
    ----------
    wanted : Demand
    prices : array (N,)
        c_i > 0 for each unit of ε_i.
    target : float
        Expected ψ, > 0.
    least, most : float
        Limits of every ε_i, 0 ≤ least ≤ most.

    Raises
    ------
    SpecError
        If no budgets within the limits reach the target, or an argument is outside its domain.
    """
    from scipy.optimize import minimize  # a slow import

    cost = finite("prices", np.asarray(prices, dtype=float), wanted.loss.shape)
    for price in cost.tolist():
        positive("prices", price)
    lowest, highest = nonnegative("least", least), float(most)
    if not highest > 0 or highest < lowest:
        raise SpecError([Fault("most", f"{most:g}", f"allowed is more than 0, at least {least:g}")])
    reachable = wanted.psi(np.full(len(cost), highest))
    if not reachable < target:
        allowed = f"allowed is more than {reachable:.4g}, the expected ψ "
        allowed += "without noise" if np.isinf(highest) else f"with all budgets at {highest:g}"
        raise SpecError([Fault("target", f"{target:g}", allowed)])
    buying = wanted.loss > 0
    epsilon = np.full(len(cost), lowest)
    room = target - wanted.free
    if np.any(buying) and not (lowest > 0 and wanted.psi(epsilon) <= target):
        loss, price = wanted.loss[buying], cost[buying]
        equal = float(np.clip(np.sqrt(loss.sum() / room), lowest, highest))
        share, noise = price / price.sum(), loss / equal**2 / room  # of ε_i = equal · exp(x_i)
        low = np.log(lowest / equal) if lowest > 0 else None
        high = np.log(highest / equal) if np.isfinite(highest) else None
        found = minimize(
            lambda x: share @ np.exp(x),
            np.zeros(len(loss)),
            jac=lambda x: share * np.exp(x),
            method="SLSQP",
            bounds=[(low, high)] * len(loss),
            constraints={
                "type": "ineq",
                "fun": lambda x: -np.log(noise @ np.exp(-2 * x)),
                "jac": lambda x: 2 * noise * np.exp(-2 * x) / (noise @ np.exp(-2 * x)),
            },
            options={"ftol": 1e-12, "maxiter": 1000},
        )
        if not found.success:
            raise AsyncDPError(f"no cheapest budgets were found: {found.message}")
        epsilon[buying] = equal * np.exp(found.x)
        over = wanted.psi(epsilon) - wanted.free
        if over > room and np.isinf(highest):  # by rounding: no answer is above its target
            epsilon[buying] *= np.sqrt(over / room)
    inner = buying & (epsilon > lowest * (1 + 1e-9)) & (epsilon < highest * (1 - 1e-9))
    margin = 0.0
    if np.any(inner):
        margin = float(np.median(cost[inner] * epsilon[inner] ** 3 / (2 * wanted.loss[inner])))
    return Purchase(epsilon, cost * epsilon, wanted.psi(epsilon), float(target), margin)


def lagrange(wanted: Demand, prices: Array, target: float) -> Array:
    """Return the cheapest budgets without limits, in closed form, shape (N,).

    ε_i = (loss_i/c_i)^{1/3} (Σ_j loss_j^{1/3} c_j^{2/3} / (target − free))^{1/2}: at the optimum
    c_i = 2μ loss_i/ε_i³ for one μ, and the target is met.
    """
    ratio = np.cbrt(wanted.loss / prices)
    return np.asarray(ratio * np.sqrt(np.sum(ratio * prices) / (target - wanted.free)))
