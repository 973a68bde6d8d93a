"""Reductions of one trace."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.trace import Trace
from asyncdp_sim.units import to_units

Array = npt.NDArray[np.float64]


def gaps(trace: Trace) -> Array:
    """Return the times between consecutive updates, the first from time 0 (time units)."""
    return to_units(np.diff(trace.update_ticks, prepend=0))


def shares(trace: Trace) -> Array:
    """Return each owner's share of the answers used, shape (N,); NaN without updates."""
    count = np.bincount(trace.updates["owner"], minlength=trace.n_owners + 1)[1:]
    with np.errstate(invalid="ignore"):
        return count / np.float64(count.sum())


def repeated(trace: Trace) -> int:
    """Return how many answers used came from the owner of the one used before."""
    owner = trace.updates["owner"]
    return int(np.count_nonzero(owner[1:] == owner[:-1]))


def updates_until_all(trace: Trace) -> int | None:
    """Return the first k by which every owner has contributed; None if one never does."""
    owners, first = np.unique(trace.updates["owner"], return_index=True)
    return int(trace.updates["k"][first.max()]) if len(owners) == trace.n_owners else None


def busy_ticks(trace: Trace) -> int:
    """Return the ticks in which at least one exchange was under way (the union of intervals)."""
    rows = trace.exchanges
    begun = np.maximum(rows["read_tick"], rows["request_tick"])
    order = np.argsort(begun, kind="stable")
    start, end = begun[order], rows["end_tick"][order]
    if len(start) == 0:
        return 0
    reach = np.maximum.accumulate(end)
    begin = np.maximum(start, np.concatenate([[0], reach[:-1]]))
    return int(np.maximum(reach - begin, 0).sum())
