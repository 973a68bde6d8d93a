"""Reductions of traces, and the summary of a run's network with confidence intervals."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import exp, inf, isinf
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.units import to_units, total_units
from asyncdp_sim.theory.formulas import t_quantile
from asyncdp_sim.trace import ExchangeOutcome, Trace
from asyncdp_sim.trace.recorder import covered


def updates_until_all(trace: Trace) -> int | None:
    """Return the first k by which every owner has contributed; None if one never does."""
    owners, first = np.unique(trace.updates["owner"], return_index=True)
    return int(trace.updates["k"][first.max()]) if len(owners) == trace.n_owners else None


def busy_ticks(trace: Trace) -> int:
    """Return the ticks in which at least one exchange was under way (the union of intervals)."""
    rows = trace.exchanges
    begun = np.maximum(rows["read_tick"], rows["request_tick"])
    order = np.argsort(begun, kind="stable")
    return covered(begun[order], rows["end_tick"][order])


NAMES: dict[str, list[str]] = tomllib.loads(
    files(__package__).joinpath("names.toml").read_text("utf-8")
)
"""What figures of the summary are called on screens, and the unit behind their values."""
POSITIVE, SHARE = (0.0, inf), (0.0, 1.0)
_SHARES = (
    "utilisation", "collision_rate", "loss_rate", "refusal_rate", "mean_online", "fairness",
    "p_repeat",
)  # fmt: skip
RANGES = {"transmissions_per_answer": (1.0, inf)} | dict.fromkeys(_SHARES, SHARE)
"""Ranges of the ratios of a summary that are not just positive."""


def summarise(traces: Sequence[Trace], airtime: float | None = None) -> dict[str, Any]:
    """Return the figures of a run's network over all replicates, as a manifest's summary has them.

    Rates are ratios of sums over the replicates; None where there is nothing to divide by. What
    each figure means stands in the dictionary of columns. ``intervals`` has 95 % confidence
    intervals over replicates by name, within the figure's range; None with one replicate. See
    :meth:`Ratio.interval`.

    Parameters
    ----------
    traces : sequence of Trace
        One per replicate.
    airtime : float, optional
        Time units that an answer takes on a shared channel, if there is one.
    """
    ratios = dict[str, Ratio]()
    for name, of_trace in _PARTS.items():
        parts, totals = np.array([of_trace(trace) for trace in traces], dtype=float).T
        shared = name == "delivered_load" and airtime is not None
        ratios[name] = Ratio(parts * airtime if shared else parts, totals)
    reached = [updates_until_all(trace) for trace in traces]
    counts = [k for k in reached if k is not None]
    stale = [int(trace.updates["staleness"].max()) for trace in traces if len(trace.updates) > 0]
    figures: dict[str, Any] = {name: ratio.value for name, ratio in ratios.items()}
    if airtime is None:
        figures |= dict.fromkeys(_SHARED)
    intervals = {
        name: ratio.interval(RANGES.get(name, POSITIVE)) if figures[name] is not None else None
        for name, ratio in ratios.items()
    }
    figures |= {
        "updates": sum(trace.n_updates for trace in traces),
        "simulated_time": total_units(np.array([t.end_tick for t in traces])) / len(traces),
        "largest_staleness": max(stale, default=None),
        "updates_until_all": sum(counts) / len(counts) if len(counts) == len(traces) else None,
        "p_repeat_uniform": 1 / traces[0].n_owners,
    }
    return {name: figures[name] for name in FIGURES} | {"intervals": intervals}


@dataclass(frozen=True, eq=False)
class Ratio:
    """A figure Σa/Σb over replicates.

    Attributes
    ----------
    part, whole : array (R,)
        a and b, one per replicate.
    """

    part: Array
    whole: Array

    @property
    def value(self) -> float | None:
        """Σa/Σb; None if Σb is 0."""
        whole = float(self.whole.sum())
        return float(self.part.sum()) / whole if whole > 0 else None

    def linear(self) -> Array:
        """Return r + (a − r b)/mean b, (R,): the mean is r, the spread that of r's interval."""
        total = self.whole.sum()
        if total == 0:
            return np.full(len(self.part), np.nan)
        value = self.part.sum() / total
        return np.asarray(value + (self.part - value * self.whole) / self.whole.mean())

    def by_replicate(self) -> Array:
        """Return a/b, (R,); NaN where b is 0."""
        empty = np.full(len(self.part), np.nan)
        return np.asarray(np.divide(self.part, self.whole, out=empty, where=self.whole > 0))

    def interval(self, within: tuple[float, float] = POSITIVE) -> tuple[float, float] | None:
        """Return the 95 % interval of r over replicates, which lies within its range.

        With the half width h = t·sd(a − r b)/(√R mean b) of the linearised ratio, Student's t, it
        is that of ln(r − low), which has the half width h/(r − low), or of a range with two ends
        that of the logit ln((r − low)/(high − r)), h/(r − low) + h/(high − r), transformed back.

        Parameters
        ----------
        within : tuple of float
            Ends of the range, the upper one finite or ∞.

        Returns
        -------
        tuple of float or None
            None with one replicate; r twice where it is an end of its range.
        """
        value, count = self.value, len(self.part)
        if value is None or count < 2:
            return None
        error = np.std(self.part - value * self.whole, ddof=1) / np.sqrt(count) / self.whole.mean()
        half, (low, high) = t_quantile(count - 1, 0.975) * float(error), within
        if not low < value < high:
            return value, value
        if isinf(high):
            factor = exp(half / (value - low))
            return low + (value - low) / factor, low + (value - low) * factor
        odds = (value - low) / (high - value)
        factor = exp(half / (value - low) + half / (high - value))
        below, above = odds / factor, odds * factor
        return low + (high - low) * below / (1 + below), low + (high - low) * above / (1 + above)


Pair = tuple[Any, Any]
"""a and b of a replicate, numbers of Python or NumPy."""


def _waits(trace: Trace) -> Pair:
    """Return the total time from request to query, and how many had one."""
    rows = trace.exchanges
    asked = rows["read_tick"] >= rows["request_tick"]
    waits = rows["read_tick"][asked] - rows["request_tick"][asked]
    return total_units(waits), asked.sum()


def _round_trips(trace: Trace) -> Pair:
    rows = trace.exchanges[trace.exchanges["outcome"] == ExchangeOutcome.applied]
    return total_units(rows["end_tick"] - rows["request_tick"]), len(rows)


def _number_ended(trace: Trace) -> Any:
    """Return how many released answers had an end."""
    return trace.released.sum() - trace.ended(ExchangeOutcome.in_flight).sum()


def _transmissions(trace: Trace) -> Pair:
    sent = trace.exchanges["transmissions"]
    return sent.sum(), np.count_nonzero(sent)


def _jain(trace: Trace) -> Pair:
    """Return (Σu)²/(NΣu²) of a replicate's updates over 1; nothing over 0 without updates."""
    count = trace.ended(ExchangeOutcome.applied).astype(float)
    squares = float((count**2).sum())
    if squares == 0:
        return 0.0, 0.0
    return float(count.sum()) ** 2 / (trace.n_owners * squares), 1.0


def _online(trace: Trace) -> Pair:
    shares = trace.owners["online"][~np.isnan(trace.owners["online"])]
    return shares.sum(), len(shares)


def _repeats(trace: Trace) -> Pair:
    """Return how often owners came twice in a row; nothing over 0 if updates have several."""
    if trace.answers_per_update != 1:
        return 0.0, 0.0
    owner = trace.updates["owner"]
    return np.count_nonzero(owner[1:] == owner[:-1]), max(0, trace.n_updates - 1)


def _refusals(trace: Trace) -> Pair:
    refused = trace.owners["refused"].sum()
    return refused, refused + len(trace.exchanges) - trace.recomputed


def _time(trace: Trace) -> float:
    return float(to_units(trace.end_tick))


_PARTS: dict[str, Callable[[Trace], Pair]] = {
    "throughput": lambda t: (t.n_updates, _time(t)),
    "utilisation": lambda t: (to_units(busy_ticks(t)), _time(t)),
    "offered_load": lambda t: (to_units(t.on_air_ticks), _time(t)),
    "delivered_load": lambda t: (len(t.updates), _time(t)),  # times the airtime of an answer
    "collision_rate": lambda t: (t.ended(ExchangeOutcome.collided).sum(), _number_ended(t)),
    "loss_rate": lambda t: (t.ended(ExchangeOutcome.lost).sum(), _number_ended(t)),
    "refusal_rate": _refusals,
    "transmissions_per_answer": _transmissions,
    "mean_waiting": _waits,
    "mean_round_trip": _round_trips,
    "mean_staleness": lambda t: (t.updates["staleness"].sum(), len(t.updates)),
    "mean_online": _online,
    "fairness": _jain,
    "p_repeat": _repeats,
}
RATIOS = tuple(_PARTS)
"""Figures that are ratios of sums over replicates: what has an interval."""
FIGURES = (
    "updates", "simulated_time", *RATIOS[:11], "largest_staleness", "mean_online",
    "fairness", "updates_until_all", "p_repeat", "p_repeat_uniform",
)  # fmt: skip
"""All of a network, in the order in which files have them."""
_SHARED = ("offered_load", "delivered_load", "collision_rate")
