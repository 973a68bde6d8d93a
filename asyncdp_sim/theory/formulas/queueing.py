"""Owners that wait for a learner or for tasks: queues, and closed networks.

In the queue, first come first served, requests form a Poisson process of rate Λ (all owners
together: Nλ where every tick is a request of its own), service times S are independent with mean m,
and the utilisation ρ = Λm is below 1: otherwise waits grow without limit and every function here
refuses. W is the stationary time from a request's arrival to the start of its service.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, inf
from operator import mul

from asyncdp_sim.theory.formulas import count, nonnegative, positive, probabilities, refused


@dataclass(frozen=True)
class LockedLearner:
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

    Raises
    ------
    SpecError
        If an argument is outside its domain or the lengths differ.

    References
    ----------
    Asmussen, Applied Probability and Queues (2003), section VI.1. Async, section 3, "Request for
    Update by the Data Owner".
    """
    if len(rates) == 0 or len(rates) != len(mean_services):
        lengths = f"{len(rates)} rates and {len(mean_services)} mean services"
        raise refused("rates", lengths, "one of each per owner, at least one")
    idle_rates = [positive(f"rates[{i}]", rate) for i, rate in enumerate(rates)]
    means = [nonnegative(f"mean_services[{i}]", mean) for i, mean in enumerate(mean_services)]
    total = fsum(idle_rates)
    load = fsum(rate * mean for rate, mean in zip(idle_rates, means, strict=True))
    turned_away = fsum(
        rate / total * mean * (total - rate) for rate, mean in zip(idle_rates, means, strict=True)
    )
    return LockedLearner(
        update_rate=total / (1 + load),
        busy_fraction=load / (1 + load),
        refusal_probability=turned_away / (1 + turned_away),
    )


@dataclass(frozen=True)
class Wait:
    """Moments of the stationary wait.

    Attributes
    ----------
    utilisation : float
        ρ: share of the time in which the learner serves; also the share of requests that wait.
    mean : float
        E W.
    second_moment : float
        E W².
    """

    utilisation: float
    mean: float
    second_moment: float

    @property
    def variance(self) -> float:
        """Var W = E W² − (E W)²."""
        return self.second_moment - self.mean**2


def fifo_wait(rate: float, mean: float, second: float, third: float) -> Wait:
    """Return E W = ΛE S²/(2(1−ρ)) and E W² = 2(E W)² + ΛE S³/(3(1−ρ)): M/G/1.

    Notes
    -----
    Any law of service with these moments. The mean wait is the same for every order of service
    that does not look at service times; the second moment is first come first served's own.

    Parameters
    ----------
    rate : float
        Λ > 0.
    mean, second, third : float
        E S > 0, E S² ≥ (E S)² and E S³ ≥ (E S²)²/E S. For S constant m, m², m³; for S
        exponential m, 2m², 6m³.

    Raises
    ------
    SpecError
        If an argument is outside its domain, the moments are no law's, or ρ ≥ 1.

    References
    ----------
    Kleinrock, Queueing Systems, volume 1 (1975), chapter 5 (Pollaczek–Khinchine, Takács).
    """
    load = utilisation(rate, mean)
    for key, moment, least in (("second", second, mean**2), ("third", third, second**2 / mean)):
        if nonnegative(key, moment) < least * (1 - 1e-12):
            raise refused(key, repr(moment), f"a moment ≥ {least!r}, as of any law ≥ 0")
    first = rate * second / (2 * (1 - load))
    return Wait(load, first, 2 * first**2 + rate * third / (3 * (1 - load)))


def utilisation(rate: float, mean: float) -> float:
    """Return ρ = Λm of a positive rate and mean, refused from 1 on."""
    load = positive("rate", rate) * positive("mean", mean)
    if load >= 1:
        raise refused("utilisation", f"rate·mean = {load!r}", "a number < 1: lower either")
    return load


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
