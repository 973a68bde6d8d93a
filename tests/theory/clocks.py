"""Independent Poisson clocks seen as one: when the next one ticks, and whose it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum


@dataclass(frozen=True)
class MergedClocks:
    """The superposition of independent Poisson processes: a Poisson process of rate Λ = Σ λ_i.

    The gaps between ticks are independent and exponential with mean 1/Λ. Each tick is owner i's
    with probability λ_i/Λ, independently of the gaps and of all other ticks (Async, section 3:
    i_k uniform for equal rates). Where no update takes time and nothing is lost or refused,
    these are the gaps between updates and the owners i_k.

    Attributes
    ----------
    rate : float
        Λ, ticks per time unit.
    probability : tuple of float
        π_i = λ_i/Λ, by owner.

    References
    ----------
    Kingman, Poisson Processes (1993), sections 2.2 and 5.1.
    """

    rate: float
    probability: tuple[float, ...]

    @property
    def mean_gap(self) -> float:
        """1/Λ, the mean time between ticks."""
        return 1 / self.rate

    def gap_survival(self, time: float) -> float:
        """Return P(gap > ``time``) = e^{−Λ·time}, for a time ≥ 0."""
        return exp(-self.rate * time)

    def mean_count(self, time: float) -> float:
        """Return the mean, and the variance, of the number of ticks in a window: Λ·time."""
        return self.rate * time


def merged(rates: Sequence[float]) -> MergedClocks:
    """Return the superposition of Poisson clocks with these rates.

    Parameters
    ----------
    rates : sequence of float
        λ_i > 0, ticks per time unit, one per owner.
    """
    total = fsum(rates)
    return MergedClocks(total, tuple(rate / total for rate in rates))
