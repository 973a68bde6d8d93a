"""Waits before an owner tries again."""

from collections.abc import Iterator
from functools import partial

from asyncdp_sim.network.channels.contended import Deferring
from asyncdp_sim.streams import Scope


class Backoff:
    """Waits that double with each attempt, up to a cap.

    Parameters
    ----------
    draws : iterator of int
        Durations of the law, in ticks.
    cap : int
        The wait after attempt m is a draw times 2^min(m − 1, cap).
    """

    def __init__(self, draws: Iterator[int], cap: int) -> None:
        self._draws = draws
        self._cap = cap

    @classmethod
    def of(cls, channel: object, own: Scope, purpose: str) -> "Backoff | None":
        """Return an owner's waits on a channel; None where it has no law for them."""
        if not isinstance(channel, Deferring):
            return None
        draws = channel.backoff.durations(partial(own.generator, "backoff", purpose), 16)
        return None if draws is None else cls(draws, channel.backoff_cap)

    def ticks(self, attempts: int) -> int:
        """Return how long to wait after this many attempts (≥ 1), in ticks."""
        return next(self._draws) << min(attempts - 1, self._cap)
