"""Cells that learn over the same traces, together: on the replicate axis, with the same noise."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import cast

import numpy as np

from asyncdp_sim.learning import compiled, stacked
from asyncdp_sim.learning.algorithms import Asks, GossipSteps, Indices, Steps
from asyncdp_sim.learning.answers import Reply
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.objectives.quadratic import FIXED
from asyncdp_sim.learning.path import Path, Recording
from asyncdp_sim.learning.stacked import Block, Loop, Stack
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Trace

Scopes = Callable[[], Sequence[Scope]]
BYTES = 2**28
"""Of paths and models held at a time at most, unless one cell has more."""
_LONGEST = 512
"""Updates in a block at most."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """How a sweep's cell learns over traces.

    Attributes
    ----------
    steps, reply
        The algorithm, and the owners' answers.
    record_every : int
        Distance in k between recorded models, ≥ 1.
    """

    steps: Steps
    reply: Reply
    record_every: int


def fused(traces: Sequence[Trace], lesson: Lesson, asks: Asks) -> Hashable:
    """Return what cells must have in common to learn together; None where they cannot.

    They can where every update of Algorithm 1 is of one fresh answer, a quadratic loss's gradient
    plus noise.
    """
    steps, reply = lesson.steps, lesson.reply
    others = (reply.sample, reply.factors, reply.acceptance)
    if not (type(steps) is GossipSteps and type(reply.gradients) is Quadratic):
        return None
    if asks != "average" or steps.n_features > FIXED or any(x is not None for x in others):
        return None
    if not all(t.answers_per_update == 1 and _fresh(t) for t in traces) or len(traces) == 0:
        return None
    law = reply.noise.added
    return None if law is None else (steps.n_owners, steps.n_features, law, reply.copy)


def _fresh(trace: Trace) -> bool:
    return not trace.updates["staleness"].any()


def learn(
    traces: Sequence[Trace],
    lessons: Sequence[Lesson],
    scopes: Scopes,
    loop: Loop | None = None,
) -> Iterator[Path]:
    """Yield the paths of cells that have in common what :func:`fused` says, in their order.

    All cells use the same streams, each row of which is drawn once for as many cells as ``BYTES``
    hold.

    Parameters
    ----------
    traces : sequence of Trace
        One per replicate.
    lessons : sequence of Lesson
    scopes : callable
        Gives the replicates' random streams, fresh each time; where there is one cell, once is
        enough.
    loop : Loop, optional
        By default the compiled one where it is installed and pays.
    """
    updates = np.array([trace.n_updates for trace in traces], dtype=np.int64)
    owners = np.zeros((len(traces), int(updates.max())), dtype=np.int64)
    for row, trace in zip(owners, traces, strict=True):
        row[: trace.n_updates] = trace.updates["owner"] - 1
    if loop is None:
        pays = compiled.worthwhile(owners.shape[1], len(owners) * len(lessons))
        loop = compiled.LOOP if pays else stacked.LOOP
    held = max(1, BYTES // max(_bytes(lesson, owners.shape) for lesson in lessons))
    for first in range(0, len(lessons), held):
        yield from _learn(owners, updates, lessons[first : first + held], scopes, loop)


def _bytes(lesson: Lesson, shape: tuple[int, ...]) -> int:
    """Return how much a cell takes: its path, its models, and its second moments."""
    (replicates, horizon), p, n = shape, lesson.steps.n_features, lesson.reply.noise.scale.size
    return 8 * p * (replicates * (horizon // lesson.record_every + 2 + n) + n * (p + 1))


def _learn(
    owners: Indices, updates: Indices, lessons: Sequence[Lesson], scopes: Scopes, loop: Loop
) -> Iterator[Path]:
    replicates, horizon = owners.shape
    noise, p = lessons[0].reply.noise, lessons[0].steps.n_features
    many, cells = min(replicates, loop.rows), max(1, loop.rows // replicates)
    stacks = [_stack(lessons[a : a + cells], scopes) for a in range(0, len(lessons), cells)]
    starts = [central for stack in stacks for central in stack.central]
    recordings = [
        Recording(start, updates, lesson.record_every)
        for start, lesson in zip(starts, lessons, strict=True)
    ]
    sources = lessons[0].reply.noise_of(scopes())
    longest = max(1, min(_LONGEST, loop.numbers // (many * len(stacks[0].of) * p)))
    for low, first in product(range(0, replicates, many), range(0, horizon, longest)):
        some, span = slice(low, low + many), slice(first, min(first + longest, horizon))
        count = span.stop - first
        rows = np.stack([noise.rows(source, count, p) for source in sources[some]])
        block = Block(owners[some, span], rows, np.clip(updates[some] - first, 0, count))
        with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge
            went = chain.from_iterable(loop.advance(stack.part(some), block) for stack in stacks)
            for recording, models in zip(recordings, went, strict=True):
                recording.take(some, first, models)
    clipped = (count for stack in stacks for count in stack.clipped)
    for recording, count in zip(recordings, clipped, strict=True):
        yield recording.path(count)


def _stack(lessons: Sequence[Lesson], scopes: Scopes) -> Stack:
    steps = [cast("GossipSteps", lesson.steps) for lesson in lessons]
    return Stack.of_cells(
        steps,
        [cast("Quadratic", lesson.reply.gradients) for lesson in lessons],
        [lesson.reply.noise.scale for lesson in lessons],
        [each.init(scopes()) for each in steps],
    )
