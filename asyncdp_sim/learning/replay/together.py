"""Cells of a sweep that share traces: those that can learn together do."""

from collections.abc import Iterator, Sequence

from asyncdp_sim.learning.algorithms import Asks
from asyncdp_sim.learning.replay.cells import BYTES, CellTask, Scopes, size_of
from asyncdp_sim.learning.replay.folding import alike, fold, fold_together
from asyncdp_sim.learning.trajectory import Trajectory
from asyncdp_sim.progress import Advance
from asyncdp_sim.trace import Trace


def replay_together(
    traces: Sequence[Trace],
    cells: Sequence[CellTask],
    scopes: Scopes,
    asks: Asks = "average",
    advance: Advance | None = None,
) -> Iterator[tuple[int, Trajectory]]:
    """Replay cells over the same traces with the same random streams (common random numbers).

    Each path is to the bit what :func:`replay` gives for its cell alone. It is yielded as soon as
    it is there; at most :data:`~.cells.BYTES` are held for cells that learn together, unless one
    has more, for as long as the caller keeps none.

    Parameters
    ----------
    traces : sequence of Trace
        One per replicate.
    cells : sequence of CellTask
    scopes : callable
        Gives the replicates' random streams, fresh each time.
    asks : str
        Where gradients are taken.
    advance : callable, optional
        Told how many more updates are done, of all replicates and cells.

    Yields
    ------
    tuple of int and Trajectory
        The number of a cell, from 0, and its path; cells that learn together, one after another.

    Raises
    ------
    ValueError
        If a trace made its updates of another number of answers than a cell's algorithm does.
    """
    shape = (len(traces), max((trace.n_updates for trace in traces), default=0))
    kinds = [alike(cell) for cell in cells]
    for kind in dict.fromkeys(kinds):
        same = [number for number, other in enumerate(kinds) if other == kind]
        held = max(1, BYTES // max(size_of(cells[number], shape) for number in same))
        for first in range(0, len(same), 1 if kind is None else held):
            some = same[first : first + (1 if kind is None else held)]
            if len(some) == 1:
                yield some[0], fold(traces, cells[some[0]], scopes(), asks, advance=advance)
            else:
                tasks = [cells[number] for number in some]
                paths = fold_together(traces, tasks, scopes, asks, advance=advance)
                yield from zip(some, paths, strict=True)
