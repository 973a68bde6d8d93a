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
    rows.append(["90 % of staleness", *(figure(stale_90(result.traces)) for result in both)])
    rows.append(["largest share of an owner", *(figure(_largest(result)) for result in both)])
    rows.append(["ψ at the end (median)", *(figure(_psi(result)) for result in both)])
    return rows


def cost(found: Rehearsal) -> list[str]:
    """Say how long a unit took, and what the machine took that the simulation does not know."""
    machine, kept = found.measured.measured or {}, found.excess * 1e3
    lines = [f"a unit of time took {number(found.unit)} s"]
    if len(kept) > 0:
        lines.append(
            f"an exchange took {kept.mean():.3g} ms more than was slept (median "
            f"{np.median(kept):.3g}, at most {kept.max():.3g}); a null exchange "
            f"{machine['null_excess_ms']:.3g} ms"
        )
    return lines


def stale_90(traces: Sequence[Trace]) -> float | None:
    """Return the staleness that 90 % of the answers used do not exceed; None without any."""
    stale = np.concatenate([trace.updates["staleness"] for trace in traces])
    return float(np.quantile(stale, 0.9, method="inverted_cdf")) if len(stale) > 0 else None


def _largest(result: RunResult) -> float:
    return float(np.max([shares(trace).max() for trace in result.traces]))


def _psi(result: RunResult) -> float:
    return float(result.summary["psi_final"]["median"])
