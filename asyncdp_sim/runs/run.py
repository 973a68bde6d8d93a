"""One scenario: simulate, learn, account, write."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.core.gone import COMMANDS
from asyncdp_sim.core.progress import Progress, beginning
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.data import Dataset
from asyncdp_sim.decision import Judging
from asyncdp_sim.measures.summary import summarise
from asyncdp_sim.results import read_manifest
from asyncdp_sim.runs import replicates
from asyncdp_sim.runs.directory import write
from asyncdp_sim.runs.gains import RUNS as JUDGED_RUNS
from asyncdp_sim.runs.gains import Gains, judge_gains, judging_of
from asyncdp_sim.runs.outcome import RunResult, all_numbers, outcome_of, ready
from asyncdp_sim.runs.problem import Problem, build_dataset
from asyncdp_sim.runs.replay import made_again, numbers_of, require_same
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.predict.all import require_room
from asyncdp_sim.trace import Trace

OnNote = Callable[[str], None]


def run(
    scenario: Scenario,
    *,
    workers: int = 1,
    events: bool = False,
    numbers: Sequence[int] | None = None,
    dataset: Dataset | None = None,
    progress: Progress | None = None,
    gains: Judging | None = None,
) -> RunResult:
    """Simulate, learn and account; nothing is written.

    Parameters
    ----------
    scenario : Scenario
        If it has a sweep, the base cell runs.
    workers : int
        Number of processes, ≥ 1. Results do not depend on it.
    events : bool
        Whether to keep every event.
    numbers : sequence of int, optional
        Which replicates to run (from 1); all of them by default. A replicate is the same alone.
    dataset : Dataset, optional
        The scenario's own data where they are at hand already, as in a sweep.
    progress : Progress, optional
        Receives what is done, of how much.
    gains : Judging, optional
        How to judge what owners gain, where rows are apart from training; absent, it is not judged.

    Raises
    ------
    SpecError
        If this machine has too little memory for it.
    DataError
        If a data file is not what the scenario says, or an optimum is not found.
    """
    scenario = scenario.base()
    require_room(scenario, events=events)
    chosen = tuple(numbers) if numbers is not None else all_numbers(scenario)
    with one_thread(), replicates.processes(workers) as at_work:
        beginning(progress, "preparing records")
        dataset = build_dataset(scenario) if dataset is None else dataset
        problem = ready(scenario, dataset)
        traces, learned = _learned(problem, chosen, at_work, progress, events=events)
        beginning(progress, "judging what was learned")
        network_summary = summarise(traces, scenario.network.airtime)
        outcome = outcome_of(problem, chosen, traces, network_summary, learned, at_work)
        if gains is None:
            return outcome
        beginning(progress, "judging what owners gain")
        found = judge_gains(scenario, dataset, learned.models, gains)
        if found is not None and len(found.gaining) > 0:
            few = chosen[:JUDGED_RUNS]
            left = _if_others_left(problem, found, few, at_work, progress)
            found = replace(found, remaining=left)
        return replace(outcome, gains=found)


def _learned(
    problem: Problem,
    numbers: Sequence[int],
    workers: replicates.Workers,
    progress: Progress | None,
    *,
    events: bool = False,
) -> tuple[list[Trace], replicates.Learned]:
    """Return the networks of replicates, and what is learned over them."""
    scenario, task = problem.scenario, problem.task
    seed, network = scenario.run.seed, scenario.network
    asked: Any = {"events": events, "progress": progress}
    if scenario.run.learning == "live":
        return replicates.live_all(network, task, seed, numbers, workers, **asked)
    traces = replicates.simulate_all(network, seed, numbers, workers, **asked)
    [learned] = replicates.learn_all([task], seed, numbers, traces, workers, progress=progress)
    return traces, learned


def _if_others_left(
    whole: Problem,
    found: Gains,
    numbers: Sequence[int],
    workers: replicates.Workers,
    progress: Progress | None,
) -> Gains | None:
    """Judge the owners that gain once more, in a simulation of them alone."""
    gaining = [whole.scenario.owners.participants[place] for place in found.gaining]
    alone = whole.scenario.replace(owners={"only": gaining}).base()
    problem = ready(alone, whole.dataset.of_owners(found.gaining))
    _, learned = _learned(problem, numbers, workers, progress)
    return judge_gains(alone, problem.dataset, learned.models, found.judging)


def run_together(
    problems: Sequence[Problem], traces: Sequence[Trace], progress: Progress | None = None
) -> Iterator[RunResult]:
    """Learn scenarios that have one network over its traces, in this process.

    Parameters
    ----------
    problems : sequence of Problem
        At least one; none learns live.
    traces : sequence of Trace
        One per replicate, of all replicates.
    progress : Progress, optional
        Receives what is done, of how much.

    Yields
    ------
    RunResult
        What :func:`run` gives for each.
    """
    scenario = problems[0].scenario
    numbers = all_numbers(scenario)
    with replicates.processes(1) as alone:
        tasks = [problem.task for problem in problems]
        learned = replicates.learn_all(
            tasks, scenario.run.seed, numbers, traces, alone, progress=progress
        )
        network_summary = summarise(traces, scenario.network.airtime)
        for problem, item in zip(problems, learned, strict=True):
            yield outcome_of(problem, numbers, traces, network_summary, item, alone)


def reproduce(
    directory: Path,
    *,
    workers: int = 1,
    settings: Sequence[str] = (),
    allow_code: bool = False,
    on_note: OnNote = lambda _: None,
    progress: Progress | None = None,
) -> RunResult:
    """Make a result again from its manifest, and compare all of it with what lies on disk.

    Parameters
    ----------
    directory : Path
        A result directory. One without ``updates.parquet``, as a sweep's cell is, is compared
        without.
    workers : int
        Processes, ≥ 1.
    settings : sequence of str
        Where data files lie now; see :func:`~asyncdp_sim.runs.replay.made_again`.
    allow_code : bool
        Whether code from outside may be executed where the scenario names a class of it.
    on_note : callable
        Told what it was made with, where that is not what is here.
    progress : Progress, optional
        Receives what is done, of how much.

    Raises
    ------
    ResultError
        If the directory is not a result, or was not simulated.
    DataError
        If a data file is nowhere.
    ReplayError
        If the data file, the manifest, ``scenario.toml`` or a table differs, naming what does.
    """
    before = read_manifest(directory, "summary")
    if "measured" in before:
        fault = Fault("", "a result of real processes", f"rehearse is gone: {COMMANDS['rehearse']}")
        raise ResultError([fault], str(directory))
    with made_again(directory, settings, allow_code=allow_code) as (scenario, again):
        numbers = numbers_of(directory, scenario)
        kept_events = before.get("events") is True
        options: Any = {"workers": workers, "events": kept_events, "progress": progress}
        options["gains"] = judging_of(before)
        outcome = run(scenario, **options, numbers=numbers)
        kept = (directory / "updates.parquet").exists()
        write(outcome, again, updates=kept)
        for note in require_same(directory, again):
            on_note(note)
    if not kept:
        on_note(f"{directory} has no updates.parquet to compare")
    return outcome
