"""A data market: the cheapest privacy budgets with which simulated runs reach a target.

The expected ψ is affine in 1/ε_i².
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.progress import Progress, beginning
from asyncdp_sim.core.words import number
from asyncdp_sim.forecasts import contest
from asyncdp_sim.forecasts.population import Population, affordable, population, with_privacy
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.theory.formulas import finite, positive


@dataclass(frozen=True, eq=False)
class Demand:
    """Cost of noise to a learning: E ψ(θ_L,T) = free + Σ loss_i/ε_i².

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
        buying = self.loss > 0
        return self.free + float(np.sum(self.loss[buying] / np.square(epsilon[buying])))


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


def cheapest(wanted: Demand, prices: Sequence[float] | Array, target: float) -> Purchase:
    """Return the budgets that reach a target for the least Σ c_i ε_i; 0 for owners of loss 0.

    ε_i = (loss_i/c_i)^{1/3} (Σ_j loss_j^{1/3} c_j^{2/3} / (target − free))^{1/2}: at the optimum
    c_i = 2μ loss_i/ε_i³ for one μ, and the target is met.

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
        domain = f"allowed is more than {wanted.free:.4g}, the expected ψ without noise"
        raise SpecError([Fault("target", f"{target:g}", domain)])
    ratio = np.cbrt(wanted.loss / cost)
    epsilon = np.asarray(ratio * np.sqrt(np.sum(ratio * cost) / (target - wanted.free)))
    margin = float(cost @ epsilon) / (2 * (target - wanted.free))
    return Purchase(epsilon, cost * epsilon, wanted.psi(epsilon), float(target), margin)


RUNS = 400
"""Runs, at most, in which the noise of each owner is measured."""
REMEDY = "to compare budgets without prices, sweep privacy.epsilon"


def demand(known: Population, *, workers: int = 1, progress: Progress | None = None) -> Demand:
    """Measure what the noise of each owner costs, in runs in which it alone has noise.

    Models are linear in the noise, Z_i = θ_T with owner i's noise − θ_T without any, and noise has
    mean 0. With noise at ε_i, loss_i = ε_i² E Z_iᵀHZ_i/f*. All runs are over the same networks.

    Parameters
    ----------
    known : Population
    workers : int
        Processes, ≥ 1; never change a result.
    progress : Progress, optional
        Receives the progress.

    Raises
    ------
    SpecError
        If expected ψ is not affine in the noise variances, noise is not Laplace noise for a fixed
        number of answers, or learning diverges.
    """
    _refuse(known)
    judge, scenario = known.judge, known.scenario
    if judge is None:  # which is refused
        raise TypeError("no quadratic loss")
    own = scenario.privacy.epsilons(scenario.owners.count)
    budgets = np.where(np.isfinite(own), own, 1.0)
    # (N, N): in row i noise at ε_i for owner i, and none for the others
    budgets_alone = np.where(np.eye(len(budgets), dtype=bool), budgets, np.inf)
    tasks = [known.problem.task.without_noise(), *(known.task_at(row) for row in budgets_alone)]
    runs = affordable(scenario, known.dataset, len(tasks) * scenario.run.updates, RUNS)
    numbers = range(contest.CHOOSING, contest.CHOOSING + runs)
    _, learned = known.quick_runs.learned(tasks, numbers, workers=workers, progress=progress)
    without_noise, *with_noise_of_one = learned
    free = contest.Played.from_curve(without_noise.curve).psi
    shifts = np.stack([one.models - without_noise.models for one in with_noise_of_one])  # (N, R, p)
    if not (np.isfinite(free) and np.isfinite(shifts).all()):
        raise SpecError([Fault("algorithm", "a step with which learning diverges", "lower it")])
    if any((runs_of_task.clipped > 0).any() for runs_of_task in learned):
        remedy = "the projection onto Θ acts: allowed is a larger Θ, or larger privacy.epsilon"
        raise SpecError([Fault("model.theta_max", f"{scenario.model.theta_max:g}", remedy)])
    cost = np.einsum("nra,ab,nrb->nr", shifts, judge.hessian, shifts).mean(axis=1)
    return Demand(free, np.square(budgets) * cost / judge.least)


def _refuse(known: Population) -> None:
    """Refuse a scenario whose mean ψ is not affine in 1/ε_i²."""
    scenario, privacy, algorithm = known.scenario, known.scenario.privacy, known.scenario.algorithm
    outside = algorithm.answers_once or algorithm.obfuscates or algorithm.handles_gradients
    plain = privacy.laplace_variance and privacy.budget.named_answers
    reasons = {
        f"the loss of model {scenario.model.kind} is not quadratic": known.objective is None,
        "gradients are clipped": privacy.clip_bound is not None or privacy.bound_moves,
        f"models of algorithm {algorithm.kind} are not linear in the noise": outside,
        "timing depends on the model": scenario.network.stops,
        "it is not Laplace noise for a fixed number of answers": not plain,
        "owners share records, so that none can sell its budget alone": privacy.overlap > 1,
    }
    contest.refuse(reasons, "a scenario whose noise has no price", REMEDY)


@dataclass(frozen=True, eq=False)
class PurchaseResult(contest.Advice):
    """Budgets that were bought, compared with others in the same simulated runs.

    Attributes
    ----------
    owners : Participants
        Who sells.
    purchase : Purchase
    simulated : Played
        With the budgets bought.
    equal : float
        ε_i that all owners have for the same money.
    with_equal : Played
        With equal budgets.
    given_total : float
        Σ c_i ε_i of the scenario's own budgets.
    given : Played
        With the scenario's own budgets.
    """

    owners: Participants
    purchase: Purchase
    simulated: contest.Played
    equal: float
    with_equal: contest.Played
    given_total: float
    given: contest.Played

    @property
    def verdict(self) -> str:
        """Whether the target was reached and buying pays; printed after the target."""
        played, target = self.simulated, self.purchase.target
        if not played.psi - played.half_width <= target:  # nor is it if ψ is NaN
            return "the target is not reached: these budgets do not pay"
        own_psi = self.given.psi + self.given.half_width
        if self.given_total <= self.purchase.total and own_psi <= target:
            return "the given budgets reach the target for no more: buying does not pay"
        near = played.psi + played.half_width >= target
        return "the target is " + ("within ±" if near else "undercut")

    def lines(self, file: str = "FILE") -> list[str]:
        """Return the purchase in words.

        Parameters
        ----------
        file : str
            The scenario and its settings, as typed.
        """
        it = self.purchase
        better = self.with_equal.against(self.simulated, "with equal budgets", "with those bought")
        prices = ",".join(f"{price:.6g}" for price in (it.paid / it.epsilon).tolist())
        return [
            *(
                f"{self.owners.said(i)}: ε = {number(epsilon)} for {number(paid)}"
                for i, (epsilon, paid) in enumerate(zip(it.epsilon, it.paid, strict=True))
            ),
            f"bought    for {it.total:.5g} in all: {self.simulated}; "
            f"target {it.target:g}: {self.verdict}",
            f"equal     ε = {number(self.equal)} for every owner, same money: {self.with_equal}",
            f"given     budgets, for {self.given_total:.5g} in all: {self.given}",
            f"better    {better}",
            f"margin    {number(it.price_of_target)} for each unit of ψ less",
            f"runs      {contest.compared(self.simulated, 'measured the cost of noise')}",
            *self.source(f"{file} --market {prices} --target {it.target:g}"),
        ]


def buy(
    scenario: Scenario,
    prices: Sequence[float] | Array,
    target: float,
    *,
    private: bool = False,
    replicates: int = contest.REPLICATES,
    workers: int = 1,
    progress: Progress | None = None,
) -> PurchaseResult:
    """Return the cheapest budgets with which a scenario reaches an expected ψ.

    They are simulated in other runs than those that measured the cost of noise, beside equal
    budgets for the same money and the scenario's own.

    Parameters
    ----------
    scenario : Scenario
        The cost of noise is measured at its own ε.
    prices, target
        As for :func:`cheapest`.
    private
        As for :func:`~asyncdp_sim.forecasts.forecast.forecast`.
    replicates : int
        Runs of a choice at most, ≥ 2; fewer where they would take long.
    workers : int
        Processes for runs, ≥ 1; never change a result.
    progress : Progress, optional
        Receives the progress.

    Raises
    ------
    SpecError
        As :func:`demand` and :func:`cheapest`.
    DataError
        As :func:`~asyncdp_sim.forecasts.forecast.forecast`.
    """
    asked = scenario.base()
    known = population(asked, private=private)
    own = known.scenario
    options: Any = {"workers": workers, "progress": progress}
    beginning(progress, "the cost of each owner's noise")
    purchase = cheapest(demand(known, **options), prices, target)
    cost, own_budgets = np.asarray(prices, dtype=float), own.privacy.epsilons(own.owners.count)
    equal = np.full(len(cost), purchase.total / cost.sum())
    beginning(progress, "these budgets, equal ones and the given ones")
    choices = [known.task_at(epsilon) for epsilon in (purchase.epsilon, equal, own_budgets)]
    runs = affordable(own, known.dataset, 3 * own.run.updates, replicates)
    _, learned = known.quick_runs.learned(choices, range(1, 1 + runs), **options)
    bought, with_equal, as_given = (contest.Played.from_curve(choice.curve) for choice in learned)
    # Not validated: an owner whose noise costs nothing sells no ε at all.
    advised = with_privacy(asked, epsilon=tuple(purchase.epsilon.tolist()))
    return PurchaseResult(
        **contest.advice_on(known, asked, advised),
        owners=known.participants,
        purchase=purchase,
        simulated=bought,
        equal=float(equal[0]),
        with_equal=with_equal,
        given_total=float(cost @ own_budgets),
        given=as_given,
    )
