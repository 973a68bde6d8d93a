"""The best step and the best length of a run: sought by moments, settled by simulated runs."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.forecasts.advice.contest import (
    REPLICATES,
    SHARE,
    Played,
    affordable,
    afresh,
    ends,
    winner,
)
from asyncdp_sim.forecasts.advice.invitations.costs import unlike
from asyncdp_sim.forecasts.advice.step_and_length import Search, StepAndLength, cost_of, with_choice
from asyncdp_sim.forecasts.advice.words import ESTIMATED, compared, following, gained, source
from asyncdp_sim.forecasts.exact.clipping import clipped_course
from asyncdp_sim.forecasts.population import choosing, population
from asyncdp_sim.progress import Progress, beginning
from asyncdp_sim.runs.workers import processes
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.formulas.arguments import count

Array = npt.NDArray[np.float64]
FEW = 5
"""Lengths, the best by moments, of which steps are simulated,"""
AROUND = (1.0, 0.5, 0.71, 1.41)
"""over their best ρ by moments, from which the best may be away where gradients are clipped."""
NEXT = 2
"""How many of the next best are simulated afresh, too."""
EXACT = "exact for these owners; those tried, as if all owners had equally many records"


@dataclass(frozen=True, eq=False)
class SimulatedChoice:
    """A choice with what it came to in simulated runs, all of them those of the other choices."""

    setting: StepAndLength
    simulated: Played

    def __str__(self) -> str:
        """Return both, and what moments say."""
        return f"{self.setting}: {self.simulated} ({self.setting.by_moments})"


@dataclass(frozen=True, eq=False)
class Design:
    """The best choice that was found, and the scenario's own.

    Attributes
    ----------
    given, best : SimulatedChoice
        One and the same where no better choice was found.
    others : tuple of SimulatedChoice
        The next best.
    tried : tuple of StepAndLength
        The best ρ of each T by moments, with all owners taken to have n/N records.
    choices : int
        Choices that were compared by simulated runs.
    scenario : Scenario
        With the best choice in it.
    basis : str
        What moments are worth here.
    moments : str
        Of what data.
    doubts : tuple of str
        What the search takes for granted.
    not_for_release : bool
        Whether private records were read: a choice made from them is a release, too.
    unchecked : bool
        Whether the records are the twin's of a table that was not read.
    """

    given: SimulatedChoice
    best: SimulatedChoice
    others: tuple[SimulatedChoice, ...]
    tried: tuple[StepAndLength, ...]
    choices: int
    scenario: Scenario
    basis: str
    moments: str
    doubts: tuple[str, ...]
    not_for_release: bool
    unchecked: bool

    @property
    def gain(self) -> tuple[float, float]:
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
            told = [
                f"best      as given, {self.best}",
                "gain      none: no better choice was found",
            ]
        else:
            told = [f"best      {self.best}", f"given     {self.given}"]
            told.append(f"gain      {gained(self.gain, 'as given', 'of the best')}")
        return [
            *told,
            *following([(each, each.simulated) for each in self.others], self.best.simulated),
            f"runs      {compared(self.best.simulated, self.choices, 'choices of ρ and T')}",
            f"moments   {self.basis}",
            *(f"tried     {each}: {each.by_moments}" for each in self.tried),
            *(f"assumed   in the search: {doubt}" for doubt in self.doubts),
            *source(
                self.moments,
                private=self.not_for_release,
                unchecked=self.unchecked,
                command=f"{file} --tune",
            ),
        ]


def tune(
    scenario: Scenario,
    *,
    private: bool = False,
    lengths: tuple[int, ...] | None = None,
    replicates: int = REPLICATES,
    workers: int = 1,
    progress: Progress | None = None,
) -> Design:
    """Find the ρ and T of least expected ψ, of asynchronous gossip.

    For each T the best of a scan of ρ by moments of owners alike and of one size
    (:mod:`~asyncdp_sim.theory.moments.clipped` where gradients are clipped). Of the best T, steps
    around that ρ are compared by simulated runs, the scenario's own choice among them; the best
    few, and the scenario's own, are then simulated afresh. Under a horizon noise grows with T;
    under a cap K is made to fit T and N
    (:func:`~asyncdp_sim.forecasts.advice.coalition_cost.enough_answers`). Everything else stays.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out.
    private : bool
        Whether a real table's private records may be read; if not, runs are on its twin.
    lengths : tuple of int, optional
        T to try.
    replicates : int
        Runs of a choice at most, ≥ 2; fewer where they would take long.
    workers : int
        Processes for runs, ≥ 1; never change a result.
    progress : Progress, optional
        Told how far it has come.

    Raises
    ------
    SpecError
        If moments of one truth for all owners are not those of the scenario (clipped gradients
        are let pass), or if learning diverges whatever ρ is.
    DataError
        As :func:`~asyncdp_sim.forecasts.forecast`.
    """
    asked = scenario.base()
    known = population(asked, "own", private=private)
    doubts, own = unlike(known), known.scenario
    given = own.algorithm.one_on_one
    if given is None:
        said = "the best step and T are sought for async-gossip alone"
        raise SpecError([Fault("algorithm.kind", repr(own.algorithm.kind), said)])
    beginning(progress, "trying steps and lengths by moments")
    search = Search(known, clipped_course(known))
    tried = search.lengths() if lengths is None else [
        search.best_rho(count("lengths", length)) for length in lengths
    ]  # fmt: skip
    near = sorted((each for each in tried if each.moments is not None), key=cost_of)[:FEW]
    if len(near) == 0:
        why = "no step with which learning converges was found"
        raise SpecError([Fault("algorithm.rho", "any of those tried", why)])
    answers = max(own.network.answers_allowed)
    settings = [StepAndLength(given.rho, own.run.updates, answers, None)]
    settings += [replace(each, rho=factor * each.rho) for factor in AROUND for each in near]
    scenes = [own, *(with_choice(own, each) for each in settings[1:])]
    light = partial(affordable, own, known.dataset, most=replicates)
    with processes(workers) as mapped:
        pool: dict[str, Any] = {"dataset": known.dataset, "workers": workers, "run_map": mapped}
        plays = [partial(ends, scene, **pool) for scene in scenes]
        most = light(SHARE * sum(each.updates for each in settings))
        order = winner(plays, most, progress)
        shown = order[: 1 + NEXT] + [0] * (0 not in order[: 1 + NEXT])
        runs = light(sum(settings[at].updates for at in shown))
        figures = afresh([plays[at] for at in shown], runs, progress)
        found = dict(zip(shown, figures, strict=True))
    weighed = {
        at: SimulatedChoice(
            replace(settings[at], moments=search.moments(settings[at], scenes[at])), figure
        )
        for at, figure in found.items()
    }
    best = weighed[order[0]]
    return Design(
        given=weighed[0],
        best=best,
        others=tuple(weighed[at] for at in shown[1:] if at != 0),
        tried=tuple(tried),
        choices=len(settings),
        scenario=choosing(asked if order[0] == 0 else with_choice(asked, best.setting), known),
        basis=EXACT if search.clipped is None else ESTIMATED,
        moments=known.words,
        doubts=doubts,
        not_for_release=known.private,
        unchecked=own.data != asked.data,
    )
