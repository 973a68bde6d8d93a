"""Waits before an owner tries again: any law, times a power of two.

A backoff is no family of its own. A scenario writes it as a law (``backoff``), of which there is a
family, and as a number that says how far it grows (``backoff_cap``): a new kind of wait is a new
law. A channel that counts otherwise, as 802.11's does, says so itself.
"""

from collections.abc import Iterator


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

    def ticks(self, attempts: int) -> int:
        """Return how long to wait after this many attempts (≥ 1), in ticks."""
        return next(self._draws) << min(attempts - 1, self._cap)
