"""Progress: what long functions report to a caller that asks for it.

They take a :class:`Progress` as an argument, ``None`` where nobody asks, and change no result by
it. A line shows it on a terminal, or in a notebook.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from asyncdp_sim.core.words import duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Display


class Progress(Protocol):
    """Receives what is being done, and how much of it is done."""

    def __call__(self, doing: str, done: float, total: float | None, /) -> object:
        """Receive progress.

        Parameters
        ----------
        doing : str
            What is being done, such as "simulating runs"; another text restarts the count.
        done : float
            How much of it is done; a part of a thing may be.
        total : float or None
            How much that will be in the end; None where nobody knows.
        """


Advance = Callable[[int], None]
"""Receives how many more are done."""


def counted(progress: Progress | None, doing: str, total: int) -> Advance:
    """Say that something begins, and return what adds up how much of it is done."""
    if progress is None:
        return _nothing
    reported, done = progress, 0
    reported(doing, 0, total)

    def add(count: int) -> None:
        nonlocal done
        done += count
        reported(doing, done, total)

    return add


def beginning(progress: Progress | None, doing: str) -> None:
    """Say that something begins of which nobody knows how long it is."""
    if progress is not None:
        progress(doing, 0, None)


def _nothing(count: int) -> None:
    """Report to nobody."""


@contextmanager
def drawn(shorter: str = "") -> Iterator[Progress | None]:
    """Give what draws progress while work is done.

    It is drawn on the error stream of a terminal, and in a notebook. In a pipe it is a line after a
    second if ten more are expected, after ten seconds otherwise, and then one a minute.

    Parameters
    ----------
    shorter : str
        What makes the work shorter; part of the first line in a pipe.
    """
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield _Lines(shorter)
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield None
        return
    with line_on(console) as display:
        yield _Following(display)


@contextmanager
def told(asked: Progress | bool | None) -> Iterator[Progress | None]:
    """Give the receiver of progress: the given one, a line on screen (True), or none (False).

    None draws a line in a notebook only.
    """
    if asked is None:
        asked = "ipykernel" in sys.modules
    if not isinstance(asked, bool):
        yield asked
    elif asked:
        with drawn() as progress:
            yield progress
    else:
        yield None


_EVERY = 0.05
"""Seconds between two pictures of the same task."""
_SOON, _FIRST, _LATER = 1, 10, 60
"""Seconds before the first line in a pipe, of long and of other work, and between two lines."""


def line_on(console: "Console") -> "Display":
    """Return a display of one line of a terminal, of 80 columns at most."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
    from rich.table import Column

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", table_column=Column(max_width=36, no_wrap=True)),
        BarColumn(bar_width=8),
        TextColumn("{task.fields[figures]}", table_column=Column(no_wrap=True)),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


class _Lines:
    """Writes lines to a pipe: the first as soon as the work is known to be long, then one a minute.

    Parameters
    ----------
    shorter : str
        What makes the work shorter.
    """

    def __init__(self, shorter: str) -> None:
        began = time.monotonic()
        self._shorter, self._doing, self._done = shorter, "", 0.0
        self._if_long, self._next = began + _SOON, began + _FIRST

    def __call__(self, doing: str, done: float, total: float | None, /) -> None:
        now = time.monotonic()
        if doing != self._doing or done < self._done:  # other work, or the same from its start
            self._doing, self._began, self._before = doing, now, done
        self._done = done
        speed = (done - self._before) / max(now - self._began, _EVERY)
        settled = speed > 0 and now >= self._began + _SOON
        is_long = total is not None and settled and (total - done) / speed >= _FIRST
        if now < (self._if_long if is_long else self._next) or done == total:
            return
        self._if_long = self._next = now + _LATER
        text = figures(done, total, speed)
        line = ": ".join(part for part in (doing, text) if part != "")
        sys.stderr.write(f"{line}{self._shorter and f' ({self._shorter})'}\n")
        self._shorter = ""


class _Following:
    """Follows what is being done: one task at a time, from where it begins."""

    def __init__(self, display: "Display") -> None:
        self._display = display
        self._doing, self._done, self._shown = "starting", 0.0, 0.0
        self._task = display.add_task("starting", total=None, figures="")

    def __call__(self, doing: str, done: float, total: float | None, /) -> None:
        display, now, anew = self._display, time.monotonic(), doing != self._doing
        if not anew and self._done <= done != total and now < self._shown + _EVERY:
            return
        self._shown = now
        if anew or done < self._done:
            display.remove_task(self._task)
            self._task = display.add_task(doing, total=total, completed=int(done), figures="")
        self._doing, self._done = doing, done
        display.update(self._task, completed=done)
        [task] = (task for task in display.tasks if task.id == self._task)
        display.update(self._task, figures=figures(task.completed, task.total, task.speed))


def figures(done: float, total: float | None, speed: float | None) -> str:
    """Return done/total, the rate, and the time left, as far as they are known."""
    if total is None:
        return ""
    text = f"{int(done):,}/{int(total):,}"
    if speed is None or speed <= 0:
        return text
    return f"{text}, {rate(speed)}, {duration((total - done) / speed)} left"


def rate(per_second: float) -> str:
    """Return so many in a second, a minute or an hour, whichever is at least one."""
    for seconds, unit in ((1, "s"), (60, "min")):
        if per_second * seconds >= 1:
            return f"{per_second * seconds:,.0f}/{unit}"
    return f"{per_second * 3600:.2g}/h"
