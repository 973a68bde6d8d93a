"""Rehearsals: a scenario executed by real processes that talk over TCP on this machine."""

import secrets
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import Progress, beginning
from asyncdp_sim.core.threads import one_thread
from asyncdp_sim.core.words import duration
from asyncdp_sim.rehearsals.config import Order, paced, require_rehearsable
from asyncdp_sim.rehearsals.learner import Rehearsed
from asyncdp_sim.rehearsals.processes import Crew
from asyncdp_sim.rehearsals.transport import TOKEN_BYTES
from asyncdp_sim.runs import Ready, RunResult, all_numbers, run
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.runs.replicates import joined
from asyncdp_sim.runs.traces import accounted
from asyncdp_sim.scenario import Scenario


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """A rehearsal, and the simulation of the same scenario.

    Attributes
    ----------
    measured, simulated : RunResult
    unit : float
        Seconds that a unit of time took.
    excess : array of float (m,)
        Seconds of each exchange that ended in its answer, beyond what its owner slept.
    null : array of float (n,)
        The same of null exchanges, one by one before the run.
    """

    measured: RunResult
    simulated: RunResult
    unit: float
    excess: Array
    null: Array


def rehearse(
    scenario: Scenario,
    *,
    unit: float | None = None,
    progress: Progress | None = None,
    announce: Callable[[str], object] | None = None,
) -> Rehearsal:
    """Execute a scenario by real processes, and simulate it.

    The learner and every owner are processes of this machine that talk over TCP. What a simulation
    draws is drawn from the same streams; times are slept, losses are made by whom they befall.
    Models are learned by the answers that arrive; the noise of an owner's j-th answer is row j of
    its own stream ``("replicate", r, "owner", i, "noise")``.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out.
    unit : float, optional
        Seconds that a unit of time takes, > 0. Absent: all replicates together take a minute.
    progress : Progress, optional
        Told how far it has come.
    announce : callable, optional
        Called with how long it will take, before processes start.

    Raises
    ------
    SpecError
        If it cannot be rehearsed, naming what is in the way, or would take more than an hour.
    DataError
        If a data file is not what the scenario says, or an optimum is not found.
    MachineError
        If a process is killed.
    """
    scenario = scenario.base()
    require_rehearsable(scenario)
    dataset = build_dataset(scenario)
    simulated = run(scenario, dataset=dataset, progress=progress)
    unit, seconds = paced(simulated.traces, unit)
    if announce is not None:
        announce(f"{duration(seconds)}; a unit of time takes {unit:.3g} s (--unit)")
    with one_thread():
        ready = Ready.from_scenario(scenario, dataset)
        parts = _replicates(ready, unit, progress)
        excess = np.concatenate([part.excess for part in parts])
        measured = _told(excess, parts[0].null, unit)
        traces = [part.trace for part in parts]
        learned = joined([part.learned for part in parts])
        outcome = accounted(ready, all_numbers(scenario), traces, learned, measured)
    return Rehearsal(outcome, simulated, unit, excess, parts[0].null)


def _replicates(ready: Ready, unit: float, progress: Progress | None) -> list[Rehearsed]:
    """Rehearse one replicate after the other."""
    scenario, parts = ready.scenario, list[Rehearsed]()
    for number in all_numbers(scenario):
        beginning(progress, "starting processes")
        token = secrets.token_bytes(TOKEN_BYTES)
        seed, task = scenario.run.seed, ready.problem.task
        order = Order(scenario.network, task, seed, number, token, unit)
        with closing(Crew(order, _teller(scenario, number, progress))) as working:
            parts.append(working.run())
    return parts


def _teller(scenario: Scenario, number: int, progress: Progress | None) -> Any:
    before, total = (number - 1) * scenario.run.updates, scenario.run.replicates
    if progress is None:
        return lambda _: None
    all_updates = total * scenario.run.updates
    return lambda updates: progress("rehearsing: updates", before + updates, all_updates)


def _told(excess: Array, null: Array, unit: float) -> dict[str, Any]:
    """Return the manifest's figures of the machine."""
    q90 = partial(np.quantile, q=0.9)
    figures: Any = {"mean": np.mean, "median": np.median, "q90": q90, "largest": np.max}
    excess_ms = {
        name: float(figure(excess * 1e3)) if len(excess) > 0 else None
        for name, figure in figures.items()
    }
    null_excess = float(null.mean() * 1e3)
    return {"unit_seconds": unit, "null_excess_ms": null_excess, "excess_ms": excess_ms}


__all__ = ["Rehearsal", "rehearse"]
