"""Errors of private models on each owner's rows beside those of its own, by simulated runs.

An owner's own model θ_i* and the private models are judged on the rows that the owner has kept
apart (``data.held_out``). Budgets are those of the scenario times some factors, networks and
streams of noise being the same for all, so that differences are known better than either.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import AsyncDPError
from asyncdp_sim.forecasts.advice.contest import affordable
from asyncdp_sim.forecasts.interval import half_width
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.measures.scores import Score
from asyncdp_sim.progress import Progress, counted
from asyncdp_sim.runs import run
from asyncdp_sim.runs.honest import learn_alone
from asyncdp_sim.runs.workers import processes
from asyncdp_sim.scenario import Participants, Scenario

Array = npt.NDArray[np.float64]
FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Times the scenario's budgets, in ascending order."""
BEYOND = (30.0, 100.0, 1000.0)
"""Times the budgets that are tried besides, up to the first where somebody profits."""
RUNS = 40
"""Runs of each choice, at most."""
DELTA = 1e-6
MOST_RECORDS = 1_000_000
"""Records that are drawn, all owners together, to see what more of them would change."""


@dataclass(frozen=True, eq=False)
class Errors:
    """Scores of private models on every owner's held-out rows, beside its own model's.

    Attributes
    ----------
    names : tuple of str
        Of the owners.
    records : array of int (N,)
        Trained on.
    score : Score
    unit : str, optional
        The target's.
    epsilon : array (N,)
        Budgets of the scenario; infinite where nothing is hidden.
    factors : tuple of float
        Times which budgets were tried; 1 alone where no budget is finite.
    joined : array (F, R, N)
        Of the private model at the end of each run.
    alone, together : array (N,)
        Of θ_i* and θ*.
    """

    names: tuple[str, ...]
    records: npt.NDArray[np.int64]
    score: Score
    unit: str | None
    epsilon: Array
    factors: tuple[float, ...]
    joined: Array
    alone: Array
    together: Array

    @property
    def given(self) -> int:
        """The place of the scenario's own budgets among the factors."""
        return self.factors.index(1.0)

    def gain(self, at: int) -> Array:
        """Return by how much joining is better than alone, in the mean over runs, (N,)."""
        sign = 1.0 if self.score.more_is_better else -1.0
        return np.asarray(sign * (self.joined[at].mean(axis=0) - self.alone))

    def half_width(self, at: int) -> Array:
        """Return the longer halves of the 95 % intervals of the gains, (N,)."""
        return np.array([half_width(runs) for runs in self.joined[at].T])

    def profits(self, at: int) -> npt.NDArray[np.bool_]:
        """Tell who is shown to profit."""
        return np.asarray(self.gain(at) > self.half_width(at))

    def loses(self, at: int) -> npt.NDArray[np.bool_]:
        """Tell who is shown to lose."""
        return np.asarray(-self.gain(at) > self.half_width(at))

    def needed(self, owner: int) -> float | None:
        """Return the budget from which on an owner (from 0) gains, between those that were tried.

        Where the mean gain crosses 0 for the last time, it is taken to be linear in ln ε there.
        None where it does not gain at the largest budget; 0 where it gains at all of them.
        """
        gains = np.array([self.gain(at)[owner] for at in range(len(self.factors))])
        if not gains[-1] > 0:
            return None
        below = np.flatnonzero(~(gains > 0))
        if len(below) == 0:
            return 0.0
        last = int(below[-1])
        low, high = np.log(self.factors[last : last + 2])
        share = -gains[last] / (gains[last + 1] - gains[last]) if np.isfinite(gains[last]) else 1.0
        return float(self.epsilon[owner] * np.exp(low + share * (high - low)))


@dataclass(frozen=True)
class Change:
    """Something else that was tried where nobody profits.

    Attributes
    ----------
    words : str
        Of what was changed, with its number.
    profits : int
        How many owners are shown to profit then.
    """

    words: str
    profits: int


def errors(known: Population, *, workers: int = 1, progress: Progress | None = None) -> Errors:
    """Return what joining is worth to each owner of a scenario that holds rows out.

    Parameters
    ----------
    known : Population
    workers : int
        Processes for runs, ≥ 1; never change a result.
    progress : Progress, optional
        Told how far it has come.

    Raises
    ------
    DataError
        If an owner's own optimum is not found.
    """
    scenario, problem = known.scenario, known.problem
    epsilon = np.asarray(problem.accountant.epsilon, dtype=float)
    factors = FACTORS if problem.xi is not None and np.isfinite(epsilon).any() else (1.0,)
    runs = affordable(scenario, known.dataset, len(factors) * scenario.run.updates, RUNS)
    found = []
    advance = counted(progress, "what joining is worth: runs", len(factors) * runs)
    with processes(workers) as mapped:
        for factor in factors:
            pool: dict[str, Any] = {"workers": workers, "run_map": mapped}
            found.append(_joined(_times(scenario, factor), known, runs, pool))
            advance(runs)
    alone = learn_alone(scenario.model, problem.records)
    judges, best = problem.held_out, problem.task.objective.optimum
    score = judges[0].scores[0]
    return Errors(
        names=_names(known.participants),
        records=problem.task.objective.records,
        score=score,
        unit=known.scenario.data.target_unit if score.in_units else None,
        epsilon=epsilon if problem.xi is not None else np.full(len(judges), np.inf),
        factors=factors,
        joined=np.stack(found),
        alone=np.array([score.of(*j.judged(own)) for j, own in zip(judges, alone, strict=True)]),
        together=np.array([score.of(*judge.judged(best)) for judge in judges]),
    )


def _names(who: Participants) -> tuple[str, ...]:
    """Return what sentences call the owners: their names, if these say more than a number."""
    names = who.shown or ("",) * len(who.numbers)
    worded = (any(map(str.isalpha, name)) for name in names)
    return tuple(
        name if is_word else who.said(place)
        for place, (name, is_word) in enumerate(zip(names, worded, strict=True))
    )


def changes(
    known: Population, found: Errors, *, workers: int = 1, progress: Progress | None = None
) -> list[Change]:
    """Return what would make somebody profit where nobody does: each by runs, with its number."""
    told, runs = list[Change](), found.joined.shape[1]
    others = _others(known.scenario)
    advance = counted(progress, "what would help: trials", len(BEYOND) + len(others))
    for at in range(found.given + 1, len(found.factors)):
        told.append(_larger(found.factors[at], int(found.profits(at).sum())))
    for factor in BEYOND:
        if len(told) > 0 and told[-1].profits == 0:
            profits = _tried(_times(known.scenario, factor), known, runs, workers)
            told.append(_larger(factor, profits))
        advance(1)
    for words, scenario in others:
        try:
            told.append(Change(words, _tried(scenario, known, runs, workers)))
        except AsyncDPError:  # the scenario does not allow it: no advice then
            continue
        finally:
            advance(1)
    return told


def _larger(factor: float, profits: int) -> Change:
    return Change(f"budgets {factor:g} times as large", profits)


def _tried(scenario: Scenario, known: Population, runs: int, workers: int) -> int:
    """Return how many owners are shown to profit in another scenario."""
    from asyncdp_sim.forecasts.population import population

    same = scenario.data == known.scenario.data and scenario.owners == known.scenario.owners
    there = population(
        scenario, "own", private=known.private, dataset=known.dataset if same else None
    )
    joined = _joined(scenario, there, runs, {"workers": workers, "run_map": None})
    judges, score = there.problem.held_out, there.problem.held_out[0].scores[0]
    own = learn_alone(scenario.model, there.problem.records)
    alone = np.array([score.of(*j.judged(theta)) for j, theta in zip(judges, own, strict=True)])
    sign = 1.0 if score.more_is_better else -1.0
    gains = sign * (joined.mean(axis=0) - alone)
    return int(np.count_nonzero(gains > [half_width(column) for column in joined.T]))


def _others(scenario: Scenario) -> Sequence[tuple[str, Scenario]]:
    """Return other settings to try, in words and as scenarios; none that is not valid."""
    found: list[tuple[str, dict[str, Any]]] = []
    updates, records = scenario.run.updates // 4, scenario.records
    if updates > 0:
        words = f"{updates} updates instead of {scenario.run.updates}"
        found.append((words, {"run": {"updates": updates}}))
    if scenario.privacy.mechanism.composition == "pure":
        privacy = {"mechanism": "gaussian", "delta": DELTA}
        found.append((f"Gaussian noise at δ = {DELTA:g}", {"privacy": privacy}))
    if scenario.data.synthetic and records is not None and 4 * sum(records) <= MOST_RECORDS:
        more = {"records": tuple(4 * n for n in records)}
        found.append(("four times the records of each owner", {"owners": more}))
    valid = []
    for words, parts in found:
        try:
            valid.append((words, scenario.replace(**parts)))
        except AsyncDPError:
            continue
    return valid


def _joined(scenario: Scenario, known: Population, runs: int, pool: dict[str, Any]) -> Array:
    """Return scores at the end of runs, (R, N)."""
    quick = {"record_every": scenario.run.updates, "alone": False, "split": False}
    scenario = scenario.model_copy(update={"run": scenario.run.model_copy(update=quick)})
    made = run(scenario, numbers=range(1, runs + 1), dataset=known.dataset, **pool)
    judges = made.problem.held_out
    score = judges[0].scores[0]
    rows = [[score.of(*j.judged(model)) for j in judges] for model in made.learned.models]
    return np.array(rows)


def _times(scenario: Scenario, factor: float) -> Scenario:
    """Return the scenario with all budgets so many times as large."""
    if factor == 1.0:
        return scenario
    each = scenario.privacy.asked(scenario.owners.count)
    privacy = scenario.privacy.model_copy(update={"epsilon": tuple((factor * each).tolist())})
    return scenario.model_copy(update={"privacy": privacy})


def as_table(found: Errors, changes: Sequence[Change]) -> dict[str, Any]:
    """Return all figures as plain values, ready for JSON."""
    at = found.given
    columns = {
        "name": list(found.names),
        "records": found.records.tolist(),
        "joined": found.joined[at].mean(axis=0).tolist(),
        "joined_half_width": found.half_width(at).tolist(),
        "alone": found.alone.tolist(),
        "together": found.together.tolist(),
        "profits": found.profits(at).tolist(),
        "loses": found.loses(at).tolist(),
        "epsilon_needed": [found.needed(owner) for owner in range(len(found.names))],
    }
    rows = zip(*columns.values(), strict=True)
    return {
        "score": found.score.name,
        "unit": found.unit,
        "runs": found.joined.shape[1],
        "budgets_times": list(found.factors),
        "owners": [dict(zip(columns, row, strict=True)) for row in rows],
        "changes": [asdict(each) for each in changes],
    }


__all__ = ["FACTORS", "Change", "Errors", "as_table", "changes", "errors"]
