"""The gain of each owner from joining: by ψ, and by errors on its held-out rows.

An owner's own model θ_i* and the private models are judged on the rows that the owner has kept
apart (``data.held_out``). Budgets are those of the scenario times some factors, networks and
streams of noise being the same for all, so that differences are known better than either.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.progress import Progress, beginning
from asyncdp_sim.forecasts.advice.contest import affordable
from asyncdp_sim.forecasts.by_runs import half_width
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.forecasts.uncertainty import MayBeOff
from asyncdp_sim.measures.scores import Score
from asyncdp_sim.runs.account import learn_alone
from asyncdp_sim.runs.held_out import HeldOut
from asyncdp_sim.runs.problem import Task, prepare
from asyncdp_sim.runs.replicates import Learned
from asyncdp_sim.scenario import Participants


@dataclass(frozen=True)
class OwnerForecast:
    """An owner's prospects.

    Attributes
    ----------
    owner : int
        Its number, from 1.
    name : str or None
        What it is called, whole; None where owners have numbers alone.
    records : int
        n_i.
    epsilon : float or None
        Its budget; None where nothing is hidden.
    epsilon_spent : float
        Expected at the end of the run.
    alone : float
        ψ of its own optimum θ_i*.
    profits : bool or None
        Whether it gains by joining (True) or does worse (False); None where that is undecided. By
        the error on its held-out rows, where rows are held out; else by ψ: whether the private
        model's is below ``alone``.
    epsilon_needed : float or None
        Break-even ε by the same criterion, all budgets having grown in proportion; ∞ where its own
        is. None where it does not gain however small the noise is, or at the largest ε tried.
    """

    owner: int
    name: str | None
    records: int
    epsilon: float | None
    epsilon_spent: float
    alone: float
    profits: bool | None
    epsilon_needed: float | None


def value_alone(population: Population) -> Array:
    """Return the ψ of each owner's own optimum, shape (N,); none if the loss is not quadratic.

    ψ(θ_i*) ≥ 0 of exact second moments: θ_i* minimises over Θ, as θ* does, whose f is the least
    there.
    """
    objective = population.objective
    if objective is None:
        return np.zeros(0)
    alone = np.stack([objective.of_owner(owner).optimum for owner in range(objective.n_owners)])
    judge = objective if population.judge is None else population.judge
    return judge.relative_fitness(alone)


def prospects(
    population: Population,
    alone: Array,
    expected: float,
    noise_free: float,
    noise_cost: float,
    answers: Array,
    half_width: float,
) -> list[OwnerForecast]:
    """Return every owner's forecast, by ψ.

    If no gradient is clipped, the expected ψ is affine in the noise variances: with all owners'
    noise 1/s as large it is noise_free + noise_cost/s². Pure budgets are then s times
    as large. Under clipping this is an approximation.

    Parameters
    ----------
    population : Population
    alone : array (N,)
        :func:`value_alone`.
    expected, noise_free : float
        E ψ at the end, with noise and without.
    noise_cost : float
        E ψ that noise adds.
    answers : array (N,)
        Expected answers of each owner.
    half_width : float
        Of the 95 % interval of ``expected``: an owner whose ``alone`` lies in it is undecided.
    """
    accountant = population.problem.accountant
    hidden = population.problem.xi is not None
    spent = accountant.spent(np.rint(answers).astype(np.int64))
    records = population.problem.task.objective.records
    cost, owners = max(noise_cost, 0.0), population.participants
    names = owners.names or (None,) * len(records)
    room = np.where(alone > noise_free, alone - noise_free, np.inf)
    with np.errstate(invalid="ignore"):  # exact answers, whose ε is infinite below
        needed = accountant.quieter(np.sqrt(cost / room))
    needed = np.where(np.isfinite(accountant.epsilon), needed, np.inf)
    return [
        OwnerForecast(
            owner=owners.numbers[i],
            name=names[i],
            records=int(records[i]),
            epsilon=float(accountant.epsilon[i]) if hidden else None,
            epsilon_spent=float(spent[i]) if hidden else inf,
            alone=value,
            profits=None if abs(value - expected) <= half_width > 0 else expected < value,
            epsilon_needed=float(needed[i]) if value > noise_free else None,
        )
        for i, value in enumerate(alone.tolist())
    ]


FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0, 1000.0)
"""Times the scenario's budgets, in ascending order."""
RUNS = 40
"""Runs of each choice, at most."""


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
    guessing : array (N,)
        Of one and the same prediction for every row: the mean of all owners' targets, or the most
        frequent of their labels.
    rows : array (N,), optional
        Half widths of 95 % intervals of gains over redraws of the substitute rows; None where the
        rows are the owners'.
    """

    names: tuple[str, ...]
    records: Ints
    score: Score
    unit: str | None
    epsilon: Array
    factors: tuple[float, ...]
    joined: Array
    alone: Array
    together: Array
    guessing: Array
    rows: Array | None = None

    @property
    def given(self) -> int:
        """The place of the scenario's own budgets among the factors."""
        return self.factors.index(1.0)

    def gain(self, at: int) -> Array:
        """Return by how much joining is better than alone, in the mean over runs, (N,)."""
        sign = 1.0 if self.score.more_is_better else -1.0
        return np.asarray(sign * (self.joined[at].mean(axis=0) - self.alone))

    @cached_property
    def of_runs(self) -> Array:
        """The longer halves of the 95 % intervals of the joined scores over runs, (F, N)."""
        return np.array([[half_width(runs) for runs in tried.T] for tried in self.joined])

    def half_width(self, at: int) -> Array:
        """Return the half widths of the 95 % intervals of the gains, over runs and rows, (N,)."""
        runs: Array = self.of_runs[at]
        return runs if self.rows is None else np.hypot(runs, self.rows)

    def profits(self, at: int) -> Bools:
        """Return which owners gain by joining, beyond the ±."""
        return np.asarray(self.gain(at) > self.half_width(at))

    def loses(self, at: int) -> Bools:
        """Return which owners do worse by joining, beyond the ±."""
        return np.asarray(-self.gain(at) > self.half_width(at))

    @cached_property
    def verdicts(self) -> list[bool | None]:
        """Whether each owner gains by joining; None where that is undecided."""
        both = zip(self.profits(self.given), self.loses(self.given), strict=True)
        return [bool(gains) if gains or loses else None for gains, loses in both]

    def needed(self, owner: int) -> float | None:
        """Return the budget from which on an owner (from 0) gains, between those that were tried.

        Where the mean gain crosses 0 for the last time, it is taken to be linear in 1/ε there, as
        the noise is: of 61 hospitals within 7 % (1.2 % in the median) of what four times as many
        budgets give on the same runs, which themselves leave 14 %. None where it does not gain at
        the largest budget; 0 where it gains at all of them.
        """
        gains = np.array([self.gain(at)[owner] for at in range(len(self.factors))])
        if not gains[-1] > 0:
            return None
        below = np.flatnonzero(~(gains > 0))
        if len(below) == 0:
            return 0.0
        last = int(below[-1])
        low, high = 1 / np.array(self.factors[last : last + 2])
        share = -gains[last] / (gains[last + 1] - gains[last]) if np.isfinite(gains[last]) else 1.0
        return float(self.epsilon[owner] / (low + share * (high - low)))


def budgets_tried(known: Population) -> tuple[float, ...]:
    """Return the factors of budgets: 1 alone where no budget is finite."""
    finite = np.isfinite(np.asarray(known.problem.accountant.epsilon, dtype=float)).any()
    return FACTORS if known.problem.xi is not None and finite else (1.0,)


def runs_of_each(known: Population, factors: Sequence[float]) -> int:
    """Return how many runs of each of so many budgets take some seconds, at most :data:`RUNS`."""
    updates = len(factors) * known.scenario.run.updates
    return affordable(known.scenario, known.dataset, updates, RUNS)


def task_with_budgets(known: Population, factor: float) -> Task:
    """Return what the scenario learns if all budgets are so many times as large."""
    if factor == 1.0:
        return known.problem.task
    return task_at(known, factor * known.scenario.privacy.asked(known.scenario.owners.count))


def task_at(known: Population, budgets: Array) -> Task:
    """Return what the scenario learns with budgets ε_i, shape (N,); ∞ is without noise."""
    privacy = known.scenario.privacy.model_copy(update={"epsilon": tuple(budgets.tolist())})
    scenario = known.scenario.model_copy(update={"privacy": privacy})
    return prepare(scenario, known.dataset, known.problem).task


def errors(
    known: Population,
    *,
    factors: tuple[float, ...] | None = None,
    runs: int | None = None,
    learned: Mapping[float, Learned] | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Errors:
    """Return what joining is worth to each owner of a scenario that holds rows out.

    Parameters
    ----------
    known : Population
    factors : tuple of float, optional
        Times which budgets are tried, 1 among them; absent, those of :func:`budgets_tried`.
    runs : int, optional
        Of each; absent, those of :func:`runs_of_each`.
    learned : mapping, optional
        What runs have learned, by factor, where they are made already.
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
    factors = budgets_tried(known) if factors is None else factors
    runs = runs_of_each(known, factors) if runs is None else runs
    beginning(progress, "what joining is worth")
    if learned is None:
        tasks = [task_with_budgets(known, factor) for factor in factors]
        options: Any = {"workers": workers, "progress": progress}
        _, several = known.quick_runs.learned(tasks, range(1, runs + 1), **options)
        learned = dict(zip(factors, several, strict=True))
    alone = learn_alone(scenario.model, problem.records)
    judges, best = problem.held_out, problem.task.objective.optimum
    score = judges[0].scores[0]
    models = [learned[factor].models for factor in factors]
    joined = [np.stack([j.headline(each) for j in judges], axis=1) for each in models]
    return Errors(
        names=_names(known.participants),
        records=problem.task.objective.records,
        score=score,
        unit=known.scenario.data.target_unit if score.in_units else None,
        epsilon=epsilon if problem.xi is not None else np.full(len(judges), np.inf),
        factors=factors,
        joined=np.stack(joined),
        alone=np.array([j.headline(own[None])[0] for j, own in zip(judges, alone, strict=True)]),
        together=np.array([judge.headline(best[None])[0] for judge in judges]),
        guessing=_guessed(known, judges, score),
    )


def _guessed(known: Population, judges: Sequence[HeldOut], score: Score) -> Array:
    """Return the scores of one prediction for all rows, on each owner's held-out rows, (N,)."""
    guess = known.scenario.model.guess(np.concatenate(known.dataset.targets))
    rows = [judge.known[1] for judge in judges]
    return np.array(
        [score.of(np.broadcast_to(guess, (1, len(y), *guess.shape)), y)[0] for y in rows]
    )


def _names(who: Participants) -> tuple[str, ...]:
    """Return what sentences call the owners: their names, if these say more than a number."""
    names = who.shown or ("",) * len(who.numbers)
    worded = (any(map(str.isalpha, name)) for name in names)
    return tuple(
        name if is_word else who.said(place)
        for place, (name, is_word) in enumerate(zip(names, worded, strict=True))
    )


@dataclass(frozen=True, eq=False)
class HalfWidths:
    """Half widths of 95 % intervals of owners' expected errors, at the scenario's budgets.

    Attributes
    ----------
    joined : array (N,)
        Of the private model, in the mean over runs.
    alone : array (N,)
        Of the owner's own model: 0 where its rows are its own, for it takes no noise.
    gain : array (N,)
        Of the difference of the two.
    """

    joined: Array
    alone: Array
    gain: Array


def intervals(found: Errors, off: MayBeOff | None) -> HalfWidths:
    """Return the ± of the figures reported of every owner.

    That of a mean over runs, √(w² + v²) with v the half width over redraws of the substitute rows,
    where such rows are used: what is random in runs is independent of the rows.

    Parameters
    ----------
    found : Errors
    off : MayBeOff, optional
        How far figures of the stand-in may be off; None where there is none.
    """
    runs, gain = found.of_runs[found.given], found.half_width(found.given)
    if off is None:
        return HalfWidths(runs, np.zeros(len(runs)), gain)
    joined = np.hypot(runs, off.errors_half_width)
    return HalfWidths(joined, np.array(off.alone_half_width), gain)
