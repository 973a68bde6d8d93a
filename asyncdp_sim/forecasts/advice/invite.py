"""Advice on the owners that a scenario's learner should invite, by simulated runs of coalitions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import ceil
from typing import Any

import numpy as np

from asyncdp_sim.core.progress import Progress, beginning
from asyncdp_sim.core.words import number, some_of
from asyncdp_sim.data import Dataset
from asyncdp_sim.decision.forecast import Asked
from asyncdp_sim.forecasts import Forecast, forecast
from asyncdp_sim.forecasts.advice import contest
from asyncdp_sim.forecasts.advice.contest import ratio_of_psi
from asyncdp_sim.forecasts.population import Population, affordable, population
from asyncdp_sim.runs.replicates import processes
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.sentences.forecast import decide

AROUND = (1.0, 1 / 4)
"""Steps that every coalition is tried with first, over the scenario's."""
STEPS, LENGTHS = (1 / 4, 1.0, 4.0), (1.0, 1 / 4)
"""Steps and T that the best of them are tried with then, over their best step of the first."""
SIZES, PRICES = 6, (0.0, 0.1, 1.0, 10.0, 1e6)
"""Sizes of coalitions in equal ratios; and, for each, values of a record in units of noise by which
owners are ranked: from less noise alone to more records alone."""
NEXT = 2
"""How many of the next best are tried with other steps, and simulated afresh, too."""
NOBODY = (
    "nobody: the joint model has a larger mean error than own models, in all that was simulated "
    "afresh"
)


@dataclass(frozen=True, eq=False)
class Coalition:
    """Some of the owners, and how they learn; each that is tried is one of its own.

    Attributes
    ----------
    members : tuple of int
        From 1, ascending.
    records : int
        n_S.
    rho : float
        ρ (c_1 or α where that is the step).
    updates : int
        T.
    answers : int
        K, answers that share each member's budget.
    """

    members: tuple[int, ...]
    records: int
    rho: float
    updates: int
    answers: int


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
    simulated: contest.Played
    owners: Participants

    def __str__(self) -> str:
        """Return who they are, and what they come to."""
        it = self.coalition
        members = some_of([self.owners.labels[member - 1] for member in it.members], 12)
        owners = "owner" if len(it.members) == 1 else "owners"
        return (
            f"{len(it.members)} {owners} with {it.records} records, ρ = {number(it.rho)}, "
            f"T = {it.updates}, K = {it.answers}: {self.simulated}; {owners} {members}"
        )


@dataclass(frozen=True, eq=False)
class Invited(contest.Advice):
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
        What the mean owner gains by the best choice.
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
        best = self.best.simulated
        everybody = ratio_of_psi(self.everybody.simulated.over(best), "of everybody", "of the best")
        if self.best.coalition.members == self.everybody.coalition.members:
            everybody = "none by leaving anybody out: everybody is the best coalition found"
        given = ratio_of_psi(self.given.simulated.over(best), "as given", "of the best")
        if self.best is self.given:
            given = "none by another ρ or T: no better choice was found"
        others = f"chose the best of {self.choices} coalitions, ρ and T"
        first = [f"invite    {self.best}"]
        if self.scenario is None:
            first = [f"invite    {NOBODY}", f"best      {self.best}"]
        return [
            *first,
            f"gains     {self.verdict}",
            f"everybody {self.everybody}",
            f"given     {self.given}",
            f"better    {everybody}",
            f"better    {given}",
            *contest.following([(trial, trial.simulated) for trial in self.others], best),
            f"runs      {contest.compared(best, others)}",
            *self.source(f"{file} --invite"),
        ]


def invite(
    scenario: Scenario,
    *,
    private: bool = False,
    replicates: int = contest.REPLICATES,
    workers: int = 1,
    progress: Progress | None = None,
) -> Invited:
    """Return advice on the owners to invite to asynchronous gossip, or to rounds.

    Every coalition learns by itself: N, n and the shares n_i/n are its own. Under a cap the
    answers that share a budget are in proportion to T over the number of members. Coalitions of
    some sizes, of owners with many records or little noise, are compared first; then the best of
    them and all owners, with other ρ and T. The best few are simulated afresh. Of these, the best
    whose joint model has a smaller mean error than own models is invited; nobody, if there is none.

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
        Receives the progress.

    Raises
    ------
    SpecError
        If some part of the scenario does not apply to a coalition.
    DataError
        As :func:`~asyncdp_sim.forecasts.forecast`.
    """
    asked = scenario.base()
    known = population(asked, private=private)
    own = known.scenario
    _refuse(own)
    beginning(progress, "comparing coalitions")
    light = partial(affordable, own, known.dataset, most=replicates)
    size, step = own.owners.count, own.algorithm.step_length
    if own.algorithm.one_on_one is not None:
        step = own.algorithm.one_on_one.rho_of(size, own.run.updates, own.model.sigma)
    records, answers = int(known.problem.task.objective.records.sum()), own.network.answers_allowed
    given = Coalition(tuple(range(1, size + 1)), records, step, own.run.updates, max(answers))
    with processes(workers) as at_work:

        def play(it: Coalition) -> contest.Play:
            scene, data = (own, known.dataset) if it is given else by_themselves(known, it)
            return partial(contest.ends, scene, dataset=data, workers=at_work)

        def ranked(tried: Sequence[Coalition]) -> list[Coalition]:
            most = light(contest.SHARE * sum(it.updates for it in tried))
            order = contest.winner([play(it) for it in tried], most, progress)
            return [tried[place] for place in order]

        first = list(_coalitions(known, given))
        leaders = _best_of_members(ranked(first))
        everybody = next(it for it in leaders if it.members == given.members)
        seeds = dict.fromkeys([*leaders[: 1 + NEXT], everybody])
        tried = [given, *(way for it in seeds for way in _ways(own, it))]
        order = ranked(tried)
        everybody = next(it for it in order if it.members == given.members and it is not given)
        reported = [*_best_of_members(order)[: 1 + NEXT], everybody, given]
        shown = sorted(dict.fromkeys(reported), key=order.index)
        called = _named(asked, known)
        scenarios = {it: asked if it is given else _invited(asked, it, called) for it in shown}
        best, gains = _gaining(scenarios, private=private, workers=workers, progress=progress)
        runs = light(sum(it.updates for it in shown))
        played = contest.afresh([play(it) for it in shown], runs, progress)
    trialled = {
        it: Trialled(it, simulated, known.participants)
        for it, simulated in zip(shown, played, strict=True)
    }
    return Invited(
        **contest.advice_on(known, asked, None if _worse(gains) else scenarios[best]),
        best=trialled[best],
        everybody=trialled[everybody],
        given=trialled[given],
        others=tuple(trialled[it] for it in shown if it not in (best, everybody, given)),
        verdict=decide(gains).decision,
        choices=len(first) + len(tried),
    )


def _best_of_members(ranked: Sequence[Coalition]) -> list[Coalition]:
    """Return the first of all coalitions of the same members, in their order."""
    first = {it.members: it for it in reversed(ranked)}
    return [it for it in ranked if first[it.members] is it]


def _refuse(scenario: Scenario) -> None:
    """Refuse a scenario of which coalitions make no scenarios of their own."""
    privacy, algorithm = scenario.privacy, scenario.algorithm
    steps = algorithm.one_on_one or algorithm.in_rounds
    reasons = {
        f"steps of {algorithm.kind} are not compared": steps is None,
        "owners share records": privacy.overlap > 1,
        "participation is limited": privacy.participation is not None,
        f"budget {privacy.budget.kind} has no number of answers": not privacy.budget.named_answers,
        **{f"{part} is of all owners by their numbers": True for part in scenario.of_everybody},
    }
    contest.refuse(reasons, "a scenario of which no coalitions are compared", "leave out --invite")


def _ways(scenario: Scenario, like: Coalition) -> Iterator[Coalition]:
    """Yield a coalition with each of some ρ and T."""
    for length, step in product(LENGTHS, STEPS):
        updates = max(1, round(length * like.updates))
        answers = _answers(scenario, like, len(like.members), updates)
        yield replace(like, rho=step * like.rho, updates=updates, answers=answers)


def _answers(scenario: Scenario, like: Coalition, members: int, updates: int) -> int:
    """Return K: T under a horizon, else in proportion to T/k, as a like coalition has it."""
    if scenario.privacy.budget.follows_updates:
        return updates
    total = like.answers * len(like.members) * updates / like.updates
    return min(updates, ceil(total / members))


def _coalitions(known: Population, given: Coalition) -> Iterator[Coalition]:
    """Yield coalitions of two owners or more, each with some ρ.

    Of k members, those with the least w_i − λ n_i for some prices λ of a record, w_i = 1/ε_i²: the
    variance of a sum of answers is Σ_S w_i up to a factor, and that of their mean is this
    over n_S². In one-on-one learning ρ is in proportion to k + 1: deviations shrink alike then.
    """
    own, size = known.scenario, len(given.members)
    n = known.problem.task.objective.records.astype(float)
    w = 1 / np.square(own.privacy.epsilons(size))
    unit = float(np.median(w) / np.median(n))
    sizes = np.unique(np.rint(np.geomspace(min(2, size), size, SIZES)).astype(np.int64)).tolist()
    orders = [np.lexsort((-n, w - price * unit * n)) for price in PRICES]
    groups = dict.fromkeys(tuple(sorted((o[:k] + 1).tolist())) for k in sizes for o in orders)
    for members, step in product(groups, AROUND):
        k, records = len(members), int(n[np.array(members) - 1].sum())
        rho = step * given.rho
        if own.algorithm.one_on_one is not None:
            rho *= (k + 1) / (size + 1)
        yield Coalition(
            members, records, rho, given.updates, _answers(own, given, k, given.updates)
        )


def by_themselves(known: Population, coalition: Coalition) -> tuple[Scenario, Dataset]:
    """Return the scenario of a coalition's members alone, and its records.

    Those of all others stay, as rows of nobody, for f and θ*.
    """
    places = [member - 1 for member in coalition.members]
    dataset = known.dataset.of_owners(places, range(len(known.dataset.targets)))
    dataset = replace(dataset, held_out_features=(), held_out_targets=())
    own = known.scenario
    return _invited(own, coalition, own.owners.participants).base(), dataset


def _invited(scenario: Scenario, coalition: Coalition, called: Sequence[int | str]) -> Scenario:
    """Return a scenario with the members of a coalition alone, at its ρ, T and K.

    It is judged by the records that the given one is judged by. ``called`` are the names or numbers
    of all owners.
    """
    only = tuple(called[member - 1] for member in coalition.members)
    return scenario.replace(
        owners={"only": only, "score_on": scenario.owners.judging_beside(called)},
        run={"updates": coalition.updates},
        algorithm=scenario.algorithm.with_step(coalition.rho),
        privacy={"budget": scenario.privacy.budget.sized(coalition.answers), "learner": None},
    )


def _named(asked: Scenario, known: Population) -> Sequence[int | str]:
    """Return the names of owners, or their numbers where they have no distinct names.

    A twin's owners are not those of the table that it stands for: they have numbers alone.
    """
    names, numbers = known.participants.names, known.participants.numbers
    named = asked.owners.names is not None or known.scenario.data == asked.data
    return names if named and len(set(names)) == len(numbers) else numbers


def _gaining(scenarios: dict[Coalition, Scenario], **how: Any) -> tuple[Coalition, Forecast]:
    """Return the first choice whose joint model errs less than own models; else the first."""
    forecasts = dict[Coalition, Forecast]()
    for it, scenario in scenarios.items():
        forecasts[it] = forecast(scenario, judged=Asked(own_best="linear"), **how)
        if not _worse(forecasts[it]):
            return it, forecasts[it]
    best = next(iter(forecasts))
    return best, forecasts[best]


def _worse(found: Forecast) -> bool:
    """Return whether the joint model as it is has a larger mean error than own models.

    The gain with adaptation is flat: an owner that adapts loses little by a bad joint model.
    """
    gains = found.gains
    if found.scenario.owners.count < 2:  # nobody joins anybody
        return True
    return gains is not None and not gains.joint < gains.own
