"""Streams by name: the name decides the numbers, and is handed out once."""

import hashlib
import json

import numpy as np
import pytest

from asyncdp_sim.core.errors import StreamError
from asyncdp_sim.core.streams import Streams

NAMES = [
    ("replicate", 1, "noise"),
    ("replicate", 2, "noise"),
    ("replicate", 1, "owner", 2, "clock"),
    ("replicate", 12, "owner", "clock"),
    ("replicate", "1", "noise"),
    ("replicate", 1),
    ("noise", 1, "replicate"),
    ("data", "truth"),
]


def by_numpy(seed: int, name: tuple[str | int, ...]) -> list[int]:
    """Return four numbers of a name from NumPy alone: a generator seeded by the name's hash."""
    digest = hashlib.blake2b(json.dumps(name).encode(), digest_size=16).digest()
    key = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return np.random.Generator(np.random.PCG64(sequence)).integers(2**62, size=4).tolist()


@pytest.mark.parametrize("seed", [0, 7, 2**32, 2**128 - 1, 2**128, 2**200 + 17])
def test_the_numbers_are_those_of_numpys_seed_sequence(seed: int) -> None:
    """In any order of asking, whatever others have drawn before; no two names have the same."""
    for names in (NAMES, NAMES[::-1]):
        streams = Streams(seed)
        streams.generator("other").random(10**3)
        found = [streams.generator(*name).integers(2**62, size=4).tolist() for name in names]
        assert found == [by_numpy(seed, name) for name in names]
        assert len(set(map(tuple, found))) == len(NAMES)


def test_a_name_is_handed_out_once() -> None:
    streams = Streams(1)
    streams.generator("a", 1)
    streams.generator("a", "1")
    with pytest.raises(StreamError, match=r"\('a', 1\)"):
        streams.generator("a", 1)


def test_a_scope_is_a_prefix_and_shares_what_is_taken() -> None:
    streams = Streams(1)
    drawn = streams.within("replicate", 3).within("owner", 2).generator("clock").random()
    assert drawn == Streams(1).generator("replicate", 3, "owner", 2, "clock").random()
    with pytest.raises(StreamError):
        streams.generator("replicate", 3, "owner", 2, "clock")
    with pytest.raises(StreamError):
        streams.within("replicate", 3, "owner").generator(2, "clock")


def test_the_numbers_of_a_name_are_pinned() -> None:
    """A change of hash, bit generator or seeding changes every result: it must be seen here."""
    drawn = Streams(1).generator("replicate", 1, "owner", 1, "clock")
    assert isinstance(drawn.bit_generator, np.random.PCG64)
    assert drawn.integers(2**32, size=3).tolist() == [3543278330, 570096784, 1245884014]


def test_owners_who_are_some_of_more_keep_their_numbers() -> None:
    some = Streams(5).within("owner", 2).of_owners((2, 9, 400))
    drawn = [some.generator("owner", owner, "clock").random() for owner in (1, 2, 3)]
    names = [("owner", 9, "owner", number, "clock") for number in (2, 9, 400)]
    assert drawn == [Streams(5).generator(*name).random() for name in names]
