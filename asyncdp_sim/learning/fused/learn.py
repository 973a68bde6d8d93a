"""Cells that learn over the same traces, together: on the replicate axis, with the same noise."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import cast

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Asks, GossipSteps, Indices, Steps
from asyncdp_sim.learning.asked import Asked
from asyncdp_sim.learning.fused import numba_loop, numpy_loop
from asyncdp_sim.learning.fused.numpy_loop import Block, Loop, Stack
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.objectives.quadratic import FIXED
from asyncdp_sim.learning.reply import Reply
from asyncdp_sim.learning.trajectory import Recording, Trajectory
from asyncdp_sim.learning.watch import NUMBERS, Reads, Watch
from asyncdp_sim.progress import Advance
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Trace

Scopes = Callable[[], Sequence[Scope]]
BYTES = 2**28
"""Of paths and models held at a time at most, unless one cell has more."""
_LONGEST = 512
"""Updates in a block at most."""


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


def fused(traces: Sequence[Trace], cell: CellTask, asks: Asks) -> Hashable:
    """Return what cells must have in common to learn together; None where they cannot.

    They can where every update of Algorithm 1 is of one fresh answer, a quadratic loss's gradient
    plus noise.
    """
    steps, reply = cell.steps, cell.reply
    others = (reply.sample, reply.factors, reply.acceptance, reply.allotment)
    # Exact types, whose arithmetic the loop repeats: a class derived from them may have its own.
    if not (type(steps) is GossipSteps and type(reply.gradients) is Quadratic):
        return None
    if asks != "average" or steps.n_features > FIXED or any(x is not None for x in others):
        return None
    if not all(t.answers_per_update == 1 and _fresh(t) for t in traces):
        return None
    if sum(t.n_updates for t in traces) == 0:
        return None
    law = reply.noise.added
    return None if law is None else (steps.n_owners, steps.n_features, law, reply.copy)


def _fresh(trace: Trace) -> bool:
    return not trace.updates["staleness"].any()


def learn(
    traces: Sequence[Trace],
    cells: Sequence[CellTask],
    scopes: Scopes,
    loop: Loop | None = None,
    *,
    advance: Advance | None = None,
) -> Iterator[Trajectory]:
    """Yield the paths of cells that have in common what :func:`fused` says, in their order.

    All cells use the same streams, each row of which is drawn once for as many cells as ``BYTES``
    hold.

    Parameters
    ----------
    traces : sequence of Trace
        One per replicate.
    cells : sequence of CellTask
    scopes : callable
        Gives the replicates' random streams, fresh each time; where there is one cell, once is
        enough.
    loop : Loop, optional
        By default the compiled one where it is installed and pays.
    advance : callable, optional
        Told how many more updates are done, of all replicates and cells.
    """
    updates = np.array([trace.n_updates for trace in traces], dtype=np.int64)
    owners = np.zeros((len(traces), int(updates.max())), dtype=np.int64)
    for row, trace in zip(owners, traces, strict=True):
        row[: trace.n_updates] = trace.updates["owner"] - 1
    if loop is None:
        pays = numba_loop.worthwhile(owners.shape[1], len(owners) * len(cells))
        loop = numba_loop.LOOP if pays else numpy_loop.LOOP
    watched = any(cell.watch is not None for cell in cells)
    reads = Reads.of(traces) if watched else None
    held = max(1, BYTES // max(size_of(cell, owners.shape) for cell in cells))
    for first in range(0, len(cells), held):
        some = cells[first : first + held]
        yield from _learn(owners, updates, some, scopes, loop, reads, advance)


def size_of(cell: CellTask, shape: tuple[int, ...]) -> int:
    """Return a cell's bytes: its path, its models, second moments, and what is watched."""
    (replicates, horizon), p, n = shape, cell.steps.n_features, cell.reply.noise.scale.size
    numbers = p * (replicates * (horizon // cell.record_every + 2 + n) + n * (p + 1))
    return 8 * (numbers + (0 if cell.watch is None else NUMBERS))


def _learn(
    owners: Indices,
    updates: Indices,
    cells: Sequence[CellTask],
    scopes: Scopes,
    loop: Loop,
    reads: Reads | None,
    advance: Advance | None,
) -> Iterator[Trajectory]:
    replicates, horizon = owners.shape
    noise, p = cells[0].reply.noise, cells[0].steps.n_features
    many, abreast = min(replicates, loop.rows), max(1, loop.rows // replicates)
    stacks = [_stack(cells[a : a + abreast], scopes) for a in range(0, len(cells), abreast)]
    starts = [central for stack in stacks for central in stack.central]
    recordings = [
        Recording(start, updates, cell.record_every)
        for start, cell in zip(starts, cells, strict=True)
    ]
    sources = cells[0].reply.noise_of(scopes())
    longest = max(1, min(_LONGEST, loop.numbers // (many * len(stacks[0].of) * p)))
    for low, first in product(range(0, replicates, many), range(0, horizon, longest)):
        some, span = slice(low, low + many), slice(first, min(first + longest, horizon))
        count = span.stop - first
        rows = np.stack([noise.rows(source, count, p) for source in sources[some]])
        block = Block(owners[some, span], rows, np.clip(updates[some] - first, 0, count))
        asked = None if reads is None else Asked.of(reads, block, some, span, horizon)
        with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge
            parts = (stack.part(some) for stack in stacks)
            went = chain.from_iterable(_advance(loop, part, block, asked) for part in parts)
            for recording, cell, (models, points) in zip(recordings, cells, went, strict=True):
                recording.take(some, first, models)
                if cell.watch is not None and asked is not None:
                    cell.watch.take(asked.owners, points)
        if advance is not None:
            advance(len(cells) * int(block.live.sum()))
    clipped = (count for stack in stacks for count in stack.clipped)
    for recording, count in zip(recordings, clipped, strict=True):
        yield recording.trajectory(count)


def _advance(
    loop: Loop, stack: Stack, block: Block, asked: Asked | None
) -> Iterator[tuple[Array, Array]]:
    """Make a block of updates; yield every cell's θ_L after each, and the queries asked for."""
    if asked is None:
        went, _ = loop.advance(stack, block, keep=False)
        yield from zip(went, went, strict=True)
        return
    before = asked.before(stack)
    went, moved = loop.advance(stack, block, keep=True)
    yield from zip(went, asked.points(before, went, moved), strict=True)


def _stack(cells: Sequence[CellTask], scopes: Scopes) -> Stack:
    steps = [cast("GossipSteps", cell.steps) for cell in cells]
    return Stack.of_cells(
        steps,
        [cast("Quadratic", cell.reply.gradients) for cell in cells],
        [cell.reply.noise.scale for cell in cells],
        [each.init(scopes()) for each in steps],
    )
