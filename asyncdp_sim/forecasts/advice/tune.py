"""The best step, length and cap on answers of a run: each is changed until no change pays."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import ceil, isfinite
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.progress import Progress, beginning
from asyncdp_sim.core.words import number
from asyncdp_sim.data import Dataset
from asyncdp_sim.forecasts.advice.contest import (
    CHOOSING,
    REPLICATES,
    Advice,
    Played,
    advice_on,
    afresh,
    ends_together,
    longest,
    ratio_of_psi,
)
from asyncdp_sim.forecasts.population import QuickRuns, affordable, population
from asyncdp_sim.learning.objectives.records import ABREAST
from asyncdp_sim.runs.replicates import processes
from asyncdp_sim.scenario import Scenario

CHANGES = (((4.0,), 10), ((2.0,), 20), ((1.4,), 40), ((1.2, 1.08), 100))
"""Factors of changes to the step, T and K, the largest first, and simulated runs with each."""
MOST, LEAST = CHANGES[0][0][0], CHANGES[-1][0][-1]
PAYS = 0.01
"""A change pays that lowers the mean ψ by more than this share."""
AT_ONCE = 4
"""Choices of which all runs together are light work."""
KEPT = 4
"""Pairs of T and K whose simulated networks are kept."""
SMALLEST = 1e-30
"""The step below which none is sought that converges; none is sought above 1 over it."""


@dataclass(frozen=True)
class StepLengthCap:
    """A choice of the step, T and K.

    Attributes
    ----------
    step : float
        Of an update, Nρ/(T²σ).
    updates : int
        T.
    answers : int
        K, answers that share each budget.
    """

    step: float
    updates: int
    answers: int

    def __str__(self) -> str:
        """Return the choice."""
        return f"step = {number(self.step)}, T = {self.updates}, K = {self.answers}"

    def over_its_network(self, others: Iterable["StepLengthCap"]) -> list["StepLengthCap"]:
        """Return this choice, and those of others that end no later over the same network."""
        fits = (o for o in others if o.answers == self.answers and o.updates <= self.updates)
        return list(dict.fromkeys([self, *fits]))

    def into(self, scenario: Scenario) -> Scenario:
        """Return the scenario with this choice."""
        privacy = scenario.privacy
        budget = privacy.budget.sized(self.answers)
        changed: dict[str, Any] = {
            "algorithm": scenario.algorithm.model_copy(update={"step": self.step, "rho": None}),
            "run": scenario.run.model_copy(update={"updates": self.updates}),
        }
        if budget is not privacy.budget:
            changed["privacy"] = privacy.model_copy(update={"budget": budget})
        return scenario.model_copy(update=changed)


@dataclass(frozen=True)
class Choices:
    """Choices of the step, T and K that a scenario may have.

    Attributes
    ----------
    owners : int
        N.
    capped : bool
        Whether K is a choice; else it is T.
    longest : int
        The largest T.
    """

    owners: int
    capped: bool
    longest: int

    def allowed(self, step: float, updates: int, answers: int) -> StepLengthCap:
        """Return the nearest choice with which all T updates can be made."""
        length = min(max(updates, 1), self.longest)
        least = ceil(length / self.owners) if self.capped else length
        return StepLengthCap(step, length, min(max(answers, least), length))

    def changed(self, at: StepLengthCap, factor: float) -> tuple[StepLengthCap, ...]:
        """Return a choice with another step, another T (and T times the step the same), T and K, K.

        Of T and K, the one that is not changed stays unless the other needs it to change.
        """
        length, answers = _times(at.updates, factor), _times(at.answers, factor)
        step = at.updates / max(1, min(length, self.longest)) * at.step
        return (
            replace(at, step=factor * at.step),
            self.allowed(step, length, at.answers),
            self.allowed(step, length, answers),
            self.allowed(at.step, at.updates, answers),
        )


def _times(number: int, factor: float) -> int:
    """Return a whole number about so many times as large, and another one."""
    scaled = round(factor * number)
    return max(scaled, number + 1) if factor > 1 else min(scaled, number - 1)


@dataclass(frozen=True, eq=False)
class SimulatedChoice:
    """A choice with what it came to in simulated runs, all of them those of the other choice."""

    setting: StepLengthCap
    simulated: Played

    def __str__(self) -> str:
        """Return both."""
        return f"{self.setting}: {self.simulated}"


@dataclass(frozen=True, eq=False)
class Design(Advice):
    """The best choice that was found, and the scenario's own.

    Attributes
    ----------
    given, best : SimulatedChoice
        One and the same where no better choice was found. No run had a part in the choosing.
    tried : int
        Choices that were compared.
    at_limit : bool
        Whether the best T is the largest that is tried.
    """

    given: SimulatedChoice
    best: SimulatedChoice
    tried: int
    at_limit: bool

    @property
    def ratio(self) -> tuple[float, float]:
        """How many times as large the scenario's own mean ψ is, and the half width of that."""
        return self.given.simulated.over(self.best.simulated)

    def lines(self, file: str = "FILE") -> list[str]:
        """Return the design in words.

        Parameters
        ----------
        file : str
            The scenario and its settings, as typed.
        """
        if self.best is self.given:
            lines = [
                f"best      as given, {self.best}",
                "better    none: no better choice was found",
            ]
        else:
            lines = [
                f"best      {self.best}",
                f"given     {self.given}",
                f"better    {ratio_of_psi(self.ratio, 'as given', 'of the best')}",
            ]
        runs = len(self.best.simulated.final)
        limit = "limit     T is the longest that is tried: a longer run may be better"
        return [
            *lines,
            f"runs      {runs} of each choice, with the same networks and noise; ± is the longer "
            "half of a 95 % interval",
            f"search    {self.tried} choices of the step, T and K compared by other simulated "
            f"runs; it ends where no change of one by {LEAST:g} times lowers ψ by {PAYS:.0%}",
            *([limit] if self.at_limit else []),
            *self.source(f"{file} --tune"),
        ]


class Networks:
    """Simulated runs of the choices that were tried last: a step leaves the network as it is."""

    def __init__(self) -> None:
        self._runs: dict[tuple[int, int], QuickRuns] = {}

    def of(self, setting: StepLengthCap, scenario: Scenario) -> QuickRuns:
        """Return the runs of a choice's T and K, which keep what they have simulated."""
        key = setting.updates, setting.answers
        runs = self._runs.pop(key, None)
        if runs is None:
            runs = QuickRuns.from_scenario(scenario)
        self._runs[key] = runs
        if len(self._runs) > KEPT:
            del self._runs[next(iter(self._runs))]
        return runs


def tune(
    scenario: Scenario,
    *,
    private: bool = False,
    replicates: int = REPLICATES,
    workers: int = 1,
    progress: Progress | None = None,
    dataset: Dataset | None = None,
) -> Design:
    """Find the step, T and K of least expected ψ, of asynchronous gossip.

    From the scenario's own choice on, each is changed by smaller and smaller factors as long as
    that pays, however far. K, where a cap names it, is at least T/N: all T updates can be made. The
    cost is the mean ψ of simulated runs, with the same networks and noise for all choices.
    Everything else stays.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out.
    private : bool
        Whether a real table's private records may be read; if not, all is on its twin.
    replicates : int
        Runs of a choice at most, ≥ 2; fewer where they would take long.
    workers : int
        Processes for runs, ≥ 1; never change a result.
    progress : Progress, optional
        Told how far it has come.
    dataset : Dataset, optional
        The records, where they are at hand already.

    Raises
    ------
    SpecError
        If the algorithm is another, or learning diverges whatever the step is.
    DataError
        As :func:`~asyncdp_sim.forecasts.forecast`.
    """
    asked = scenario.base()
    data = population(asked, private=private, dataset=dataset)
    own = data.scenario
    updates, capped = own.run.updates, not own.privacy.budget.follows_updates
    step = own.algorithm.step_of(own.owners.count, updates, own.model.sigma)
    if own.privacy.participation is not None:
        scope = "the best step, T and K are sought without limits on participation"
        raise SpecError([Fault("privacy.participation", "a table", scope)])
    if step is None or own.algorithm.one_on_one is None:
        scope = "the best step, T and K are sought for async-gossip alone"
        raise SpecError([Fault("algorithm.kind", repr(own.algorithm.kind), scope)])
    beginning(progress, "trying steps, lengths and caps")
    choices = Choices(own.owners.count, capped, longest(own, data.dataset))
    own_choice = StepLengthCap(step, updates, max(own.network.answers_allowed))
    with processes(workers) as mapped:
        networks = Networks()
        known: dict[StepLengthCap, Array] = {}

        def play(settings: Sequence[StepLengthCap], numbers: Sequence[int]) -> list[Array]:
            options: Any = {"dataset": data.dataset, "workers": workers, "run_map": mapped}
            chosen = [setting.into(own) for setting in settings]
            return ends_together(
                chosen, numbers, **options, runs=networks.of(settings[0], chosen[0])
            )

        def alone(setting: StepLengthCap, numbers: Sequence[int]) -> Array:
            return play([setting], numbers)[0]

        def cost(setting: StepLengthCap, runs: int, soon: Iterable[StepLengthCap]) -> float:
            done = len(known.get(setting, ()))
            if done < runs:
                most = max(1, ABREAST * own.owners.count // (runs - done))
                alike = (other for other in soon if len(known.get(other, ())) == done)
                settings = setting.over_its_network(alike)[:most]
                played = play(settings, range(CHOOSING + done, CHOOSING + runs))
                for each, psi in zip(settings, played, strict=True):
                    known[each] = np.concatenate([known.get(each, np.zeros(0)), psi])
            return float(known[setting][:runs].mean())

        def runs_of(updates: int, most: int) -> int:
            return affordable(own, data.dataset, updates, min(most, replicates))

        best, tried = _least(cost, own_choice, choices, runs_of)
        shown = [best] if best == own_choice else [best, own_choice]
        runs = runs_of(sum(choice.updates for choice in shown), replicates)
        played = afresh([partial(alone, choice) for choice in shown], runs, progress)
    results = [SimulatedChoice(*choice) for choice in zip(shown, played, strict=True)]
    return Design(
        given=results[-1],
        best=results[0],
        tried=tried,
        at_limit=best.updates == choices.longest,
        **advice_on(data, asked, asked if best == own_choice else best.into(asked)),
    )


def _least(
    cost: Callable[[StepLengthCap, int, Iterable[StepLengthCap]], float],
    given: StepLengthCap,
    choices: Choices,
    runs_of: Callable[[int, int], int],
) -> tuple[StepLengthCap, int]:
    """Return the best choice that is found from the given one on, and how many were compared.

    ``cost`` receives a choice, its number of runs, and choices whose cost may be asked for next.
    """
    start = choices.allowed(given.step, given.updates, given.answers)
    runs = runs_of(AT_ONCE * start.updates, CHANGES[0][1])
    best, seen = _first(lambda setting: cost(setting, runs, _bolder(setting)), start)
    for factors, most in CHANGES:
        runs = runs_of(AT_ONCE * best.updates, most)
        tried, least, pays = {best}, cost(best, runs, ()), True
        changes = [*product([*factors, *(1 / factor for factor in factors)], range(4))]
        while pays:
            pays = False
            for by, which in changes:
                while (other := choices.changed(best, by)[which]) not in tried:
                    tried.add(other)
                    soon = (choices.changed(best, factor)[at] for factor, at in changes)
                    psi = cost(other, runs, (each for each in soon if each not in tried))
                    if not _pays(psi, least):
                        break
                    best, least, pays = other, psi, True
        seen |= tried
    seen.add(given)
    as_good = not _pays(least, cost(given, runs, ()))
    return (given if as_good else best), len(seen)


def _bolder(setting: StepLengthCap) -> list[StepLengthCap]:
    """Return the next choices with larger steps, which nearly all searches come to."""
    return [replace(setting, step=MOST**power * setting.step) for power in (1, 2, 3)]


def _first(
    cost: Callable[[StepLengthCap], float], start: StepLengthCap
) -> tuple[StepLengthCap, set[StepLengthCap]]:
    """Return a choice that differs in the step and is about the best of those, and what was tried.

    Where learning diverges the step is lowered until it does not. Then it is raised as long as that
    does not make the model worse: where steps are so short that nothing is learned, no change pays.
    """
    tried = {start: cost(start)}
    while not isfinite(tried[start]):
        start = replace(start, step=start.step / MOST)
        if start.step < SMALLEST:
            why = "no step with which learning converges was found"
            raise SpecError([Fault("algorithm.step", "any of those tried", why)])
        tried[start] = cost(start)
    best = bolder = start
    while tried[bolder] <= (1 + PAYS) * tried[best] and bolder.step < 1 / SMALLEST:
        best = min(best, bolder, key=tried.__getitem__)
        bolder = replace(bolder, step=MOST * bolder.step)
        tried[bolder] = cost(bolder)
    return best, set(tried)


def _pays(found: float, before: float) -> bool:
    return found < (1 - PAYS) * before
