"""Owners that share slots and send in each with probability s: persistent slotted ALOHA.

Slotted ALOHA with delayed first transmission: whoever has an answer as a slot begins, new or
collided before, sends it in that slot with probability s, else waits for the next one.
"""

from dataclasses import dataclass
from math import exp, expm1, inf

import numpy as np
import numpy.typing as npt

from asyncdp_sim.theory.formulas.arguments import count, nonnegative, positive, probability, refused
from asyncdp_sim.theory.formulas.channels.random_access import RandomAccess

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SlottedContention:
    """Long-run behaviour of owners that contend for slots.

    Attributes
    ----------
    access : RandomAccess
    waiting : array (N + 1,)
        Probability that so many owners have an answer as a slot begins.
    mean_delay : float
        From the tick to the end of the last attempt, by the owners' cycles: N/rate − 1/λ.
    mean_staleness : float or None
        Updates between the tick and the use of its answer: the mean number of other answers under
        way just after an update. None where answers are lost in collisions.
    """

    access: RandomAccess
    waiting: Array
    mean_delay: float
    mean_staleness: float | None


def persistent_aloha(
    n_owners: int,
    rate: float,
    slot: float,
    persistence: float,
    airtime: float | None = None,
    *,
    resends: bool = True,
) -> SlottedContention:
    """Return persistent slotted ALOHA with N owners, from the law of how many of them wait.

    The number that wait as a slot begins is a Markov chain on 0 … N. Of n, Bin(n, s) send, one is
    successful if it is alone; each idle owner ticks within the slot with probability
    p = 1 − e^{−λτ}, and one whose answer is done ticks in the rest of it with probability
    1 − e^{−λ(τ − airtime)}. An owner that waits or sends drops its ticks. Per slot, Σ π_n n s
    (1−s)^{n−1} answers survive.

    Notes
    -----
    *Collided answers given up*: owners are independent, each sends in a share q = 1/(x/p + 1/s)
    of the slots, x = e^{−λ(τ − airtime)}, and N q (1−q)^{N−1} survive; with s = 1 it is
    :func:`~asyncdp_sim.theory.formulas.channels.aloha.slotted_aloha`.

    *Sent until they survive*: with s = 1 two that collide do so for ever, and nothing survives in
    the long run if N ≥ 2. Owners of successive answers are not independent. For s well above 2/N
    the chain may have two levels, few waiting and nearly all, and leave each only after very many
    slots: a run then shows one of them, not the mean.

    *Owners that are never idle*: N s (1−s)^{N−1} survive either way, most at s = 1/N.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    rate : float
        λ > 0, ticks of an idle owner per time unit; ∞: it has another answer at once.
    slot : float
        τ > 0.
    persistence : float
        s in (0, 1].
    airtime : float, optional
        In [0, τ]; default: τ.
    resends : bool
        Whether an answer that collided waits and is sent again until it survives; else it is lost.

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Kleinrock and Lam, Packet switching in a multiaccess broadcast channel (1975), IEEE Transactions
    on Communications 23; Bertsekas and Gallager, Data Networks (1992), section 4.2.
    """
    owners, length = count("n_owners", n_owners), positive("slot", slot)
    sends = probability("persistence", persistence)
    if sends == 0:
        raise refused("persistence", repr(persistence), "a number in (0, 1]")
    each = rate if rate == inf else positive("rate", rate)
    sending = length if airtime is None else nonnegative("airtime", airtime)
    if sending > length:
        raise refused("airtime", repr(airtime), f"a number ≤ slot = {slot!r}")
    quiet = 0.0 if each == inf else exp(-each * (length - sending))
    ticks, n = -expm1(-each * length), np.arange(owners + 1)
    alone: Array = n * sends * (1 - sends) ** np.maximum(n - 1, 0)
    if resends:
        law = _stationary(_chain(alone, ticks, 1 - quiet))
    else:
        law = _binomials(owners, 1 / (1 + sends * quiet / ticks))[-1]
    attempts, survive = float(law @ n) * sends, float(law @ alone)
    done, stale = survive if resends else attempts, None
    if resends and survive > 0:
        under_way = n - 1 + (owners - n) * -expm1(-each * sending if sending > 0 else 0.0)
        stale = float(law @ (alone * under_way)) / survive
    delay = owners * length / done - 1 / each if done > 0 else inf
    access = RandomAccess(survive / attempts, survive / length, attempts / length)
    return SlottedContention(access, law, delay, stale)


def _chain(alone: Array, ticks: float, ticks_after: float) -> Array:
    """Return the probabilities from n that wait to m in the next slot, shape (N + 1, N + 1).

    The N − n idle owners tick each with probability ``ticks``; where one of the n is alone, with
    probability ``alone``, it ceases to wait and ticks again with probability ``ticks_after``.
    """
    size = len(alone)
    found = np.zeros((size, size))
    for n, fresh in enumerate(_binomials(size - 1, ticks)[::-1]):
        found[n, n:] = (1 - alone[n]) * fresh
        if n > 0:
            again = np.convolve(fresh, [1 - ticks_after, ticks_after])
            found[n, n - 1 :] += alone[n] * again
    return found


def _stationary(chain: Array) -> Array:
    """Return π with π = πP, without a subtraction (Grassmann, Taksar and Heyman 1985).

    States are left out one by one, the lowest first: of every chain here the highest is reached.
    """
    rest, last = chain.copy(), len(chain) - 1
    for k in range(last):
        rest[k + 1 :, k] /= rest[k, k + 1 :].sum()
        rest[k + 1 :, k + 1 :] += np.outer(rest[k + 1 :, k], rest[k, k + 1 :])
    found = np.zeros(last + 1)
    found[last] = 1.0
    for k in range(last - 1, -1, -1):
        found[k] = found[k + 1 :] @ rest[k + 1 :, k]
        found /= found.sum()  # now: probabilities may span more than floats do
    return found


def _binomials(trials: int, share: float) -> list[Array]:
    """Return the binomial laws of 0 … ``trials`` trials, by one trial after another."""
    found = [np.ones(1)]
    for _ in range(trials):
        found.append(np.convolve(found[-1], [1 - share, share]))
    return found
