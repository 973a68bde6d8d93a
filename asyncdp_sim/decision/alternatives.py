"""Another protocol at the same ε, and by how much owners gain more with it than the scenario's."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt
from typing import Any

import numpy as np

from asyncdp_sim.decision.forecast import GainForecast
from asyncdp_sim.decision.gain import Estimate, Gain, of_runs, of_unseen, over_halves

Pairs = Sequence[tuple[Gain, Gain]]
"""Of each owner its gain with the scenario's protocol, and with another one."""


def difference(one: GainForecast, other: GainForecast) -> Estimate:
    """Return how much larger the mean gain with another protocol is, of the same rows and owners.

    Where halves of public rows judge, the estimate is that of
    :func:`~asyncdp_sim.decision.gain.over_halves`; else that of one owner or of several. It is NaN
    where no owner's gain is known with both.

    Parameters
    ----------
    one, other : GainForecast
        With the scenario's protocol and with another one, judged alike.
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
    [pairs], [mean] = halves, means
    return _of_one_owner(pairs, mean) if len(pairs) == 1 else _over_owners(pairs, mean)


def _of_one_owner(pairs: Pairs, difference: float) -> Estimate:
    """Return the difference of one owner's gains, with the sum of their standard deviations.

    How the errors of both gains are correlated is unknown, and no correlation makes it larger. It
    has the fewest degrees of freedom of all parts.
    """
    [(a, b)] = pairs
    parts = [*a.gain.parts, *b.gain.parts]
    deviation = sqrt(a.gain.variance) + sqrt(b.gain.variance)
    degrees = min((degrees for _, degrees in parts), default=1.0)
    return Estimate(difference, ((deviation**2, degrees),))


def _over_owners(pairs: Pairs, mean: float) -> Estimate:
    """Return the mean difference over N owners, with the variance s²/N of differences by owner.

    It covers the rows of each owner and how owners differ; to it adds the variance of runs.
    """
    differences = [b.gain.value - a.gain.value for a, b in pairs]
    by_run = np.mean([b.by_run - a.by_run for a, b in pairs], axis=0)
    of_owners = float(np.var(differences, ddof=1)) / len(pairs)
    runs, unseen = of_runs(by_run, pairs[0][0].redraw), of_unseen([a for a, _ in pairs])
    return Estimate(mean, ((of_owners, len(pairs) - 1.0), *runs, *unseen))


@dataclass(frozen=True, eq=False)
class Alternative:
    """Another protocol for the same owners at the same ε.

    Attributes
    ----------
    name : str
        What it is called in a sentence.
    settings : dict
        Parts of the scenario that it replaces, as tables.
    refused : str or None
        Why it does not fit the scenario; None where it does.
    gains : GainForecast or None
        What owners gain with it; None where it is refused.
    more : Estimate or None
        How much larger the mean gain, or that of the owner that asks, is than with the scenario's
        protocol; in the unit of the errors.
    """

    name: str
    settings: dict[str, Any]
    refused: str | None = None
    gains: GainForecast | None = None
    more: Estimate | None = None
