"""Privacy loss distributions: how private answers are together, rounded to the safe side.

dp-accounting multiplies laws of losses out by fast Fourier transforms. Whatever is approximated is
on one side: a lattice of losses dominates the answers (see ``pairs``),
what is cut off counts as lost, and so does a bound on all floating-point errors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import groupby
from math import ceil, exp, expm1, floor, fsum, inf, log, log1p, log2, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.privacy.accountants.pairs import Lattice, Pair

Array = npt.NDArray[np.float64]
Parts = tuple[tuple[Pair, int], ...]
"""Answers: dominating pairs, and how many answers have each."""
CONVERGED = 2e-4
"""Relative: an ε that halving the interval lowers by less is taken."""
CUT = 1e-6
"""Of δ: what may be cut off a law of losses."""
_MOST = 2**24
"""Losses that are laid out at most; where that is too few, an interval stays coarser."""
_UNLIKE = 12
"""Halvings after which the least of unlike spreads may still be less than an interval."""
_ROUNDING = 2.0**-53
_HAIR = 1 + 1e-11
"""An interval is so much larger that a spread which is a multiple of it but for rounding is one."""
_ORDERS = 20
"""Of Chernoff's bound, the best of which are in their middle."""


@dataclass(frozen=True, eq=False)
class PrivacyLosses:
    """Answers together: an upper bound on their δ(ε).

    Attributes
    ----------
    pmf : DensePLDPmf
        dp-accounting's law of the sum of losses.
    error : float
        What δ may be too low by, through floating point.
    factor : float
        What δ may be too low by besides, relative, ≥ 1.
    pure : float
        The sum of the answers' ε, at which δ is 0.
    """

    pmf: Any
    error: float
    factor: float
    pure: float

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on the least δ at ε; ε may be negative."""
        if epsilon >= self.pure:
            return 0.0
        return min(1.0, self.factor * float(self.pmf.get_delta_for_epsilon(epsilon)) + self.error)

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the least ε ≥ 0 at δ: at most the sum of the answers' ε."""
        return min(self.pure, self.uncapped(delta))

    def uncapped(self, delta: float) -> float:
        """Return the same by the law of losses alone; ∞ where it says nothing at so small a δ."""
        left = (delta - self.error) / self.factor
        return float(self.pmf.get_epsilon_for_delta(left)) if left > 0 else inf


def unlike(kind: Callable[[float], Pair], charge: float, relative: Sequence[float]) -> Parts:
    """Return answers that cost so many times ``charge`` each."""
    return tuple((kind(charge * each), 1) for each in relative)


@lru_cache(maxsize=4096)
def together(parts: Parts, delta: float, finer: int | None = None) -> PrivacyLosses:
    """Return how private answers are together.

    Parameters
    ----------
    parts : tuple of (Pair, int)
        Each at least one answer.
    delta : float
        δ in (0, 1), for which the interval is fine enough and the tails are long enough.
    finer : int, optional
        Into how many intervals the largest spread is divided; absent, so many that twice as many
        lower ε by at most :data:`CONVERGED` of itself, twice in a row.
    """
    if finer is not None:
        return _on_lattice(parts, delta, finer)
    return _converged(parts, delta)[0]


def fineness(parts: Parts, delta: float) -> int:
    """Return into how many intervals the largest spread has to be divided."""
    return _converged(parts, delta)[1]


@lru_cache(maxsize=4096)
def _converged(parts: Parts, delta: float) -> tuple[PrivacyLosses, int]:
    """Return answers on a lattice whose interval was halved until that twice gained little.

    Shorter intervals are more losses, whose rounding may cost more than they gain.
    """
    spreads = [pair.spread for pair, _ in parts]
    finer = 2 ** min(ceil(log2(max(spreads) / min(spreads))), _UNLIKE)
    best, close = (_on_lattice(parts, delta, finer), finer), 0
    least = best[0].uncapped(delta)
    while close < 2 and best[0].error < delta:
        finer *= 2
        found = _on_lattice(parts, delta, finer)
        now = found.uncapped(delta)
        if now < inf and least - now <= CONVERGED * now:
            close += 1
        if now < least:
            best, least = (found, finer), now
        if 2 * found.pmf.size > _MOST or found.error >= delta:
            break
    return best


def _on_lattice(parts: Parts, delta: float, finer: int) -> PrivacyLosses:
    merged, cut = _merged(parts), CUT * delta
    interval = max(pair.spread for pair, _ in merged) / finer * _HAIR
    found = [_power(pair.lattice(interval), count, cut) for pair, count in merged]
    total = reduce(lambda one, other: _product(one, other, cut), found)
    factor = exp(16 * _ROUNDING * sum(count for _, count in merged))
    return PrivacyLosses(
        total.pmf, total.off, factor, fsum(pair.pure * count for pair, count in merged)
    )


@dataclass(frozen=True, eq=False)
class _Sum:
    """A law of summed losses, how far off its δ may be, and at most its masses' L2 norm."""

    pmf: Any
    off: float
    norm: float


def _merged(parts: Parts) -> list[tuple[Pair, int]]:
    """Return answers by pair, in an order that no caller's matters for."""
    ordered = sorted(parts, key=lambda part: (type(part[0]).__name__, repr(part[0])))
    some = groupby(ordered, key=lambda part: type(part[0]))
    return [each for kind, group in some for each in kind.merged(list(group))]


def _power(law: Lattice, count: int, cut: float) -> _Sum:
    """Return the law of the sum of so many losses.

    With X the transform of n masses, each value of it is exact to u c, ‖masses‖₁ being 1
    (c = 8 log₂ n + 16: eight roundings a stage, sixteen for a complex power), and X^K to
    K u c |X|^(K−1). By Parseval's identity that is K u c ‖p^(K−1)‖₂ of the law in L2, and √n times
    as much in L1; transforming back adds n u c ‖p^K‖₂. Both are taken twice, for what is of second
    order.
    """
    from dp_accounting.pld.pld_pmf import DensePLDPmf
    from scipy.fft import next_fast_len

    if count == 1:
        pmf = DensePLDPmf(law.interval, law.lowest, law.masses, law.lost, True)
        return _Sum(pmf, 0.0, float(np.linalg.norm(law.masses)))
    first, last = _likely(law.masses, count, cut)
    n = next_fast_len(max(last - first + 1, len(law.masses)), real=True)
    transform = np.fft.rfft(law.masses, n)
    masses = np.roll(np.fft.irfft(transform**count, n), -first)[: last - first + 1]
    norm = sqrt(_mean(np.abs(transform) ** (2 * count - 2), n))
    off = 2 * _ROUNDING * _stages(n) * norm * (count * sqrt(n) + n)
    lost = cut - expm1(count * log1p(-law.lost))
    lowest = law.lowest * count + first
    pmf = DensePLDPmf(law.interval, lowest, np.maximum(masses, 0.0), lost, True)
    return _Sum(pmf, off, norm)


def _mean(half: Array, n: int) -> float:
    """Return the mean over n frequencies, of which one half is given, the other being like it."""
    alone = half[0] + (half[-1] if n % 2 == 0 else 0.0)
    return float(2 * half.sum() - alone) / n


def _product(one: _Sum, other: _Sum, cut: float) -> _Sum:
    """Return the law of the sum of two losses."""
    pmf, norm = one.pmf.compose(other.pmf, cut), min(one.norm, other.norm)
    n = one.pmf.size + other.pmf.size
    return _Sum(pmf, one.off + other.off + 4 * _ROUNDING * _stages(n) * norm * n, norm)


def _stages(n: int) -> float:
    return 8 * log2(n) + 16


def _likely(masses: Array, count: int, cut: float) -> tuple[int, int]:
    """Return the first and last place of a sum of so many losses; beyond lies at most ``cut``.

    By Chernoff's bound, K ln Σ p_j e^(tj) + ln(2/cut) over t, at orders t about the best one, which
    is √(2 ln(2/cut)/(K σ²)).
    """
    most = len(masses) - 1
    places = np.arange(most + 1)
    mean = float(masses @ places) / float(masses.sum())
    variance = float(masses @ np.square(places - mean))
    tail = log(2 / cut)
    best = sqrt(2 * tail / max(count * variance, 1e-300))
    step = 1 / max(most + 1, int(_ORDERS / 2 / best))
    grown, power, reach = np.exp(step * places), np.ones(most + 1), [inf, inf]
    for times in range(1, _ORDERS + 1):
        power *= grown
        for side, each in enumerate((masses[::-1], masses)):
            bound = (count * log(float(each @ power)) + tail) / (step * times)
            reach[side] = min(reach[side], bound)
    longest = count * most
    return max(0, floor(longest - reach[0])), min(longest, ceil(reach[1]))


__all__ = ["CONVERGED", "Parts", "PrivacyLosses", "fineness", "together", "unlike"]
