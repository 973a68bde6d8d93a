"""A network's laws and random streams, as the compiled loop draws from them."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network.compiled.laws import NEVER, laws_by_stage
from asyncdp_sim.network.compiled.states import Words, memory, words_of
from asyncdp_sim.network.compiled.world import (
    ABREAST,
    ANSWER,
    BLOCK,
    COMPUTE,
    CONSTANT,
    GAP,
    LAW,
    LENGTH,
    QUERY,
    REQUEST,
    STAGE,
    STREAMS,
    TEXT,
    Draws,
)
from asyncdp_sim.network.spec import Network
from asyncdp_sim.streams import OfEach, Scope, ending

_SHARED = {REQUEST: "request", QUERY: "query", COMPUTE: "compute", ANSWER: "answer"}
"""Stages whose streams all owners share where one clock ticks for all."""
_GROUPED = {GAP: "gap", LENGTH: "length"}
"""Stages of groups of owners."""
_LONGEST = len(str(2**63))
"""Digits of an owner's number at most."""
_LINE = 64
"""Bytes of a line of the cache."""


def draws_of(network: Network, streams: Scope) -> Draws:
    """Return the laws, and the streams; those that are no owner's are seeded.

    Parameters
    ----------
    network : Network
        That the loop :func:`~.reach.covers`.
    streams : Scope
        The replicate's.
    """
    stages, laws, n_streams = np.zeros(len(STREAMS), dtype=STAGE), [NEVER], 0
    made: dict[int, list[list[int]]] = {}
    for stage, rows in laws_by_stage(network).items():
        each = len(rows) > 1
        stages[stage]["law"], stages[stage]["law_each"] = len(laws) - each, each
        laws += rows
        if max(row[0] for row in rows) > CONSTANT:
            others = [words_of(source()) for source in _not_owners(network, streams, stage)]
            made[n_streams] = others
            stages[stage]["stream"], stages[stage]["stream_each"] = n_streams, len(others) != 1
            n_streams += len(others) or network.n_owners + 1
    words = np.zeros((n_streams, 5), dtype=np.uint64)
    for first, others in made.items():
        words[first : first + len(others), :4] = np.array(others, dtype=np.uint64).reshape(-1, 4)
    of_each = streams.of_each(network.n_owners)
    endings, numbers = _endings(), np.arange(network.n_owners + 1)
    begun = _begun(of_each.before, _LONGEST + endings.shape[1])
    if of_each.numbers != range(1, network.n_owners + 1):
        numbers[1:] = of_each.numbers
    return Draws(
        stages=stages,
        laws=np.array(laws, dtype=LAW),
        streams=words,
        numbers=numbers,
        memory=memory(),
        begun=begun,
        endings=endings,
        pool=_pool(of_each),
        texts=_on_lines(TEXT + len(begun) - 1, ABREAST),
    )


def _not_owners(
    network: Network, streams: Scope, stage: int
) -> list[Callable[[], np.random.Generator]]:
    """Return what makes the streams of a stage that are not one owner's each."""
    together = network.availability.together
    if together is not None and stage in _GROUPED:
        groups = (streams.within("group", number) for number in together.numbers)
        return [partial(group.generator, _GROUPED[stage]) for group in groups]
    if network.superposed and stage in _SHARED:
        return [partial(streams.within("crowd").generator, _SHARED[stage])]
    return []


def _begun(text: bytes, more: int) -> Words:
    """Return a text as words, with room for so many bytes more, behind the number of its bytes."""
    whole = text.ljust(-(-(len(text) + more) // BLOCK) * BLOCK, b"\0")
    return np.array([len(text), *np.frombuffer(whole, dtype="<u8")], dtype=np.uint64)


def _on_lines(rows: int, columns: int) -> Words:
    """Return a table of noughts that begins where a line of the cache does.

    Digests take a third longer where half of the vectors lie in two lines.
    """
    words = _LINE // np.dtype(np.uint64).itemsize
    room = np.zeros(rows * columns + words - 1, dtype=np.uint64)
    first = -room.ctypes.data % _LINE // room.itemsize
    return room[first : first + rows * columns].reshape(rows, columns)


@cache
def _endings() -> npt.NDArray[np.uint8]:
    """Return what stands behind owners' numbers in streams' names, by stage; only read."""
    parts = [ending(*purpose) for purpose in STREAMS]
    names = np.zeros((len(parts), max(map(len, parts))), dtype=np.uint8)
    for row, part in zip(names, parts, strict=True):
        row[: len(part)] = list(part)
    return names


def _pool(of_each: OfEach) -> Words:
    """Return what seeds are worked out with."""
    seeder = of_each.seeder
    parts = [seeder.pool, seeder.before.ravel(), seeder.after.ravel()]
    return np.concatenate(parts).astype(np.uint64)
