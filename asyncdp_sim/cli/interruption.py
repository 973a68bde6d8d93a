"""Ctrl-C, and how else a system asks a program to end: what is half built is removed first."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDINGS = ("SIGTERM", "SIGHUP")
"""Signals, where a system has them, that do as Ctrl-C does."""


class Interruption:
    """Remembers which signal came.

    Attributes
    ----------
    code : int
        What a shell says of a program that the signal ends: 128 and its number.
    """

    def __init__(self) -> None:
        self.code = 128 + signal.SIGINT

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        """Do as Ctrl-C does, once: what is tidied up then is not interrupted again."""
        signal.signal(number, signal.SIG_IGN)
        self.code = 128 + number
        raise KeyboardInterrupt


@contextmanager
def heard() -> Iterator[Interruption]:
    """Let the signals do as Ctrl-C does inside, unless somebody wants them to be ignored."""
    interruption = Interruption()
    known = [getattr(signal, name) for name in ENDINGS if hasattr(signal, name)]
    changed = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, interruption)
    try:
        yield interruption
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
