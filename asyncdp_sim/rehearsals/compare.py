"""Simulated beside measured, in figures that networks are judged by."""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.core.units import in_unit
from asyncdp_sim.core.words import figure, number
from asyncdp_sim.measures import shares
from asyncdp_sim.rehearsals import Rehearsal
from asyncdp_sim.runs import RunResult
from asyncdp_sim.trace import Trace

_FIGURES = {
    "time per replicate (units)": "simulated_time",
    "updates per unit": "throughput",
    "learner busy": "utilisation",
    "refusal rate": "refusal_rate",
    "loss rate": "loss_rate",
    "mean waiting (units)": "mean_waiting",
    "mean staleness": "mean_staleness",
    "P(same owner twice)": "p_repeat",
}
"""Figures of the summary, by what they are called here."""


def beside(found: Rehearsal) -> list[list[str]]:
    """Return a table: what each figure is called, simulated, and measured."""
    both = found.simulated, found.measured
    rows = [["", "simulated", "measured"]]
    made = (figure(result.summary["updates"] / len(result.traces)) for result in both)
    rows.append(["updates per replicate", *made])
    for name, key in _FIGURES.items():
        called = in_unit(name, found.simulated.scenario.run.time_unit)
        rows.append([called, *(figure(result.summary[key]) for result in both)])
    rows.append(["90 % quantile of staleness", *(figure(stale_90(run.traces)) for run in both)])
    rows.append(["largest share of updates", *(figure(_largest(result)) for result in both)])
    rows.append(["ψ at the end (median)", *(figure(_psi(result)) for result in both)])
    return [row for row in rows if row[1:] != ["–", "–"]]


def cost(found: Rehearsal) -> list[str]:
    """Return how long a unit took, and the machine's own time, which the simulation leaves out."""
    machine, kept = found.measured.measured or {}, found.excess * 1e3
    lines = [f"a time unit took {number(found.unit)} s"]
    if len(kept) > 0:
        units = f"{number(found.excess.mean() / found.unit)} units"
        longer = in_unit(units, found.simulated.scenario.run.time_unit)
        lines += [
            f"an exchange took {number(kept.mean())} ms longer than simulated (median "
            f"{number(np.median(kept))} ms, at most {number(kept.max())} ms)",
            f"this is {longer}; a longer --unit makes it smaller",
        ]
    null = number(machine["null_excess_ms"])
    return [*lines, f"an exchange of empty messages, before the run, took {null} ms"]


def stale_90(traces: Sequence[Trace]) -> float | None:
    """Return the staleness that 90 % of the answers used do not exceed; None without any."""
    stale = np.concatenate([trace.updates["staleness"] for trace in traces])
    return float(np.quantile(stale, 0.9, method="inverted_cdf")) if len(stale) > 0 else None


def _largest(result: RunResult) -> float:
    return float(np.max([shares(trace).max() for trace in result.traces]))


def _psi(result: RunResult) -> float:
    return float(result.summary["psi_final"]["median"])
