"""Budgets that reach a target, settled by simulated runs, beside others for the same money."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.forecasts.advice.contest import (
    CHOOSING,
    REPLICATES,
    Play,
    Played,
    affordable,
    afresh,
    ends,
    gained,
    source,
)
from asyncdp_sim.forecasts.advice.market import Demand, Purchase, cheapest, priced
from asyncdp_sim.forecasts.exact.choose import broken, choice
from asyncdp_sim.forecasts.exact.one_on_one import Recursions
from asyncdp_sim.forecasts.population import Moments, Population, choosing, population
from asyncdp_sim.progress import Progress, counted
from asyncdp_sim.runs.problem import prepare
from asyncdp_sim.runs.workers import processes
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.theory.formulas.arguments import finite, positive
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
ROUNDS, CLOSE = 8, 0.01
"""Times that budgets are scaled at most, until the simulated ψ is so near its target."""


@dataclass(frozen=True, eq=False)
class Bought:
    """Budgets that were bought, beside others, in the same simulated runs.

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
    scenario : Scenario
        With the budgets bought in it.
    moments : str
        Of what data.
    not_for_release : bool
        Whether private records were read.
    unchecked : bool
        Whether the records are the twin's of a table that was not read.
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
    scenario: Scenario
    moments: str
    not_for_release: bool
    unchecked: bool

    @property
    def verdict(self) -> str:
        """Whether the target was reached, and whether buying pays."""
        found, target = self.simulated, self.purchase.target
        if not found.psi - found.half_width <= target:
            return "the target is not reached: these budgets do not pay"
        given = self.given.psi + self.given.half_width
        if self.given_total <= self.purchase.total and given <= target:
            return "the given budgets reach the target for no more: buying does not pay"
        near = found.psi + found.half_width >= target
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
        known = f"by moments{inactive} {it.psi:.4g}"
        prices = ",".join(f"{price:.6g}" for price in (it.paid / it.epsilon).tolist())
        asked = f"--market {prices} --target {it.target:g}"
        return [
            *(
                f"{self.owners.said(i)}: ε = {epsilon:.4g} for {paid:.4g}"
                for i, (epsilon, paid) in enumerate(zip(it.epsilon, it.paid, strict=True))
            ),
            f"bought    for {it.total:.5g} in all: {self.simulated} ({known}); "
            f"target {it.target:g}: {self.verdict}",
            f"equal     ε = {self.equal:.4g} for everybody, for the same money: {self.with_equal}",
            f"given     budgets, for {self.given_total:.5g} in all: {self.given}",
            f"gain      {gained(ratio, 'with equal budgets', 'with those bought')}",
            f"margin    {it.price_of_target:.4g} for each unit of ψ less",
            f"runs      {len(runs)} of each choice with a ± (longer half of a 95 % interval), "
            "networks and noise being the same for all"
            + ("; budgets were scaled in other runs to reach the target" * self.scaled),
            *source(
                self.moments,
                private=self.not_for_release,
                unchecked=self.unchecked,
                command=f"{file} {asked}",
            ),
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
) -> Bought:
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
        As :func:`demand` and :func:`cheapest`, or if at these budgets the projection onto Θ may
        act, of which the moments know nothing.
    DataError
        As :func:`~asyncdp_sim.forecasts.forecast`.
    """
    asked = scenario.base()
    known = population(asked, moments, private=private)
    clipped = known.scenario.privacy.clip_bound is not None
    wanted = priced(known, [why for why in broken(known) if not why.startswith("clipped")])
    own, cost = known.scenario, finite("prices", np.asarray(prices, float), wanted.loss.shape)
    with processes(workers) as mapped:
        pool: dict[str, Any] = {"dataset": known.dataset, "workers": workers, "run_map": mapped}

        def play(epsilon: Array) -> Play:
            return partial(ends, _with(own, epsilon), **pool)

        light = partial(affordable, own, known.dataset, most=replicates)
        if clipped or known.common:
            runs = light(ROUNDS * own.run.updates)
            found = _scaled(wanted, cost, positive("target", target), play, runs, progress)
        else:
            found = cheapest(wanted, cost, target)
            _require_inside(known, found)
        each = own.privacy.epsilons(own.owners.count)
        equal = np.full(len(cost), found.total / cost.sum())
        runs = light(3 * own.run.updates)
        choices = [play(budgets) for budgets in (found.epsilon, equal, each)]
        bought, same, given = afresh(choices, runs, progress)
    return Bought(
        owners=known.participants,
        purchase=found,
        clipped=clipped,
        simulated=bought,
        equal=float(equal[0]),
        with_equal=same,
        given_total=float(cost @ each),
        given=given,
        scaled=clipped or known.common,
        scenario=choosing(_with(asked, found.epsilon), known),
        moments=known.words,
        not_for_release=known.private,
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
    objective, chosen = known.objective, choice(here)
    if objective is None or isinstance(chosen, Unknown):
        raise TypeError("priced() lets no such scenario pass")
    bound = objective.theta_max
    if bound is not None and Recursions().expect(here, objective, chosen).refuted(bound):
        said = f"the noise of ψ = {found.target:g} may reach beyond"
        raise SpecError(
            [Fault("model.theta_max", f"{bound:g}", f"{said}: allowed is a larger Θ, or less ψ")]
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
        known = f"{free:.4g} ± {reach.half_width:.2g}"
        allowed = f"allowed is more than {known}, the simulated ψ without noise"
        raise SpecError([Fault("target", f"{target:g}", allowed)])
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
