"""The result of a run in memory, and what a reader of it must know."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from asyncdp_sim.core.messages import Ends, Noted, Notice
from asyncdp_sim.data import Dataset
from asyncdp_sim.measures.energy import energy_figures
from asyncdp_sim.measures.summary import NetworkSummary
from asyncdp_sim.privacy import Guarantee, Ledger
from asyncdp_sim.privacy.guarantee import BROKEN, UNSHOWN
from asyncdp_sim.results import manifest as manifests
from asyncdp_sim.runs.account import honest_summary, judge, learn_alone, ledger_of, summary
from asyncdp_sim.runs.gains import Gains
from asyncdp_sim.runs.problem import Problem, prepare
from asyncdp_sim.runs.replicates import Learned, Workers
from asyncdp_sim.runs.split import split_psi
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences import warnings as notes
from asyncdp_sim.trace import Ending, Trace


@dataclass(frozen=True, eq=False)
class RunResult:
    """Result of running one scenario, in memory.

    Attributes
    ----------
    problem : Problem
        What was run.
    numbers : tuple of int
        The replicates that were run, from 1.
    traces : tuple of Trace
        One per replicate.
    learned : Learned
    ledger : Ledger
        What owners spent.
    guarantee : Guarantee
    summary : dict
        The manifest's ``summary``.
    notices : tuple of Notice
        What a reader must know.
    gains : Gains, optional
        What owners gain, where it was judged.
    """

    problem: Problem
    numbers: tuple[int, ...]
    traces: tuple[Trace, ...]
    learned: Learned
    ledger: Ledger
    guarantee: Guarantee
    summary: dict[str, Any]
    notices: tuple[Notice, ...]
    gains: Gains | None = None

    @property
    def scenario(self) -> Scenario:
        """What was run, without a sweep."""
        return self.problem.scenario

    @property
    def dataset(self) -> Dataset:
        """The owners' records."""
        return self.problem.dataset

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know, in words."""
        return tuple(notice.describe() for notice in self.notices)

    @property
    def fingerprints(self) -> dict[str, str]:
        """Digests in layers; see :func:`asyncdp_sim.results.manifest.fingerprints`."""
        return manifests.fingerprints(self.traces, self.learned.curve, self.learned.models)


def all_numbers(scenario: Scenario) -> tuple[int, ...]:
    """Return the numbers of a scenario's replicates, from 1."""
    return tuple(range(1, scenario.run.replicates + 1))


def ready(scenario: Scenario, dataset: Dataset, like: Problem | None = None) -> Problem:
    """Fill in a scenario's numbers from its data, and find what owners reach alone if asked to.

    Arguments are those of :func:`~asyncdp_sim.runs.problem.prepare`.

    Raises
    ------
    DataError
        If an optimum is not found, or the data do not fit the model.
    """
    problem = prepare(scenario, dataset, like)
    if not scenario.run.alone:
        return problem
    return replace(problem, alone=learn_alone(scenario.model, problem.records))


def outcome_of(
    problem: Problem,
    numbers: Sequence[int],
    traces: Sequence[Trace],
    network_summary: NetworkSummary,
    learned: Learned,
    workers: Workers,
) -> RunResult:
    """Return the result of what was learned over traces, one per replicate in ``numbers``."""
    scenario = problem.scenario
    honest_figures = honest_summary(problem, learned.models)
    if scenario.run.split:
        over = (scenario.run.seed, numbers, traces, learned.models, workers)
        split = split_psi(scenario.algorithm, problem.task, *over)
        honest_figures["psi_split"] = asdict(split)
    ledger = ledger_of(problem, traces)
    guarantee = judge(problem, traces, learned, ledger)
    of_learning = summary(problem, learned, guarantee, ledger)
    # of a figure that two have, the later one is kept; ``intervals`` is joined below
    figures = vars(network_summary) | of_learning | honest_figures
    if scenario.energy is not None:
        spent = energy_figures(traces, scenario.energy, scenario.network)
        figures |= spent | {"intervals": figures["intervals"] | spent["intervals"]}
    reported = notices(problem, traces, learned, guarantee)
    return RunResult(
        problem, tuple(numbers), tuple(traces), learned, ledger, guarantee, figures, reported
    )


def notices(
    problem: Problem, traces: Sequence[Trace], learned: Learned, guarantee: Guarantee
) -> tuple[Notice, ...]:
    """Return what a reader of the result must know; :attr:`RunResult.warnings` has it in words."""
    scenario, dataset = problem.scenario, problem.dataset
    mark = {True: "", False: BROKEN, None: UNSHOWN}[guarantee.private]
    return (
        *(replace(item, sentence=f"{mark}{item.sentence}") for item in guarantee.because),
        *guarantee.remarks,
        *_of_scenario(scenario),
        *(() if scenario.run.target is None else _of_target(traces)),
        *notes.NeverOnline.from_scenario(scenario, traces),
        *notes.EndedEarly.of_runs(traces, scenario.run.updates),
        *_of_divergence(traces, learned),
        *([notes.PrivateRecordsRead()] if dataset.real else []),
        *map(Noted.from_sentence, (*problem.notes, *dataset.notes)),
    )


def _of_scenario(scenario: Scenario) -> Iterator[Notice]:
    """Yield what the scenario asks for that a reader may overlook."""
    privacy = scenario.privacy
    yield from notes.TicksMeet.from_scenario(scenario)
    if not privacy.hides and privacy.epsilon is not None:
        yield notes.EpsilonNotUsed()
    if not privacy.needs_delta and privacy.delta is not None:
        yield notes.DeltaNotUsed(privacy.mechanism.kind)
    if scenario.model.classifies and scenario.data.uncentred is not None:
        text = "neither centres nor scales columns, so that classes are predicted worse; use pca"
        yield Noted.from_sentence(scenario.data.uncentred, f"data.preprocessing = {{}} {text}")


def _of_target(traces: Sequence[Trace]) -> Iterator[Notice]:
    """Yield how many runs ended at the target, as they should, and how many never met it."""
    n_updates = [trace.n_updates for trace in traces if trace.ending is Ending.target]
    if len(n_updates) > 0:
        ends = Ends(min(n_updates), max(n_updates))
        yield notes.TargetReached(len(n_updates), len(traces), ends)
    if len(n_updates) < len(traces):
        yield notes.TargetMissed(len(traces) - len(n_updates), len(traces))


def _of_divergence(traces: Sequence[Trace], learned: Learned) -> Iterator[Notice]:
    curve = learned.curve
    diverged = np.unique(curve["replicate"][~np.isfinite(curve["relative_fitness"])])
    if len(diverged) > 0:
        yield notes.ModelDiverged(len(diverged), len(traces))
