"""The cost of answers together, worked out anew for audits: an estimate, right to a thousandth.

The law of an answer's loss is laid out at many values, tilted towards those that matter at δ, and
shared between multiples of an interval; powers of Fourier transforms make the law of the sum of it.
The accountant's law dominates the true one, and its margins are bounds: nothing is taken from it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, expm1, inf, log, log1p, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Losses = tuple[Array, Array]
"""Values of the loss of an answer, and the logarithms of their probabilities."""
Law = Callable[[float], Losses]
"""The losses of an answer by its charge."""
_VALUES = 2**13
_WIDE = 38.0
"""Standard deviations of noise, on either side, that are laid out."""
_REACH = 12.0
"""Standard deviations, on either side, of the sum that are worked out."""
_FINE, _CELLS, _ROOM = 32, 2**10, 2**19
"""Intervals to the standard deviation and to the largest of an answer's losses; of all, at most."""
_SLACK = 2.0
"""How far ln δ of Rényi privacy at the tilt may be above the least: tails are lighter there."""
_MOST = 1e6
"""Times a charge that costs no more than ε: of this one all δ may be that a record is drawn."""
_NOISE = 1e-12
"""Of the largest probability: what is less may be nothing but rounding."""
_GROUPS = 256
"""Of unequal answers: neighbours are taken for their root mean square."""


def laplace(charge: float) -> Losses:
    """Return the losses of Laplace noise that costs ε₀."""
    width = 2 * charge / _VALUES
    between = width * (np.arange(_VALUES) + 0.5) - charge
    logs = (between + width / 2 - charge) / 2 + log(-expm1(-width / 2) / 2)
    return np.append(between, [-charge, charge]), np.append(logs, [-charge - log(2.0), -log(2.0)])


def response(charge: float) -> Losses:
    """Return the losses of randomised response that costs ε₀: no ε₀-private answer has larger."""
    ends = np.array([-charge, charge])
    return ends, -np.logaddexp(0.0, -ends)


@dataclass(frozen=True)
class Sampled:
    """The losses of Gaussian answers over samples, by μ: a record moves them by μ/2 or −μ/2.

    Attributes
    ----------
    probability : float
        q.
    """

    probability: float

    def __call__(self, mu: float) -> Losses:
        """Return the losses of one."""
        x = np.linspace(-_WIDE - mu, _WIDE + mu, 4 * _VALUES)
        moved, other, without = (-np.square(x - at) / 2 for at in (mu / 2, -mu / 2, 0.0))
        first = np.logaddexp(log(self.probability) + moved, log1p(-self.probability) + without)
        second = np.logaddexp(log(self.probability) + other, log1p(-self.probability) + without)
        return first - second, first + log((x[1] - x[0]) / sqrt(2 * np.pi))


@lru_cache(maxsize=4096)
def epsilon_of(law: Law, costs: tuple[float, ...], delta: float, times: int = 1) -> float:
    """Return ε at δ of answers that cost so much each, possibly infinite, so many times over."""
    if times == 0 or len(costs) == 0 or inf in costs:
        return max(costs, default=0.0) if times > 0 else 0.0
    values, counts = np.unique(costs, return_counts=True)
    if len(values) > _GROUPS:
        groups = np.array_split(np.sort(costs), _GROUPS)
        values = np.array([sqrt(np.square(group).mean()) for group in groups])
        counts = np.array([len(group) for group in groups])
    pairs = zip(values.tolist(), counts.tolist(), strict=True)
    return _epsilon([(law(cost), times * count) for cost, count in pairs], delta)


def charge_of(
    law: Law, epsilon: float, delta: float, relative: tuple[float, ...] = (1.0,), times: int = 1
) -> float:
    """Return the charge of which answers that cost so many times as much cost ε together."""
    from scipy.optimize import brentq  # a slow import

    if epsilon == inf:
        return inf

    def more(charge: float) -> float:
        costs = tuple(charge * each for each in relative)
        return epsilon_of(law, costs, delta, times) - epsilon

    squares, need = times * sum(each * each for each in relative), -log(delta)
    low = high = epsilon / sqrt(squares / 2) / (sqrt(need + epsilon) + sqrt(need))
    most = _MOST * low
    while more(high) <= 0 and high < most:
        low, high = high, 2 * high
    return low if more(high) <= 0 else float(brentq(more, low, high, rtol=1e-7))


def answers_of(law: Law, charge: float, epsilon: float, delta: float) -> int:
    """Return how many answers of a charge cost at most ε, at least one."""
    low, step = 1, 1
    while epsilon_of(law, (charge,), delta, low + step) <= epsilon:
        low, step = low + step, 2 * step
    while step > 1:
        step //= 2
        if epsilon_of(law, (charge,), delta, low + step) <= epsilon:
            low += step
    return low


def _tilted(answers: Sequence[tuple[Losses, int]], order: float) -> tuple[list[Array], Array]:
    """Return tilted probabilities, and the sum's ln E e^(θ loss), tilted mean and variance."""
    laws, sums = [], np.zeros(3)
    for (losses, logs), count in answers:
        law = logs + order * losses
        largest = float(law.max())
        law = np.exp(law - largest)
        total = float(law.sum())
        laws.append(law / total)
        mean = float(laws[-1] @ losses)
        variance = float(laws[-1] @ np.square(losses - mean))
        sums += count * np.array([largest + log(total), mean, variance])
    return laws, sums


def _epsilon(answers: Sequence[tuple[Losses, int]], delta: float) -> float:
    from scipy.optimize import brentq  # a slow import

    def renyi(order: float) -> float:
        """θ times the ε that Rényi privacy of order θ + 1 states."""
        growth = float(_tilted(answers, order)[1][0])
        return growth + order * log(order / (order + 1)) - log(order + 1) - log(delta)

    def gain(log_order: float) -> float:
        order = exp(log_order)
        _, (growth, mean, _) = _tilted(answers, order)
        return float(order * mean - growth + log(order + 1) + log(delta))

    plain = float(_tilted(answers, 0.0)[1][2])
    low = high = log(sqrt(-2 * log(delta) / plain))
    while gain(low) > 0:
        low -= 1
    while gain(high) < 0:
        high += 1
    order = exp(float(brentq(gain, low, high, xtol=0.01)))
    bound = renyi(order) / order
    slower = (order * less for less in np.linspace(0.1, 0.9, 9).tolist())
    tilt = next((each for each in slower if renyi(each) - each * bound <= _SLACK), order)
    laws, (growth, mean, variance) = _tilted(answers, tilt)
    spread = sqrt(plain / sum(count for _, count in answers))
    largest = float(sum(count * losses.max() for (losses, _), count in answers))
    interval = min([spread / _FINE, *(losses.max() / _CELLS for (losses, _), _ in answers)])
    reach = max(_REACH * sqrt(variance), 1.5 * bound - mean)
    reach = min(reach, 2 * largest)
    interval = max(interval, 2 * reach * len(answers) / _ROOM)
    n = 2 * ceil(reach / interval) + 2
    product: Any = 1.0
    for ((losses, _), count), law in zip(answers, laws, strict=True):
        below = np.floor(losses / interval)
        upper, places = losses / interval - below, below.astype(np.int64)
        upper = upper if len(losses) <= _VALUES + 2 else np.rint(upper)
        shared = np.bincount(places % n, law * (1 - upper), n)
        shared += np.bincount((places + 1) % n, law * upper, n)
        product = product * np.fft.rfft(shared, n) ** count
    first = round(mean / interval) - n // 2
    masses = np.roll(np.fft.irfft(product, n), -(first % n))
    masses[masses < _NOISE * masses.max()] = 0.0
    sums = interval * (first + np.arange(n))

    def off(epsilon: float) -> Any:
        above = sums[sums > epsilon] - epsilon
        tilted = float(masses[-len(above) :] @ (np.exp(-tilt * above) * -np.expm1(-above)))
        return growth - tilt * epsilon + log(max(tilted, 1e-300)) - log(delta)

    if off(0.0) <= 0:
        return 0.0
    high = min(largest, float(sums[-2]))
    return largest if off(high) > 0 else float(brentq(off, 0.0, high, xtol=1e-9 * high))
