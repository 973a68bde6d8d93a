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
from asyncdp_sim.decision.forecast import Asked, Forecast
from asyncdp_sim.forecasts.advice import contest
from asyncdp_sim.forecasts.advice.contest import ratio_of_psi
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.population import Population, affordable, population
from asyncdp_sim.runs.replicates import Workers, processes
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.sentences.forecast import decide

FIRST_STEPS = (1.0, 1 / 4)
"""Factors of the scenario's step, tried for every coalition in the first round."""
REFINED_STEPS = (1 / 4, 1.0, 4.0)
"""Factors of the step, tried in the second round for the best of the first."""
REFINED_LENGTHS = (1.0, 1 / 4)
"""Factors of T, tried in the second round for the best of the first."""
SIZES = 6
"""How many sizes of coalitions are tried, in equal ratios from two owners to all."""
PRICES = (0.0, 0.1, 1.0, 10.0, 1e6)
"""Values λ of a record, as multiples of the median noise of an owner over its median records: from
less noise alone to more records alone. Each ranks owners for coalitions of every size."""
NEXT = 2
"""How many coalitions after the best go on to the next round, too."""
NOBODY = (
    "nobody: in all that was simulated afresh, the joint model has no smaller mean error than own "
    "models"
)


@dataclass(frozen=True, eq=False)
class Coalition:
    """Some of the owners, and how they learn.

    Compared by identity: two coalitions with equal fields are two candidates, so that ``given`` is
    distinguished from a copy of it.

    Attributes
    ----------
    members : tuple of int
        Places of its owners among those of the scenario, from 1, ascending; not their numbers.
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

    @property
    def settings(self) -> tuple[tuple[int, ...], float, int, int]:
        """Who they are and how they learn, which several candidates may have in common."""
        return self.members, self.rho, self.updates, self.answers


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
        coalition, members = self.coalition, self.coalition.members
        labels = some_of([self.owners.labels[member - 1] for member in members], 12)
        owners = "owner" if len(members) == 1 else "owners"
        size = f"{len(members)} {owners} with {coalition.records} records"
        settings = f"ρ = {number(coalition.rho)}, T = {coalition.updates}, K = {coalition.answers}"
        return f"{size}, {settings}: {self.simulated}; {owners} {labels}"


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
        As :func:`~asyncdp_sim.forecasts.forecast.forecast`.
    """
    asked = scenario.base()
    known = population(asked, private=private)
    _refuse(known.scenario)
    beginning(progress, "comparing coalitions")
    given = _as_given(known)
    with processes(workers) as at_work:
        runs = _Runs(known, given, replicates, at_work, progress)
        # 1. All coalitions, each at a few steps.
        coalitions = list(_coalitions(known, given))
        leaders = _best_of_members(runs.ranking(coalitions))
        # 2. The best of them and everybody at other ρ and T, and the scenario as given.
        refined = [given, *_refined(known.scenario, leaders, given)]
        ranking = runs.ranking(refined)
        # 3. The best few afresh: the first in the order of 2 whose forecast gains is invited.
        everybody = next(_of_everybody(ranking, given))
        chosen = {*_best_of_members(ranking)[: 1 + NEXT], everybody, given}
        finalists = [coalition for coalition in ranking if coalition in chosen]
        names = _named(asked, known)
        scenarios = {
            each: asked if each is given else _invited(asked, each, names) for each in finalists
        }
        best, foreseen = _invitable(scenarios, private=private, workers=workers, progress=progress)
        simulated = runs.afresh(finalists)
    trialled = {
        coalition: Trialled(coalition, played, known.participants)
        for coalition, played in zip(finalists, simulated, strict=True)
    }
    return Invited(
        **contest.advice_on(known, asked, scenarios[best] if _gains(foreseen) else None),
        best=trialled[best],
        everybody=trialled[everybody],
        given=trialled[given],
        others=tuple(trialled[each] for each in finalists if each not in (best, everybody, given)),
        verdict=decide(foreseen).decision,
        choices=len({each.settings for each in (*coalitions, *refined)}),
    )


@dataclass(frozen=True, eq=False)
class _Runs:
    """Simulated runs of coalitions; ``replicates`` of each at most."""

    known: Population
    given: Coalition
    replicates: int
    workers: Workers
    progress: Progress | None

    def ranking(self, coalitions: Sequence[Coalition]) -> list[Coalition]:
        """Return coalitions from the best on."""
        most = self._affordable(coalitions, contest.SHARE)
        order = contest.winner([self._play(each) for each in coalitions], most, self.progress)
        return [coalitions[place] for place in order]

    def afresh(self, coalitions: Sequence[Coalition]) -> list[contest.Played]:
        """Return what coalitions come to in runs that had no part in the choosing."""
        plays = [self._play(each) for each in coalitions]
        return contest.afresh(plays, self._affordable(coalitions), self.progress)

    def _play(self, coalition: Coalition) -> contest.Play:
        scenario, dataset = self.known.scenario, self.known.dataset
        if coalition is not self.given:
            scenario, dataset = by_themselves(self.known, coalition)
        return partial(contest.ends, scenario, dataset=dataset, workers=self.workers)

    def _affordable(self, coalitions: Sequence[Coalition], share: float = 1.0) -> int:
        """Return how many runs of each coalition are light work."""
        updates = share * sum(coalition.updates for coalition in coalitions)
        return affordable(self.known.scenario, self.known.dataset, updates, self.replicates)


def _as_given(known: Population) -> Coalition:
    """Return all owners as the scenario has them."""
    scenario, one_on_one = known.scenario, known.scenario.algorithm.one_on_one
    size, updates = scenario.owners.count, scenario.run.updates
    if one_on_one is None:
        step = scenario.algorithm.step_length
    else:
        step = one_on_one.rho_of(size, updates, scenario.model.sigma)
    records = int(known.problem.task.objective.records.sum())
    answers = max(scenario.network.answers_allowed)
    return Coalition(tuple(range(1, size + 1)), records, step, updates, answers)


def _of_everybody(ranking: Sequence[Coalition], given: Coalition) -> Iterator[Coalition]:
    """Yield the coalitions of all owners but the scenario as given, in their order."""
    return (each for each in ranking if each.members == given.members and each is not given)


def _best_of_members(ranking: Sequence[Coalition]) -> list[Coalition]:
    """Return the first of all coalitions of the same members, in their order."""
    first = dict[tuple[int, ...], Coalition]()
    for coalition in ranking:
        first.setdefault(coalition.members, coalition)
    return list(first.values())


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


def _refined(
    scenario: Scenario, leaders: Sequence[Coalition], given: Coalition
) -> Iterator[Coalition]:
    """Yield the best coalitions of the first round, and that of all owners, at other ρ and T."""
    for leader in dict.fromkeys([*leaders[: 1 + NEXT], next(_of_everybody(leaders, given))]):
        for length, step in product(REFINED_LENGTHS, REFINED_STEPS):
            updates = max(1, round(length * leader.updates))
            answers = _answers(scenario, leader, len(leader.members), updates)
            yield replace(leader, rho=step * leader.rho, updates=updates, answers=answers)


def _answers(scenario: Scenario, like: Coalition, members: int, updates: int) -> int:
    """Return K of k members: T under a horizon; under a cap it grows with T/k, as from ``like``."""
    if scenario.privacy.budget.follows_updates:
        return updates
    total = like.answers * len(like.members) * updates / like.updates
    return min(updates, ceil(total / members))


def _coalitions(known: Population, given: Coalition) -> Iterator[Coalition]:
    """Yield coalitions of two owners or more, each with some ρ.

    Each owner adds noise w_i = 1/ε_i² and n_i records. The variance of a coalition's mean is in
    proportion to Σ_S w_i / n_S², so that owners are ranked by w_i − λ n_i: λ = 0 prefers little
    noise, a large λ many records. The first k of each ranking are a candidate, for each price λ of
    :data:`PRICES`. In one-on-one learning ρ is in proportion to k + 1, so that deviations shrink
    alike.
    """
    own, size = known.scenario, len(given.members)
    n = known.problem.task.objective.records.astype(float)
    w = 1 / np.square(own.privacy.epsilons(size))
    # owners without noise have w = 0, and the median may be one of them
    unit = float(np.median(w[w > 0]) / np.median(n)) if (w > 0).any() else 0.0
    sizes = np.unique(np.rint(np.geomspace(min(2, size), size, SIZES)).astype(np.int64)).tolist()
    orders = [np.lexsort((-n, w - price * unit * n)) for price in PRICES]
    groups = dict.fromkeys(tuple(sorted((o[:k] + 1).tolist())) for k in sizes for o in orders)
    for members, step in product(groups, FIRST_STEPS):
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


def _invitable(scenarios: dict[Coalition, Scenario], **how: Any) -> tuple[Coalition, Forecast]:
    """Return the first coalition that gains by joining, with its forecast; else the first."""
    forecasts = list[tuple[Coalition, Forecast]]()
    for coalition, scenario in scenarios.items():
        foreseen = forecast(scenario, judged=Asked(own_best="linear"), **how)
        if _gains(foreseen):
            return coalition, foreseen
        forecasts.append((coalition, foreseen))
    return forecasts[0]


def _gains(foreseen: Forecast) -> bool:
    """Return whether the joint model as it is has a smaller mean error than own models.

    The gain with adaptation is flat: an owner that adapts loses little by a bad joint model.
    """
    gains = foreseen.gains
    if foreseen.scenario.owners.count < 2:  # nobody joins anybody
        return False
    return gains is not None and gains.joint < gains.own
