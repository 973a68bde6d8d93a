"""A locked learner with owners of one rate, and of infinitely many."""

from asyncdp_sim.theory.formulas.exchanges import LockedLearner


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

    References
    ----------
    Asmussen, Applied Probability and Queues (2003), section VI.1. Async, section 3, "Request for
    Update by the Data Owner".
    """
    others, load = n_owners - 1, rate * mean_service
    return LockedLearner(
        update_rate=n_owners * rate / (1 + n_owners * load),
        busy_fraction=n_owners * load / (1 + n_owners * load),
        refusal_probability=others * load / (1 + others * load),
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

    References
    ----------
    Erlang (1917); Asmussen (2003), section III.3.
    """
    load = rate * mean_service
    return LockedLearner(rate / (1 + load), load / (1 + load), load / (1 + load))
