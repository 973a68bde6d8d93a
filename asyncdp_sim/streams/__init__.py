"""Random streams by name.

A component asks for its generator by a name such as ``("replicate", 3, "owner", 17, "clock")``.
The name, not the order of asking, decides the numbers: adding owners leaves the clocks of the
others unchanged, and replicate 7 is the same alone or among 100.
"""

import json
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from typing import Any

import numpy as np

from asyncdp_sim.errors import StreamError
from asyncdp_sim.streams.seeding import Seed, Seeder, Seeds

_KEY_WORDS = 4
"""Words of 32 bits in a name's digest."""

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
        said = _said(name)
        self.take(said)
        words = np.frombuffer(self._entropy + _digest(said), dtype="<u4")
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))

    def take(self, said: bytes) -> None:
        """Note that a name, as JSON, is handed out; see :meth:`generator`."""
        if said in self._taken:
            raise StreamError(f"the random stream {tuple(json.loads(said))} is already in use")
        self._taken.add(said)

    def seeds(self, said: list[bytes]) -> Seeds:
        """Return the seeds of names, as JSON, shape (n, 4)."""
        digests = b"".join(map(_digest, said))
        return self.seeder.seeds(np.frombuffer(digests, dtype="<u4").reshape(-1, _KEY_WORDS))

    @cached_property
    def seeder(self) -> Seeder:
        """What works out seeds of names' digests."""
        return Seeder(np.frombuffer(self._entropy, dtype="<u4"), _KEY_WORDS)

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

    def of_each(self, n_owners: int, *purpose: str) -> "OfEach":
        """Return the streams of one purpose of owners 1…N: (…, "owner", i, *purpose)."""
        before = _said(self._numbered((*self._prefix, "owner"))).removesuffix(b"]")
        after = ending(*purpose)
        numbers = range(1, n_owners + 1) if self._owners is None else self._owners
        return OfEach(self._streams, (before + b", ", after), numbers)

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


class OfEach:
    """The streams of one purpose of every owner, whose seeds are worked out together.

    Parameters
    ----------
    streams : Streams
    around : tuple of bytes
        What stands before and behind an owner's number in a name, as JSON.
    numbers : sequence of int
        Numbers that owners 1…N have in names.

    Attributes
    ----------
    before, after : bytes
    numbers : sequence of int
    """

    def __init__(
        self, streams: Streams, around: tuple[bytes, bytes], numbers: Sequence[int]
    ) -> None:
        self._streams = streams
        self.before, self.after = around
        self.numbers = numbers

    def generator(self, owner: int) -> np.random.Generator:
        """Return the generator of an owner (from 1); see :meth:`Streams.generator`."""
        self._streams.take(self._name(self.numbers[owner - 1]))
        seed: Any = Seed(self._seeds[owner - 1])  # NumPy takes it, and its stubs do not know
        return np.random.Generator(np.random.PCG64(seed))

    def source(self, owner: int) -> Callable[[], np.random.Generator]:
        """Return what makes the generator of an owner (from 1)."""
        return partial(self.generator, owner)

    @property
    def seeder(self) -> Seeder:
        """What works out their seeds, of their names' digests."""
        return self._streams.seeder

    def _name(self, number: int) -> bytes:
        return b"%b%d%b" % (self.before, number, self.after)

    @cached_property
    def _seeds(self) -> Seeds:
        return self._streams.seeds([self._name(number) for number in self.numbers])


def ending(*purpose: str) -> bytes:
    """Return what stands behind an owner's number in the name of a stream, as JSON."""
    return "".join([*(f", {_quoted(part)}" for part in purpose), "]"]).encode()


def _said(name: Name) -> bytes:
    """Return a name as JSON."""
    parts = [str(part) if type(part) is int else _quoted(part) for part in name]
    return f"[{', '.join(parts)}]".encode()


@lru_cache(typed=True)
def _quoted(part: str | int) -> str:
    return json.dumps(part)


def _digest(said: bytes) -> bytes:
    return blake2b(said, digest_size=4 * _KEY_WORDS).digest()
