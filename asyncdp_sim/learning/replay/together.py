"""Cells of a sweep that share traces: those that are alike learn as rows of one fold."""

from collections.abc import Callable, Iterator, Sequence

from asyncdp_sim.learning.algorithms import Asks
from asyncdp_sim.learning.replay.cells import CellTask, alike
from asyncdp_sim.learning.replay.folding import fold
from asyncdp_sim.learning.trajectory import Trajectory
from asyncdp_sim.progress import Advance
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Trace

BYTES = 2**28
"""Of paths and models held at a time at most, unless one cell has more."""


def replay_together(
    traces: Sequence[Trace],
    cells: Sequence[CellTask],
    scopes: Callable[[], Sequence[Scope]],
    asks: Asks = "average",
    advance: Advance | None = None,
) -> Iterator[tuple[int, Trajectory]]:
    """Replay cells over the same traces with the same random streams (common random numbers).

    Each path is to the bit what :func:`fold` gives for its cell alone. It is yielded as soon as it
    is there; at most :data:`BYTES` are held for cells that learn together, unless one has more, for
    as long as the caller keeps none.

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
        held = max(1, BYTES // max(cells[number].size(*shape) for number in same))
        held = 1 if kind is None else held
        for first in range(0, len(same), held):
            some = same[first : first + held]
            rows = [scope for _ in some for scope in scopes()]
            tasks = [cells[number] for number in some]
            yield from zip(some, fold(traces, tasks, rows, asks, advance=advance), strict=True)
