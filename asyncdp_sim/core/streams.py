"""Random streams by name.

A component asks for its generator by a name such as ``("replicate", 3, "owner", 17, "clock")``.
The name, not the order of asking, decides the numbers: adding owners leaves the clocks of the
others unchanged, and replicate 7 is the same alone or among 100. With seed 1 the clock of owner 17
draws the same intervals whether its generator is asked for first or last, by one name or in parts:

>>> clock = Streams(1).generator("replicate", 3, "owner", 17, "clock")
>>> clock.standard_exponential(3).round(3).tolist()
[1.31, 0.939, 0.704]
>>> clock = Streams(1).within("replicate", 3).generator("owner", 17, "clock")
>>> clock.standard_exponential(3).round(3).tolist()
[1.31, 0.939, 0.704]
"""

import json
from hashlib import blake2b

import numpy as np

from asyncdp_sim.core.errors import StreamError

Name = tuple[str | int, ...]


class Streams:
    """Hands out each named generator once.

    Parameters
    ----------
    seed : int
        The run's only seed, ≥ 0.

    Notes
    -----
    The 128-bit BLAKE2b digest of the name (as JSON) is the ``spawn_key`` of a
    :class:`numpy.random.SeedSequence` whose entropy is the seed; the bit generator is PCG64.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._taken: set[bytes] = set()
        # NumPy's own way with entropy and spawn key, given as the one array that it makes of them:
        # the seed's words, at least four, and the key's. It takes a third of the time.
        words = max(4, -(-seed.bit_length() // 32))
        self._entropy = seed.to_bytes(4 * words, "little")

    def generator(self, *name: str | int) -> np.random.Generator:
        """Return the generator of this name.

        Raises
        ------
        StreamError
            If the name was handed out before: two components would share numbers.
        """
        written = json.dumps(name).encode()
        if written in self._taken:
            raise StreamError(f"the random stream {name} is already in use")
        self._taken.add(written)
        digest = blake2b(written, digest_size=16).digest()
        words = np.frombuffer(self._entropy + digest, dtype="<u4")
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))

    def within(self, *prefix: str | int) -> "Scope":
        """Return the streams whose names start with ``prefix``."""
        return Scope(self, prefix)

    def afresh(self) -> "Streams":
        """Return the same streams, none of them handed out: for the same work done again."""
        return Streams(self.seed)


OF_OWNERS = ("owner", "client")
"""What stands before an owner's number in a name."""


class Scope:
    """The streams of one part of a run: a view of :class:`Streams` under a name prefix.

    Parameters
    ----------
    streams : Streams
    prefix : tuple
    owners : tuple of int, optional
        Numbers that owners 1…N have in names, where they are some of more owners.
    """

    def __init__(
        self, streams: Streams, prefix: Name, owners: tuple[int, ...] | None = None
    ) -> None:
        self._streams = streams
        self._prefix = prefix
        self._owners = owners

    def generator(self, *name: str | int) -> np.random.Generator:
        """Return the generator of this name below the prefix."""
        return self._streams.generator(*self._numbered((*self._prefix, *name)))

    def within(self, *prefix: str | int) -> "Scope":
        """Return the streams below a longer prefix."""
        return Scope(self._streams, (*self._prefix, *prefix), self._owners)

    def afresh(self) -> "Scope":
        """Return the same streams, none of them handed out: for the same work done again."""
        return Scope(self._streams.afresh(), self._prefix, self._owners)

    def of_owners(self, numbers: tuple[int, ...] | None) -> "Scope":
        """Return the streams as those of some of more owners, who keep their numbers in names."""
        return self if numbers is None else Scope(self._streams, self._prefix, numbers)

    def _numbered(self, name: Name) -> Name:
        """Return a name with the numbers that owners have among all."""
        if self._owners is None:
            return name
        return tuple(
            self._owners[part - 1] if isinstance(part, int) and before in OF_OWNERS else part
            for before, part in zip(("", *name), name, strict=False)
        )
