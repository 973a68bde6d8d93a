"""Reductions of traces: what figures draw and tests assert."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.trace import Trace
from asyncdp_sim.units import to_units

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NetworkSummary:
    """How the network of a run behaved, over all replicates.

    Attributes
    ----------
    updates : int
        Updates applied, in all replicates together.
    simulated_time : float
        Mean simulated time of a replicate (time units).
    throughput : float or None
        Updates per time unit; None where no time passed.
    utilisation : float or None
        Share of the simulated time in which some exchange was under way (under ``request``: the
        learner was locked).
    collision_rate : float or None
        Share of answers destroyed by collisions; None where the channel has none.
    refusal_rate : float or None
        Share of the requests that reached the learner and were refused; None without any.
    mean_staleness : float or None
        Mean number of other updates between read and apply; None without updates.
    p_repeat : float or None
        P(i_{k+1} = i_k); None without consecutive updates.
    p_repeat_uniform : float
        Its value 1/N where i_k is independent and uniform, as Theorem 2 of Async assumes.
    """

    updates: int
    simulated_time: float
    throughput: float | None
    utilisation: float | None
    collision_rate: float | None
    refusal_rate: float | None
    mean_staleness: float | None
    p_repeat: float | None
    p_repeat_uniform: float


def summarise(traces: Sequence[Trace]) -> NetworkSummary:
    """Reduce the traces of a run's replicates."""
    updates = sum(len(trace.updates) for trace in traces)
    time = sum(trace.end_tick for trace in traces)
    refused = sum(int(trace.owners["refused"].sum()) for trace in traces)
    served = sum(len(trace.exchanges) for trace in traces)
    pairs = sum(max(0, len(trace.updates) - 1) for trace in traces)
    repeats = sum(repeated(trace) for trace in traces)
    stale = sum(int(trace.updates["staleness"].sum()) for trace in traces)
    return NetworkSummary(
        updates=updates,
        simulated_time=float(to_units(time)) / len(traces),
        throughput=_ratio(updates, float(to_units(time))),
        utilisation=_ratio(sum(busy_ticks(trace) for trace in traces), time),
        collision_rate=None,
        refusal_rate=_ratio(refused, refused + served),
        mean_staleness=_ratio(stale, updates),
        p_repeat=_ratio(repeats, pairs),
        p_repeat_uniform=1 / traces[0].n_owners,
    )


def gaps(trace: Trace) -> Array:
    """Return the times between consecutive updates, the first from time 0 (time units)."""
    return to_units(np.diff(trace.updates["tick"], prepend=0))


def shares(trace: Trace) -> Array:
    """Return each owner's share of the updates, shape (N,); NaN without updates."""
    count = np.bincount(trace.updates["owner"], minlength=trace.n_owners + 1)[1:]
    with np.errstate(invalid="ignore"):
        return count / np.float64(count.sum())


def repeated(trace: Trace) -> int:
    """Return how many updates came from the owner of the update before."""
    owner = trace.updates["owner"]
    return int(np.count_nonzero(owner[1:] == owner[:-1]))


def updates_until_all(trace: Trace) -> int | None:
    """Return the first k by which every owner has contributed; None if one never does."""
    owners, first = np.unique(trace.updates["owner"], return_index=True)
    return int(first.max()) + 1 if len(owners) == trace.n_owners else None


def busy_ticks(trace: Trace) -> int:
    """Return the ticks in which at least one exchange was under way (the union of intervals)."""
    rows = trace.exchanges
    order = np.argsort(rows["read_tick"], kind="stable")
    start, end = rows["read_tick"][order], rows["end_tick"][order]
    if len(start) == 0:
        return 0
    reach = np.maximum.accumulate(end)
    begin = np.maximum(start, np.concatenate([[0], reach[:-1]]))
    return int(np.maximum(reach - begin, 0).sum())


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None
