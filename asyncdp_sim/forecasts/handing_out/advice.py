"""Whom to ask, how many at a time, how far to step and how long: sought by moments, then run."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.evidence.exact_moments import bent
from asyncdp_sim.forecasts.advice.contest import REPLICATES, Played
from asyncdp_sim.forecasts.handing_out.search import Handing, HandingOut, alike, handed_out, ladder
from asyncdp_sim.forecasts.interval import half_width
from asyncdp_sim.forecasts.population import Population, choosing, population
from asyncdp_sim.forecasts.quick_runs import QuickRuns, final_psi, last
from asyncdp_sim.progress import Progress, beginning
from asyncdp_sim.runs.problem import prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.predict.table import facts_of

Array = npt.NDArray[np.float64]
EACH, FEW = 6, 4
"""Values of p_i that are tried for each m, per group of owners beyond the first; and the best of
all, which are tried again."""
NEVER = 1e300
"""Time until a target that is not reached."""


@dataclass(frozen=True, eq=False)
class Reached:
    """A choice, as it was forecast and as it came out in simulated runs.

    Attributes
    ----------
    choice : Handing
    simulated : Played
        ψ at the end of each run.
    times : array (R,)
        When they ended.
    """

    choice: Handing
    simulated: Played
    times: Array

    def __str__(self) -> str:
        """Return the choice, and what it came to."""
        chosen, half = self.choice, half_width(self.times)
        owners = ", ".join(f"{p:.3g} of {n}" for p, n in Counter(chosen.chances).items())
        return (
            f"m = {chosen.tasks}, p = {owners}, step {chosen.step:.3g}, T = {chosen.updates}: "
            f"{self.simulated} after {self.times.mean():.4g} ± {half:.2g} (forecast "
            f"{chosen.time:.4g} ± {1.96 * chosen.error:.2g})"
        )


@dataclass(frozen=True, eq=False)
class Tuned:
    """The choice that reaches a ψ soonest, beside asking all alike, N at a time.

    Attributes
    ----------
    target : float
        ψ.
    best, even : Reached
        Both with the step and the T that suit them best; one and the same where none was better.
    choices : int
        Pairs of m and p that were tried.
    scenario : Scenario
        With the best choice in it.
    moments : str
        Of what data.
    not_for_release : bool
        Whether private records were read.
    """

    target: float
    best: Reached
    even: Reached
    choices: int
    scenario: Scenario
    moments: str
    not_for_release: bool

    @property
    def gain(self) -> tuple[float, float]:
        """Time of asking all alike over that of the best, in the same runs, and its half width."""
        best, even = self.best.times, self.even.times
        ratio = float(even.mean() / best.mean())
        return ratio, half_width(even - ratio * best) / float(best.mean())

    def lines(self, file: str = "FILE") -> list[str]:
        """Return it in words.

        Parameters
        ----------
        file : str
            The scenario and its settings, as typed.
        """
        ratio, half = self.gain
        forecast = self.even.choice.time / self.best.choice.time
        return [
            f"target    ψ {self.target:.4g}, every owner spending what it did",
            f"best      {self.best}",
            f"all alike {self.even}",
            f"gain      time: {ratio:.3g} ± {half:.2g} times (forecast {forecast:.3g})",
            f"runs      {len(self.best.times)} of each, ± the longer half of a 95 % interval",
            f"tried     {self.choices} pairs of m and p, by exact moments given who answers when",
            f"moments   {self.moments}",
            f"again     asyncdp forecast {file} --tune --target {self.target:g}",
        ]


def soonest(
    scenario: Scenario,
    target: float,
    *,
    private: bool = False,
    replicates: int = REPLICATES,
    workers: int = 1,
    progress: Progress | None = None,
) -> Tuned:
    """Find the m, p_i, step and T that reach an expected ψ soonest, every owner's ε being fixed.

    Owners that are alike (:func:`~asyncdp_sim.forecasts.handing_out.search.alike`) have one p_i.
    Of each m of a ladder p is sought by the simplex of Nelder and Mead from the last one's; for
    each pair all steps and T come of the same simulated networks. K_i follow p_i, m and T. The best
    and asking all alike, N at a time, have their step and T chosen anew by other networks, and are
    then simulated.

    Parameters
    ----------
    scenario : Scenario
        With a protocol that hands tasks out. Its sweep, if any, is left out.
    target : float
        ψ > 0.
    private : bool
        Whether a real table's private records may be read; if not, all is on its twin.
    replicates : int
        Runs of what is reported, ≥ 2.
    workers : int
        Processes for runs, ≥ 1; never change a result.
    progress : Progress, optional
        Told how far it has come.

    Raises
    ------
    SpecError
        If there are no moments of it, or nothing that was tried reaches the target.
    """
    asked = scenario.base()
    known = population(asked, "own", private=private)
    own = known.scenario
    _refuse(known)
    if known.objective is None:
        raise TypeError("_refuse() lets no such scenario pass")
    beginning(progress, "trying whom to ask and how many at a time by moments")
    search = HandingOut(known, target, alike(own, known.objective))
    even = search.soonest(own.owners.count, (1 / own.owners.count,) * own.owners.count)
    tried, near = _sought(search)
    even = None if even is None else search.settled(even)
    best = min(filter(None, map(search.settled, near)), key=_time, default=None)
    if best is None or even is None:
        allowed = "nothing that was tried reaches it within run.updates, asking all alike"
        raise SpecError([Fault("--target", f"{target:g}", allowed)])
    run: dict[str, Any] = {"known": known, "replicates": replicates, "workers": workers}
    reached = [_played(each, **run) for each in (best, even)]
    return Tuned(
        target=target,
        best=reached[0],
        even=reached[1],
        choices=tried,
        scenario=choosing(_with(asked, best), known),
        moments=known.words,
        not_for_release=known.private,
    )


def _sought(search: HandingOut) -> tuple[int, list[Handing]]:
    """Return how many pairs were tried, and the best few."""
    from scipy.optimize import minimize  # a slow import

    found: dict[tuple[int, tuple[float, ...]], Handing | None] = {}
    start, groups = np.zeros(len(search.groups) - 1), len(search.groups)
    several = ladder(search.known.scenario.owners.count)
    for tasks in several:  # which grows while the most are the best

        def cost(logs: Array, tasks: int = tasks) -> float:
            chances = search.chances(np.append(logs, 0.0))
            reached = found[tasks, chances] = search.soonest(tasks, chances)
            return NEVER if reached is None else reached.time

        if groups == 1:
            cost(start)
        else:
            simplex = start + np.vstack([np.zeros(groups - 1), 0.7 * np.eye(groups - 1)])
            how = {"maxfev": EACH * (groups - 1), "initial_simplex": simplex, "xatol": 0.05}
            least = minimize(cost, start, method="Nelder-Mead", options=how)
            start = np.asarray(least.x) if least.fun < NEVER else start
        best = min(filter(None, found.values()), key=_time, default=None)
        if tasks == several[-1] and best is not None and best.tasks == tasks:
            several.append(2 * tasks)
    return len(found), sorted(filter(None, found.values()), key=_time)[:FEW]


def _time(choice: Handing) -> float:
    return choice.time


def _with(scenario: Scenario, choice: Handing) -> Scenario:
    return handed_out(scenario, choice.tasks, choice.chances, choice.step, choice.updates)


def _played(choice: Handing, known: Population, replicates: int, workers: int) -> Reached:
    """Return what runs of a choice come to, none of which had a part in choosing it."""
    scene = _with(known.scenario, choice)
    runs, task = QuickRuns.of(scene), prepare(scene, known.dataset).task
    _, [found] = runs.learned([task], range(1, replicates + 1), workers=workers)
    return Reached(choice, Played(final_psi(found.curve)), last(found.curve, "time"))


def _refuse(known: Population) -> None:
    """Refuse what has no moments given who answers when."""
    scenario, objective = known.scenario, known.objective
    interior = objective is None or objective.interior
    doubts = bent(scenario, interior=interior)
    if scenario.algorithm.one_central is None:
        doubts.append(f"algorithm {scenario.algorithm.kind} is not one model that steps by answers")
    facts, privacy = facts_of(scenario.network), scenario.privacy
    lost = facts.can_lose_messages or facts.shared
    doubts += [lost] if lost else []
    if not (privacy.budget.even and privacy.budget.named_answers) or privacy.sampling is not None:
        doubts.append(f"budgets {privacy.budget.kind} of other answer counts are not worked out")
    if scenario.run.until is not None:
        doubts.append("the run may end at run.until")
    if len(doubts) > 0:
        said = "allowed is what has moments given who answers when, but"
        raise SpecError([Fault("--tune", "dispatch", f"{said} {doubt}") for doubt in doubts])
