"""Owners that always have an answer on a channel with the contention of Wi-Fi (802.11 DCF)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.theory.formulas.arguments import count, nonnegative, positive
from asyncdp_sim.theory.formulas.channels import RandomAccess

Station = tuple[int, int]
"""How often its window is doubled, and slots that it still counts."""


@dataclass(frozen=True, kw_only=True)
class Contention:
    """The contents of one slot of contention, in the long run.

    Attributes
    ----------
    idle, success : float
        Probability that nobody sends in it, or one alone.
    sent : float
        Mean number of those that send in it.
    """

    idle: float
    success: float
    sent: float

    def access(
        self, slot: float, airtime: float, after_success: float = 0.0, after_collision: float = 0.0
    ) -> RandomAccess:
        """Return how much gets through per time unit.

        A slot of contention lasts ``slot`` where nobody sends, else the airtime and what follows
        it: E[length] = P(idle) σ + P(success) T_s + P(collision) T_c.

        Parameters
        ----------
        slot, airtime : float
            > 0, in time units.
        after_success, after_collision : float
            ≥ 0: how long the channel stays taken after an answer that survives, or does not.

        Raises
        ------
        SpecError
            If an argument is outside its domain.
        """
        sending = positive("airtime", airtime)
        survived = sending + nonnegative("after_success", after_success)
        collided = sending + nonnegative("after_collision", after_collision)
        length = self.idle * positive("slot", slot) + self.success * survived
        length += (1 - self.idle - self.success) * collided
        return RandomAccess.from_rates(self.success / self.sent, self.sent / length)


def fixed_point(n_owners: int, window: int, doublings: int) -> Contention:
    """Return a slot of contention by Bianchi's fixed point, which is an approximation.

    An attempt meets another with probability p = 1 − (1 − τ)^(N−1), taken to be the same whatever
    has happened before; then an owner sends in a share

        τ = 2(1 − 2p) / ((1 − 2p)(W + 1) + pW(1 − (2p)^m))

    of the slots. Exact for N = 1.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    window : int
        W ≥ 1, slots of the first window: a count is uniform on 0 … W − 1.
    doublings : int
        m ≥ 0: after i collisions in a row the window has W·2^min(i, m) slots.

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Bianchi, Performance analysis of the IEEE 802.11 distributed coordination function (2000), IEEE
    Journal on Selected Areas in Communications 18(3), equations 7 and 9.
    """
    from scipy.optimize import brentq  # only here: a slow import

    owners, first = count("n_owners", n_owners), count("window", window)
    most = count("doublings", doublings, least=0)

    def share(p: float) -> float:
        growth = sum((2 * p) ** i for i in range(most))  # (1 − (2p)^m)/(1 − 2p), also at p = 1/2
        return 2 / (first + 1 + p * first * growth)

    def excess(p: float) -> float:
        return p - 1 + (1 - share(p)) ** (owners - 1)

    sends = share(0.0 if owners == 1 else float(brentq(excess, 0.0, 1.0, xtol=1e-15)))
    idle = (1 - sends) ** owners
    alone = owners * sends * (1 - sends) ** (owners - 1)
    return Contention(idle=idle, success=alone, sent=owners * sends)


def states(n_owners: int, window: int, doublings: int) -> int:
    """Return how many states the chain of :func:`exact` has."""
    places = window * (2 ** (doublings + 1) - 1)
    total = 1
    for i in range(n_owners):
        total = total * (places + i) // (i + 1)
    return total


def exact(n_owners: int, window: int, doublings: int) -> Contention:
    """Return a slot of contention from the chain of all owners' windows and counts.

    Owners are equal, so that a state is how many of them are where. In a slot those whose count is
    0 send; who is alone begins the first window anew, who collides doubles its own, up to m times,
    and both draw; all others count down by one.

    Parameters
    ----------
    n_owners, window, doublings
        As of :func:`fixed_point`; :func:`states` says how many equations are solved.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    owners, first = count("n_owners", n_owners), count("window", window)
    most = count("doublings", doublings, least=0)
    alone = [(i, left) for i in range(most + 1) for left in range(first << i)]
    joint = list(combinations_with_replacement(alone, owners))
    place = {state: number for number, state in enumerate(joint)}
    chain = np.zeros((len(joint), len(joint)))
    for state, row in zip(joint, chain, strict=True):
        for after, chance in _next(state, first, most):
            row[place[after]] += chance
    law = _stationary(chain)
    sending = np.array([sum(left == 0 for _, left in state) for state in joint])
    idle, success = law[sending == 0].sum(), law[sending == 1].sum()
    return Contention(idle=float(idle), success=float(success), sent=float(law @ sending))


def _next(
    state: tuple[Station, ...], window: int, doublings: int
) -> Iterator[tuple[tuple[Station, ...], float]]:
    """Yield the states that may follow, with their probabilities."""
    waiting = [(i, left - 1) for i, left in state if left > 0]
    senders = [i for i, left in state if left == 0]
    begins = [0] if len(senders) == 1 else [min(i + 1, doublings) for i in senders]
    drawn = Counter(
        tuple(sorted(zip(begins, lefts, strict=True)))
        for lefts in product(*(range(window << i) for i in begins))
    )
    for stations, times in drawn.items():
        yield tuple(sorted([*waiting, *stations])), times / drawn.total()


def _stationary(chain: Array) -> Array:
    """Return π with π = πP and Σ π = 1."""
    equations = chain.T - np.eye(len(chain))
    equations[-1] = 1.0
    right = np.zeros(len(chain))
    right[-1] = 1.0
    return np.asarray(np.linalg.solve(equations, right), dtype=np.float64)
