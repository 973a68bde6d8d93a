"""One scenario: simulate, learn, account, write."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data import Dataset
from asyncdp_sim.errors import ReplayError
from asyncdp_sim.learning.objectives import constants
from asyncdp_sim.measures import NetworkSummary, summarise
from asyncdp_sim.privacy.label import label
from asyncdp_sim.provenance import (
    cpu_features,
    described,
    digest,
    fingerprints,
    git_commit,
    network_digest,
    versions,
)
from asyncdp_sim.result import (
    Writer,
    alone_columns,
    event_columns,
    model_columns,
    optimum_columns,
    read_manifest,
    update_columns,
)
from asyncdp_sim.run.account import judge, owner_columns, summary, warnings
from asyncdp_sim.run.honest import honest_summary, learn_alone, owner_figures
from asyncdp_sim.run.problem import Problem, build_dataset, prepare
from asyncdp_sim.run.replicates import (
    Learned,
    learn_all,
    learn_together,
    live_all,
    simulate_all,
)
from asyncdp_sim.run.split import split_psi
from asyncdp_sim.run.workers import Map, one_thread, processes
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.theory.predictions import predict
from asyncdp_sim.timeline import write_timeline
from asyncdp_sim.trace import Trace


@dataclass(frozen=True, eq=False)
class Outcome:
    """All that one scenario gave, in memory.

    Attributes
    ----------
    scenario : Scenario
        What was run, without a sweep.
    dataset : Dataset
    problem : Problem
    numbers : tuple of int
        The replicates that were run, from 1.
    traces : tuple of Trace
        One per replicate.
    learned : Learned
    summary : dict
        The manifest's ``summary``.
    warnings : tuple of str
    alone : array (N, p), optional
        Each owner's own optimum, where ``run.alone`` asks for it.
    """

    scenario: Scenario
    dataset: Dataset
    problem: Problem
    numbers: tuple[int, ...]
    traces: tuple[Trace, ...]
    learned: Learned
    summary: dict[str, Any]
    warnings: tuple[str, ...]
    alone: npt.NDArray[np.float64] | None = None

    @property
    def fingerprints(self) -> dict[str, str]:
        """Digests in layers; see :func:`asyncdp_sim.provenance.fingerprints`."""
        return fingerprints(self.traces, self.learned.curve, self.learned.models)


def run(
    scenario: Scenario,
    *,
    workers: int = 1,
    events: bool = False,
    numbers: Sequence[int] | None = None,
    dataset: Dataset | None = None,
    traces: Sequence[Trace] | None = None,
    run_map: Map | None = None,
) -> Outcome:
    """Simulate, learn and account; nothing is written.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out: this is the base cell.
    workers : int
        Processes, ≥ 1; does not change the result.
    events : bool
        Whether to keep every event.
    numbers : sequence of int, optional
        Which replicates to run (from 1); all of them by default. A replicate is the same alone.
    dataset, traces : optional
        The scenario's own data and traces where they are at hand already, as in a sweep.
    run_map : callable, optional
        A ``map`` over so many processes that are there already; see
        :func:`~asyncdp_sim.run.workers.processes`.

    Raises
    ------
    DataError
        If a data file is not what the scenario says, or an optimum is not found.
    """
    scenario = scenario.base()
    seed = scenario.run.seed
    chosen = tuple(numbers) if numbers is not None else all_numbers(scenario)
    with (
        one_thread(),
        nullcontext(run_map) if run_map is not None else processes(workers) as mapped,
    ):
        ready = Ready.of(scenario, build_dataset(scenario) if dataset is None else dataset)
        task = ready.problem.task
        pool: dict[str, Any] = {"workers": workers, "run_map": mapped}
        if scenario.run.learning == "live":
            network = scenario.network
            traces, learned = live_all(network, task, seed, chosen, events=events, **pool)
        else:
            if traces is None:
                traces = simulate_all(scenario.network, seed, chosen, events=events, **pool)
            learned = learn_all(task, seed, chosen, traces, **pool)
        behaved = summarise(traces, scenario.network.airtime)
        return ready.outcome(chosen, traces, behaved, learned, **pool)


def run_together(all_ready: Sequence["Ready"], traces: Sequence[Trace]) -> Iterator[Outcome]:
    """Learn scenarios that have one network over its traces, in this process.

    Parameters
    ----------
    all_ready : sequence of Ready
        At least one; none learns live.
    traces : sequence of Trace
        One per replicate, of all replicates.

    Yields
    ------
    Outcome
        What :func:`run` gives for each.
    """
    scenario = all_ready[0].scenario
    numbers = all_numbers(scenario)
    with processes(1) as mapped:
        tasks = [each.problem.task for each in all_ready]
        learned = learn_together(tasks, scenario.run.seed, numbers, traces)
        behaved = summarise(traces, scenario.network.airtime)
        for each, found in zip(all_ready, learned, strict=True):
            yield each.outcome(numbers, traces, behaved, found, workers=1, run_map=mapped)


def all_numbers(scenario: Scenario) -> tuple[int, ...]:
    """Return the numbers of a scenario's replicates, from 1."""
    return tuple(range(1, scenario.run.replicates + 1))


@dataclass(frozen=True, eq=False)
class Ready:
    """A scenario with its data and numbers filled in, before anything is simulated.

    Attributes
    ----------
    scenario : Scenario
        Without a sweep.
    dataset : Dataset
    problem : Problem
    alone : array (N, p), optional
        Each owner's own optimum, where ``run.alone`` asks for it.
    """

    scenario: Scenario
    dataset: Dataset
    problem: Problem
    alone: npt.NDArray[np.float64] | None

    @classmethod
    def of(cls, scenario: Scenario, dataset: Dataset) -> "Ready":
        """Fill in a scenario's numbers from its data.

        Raises
        ------
        DataError
            If an optimum is not found, or the data do not fit the model.
        """
        problem = prepare(scenario, dataset)
        alone = learn_alone(scenario.model, problem.records) if scenario.run.alone else None
        return cls(scenario, dataset, problem, alone)

    def outcome(
        self,
        numbers: Sequence[int],
        traces: Sequence[Trace],
        behaved: NetworkSummary,
        learned: Learned,
        *,
        workers: int,
        run_map: Map,
    ) -> Outcome:
        """Account for what was learned over traces, one per number, that ``behaved`` so."""
        scenario, dataset, problem = self.scenario, self.dataset, self.problem
        further = honest_summary(problem, learned.models, self.alone)
        if scenario.run.split:
            split = split_psi(
                scenario.algorithm, problem.task, scenario.run.seed, numbers, traces,
                learned.models, workers=workers, run_map=run_map,
            )  # fmt: skip
            further["psi_split"] = asdict(split)
        judged = judge(scenario, dataset, problem, learned)
        found = (scenario, dataset, problem, traces, learned, judged)
        return Outcome(
            scenario, dataset, problem, tuple(numbers), tuple(traces), learned,
            summary=asdict(behaved) | summary(*found) | further,
            warnings=tuple(warnings(*found)), alone=self.alone,
        )  # fmt: skip


def write(outcome: Outcome, directory: Path, *, updates: bool = True, placed: bool = True) -> None:
    """Write a result directory; it appears whole or not at all.

    Parameters
    ----------
    outcome : Outcome
    directory : Path
        Must not exist.
    updates : bool
        Whether to write ``updates.parquet``.
    placed : bool
        Whether the directory stays where it is, so that data paths are relative to it.

    Raises
    ------
    ResultError
        If the directory exists or cannot be written.
    """
    traces, numbers, curve = outcome.traces, outcome.numbers, outcome.learned.curve
    optimum = outcome.problem.task.objective.optimum
    said = manifest(outcome)
    with Writer(directory, label([said])) as writer:
        if updates:
            writer.table("updates.parquet", update_columns(traces, numbers))
        writer.table("curve.parquet", {name: curve[name] for name in curve.dtype.names or ()})
        owners = owner_columns(outcome.problem, outcome.dataset, traces, numbers)
        owners |= owner_figures(outcome.problem, outcome.learned.models, outcome.alone)
        writer.table("owners.parquet", owners)
        writer.table("models.parquet", model_columns(outcome.learned.models, numbers))
        writer.table("optimum.parquet", optimum_columns(optimum))
        if outcome.alone is not None:
            writer.table("alone.parquet", alone_columns(outcome.alone))
        if all(trace.events is not None for trace in traces):
            writer.table("events.parquet", event_columns(traces, numbers))
            timeline = partial(write_timeline, traces=traces[:1], numbers=numbers[:1])
            writer.stream("timeline.json", timeline)
        writer.scenario(outcome.scenario, placed=placed)
        writer.json("manifest.json", said)


def manifest(outcome: Outcome) -> dict[str, Any]:
    """Return what made a result and what it says in short; no host, no path, no clock time."""
    said = described(outcome.scenario)
    problem = outcome.problem
    return {
        "schema": 1,
        "scenario": said,
        "digest": digest(said),
        "network": network_digest(outcome.scenario, len(outcome.numbers)),
        "seed": outcome.scenario.run.seed,
        "replicates": list(outcome.numbers),
        "events": all(trace.events is not None for trace in outcome.traces),
        "columns": list(outcome.dataset.columns),
        "constants": {
            **asdict(constants(problem.task.objective, problem.records)),
            "noise_bound": problem.xi,
            "least_fitness": problem.task.objective.least,
        },
        "versions": versions(),
        "git_commit": git_commit(),
        "cpu_features": cpu_features(),
        "fingerprints": outcome.fingerprints,
        "predictions": [asdict(each) for each in predict(outcome.scenario.network)],
        "warnings": list(outcome.warnings),
        "summary": outcome.summary,
    }


def reproduce(directory: Path, *, workers: int = 1) -> Outcome:
    """Run a result's scenario again and compare fingerprints.

    Parameters
    ----------
    directory : Path
        A result directory.
    workers : int
        Processes, ≥ 1.

    Raises
    ------
    ResultError
        If the directory is not a result.
    ReplayError
        If the data file or any fingerprint differs, naming what does.
    """
    before = read_manifest(directory, "summary")
    scenario, _ = load(directory / "scenario.toml")
    outcome = run(scenario, workers=workers, events=before["events"] is True)
    after = manifest(outcome)
    differ = [k for k, v in after["fingerprints"].items() if before["fingerprints"].get(k) != v]
    if before["digest"] != after["digest"]:
        differ.append("scenario or data file")
    if len(differ) > 0:
        old = before["versions"]
        differ += [f"version of {k}" for k, v in after["versions"].items() if old.get(k) != v]
        raise ReplayError(f"{directory}: not reproduced: {', '.join(differ)} differ")
    return outcome
