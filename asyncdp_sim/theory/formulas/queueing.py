"""Queueing: waits for a learner that serves one request at a time, first come first served.

Requests form a Poisson process of rate Λ (all owners together: Nλ where every tick is a request
of its own), service times S are independent with mean m, and the utilisation ρ = Λm is below 1:
otherwise waits grow without limit and every function here refuses. W is the stationary time from
a request's arrival to the start of its service.
"""

from dataclasses import dataclass

from asyncdp_sim.theory.formulas.arguments import nonnegative, positive, refused


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
    for key, given, least in (("second", second, mean**2), ("third", third, second**2 / mean)):
        if nonnegative(key, given) < least * (1 - 1e-12):
            raise refused(key, repr(given), f"a moment ≥ {least!r}, as of any law ≥ 0")
    first = rate * second / (2 * (1 - load))
    return Wait(load, first, 2 * first**2 + rate * third / (3 * (1 - load)))


def utilisation(rate: float, mean: float, key: str = "mean") -> float:
    """Return ρ = Λm of a positive rate and mean (named ``key``), refused from 1 on."""
    load = positive("rate", rate) * positive(key, mean)
    if load >= 1:
        raise refused("utilisation", f"rate·{key} = {load!r}", "a number < 1: lower either")
    return load
