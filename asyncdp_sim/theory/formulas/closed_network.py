"""Tasks that circulate among owners: how often they return, how many wait, and where they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import fsum, inf, lgamma, log
from operator import mul

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.theory.formulas.arguments import count, nonnegative, probabilities


@dataclass(frozen=True)
class Circulation:
    """Long-run behaviour of m tasks.

    Attributes
    ----------
    throughput : float
        Tasks that return per time unit.
    staleness : tuple of float
        Per owner: mean number of other tasks that return between a task's leaving for it and its
        return. Σ p_i · staleness_i = m − 1.
    """

    throughput: float
    staleness: tuple[float, ...]


def closed_network(
    tasks: int, shares: Sequence[float], service: Sequence[float], travel: Sequence[float]
) -> Circulation:
    """Return how m tasks circulate, by mean value analysis (product form).

    A task that returns leaves at once for owner i with probability p_i. It travels, and is served
    alone, first come first served, by the owner; times of service are exponential with mean s_i,
    those of travelling have any law with mean z_i. With n tasks an owner that is asked is found
    as it is with n − 1, so that

        R_i(n) = s_i (1 + L_i(n−1)) + z_i,  Λ(n) = n / Σ p_i R_i(n),
        L_i(n) = Λ(n) p_i (R_i(n) − z_i)

    By the same law, counted in returns instead of time, staleness_i = [tasks at or on the way to
    and from owner i, with m − 1] / p_i.

    Parameters
    ----------
    tasks : int
        m ≥ 1.
    shares, service, travel : sequence of float (N,)
        p_i (they sum to 1), s_i ≥ 0 and z_i ≥ 0, in time units; not all s_i + z_i are 0.

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Reiser and Lavenberg, Mean-value analysis of closed multichain queueing networks (1980), Journal
    of the ACM 27(2).
    """
    number, chosen = count("tasks", tasks), probabilities("shares", shares).tolist()
    served = [nonnegative("service", time) for time in service]
    beyond = [nonnegative("travel", time) for time in travel]
    waiting, stays, flow = [0.0] * len(chosen), [0.0] * len(chosen), 0.0
    for n in range(1, number + 1):
        stale = tuple(flow * stay for stay in stays)  # of n − 1 tasks, Λ p_i R_i / p_i
        stays = [s * (1 + queue) + z for s, queue, z in zip(served, waiting, beyond, strict=True)]
        flow = n / fsum(map(mul, chosen, stays))
        waiting = [flow * p * (r - z) for p, r, z in zip(chosen, stays, beyond, strict=True)]
    return Circulation(flow, stale)


def return_bounds(
    tasks: int, shares: Sequence[float], service: Sequence[float], travel: Sequence[float]
) -> tuple[float, float]:
    """Return what the throughput Λ of m tasks is at least, and at most.

    With D = Σ p_i s_i and Z = Σ p_i z_i,

        m / (m D + Z) ≤ Λ ≤ min(m / (D + Z), min_i 1 / (p_i s_i)).

    Times have any laws with these means, and tasks go to owner i with the share p_i, drawn or in
    turn. An owner that has a task is never idle; it serves one after the other or several at once.

    Λ p_i s_i is the share of time that owner i is busy, ≤ 1. By Little's law, Λ Z tasks travel in
    the mean and Λ (D + Z) ≤ m, since a task stays with an owner at least as long as its service
    takes. And busy owners are Λ D in the mean: at least one while a task does not travel, which of
    m tasks is so for at least the share (m − Λ Z) / m of time.

    Parameters
    ----------
    tasks : int
        m ≥ 1.
    shares, service, travel : sequence of float (N,)
        p_i (they sum to 1), s_i ≥ 0 and z_i ≥ 0, in time units; not all s_i + z_i are 0.

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Denning and Buzen, The operational analysis of queueing network models (1978), ACM Computing
    Surveys 10(3).
    """
    number, chosen = count("tasks", tasks), probabilities("shares", shares).tolist()
    demands = list(map(mul, chosen, (nonnegative("service", time) for time in service)))
    demand = fsum(demands)
    away = fsum(map(mul, chosen, (nonnegative("travel", time) for time in travel)))
    slowest = 1 / max(demands) if demand > 0 else inf
    return number / (number * demand + away), min(number / (demand + away), slowest)


@dataclass(frozen=True, eq=False)
class Whereabouts:
    """The product form of m tasks, of which owners serve some while the others travel.

    n_i tasks in service at owner i weigh (p_i s_i)^n_i, and K on their ways, of all owners, a^K/K!
    with a = Σ p_i z_i; of these each is on a given way with chance p_i z/a, by itself. Times of
    travel have any law, and so have those of service where it is shared.

    Attributes
    ----------
    served : array (N,)
        p_i s_i, in proportion.
    travel : float
        a, in the same proportion.
    away, rest : array (m + 1,)
        Weights of so many tasks on their ways, and of so many in service; each up to a factor.

    References
    ----------
    Baskett, Chandy, Muntz and Palacios, Open, closed, and mixed networks of queues with different
    classes of customers (1975), Journal of the ACM 22(2).
    """

    served: Array
    travel: float
    away: Array
    rest: Array

    def none(self, ways: Array, *, serving: bool) -> Array:
        """Return the chance that none of an owner's tasks is in some of its stages, (N,).

        Parameters
        ----------
        ways : array (N,)
            p_i z of those parts of its ways that are meant, in the same proportion.
        serving : bool
            Whether service is meant too.
        """
        elsewhere = 1 - ways / self.travel if self.travel > 0 else np.ones(len(self.served))
        loads = self.served if serving else np.zeros(len(self.served))
        none = [self._none(load, share) for load, share in zip(loads, elsewhere, strict=True)]
        return np.array(none) / float(self.away @ self.rest[::-1])

    def _none(self, load: float, elsewhere: float) -> float:
        """Return the weight of an owner with nobody in service, if ``load`` > 0, or on its ways."""
        without = self.rest - load * np.append(0.0, self.rest[:-1])
        away = self.away * elsewhere ** np.arange(len(self.away))
        return max(0.0, float(away @ without[::-1]))


def whereabouts(tasks: int, served: Array, travel: float) -> Whereabouts:
    """Return where m tasks are in the long run.

    Parameters
    ----------
    tasks : int
        m ≥ 1.
    served : array (N,)
        Λ p_i s_i. Chances do not depend on Λ; with the throughput for it no number is large.
    travel : float
        Λ Σ p_i z_i.

    Raises
    ------
    SpecError
        If there is no task.
    """
    number = count("tasks", tasks)
    rest = [1.0] + [0.0] * number
    for load in served.tolist():
        rest = _joined(rest, load)
    return Whereabouts(served, travel, _away(travel, number), np.array(rest))


def _joined(rest: list[float], load: float) -> list[float]:
    """Return the weights with an owner more, the largest being 1."""
    weights = list(accumulate(rest, lambda sofar, one: one + load * sofar))
    largest = max(weights)
    return [weight / largest for weight in weights]


def _away(travel: float, number: int) -> Array:
    """Return the weights of 0 … m tasks on their ways, the largest being 1."""
    if travel == 0:
        return np.append(1.0, np.zeros(number))
    logs = np.array([k * log(travel) - lgamma(k + 1) for k in range(number + 1)])
    return np.asarray(np.exp(logs - logs.max()))


__all__ = ["Circulation", "Whereabouts", "closed_network", "return_bounds", "whereabouts"]
