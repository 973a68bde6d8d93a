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

An owner's answers are accounted by these distributions: their joint (ε, δ), not a sum of ε. The
family ``privacy.accountant`` names the methods that compute it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context
from functools import cached_property, lru_cache
from math import ceil, exp, expm1, floor, fsum, inf, log, log2, sqrt
from operator import attrgetter
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import FAMILY_BY_NAME, Variant
from asyncdp_sim.core.words import extent
from asyncdp_sim.privacy.accountants import Accountant, Pure, gradients_of
from asyncdp_sim.privacy.budgets import MOST_ANSWERS, BudgetSchedule, pure_answers, pure_total
from asyncdp_sim.privacy.pairs import FALSE_POSITIVES, UNIT, Attacker, Pair, of_pure
from asyncdp_sim.trace import Trace

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
"""θ times the distance above ε, and steps above it, beyond both of which losses contribute less
than TAIL of δ."""


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
        far = max(_FAR, _FAR / theta / self.step) if theta > 0 else inf
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
    count = least = max(1, surely)
    if cost(least) < epsilon:  # else rounding exceeds what ε adds up to, and no more fit
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


@dataclass(frozen=True, eq=False)
class ByLosses(Accountant):
    """Answers whose losses are dominated by pairs: an upper bound on ε(δ) of m of them.

    If κ owners may hold one record, the spending of each is stated at δ/κ, so they jointly spend
    the sum at δ (basic composition).

    Attributes
    ----------
    own : Pure
        The mechanism's own accountant: K_i, the owners' ε_i, and the sum of the answers' ε.
    kind : callable
        Returns the pair that dominates an answer of a charge: an ε, or μ = 1/z of Gaussian answers
        over samples.
    delta : float
        δ in (0, 1).
    sharers : int
        κ ≥ 1.
    allotment : BudgetSchedule, optional
        If answers of an owner cost different amounts: K_i s_ik times the mean charge.
    """

    own: Pure
    kind: PairOf
    delta: float
    sharers: int = 1
    allotment: BudgetSchedule | None = None

    multiplier = None
    answers = property(attrgetter("own.answers"))
    epsilon = property(attrgetter("own.epsilon"))

    @cached_property
    def charges(self) -> Array:
        """ε of a single answer at δ = 0, averaged over an owner's answers, shape (N,).

        K_i times it, rounded, is at most the total.
        """
        charges = self.own.total / self.own.answers
        return np.where(
            charges * self.own.answers > self.own.total, np.nextafter(charges, 0), charges
        )

    def spent(self, released: Ints) -> Array:
        """Return ε at δ/κ of ``released`` answers each, shape (..., N)."""
        charges = self.charges.tolist()
        return self._by_count(released, lambda owner, count: self._of(owner, charges[owner], count))

    def together(self, released: Ints, owners: int, factor: Array | float = 1.0) -> float:
        """Return the sum of the κ largest ε at δ/κ: (ε, δ) of a record that they share."""
        louder = self.charges * factor
        epsilons = map(self._of, range(len(louder)), louder.tolist(), released.tolist())
        return float(np.sort(list(epsilons))[-owners:].sum())

    def attacker(self, released: Ints) -> Attacker:
        """Return the attacker's limits after ``released`` answers of each owner, shape (..., N)."""
        limits = self._by_count(released, self._told)
        return Attacker(limits[..., 0], limits[..., 1])

    def _by_count(self, released: Ints, of: Callable[[int, int], Any]) -> Array:
        """Return ``of``(owner, answers) of all owners, (..., N, ·), each computed once."""
        columns = []
        for owner in range(released.shape[-1]):
            counts, places = np.unique(released[..., owner], return_inverse=True)
            distinct = np.array([of(owner, count) for count in counts.tolist()])
            columns.append(distinct[places.reshape(released.shape[:-1])])
        return np.stack(columns, axis=released.ndim - 1)

    def _told(self, owner: int, count: int) -> tuple[float, float]:
        if count == 0:
            return FALSE_POSITIVES, 0.0
        if not np.isfinite(self.charges[owner]):
            return 1.0, 1.0
        return _told(*self._asked(owner, float(self.charges[owner]), count))

    def losses(self, owner: int, count: int, *, tilted: bool) -> Composition:
        """Return the losses of ``count`` ≥ 1 answers of an owner (from 0) whose ε is finite.

        Parameters
        ----------
        owner, count : int
        tilted : bool
            Whether δ is most accurate near that of the scenario, or where it is large.
        """
        asked = self._asked(owner, float(self.charges[owner]), count)
        return together(*asked, tilted=tilted)

    def _asked(self, owner: int, charge: float, count: int) -> tuple[Parts, float, float]:
        """Return the parts of an owner's first answers, δ, and the step for all answers."""
        every = self._parts(owner, charge, max(count, int(self.answers[owner])))
        delta = self.delta / self.sharers
        return self._parts(owner, charge, count), delta, fine_step(every, delta)

    def _parts(self, owner: int, charge: float, count: int) -> Parts:
        """Return the parts of an owner's first answers; ``charge`` is the mean charge over all."""
        if self.allotment is None:
            return ((self.kind(charge), count),)
        return unlike(self.kind, charge, self.allotment.of_one(owner)[:count])

    def _of(self, owner: int, charge: float, count: int) -> float:
        if count == 0 or charge == 0:
            return 0.0
        if not np.isfinite(charge):
            return charge  # ∞, or what is not known
        spent, every = _epsilon(*self._asked(owner, charge, count)), int(self.answers[owner])
        return spent if count >= every else min(spent, self._of(owner, charge, every))


@lru_cache(maxsize=2**16)
def _epsilon(parts: Parts, delta: float, step: float) -> float:
    return together(parts, delta, step).epsilon(delta)


@lru_cache(maxsize=2**16)
def _told(parts: Parts, delta: float, step: float) -> tuple[float, float]:
    return attacker_of(together(parts, delta, step, tilted=False))


_LINES = 401
"""Number of lines δ(ε) + e^ε f that are evaluated; each is an upper bound on T(f)."""
_FLAT = 40.0
"""The smallest slope used is e^−40."""


def attacker_of(losses: Composition) -> tuple[float, float]:
    """Return T(f) = min over ε of δ(ε) + e^ε f, and the advantage δ(0), of composed answers.

    f is :data:`FALSE_POSITIVES`.
    """
    reach = min(losses.pure, _FLAT)
    slopes = np.linspace(-reach, min(reach, -log(FALSE_POSITIVES)), _LINES).tolist()

    def line(place: int) -> float:
        return losses.delta(slopes[place]) + exp(slopes[place]) * FALSE_POSITIVES

    low, high = 0, _LINES - 1  # lines fall, and then grow
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if line(middle + 1) <= line(middle) else (low, middle)
    pure = of_pure(np.array(losses.pure))
    power = min(1.0, line(low), float(pure.power))
    return power, min(losses.delta(0.0), float(pure.advantage))


POINTS = 41
"""Points of each curve, from ε = 0 to twice the ε spent at δ."""
_SPENDING = np.dtype([("owner", "i4"), ("answers", "i4"), ("epsilon", "f8"), ("delta", "f8")])


def spending_columns(accountant: Accountant, traces: Sequence[Trace]) -> dict[str, Any] | None:
    """Return ``spending``: an upper bound on δ at values of ε, sorted by owner and ε.

    They are for the replicate in which the owner released the most answers.

    Returns
    -------
    dict or None
        None if answers are not composed by their losses. Owners without noise, and owners without
        releases, have no rows.
    """
    single, gradients = gradients_of(accountant)
    if not isinstance(single, ByLosses):
        return None
    most = np.max([trace.released for trace in traces], axis=0)

    curves: dict[tuple[float, int], list[tuple[float, float]]] = {}
    rows: list[tuple[int, int, float, float]] = []
    for owner, key in enumerate(zip(single.charges.tolist(), most.tolist(), strict=True)):
        charge, count = key
        if count > 0 and np.isfinite(charge):
            if key not in curves:  # owners of one charge and count have one curve
                curves[key] = _curve(single, owner, gradients * count)
            rows += [(owner + 1, count, *point) for point in curves[key]]
    table = np.array(rows, dtype=_SPENDING)
    return {name: table[name] for name in _SPENDING.names or ()}


def _curve(accountant: ByLosses, owner: int, count: int) -> list[tuple[float, float]]:
    """Return ε and δ of so many gradients."""
    small, large = (accountant.losses(owner, count, tilted=tilted) for tilted in (True, False))
    most = min(2 * small.epsilon(accountant.delta / accountant.sharers), small.pure)
    return [(e, min(small.delta(e), large.delta(e))) for e in np.linspace(0, most, POINTS).tolist()]


LEAST = 1e-300
"""Smallest allowed δ of one owner, well above the smallest float."""
COMPOSABLE = (1e-20, 1e20)
"""Range of finite ε that losses are composed for."""


def as_published(privacy: Any, rule: str) -> Iterator[Fault]:
    """Yield a fault for each as-published option, of which no proof is known with a rule."""
    bound = privacy.sensitivity
    if privacy.noise != "vector":
        hint = f'allowed with {rule}: "vector"; one draw on all coordinates has no ε'
        yield Fault("privacy.noise", repr(privacy.noise), hint)
    if bound is not None and bound.norm == "l2-as-published":
        hint = f"allowed with {rule}: {privacy.mechanism.norm}, in which an answer costs its ε"
        yield Fault("privacy.sensitivity.norm", repr(bound.norm), hint)


class AccountingKind(Variant):
    """A method of accounting other than adding up ε; by default it composes losses."""

    def charges(
        self,
        pair: PairOf,
        epsilon: Array,
        delta: float,
        answers: Ints,
        allotment: BudgetSchedule | None = None,
    ) -> Array:
        """Return the charge per owner, (N,), of an answer if K_i jointly spend (ε_i, δ).

        Infinite if ε_i is. With an ``allotment``, which gives the ratio of each answer's charge to
        the mean charge, the mean charge.
        """
        relative = [None if allotment is None else allotment.of_one(i) for i in range(len(epsilon))]
        budgets = zip(epsilon.tolist(), answers.tolist(), relative, strict=True)
        return np.array([e if e == inf else charge_of(pair, e, delta, k, r) for e, k, r in budgets])

    def fits(self, pair: PairOf, charge: float, epsilon: float, delta: float) -> int:
        """Return how many answers of a charge are within a finite budget."""
        return answers_of(pair, charge, epsilon, delta, MOST_ANSWERS)

    def accountant(
        self, own: Pure, pair: PairOf, delta: float, sharers: int, allotment: BudgetSchedule | None
    ) -> Accountant:
        """Return the accountant of answers whose single costs the mechanism knows.

        Parameters
        ----------
        own : Pure
            The mechanism's accountant, in which ε adds up.
        pair : callable
            Returns the pair that dominates an answer of an ε.
        delta : float
            δ of the scenario.
        sharers : int
            κ, owners that may hold one record.
        allotment : BudgetSchedule, optional
            If answers of an owner cost different amounts.
        """
        return ByLosses(own, pair, delta, sharers, allotment)

    def faults(self, privacy: Any) -> Iterator[Fault]:
        """Yield a fault for each setting without a proof."""
        named = repr(self.kind)
        mechanism = privacy.mechanism
        if not privacy.hides:
            hint = f"allowed is nothing with mechanism {mechanism.kind}, which costs no ε"
            yield Fault("privacy.accountant", named, hint)
        elif mechanism.pair is None and mechanism.composition != "gaussian":
            hint = "allowed with an accountant: pure or Gaussian noise, whose losses are known"
            yield Fault("privacy.mechanism", repr(mechanism.kind), hint)
        least = LEAST * privacy.overlap
        if privacy.delta is not None and privacy.delta < least:
            hint = f"allowed with an accountant is at least {least:g}"
            yield Fault("privacy.delta", f"{privacy.delta:g}", hint)
        yield from as_published(privacy, "an accountant")
        if privacy.learner is not None:
            hint = "allowed is nothing with an own learner: ε of its copies has to add up"
            yield Fault("privacy.accountant", named, hint)

    def describe(self, accountant: Accountant) -> str:
        """Return the line that ``check`` prints."""
        accountant, _ = gradients_of(accountant)
        if not isinstance(accountant, ByLosses):
            return f"accountant {self.kind}: Gaussian noise has an exact curve, which is kept"
        if accountant.kind(1.0).pure == inf:
            return (
                f"accountant {self.kind}: Gaussian noise on sums over samples, of multiplier "
                f"{extent(1 / accountant.charges)}"
            )
        summed = accountant.charges * accountant.answers
        gain = (
            extent(summed / accountant.epsilon) if np.isfinite(summed).all() else "infinitely many"
        )
        return (
            f"accountant {self.kind}: ε of single answers adds up to {extent(summed)}, {gain} "
            f"times what they cost together at δ = {accountant.delta / accountant.sharers:g}"
        )


class LossDistributions(AccountingKind):
    """Privacy loss distributions: (ε_i, δ) holds for all answers of an owner jointly.

    Laplace answers are composed exactly, other pure ones as randomised response, which dominates
    every ε-private mechanism. Gaussian answers have their exact curve, as without an accountant.
    """

    kind: Literal["pld"] = "pld"


Accounting = Annotated[LossDistributions, FAMILY_BY_NAME]
"""Every accountant besides the mechanism's own; a new one is added here."""
