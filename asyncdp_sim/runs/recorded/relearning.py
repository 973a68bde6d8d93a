"""Learning again over the trace of a rehearsal, by the noise that its owners released."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from asyncdp_sim.errors import Fault, InvariantError, ResultError
from asyncdp_sim.learning.released import ReleasedAnswers
from asyncdp_sim.learning.replay import CellTask, fold
from asyncdp_sim.measures import summarise
from asyncdp_sim.runs.outcome import Ready, RunResult
from asyncdp_sim.runs.problem import Task, build_dataset
from asyncdp_sim.runs.recorded.traces import read_traces
from asyncdp_sim.runs.replicates import Learned, judged, scopes_of, watch_of
from asyncdp_sim.runs.workers import processes
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import Trace


def relearned(
    scenario: Scenario, directory: Path, measured: Mapping[str, Any], numbers: Sequence[int]
) -> RunResult:
    """Return a rehearsal with its models learned anew over the trace that it has recorded.

    Raises
    ------
    ResultError
        If the trace is not there, or damaged.
    """
    ready = Ready.of(scenario, build_dataset(scenario))
    traces = _recorded(directory, scenario, len(numbers))
    learned = learn_released(ready.problem.task, scenario.run.seed, numbers, traces)
    return accounted(ready, numbers, traces, learned, measured)


def accounted(
    ready: Ready,
    numbers: Sequence[int],
    traces: Sequence[Trace],
    learned: Learned,
    measured: Mapping[str, Any],
) -> RunResult:
    """Account for what was learned in a rehearsal."""
    with processes(1) as mapped:
        behaved = summarise(traces, ready.scenario.network.airtime)
        outcome = ready.outcome(numbers, traces, behaved, learned, workers=1, run_map=mapped)
    return replace(outcome, measured=measured)


def learn_released(
    task: Task, seed: int, numbers: Sequence[int], traces: Sequence[Trace]
) -> Learned:
    """Learn over traces, each owner's noise being of its own stream, by the order of release."""
    scopes, watch = scopes_of(seed, numbers, task.owner_numbers), watch_of(task)
    given = ReleasedAnswers(task.reply, scopes, task.steps.answer_size, traces)
    cell = CellTask(task.steps, task.reply, task.record_every, watch)
    [path] = fold(traces, [cell], scopes, task.asks, given=given)
    return judged(task, path, traces, numbers, watch)


def _recorded(directory: Path, scenario: Scenario, count: int) -> tuple[Trace, ...]:
    try:
        traces = read_traces(directory / "traces", scenario.participants(()))
    except (ResultError, InvariantError):
        traces = ()
    if len(traces) != count:
        fault = Fault("", "no readable traces", "allowed is a result directory")
        raise ResultError([fault], str(directory))
    return traces


__all__ = ["accounted", "learn_released", "relearned"]
