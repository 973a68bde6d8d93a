"""One scenario: simulate, learn, account, and write its result directory."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from asyncdp_sim.comparisons.differences import between, in_words
from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.core.gone import COMMANDS
from asyncdp_sim.core.progress import Progress, beginning
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.data import Dataset
from asyncdp_sim.decision import Judging
from asyncdp_sim.measures.energy import energy_predictions
from asyncdp_sim.measures.summary import summarise
from asyncdp_sim.privacy.composition import spending_columns
from asyncdp_sim.results import SCHEMA, columns, read_manifest
from asyncdp_sim.results import manifest as manifests
from asyncdp_sim.results.write import Writer, remove_leftovers, require_free
from asyncdp_sim.runs import replicates
from asyncdp_sim.runs.gains import RUNS as JUDGED_RUNS
from asyncdp_sim.runs.gains import Gains, judge_gains, judging_of
from asyncdp_sim.runs.outcome import (
    RunResult,
    all_numbers,
    energy_columns,
    outcome_of,
    owner_columns,
    owner_figures,
    ready,
)
from asyncdp_sim.runs.problem import Problem, build_dataset
from asyncdp_sim.runs.replay import made_again, numbers_of, require_same
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.label import Label, label
from asyncdp_sim.theory.predict.all import predict, require_room
from asyncdp_sim.trace import Trace

_TABLES = tuple(f"{name}.parquet" for name in ("updates", "curve", "owners", "models", "optimum"))
"""Files of a run by itself: cells of sweeps keep no updates."""


def finished_or_free(
    scenario: Scenario, directory: Path, *, events: bool, judging: Judging | None = None
) -> bool:
    """Return whether the result of a scenario is in a directory; if not, make sure that it is free.

    The same scenario is the same as resolved: every field, the seed and the replicates among them,
    and the contents of data files, wherever these lie. What a killed run has left beside the
    directory is removed.

    Parameters
    ----------
    scenario : Scenario
        Without a sweep.
    directory : Path
    events : bool
        Whether every event is to be there.
    judging : Judging, optional
        How gains are to be judged, if they are judged at all.

    Raises
    ------
    ResultError
        If something else is there, or a result without the events or otherwise judged, or nothing
        can be written.
    DataError
        If a data file cannot be read.
    """
    # unlike `Path.is_file`, False of any path that cannot be, such as one too long
    if not os.path.isfile(directory / "manifest.json"):
        require_free(directory)
        remove_leftovers(directory)
        return False
    written = read_manifest(directory)
    _require_same(written, scenario, directory)
    _require_complete(written, directory, events, judging)
    return True


def _require_same(written: Mapping[str, Any], scenario: Scenario, directory: Path) -> None:
    """Raise unless a manifest is that of all replicates of a scenario's simulation."""
    asked = manifests.described(scenario)
    if "summary" not in written:
        raise _not_free(directory, "an existing path")
    if "measured" in written:
        raise _not_free(directory, "an existing path, of real processes, not of a simulation")
    differ = list(between("manifest.json", written["scenario"], asked, "asked"))
    complete = written.get("replicates") == list(all_numbers(scenario))
    if len(differ) > 0 or not complete:
        which = in_words(differ) or "of some replicates"
        raise _not_free(directory, f"an existing path, another result ({which})")


def _require_complete(
    written: Mapping[str, Any], directory: Path, events: bool, judging: Judging | None
) -> None:
    """Raise unless a result has its tables, its gains as they are to be judged, and its events."""
    missing = [name for name in _TABLES if not (directory / name).is_file()]
    if len(missing) > 0:
        raise _not_free(directory, f"a damaged result, without {', '.join(missing)}")
    judged = judging_of(written)
    if judging is not None and judged is not None and judging != judged:
        options = f"--material {judged.material:g} --own-best {judged.own_best}"
        raise _not_free(directory, f"an existing path, where gains were judged with {options}")
    if events and written.get("events") is not True:
        problem = "a finished result without events"
        remedy = "allowed is it without --events, or another --out"
        raise ResultError([Fault("--events", problem, remedy)], str(directory))


def _not_free(directory: Path, problem: str) -> ResultError:
    """Return the error of a directory that cannot be written to, or whose result is another."""
    remedy = "allowed is a directory that does not exist yet: name another with --out"
    return ResultError([Fault("--out", problem, remedy)], str(directory))


def write(outcome: RunResult, directory: Path, *, updates: bool = True) -> None:
    """Write a result directory; it appears whole or not at all.

    Parameters
    ----------
    outcome : RunResult
    directory : Path
        Must not exist.
    updates : bool
        Whether to write ``updates.parquet``.

    Raises
    ------
    ResultError
        If the directory exists or cannot be written.
    """
    with build(outcome, directory, updates=updates):
        pass  # leaving the block renames the directory


def build(outcome: RunResult, directory: Path, *, updates: bool = True) -> Writer:
    """Build a result directory beside its place, and return the writer that lets it appear.

    Arguments and errors are those of :func:`write`.
    """
    content, labelled = _labelled(outcome)
    writer = Writer(directory, labelled)
    try:
        _fill(writer, outcome, content, updates)
    except BaseException:
        writer.discard()
        raise
    return writer


def _fill(writer: Writer, outcome: RunResult, content: dict[str, Any], updates: bool) -> None:
    """Write the tables of a result, its scenario, and ``content`` as its manifest."""
    problem, participants = outcome.problem, outcome.problem.participants
    traces, numbers, curve = outcome.traces, outcome.numbers, outcome.learned.curve
    if updates:
        writer.table(
            "updates.parquet", participants.numbered(columns.update_columns(traces, numbers))
        )
    writer.table("curve.parquet", {name: curve[name] for name in curve.dtype.names or ()})
    owners = owner_columns(problem, outcome.ledger, outcome.guarantee, traces, numbers)
    owners |= energy_columns(outcome.scenario, traces)
    owners |= owner_figures(problem, outcome.learned.models)
    writer.table("owners.parquet", participants.numbered(owners))
    writer.table("models.parquet", columns.model_columns(outcome.learned.models, numbers))
    writer.table("optimum.parquet", columns.optimum_columns(problem.task.objective.optimum))
    spending = spending_columns(problem.accountant, traces)
    if spending is not None and outcome.guarantee.is_upper:
        writer.table("spending.parquet", participants.numbered(spending))
    if problem.alone is not None:
        writer.table("alone.parquet", participants.numbered(columns.alone_columns(problem.alone)))
    if outcome.gains is not None:
        writer.table("gains.parquet", outcome.gains.columns(participants))
    if all(trace.events is not None for trace in traces):
        groups = columns.event_groups(traces, numbers)
        writer.row_groups("events.parquet", map(participants.numbered, groups))
    writer.scenario(outcome.scenario)
    writer.put("manifest.json", content)
    writer.put(columns.README, columns.readme(content, writer.columns))


def manifest(outcome: RunResult) -> dict[str, Any]:
    """Return the origin and the summary of a result; no host, no path, no clock time."""
    return _labelled(outcome)[0]


def _labelled(outcome: RunResult) -> tuple[dict[str, Any], Label]:
    """Return the manifest of a result, and its label."""
    written = manifests.described(outcome.scenario)
    problem, participants = outcome.problem, outcome.problem.participants
    network = outcome.scenario.network
    content = {
        "schema": SCHEMA,
        "scenario": written,
        "digest": manifests.digest(written),
        "network": manifests.network_digest(outcome.scenario, len(outcome.numbers)),
        "seed": outcome.scenario.run.seed,
        "replicates": list(outcome.numbers),
        "end_ticks": [int(trace.end_tick) for trace in outcome.traces],
        "events": all(trace.events is not None for trace in outcome.traces),
        "columns": list(outcome.dataset.columns),
        **({"owner_names": list(participants.names)} if len(participants.names) > 0 else {}),
        "constants": {
            **vars(problem.posed.constants),
            "noise_bound": problem.xi,
            "least_fitness": problem.task.objective.least,
        },
        "versions": manifests.versions(),
        "git_commit": manifests.git_commit(),
        "cpu_features": manifests.cpu_features(),
        "blas_kernel": manifests.blas_kernel(),
        "fingerprints": outcome.fingerprints,
        "predictions": [
            dict(vars(item))
            for item in (*predict(network), *energy_predictions(outcome.scenario.energy, network))
        ],
        "warnings": list(outcome.warnings),
        "warning_fields": [item.content() for item in outcome.notices],
        "summary": outcome.summary,
    }
    unit = outcome.scenario.data.target_unit
    if outcome.gains is not None:
        content |= outcome.gains.content(unit, participants)
    if problem.task.held_out is not None and unit is not None:
        content["target_unit"] = unit
    labelled = label([content])  # reads the rest of the manifest
    if outcome.gains is not None:  # as the JSON of a forecast has them
        release = labelled.release
        content |= {"reads": "public" if release else "all", "release": release}
    return content | {"label": labelled.text}, labelled


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
