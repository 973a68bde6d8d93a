"""The owners' data that a forecast takes, and whose they are."""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.threads import one_thread
from asyncdp_sim.data import Dataset
from asyncdp_sim.forecasts.by_runs import QuickRuns
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.runs.problem import Problem, Task, build_dataset, prepare
from asyncdp_sim.scenario import Participants, Scenario

CHOSEN = "The settings of this scenario were chosen from private records."
"""Stands in the description of a scenario that advice has written from private records."""


@dataclass(frozen=True, eq=False)
class Population:
    """A scenario with data to forecast from.

    Attributes
    ----------
    scenario : Scenario
        On those data: of a real table's kind, without its path where its twin stands in.
    dataset : Dataset
    problem : Problem
        Its numbers.
    private : bool
        Whether private records were read: the forecast is then not for release.
    words : str
        Whose data they are.
    quick_runs : QuickRuns
        Simulated runs of the scenario.
    asked : Scenario
        The scenario as given.
    noise_records : array (N,), optional
        Records n_i that noise is scaled for, where the data set lacks some of them.
    """

    scenario: Scenario
    dataset: Dataset
    problem: Problem
    private: bool
    words: str
    quick_runs: QuickRuns
    asked: Scenario
    noise_records: Ints | None = None

    @property
    def whole(self) -> bool:
        """Whether the records are those of the scenario, and no twin's."""
        return self.private or self.scenario.data == self.asked.data

    @property
    def objective(self) -> Quadratic | None:
        """The loss of all owners' records by its second moments; None if it is not quadratic."""
        return self.problem.task.objective.second_moments

    @property
    def judge(self) -> Quadratic | None:
        """The loss whose f and θ* define ψ, if more rows than the owners' judge models.

        That is so with ``data.score_on = "all"``.
        """
        return self.problem.task.objective.judge

    @property
    def participants(self) -> Participants:
        """Who takes part."""
        return self.scenario.participants(self.dataset.owner_names)


def choosing(scenario: Scenario, known: Population) -> Scenario:
    """Return a scenario that says so where its settings were chosen from private records."""
    if not known.private:
        return scenario
    description = f"{scenario.description.rstrip()}\n{CHOSEN}\n".lstrip()
    return scenario.replace(chosen_from="private rows", description=description)


def population(
    scenario: Scenario,
    *,
    private: bool,
    dataset: Dataset | None = None,
    like: Problem | None = None,
) -> Population:
    """Return what a forecast is made from.

    Parameters
    ----------
    scenario : Scenario
        Without a sweep.
    private : bool
        Whether a real table may be read. If not, its synthetic twin stands in.
    dataset : Dataset, optional
        The records, where they are at hand already.
    like : Problem, optional
        One that may be about the same records: θ* is not looked for again then.

    Raises
    ------
    DataError
        If a real table has no twin, or a data file is not what the scenario says.
    """
    asked, path = scenario, scenario.data.file
    drawn = path is None and scenario.data.synthetic
    words = "synthetic records"
    if private and not drawn:
        words = "the owners' private records"
    elif not drawn:
        data = scenario.data.twin()
        if data is None:
            setting = ("data.kind", scenario.data.kind) if path is None else ("data.path", path)
            domain = f"a forecast of {scenario.data.kind} data without public rows needs --private"
            raise DataError([Fault(setting[0], repr(setting[1]), domain)])
        scenario = scenario.model_copy(update={"data": data})
        words = data.twin_words
    with one_thread():
        dataset = build_dataset(scenario) if dataset is None else dataset
        problem = prepare(scenario, dataset, like)
    runs = QuickRuns.from_scenario(scenario)
    private = private and not drawn
    return Population(scenario, dataset, problem, private, words, runs, asked)


def task_with_budgets(known: Population, factor: float) -> Task:
    """Return what the scenario learns if all budgets are so many times as large."""
    if factor == 1.0:
        return known.problem.task
    return task_at(known, factor * known.scenario.privacy.asked(known.scenario.owners.count))


def task_at(known: Population, budgets: Array) -> Task:
    """Return what the scenario learns with budgets ε_i, shape (N,); ∞ is without noise."""
    privacy = known.scenario.privacy.model_copy(update={"epsilon": tuple(budgets.tolist())})
    scenario = known.scenario.model_copy(update={"privacy": privacy})
    return prepare(scenario, known.dataset, known.problem, noise_of=known.noise_records).task


def value_alone(known: Population) -> Array:
    """Return the ψ of each owner's own optimum, shape (N,); none if the loss is not quadratic.

    ψ(θ_i*) ≥ 0 of exact second moments: θ_i* minimises over Θ, as θ* does, whose f is the least
    there. It is the fit to all records, and decides nothing.
    """
    objective = known.objective
    if objective is None:
        return np.zeros(0)
    alone = np.stack([objective.of_owner(owner).optimum for owner in range(objective.n_owners)])
    judge = objective if known.judge is None else known.judge
    return judge.relative_fitness(alone)
