"""Progress: what functions that take their time report, to whoever asked for it.

They take a :class:`Progress` as an argument, ``None`` where nobody asks, and change no result by
it. :mod:`asyncdp_sim.progress.line` draws it on a terminal, or in a notebook.
"""

from collections.abc import Callable
from typing import Protocol


class Progress(Protocol):
    """Is told what is being done, and how much of it is done."""

    def __call__(self, doing: str, done: float, total: float | None, /) -> object:
        """Hear of progress.

        Parameters
        ----------
        doing : str
            What is being done, such as "simulating runs"; another text begins anew.
        done : float
            How much of it is done; a part of a thing may be.
        total : float or None
            How much that will be in the end; None where nobody knows.
        """


Advance = Callable[[int], None]
"""Is told how many more are done."""


def counted(progress: Progress | None, doing: str, total: int) -> Advance:
    """Say that something begins, and return what adds up how much of it is done."""
    if progress is None:
        return _nothing
    told, done = progress, 0
    told(doing, 0, total)

    def add(count: int) -> None:
        nonlocal done
        done += count
        told(doing, done, total)

    return add


def beginning(progress: Progress | None, doing: str) -> None:
    """Say that something begins of which nobody knows how long it is."""
    if progress is not None:
        progress(doing, 0, None)


def _nothing(count: int) -> None:
    """Report to nobody."""
