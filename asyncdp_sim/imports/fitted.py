"""Laws fitted to durations and to comings and goings, with how well they fit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.words import extent, number
from asyncdp_sim.imports.exchanges import MeasuredTrace
from asyncdp_sim.network.availability import Always, Availability, Bernoulli, OnOff
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import (
    WIDEST,
    WIDEST_GAMMA,
    Constant,
    Empirical,
    Exponential,
    Gamma,
    Law,
    Lognormal,
    NoTime,
)

ENOUGH = 20
"""Durations of an owner in the first half that are fitted separately."""
POOR = 1e-3
"""A law that later durations reject at this level gives way to the durations themselves."""
_LEAST = 1e-9


@dataclass(frozen=True)
class FittedLaw:
    """A law of durations, and how well it fits.

    Attributes
    ----------
    law, half : Law
        Fitted to all durations, and to those of the first half.
    error : float
        Standard error of the mean.
    distance, p : float
        Distance of Kolmogorov and Smirnov between the first half's law and the second half's
        durations, and the probability of one as large if that law is true.
    """

    law: Law
    half: Law
    error: float
    distance: float
    p: float

    def __str__(self) -> str:
        if self.law.instant:
            return self.law.kind
        text = f"{self.law.kind}, mean {number(self.law.mean)} ± {number(self.error)}"
        if self.law.constant:
            return text
        cv = sqrt(self.law.variance) / self.law.mean
        fit = f"Kolmogorov–Smirnov distance {number(self.distance)} (p {number(self.p)})"
        return f"{text}, cv {number(cv)}, {fit}"


def fit_law(first: Array, second: Array) -> FittedLaw:
    """Return the law that fits durations best, by its likelihood and number of parameters.

    Parameters
    ----------
    first, second : array
        Durations of both halves (time units, ≥ 0). Where the second half rejects the law of the
        first, the durations are the law.
    """
    from scipy import stats

    values = np.concatenate([first, second])
    (_, law, _), (_, half, distribution) = _best(values), _best(first)
    if law.constant or len(second) == 0:
        return FittedLaw(law, half, 0.0, 0.0, 1.0)
    error = float(values.std(ddof=1)) / sqrt(len(values))
    test = stats.kstest(second, distribution)
    if test.pvalue < POOR:
        law, half = (Empirical(values=tuple(part.tolist())) for part in (values, first))
        test = stats.ks_2samp(first, second)
    return FittedLaw(law, half, error, float(test.statistic), float(test.pvalue))


def _best(values: Array) -> tuple[float, Law, Callable[[Array], Array]]:
    """Return the least criterion (Schwarz; −∞ of a constant), its law and distribution function."""
    from scipy import stats

    mean = float(values.mean()) if len(values) > 0 else 0.0
    if mean <= _LEAST or values.std() <= 1e-6 * mean:
        law: Law = NoTime() if mean <= _LEAST else Constant(value=mean)
        return -inf, law, lambda at: np.asarray(at >= mean * (1 - 1e-5), float)
    values = np.maximum(values, _LEAST)
    logs, sigma = float(np.log(values).mean()), float(np.log(values).std())
    shape, _, scale = stats.gamma.fit(values, floc=0)
    matches: list[tuple[int, Law, Any]] = [(1, Exponential(mean=mean), stats.expon(scale=mean))]
    if np.expm1(sigma**2) <= WIDEST**2:
        law = Lognormal(mean=exp(logs + sigma**2 / 2), cv=sqrt(np.expm1(sigma**2)))
        matches.append((2, law, stats.lognorm(sigma, scale=exp(logs))))
    if shape >= WIDEST_GAMMA**-2:
        matches.append((2, Gamma(mean=mean, cv=shape**-0.5), stats.gamma(shape, scale=scale)))
    cost = log(len(values))  # of a parameter
    entries = [(n * cost - 2 * fit.logpdf(values).sum(), law, fit.cdf) for n, law, fit in matches]
    return min(entries, key=lambda entry: entry[0])


def fit_laws(trace: MeasuredTrace, middle: float) -> Mapping[str, tuple[FittedLaw, ...]]:
    """Return a law of each stage, or one per owner where Schwarz's criterion prefers them.

    Those of requests before ``middle`` are compared with the others.
    """
    result = {}
    for stage, (values, exchanges) in trace.durations().items():
        early = exchanges.request < middle
        groups = [exchanges.owner == owner for owner in range(len(trace.names))]
        enough = min(int((early & own).sum()) for own in groups) >= ENOUGH
        if not enough or sum(_best(values[own])[0] for own in groups) >= _best(values)[0]:
            groups = [np.ones(len(values), bool)]
        result[stage] = tuple(fit_law(values[own & early], values[own & ~early]) for own in groups)
    return result


@dataclass(frozen=True)
class FittedOwners:
    """Clocks and availability of owners, with standard errors.

    Attributes
    ----------
    clock : PoissonClock
    availability : Availability
    errors : tuple of float
        Standard errors: of each owner's clock rate, then of the logarithms of the mean periods
        online and offline; or, in rounds, of each owner's probability.
    lines : tuple of str
        The same in words.
    """

    clock: PoissonClock
    availability: Availability
    errors: tuple[float, ...]
    lines: tuple[str, ...]


def fit_owners(trace: MeasuredTrace) -> FittedOwners:
    """Return when the owners of a trace ask and are online."""
    if trace.in_rounds:
        return fit_rounds(trace.rounds()[0], trace.owner, len(trace.names))
    return fit_presence(*trace.gaps())


def fit_rounds(rounds: Ints, owners: Ints, n: int) -> FittedOwners:
    """Return how likely each of n owners takes part in a round.

    A round without owners leaves no trace. Given shares s of the rounds that are seen, the
    likelihood is largest where p = s(1 − ∏(1 − p)).
    """
    count = int(rounds.max()) + 1
    seen = np.bincount(owners, minlength=n) / count
    shares, none = seen, 0.0
    for _ in range(1000):
        none = float(np.prod(1 - shares))
        shares = seen * (1 - none)
    # Information per round seen: of each owner alone, less what is lost in empty rounds.
    odds = np.sqrt(none) / (1 - none) / np.maximum(1 - shares, 1e-12)
    alone = 1 / np.maximum(shares * (1 - shares), 1e-12) / (1 - none)
    curvature = np.diag(alone) - np.outer(odds, odds)
    spread = np.sqrt(np.maximum(np.diag(np.linalg.pinv(curvature)), 0) / count)
    always = shares.min() == 1
    part = Always() if always else Bernoulli(probability=tuple(shares.tolist()))
    text = "always" if always else f"bernoulli, {extent(shares)} (± {number(spread.max())})"
    text = f"availability: {text}, in {count:,} rounds"
    return FittedOwners(PoissonClock(), part, tuple(spread.tolist()), (text,))


def fit_presence(gaps: Sequence[Array], busy: Sequence[Array], share: float = 1.0) -> FittedOwners:
    """Return clocks that tick at random while their owners are online, and when these are.

    An owner that comes and goes by exponential periods, with a Poisson clock of rate λ while it is
    online, ticks after gaps of two exponential parts. With a = 1/on, b = 1/off and the roots
    μ₁ > μ₂ of s² − (λ + a + b)s + λb, the density of a gap is λ[q P(t) + (1 − q)O(t)], where

        P(t) = [(μ₁ − b)e^{−μ₁t} − (μ₂ − b)e^{−μ₂t}]/(μ₁ − μ₂),
        O(t) = b[e^{−μ₂t} − e^{−μ₁t}]/(μ₁ − μ₂),

    and q is the chance to be online after having been busy for s: π + (1 − π)e^{−(a+b)s} with
    π = b/(a + b).

    Parameters
    ----------
    gaps : sequence of array
        Of each owner: from when it was free to when it next asked.
    busy : sequence of array
        How long it was busy before each.
    share : float
        Share of the time that gaps count, in (0, 1]; periods online and offline last longer.
    """
    from scipy.optimize import approx_fprime, minimize

    counts = np.array([len(each) for each in gaps], np.float64)
    means = np.array([each.mean() for each in gaps])
    plain = float((counts * (np.log(1 / means) - 1)).sum())
    joined, before = np.concatenate(gaps), np.concatenate(busy)
    owner = np.repeat(np.arange(len(gaps)), counts.astype(int))

    def rates(a: float, b: float) -> tuple[Array, Array]:
        online = b / (a + b) + a / (a + b) * np.exp(-(a + b) * before)
        away = np.bincount(owner, 1 - online) / counts / b
        return online, np.asarray((a + b) / b / np.maximum(means - away, means * 1e-3))

    def likelihood(logs: Sequence[float]) -> float:
        a, b = np.exp(logs)
        online, each = rates(a, b)
        each = each[owner]
        half = (each + a + b) / 2
        root = np.sqrt(np.maximum(half**2 - each * b, 1e-300))
        fast, slow = half + root, each * b / (half + root)
        early, late = np.exp(-fast * joined), np.exp(-slow * joined)
        here = (fast - b) * early - (slow - b) * late
        density = each * (online * here + (1 - online) * b * (late - early)) / (2 * root)
        return -float(np.log(np.maximum(density, 1e-300)).sum())

    scale = log(float(joined.mean()))
    starts = [(-scale - 1.0 - x, -scale - 1.0 - y) for x in (0.0, 2.0) for y in (0.0, 2.0)]
    matches = [minimize(likelihood, start, method="Nelder-Mead") for start in starts]
    best = min(matches, key=lambda each: float(each.fun))
    a, b = (float(each) for each in np.exp(best.x))
    part: Availability = Always()
    text, wide = "always", np.zeros(2)
    each, spread = 1 / means, 1 / np.sqrt(counts)
    if (
        -float(best.fun) > plain + log(len(joined)) and b / (a + b) <= 0.995
    ):  # Schwarz's criterion: two parameters
        each, spread = rates(a, b)[1], spread * [gap.std() / gap.mean() for gap in gaps]
        on, off = 1 / a / share, 1 / b / share
        curvature = approx_fprime(best.x, lambda x: approx_fprime(x, likelihood, 1e-3), 1e-2)
        wide = np.sqrt(np.maximum(np.diag(np.linalg.pinv(curvature)), 0.0))
        part = OnOff(on=Exponential(mean=on), off=Exponential(mean=off))
        online = f"online {100 * on / (on + off):.3g} % of the time"
        worst = f"standard errors up to {100 * max(wide):.2g} %"
        text = f"on-off, on {number(on)}, off {number(off)} ({worst}), {online}"
    clock = f"poisson, rates {extent(each)} (standard errors up to {100 * spread.max():.2g} %)"
    errors = (*(each * spread).tolist(), *wide.tolist())
    lines = f"clock: {clock}", f"availability: {text}"
    return FittedOwners(PoissonClock(rate=tuple(each.tolist())), part, errors, lines)
