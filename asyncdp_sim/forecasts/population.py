"""The owners' data that a forecast takes, simulated runs over them, and the ± of their mean ψ.

ψ is about a quadratic form of the noise: its runs have skewness 2 to 7, and the few that end far
out are missing from most samples. A sample with too low a mean has then too small a spread, so that
mean ± t s/√R misses too often, nearly always from below.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.data import Dataset
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.runs import replicates
from asyncdp_sim.runs.problem import Problem, Task, build_dataset, prepare
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.theory.formulas import t_quantile
from asyncdp_sim.trace import Trace

LARGEST = 1e100
"""A number whose cube floating point holds."""
LIGHT, STIR = 2.5e10, 1e5
"""Numbers of records that may be read to compare choices, some 15 s of work, fewer runs beyond;
and how many could be read in the time that an update takes besides."""
FEWEST = 10


def affordable(
    scenario: Scenario, dataset: Dataset, updates: float, most: int = 100, least: int = FEWEST
) -> int:
    """Return how many runs, up to ``most``, of so many updates (of all choices) are light work.

    They are as many as ``least`` where even these are not.

    An answer reads p numbers of each of its owner's records where gradients are clipped, else p².
    """
    return max(2, min(most, max(least, int(LIGHT / (updates * work(scenario, dataset))))))


def work(scenario: Scenario, dataset: Dataset) -> float:
    """Return the numbers that an update reads, and what it takes besides as if it read more."""
    p = rows = float(scenario.data.features)
    bound = scenario.privacy.sensitivity
    if (bound is not None and bound.clip_bound is not None) or scenario.sampled:
        rows = float(np.mean(dataset.records))
    return STIR + p * rows


def half_width(values: Array) -> float:
    """Return the longer half of the 95 % interval of a mean, by Hall's transformation.

    With the sample's mean m, standard deviation s and skewness g, and q = ± t/√R − g/(6R) by
    Student's t, the ends are

        m − s h(q),   h(q) = (3/g) ((1 + g q)^⅓ − 1),   h(q) = q where g = 0,

    one above m, one below. The longer half is reported for both, so that the ± covers the ends.

    Parameters
    ----------
    values : array (R,)
        R ≥ 2, of independent runs. Infinite where one is not finite.

    Returns
    -------
    float
        ≥ 0; that of Student's t where values are symmetric.

    Notes
    -----
    P. Hall, On the removal of skewness by transformation, Journal of the Royal Statistical
    Society B 54 (1992), 221–228: the cubic that makes t about symmetric, and is monotone.
    """
    if not np.isfinite(values).all():
        return float("inf")
    largest = float(np.abs(values).max())
    if largest > LARGEST:
        return largest * half_width(values / largest)
    runs, apart = len(values), values - values.mean()
    spread = float(values.std(ddof=1))
    if spread == 0.0:
        return 0.0
    skewness = float(np.mean((apart / values.std()) ** 3))
    t = t_quantile(runs - 1, 0.975) / np.sqrt(runs)
    ends = np.array([-t, t]) - skewness / (6 * runs)
    if abs(skewness) > 1e-6:
        ends = 3 / skewness * (np.cbrt(1 + skewness * ends) - 1)
    return spread * float(np.abs(ends).max())


@dataclass(frozen=True, eq=False)
class QuickRuns:
    """Runs over one network, which is simulated once a replicate for all algorithms.

    Where learning is live every task's networks are its own.

    Attributes
    ----------
    scenario : Scenario
        Whose network and seed they have.
    """

    scenario: Scenario
    _traces: dict[int, Trace] = field(default_factory=dict, repr=False)

    def learned(
        self,
        tasks: Sequence[Task],
        numbers: Sequence[int],
        *,
        whole: bool = False,
        workers: int | replicates.Workers = 1,
        progress: Progress | None = None,
    ) -> tuple[list[Trace], list[replicates.Learned]]:
        """Return the networks of the first task's replicates, and what each task learns.

        To the bit what :func:`asyncdp_sim.runs.run.run` learns, except that models are not judged
        on held-out rows and that no gradient is measured.

        Parameters
        ----------
        tasks : sequence of Task
            At least one; all of scenarios with this network and seed.
        numbers : sequence of int
            Of the replicates, from 1.
        whole : bool
            Whether curves are recorded as often as tasks say; else at the start and the end alone.
        workers : int or Workers
            Processes, ≥ 1, or those that are there already; never change a result.
        progress : Progress, optional
            Receives the progress.
        """
        network, run = self.scenario.network, self.scenario.run
        less: dict[str, Any] = {} if whole else {"record_every": run.updates}
        quick = [replace(task, held_out=None, watched=None, **less) for task in tasks]
        with one_thread(), replicates.processes(workers) as at_work:
            options: Any = {"workers": at_work, "progress": progress}
            if run.learning == "live":
                both = [
                    replicates.live_all(network, task, run.seed, numbers, **options)
                    for task in quick
                ]
                return both[0][0], [learned for _, learned in both]
            new = [number for number in numbers if number not in self._traces]
            if len(new) > 0:
                made = replicates.simulate_all(network, run.seed, new, **options)
                self._traces.update(zip(new, made, strict=True))
            traces = [self._traces[number] for number in numbers]
            return traces, replicates.learn_all(quick, run.seed, numbers, traces, **options)


def final_psi(curve: npt.NDArray[np.void]) -> Array:
    """Return ψ at the end of each replicate of a curve, (R,); infinite where it has overflowed."""
    return overflowed(last(curve, "relative_fitness"))


def overflowed(psi: Array) -> Array:
    """Return ψ, infinite where it is no number since something has overflowed (∞ − ∞)."""
    return np.where(np.isnan(psi), np.inf, psi)


def last(curve: npt.NDArray[np.void], column: str) -> Array:
    """Return a column at the end of each replicate of a curve, (R,)."""
    rows = np.flatnonzero(np.diff(curve["replicate"], append=-1) != 0)
    return np.array(curve[column][rows], dtype=float)


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
        """The quadratic loss whose f and θ* define ψ; None if the loss is not quadratic.

        It is of more rows than the owners' with ``data.score_on = "all"``.
        """
        judge = self.problem.task.objective.judge
        return self.objective if judge is None else judge

    @property
    def participants(self) -> Participants:
        """Who takes part."""
        return self.scenario.participants(self.dataset.owner_names)

    def task_at(self, budgets: Array) -> Task:
        """Return what the scenario learns with budgets ε_i, shape (N,); ∞ is without noise."""
        scenario = with_privacy(self.scenario, epsilon=tuple(budgets.tolist()))
        return prepare(scenario, self.dataset, self.problem, noise_of=self.noise_records).task


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
    private = private and not drawn
    return Population(scenario, dataset, problem, private, words, QuickRuns(scenario), asked)


def with_privacy(scenario: Scenario, **changed: object) -> Scenario:
    """Return a scenario with these fields of ``privacy``, which are not validated."""
    privacy = scenario.privacy.model_copy(update=changed)
    return scenario.model_copy(update={"privacy": privacy})


def value_alone(known: Population) -> Array:
    """Return the ψ of each owner's own optimum, shape (N,); none if the loss is not quadratic.

    ψ(θ_i*) ≥ 0 of exact second moments: θ_i* minimises over Θ, as θ* does, whose f is the least
    there. It is the fit to all records, and decides nothing.
    """
    objective, judge = known.objective, known.judge
    if objective is None or judge is None:
        return np.zeros(0)
    alone = np.stack([objective.of_owner(owner).optimum for owner in range(objective.n_owners)])
    return judge.relative_fitness(alone)


RUNS = 40
"""Simulated runs with noise, and as many without."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """Outcome of R simulated runs.

    Attributes
    ----------
    curve, times : array (J,)
        Mean ψ of the model and mean time (time units) at each recorded k, from k = 0 on.
    final, ends : array (R,)
        ψ and time at the end of each run; ψ is infinite where learning diverged.
    noise_free : float
        Mean ψ at the end without noise, with the same clipping.
    answers : array (N,)
        Mean number of answers that each owner released.
    """

    curve: Array
    times: Array
    final: Array
    ends: Array
    noise_free: float
    answers: Array

    @property
    def psi(self) -> float:
        """Mean ψ at the end."""
        return float(self.final.mean())


def simulated(
    known: Population, workers: int, progress: Progress | None = None, *, whole: bool = True
) -> Simulated:
    """Run the scenario, and once more without noise, on the population's records.

    The runs without noise are over the same networks (unless timing looks at models), and clip
    what those with noise clip. Of them the end alone is judged.

    Parameters
    ----------
    known : Population
    workers : int
        Processes, ≥ 1.
    progress : Progress, optional
        Receives the progress.
    whole : bool
        Whether curves have all recorded updates; else they have the start and the end alone, and
        the models between, each of which is judged on all records, take no time.
    """
    scenario, runs, loud = known.scenario, known.quick_runs, known.problem.task
    options: Any = {"whole": whole, "workers": workers, "progress": progress}
    silent_task = replace(loud.without_noise(), record_every=scenario.run.updates)
    traces, [noisy, silent] = runs.learned([loud, silent_task], range(1, RUNS + 1), **options)
    return Simulated(
        curve=overflowed(_mean(noisy.curve, "relative_fitness")),
        times=_mean(noisy.curve, "time"),
        final=final_psi(noisy.curve),
        ends=last(noisy.curve, "time"),
        noise_free=float(final_psi(silent.curve).mean()),
        answers=np.mean([trace.released for trace in traces], axis=0),
    )


def _mean(curve: npt.NDArray[np.void], column: str) -> Array:
    """Return the mean over replicates; one that has ended stays where it ended."""
    every = curve["replicate"]
    curves = [curve[column][every == replicate] for replicate in np.unique(every)]
    longest = max(map(len, curves))
    held = [np.append(values, np.full(longest - len(values), values[-1])) for values in curves]
    return np.asarray(np.mean(held, axis=0))
