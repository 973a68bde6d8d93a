"""Random access: throughput of owners that contend for one channel."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RandomAccess:
    """Long-run behaviour of owners that contend for a channel.

    Attributes
    ----------
    success_probability : float
        Share of the answers begun that survive.
    success_rate : float
        Answers that survive per time unit, of all owners together.
    attempt_rate : float
        Answers begun per time unit, of all owners together.
    """

    success_probability: float
    success_rate: float
    attempt_rate: float

    @classmethod
    def of(cls, success_probability: float, attempt_rate: float) -> "RandomAccess":
        """Return what so many answers begun per time unit yield."""
        return cls(success_probability, success_probability * attempt_rate, attempt_rate)
