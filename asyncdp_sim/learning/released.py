"""Answers of owners that draw their noise themselves, each from a stream of its own.

In a simulation the noise of an answer is drawn when it is used. Real owners draw theirs when they
release it, whatever becomes of it then.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from asyncdp_sim.learning.algorithms import Array, Indices, Turn
from asyncdp_sim.learning.answers import Answers, Draw, DrawnRows
from asyncdp_sim.learning.reply import Reply
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import RELEASED, Trace

_BLOCK = 64
"""Rows drawn at a time; does not change their values."""


def of_owner(reply: Reply, replicate: Scope, owner: int, size: int) -> Answers:
    """Return the answers that an owner (from 1) releases, as it sends them.

    The noise of its j-th answer is row j of its stream ``("owner", i, "noise")``.
    """
    return Answers(replace(reply, acceptance=None), [replicate.within("owner", owner)], size)


class ReleasedAnswers(Answers):
    """The answers that were used in recorded runs, by the noise that their owners released.

    Parameters
    ----------
    reply : Reply
    replicates : sequence of Scope
        The replicates' random streams.
    size : int
        Numbers in an answer.
    traces : sequence of Trace
        One per replicate.
    """

    def __init__(
        self, reply: Reply, replicates: Sequence[Scope], size: int, traces: Sequence[Trace]
    ) -> None:
        self._n_owners = len(reply.noise.scale)
        owners = range(1, self._n_owners + 1)
        self._ranks = [used for trace in traces for used in ranks(trace)]
        super().__init__(reply, [s.within("owner", i) for s in replicates for i in owners], size)

    @override
    def rows(self, sources: Sequence[np.random.Generator], draw: Draw, width: int) -> DrawnRows:
        return _RankedRows(sources, draw, self._ranks)

    @override
    def _stream_rows(self, turn: Turn) -> Indices:
        return turn.replicates * self._n_owners + turn.owners


def ranks(trace: Trace) -> list[list[int]]:
    """Return for each owner which of its released answers, from 0, its answers used were."""
    rows = trace.exchanges[trace.came_to(*RELEASED)]
    released = rows[np.lexsort((rows["message"], rows["release_tick"]))]
    found = []
    for owner in range(1, trace.n_owners + 1):
        messages = released["message"][released["owner"] == owner].tolist()
        rank = {message: place for place, message in enumerate(messages)}
        used = trace.updates["message"][trace.updates["owner"] == owner].tolist()
        found.append([rank[message] for message in used])
    return found


class _RankedRows:
    """Rows of streams, of which each answer's is known by its number."""

    def __init__(
        self, sources: Sequence[np.random.Generator], draw: Draw, ranks: Sequence[Sequence[int]]
    ) -> None:
        self._sources = sources
        self._draw = draw
        self._next = [iter(each) for each in ranks]
        self._drawn: list[list[npt.NDArray[np.float64]]] = [[] for _ in sources]

    def following(self, rows: Indices | None) -> Array:
        """Return the row of the next answer of each of these owners; any, where it has none."""
        every = range(len(self._sources)) if rows is None else rows.tolist()
        return np.stack([self._row(source, next(self._next[source], 0)) for source in every])

    def _row(self, source: int, number: int) -> npt.NDArray[np.float64]:
        drawn = self._drawn[source]
        while len(drawn) <= number:
            drawn.extend(self._draw(self._sources[source], _BLOCK))
        return drawn[number]
