"""Exchanges in rounds, where all owners are asked at once, and by push, where answers grow stale.

In a synchronous round every owner is asked at the start and answers after a time of its own,
independent of the others'; the round ends with the last answer, and the next begins at once.

Each of N owners listens with probability q, on its own, and answers at a time that is uniform in
a window W after the query, for a constant airtime τ; answers that overlap destroy each other.
Queries do not interfere: W + τ is at most the time between them. With d = τ/W ≤ ½.

For owners that push: every tick reads, computes for a time S (latencies included), and sends.
Clocks are Poisson with rate λ each, owners always online, nothing is lost; ρ = λ E S.
"""

from collections.abc import Sequence
from math import expm1, fsum, log1p

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.theory.formulas import count, nonnegative, positive, refused
from asyncdp_sim.theory.formulas import probability as chance


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

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Feller, An Introduction to Probability Theory and Its Applications II (1971), section I.6.
    """
    number, response_rate = count("n_owners", n_owners), positive("rate", rate)
    return fsum(1 / missing for missing in range(1, number + 1)) / response_rate


def mean_until_all(n_owners: int) -> float:
    """Return E M = N H_N, the mean number of updates until every owner has contributed.

    The coupon collector: with j owners still missing, the next update is a new one's with
    probability j/N. Assumes i_k independent and uniform.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.

    Raises
    ------
    SpecError
        If N < 1.
    """
    number = count("n_owners", n_owners)
    return fsum(number / missing for missing in range(1, number + 1))


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

    Raises
    ------
    SpecError
        If an argument is outside its domain or d > ½.
    """
    number, q, d = (
        count("n_owners", n_owners),
        chance("probability", probability),
        share(airtime, window),
    )
    both = 1 - 2 * d * q
    clean = number * q * (1 - 2 * d) * both ** (number - 1)
    clean += 2 * ((1 - d * q) ** number - both**number)
    return number * q, clean


def share(airtime: float, window: float) -> float:
    """Return d = τ/W, which is at most ½."""
    length, span = nonnegative("airtime", airtime), positive("window", window)
    if 2 * length > span:
        raise refused("airtime", repr(airtime), f"a number ≤ window/2 = {span / 2!r}")
    return length / span


def overlapping_mean(n_owners: int, rate: float, mean_job: float) -> float:
    """Return E staleness = Nρ where every tick starts a job of its own (any law of S).

    The jobs of the others end in a Poisson stream of rate Nλ (departures of an M/G/∞ system are
    Poisson), so that given S the staleness is Poisson with mean NλS.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    rate, mean_job : float
        λ > 0 and E S ≥ 0.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    load = positive("rate", rate) * nonnegative("mean_job", mean_job)
    return count("n_owners", n_owners) * load


def overlapping(n_owners: int, rate: float, job: float, largest: int) -> Array:
    """Return P(staleness = s), s = 0 … ``largest``, for jobs of constant length S: Poisson(NλS).

    Parameters
    ----------
    n_owners, rate
        As for :func:`overlapping_mean`.
    job : float
        S > 0, the same for every job.
    largest : int
        ≥ 0.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    mean = overlapping_mean(n_owners, rate, positive("job", job))
    chance = np.empty(count("largest", largest, 0) + 1)
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

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    rivals = count("n_owners", n_owners) - 1
    load = positive("rate", rate) * nonnegative("job", job)
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

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    if not 0 < share <= 1:
        raise refused("share", share, "a number > 0 and ≤ 1")
    return np.asarray(share * (1 - share) ** np.arange(count("largest", largest, 0) + 1.0))


def always_busy_mean(n_owners: int) -> float:
    """Return the long-run mean staleness N − 1 where every owner always has one job under way.

    Just after each update all N owners have a job in flight, one of them begun at that instant;
    by the balance of staleness and jobs in flight, updates are N − 1 stale in the mean.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.

    Raises
    ------
    SpecError
        If N < 1.
    """
    return float(count("n_owners", n_owners) - 1)


def always_busy_mean_of(shares: Sequence[float], updates: int) -> float:
    """Return the mean staleness of the first T updates of exponential jobs that never cease.

    Every update is seen by all other jobs under way, so that the staleness of T updates and the age
    of the jobs that are open then, in updates, have the sum (m − 1) T. Job i is open, and as old as
    a or older, where it was not the one to end in the last a updates, for a ≤ T:

        m − 1 − (1/T) Σ_i Σ_{a=1}^{T} (1 − π_i)^a,   and 1/T Σ_i (1 − π_i)/π_i less in long runs.

    Parameters
    ----------
    shares : sequence of float
        π_i of each of m jobs, > 0, that add up to 1: the chance that it is the next to end.
    updates : int
        T ≥ 1.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    for share in shares:
        if not 0 < share <= 1:
            raise refused("share", share, "a number > 0 and ≤ 1")
    last = count("updates", updates)
    ages = [
        (1 - chance) / chance * -expm1(last * log1p(-chance)) for chance in shares if chance < 1
    ]
    return len(shares) - 1 - fsum(ages) / last


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

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    number, needed = count("n_owners", n_owners), count("least", least)
    if needed > number:
        raise refused("least", least, f"1 to n_owners = {number}")
    from scipy.special import bdtrc  # only here: a slow import

    return float(bdtrc(needed - 1, number, chance("stays", stays)))


def asked_by_step(n_owners: int, least: int, stays: float) -> float:
    """Return E[A; A ≥ m], A ~ Bin(n, s): the mean number of owners that a step of a sum asks.

    It asks the owners that stayed through all earlier steps, if they suffice to open the sum.
    With A ≥ m, E[A; A ≥ m] = n s P(Bin(n − 1, s) ≥ m − 1).

    Parameters
    ----------
    n_owners, least
        n and m; see :func:`sum_opens`.
    stays : float
        s, the chance that an owner stays through all earlier steps.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    sum_opens(n_owners, least, stays)  # refuses what is outside the domain
    others_open = 1.0 if least == 1 else sum_opens(n_owners - 1, least - 1, stays)
    return n_owners * stays * others_open
