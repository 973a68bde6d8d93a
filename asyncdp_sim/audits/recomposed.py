"""The joint cost of answers, recomputed for audits: a lower bound on the true cost.

Each step of this lowers δ(ε), or subtracts what it may have added:

- Outcomes of a law are merged to cells, which have one loss each. Post-processing lowers every δ.
- Losses are rounded down to multiples of a step: δ(ε) = E (1 − e^(ε − loss))₊ falls with them.
  Cells are such that merged losses lie close to the multiples. A charge of pure answers is rounded
  down instead: δ(ε) falls with it.
- Noise that is more than 38 standard deviations off is left out.
- The law of the sum is a product of powers of Fourier transforms, tilted to the losses that matter
  at δ. The probability of losses outside its window is at most 2⁻⁵³ (Chernoff), and rounding of
  transforms changes no probability of the sum by more than K (8 log₂ n + 16) 2⁻⁵³.

In all cases of its test ε is at most a thousandth below what is true, or 2 % where more than 256
unequal charges are rounded. The accountant bounds δ from above; nothing is taken from it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, expm1, floor, inf, log, log1p, log2, sqrt
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array

Losses = tuple[Array, Array]
"""Losses of an answer, and the logarithms of their probabilities."""
Law = Callable[[float, float, float], Losses]
"""The losses of an answer by its charge, a step of which they are about multiples, and a width of
cells; as fine as can be, where both are 0."""
Answers = Sequence[tuple[Losses, int]]
"""Losses of answers, and how many have them."""
_VALUES = 2**13
"""Cells of Gaussian noise."""
_WIDE = 38.0
"""Standard deviations of noise, on either side, that are laid out."""
_FINE, _CELLS, _COMMON, _ROOM = 32, 2**8, 2**10, 2**20
"""Steps to the standard deviation of losses, to the largest, also of unequal charges, which are
rounded down to multiples, and in the windows of all laws."""
_TAIL = 2.0**-54
"""The probability that the tilted sum is above its window, or below it."""
_MOVES, _WIDER = 3, 2**6
"""How often ends of cells are moved; steps to a cell where most answers have hardly any loss."""
_STEEP = 1e3
"""About the most that θ times the largest loss is: a bounded law hardly changes beyond."""
_MOST = 1e6
"""Times a charge that costs no more than ε: of this one all δ may be that a record is drawn."""
GROUPS = 2**8
"""Unequal charges, of which there are more, are rounded down to so many."""


def laplace(charge: float, step: float, _width: float) -> Losses:
    """Return the losses of Laplace noise that costs ε₀, in cells of two steps."""
    step = step if step > 0 else charge / _CELLS
    count = floor(charge / step)
    charge = count * step
    middles = step * np.arange(1 - count, count, 2.0)
    logs = (middles + step - charge) / 2 + log(-expm1(-step) / 2)
    return np.append(middles, [-charge, charge]), np.append(logs, [-charge - log(2.0), -log(2.0)])


def response(charge: float, step: float, _width: float) -> Losses:
    """Return the losses of randomised response that costs ε₀: no ε₀-private answer has larger."""
    charge = floor(charge / step) * step if step > 0 else charge
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

    def __call__(self, mu: float, step: float, width: float) -> Losses:
        """Return the losses of one."""
        m, near, far = mu / 2, log1p(-self.probability), log(self.probability)
        x = np.linspace(-_WIDE - m, _WIDE + m, 2 * _VALUES + 1)
        above = np.logaddexp(near, far + m * x - m * m / 2)
        losses = ends = above - above[::-1]
        if width > 0:
            halves = width * (np.unique(np.ceil(losses[_VALUES + 1 :] / width)) - 0.5)
            ends = np.concatenate([-halves[::-1], halves])

        def cells() -> Losses:
            places = np.interp(ends, losses, x)
            first = np.logaddexp(near + _log_masses(places), far + _log_masses(places - m))
            return first - first[::-1], first

        for _ in range(_MOVES if width > 0 else 0):  # of ends, until losses are about multiples
            merged, _ = cells()
            off = np.clip(merged - np.rint(merged / step) * step, -step / 4, step / 4)
            ends[1:-1] -= (off[1:] + off[:-1]) / 2
        return cells()


def _log_masses(ends: Array) -> Array:
    """Return ln P(a standard normal draw is in each cell), by the smaller of its two tails."""
    from scipy.special import log_ndtr  # a slow import

    above = ends[:-1] >= 0
    outer = log_ndtr(np.where(above, -ends[:-1], ends[1:]))
    inner = log_ndtr(np.where(above, -ends[1:], ends[:-1]))
    return np.asarray(outer + np.log(-np.expm1(inner - outer)))


@lru_cache(maxsize=4096)
def epsilon_of(law: Law, costs: tuple[float, ...], delta: float, times: int = 1) -> float:
    """Return at most the least ε at δ of answers that cost so much each, so many times over."""
    if times == 0 or max(costs, default=0.0) in (0.0, inf):
        return max(costs, default=0.0) if times > 0 else 0.0
    values, counts = np.unique(costs, return_counts=True)
    if len(values) > GROUPS:
        width = max(costs) / GROUPS
        values, counts = np.unique(np.floor(np.array(costs) / width) * width, return_counts=True)
    pairs = zip(values.tolist(), counts.tolist(), strict=True)
    return _epsilon(law, [(cost, times * count) for cost, count in pairs if cost > 0], delta)


def charge_of(
    law: Law, epsilon: float, delta: float, relative: tuple[float, ...] = (1.0,), times: int = 1
) -> float:
    """Return the charge of which answers that cost so many times as much cost ε together."""
    from scipy.optimize import brentq  # a slow import

    if epsilon == inf:
        return inf

    def more(charge: float) -> float:
        costs = tuple(charge * cost for cost in relative)
        return epsilon_of(law, costs, delta, times) - epsilon

    squares, need = times * sum(cost * cost for cost in relative), -log(delta)
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


def _tilted(answers: Answers, order: float) -> tuple[list[Array], Array]:
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


def _tilt(answers: Answers, delta: float) -> float:
    """Return θ: about where Rényi privacy of order θ + 1 states the least ε at δ."""
    from scipy.optimize import brentq  # a slow import

    def gain(log_order: float) -> float:
        order = exp(log_order)
        _, (growth, mean, _) = _tilted(answers, order)
        return float(order * mean - growth + log(order + 1) + log(delta))

    most = log(_STEEP / max(float(losses.max()) for (losses, _), _ in answers))
    variance = float(_tilted(answers, 0.0)[1][2])
    guess = log(sqrt(-2 * log(delta) / variance)) if variance > 0 else most
    low = high = min(guess, most)
    while gain(low) > 0:
        low -= 1
    while gain(high) < 0 and high < most:
        high += 1
    return exp(high if gain(high) < 0 else float(brentq(gain, low, high, xtol=0.01)))


def _laid_out(law: Law, charge: float, step: float, tilt: float) -> Losses:
    """Return losses that are multiples of a step but for one offset, by which least is lost at θ.

    In cells as wide as the step, and wider, where rare losses are all that matters.
    """
    candidates = []
    for width in (step, _WIDER * step):
        losses, logs = law(charge, step, width)
        for offset in (-step * 2.0 ** -np.arange(1.0, 31.0)).tolist():
            down = step * np.floor((losses - offset) / step) + offset
            candidates.append((float(np.logaddexp.reduce(logs + tilt * down)), (down, logs)))
    return max(candidates, key=lambda each: each[0])[1]


def _reach(answers: Answers, tilt: float, sign: int) -> float:
    """Return what the tilted sum exceeds in one direction with 2⁻⁵⁴ at most."""
    _, (base, _, variance) = _tilted(answers, tilt)
    need, most = -log(_TAIL), max(float(losses.max()) for (losses, _), _ in answers)
    narrow = sqrt(2 * need / (variance + (most / _CELLS) ** 2))

    def exceeded(shift: float) -> float:
        return float(_tilted(answers, tilt + sign * shift)[1][0] - base + need) / shift

    return min(map(exceeded, np.geomspace(min(0.1 / most, narrow / 4), 4 * narrow, 12).tolist()))


def _epsilon(law: Law, charges: Sequence[tuple[float, int]], delta: float) -> float:
    from scipy.optimize import brentq  # a slow import

    answers = [(law(charge, 0.0, 0.0), count) for charge, count in charges]
    largest = max(float(losses.max()) for (losses, _), _ in answers)
    total = sum(count for _, count in answers)
    tilt, spread = _tilt(answers, delta), sqrt(_tilted(answers, 0.0)[1][2] / total)
    wide = sum(_reach(answers, tilt, sign) for sign in (-1, 1)) * sqrt(len(answers))
    cells = _CELLS if len(answers) == 1 else _COMMON
    finest = max(min(spread / _FINE, largest / cells), wide / _ROOM)
    step = largest * 2.0 ** floor(log2(finest / largest))
    answers = [(_laid_out(law, charge, step, tilt), count) for charge, count in charges]
    low, high = (sign * _reach(answers, tilt, sign) for sign in (-1, 1))
    n = 2 * ceil((high - low) / step / 2) + 2
    laws, (growth, _, _) = _tilted(answers, tilt)
    product: Any = 1.0
    offset = 0.0
    for ((losses, _), count), masses in zip(answers, laws, strict=True):
        places = np.rint((losses - losses[-1]) / step).astype(np.int64)
        offset += count * float(losses[-1])
        product = product * np.fft.rfft(np.bincount(places % n, masses, n), n) ** count
    first = floor((low - offset) / step)
    masses = np.roll(np.fft.irfft(product, n), -(first % n))
    masses = np.maximum(masses - total * (8 * log2(n) + 16) * 2.0**-53, 0.0)
    sums = offset + step * (first + np.arange(n))

    def off(epsilon: float) -> float:
        above = np.maximum(sums - epsilon, 0.0)
        tilted = float(masses @ (np.exp(-tilt * above) * -np.expm1(-above))) - 2 * _TAIL
        return float(growth) - tilt * epsilon + log(max(tilted, 1e-300)) - log(delta)

    high = (float(growth) + tilt * log(tilt / (tilt + 1)) - log(tilt + 1) - log(delta)) / tilt
    low = high = max(0.0, min(high, float(sums[-1])))
    less, close = 1 / tilt, 1e-10 * high
    while off(low) <= 0:
        if low == 0:
            return 0.0
        low, less = max(0.0, low - less), 2 * less
    return max(0.0, float(brentq(off, low, high, xtol=close)) - 2 * close if low < high else high)
