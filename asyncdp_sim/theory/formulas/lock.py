"""A learner that serves one owner at a time and refuses whoever asks meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from asyncdp_sim.theory.formulas.arguments import nonnegative, positive, refused


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
