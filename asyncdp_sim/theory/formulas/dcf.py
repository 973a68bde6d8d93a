"""Owners that always have an answer on a channel with the contention of Wi-Fi (802.11 DCF)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import comb

import numpy as np

from asyncdp_sim.core.arrays import Array
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
        Mean number of those that send as it begins.
    frozen : bool
        Whether counts are frozen while the channel is busy. A transmission is then followed by a
        slot in which all others count one; after a success its owner may send in that slot, again
        and again.
    again : float
        Probability that it does, each time.
    """

    idle: float
    success: float
    sent: float
    frozen: bool = False
    again: float = 0.0

    def access(
        self, slot: float, airtime: float, after_success: float = 0.0, after_collision: float = 0.0
    ) -> RandomAccess:
        """Return how much gets through per time unit.

        A slot of contention lasts ``slot`` where nobody sends, else the airtime and what follows
        it: E[length] = P(idle) σ + P(success) T_s + P(collision) T_c. Where counts are frozen, T_s
        is T_s/(1 − B) + σ, and T_c is T_c + σ, with B the probability of sending again.

        Parameters
        ----------
        slot, airtime : float
            > 0, in time units.
        after_success, after_collision : float
            ≥ 0: how long the channel stays taken after an answer that survives, or does not.
        """
        run = 1 / (1 - self.again)
        length = self.idle * slot + self.success * run * (airtime + after_success)
        length += (1 - self.idle - self.success) * (airtime + after_collision)
        length += (1 - self.idle) * slot * self.frozen
        sent = self.sent + self.success * (run - 1)
        return RandomAccess(self.success * run / sent, sent / length)


def fixed_point(n_owners: int, window: int, doublings: int, *, frozen: bool = False) -> Contention:
    """Return a slot of contention by Bianchi's fixed point, which is an approximation.

    An attempt meets another with probability p = 1 − (1 − τ)^(N−1), taken to be the same whatever
    has happened before; then an owner sends in a share

        τ = 2(1 − 2p) / ((1 − 2p)(W + 1) + pW(1 − (2p)^m))

    of the slots. Where counts are frozen, an owner that has succeeded sends again at once with
    probability 1/W, and else counts uniformly many of 0 … W − 2 further slots, so that W + 1 is
    W + p. Exact for N = 1.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    window : int
        W ≥ 1, slots of the first window: a count is uniform on 0 … W − 1.
    doublings : int
        m ≥ 0: after i collisions in a row the window has W·2^min(i, m) slots.
    frozen : bool
        Whether counts are frozen while the channel is busy; then W ≥ 2.

    References
    ----------
    Bianchi, Performance analysis of the IEEE 802.11 distributed coordination function (2000), IEEE
    Journal on Selected Areas in Communications 18(3), equations 7 and 9. Tinnirello, Bianchi and
    Xiao, Refinements on IEEE 802.11 distributed coordination function modeling approaches (2010),
    IEEE Transactions on Vehicular Technology 59(3).
    """
    from scipy.optimize import brentq  # only here: a slow import

    def share(p: float) -> float:
        growth = sum((2 * p) ** i for i in range(doublings))  # (1 − (2p)^m)/(1 − 2p), at 1/2 too
        return 2 / (window + (p if frozen else 1) + p * window * growth)

    def excess(p: float) -> float:
        return p - 1 + (1 - share(p)) ** (n_owners - 1)

    sends = share(0.0 if n_owners == 1 else float(brentq(excess, 0.0, 1.0, xtol=1e-15)))
    idle = (1 - sends) ** n_owners
    alone = n_owners * sends * (1 - sends) ** (n_owners - 1)
    again = 1 / window if frozen else 0.0
    return Contention(idle=idle, success=alone, sent=n_owners * sends, frozen=frozen, again=again)


def states(n_owners: int, window: int, doublings: int) -> int:
    """Return how many states the chain of :func:`exact` has."""
    places = window * (2 ** (doublings + 1) - 1)
    return comb(places + n_owners - 1, n_owners)


def exact(n_owners: int, window: int, doublings: int, *, frozen: bool = False) -> Contention:
    """Return a slot of contention from the chain of all owners' windows and counts.

    Owners are equal, so that a state is how many of them are where. In a slot those whose count is
    0 send; who is alone begins the first window anew, who collides doubles its own, up to m times,
    and both draw; all others count down by one. Where counts are frozen, a slot contains what the
    one alone sends in a row, and the slot in which the others count; of its first draw that is not
    0 it has then counted one.

    Parameters
    ----------
    n_owners, window, doublings, frozen
        As of :func:`fixed_point`; :func:`states` says how many equations are solved.
    """
    alone = [(i, left) for i in range(doublings + 1) for left in range(window << i)]
    joint = list(combinations_with_replacement(alone, n_owners))
    place = {state: number for number, state in enumerate(joint)}
    chain = np.zeros((len(joint), len(joint)))
    for state, row in zip(joint, chain, strict=True):
        for after, chance in _next(state, window, doublings, frozen=frozen):
            row[place[after]] += chance
    law = _stationary(chain)
    sending = np.array([sum(left == 0 for _, left in state) for state in joint])
    idle, success = law[sending == 0].sum(), law[sending == 1].sum()
    return Contention(
        idle=float(idle),
        success=float(success),
        sent=float(law @ sending),
        frozen=frozen,
        again=1 / window if frozen else 0.0,
    )


def _next(
    state: tuple[Station, ...], window: int, doublings: int, *, frozen: bool
) -> Iterator[tuple[tuple[Station, ...], float]]:
    """Yield the states that may follow, with their probabilities."""
    waiting = [(i, left - 1) for i, left in state if left > 0]
    senders = [i for i, left in state if left == 0]
    begins = [0] if len(senders) == 1 else [min(i + 1, doublings) for i in senders]
    fewer = frozen and len(senders) == 1
    drawn = Counter(
        tuple(sorted(zip(begins, lefts, strict=True)))
        for lefts in product(*(range((window << i) - fewer) for i in begins))
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
