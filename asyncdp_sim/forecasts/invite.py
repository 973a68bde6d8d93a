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
from asyncdp_sim.forecasts import contest
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.population import Population, affordable, population
from asyncdp_sim.runs.replicates import processes
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.sentences.forecast import decide

STEPS = (1.0, 1 / 16, 1 / 4, 4.0)
"""Factors of the scenario's step, tried for every coalition; ``--tune`` seeks the best one."""
SIZES = 6
"""How many sizes of coalitions are tried, in equal ratios from two owners to all."""
PRICES = (0.0, 0.1, 1.0, 10.0, 1e6)
"""Values λ of a record, as multiples of the median noise of an owner over its median records: from
less noise alone to more records alone. Each ranks owners for coalitions of every size."""
NEXT = 2
"""How many coalitions after the best are simulated afresh, too."""
NOBODY = "nobody: no joint model simulated afresh has a smaller mean error than own models"


@dataclass(frozen=True)
class Coalition:
    """Some of the owners, and how they learn.

    Attributes
    ----------
    members : tuple of int
        Places of its owners among those of the scenario, from 1, ascending; not their numbers.
    records : int
        n_S.
    rho : float
        ρ (c_1 or α where that is the step).
    answers : int
        K, answers that share each member's budget.
    """

    members: tuple[int, ...]
    records: int
    rho: float
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
        coalition, members = self.coalition, self.coalition.members
        labels = some_of([self.owners.labels[member - 1] for member in members], 12)
        owners = "owner" if len(members) == 1 else "owners"
        size = f"{len(members)} {owners} with {coalition.records} records"
        settings = f"ρ = {number(coalition.rho)}, K = {coalition.answers}"
        return f"{size}, {settings}: {self.simulated}; {owners} {labels}"


@dataclass(frozen=True, eq=False)
class Invited(contest.Advice):
    """Advice on the owners to invite to a scenario's learning.

    Attributes
    ----------
    best, everybody, given : Trialled
        Whom to invite, or the best choice where that is nobody; all owners, at the ρ that suits
        them best of those simulated; and the scenario as it is. Played in the same runs, which had
        no part in the choosing.
    others : tuple of Trialled
        The next best.
    verdict : str
        What the mean owner gains by the best choice.
    choices : int
        Coalitions with a ρ that were compared by simulated runs.
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
        best, given = self.best.simulated, "none by another ρ: no better choice was found"
        if self.best.coalition != self.given.coalition:
            given = self.given.simulated.against(best, "as given", "of the best")
        everybody = "none by leaving anybody out: everybody is the best coalition found"
        if self.best.coalition.members != self.everybody.coalition.members:
            everybody = self.everybody.simulated.against(best, "of everybody", "of the best")
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
            *(f"next best {trial}; {trial.simulated.times(best)}" for trial in self.others),
            f"runs      {contest.compared(best, f'chose the best of {self.choices} choices')}",
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
    some sizes, of owners with many records or little noise, are compared with all owners, each at
    some ρ. The best few are simulated afresh. Of these, the best whose joint model has a smaller
    mean error than own models is invited; nobody, if there is none.

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
    coalitions = list(dict.fromkeys([given, *_coalitions(known, given)]))
    updates = len(coalitions) * known.scenario.run.updates
    runs = partial(affordable, known.scenario, known.dataset, most=replicates)
    with processes(workers) as at_work:
        plays = dict[Coalition, contest.Play]()
        for coalition in coalitions:
            own, rows = known.scenario, known.dataset
            if coalition != given:  # which is simulated as it is
                own, rows = by_themselves(known, coalition)
            plays[coalition] = partial(contest.ends, own, dataset=rows, workers=at_work)
        ranking = contest.winner(plays, runs(contest.SHARE * updates), progress)
        first = dict[tuple[int, ...], Coalition]()
        for each in ranking:
            first.setdefault(each.members, each)
        everybody = first[given.members]
        # The best few afresh: the first in the order before whose forecast gains is invited.
        chosen = {*list(first.values())[: 1 + NEXT], everybody, given}
        finalists = [coalition for coalition in ranking if coalition in chosen]
        names = _named(asked, known)
        scenarios = {
            each: asked if each == given else _invited(asked, each, names) for each in finalists
        }
        options: Any = {"private": private, "workers": workers, "progress": progress}
        best, foreseen, gains = _best(scenarios, **options)
        updates = len(finalists) * known.scenario.run.updates
        played = contest.afresh({each: plays[each] for each in finalists}, runs(updates), progress)
    trialled = {each: Trialled(each, of, known.participants) for each, of in played.items()}
    return Invited(
        **contest.advice_on(known, asked, scenarios[best] if gains else None),
        best=trialled[best],
        everybody=trialled[everybody],
        given=trialled[given],
        others=tuple(trialled[each] for each in finalists if each not in (best, everybody, given)),
        verdict=decide(foreseen).decision,
        choices=len(coalitions),
    )


def _as_given(known: Population) -> Coalition:
    """Return all owners as the scenario has them."""
    scenario = known.scenario
    size, algorithm = scenario.owners.count, scenario.algorithm
    rule, updates, sigma = algorithm.one_on_one, scenario.run.updates, scenario.model.sigma
    step = algorithm.step_length if rule is None else rule.rho_of(size, updates, sigma)
    members, records = tuple(range(1, size + 1)), known.problem.task.objective.records.sum()
    return Coalition(members, int(records), step, max(scenario.network.answers_allowed))


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


def _coalitions(known: Population, given: Coalition) -> Iterator[Coalition]:
    """Yield coalitions of two owners or more, each with some ρ.

    Each owner adds noise w_i = 1/ε_i² and n_i records. The variance of a coalition's mean is in
    proportion to Σ_S w_i / n_S², so that owners are ranked by w_i − λ n_i: λ = 0 prefers little
    noise, a large λ many records. The first k of each ranking are a candidate, for each price λ of
    :data:`PRICES`. In one-on-one learning ρ is in proportion to k + 1, so that deviations shrink
    alike. K is T under a horizon; under a cap it grows with N/k.
    """
    own, size = known.scenario, len(given.members)
    n = known.problem.task.objective.records.astype(float)
    w = 1 / np.square(own.privacy.epsilons(size))
    # owners without noise have w = 0, and the median may be one of them
    unit = float(np.median(w[w > 0]) / np.median(n)) if (w > 0).any() else 0.0
    sizes = np.unique(np.rint(np.geomspace(min(2, size), size, SIZES)).astype(np.int64)).tolist()
    orders = [np.lexsort((-n, w - price * unit * n)) for price in PRICES]
    groups = dict.fromkeys(tuple(sorted((o[:k] + 1).tolist())) for k in sizes for o in orders)
    for members, step in product(groups, STEPS):
        k, records = len(members), int(n[np.array(members) - 1].sum())
        rho, answers = step * given.rho, given.answers
        if own.algorithm.one_on_one is not None:
            rho *= (k + 1) / (size + 1)
        if not own.privacy.budget.follows_updates:
            answers = min(own.run.updates, ceil(answers * size / k))
        yield Coalition(members, records, rho, answers)


def by_themselves(known: Population, coalition: Coalition) -> tuple[Scenario, Dataset]:
    """Return the scenario of a coalition's members alone, and its records.

    Those of all others stay, as rows of nobody, for f and θ*.
    """
    own, all_rows = known.scenario, range(len(known.dataset.targets))
    dataset = known.dataset.of_owners([member - 1 for member in coalition.members], all_rows)
    dataset = replace(dataset, held_out_features=(), held_out_targets=())
    return _invited(own, coalition, own.owners.participants).base(), dataset


def _invited(scenario: Scenario, coalition: Coalition, called: Sequence[int | str]) -> Scenario:
    """Return a scenario with the members of a coalition alone, at its ρ and K.

    It is judged by the records that the given one is judged by. ``called`` are the names or numbers
    of all owners.
    """
    only = tuple(called[member - 1] for member in coalition.members)
    return scenario.replace(
        owners={"only": only, "score_on": scenario.owners.judging_beside(called)},
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


def _best(scenarios: dict[Coalition, Scenario], **options: Any) -> tuple[Coalition, Forecast, bool]:
    """Return the first coalition that gains by joining, else the first; and whether it gains.

    It gains if the joint model as it is has a smaller mean error than own models. The gain with
    adaptation is flat: an owner that adapts loses little by a bad joint model.
    """
    foreseen = dict[Coalition, Forecast]()
    for coalition, scenario in scenarios.items():
        foreseen[coalition] = forecast(scenario, judged=Asked(own_best="linear"), **options)
        gains = foreseen[coalition].gains
        if scenario.owners.count > 1 and gains is not None and gains.joint < gains.own:
            return coalition, foreseen[coalition], True
    first = next(iter(scenarios))
    return first, foreseen[first], False
