"""Advice on whom a scenario's learner should invite, and on what each of its owners adds."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts import Forecast, forecast
from asyncdp_sim.forecasts.advice.coalition import Coalition, Invitation, best_coalition
from asyncdp_sim.forecasts.advice.coalition_cost import EqualSizeCost
from asyncdp_sim.forecasts.advice.coalition_trial import by_themselves, invited
from asyncdp_sim.forecasts.advice.contest import (
    REPLICATES,
    SHARE,
    Play,
    affordable,
    afresh,
    ends,
    winner,
)
from asyncdp_sim.forecasts.advice.invitations.costs import prepared
from asyncdp_sim.forecasts.advice.invitations.words import Invited, Trialled
from asyncdp_sim.forecasts.advice.shapley import ENUMERATED, Division, Members, sampled, shapley
from asyncdp_sim.forecasts.exact.clipping import clipped_course, clips, retuned
from asyncdp_sim.forecasts.population import Population, choosing, population
from asyncdp_sim.forecasts.words import gaining
from asyncdp_sim.progress import Progress, beginning
from asyncdp_sim.runs.workers import processes
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.streams import Streams
from asyncdp_sim.theory.moments.clipped import ClippedCourse

Array = npt.NDArray[np.float64]
PERMUTATIONS = 1000
SLOWER, BOTH_WAYS = (0.5,), (0.3, 3.0)
"""Steps that are simulated besides, over the best by moments; the others in rounds with clipping,
of which moments know nothing."""
NEXT = 2
"""How many of the next best coalitions are simulated afresh, too."""
CLIPPED_ROWS = 500
"""Records that clipping is worked out on, for many coalitions at once."""


def invite(
    scenario: Scenario,
    *,
    private: bool = False,
    tuned: bool = True,
    replicates: int = REPLICATES,
    workers: int = 1,
    progress: Progress | None = None,
) -> Invited:
    """Say whom to invite to asynchronous gossip, or to rounds.

    Every coalition learns by itself: N, n and the shares n_i/n are its own. Under a cap each
    member's budget is for as many answers as members of a coalition of that size need
    (:func:`~asyncdp_sim.forecasts.advice.coalition_cost.enough_answers`), for T under a horizon.
    Coalitions are ranked by moments; the best, some of every size from two on, and everybody are
    compared by simulated runs, and the best few of these simulated afresh. Of these, the best in
    which an owner gains is invited, as :func:`~asyncdp_sim.forecasts.forecast` of it says; nobody,
    if in each every owner does worse than by itself.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out.
    private : bool
        Whether a real table's private records may be read; if not, runs are on its twin.
    tuned : bool
        Whether a coalition takes what suits it best of a grid of ρ and of T up to the scenario's,
        its own among them, or only the scenario's. At one ρ a large coalition, whose copies each
        move less often, is further from its optimum than a small one at the end, whatever the
        records are.
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
        are ranked as if no record's gradient were clipped, and ``doubts`` says so; of those that
        are simulated one-on-one, ρ and T are chosen by moments with clipping.
    DataError
        As :func:`~asyncdp_sim.forecasts.forecast`.
    """
    asked = scenario.base()
    known = population(asked, "own", private=private)
    alike, records, spread, doubts = prepared(known, tuned=tuned)
    own, size = known.scenario, known.scenario.owners.count
    beginning(progress, "ranking coalitions by moments")
    found = best_coalition(alike, records, spread)
    given = replace(
        found.everybody, rho=float(alike.rho[-1, 0]), updates=own.run.updates,
        answers=max(own.network.answers_allowed),
    )  # fmt: skip
    clipped = clipped_course(known, CLIPPED_ROWS)
    tried = [given, *_candidates(alike, clipped, found, spread, clips(known))]
    light = partial(affordable, own, known.dataset, most=replicates)
    with processes(workers) as mapped:
        pool: dict[str, Any] = {"workers": workers, "run_map": mapped}
        scenes = [(own, known.dataset), *(by_themselves(known, each) for each in tried[1:])]
        plays: list[Play] = [partial(ends, scene, dataset=data, **pool) for scene, data in scenes]
        order = winner(plays, light(SHARE * sum(each.updates for each in tried)), progress)
        whole = next(at for at in order if at > 0 and len(tried[at].members) == size)
        others: list[int] = []
        for at in order:
            told = {tried[other].members for other in (order[0], whole, *others)}
            if tried[at].members not in told and len(others) < NEXT:
                others.append(at)
        shown = list(dict.fromkeys([order[0], whole, 0, *others]))
        scenarios = {at: _chosen(asked, known, at, tried) for at in sorted(shown, key=order.index)}
        best, gains = _gaining(scenarios, private=private, workers=workers, progress=progress)
        others = [at for at in dict.fromkeys([order[0], *others]) if at not in (best, whole)]
        runs = light(sum(tried[at].updates for at in shown))
        settled = afresh([plays[at] for at in shown], runs, progress)
        figures = dict(zip(shown, settled, strict=True))
    inactive = alike.by_rounds and clips(known)
    basis = "by moments, clipping taken as inactive" if inactive else "by moments"
    costs = {at: _cost(alike, clipped, tried[at], records, spread) for at in shown if at > 0}
    who = known.participants
    done = {
        at: Trialled(tried[at], figure, costs.get(at), basis, who) for at, figure in figures.items()
    }
    return Invited(
        best=done[best],
        everybody=done[whole],
        given=done[0],
        others=tuple(done[at] for at in others),
        verdict=gaining(gains),
        choices=len(tried),
        invitation=found,
        worth=_worth(known, alike, records, spread),
        clipped=clips(known),
        estimated=clipped is not None,
        scenario=None if _worse(gains) else scenarios[best],
        moments=known.words,
        doubts=doubts,
        not_for_release=known.private,
        unchecked=own.data != asked.data,
    )


def _gaining(scenarios: dict[int, Scenario], **how: Any) -> tuple[int, Forecast]:
    """Return the first choice in which an owner gains, and its forecast.

    If there is none, the first in which that is undecided; else the first.
    """
    found = dict[int, Forecast]()
    for at, scenario in scenarios.items():
        found[at] = forecast(scenario, moments="own", **how)
        if any(owner.profits for owner in found[at].owners):
            return at, found[at]
    open_ = [at for at, each in found.items() if not _worse(each)]
    best = [*open_, *found][0]
    return best, found[best]


def _worse(found: Forecast) -> bool:
    """Return whether every owner does worse by joining."""
    return all(owner.profits is False for owner in found.owners)


def _chosen(asked: Scenario, known: Population, best: int, tried: Sequence[Coalition]) -> Scenario:
    """Return the scenario of the best choice, whose owners are called by name where they have one.

    A twin's owners are not those of the table that it stands for: they have numbers alone.
    """
    if best == 0:
        return choosing(asked, known)
    who = known.participants
    named = asked.owners.names is not None or known.scenario.data == asked.data
    called = who.names if named and len(set(who.names)) == len(who.numbers) else who.numbers
    return choosing(invited(asked, tried[best], called), known)


def _candidates(
    alike: EqualSizeCost,
    clipped: ClippedCourse | None,
    found: Invitation,
    spread: Array,
    clips: bool,
) -> list[Coalition]:
    """Return coalitions to be simulated, everybody among them, with steps that may suit them."""
    told = [
        each
        for each in (*found.ladder, *found.others, found.best)
        if np.isfinite(each.cost) and len(each.members) > 1
    ]
    coalitions = list({each.members: each for each in (*told, found.everybody)}.values())
    tuned = alike.free.shape[1] > 1
    if not tuned:
        return coalitions
    around: tuple[float, ...] = SLOWER
    if clipped is not None:
        coalitions = retuned(alike, clipped, coalitions, spread)
    elif alike.by_rounds:
        around = BOTH_WAYS if clips else ()
    return coalitions + [replace(each, rho=f * each.rho) for f in around for each in coalitions]


def _cost(
    alike: EqualSizeCost,
    clipped: ClippedCourse | None,
    it: Coalition,
    records: Array,
    spread: Array,
) -> float | None:
    """Return the cost by moments of a coalition; None where it is not known of this step."""
    who, rho = np.array(it.members) - 1, np.array([it.rho])
    held, answers = records[who], float(it.answers)
    if alike.by_rounds:
        at = np.flatnonzero(alike.rho[len(who) - 1] == it.rho)
        at = at[[alike.courses[place].updates == it.updates for place in at.tolist()]]
        if len(at) == 0:
            return None
        counts, classes = np.ones((1, len(who)), dtype=np.int64), (held, spread[who])
        cost = float(alike.exact(counts, *classes, at[:1])[0])
        return cost if np.isfinite(cost) else None
    if clipped is not None:
        noise = np.array([len(who) * answers**2 * spread[who].sum() / held.sum() ** 2])
        psi = clipped.expected_psi(rho, np.array([len(who)]), it.updates, noise)
    else:
        course = next(course for course in alike.courses if course.updates == it.updates)
        variance = spread[who] / held**2 * answers**2
        psi = course.expected_psi(rho, np.ones((1, len(who))), held, variance)
    cost = float(psi[0] + alike.missing(held.sum()))
    return cost if np.isfinite(cost) else None


def _worth(known: Population, alike: EqualSizeCost, records: Array, spread: Array) -> Division:
    untrained = alike.courses[0].untrained

    def value(members: Members) -> Array:
        some = members.any(axis=1)
        cost = np.full(len(members), untrained)
        chosen = members[some].astype(float)
        k = members[some].sum(axis=1)
        trained = alike.cost(k, chosen @ records, chosen @ spread)[0]
        cost[some] = np.minimum(trained, untrained)  # who would do worse than θ_0 does not train
        return untrained - cost

    n = len(records)
    if n <= ENUMERATED:
        return shapley(value, n)
    draws = Streams(known.scenario.run.seed).within("forecast").generator("permutations")
    return sampled(value, n, PERMUTATIONS, draws)


__all__ = ["Invited", "Trialled", "invite", "prepared"]
