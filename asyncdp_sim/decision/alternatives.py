"""Another protocol beside the scenario's, and by how much what it gains is larger."""

from dataclasses import dataclass
from math import isfinite, nan, sqrt
from typing import Any

import numpy as np

from asyncdp_sim.decision.forecast import GainForecast
from asyncdp_sim.decision.gain import Estimate, of_runs, over_halves


def difference(one: GainForecast, other: GainForecast) -> Estimate:
    """Return by how much the gain of another protocol is larger, of the same rows and owners.

    Over halves it is that of :func:`~asyncdp_sim.decision.gain.over_halves`. Over N owners the
    variance by rows is s²/N, s² that of differences between owners: it holds what the rows of each
    leave open, and that owners differ. Of one owner nothing is known of how both errors go
    together, so that their standard deviations add up.

    Parameters
    ----------
    one, other : GainForecast
        Judged alike.
    """
    halves = [
        [(a, b) for a, b in zip(*pair, strict=True) if isfinite(a.gain.value + b.gain.value)]
        for pair in zip(one.judged, other.judged, strict=True)
    ]
    if min(map(len, halves), default=0) == 0:
        return Estimate(nan)
    means = [float(np.mean([b.gain.value - a.gain.value for a, b in half])) for half in halves]
    if len(halves) > 1:
        return over_halves(means)
    [pairs], [value] = halves, means
    if len(pairs) == 1:
        [(a, b)] = pairs
        parts = [*a.gain.parts, *b.gain.parts]
        deviation = sqrt(a.gain.variance) + sqrt(b.gain.variance)
        degrees = min((degrees for _, degrees in parts), default=1.0)
        return Estimate(value, ((deviation**2, degrees),))
    apart = [b.gain.value - a.gain.value for a, b in pairs]
    by_run = np.mean([b.by_run - a.by_run for a, b in pairs], axis=0)
    of_rows = float(np.var(apart, ddof=1)) / len(apart)
    return Estimate(value, ((of_rows, len(apart) - 1.0), *of_runs(by_run, pairs[0][0].redraw)))


@dataclass(frozen=True, eq=False)
class Alternative:
    """Another protocol for the same owners at the same ε.

    Attributes
    ----------
    name : str
    settings : dict
        Parts of the scenario that it replaces.
    refused : str or None
        Why it does not fit the scenario.
    gains : GainForecast or None
    more : Estimate or None
        By how much the mean gain is larger than with the scenario's protocol, or that of the owner
        that asks.
    """

    name: str
    settings: dict[str, Any]
    refused: str | None = None
    gains: GainForecast | None = None
    more: Estimate | None = None
