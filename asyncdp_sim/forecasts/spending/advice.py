"""Advice on spending: the best rule for parts of budgets, and what it is worth."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.evidence.exact_moments import CLIPPED
from asyncdp_sim.forecasts.advice.contest import REPLICATES, affordable, afresh, ends, winner
from asyncdp_sim.forecasts.advice.words import source
from asyncdp_sim.forecasts.exact.assumptions import nonlinear
from asyncdp_sim.forecasts.exact.moment_forecast import MomentForecast, moment_forecast
from asyncdp_sim.forecasts.population import Population, choosing, population
from asyncdp_sim.forecasts.spending.rules import Rule, best_rule, least
from asyncdp_sim.forecasts.spending.weights import Weights, weights
from asyncdp_sim.privacy.budgets import BudgetKind, PerOwnerCap
from asyncdp_sim.progress import Progress, beginning
from asyncdp_sim.runs.problem import prepare
from asyncdp_sim.scenario import Scenario

Array = npt.NDArray[np.float64]
Shown = tuple[Rule, "ExpectedPsi", "ExpectedPsi", float, float, str]
"""A rule, ψ with equal parts and with it, what is gained, its standard error, and how found."""
MILDER = (0.5, 0.25, 0.12)
"""Of the way from equal parts to the rule: what is tried besides where gradients are clipped."""
WORTH = 0.01
"""Of ψ with equal parts: what gains less gains nothing."""


@dataclass(frozen=True, eq=False)
class ExpectedPsi:
    """Expected ψ at the end, and how well it is known.

    Attributes
    ----------
    psi, half_width : float
        The half width is that of a 95 % interval, 0 where ψ is exact.
    """

    psi: float
    half_width: float

    def __str__(self) -> str:
        """Return both."""
        known = f" ± {self.half_width:.2g}" if self.half_width > 0 else " (exact)"
        return f"expected ψ {self.psi:.4g}{known}"


@dataclass(frozen=True, eq=False)
class Spending:
    """Advice on whether unequal parts of budgets pay.

    Attributes
    ----------
    rule : str
        The best rule, in words.
    equal, uneven : ExpectedPsi
        With equal parts, and under the rule.
    gained : float
        By how much ψ falls, and
    gained_error : float
        the standard error of that, over the same networks; 0 where it is exact.
    floor : float or None
        ψ that no parts of the same budgets over as many answers can be below; None where ψ is of
        runs.
    pays : bool
        Whether ψ falls by more than :data:`WORTH` of itself, and by two standard errors.
    scenario : Scenario
        With the better of the two in it.
    basis : str
        What figures are worth.
    moments : str
        Of what data.
    not_for_release : bool
        Whether private records were read: a choice made from them is a release, too.
    unchecked : bool
        Whether the records are the twin's of a table that was not read.
    """

    rule: str
    equal: ExpectedPsi
    uneven: ExpectedPsi
    gained: float
    gained_error: float
    floor: float | None
    pays: bool
    scenario: Scenario
    basis: str
    moments: str
    not_for_release: bool
    unchecked: bool

    @property
    def verdict(self) -> str:
        """Whether it pays, in words."""
        share = self.gained / self.equal.psi
        error = self.gained_error / self.equal.psi
        said = f"{share:.2%}" + (f" ± {2 * error:.1%}" if error > 0 else "")
        if self.pays:
            return f"it pays: ψ is {said} lower, {self.equal.psi / self.uneven.psi:.4g} times"
        if share < 0:
            times = self.uneven.psi / self.equal.psi
            return f"nothing: under the best rule that was found ψ is {times:.3g} times as large"
        if share < WORTH:
            return f"nothing: the best rule lowers ψ by {said}, less than {WORTH:.0%}"
        return f"nothing that is shown: the best rule lowers ψ by {said}"

    def lines(self, file: str = "FILE") -> list[str]:
        """Return the advice in words.

        Parameters
        ----------
        file : str
            The scenario and its settings, as typed.
        """
        least = []
        if self.floor is not None:
            least = [
                f"floor     no parts of these budgets, over as many answers, have ψ < "
                f"{self.floor:.4g}"
            ]
        return [
            f"schedule  {self.rule}: {self.uneven}",
            f"equal     {self.equal}",
            f"gain      {self.verdict}",
            *least,
            f"figures   {self.basis}",
            *source(
                self.moments,
                private=self.not_for_release,
                unchecked=self.unchecked,
                command=f"{file} --schedule",
            ),
        ]


def spend(
    scenario: Scenario,
    *,
    private: bool = False,
    replicates: int = REPLICATES,
    workers: int = 1,
    progress: Progress | None = None,
) -> Spending:
    """Find the best geometric or power rule for parts of budgets, and what it is worth.

    The rule is sought by the weights of answers (:mod:`~asyncdp_sim.theory.moments.spending`),
    whose moments are those of ``private`` records, of synthetic ones or of a twin; K_i stay as they
    are. ψ with it and with equal parts is then worked out by moments or, where gradients are
    clipped, by runs over the same networks.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out.
    private : bool
        Whether a real table's private records may be read; if not, its twin stands in.
    replicates : int
        Runs of each, ≥ 2, where moments do not apply.
    workers : int
        Processes for runs, ≥ 1; never change a result.
    progress : Progress, optional
        Told how far it has come.

    Raises
    ------
    SpecError
        If nothing is hidden, if there are no moments to seek by, or if budgets cannot be spent
        unevenly in this scenario.
    DataError
        As :func:`~asyncdp_sim.forecasts.forecast`.
    """
    asked = scenario.base()
    known = population(_with(asked, _equal(asked)), "own", private=private)
    clipped = _sought(known)
    beginning(progress, "weighing answers")
    found = weights(known)
    rule = best_rule(found)
    shown, floor = None if clipped else _by_moments(known, rule, found), None
    if shown is not None:
        floor = shown[1].psi - float(found.mean.sum()) + least(found)
    else:
        light = affordable(known.scenario, known.dataset, 6.0 * asked.run.updates, replicates)
        how: dict[str, Any] = {"dataset": known.dataset, "workers": workers}
        shown = _by_runs(known, rule, light, partial(ends, **how), progress)
    chosen, equal, better, gain, error, basis = shown
    pays = gain > WORTH * equal.psi and gain > 2 * error
    return Spending(
        rule=chosen.words,
        equal=equal,
        uneven=better,
        gained=gain,
        gained_error=error,
        floor=floor,
        pays=pays,
        scenario=choosing(_with(asked, chosen.budget) if pays else asked, known),
        basis=basis,
        moments=known.words,
        not_for_release=known.private,
        unchecked=known.scenario.data != asked.data,
    )


def _equal(scenario: Scenario) -> BudgetKind:
    """Return the budget of as many answers with equal parts."""
    allowed = scenario.spending.answers_allowed(scenario.owners.count, scenario.run.updates)
    same = len(set(allowed)) == 1
    return PerOwnerCap(answers=allowed[0] if same else allowed)


def _with(scenario: Scenario, budget: BudgetKind) -> Scenario:
    """Return the scenario with another budget.

    Raises
    ------
    SpecError
        If that does not fit it.
    """
    return scenario.replace(privacy={"budget": budget})


def _sought(known: Population) -> bool:
    """Return whether gradients are clipped, so that weights are estimates.

    Raises
    ------
    SpecError
        If there is nothing to divide, or nothing is known of what answers add.
    """
    privacy, doubts = known.scenario.privacy, nonlinear(known)
    if not privacy.hides or not np.isfinite(privacy.epsilons(known.scenario.owners.count)).any():
        allowed = "allowed is a scenario with a finite ε: there is no budget to be spent"
        raise SpecError([Fault("privacy", "nothing to hide", allowed)])
    others = [doubt for doubt in doubts if doubt != CLIPPED]
    if len(others) > 0:
        raise SpecError([Fault("", doubt, "no schedule is sought") for doubt in others])
    return len(doubts) > 0


def _by_moments(known: Population, rule: Rule, found: Weights) -> Shown | None:
    """Return ψ with equal parts and under a rule, what is gained and its error; None without."""
    uneven = _with(known.scenario, rule.budget)
    other = replace(known, scenario=uneven, problem=prepare(uneven, known.dataset))
    equal, better = moment_forecast(known), moment_forecast(other)
    if not isinstance(equal, MomentForecast) or not isinstance(better, MomentForecast):
        return None
    one, two = (ExpectedPsi(float(each.psi[-1]), each.half_width) for each in (equal, better))
    error = 0.0
    if max(one.half_width, two.half_width) > 0:
        each = found.each.sum(axis=(1, 2)) - rule.costs
        error = float(each.std(ddof=1) / sqrt(len(each)))
    return rule, one, two, one.psi - two.psi, error, better.words.split(";")[0]


def _by_runs(
    known: Population,
    rule: Rule,
    runs: int,
    play: Callable[[Scenario, Sequence[int]], Array],
    progress: Progress | None,
) -> Shown:
    """Return the same of runs over the same networks, of the best of some milder rules."""
    rules = [rule, *map(rule.milder, MILDER)]
    plays = [partial(play, _with(known.scenario, each.budget)) for each in rules]
    best = winner(plays, runs, progress)[0]
    even, uneven = afresh([partial(play, known.scenario), plays[best]], runs, progress)
    apart = even.final - uneven.final
    error = float(apart.std(ddof=1) / sqrt(len(apart)))
    one, two = (ExpectedPsi(each.psi, each.half_width) for each in (even, uneven))
    basis = (
        f"means of {runs} runs over the same networks; the rule was sought as if gradients were "
        f"not clipped, and it, or one that is milder, is the best in other runs"
    )
    return rules[best], one, two, float(apart.mean()), error, basis


__all__ = ["WORTH", "ExpectedPsi", "Spending", "spend"]
