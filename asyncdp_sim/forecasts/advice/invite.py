"""Advice on whom a scenario's learner should invite."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from asyncdp_sim.core.progress import Progress, beginning
from asyncdp_sim.core.words import number
from asyncdp_sim.forecasts import Forecast, forecast
from asyncdp_sim.forecasts.advice.coalitions import (
    Coalition,
    best_of_each_size,
    by_themselves,
    costs,
    invited,
)
from asyncdp_sim.forecasts.advice.contest import (
    REPLICATES,
    SHARE,
    Advice,
    Play,
    Played,
    affordable,
    afresh,
    compared,
    ends,
    following,
    gained,
    winner,
)
from asyncdp_sim.forecasts.population import Population, choosing, population
from asyncdp_sim.forecasts.words import gaining
from asyncdp_sim.runs.workers import processes
from asyncdp_sim.scenario import Participants, Scenario

AROUND, CLIPPED = (1.0, 0.5), (1.0, 0.5, 1.7, 3.0, 6.0)
"""Steps that are simulated, over the best by moments; and with clipping, of which moments know
nothing."""
BEST, SIZES, NEXT = 6, 8, 2
"""Best coalitions by moments, and sizes in equal ratios, of which the best is simulated; and how
many of the next best are simulated afresh, too."""
NOBODY = (
    "nobody: every owner does worse by joining than by itself, in all that was simulated afresh"
)
ASSUMED = "records are spread over owners as if by chance: one truth for all of them"


@dataclass(frozen=True, eq=False)
class Trialled:
    """A coalition with what its learning came to in simulated runs.

    Attributes
    ----------
    coalition : Coalition
    simulated : Played
        Its members alone, judged on everybody's rows.
    owners : Participants
        All owners, members or not.
    """

    coalition: Coalition
    simulated: Played
    owners: Participants

    def __str__(self) -> str:
        """Return who they are, and what they come to."""
        it = self.coalition
        members = ", ".join(self.owners.labels[member - 1] for member in it.members[:12])
        more = len(it.members) - 12
        owners = "owner" if len(it.members) == 1 else "owners"
        return (
            f"{len(it.members)} {owners} with {it.records} records, ρ = {number(it.rho)}, "
            f"T = {it.updates}, K = {it.answers}: {self.simulated}; "
            f"{owners} {members}" + (f", … {more} more" * (more > 0))
        )


@dataclass(frozen=True, eq=False)
class Invited(Advice):
    """Advice on the owners to invite to a scenario's learning.

    Attributes
    ----------
    best, everybody, given : Trialled
        Whom to invite, or the best choice where that is nobody; all owners, at the ρ and T that
        suit them best of those simulated; and the scenario as it is. Played in the same runs, which
        had no part in the choosing.
    others : tuple of Trialled
        The next best.
    verdict : str
        How many owners gain by the best choice.
    choices : int
        Coalitions with a ρ and T that were compared by simulated runs.
    """

    best: Trialled
    everybody: Trialled
    given: Trialled
    others: tuple[Trialled, ...]
    verdict: str
    choices: int

    def lines(self, file: str = "FILE") -> list[str]:
        """Return the advice in words.

        Parameters
        ----------
        file : str
            The scenario and its settings, as typed.
        """
        return [
            *([f"invite    {NOBODY}"] if self.scenario is None else []),
            f"{'best  ' if self.scenario is None else 'invite'}    {self.best}",
            f"gains     {self.verdict}",
            f"everybody {self.everybody}",
            f"given     {self.given}",
            *(f"gain      {gain}" for gain in self._gains()),
            *following([(trial, trial.simulated) for trial in self.others], self.best.simulated),
            f"runs      {compared(self.best.simulated, self.choices, 'coalitions, ρ and T')}",
            f"assumed   by the moments that choose what is simulated: {ASSUMED}",
            *self.source(f"{file} --invite"),
        ]

    def _gains(self) -> list[str]:
        """Return what leaving owners out is worth, and what the whole choice is."""
        lines, best = [], self.best.simulated
        if len(self.best.coalition.members) == len(self.everybody.coalition.members):
            lines.append("none by leaving anybody out: everybody is the best coalition found")
        else:
            lines.append(gained(self.everybody.simulated.over(best), "of everybody", "of the best"))
        if self.best is self.given:
            lines.append("none by another ρ or T: no better choice was found")
        else:
            lines.append(gained(self.given.simulated.over(best), "as given", "of the best"))
        return lines


def invite(
    scenario: Scenario,
    *,
    private: bool = False,
    replicates: int = REPLICATES,
    workers: int = 1,
    progress: Progress | None = None,
) -> Invited:
    """Return advice on whom to invite to asynchronous gossip, or to rounds.

    Every coalition learns by itself: N, n and the shares n_i/n are its own. It takes what suits it
    best of a grid of ρ and of T up to the scenario's, its own among them: at one ρ a large
    coalition, whose copies each move less often, is further from its optimum than a small one at
    the end, whatever the records are. Under a cap each
    member's budget is for as many answers as members of a coalition of that size need
    (:func:`~asyncdp_sim.forecasts.advice.coalitions.enough_answers`), for T under a horizon.
    Moments choose a coalition of every size; the best of these, some of every size from two on, and
    everybody are compared by simulated runs, and the best few of these simulated afresh. Of these,
    the best in which an owner gains is invited, as :func:`~asyncdp_sim.forecasts.forecast` of it
    says; nobody, if in each every owner does worse than by itself.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out.
    private : bool
        Whether a real table's private records may be read; if not, runs are on its twin.
    replicates : int
        Runs of a choice at most, ≥ 2; fewer where they would take long.
    workers : int
        Processes for runs, ≥ 1; never change a result.
    progress : Progress, optional
        Told how far it has come.

    Raises
    ------
    SpecError
        If the moments are not those of the scenario. Clipped gradients are let pass: coalitions
        are ranked as if no record's gradient were clipped.
    DataError
        As :func:`~asyncdp_sim.forecasts.forecast`.
    """
    asked = scenario.base()
    population_data = population(asked, "own", private=private)
    own, size = population_data.scenario, population_data.scenario.owners.count
    beginning(progress, "ranking coalitions by moments")
    alike, records, spread = costs(population_data, tuned=True)
    sizes = best_of_each_size(alike, records, spread)
    own_choice = replace(
        sizes[-1], rho=float(alike.rho[-1, 0]), updates=own.run.updates,
        answers=max(own.network.answers_allowed),
    )  # fmt: skip
    candidates = _candidates(sizes)
    around = AROUND if own.privacy.clip_bound is None else CLIPPED
    tried = [own_choice, *(replace(it, rho=by * it.rho) for by in around for it in candidates)]
    light = partial(affordable, own, population_data.dataset, most=replicates)
    with processes(workers) as mapped:
        pool: dict[str, Any] = {"workers": workers, "run_map": mapped}
        scenes = [
            (own, population_data.dataset),
            *(by_themselves(population_data, coalition) for coalition in tried[1:]),
        ]
        plays: list[Play] = [partial(ends, scene, dataset=data, **pool) for scene, data in scenes]
        order = winner(
            plays, light(SHARE * sum(coalition.updates for coalition in tried)), progress
        )
        everybody = next(at for at in order if at > 0 and len(tried[at].members) == size)
        next_best: list[int] = []
        for at in order:
            shown_members = {tried[other].members for other in (order[0], everybody, *next_best)}
            if tried[at].members not in shown_members and len(next_best) < NEXT:
                next_best.append(at)
        shown = list(dict.fromkeys([order[0], everybody, 0, *next_best]))
        scenarios = {
            at: _chosen(asked, population_data, at, tried) for at in sorted(shown, key=order.index)
        }
        best, gains = _gaining(scenarios, private=private, workers=workers, progress=progress)
        next_best = [
            at for at in dict.fromkeys([order[0], *next_best]) if at not in (best, everybody)
        ]
        runs = light(sum(tried[at].updates for at in shown))
        settled = afresh([plays[at] for at in shown], runs, progress)
    figures = zip(shown, settled, strict=True)
    done = {at: Trialled(tried[at], figure, population_data.participants) for at, figure in figures}
    return Invited(
        best=done[best],
        everybody=done[everybody],
        given=done[0],
        others=tuple(done[at] for at in next_best),
        verdict=gaining(gains),
        choices=len(tried),
        scenario=None if _worse(gains) else scenarios[best],
        moments=population_data.words,
        not_for_release=population_data.private,
        unchecked=own.data != asked.data,
    )


def _candidates(sizes: Sequence[Coalition]) -> list[Coalition]:
    """Return the coalitions to be simulated, of two owners or more: the best, some, and all."""
    several = [each for each in sizes if np.isfinite(each.cost) and len(each.members) > 1]
    spread = np.unique(np.rint(np.geomspace(1, len(sizes), SIZES)).astype(np.int64))
    best = sorted(several, key=lambda each: each.cost)[:BEST]
    sampled = [each for each in several if len(each.members) in spread]
    return list({each.members: each for each in (*sampled, *best, sizes[-1])}.values())


def _gaining(scenarios: dict[int, Scenario], **how: Any) -> tuple[int, Forecast]:
    """Return the first choice in which an owner gains, and its forecast.

    If there is none, the first in which that is undecided; else the first.
    """
    forecasts = dict[int, Forecast]()
    for at, scenario in scenarios.items():
        forecasts[at] = forecast(scenario, moments="own", **how)
        if any(owner.profits for owner in forecasts[at].owners):
            return at, forecasts[at]
    open_ = [at for at, result in forecasts.items() if not _worse(result)]
    best = [*open_, *forecasts][0]
    return best, forecasts[best]


def _worse(found: Forecast) -> bool:
    """Return whether every owner does worse by joining."""
    return all(owner.profits is False for owner in found.owners)


def _chosen(asked: Scenario, known: Population, best: int, tried: Sequence[Coalition]) -> Scenario:
    """Return the scenario of the best choice, whose owners are called by name where they have one.

    A twin's owners are not those of the table that it stands for: they have numbers alone.
    """
    if best == 0:
        return choosing(asked, known)
    owners = known.participants
    named = asked.owners.names is not None or known.scenario.data == asked.data
    called = (
        owners.names if named and len(set(owners.names)) == len(owners.numbers) else owners.numbers
    )
    return choosing(invited(asked, tried[best], called), known)


__all__ = ["Invited", "Trialled", "invite"]
