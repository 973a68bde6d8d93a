"""Tasks that circulate among owners: how often they return, and how many wait where."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from operator import mul

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
    served = [nonnegative("service", each) for each in service]
    beyond = [nonnegative("travel", each) for each in travel]
    waiting, stays, flow = [0.0] * len(chosen), [0.0] * len(chosen), 0.0
    for n in range(1, number + 1):
        stale = tuple(flow * stay for stay in stays)  # of n − 1 tasks, Λ p_i R_i / p_i
        stays = [s * (1 + queue) + z for s, queue, z in zip(served, waiting, beyond, strict=True)]
        flow = n / fsum(map(mul, chosen, stays))
        waiting = [flow * p * (r - z) for p, r, z in zip(chosen, stays, beyond, strict=True)]
    return Circulation(flow, stale)
