"""The joint cost of private answers: an upper bound on δ(ε) of all of them.

The losses of an answer are moved to multiples of a step. The law of their sum is a product of
powers of Fourier transforms. The probability that is cut off, and a bound on all rounding errors,
are added to δ.

Floating point resolves 16 digits of the largest probability of a law, but δ may be far smaller. So
a law is tilted first: each probability is multiplied by e^(θ loss) and divided by their sum,
e^Λ(θ). The tilted sum lies about ε at δ for the θ at which Rényi privacy of order θ + 1 states the
least ε, (Λ(θ) + ln κ(θ) + ln 1/δ)/θ with κ = (θ/(θ + 1))^θ/(θ + 1) (Canonne, Kamath and Steinke
2020). Apart from the margins for rounding, the result is at most that ε; the factor e^(Λ − θε)
converts back to δ. Time and memory are bounded: if a finer step would be needed, the stated ε is
larger. Proofs: ``docs/privacy/accountants.md``.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context
from functools import lru_cache
from math import ceil, exp, expm1, floor, fsum, inf, log, log2, sqrt
from typing import Any, NamedTuple

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.privacy.accountants.pairs import UNIT, Pair
from asyncdp_sim.privacy.budgets import pure_answers, pure_total

Parts = tuple[tuple[Pair, int], ...]
"""Dominating pairs, and how many answers have each."""
PairOf = Callable[[float], Pair]
"""Returns the pair of an answer of a charge."""
CONVERGED = 2e-5
"""Relative: a step is fine enough if halving it lowers the ε of Rényi privacy by less."""
CUT = 1e-9
"""Probability, as a share of δ, that a loss is larger than the stored ones."""
TAIL = 2.0**-54
"""The probability that the tilted sum is outside its window."""
SLACK = 7.0
"""How far ln δ of Rényi privacy at the tilt may exceed the minimum; tails are lighter there."""
COARSE, CELLS, WINDOW = 2**12, 2**18, 2**21
"""Cells of a law from which orders are found; the most cells; the most steps of all windows."""
GROUPS = 64
"""The most groups that many unequal answers form; few have 2¹⁶/K."""
DIGITS = 6
"""Digits of a charge, which is rounded down: equal on machines with different rounding."""
_WITHIN = 1 - 2.0**-49
"""Factor for charges that rounding would make add up to more than ε."""
_STEEP = 4000.0
"""Largest θ times the largest loss: a bounded law hardly changes beyond."""
_LEAST = 5e-324
"""The smallest float."""
_FAR = 45.0
"""θ times the distance above ε beyond which losses contribute less than TAIL of δ."""


class LossLaw(NamedTuple):
    """The losses of answers of one pair on multiples of a step; P(−loss) is e^−loss P(loss)."""

    step: float
    logs: Array
    """ln P(loss = j step), j = 0 … n."""
    beyond: float
    """P(loss is beyond ± n step)."""
    answers: int
    """How many answers have this law."""


Laws = tuple[LossLaw, ...]


def _law(pair: Pair, answers: int, step: float, beyond: float) -> LossLaw:
    """Return the law with the pair's δ at every multiple of the step, and at least it between.

    The mass of a cell goes to its two ends such that its probabilities under P and Q are unchanged
    (Doroshenko and others 2022, Connect the dots).
    """
    top = pair.top(beyond)
    n = max(1, ceil(top / step))
    cells = pair.cells(step, n if n * step >= top else n + 1)
    with np.errstate(divide="ignore"):
        lower, upper = cells.logs + np.log1p(-cells.upper), cells.logs + np.log(cells.upper)
    lower[0] += log(2.0)  # as much comes from the cell below 0
    logs = np.logaddexp(np.append(lower, -inf), np.append(-inf, upper))
    return LossLaw(step, logs, cells.beyond, answers)


def _laws(parts: Parts, delta: float, step: float) -> Laws:
    return tuple(_law(pair, answers, step, _cut(parts, delta)) for pair, answers in parts)


def _cut(parts: Parts, delta: float) -> float:
    """Return the probability that a loss of one answer is larger than the stored ones."""
    return CUT * delta / sum(answers for _, answers in parts)


def _tilted(law: LossLaw, order: float) -> tuple[float, Array]:
    """Return Λ(θ) of an answer, and its tilted probabilities of −n … n steps."""
    losses = law.step * np.arange(len(law.logs))
    above = law.logs + order * losses
    masses = np.concatenate([(above - (2 * order + 1) * losses)[:0:-1], above])
    largest = float(masses.max())
    np.exp(masses - largest, out=masses)
    total = float(masses.sum())
    return largest + log(total), masses / total


def _moments(laws: Laws, order: float) -> tuple[float, float, float]:
    """Return Λ(θ) of all answers, and the mean and the variance of their tilted sum."""
    growth = mean = variance = 0.0
    for law in laws:
        own, masses = _tilted(law, order)
        losses = law.step * np.arange(1 - len(law.logs), len(law.logs))
        middle = float((masses * losses).sum())
        growth, mean = growth + law.answers * own, mean + law.answers * middle
        variance += law.answers * float((masses * np.square(losses - middle)).sum())
    return growth, mean, variance


def _growth(laws: Laws, order: float) -> float:
    """Return Λ(θ) of all answers."""
    return fsum(law.answers * _tilted(law, order)[0] for law in laws)


def _log_kappa(order: float) -> float:
    """Return ln of the largest e^(−θx) (1 − e^−x) of all x > 0."""
    return order * log(order / (order + 1)) - log(order + 1) if order > 0 else 0.0


def _renyi(laws: Laws, order: float, delta: float) -> float:
    """Return the ε at δ that Rényi privacy of order θ + 1 gives."""
    return (_growth(laws, order) + _log_kappa(order) - log(delta)) / order


def _best_order(laws: Laws, delta: float) -> float:
    """Return the approximate θ with the least Rényi ε: θ Λ' − Λ + ln (θ + 1) = ln 1/δ."""

    def gain(order: float) -> float:
        growth, mean, _ = _moments(laws, order)
        return order * mean - growth + log(order + 1)

    most = _STEEP / _largest(laws)
    guess = min(sqrt(-2 * log(delta) / (_moments(laws, 0.0)[2] + laws[0].step ** 2)), most)
    return _crossing(gain, -log(delta), guess, most, 0.01)


def _largest(laws: Laws) -> float:
    return max(law.step * (len(law.logs) - 1) for law in laws)


class TiltOrders(NamedTuple):
    """Orders θ that belong to an ε at δ."""

    best: float
    """The order at which Rényi privacy states the least ε."""
    tilt: float
    """The order of the tilt, which is smaller."""
    down: float
    up: float
    """Distances from the tilt at which Chernoff's bounds on the tilted sum's tails are best."""


@lru_cache(maxsize=8)
def _orders(parts: Parts, delta: float, step: float) -> TiltOrders:
    """Return the orders of a law with this step, or with a larger one that is fine enough."""
    laws = _laws(parts, delta, max(step, _coarse(parts, delta)))
    best = _best_order(laws, delta)
    epsilon = _renyi(laws, best, delta)

    def loss(less: float) -> float:
        return (best - less) * (_renyi(laws, best - less, delta) - epsilon)

    tilt = best - _crossing(loss, SLACK, best / 2, 0.99 * best, 0.1)
    return TiltOrders(best, tilt, *_shifts(laws, tilt))


def _shifts(laws: Laws, tilt: float) -> tuple[float, float]:
    """Return the shifts down and up with approximately the best bounds on the tails."""
    narrow = sqrt(2 * log(2 / TAIL) / (_moments(laws, tilt)[2] + laws[0].step ** 2))
    shifts = np.geomspace(min(0.1 / _largest(laws), narrow / 4), 4 * narrow, 12).tolist()
    base = _growth(laws, tilt)
    down = min(shifts, key=lambda shift: _reach(laws, tilt, base, -shift))
    return down, min(shifts, key=lambda shift: _reach(laws, tilt, base, shift))


def _reach(laws: Laws, tilt: float, base: float, shift: float) -> float:
    """Return a bound that the tilted sum exceeds in one direction with P ≤ TAIL/2."""
    return (_growth(laws, tilt + shift) - base + log(2 / TAIL)) / abs(shift)


def _window(laws: Laws, orders: TiltOrders) -> tuple[int, int]:
    """Return the first and the last computed step of the tilted sum."""
    step, most = laws[0].step, sum(law.answers * (len(law.logs) - 1) for law in laws)
    tilt, base = orders.tilt, _growth(laws, orders.tilt)
    low, high = (_reach(laws, tilt, base, shift) for shift in (-orders.down, orders.up))
    return max(-most, floor(-low / step)), min(most, ceil(high / step))


@dataclass(frozen=True, eq=False)
class Composition:
    """Answers together: an upper bound on their δ(ε).

    Attributes
    ----------
    step, first : float, int
        The law of the sum is computed at (first + j) step, j = 0 … n − 1.
    masses : array (n,)
        Its tilted probabilities.
    order, growth : float
        θ and Λ(θ) of the tilt.
    off, factor : float
        Bounds on the error of δ before it is converted back: absolute, and a factor ≥ 1.
    beyond : float
        P(some loss is larger than the stored ones).
    pure : float
        The sum of the answers' ε, at which δ is 0.
    """

    step: float
    first: int
    masses: Array
    order: float
    growth: float
    off: float
    factor: float
    beyond: float
    pure: float

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on the least δ at ε; ε may be negative."""
        if epsilon < 0:  # of a symmetric pair
            return -expm1(epsilon) + exp(epsilon) * self.delta(-epsilon)
        if epsilon >= self.pure:
            return 0.0
        theta, place = self.order, max(0, floor(epsilon / self.step) - self.first)
        far = _FAR / theta / self.step if theta > 0 else inf
        masses = self.masses[place : place + ceil(min(far, len(self.masses)))]
        above = self.step * (self.first + place + np.arange(len(masses))) - epsilon
        above = np.maximum(above, 0.0)
        tilted = float((masses * np.exp(-theta * above) * -np.expm1(-above)).sum())
        tilted = max(_LEAST, self.factor * tilted + self.off)
        logs = self.growth - theta * epsilon + log(tilted)
        return min(1.0, max(_LEAST, exp(min(logs, 0.0))) + self.beyond)

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the least ε ≥ 0 at δ: at most the sum of the answers' ε."""
        return min(self.pure, self.uncapped(delta))

    def uncapped(self, delta: float) -> float:
        """Return the same from the law of losses alone; ∞ if δ is below its errors."""
        from scipy.optimize import brentq  # a slow import

        def off(epsilon: float) -> float:
            return log(max(self.delta(epsilon), _LEAST)) - log(delta)

        high = self.step * (self.first + len(self.masses))
        if self.order > 0 and delta > self.beyond:
            bound = self.growth + _log_kappa(self.order) - log(delta - self.beyond)
            high = min(high, bound / self.order + 1 / self.order)
        if high <= 0 or off(0.0) <= 0:
            return 0.0 if off(0.0) <= 0 else inf
        if off(high) > 0:
            return inf
        low, less = high, min(high, 1 / self.order if self.order > 0 else high)
        while off(low) < 0:
            low, less = max(0.0, low - less), 2 * less
        root = float(brentq(off, low, high, xtol=1e-10 * high))
        while self.delta(root) > delta:
            root += 1e-10 * high
        return root


def _alone(law: LossLaw, pure: float) -> Composition:
    """Return δ(ε) of a single answer; this needs no Fourier transform."""
    growth, masses = _tilted(law, 0.0)
    factor = exp(UNIT * (4000 + 4 * len(masses)))
    return Composition(
        law.step, 1 - len(law.logs), masses, 0.0, growth, 0.0, factor, law.beyond, pure
    )


def _composed(laws: Laws, tilt: float, window: tuple[int, int], pure: float) -> Composition:
    """Return δ(ε) by a product of Fourier transforms.

    With u the error of a rounding, a value X of a transform of n masses that add up to 1 is exact
    to e = u(8 log₂ n + 16): eight roundings a stage, and sixteen for a complex power. So ∏ X^K is
    exact to e B Σ K/(|X| + e), B = ∏ (|X| + e)^K; the masses of the sum, by Parseval's identity, to
    its root mean square in L2, and to the mean of e B each. Their weights e^(−θx) (1 − e^−x), x
    above ε, are at most κ, add up to at most W, and have at most √(κW) in L2.
    """
    from scipy.fft import next_fast_len

    (low, high), step = window, laws[0].step
    n = next_fast_len(high - low + 1, real=True)
    error = UNIT * (8 * log2(n) + 16)
    product: Any = 1.0
    above, relative, growth, roundings = np.ones(n // 2 + 1), np.zeros(n // 2 + 1), 0.0, 16.0 * n
    for law in laws:
        own, masses = _tilted(law, tilt)
        places = np.arange(1 - len(law.logs), len(law.logs)) % n
        transform = np.fft.rfft(np.bincount(places, masses, n), n)
        product = product * transform**law.answers
        above *= (np.abs(transform) + error) ** law.answers
        relative += law.answers / (np.abs(transform) + error)
        growth += law.answers * own
        roundings += 4 * law.answers * (1000 + abs(own) + tilt * step * len(law.logs))
    kappa, weights = _weights(tilt, step, n)
    mean_square = 2 / n * float(np.square(above * relative).sum())
    off = error * (sqrt(kappa * weights * mean_square) + weights * 2 / n * float(above.sum()))
    off += 2 * kappa * TAIL
    masses = np.maximum(np.roll(np.fft.irfft(product, n), -(low % n))[: high - low + 1], 0.0)
    beyond = fsum(law.answers * law.beyond for law in laws)
    return Composition(step, low, masses, tilt, growth, off, exp(UNIT * roundings), beyond, pure)


def _weights(theta: float, step: float, n: int) -> tuple[float, float]:
    """Return κ, the largest e^(−θx) (1 − e^−x), and a bound on its sum over n steps."""
    if theta == 0:
        return 1.0, n
    kappa, rate = exp(_log_kappa(theta)), theta * step
    return kappa, min(n * kappa, -exp(-rate) * expm1(-step) / expm1(-rate) / expm1(-rate - step))


@lru_cache(maxsize=8)
def together(
    parts: Parts, delta: float, step: float | None = None, *, tilted: bool = True
) -> Composition:
    """Return the composition of private answers.

    Parameters
    ----------
    parts : tuple of (Pair, int)
        Each at least one answer.
    delta : float
        δ in (0, 1), which sets the step and the length of the tails.
    step : float, optional
        Absent, :func:`fine_step`.
    tilted : bool
        True to compute ε at δ; False to compute large δ.
    """
    step = fine_step(parts, delta) if step is None else step
    laws = _laws(parts, delta, step)
    pure = fsum(pair.pure * answers for pair, answers in parts)
    if len(laws) == 1 and laws[0].answers == 1:
        return _alone(laws[0], pure)
    orders = _orders(parts, delta, step) if tilted else TiltOrders(0.0, 0.0, *_shifts(laws, 0.0))
    return _composed(laws, orders.tilt, _window(laws, orders), pure)


@lru_cache(maxsize=4096)
def fine_step(parts: Parts, delta: float) -> float:
    """Return a step that is fine enough, or the smallest that memory allows."""
    coarse = _coarse(parts, delta)
    orders = _orders(parts, delta, coarse)
    low, high = _window(_laws(parts, delta, coarse), orders)
    smallest = coarse * max(COARSE / CELLS, (high - low) * len(parts) / WINDOW)
    step = 2 * COARSE // len(parts) * coarse
    epsilon = _renyi(_laws(parts, delta, step), orders.best, delta)
    while step / 2 >= smallest:
        step /= 2
        before, epsilon = epsilon, _renyi(_laws(parts, delta, step), orders.best, delta)
        if before - epsilon <= CONVERGED * before and orders.best * step < 1:
            break
    return step


def _coarse(parts: Parts, delta: float) -> float:
    """Return the step for which all laws jointly have :data:`COARSE` cells."""
    largest = max(pair.top(_cut(parts, delta)) for pair, _ in parts)
    return largest * len(parts) / COARSE


@lru_cache(maxsize=64)
def groups_of(relative: tuple[float, ...]) -> tuple[tuple[float, int], ...]:
    """Return groups of unequal answers, (charge, number); charges rise slightly if many differ.

    Each answer of a group costs as much as the most expensive one. Groups add equal amounts to the
    sum of squares.
    """
    counts = sorted(Counter(relative).items(), reverse=True)
    groups, most = counts, max(GROUPS, 2**16 // len(relative))
    room = fsum(k * group * group for group, k in counts) / (2 * most) ** 2
    while len(groups) > most:
        groups, added, room = counts[:1], 0.0, 1.2 * room
        for group, answers in counts[1:]:
            dearest, members = groups[-1]
            added += answers * (dearest * dearest - group * group)
            if added > room:
                groups, added = [*groups, (group, answers)], 0.0
            else:
                groups[-1] = (dearest, members + answers)
    return tuple(groups)


def unlike(pair_of: PairOf, charge: float, relative: tuple[float, ...]) -> Parts:
    """Return the parts of answers with the charges ``relative`` times ``charge``."""
    return tuple(
        (pair_of(charge * charge_of_group), answers)
        for charge_of_group, answers in groups_of(relative)
    )


@lru_cache(maxsize=4096)
def charge_of(
    pair_of: PairOf,
    epsilon: float,
    delta: float,
    answers: int,
    relative: tuple[float, ...] | None = None,
) -> float:
    """Return the largest charge, rounded down, with which K answers are jointly (ε, δ)-private.

    Parameters
    ----------
    pair_of : callable
    epsilon : float
        ε > 0, finite.
    delta : float
        δ in (0, 1).
    answers : int
        K ≥ 1.
    relative : tuple of float, optional
        Ratio of each answer's charge to the mean charge, if they differ; the mean is 1.
    """
    least = epsilon / answers if pair_of(epsilon).pure < inf else 0.0  # ε of pure answers adds up
    if answers == 1 and least > 0:  # δ of one answer gives 2δ at most, which is left
        return epsilon
    if least > 0 and (relative is not None or pure_total(least, answers) > epsilon):
        least *= _WITHIN

    def parts(charge: float) -> Parts:
        alike = ((pair_of(charge), answers),)
        return alike if relative is None else unlike(pair_of, charge, relative)

    def cost(charge: float) -> float:
        return together(parts(charge), delta).uncapped(delta)

    def roughly(charge: float) -> float:
        laws = _laws(parts(charge), delta, _coarse(parts(charge), delta))
        return _renyi(laws, _best_order(laws, delta), delta)

    # zero-concentrated privacy of an answer is at most charge²/2 for every kind of pair
    squares = answers if relative is None else fsum(part * part for part in relative)
    need = -log(delta)
    guess = max(least, epsilon / sqrt(squares / 2) / (sqrt(need + epsilon) + sqrt(need)))
    guess = max(least, _crossing(roughly, epsilon, guess, inf, 0.01))
    less = 10.0**-DIGITS
    root = down(_crossing(cost, epsilon, guess, inf, less / 4))
    while root > least and cost(root) > epsilon:
        root, less = down(root * (1 - less)), 2 * less
    return max(least, root)


def down(number: float) -> float:
    """Return a number rounded down to :data:`DIGITS` digits."""
    return float(Context(prec=DIGITS, rounding=ROUND_DOWN).create_decimal(repr(number)))


@lru_cache(maxsize=4096)
def answers_of(pair_of: PairOf, charge: float, epsilon: float, delta: float, most: int) -> int:
    """Return how many answers of a charge are jointly (ε, δ)-private, at most ``most``.

    None are if a single one costs more than ε.

    Parameters
    ----------
    pair_of : callable
    charge, epsilon : float
        The charge of an answer; ε > 0, finite.
    delta : float
        δ in (0, 1).
    most : int
        ≥ 1.
    """
    pair = pair_of(charge)
    surely = pure_answers(charge, epsilon) if pair.pure < inf else 0

    def cost(answers: float) -> float:
        return together(((pair, max(1, int(answers))),), delta).uncapped(delta)

    if surely == 0 and cost(1) > epsilon:
        return 0
    least = max(1, surely)
    count = max(least, int(_crossing(cost, epsilon, least, most, 0.0)))
    while count > least and cost(count) > epsilon:
        count -= 1
    while count < most and cost(count + 1) <= epsilon:
        count += 1
    return count


def _crossing(
    rising: Callable[[float], float], target: float, guess: float, most: float, close: float
) -> float:
    """Return approximately where a rising function reaches a target; ``most`` if it does not.

    The root is bracketed from a guess and computed by Brent's method, to the relative error
    ``close``, or to ½ if that is 0.
    """
    from scipy.optimize import brentq  # a slow import

    def off(place: float) -> float:
        return log(min(max(rising(place) / target, 1e-300), 1e300))

    low = high = guess
    ratio = 1.25
    while off(high) < 0:
        if high == most:
            return most
        low, high, ratio = high, min(high * ratio, most), ratio * ratio
    while off(low) > 0:
        low, high, ratio = low / ratio, low, ratio * ratio
    if close == 0:
        return float(brentq(off, low, high, xtol=0.5))
    return float(brentq(off, low, high, xtol=1e-300, rtol=close))
