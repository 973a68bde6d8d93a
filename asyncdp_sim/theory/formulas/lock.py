"""A learner that serves one owner at a time and refuses whoever asks meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from asyncdp_sim.theory.formulas.arguments import count, nonnegative, positive, refused


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


def refusing(n_owners: int, rate: float, mean_service: float) -> LockedLearner:
    """Return update rate Nλ/(1+Nρ), busy share Nρ/(1+Nρ), refusals (N−1)ρ/(1+(N−1)ρ); ρ = λm.

    Notes
    -----
    Assumes independent Poisson clocks of one rate, always-online owners, no travel time of
    requests, no loss, no budget that runs out; service times independent and of any law, of
    which only the mean m enters. A tick of the owner that is being served is dropped and is not a
    request. The learner then alternates between waiting, exponential with mean 1/(Nλ), and
    serving; during a service the N−1 others send (N−1)ρ requests in the mean, all refused
    (renewal-reward theorem). The owners served are independent and uniform. In a run of exactly
    T updates from an idle start this holds without edge effects: mean length T(1/(Nλ) + m), and
    T(N−1)ρ refusals in the mean, for every T.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    rate : float
        λ > 0, requests of an idle owner per time unit.
    mean_service : float
        m ≥ 0: mean time from a request to its update (query, computing, answer).

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Asmussen, Applied Probability and Queues (2003), section VI.1. Async, section 3, "Request for
    Update by the Data Owner".
    """
    others = count("n_owners", n_owners) - 1
    each, mean = positive("rate", rate), nonnegative("mean_service", mean_service)
    load = each * mean
    return LockedLearner(
        update_rate=n_owners * each / (1 + n_owners * load),
        busy_fraction=n_owners * load / (1 + n_owners * load),
        refusal_probability=others * load / (1 + others * load),
    )


def refusing_unequal(rates: Sequence[float], mean_services: Sequence[float]) -> LockedLearner:
    """Return the same for unequal rates λ_i and mean services m_i: exact as well.

    With Λ = Σ λ_i, owner i is served with probability λ_i/Λ. A cycle lasts (1 + Σ λ_i m_i)/Λ in
    the mean and has r = Σ (λ_i/Λ) m_i (Λ − λ_i) refusals: update rate Λ/(1 + Σ λ_i m_i), busy
    fraction Σ λ_i m_i/(1 + Σ λ_i m_i), refusal probability r/(1 + r) over all requests.
    Assumptions as for :func:`refusing`.

    Parameters
    ----------
    rates, mean_services : sequence of float
        λ_i > 0 and m_i ≥ 0, one each per owner.

    Raises
    ------
    SpecError
        If an argument is outside its domain or the lengths differ.
    """
    if len(rates) == 0 or len(rates) != len(mean_services):
        given = f"{len(rates)} rates and {len(mean_services)} mean services"
        raise refused("rates", given, "one of each per owner, at least one")
    each = [positive(f"rates[{i}]", rate) for i, rate in enumerate(rates)]
    means = [nonnegative(f"mean_services[{i}]", mean) for i, mean in enumerate(mean_services)]
    total = fsum(each)
    load = fsum(rate * mean for rate, mean in zip(each, means, strict=True))
    turned_away = fsum(
        rate / total * mean * (total - rate) for rate, mean in zip(each, means, strict=True)
    )
    return LockedLearner(
        update_rate=total / (1 + load),
        busy_fraction=load / (1 + load),
        refusal_probability=turned_away / (1 + turned_away),
    )


def poisson_source(rate: float, mean_service: float) -> LockedLearner:
    """Return a locked learner's behaviour when requests are Poisson whoever is being served.

    Erlang's loss formula with one server, a = Λm: a request is refused with probability
    a/(1+a), which is also the busy fraction; updates come at rate Λ/(1+a). The limit of
    :func:`refusing` for many owners at fixed Λ = Nλ. Any law of service with mean m.

    Parameters
    ----------
    rate : float
        Λ > 0, requests per time unit.
    mean_service : float
        m ≥ 0.

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Erlang (1917); Asmussen (2003), section III.3.
    """
    total = positive("rate", rate)
    load = total * nonnegative("mean_service", mean_service)
    return LockedLearner(total / (1 + load), load / (1 + load), load / (1 + load))
