"""Random numbers one by one."""

from collections.abc import Iterator
from itertools import chain

from asyncdp_sim.network.laws import Source


def uniforms(source: Source) -> Iterator[float]:
    """Return draws from U[0, 1), without end; the stream is made at the first."""
    return chain.from_iterable(_blocks(source))


def _blocks(source: Source) -> Iterator[list[float]]:
    generator = source()
    while True:
        yield generator.random(64).tolist()
