"""Starts of programs, which read many modules before they can hear anything themselves."""

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """While what a program needs is read, let Ctrl-C end it as the system does: silently.

    All of that stays till the end: it is not searched for what may go, neither now nor later.
    """
    hearing = signal.getsignal(signal.SIGINT)
    if hearing is signal.default_int_handler:  # else somebody wants it to be ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        signal.signal(signal.SIGINT, hearing)
