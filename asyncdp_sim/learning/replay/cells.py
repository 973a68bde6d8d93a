"""Cells of a sweep that learn over the same traces, together where they can."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from asyncdp_sim.learning.algorithms import Steps
from asyncdp_sim.learning.reply import Reply
from asyncdp_sim.learning.watch import NUMBERS, Watch
from asyncdp_sim.streams import Scope

Scopes = Callable[[], Sequence[Scope]]
BYTES = 2**28
"""Of paths and models held at a time at most, unless one cell has more."""


@dataclass(frozen=True, eq=False)
class CellTask:
    """A sweep's cell that is to learn over traces.

    Attributes
    ----------
    steps, reply
        The algorithm, and the owners' answers.
    record_every : int
        Distance in k between recorded models, ≥ 1.
    watch : Watch, optional
        Is shown the queries that were answered.
    """

    steps: Steps
    reply: Reply
    record_every: int
    watch: Watch | None = None


def size_of(cell: CellTask, shape: tuple[int, int]) -> int:
    """Return a cell's bytes: its path, its models, second moments, and what is watched."""
    (replicates, horizon), p, n = shape, cell.steps.n_features, cell.reply.noise.scale.size
    numbers = p * (replicates * (horizon // cell.record_every + 2 + n) + n * (p + 1))
    return 8 * (numbers + (0 if cell.watch is None else NUMBERS))
