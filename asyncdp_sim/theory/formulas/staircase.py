"""The staircase law of vectors: a density that is constant on shells of ‖w‖₁ and falls by e^(−ε).

With Δ the L1 sensitivity, b = e^(−ε) and 0 ≤ γ ≤ 1, the density is

    f(w) = a b^m,  m = ⌊‖w‖₁/Δ + 1 − γ⌋,

that is a b^k on ‖w‖₁ ∈ [kΔ, (k + γ)Δ) and a b^(k+1) on [(k + γ)Δ, (k + 1)Δ). A shift s with
‖s‖₁ ≤ Δ changes ‖w‖₁ by at most Δ and so m by at most 1: f(w)/f(w + s) ≤ e^ε, in every dimension p
and for every γ. The coordinates of w depend on one another. Independent coordinates of the
one-dimensional law are not private: at any shift, however small, some |w_j| crosses a step, which
costs ε; spread over all p coordinates, a shift of Δ in all costs pε, on a set of positive measure.

Everything follows from f being a mixture of uniform laws on balls {‖w‖₁ ≤ (M + γ)Δ} of volume
(2(M + γ)Δ)^p/p!, with P(M = m) ∝ b^m (m + γ)^p. Its sums are finite,

    Σ_m b^m (m + γ)^p = p! L_p/(1 − b)^(p+1),  L_p = E b^⌊U_1 + … + U_p + 1 − γ⌋, U_j ~ U(0, 1),

and M is K plus p + 1 geometric numbers, P(K = k) ∝ b^k P(⌊U_1 + … + U_p + 1 − γ⌋ = k): expand
(m + γ)^p in binomial coefficients, with Eulerian numbers, which are those probabilities.

References
----------
Geng, Kairouz, Oh and Viswanath (2015), The staircase mechanism in differential privacy, IEEE
Journal of Selected Topics in Signal Processing 9: the law, optimal for p ≤ 2. Kulesza, Suresh and
Wang (2025), General staircase mechanisms for optimal differential privacy, AISTATS: for every p.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, floor, frexp, ldexp, lgamma, log

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
STEEPEST = 700.0
"""Largest ε that is used: e^(−ε) is still a normal number. Larger ones get the noise of this."""
_FLAT = 1e-9
"""Relative loss of the worst γ up to which the best one is lost in rounding, and ½ is as good."""
_PLACES = np.linspace(1 / 64, 1, 64)
"""Where a best γ = e^(−xε) is looked for, beside even steps."""


@dataclass(frozen=True)
class Staircase:
    """The staircase law at Δ = 1.

    Attributes
    ----------
    epsilon : float
        ε in (0, 700].
    gamma : float
        γ in [0, 1]; 0 and 1 are the same law.
    size : int
        p ≥ 1.
    """

    epsilon: float
    gamma: float
    size: int

    @property
    def variance(self) -> float:
        """E w_j² = 2 E(M + γ)²/((p + 1)(p + 2)) = 2 L_(p+2)/((1 − b)² L_p)."""
        return 2 * self._moment(2)

    @property
    def mean_length(self) -> float:
        """E‖w‖₁ = p E(M + γ)/(p + 1) = p L_(p+1)/((1 − b) L_p)."""
        return self.size * self._moment(1)

    @cached_property
    def log_peak(self) -> float:
        """Logarithm of a = ((1 − b)/2)^p / L_p."""
        return self.size * log(self._rise / 2) - self._log_sum

    @cached_property
    def starts(self) -> Array:
        """P(K = k), shape (p + 1,)."""
        shares, _ = _steps(self.epsilon, np.array([self.gamma]), self.size)
        return shares.reshape(-1)

    @cached_property
    def exceeded(self) -> Array:
        """−ln P(K > k), k < p: K is the number of these that an Exp(1) exceeds, shape (p,)."""
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(np.cumsum(self.starts[:0:-1])[::-1]))

    def log_density(self, length: Array) -> Array:
        """Return ln f at points of this ‖w‖₁."""
        steps: Array = np.floor(length - self.gamma) + 1
        return self.log_peak - self.epsilon * steps

    def cdf(self, length: float) -> float:
        """Return P(‖w‖₁ ≤ x): all balls up to x, and (x/(m + γ))^p of each larger one."""
        if length <= 0:
            return 0.0
        whole = floor(length - self.gamma) + 1
        return self._smaller(whole) + exp(self._log_slope(whole) + self.size * log(length))

    def quantile(self, share: float) -> float:
        """Return the x with P(‖w‖₁ ≤ x) = ``share``, in (0, 1)."""
        whole = self._first(share)
        inside = log(share - self._smaller(whole)) - self._log_slope(whole)
        return min(exp(inside / self.size), whole + self.gamma)

    @property
    def _rise(self) -> float:
        return -expm1(-self.epsilon)

    @cached_property
    def _log_sum(self) -> float:
        return float(_steps(self.epsilon, np.array([self.gamma]), self.size)[1][0])

    def _moment(self, power: int) -> float:
        """Return L_(p+q)/((1 − b)^q L_p)."""
        larger = _steps(self.epsilon, np.array([self.gamma]), self.size + power)[1][0]
        return exp(larger - self._log_sum) / self._rise**power

    def _smaller(self, whole: int) -> float:
        """Return P(M < n): the geometric numbers' sum is negative binomial."""
        from scipy.special import betainc  # only where a bound is worked out

        k = np.arange(min(whole, self.size + 1))
        return float(self.starts[k] @ betainc(self.size + 1, whole - k, self._rise))

    def _log_slope(self, whole: int) -> float:
        """Return ln Σ_(m≥n) P(M = m)/(m + γ)^p, b^n (1 − b)^p/(p! L_p)."""
        peak = self.size * log(self._rise) - self._log_sum
        return peak - lgamma(self.size + 1) - self.epsilon * whole

    def _first(self, share: float) -> int:
        """Return the least n with P(‖w‖₁ ≤ n + γ) ≥ ``share``, by bisection."""
        low, high = -1, 1
        while self.cdf(high + self.gamma) < share:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            reached = self.cdf(middle + self.gamma) >= share
            low, high = (low, middle) if reached else (middle, high)
        return high


def best_gamma(epsilon: float, size: int, power: int = 2) -> float:
    """Return the γ of least E(M + γ)^q: least variance for q = 2, least E‖w‖₁ for q = 1.

    In one dimension 1/(1 + e^(ε/2)) for q = 1; about e^(−ε/(p+1)) for large ε. For small ε no γ is
    better than another, and it is ½. It is rounded to 12 bits, so that it does not depend on the
    processor's last digits; the law is ε-private at any γ.

    Parameters
    ----------
    epsilon : float
        ε > 0 of one answer.
    size : int
        p ≥ 1.
    power : int
        q.
    """
    charge = min(epsilon, STEEPEST)

    def log_moment(gamma: Array) -> Array:
        return _steps(charge, gamma, size + power)[1] - _steps(charge, gamma, size)[1]

    grid = np.unique(np.concatenate([np.linspace(0, 1, 33), np.exp(-charge * _PLACES)]))
    found = log_moment(grid)
    at = 1 + int(np.argmin(found[1:-1]))
    if float(found.max() - found[at]) <= _FLAT:
        return 0.5
    mantissa, exponent = frexp(_least(log_moment, max(grid[at - 1], grid[at] / 8), grid[at + 1]))
    return ldexp(round(mantissa * 4096) / 4096, exponent)


def _least(log_moment: Callable[[Array], Array], low: float, high: float) -> float:
    """Return the γ between these two where the moment is least."""
    from scipy.optimize import minimize_scalar  # only where noise is worked out

    between = (log(low), log(high))
    found = minimize_scalar(
        lambda x: float(log_moment(np.exp([x]))[0]), bounds=between, method="bounded"
    )
    return exp(found.x)


def _steps(epsilon: float, gamma: Array, count: int) -> tuple[Array, Array]:
    """Return P(K = k), shape (G, n + 1), and ln L_n, shape (G,), for n = ``count`` uniforms.

    The Eulerian recursion, all of whose terms are ≥ 0, times b^k and normalised at every n.
    """
    fall, log_sum = exp(-epsilon), np.zeros(len(gamma))
    shares = np.zeros((len(gamma), count + 1))
    shares[:, 0] = 1.0
    k = np.arange(count + 1)
    for n in range(1, count + 1):
        on = np.maximum(n - k[1:] + 1 - gamma[:, None], 0.0) * fall * shares[:, :-1]
        shares = (k + gamma[:, None]) * shares
        shares[:, 1:] += on
        total = shares.sum(axis=1)
        log_sum += np.log(total / n)
        shares /= total[:, None]
    return shares, log_sum
