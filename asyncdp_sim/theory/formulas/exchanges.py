"""Exchanges of owners and learner: how long they wait, how many arrive, how stale they are.

In the queue, first come first served, requests form a Poisson process of rate Λ (all owners
together: Nλ where every tick is a request of its own), service times S are independent with mean m,
and the utilisation ρ = Λm is below 1: otherwise waits grow without limit and every function here
refuses. W is the stationary time from a request's arrival to the start of its service.

In a synchronous round every owner is asked at the start and answers after a time of its own,
independent of the others'; the round ends with the last answer, and the next begins at once.

Each of N owners listens with probability q, on its own, and answers at a time that is uniform in
a window W after the query, for a constant airtime τ; answers that overlap destroy each other.
Queries do not interfere: W + τ is at most the time between them. With d = τ/W ≤ ½.

For owners that push: every tick reads, computes for a time S (latencies included), and sends.
Clocks are Poisson with rate λ each, owners always online, nothing is lost; ρ = λ E S.

Neighbours on a graph meet as in a loss network. Wake-ups that find both nodes free are its calls,
whose circuits are the nodes and
whose routes are the edges. The pairs that talk are a matching of the graph, and the stationary
probability of a matching is in proportion to the product of λ_e m_e over its edges, whatever the
law of the time that a pair talks (m_e is its mean). Just after a meeting of e has ended, it is that
of the matchings which leave both ends of e free: the reverse of the process is one of its kind.

References
----------
Kelly, "Loss networks", Ann. Appl. Probab. 1(3), 1991; Heilmann and Lieb, "Theory of monomer-dimer
systems", Commun. Math. Phys. 25, 1972.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import fsum, inf
from operator import mul
from typing import NamedTuple

import numpy as np

from asyncdp_sim.core.arrays import Array


class LockedLearner(NamedTuple):
    """Long-run behaviour of a locked learner.

    Attributes
    ----------
    update_rate : float
        Updates per time unit.
    busy_fraction : float
        Share of the time in which the learner is locked.
    refusal_probability : float
        Share of the requests that are refused.
    """

    update_rate: float
    busy_fraction: float
    refusal_probability: float


def refusing_unequal(rates: Sequence[float], mean_services: Sequence[float]) -> LockedLearner:
    """Return what a learner does with requests at rates λ_i and mean services m_i.

    With Λ = Σ λ_i, owner i is served with probability λ_i/Λ. A cycle lasts (1 + Σ λ_i m_i)/Λ in
    the mean and has r = Σ (λ_i/Λ) m_i (Λ − λ_i) refusals: update rate Λ/(1 + Σ λ_i m_i), busy
    fraction Σ λ_i m_i/(1 + Σ λ_i m_i), refusal probability r/(1 + r) over all requests.

    Notes
    -----
    Assumes independent Poisson clocks, always-online owners, no travel time of requests, no loss,
    no budget that runs out; service times independent and of any law, of which only the means
    enter. A tick of the owner that is being served is dropped and is not a request. The learner
    alternates between waiting, exponential with mean 1/Λ, and serving; during a service of owner
    i the others send m_i (Λ − λ_i) requests in the mean, all refused (renewal-reward theorem).

    Parameters
    ----------
    rates, mean_services : sequence of float
        λ_i > 0 and m_i ≥ 0, one each per owner.

    References
    ----------
    Asmussen, Applied Probability and Queues (2003), section VI.1. Async, section 3, "Request for
    Update by the Data Owner".
    """
    total, pairs = fsum(rates), list(zip(rates, mean_services, strict=True))
    load = fsum(rate * mean for rate, mean in pairs)
    turned_away = fsum(rate / total * mean * (total - rate) for rate, mean in pairs)
    return LockedLearner(
        update_rate=total / (1 + load),
        busy_fraction=load / (1 + load),
        refusal_probability=turned_away / (1 + turned_away),
    )


def fifo_wait(rate: float, mean: float, second: float) -> float:
    """Return E W = ΛE S²/(2(1−ρ)): M/G/1.

    Notes
    -----
    Any law of service with these moments. The mean wait is the same for every order of service
    that does not look at service times.

    Parameters
    ----------
    rate : float
        Λ > 0.
    mean, second : float
        E S > 0 and E S² ≥ (E S)². For S constant m, m²; for S exponential m, 2m².

    References
    ----------
    Kleinrock, Queueing Systems, volume 1 (1975), chapter 5 (Pollaczek–Khinchine).
    """
    return rate * second / (2 * (1 - rate * mean))


def closed_network(
    tasks: int, shares: Sequence[float], service: Sequence[float], travel: Sequence[float]
) -> tuple[float, tuple[float, ...]]:
    """Return how m tasks circulate, by mean value analysis (product form).

    That is how many return per time unit, and per owner the mean staleness: the number of other
    tasks that return between a task's leaving for it and its return. Σ p_i · staleness_i = m − 1.

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

    References
    ----------
    Reiser and Lavenberg, Mean-value analysis of closed multichain queueing networks (1980), Journal
    of the ACM 27(2).
    """
    waiting, stays, flow = [0.0] * len(shares), [0.0] * len(shares), 0.0
    for n in range(1, tasks + 1):
        stale = tuple(flow * stay for stay in stays)  # of n − 1 tasks, Λ p_i R_i / p_i
        stays = [s * (1 + queue) + z for s, queue, z in zip(service, waiting, travel, strict=True)]
        flow = n / fsum(map(mul, shares, stays))
        waiting = [flow * p * (r - z) for p, r, z in zip(shares, stays, travel, strict=True)]
    return flow, stale


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

    References
    ----------
    Denning and Buzen, The operational analysis of queueing network models (1978), ACM Computing
    Surveys 10(3).
    """
    demands = list(map(mul, shares, service))
    demand, away = fsum(demands), fsum(map(mul, shares, travel))
    slowest = 1 / max(demands) if demand > 0 else inf
    return tasks / (tasks * demand + away), min(tasks / (demand + away), slowest)


def mean_round(n_owners: int, rate: float) -> float:
    """Return E max of N independent Exp(μ) = H_N/μ, the mean length of a round.

    With j owners still missing, the next answer takes 1/(jμ) in the mean. A constant part of the
    response, the same for all owners, adds to it.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    rate : float
        μ > 0, the inverse of the mean response time.

    References
    ----------
    Feller, An Introduction to Probability Theory and Its Applications II (1971), section I.6.
    """
    return fsum(1 / missing for missing in range(1, n_owners + 1)) / rate


def mean_until_all(n_owners: int) -> float:
    """Return E M = N H_N, the mean number of updates until every owner has contributed.

    The coupon collector: with j owners still missing, the next update is a new one's with
    probability j/N. Assumes i_k independent and uniform.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    """
    return fsum(n_owners / missing for missing in range(1, n_owners + 1))


def broadcast(
    n_owners: int, probability: float, airtime: float, window: float
) -> tuple[float, float]:
    """Return the answers to a query to N owners, and those that overlap no other, in the mean.

    Nq answers are begun. The mean number of clean ones is
    Nq(1−2d)(1−2dq)^{N−1} + 2[(1−dq)^N − (1−2dq)^N], the mean of m·P(clean given m), where m
    answers are begun and P(clean given m) = (1−2d)^m + (2/m)[(1−d)^m − (1−2d)^m]: with
    E x^m = (1−q+qx)^N and E m x^m = Nqx(1−q+qx)^{N−1}. Divided by Nq it is the probability that
    a given answer is clean.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    probability : float
        q in [0, 1]: an owner receives the query and answers.
    airtime, window : float
        τ ≥ 0 and W > 0, τ ≤ W/2.
    """
    n, q, d = n_owners, probability, airtime / window
    both = 1 - 2 * d * q
    clean = n * q * (1 - 2 * d) * both ** (n - 1)
    clean += 2 * ((1 - d * q) ** n - both**n)
    return n * q, clean


def overlapping(mean: float, largest: int) -> Array:
    """Return P(staleness = s), s = 0 … ``largest``, for jobs of constant length S: Poisson(ΛS).

    Every tick starts a job of its own. The jobs of the others end in a Poisson stream of rate Λ
    (departures of an M/G/∞ system are Poisson); for jobs of any law, the mean is Λ E S.

    Parameters
    ----------
    mean : float
        ΛS > 0, with the rate Λ of all clocks together; S is the same for every job.
    largest : int
        ≥ 0.
    """
    chance = np.empty(largest + 1)
    chance[0] = np.exp(-mean)
    for s in range(1, len(chance)):
        chance[s] = chance[s - 1] * mean / s
    return chance


def one_at_a_time(n_owners: int, rate: float, job: float) -> Array:
    """Return P(staleness = s), s = 0 … N−1, where a busy owner's ticks are dropped: constant S.

    Binomial(N−1, ρ/(1+ρ)): each other owner alternates between a job and an idle time that is
    exponential with mean 1/λ, and ends exactly one job within a window of length S if it was
    busy at its start, none if it was idle (a job begun within the window ends after it).

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    rate, job : float
        λ > 0, S ≥ 0.
    """
    rivals, load = n_owners - 1, rate * job
    busy = load / (1 + load)
    chance = np.empty(rivals + 1)
    chance[0] = (1 - busy) ** rivals
    for s in range(1, rivals + 1):
        chance[s] = chance[s - 1] * (rivals - s + 1) / s * load
    return chance


def always_busy(share: float, largest: int) -> Array:
    """Return P(staleness = s), s = 0 … ``largest``, of exponential jobs that never cease.

    Every job in flight is the next to end with the same probability, whatever has been: an owner
    that always has one job under way, of rate μ_i, with π_i = μ_i/Σμ. So many others end before
    it: π_i (1 − π_i)^s, with mean 1/π_i − 1.

    Parameters
    ----------
    share : float
        π_i, 0 < π_i ≤ 1.
    largest : int
        ≥ 0.
    """
    return np.asarray(share * (1 - share) ** np.arange(largest + 1.0))


def sum_opens(n_owners: int, least: int, stays: float) -> float:
    """Return P(Bin(n, s) ≥ m), the chance that a sum of masked answers is opened.

    Each of n owners independently stays until the end of a sum with chance s: it is present at
    every step, and no message of its own is lost. The owners of a step are some of those of the
    step before, so that m at the end are m at every step.

    Parameters
    ----------
    n_owners : int
        n ≥ 1, the owners that are asked at the first step.
    least : int
        m, from 1 to n: the answers without which no sum is opened.
    stays : float
        s, in [0, 1].
    """
    from scipy.special import bdtrc  # only here: a slow import

    return float(bdtrc(least - 1, n_owners, stays))


Edge = tuple[int, int]
"""Two nodes."""
MOST_NODES, MOST_SUMS = 100, 10_000
"""Nodes of a graph, and partial sums over its matchings, beyond which none is worked out."""


@dataclass(frozen=True)
class LossNetwork:
    """The long run of pairs that meet.

    Attributes
    ----------
    flows : dict
        Meetings per time unit of every edge, λ_e Z(G − i − j)/Z(G), with Z the sum over matchings.
    busy_fraction : float
        Share of the time in which some pair talks, 1 − 1/Z(G).
    after : dict
        Mean sum of the marks of all pairs that talk just after a meeting of an edge has ended;
        where every mark is 1, how many pairs talk then.
    """

    flows: dict[Edge, float]
    busy_fraction: float
    after: dict[Edge, float]

    def of(self, node: int) -> float:
        """Return the meetings of a node per time unit."""
        return fsum(flow for edge, flow in self.flows.items() if node in edge)

    def total(self, each: Mapping[Edge, float]) -> float:
        """Return Σ_e f_e x_e of what each meeting brings, per time unit."""
        return fsum(flow * each[edge] for edge, flow in self.flows.items())


def loss_network(
    rates: Mapping[Edge, float], times: Mapping[Edge, float], marks: Mapping[Edge, float]
) -> LossNetwork | None:
    """Return the long run, or None where the graph has too many matchings to sum.

    Parameters
    ----------
    rates : mapping
        From an edge (two nodes, numbered from 0) to λ_e > 0, wake-ups per time unit.
    times : mapping
        From an edge to m_e ≥ 0, the mean time of a meeting (time units).
    marks : mapping
        From an edge to what a pair that talks counts for, ≥ 0.
    """
    nodes = max(max(edge) for edge in rates) + 1
    if nodes > MOST_NODES:
        return None
    near: dict[int, list[tuple[int, float, float]]] = {}
    for (a, b), rate in rates.items():
        if (weight := rate * times[a, b]) > 0:
            near.setdefault(a, []).append((b, weight, marks[a, b]))
            near.setdefault(b, []).append((a, weight, marks[a, b]))

    @cache
    def sums(left: int) -> tuple[float, float]:
        """Return Σ weights, and Σ weight × marks, over the matchings of nodes whose bits are set.

        The first node that has neighbours is single, or paired with each of them.
        """
        if sums.cache_info().currsize == MOST_SUMS:
            raise OverflowError
        for node in range(left.bit_length()):
            pairs = near.get(node, []) if left >> node & 1 else []
            pairs_left = [pair for pair in pairs if left >> pair[0] & 1]
            if len(pairs_left) > 0:
                break
        else:
            return 1.0, 0.0
        rest = left & ~(1 << node)
        total, marked = sums(rest)
        for other, weight, mark in pairs_left:
            without, more = sums(rest & ~(1 << other))
            total += weight * without
            marked += weight * (more + mark * without)
        return total, marked

    everybody = (1 << nodes) - 1
    try:
        total, _ = sums(everybody)
        flows, after = {}, {}
        for edge, rate in rates.items():
            without, marked = sums(everybody & ~(1 << edge[0]) & ~(1 << edge[1]))
            flows[edge] = rate * without / total
            after[edge] = marked / without
    except OverflowError:
        return None
    return LossNetwork(flows, 1 - 1 / total, after)
