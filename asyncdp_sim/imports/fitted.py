"""Laws fitted to durations and to comings and goings, with how well they fit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.words import number
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

Floats = Array
RESAMPLED = 200
"""Resamples of a confidence interval."""
ENOUGH = 20
"""Durations of an owner that are fitted by themselves."""
POOR = 1e-3
"""A law that later durations refute at this level gives way to the durations themselves."""
_LEAST = 1e-9


@dataclass(frozen=True)
class FittedLaw:
    """A law of durations, and how well it fits.

    Attributes
    ----------
    law : Law
    mean : tuple of float
        Ends of a 95 % confidence interval of the mean (bootstrap).
    distance, p : float
        Kolmogorov and Smirnov's distance to durations that the fit has not seen, and how often it
        is as large where the law is true.
    count : int
        Durations fitted.
    """

    law: Law
    mean: tuple[float, float]
    distance: float
    p: float
    count: int

    def __str__(self) -> str:
        if self.law.instant:
            return self.law.kind
        low, high = self.mean
        text = f"{self.law.kind}, mean {number(self.law.mean)} ({number(low)} to {number(high)})"
        if self.law.constant:
            return text
        cv = sqrt(self.law.variance) / self.law.mean
        fit = f"Kolmogorov–Smirnov distance {number(self.distance)} (p {number(self.p)})"
        return f"{text}, cv {number(cv)}, {fit}"


def fit_law(seen: Floats, later: Floats) -> FittedLaw:
    """Return the law that fits durations best, by its likelihood and number of parameters.

    Parameters
    ----------
    seen : array
        What is fitted (time units, ≥ 0).
    later : array
        What the fit is held against; where it refutes every law, the durations are the law.
    """
    if len(seen) == 0 or seen.max() <= _LEAST:
        return FittedLaw(NoTime(), (0.0, 0.0), 0.0, 1.0, len(seen))
    mean = float(seen.mean())
    draws = np.random.default_rng(0).integers(len(seen), size=(RESAMPLED, min(len(seen), 10_000)))
    low, high = (float(q) for q in np.quantile(seen[draws].mean(axis=1), [0.025, 0.975]))
    if seen.std() <= 1e-6 * mean:
        return FittedLaw(Constant(value=mean), (low, high), 0.0, 1.0, len(seen))
    _, law = min(_candidates(np.maximum(seen, _LEAST)), key=lambda pair: pair[0])
    distance, p = _distance(law, later)
    if p < POOR:
        law = Empirical(values=tuple(seen.tolist()))
        distance, p = _distance(law, later)
    return FittedLaw(law, (low, high), distance, p, len(seen))


def information(values: Floats) -> float:
    """Return Schwarz's criterion of the law that fits durations best."""
    if len(values) == 0 or values.std() <= 1e-6 * values.mean():
        return -inf
    return min(_candidates(np.maximum(values, _LEAST)), key=lambda pair: pair[0])[0]


def _candidates(values: Floats) -> list[tuple[float, Law]]:
    """Return laws with the largest likelihood of their kind, each with Schwarz's criterion."""
    from scipy.special import digamma, gammaln, polygamma

    n, mean, logs = len(values), float(values.mean()), np.log(values)
    items = log(n)  # what a parameter costs
    matches: list[tuple[float, Law]] = [(items + 2 * n * (1 + log(mean)), Exponential(mean=mean))]
    mu, s2 = float(logs.mean()), max(float(logs.var()), 1e-12)
    normal = n / 2 * (log(2 * np.pi * s2) + 1) + float(logs.sum())
    if np.expm1(s2) <= WIDEST**2:
        lognormal = Lognormal(mean=exp(mu + s2 / 2), cv=sqrt(np.expm1(s2)))
        matches.append((2 * items + 2 * normal, lognormal))
    gap = max(log(mean) - mu, 1e-9)
    shape = (3 - gap + sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(5):
        slope = 1 / shape - float(polygamma(1, shape))
        shape = max(shape - (log(shape) - float(digamma(shape)) - gap) / slope, shape / 2)
    scale = mean / shape
    likelihood = (shape - 1) * float(logs.sum()) - n * (
        shape + float(gammaln(shape)) + shape * log(scale)
    )
    if shape >= WIDEST_GAMMA**-2:
        matches.append((2 * items - 2 * likelihood, Gamma(mean=mean, cv=1 / sqrt(shape))))
    return matches


def _distance(law: Law, values: Floats) -> tuple[float, float]:
    """Return the distance of durations to a law, and its p."""
    from scipy import stats

    if len(values) == 0:
        return 0.0, 1.0
    generator = np.random.default_rng(0)
    kind: Any = law.kind
    if kind == "empirical":
        result = stats.ks_2samp(np.asarray(law.values), values)  # type: ignore[union-attr]
    else:
        result = stats.kstest(values, _cdf(law, generator))
    return float(result.statistic), float(result.pvalue)


def _cdf(law: Law, generator: np.random.Generator) -> Callable[[Floats], Floats]:
    """Return a law's distribution function, from 10⁶ of its draws: to 10⁻³ and better."""
    drawn = np.sort(law.draw(generator, 1_000_000))  # type: ignore[union-attr]
    return lambda values: np.searchsorted(drawn, values, side="right") / len(drawn)


@dataclass(frozen=True)
class FittedPresence:
    """Clocks and availability, from the gaps between what owners do.

    Attributes
    ----------
    rates : tuple of float
        Ticks per time unit online, per owner.
    rate_errors : tuple of float
        Their standard errors.
    on, off : float
        Mean lengths of periods (time units); infinite and 0 where nobody is ever offline.
    errors : tuple of float
        Standard errors of the logarithms of ``on`` and ``off``.
    gain : float
        By how much the log-likelihood is larger than of owners that are always online.
    """

    rates: tuple[float, ...]
    rate_errors: tuple[float, ...]
    on: float
    off: float
    errors: tuple[float, float]
    gain: float

    @property
    def always(self) -> bool:
        """Whether no owner is ever offline."""
        return self.off == 0

    @property
    def clock(self) -> PoissonClock:
        """The owners' clocks."""
        return PoissonClock(rate=self.rates)

    @property
    def availability(self) -> Availability:
        """When the owners are online."""
        if self.always:
            return Always()
        return OnOff(on=Exponential(mean=self.on), off=Exponential(mean=self.off))

    def lines(self) -> list[str]:
        """Return what was found in words."""
        shown = f"{number(min(self.rates))} to {number(max(self.rates))}"
        worst = max(e / r for e, r in zip(self.rate_errors, self.rates, strict=True))
        entries = [f"clock: poisson, rates {shown} (standard errors up to {100 * worst:.2g} %)"]
        if self.always:
            return [*entries, "availability: always"]
        ends = [
            f"{name} {number(mean)} ({number(mean * exp(-1.96 * e))} to "
            f"{number(mean * exp(1.96 * e))})"
            for name, mean, e in zip(("on", "off"), (self.on, self.off), self.errors, strict=True)
        ]
        share = self.on / (self.on + self.off)
        gain = f"log-likelihood {number(self.gain)} above that of always online"
        online = f"online {100 * share:.3g} % of the time"
        return [*entries, f"availability: on-off, {', '.join(ends)}, {online}, {gain}"]


@dataclass(frozen=True)
class FittedRounds:
    """Owners that take part in each round with a probability; they have no clocks of their own.

    Attributes
    ----------
    shares : tuple of float
        Each owner's probability.
    errors : tuple of float
        Their standard errors.
    count : int
        Rounds.
    """

    shares: tuple[float, ...]
    errors: tuple[float, ...]
    count: int
    clock: PoissonClock | None = None

    @property
    def availability(self) -> Availability:
        """How likely the owners are online when a query arrives."""
        if min(self.shares) == 1:
            return Always()
        return Bernoulli(probability=self.shares)

    def lines(self) -> list[str]:
        """Return what was found in words."""
        shown = f"{number(min(self.shares))} to {number(max(self.shares))}"
        spread = number(max(self.errors))
        part = f"bernoulli, probability {shown} (standard errors up to {spread})"
        always = min(self.shares) == 1
        return [f"availability: {'always' if always else part}, in {self.count:,} rounds"]


def fit_rounds(rounds: Ints, owners: Ints, n: int) -> FittedRounds:
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
    information = np.diag(alone) - np.outer(odds, odds)
    spread = np.sqrt(np.maximum(np.diag(np.linalg.pinv(information)), 0) / count)
    return FittedRounds(tuple(map(float, shares)), tuple(map(float, spread)), count)


def fit_presence(
    gaps: Sequence[Floats], busy: Sequence[Floats], share: float = 1.0
) -> FittedPresence:
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
    from scipy.optimize import minimize

    counts = np.array([len(each) for each in gaps], np.float64)
    means = np.array([each.mean() for each in gaps])
    plain = float((counts * (np.log(1 / means) - 1)).sum())
    joined, before = np.concatenate(gaps), np.concatenate(busy)
    owner = np.repeat(np.arange(len(gaps)), counts.astype(int))

    def rates(a: float, b: float) -> Floats:
        online = b / (a + b) + a / (a + b) * np.exp(-(a + b) * before)
        away = np.bincount(owner, 1 - online) / counts / b
        return np.asarray((a + b) / b / np.maximum(means - away, means * 1e-3))

    def likelihood(logs: Sequence[float]) -> float:
        a, b = np.exp(logs)
        each = rates(a, b)[owner]
        online = b / (a + b) + a / (a + b) * np.exp(-(a + b) * before)
        half = (each + a + b) / 2
        root = np.sqrt(np.maximum(half**2 - each * b, 1e-300))
        fast, slow = half + root, each * b / (half + root)
        early, late = np.exp(-fast * joined), np.exp(-slow * joined)
        here = (fast - b) * early - (slow - b) * late
        density = each * (online * here + (1 - online) * b * (late - early)) / (2 * root)
        return -float(np.log(np.maximum(density, 1e-300)).sum())

    scale = log(float(joined.mean()))
    starts = [(-scale - 1.0 - x, -scale - 1.0 - y) for x in (0.0, 2.0) for y in (0.0, 2.0)]
    result = min(
        (minimize(likelihood, start, method="Nelder-Mead") for start in starts),
        key=lambda each: float(each.fun),
    )
    gain = -float(result.fun) - plain
    a, b = (float(each) for each in np.exp(result.x))
    if gain <= log(len(joined)) or b / (a + b) > 0.995:  # Schwarz's criterion: two parameters
        part = tuple(float(1 / mean) for mean in means)
        wide = tuple(rate / sqrt(n) for rate, n in zip(part, counts, strict=True))
        return FittedPresence(part, wide, inf, 0.0, (0.0, 0.0), gain)
    each = rates(a, b)
    spread = np.array([gap.std() / gap.mean() for gap in gaps]) / np.sqrt(counts)
    return FittedPresence(
        tuple(map(float, each)),
        tuple(map(float, each * spread)),
        1 / a / share,
        1 / b / share,
        _errors(likelihood, result.x),
        gain,
    )


def _errors(function: Callable[[Any], float], at: Floats) -> tuple[float, float]:
    """Return standard errors from the curvature of −log-likelihood."""
    step = 0.02
    steps = np.eye(2) * step
    curvature = np.array(
        [
            [
                function(at + i + j) - function(at + i - j) - function(at - i + j)
                + function(at - i - j)
                for j in steps
            ]
            for i in steps
        ]
    ) / (4 * step**2)  # fmt: skip
    spread = np.diag(np.linalg.pinv(curvature))
    first, second = np.sqrt(np.maximum(spread, 0.0))
    return float(first), float(second)
