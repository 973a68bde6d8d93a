"""Waits before an owner tries again."""

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
