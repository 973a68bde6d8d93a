"""Random numbers one by one."""

from collections.abc import Iterator

from asyncdp_sim.network.laws import Source


def uniforms(source: Source) -> Iterator[float]:
    """Yield draws from U[0, 1), without end; the stream is made at the first."""
    generator = source()
    while True:
        yield from generator.random(64).tolist()
