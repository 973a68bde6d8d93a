"""Artists: processes that draw the figures of a directory, each its share of them."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from multiprocessing import get_all_start_methods
from pathlib import Path
from typing import Any, NamedTuple

from asyncdp_sim.runs.workers import executor, server_of
from asyncdp_sim.threads import cores

_Share = tuple[list[Path], list[str], list[str]]
"""A :class:`~asyncdp_sim.figures.draw.Share`, as who waits for it has not read matplotlib."""


class DrawnFiles(NamedTuple):
    """Files that were drawn, and notes on what was not."""

    pictures: tuple[Path, ...]
    notes: tuple[str, ...]


class Artists:
    """Processes that draw, or this one.

    Attributes
    ----------
    pool : Executor
        Does whatever else is to be drawn.
    """

    def __init__(self, pool: Executor, count: int) -> None:
        self.pool = pool
        self._count = count

    def draw(self, directory: Path, **how: Any) -> DrawnFiles:
        """Draw all figures of a directory, as :func:`~asyncdp_sim.figures.draw.draw_all` does.

        Raises
        ------
        ResultError
            If it is no result and no sweep, or cannot be written to.
        MachineError
            If a process that draws is killed.
        """
        shares = [(place, self._count) for place in range(self._count)]
        asked = [self.pool.submit(_share, directory, share, how) for share in shares]
        parts = [each.result() for each in asked]
        return self.pool.submit(_together, directory, parts, how.get("folder")).result()


@contextmanager
def artists(workers: int = 1, *others: str) -> Iterator[Artists]:
    """Give who draws what comes of the work inside; they end with it.

    Parameters
    ----------
    workers : int
        Processes that the work takes meanwhile. Where they leave no core, this one draws.
    *others : str
        Modules that what else is drawn is in.
    """
    count = cores() if cores() > workers and "forkserver" in get_all_start_methods() else 1
    server = server_of("asyncdp_sim.figures.practice", *others) if count > 1 else None
    with executor(count, server) as pool:
        yield Artists(pool, count)


def _share(directory: Path, share: tuple[int, int], how: dict[str, Any]) -> _Share:
    from asyncdp_sim.figures.draw import draw_share  # imports matplotlib, here alone

    paths, sections, notes = draw_share(directory, share, **how)
    return paths, sections, notes


def _together(directory: Path, shares: Sequence[_Share], folder: Path | None) -> DrawnFiles:
    from asyncdp_sim.figures.draw import Share, together

    done = together(directory, [Share(*each) for each in shares], folder=folder)
    return DrawnFiles(done.pictures, done.notes)
