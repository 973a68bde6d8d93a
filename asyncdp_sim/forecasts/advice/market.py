"""A data market: the cheapest budgets that reach a target, and what simulated runs make of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.progress import Progress, counted
from asyncdp_sim.core.words import number
from asyncdp_sim.forecasts.advice.contest import (
    CHOOSING,
    REPLICATES,
    Advice,
    Play,
    Played,
    affordable,
    afresh,
    ends,
    gained,
)
from asyncdp_sim.forecasts.moments import answering, broken, exact, process_of
from asyncdp_sim.forecasts.population import Moments, Population, choosing, population
from asyncdp_sim.runs.problem import prepare
from asyncdp_sim.runs.workers import processes
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.theory.formulas.arguments import finite, positive
from analysis.exact.noise_gain import noise_gain
from analysis.exact.per_update import moments as run_moments
from asyncdp_sim.theory.prediction import Unknown


@dataclass(frozen=True, eq=False)
class Demand:
    """Cost of noise to a learning: E ψ(θ_L,T) = free + Σ loss_i/ε_i².

    loss_i = gain_i 2 (2ΞK_i/n_i)²/f*, gain_i of :mod:`~analysis.exact.noise_gain`.

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


def priced(known: Population, doubts: Sequence[str]) -> Demand:
    """Return what noise costs by moments, clipping taken as inactive.

    Raises
    ------
    SpecError
        If there are doubts, or noise is not Laplace's at a fixed number of answers.
    """
    doubts = list(doubts)
    scenario, objective, law = known.scenario, known.objective, answering(known)
    privacy = scenario.privacy
    if privacy.per_owner:
        doubts.append("it hides whole owners")
    elif not (privacy.laplace_variance and privacy.budget.named_answers):
        doubts.append("it is not Laplace noise for a fixed number of answers")
    if privacy.overlap > 1:
        doubts.append("owners share records, so that none can sell its budget alone")
    if scenario.algorithm.in_rounds is not None:
        doubts.append("learning is in rounds")
    if len(doubts) > 0:
        remedy = "to compare budgets without prices, sweep privacy.epsilon"
        asked = "a scenario whose noise has no exact price"
        raise SpecError([Fault("", f"{asked}, because {doubt}", remedy) for doubt in doubts])
    if objective is None or isinstance(law, Unknown):
        raise TypeError("broken() lets no such scenario pass")
    algorithm, process = process_of(known, objective, law.chosen)
    quiet = run_moments(process, noise=privacy.noise, initial=algorithm.initial)
    judge = objective if known.judge is None else known.judge
    gain = noise_gain(replace(process, hessian=judge.hessian), noise=privacy.noise)[-1]
    count = scenario.owners.count
    answers = np.array(scenario.spending.answers_allowed(count, scenario.run.updates), dtype=float)
    xi = 0.0 if known.problem.xi is None else known.problem.xi
    unit = 2 * np.square(2 * xi * answers / objective.records)
    free = float(quiet.expected_excess(judge.hessian, judge.optimum)[-1] / judge.least)
    if not np.isfinite(free):
        rho = algorithm.rho(objective.n_owners, scenario.run.updates, objective.sigma)
        raise SpecError([Fault("algorithm", f"ρ = {rho:g}", "no prices: the learning diverges")])
    return Demand(free, np.asarray(gain * unit / judge.least))


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
    buying = wanted.loss > 0
    psi = wanted.free + float(np.sum(wanted.loss[buying] / np.square(epsilon[buying])))
    return Purchase(epsilon, cost * epsilon, psi, float(target), margin)


ROUNDS, CLOSE = 8, 0.01
"""Times that budgets are scaled at most, until the simulated ψ is so near its target."""


@dataclass(frozen=True, eq=False)
class PurchaseResult(Advice):
    """Budgets that were bought, compared with others in the same simulated runs.

    Attributes
    ----------
    owners : Participants
        Who sells.
    purchase : Purchase
        With ψ by moments, clipping taken as inactive.
    clipped : bool
        Whether gradients are clipped.
    simulated : Played
        With the budgets bought.
    equal : float
        ε_i that all owners have for the same money, and
    with_equal : Played
        what that comes to.
    given_total : float
        Σ c_i ε_i of the scenario's own budgets, and
    given : Played
        what they come to.
    scaled : bool
        Whether budgets were scaled, in other runs, until the target was reached.
    """

    owners: Participants
    purchase: Purchase
    clipped: bool
    simulated: Played
    equal: float
    with_equal: Played
    given_total: float
    given: Played
    scaled: bool

    @property
    def verdict(self) -> str:
        """Whether the target was reached, and whether buying pays."""
        played, target = self.simulated, self.purchase.target
        if not played.psi - played.half_width <= target:
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
        it, runs = self.purchase, self.simulated.final
        ratio = self.with_equal.over(self.simulated)
        inactive = ", clipping taken as inactive" * self.clipped
        by_moments = f"by moments{inactive} {number(it.psi)}"
        prices = ",".join(f"{price:.6g}" for price in (it.paid / it.epsilon).tolist())
        asked = f"--market {prices} --target {it.target:g}"
        return [
            *(
                f"{self.owners.said(i)}: ε = {number(epsilon)} for {number(paid)}"
                for i, (epsilon, paid) in enumerate(zip(it.epsilon, it.paid, strict=True))
            ),
            f"bought    for {it.total:.5g} in all: {self.simulated} ({by_moments}); "
            f"target {it.target:g}: {self.verdict}",
            f"equal     ε = {number(self.equal)} for every owner, same money: {self.with_equal}",
            f"given     budgets, for {self.given_total:.5g} in all: {self.given}",
            f"gain      {gained(ratio, 'with equal budgets', 'with those bought')}",
            f"margin    {number(it.price_of_target)} for each unit of ψ less",
            f"runs      {len(runs)} of each choice with a ± (longer half of a 95 % interval), "
            "networks and noise being the same for all"
            + ("; budgets were scaled in other runs to reach the target" * self.scaled),
            *self.source(f"{file} {asked}"),
        ]


def buy(
    scenario: Scenario,
    prices: Sequence[float] | Array,
    target: float,
    *,
    moments: Moments = "own",
    private: bool = False,
    replicates: int = REPLICATES,
    workers: int = 1,
    progress: Progress | None = None,
) -> PurchaseResult:
    """Return the cheapest budgets with which a scenario reaches an expected ψ.

    Exact moments of the owners' records price them. Where gradients are clipped, or moments are
    common ones, the moments say only in which proportion budgets are cheapest; how large they have
    to be is found by simulated runs. All of it is then simulated afresh, beside equal budgets for
    the same money and the scenario's own.

    Parameters
    ----------
    scenario : Scenario
        Its own ε do not matter, but are shown beside what is bought.
    prices, target
        As for :func:`cheapest`.
    moments, private
        As for :func:`~asyncdp_sim.forecasts.forecast`.
    replicates : int
        Runs of a choice at most, ≥ 2; fewer where they would take long.
    workers : int
        Processes for runs, ≥ 1; never change a result.
    progress : Progress, optional
        Told how far it has come.

    Raises
    ------
    SpecError
        As :func:`priced` and :func:`cheapest`, or if at these budgets the projection onto Θ may
        act, of which the moments know nothing.
    DataError
        As :func:`~asyncdp_sim.forecasts.forecast`.
    """
    asked = scenario.base()
    data = population(asked, moments, private=private)
    clipped = data.scenario.privacy.clip_bound is not None
    wanted = priced(data, [why for why in broken(data) if not why.startswith("clipped")])
    own, cost = data.scenario, finite("prices", np.asarray(prices, float), wanted.loss.shape)
    with processes(workers) as mapped:
        pool: dict[str, Any] = {"dataset": data.dataset, "workers": workers, "run_map": mapped}

        def play(epsilon: Array) -> Play:
            return partial(ends, _with(own, epsilon), **pool)

        light = partial(affordable, own, data.dataset, most=replicates)
        if clipped or data.common:
            runs = light(ROUNDS * own.run.updates)
            purchase = _scaled(wanted, cost, positive("target", target), play, runs, progress)
        else:
            purchase = cheapest(wanted, cost, target)
            _require_inside(data, purchase)
        own_budgets = own.privacy.epsilons(own.owners.count)
        equal = np.full(len(cost), purchase.total / cost.sum())
        runs = light(3 * own.run.updates)
        choices = [play(budgets) for budgets in (purchase.epsilon, equal, own_budgets)]
        bought, same, as_given = afresh(choices, runs, progress)
    return PurchaseResult(
        owners=data.participants,
        purchase=purchase,
        clipped=clipped,
        simulated=bought,
        equal=float(equal[0]),
        with_equal=same,
        given_total=float(cost @ own_budgets),
        given=as_given,
        scaled=clipped or data.common,
        scenario=choosing(_with(asked, purchase.epsilon), data),
        moments=data.words,
        not_for_release=data.private,
        unchecked=own.data != asked.data,
    )


def _with(scenario: Scenario, epsilon: Array) -> Scenario:
    """Return the scenario with other budgets."""
    privacy = scenario.privacy.model_copy(update={"epsilon": tuple(epsilon.tolist())})
    return scenario.model_copy(update={"privacy": privacy})


def _require_inside(known: Population, found: Purchase) -> None:
    """Refuse budgets whose noise may reach the bound of Θ."""
    bought = _with(known.scenario, found.epsilon)
    here = replace(known, scenario=bought, problem=prepare(bought, known.dataset))
    bound = known.scenario.model.theta_max
    if bound is not None and isinstance(exact(here), tuple):
        problem = f"the noise of ψ = {found.target:g} may reach beyond"
        raise SpecError(
            [Fault("model.theta_max", f"{bound:g}", f"{problem}: allowed is a larger Θ, or less ψ")]
        )


def _scaled(
    wanted: Demand,
    prices: Array,
    target: float,
    play: Callable[[Array], Play],
    runs: int,
    progress: Progress | None,
) -> Purchase:
    """Return budgets in the cheapest proportion by moments, as large as simulated runs ask for.

    What noise adds to ψ falls about with the square of all budgets; each round measures it anew,
    with the same networks and noise.

    Raises
    ------
    SpecError
        If the target is not reached without noise.
    """
    numbers = range(CHOOSING, CHOOSING + runs)
    for price in prices.tolist():
        positive("prices", price)
    advance = counted(progress, "finding how large budgets are: runs", (1 + ROUNDS) * runs)
    reach = Played(play(np.full(len(prices), np.inf))(numbers))
    advance(runs)
    free = reach.psi
    if not free < target:
        quiet_psi = f"{free:.4g} ± {reach.half_width:.2g}"
        domain = f"allowed is more than {quiet_psi}, the simulated ψ without noise"
        raise SpecError([Fault("target", f"{target:g}", domain)])
    proportion = np.maximum(np.cbrt(wanted.loss / prices), 1e-12)
    scale = float(np.sqrt(np.sum(wanted.loss / proportion**2) / (target - free)))
    for _ in range(ROUNDS):
        epsilon = scale * proportion
        psi = Played(play(epsilon)(numbers)).psi
        advance(runs)
        if abs(psi / target - 1) < CLOSE:
            break
        grow = np.sqrt(max(psi - free, 0.0) / (target - free)) if np.isfinite(psi) else 4.0
        scale *= float(np.clip(grow, 0.25, 4.0))
    margin = float(prices @ epsilon) / (2 * (target - free))
    return Purchase(epsilon, prices * epsilon, wanted.psi(epsilon), target, margin)
