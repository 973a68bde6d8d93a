"""Streams by name, and whose numbers come from which."""

import doctest
import hashlib
import json
import sys
from itertools import islice

import numpy as np
import pytest

from asyncdp_sim.core import streams as named
from asyncdp_sim.core.errors import StreamError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import block_to_ticks
from asyncdp_sim.network import build
from asyncdp_sim.network.laws import DrawnLaw, Empirical, Law
from tests import tables, traces
from tests.conformance.members import examples, said

# Streams by name: the name decides the numbers, and is handed out once.

TABLE = tables.table(__file__, "named_streams.toml")
NAMES = TABLE["names"]


def by_numpy(seed: int, name: tuple[str | int, ...]) -> list[int]:
    """Return four numbers of a name from NumPy alone: a generator seeded by the name's hash."""
    digest = hashlib.blake2b(json.dumps(name).encode(), digest_size=16).digest()
    key = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return np.random.Generator(np.random.PCG64(sequence)).integers(2**62, size=4).tolist()


def test_the_example_of_the_module_has_its_numbers():
    assert doctest.testmod(named) == (0, 4)


@pytest.mark.parametrize("seed", [0, 7, 2**32, 2**128 - 1, 2**128, 2**200 + 17])
def test_the_numbers_are_those_of_numpys_seed_sequence(seed):
    """In any order of asking, whatever others have drawn before; no two names have the same."""
    for names in (NAMES, NAMES[::-1]):
        streams = Streams(seed)
        streams.generator("other").random(10**3)
        found = [streams.generator(*name).integers(2**62, size=4).tolist() for name in names]
        assert found == [by_numpy(seed, name) for name in names]
        assert len(set(map(tuple, found))) == len(NAMES)


def test_a_name_is_handed_out_once():
    streams = Streams(1)
    streams.generator("a", 1)
    streams.generator("a", "1")
    with pytest.raises(StreamError, match=r"\('a', 1\)"):
        streams.generator("a", 1)


def test_a_scope_is_a_prefix_and_shares_what_is_taken():
    streams = Streams(1)
    drawn = streams.within("replicate", 3).within("owner", 2).generator("clock").random()
    assert drawn == Streams(1).generator("replicate", 3, "owner", 2, "clock").random()
    with pytest.raises(StreamError):
        streams.generator("replicate", 3, "owner", 2, "clock")
    with pytest.raises(StreamError):
        streams.within("replicate", 3, "owner").generator(2, "clock")


def test_the_numbers_of_a_name_are_pinned():
    """A change of hash, bit generator or seeding changes every result: it must be seen here."""
    drawn = Streams(1).generator("replicate", 1, "owner", 1, "clock")
    assert isinstance(drawn.bit_generator, np.random.PCG64)
    assert drawn.integers(2**32, size=3).tolist() == [3543278330, 570096784, 1245884014]


def test_owners_who_are_some_of_more_keep_their_numbers():
    some = Streams(5).within("owner", 2).of_owners((2, 9, 400))
    drawn = [some.generator("owner", owner, "clock").random() for owner in (1, 2, 3)]
    names = [("owner", 9, "owner", number, "clock") for number in (2, 9, 400)]
    assert drawn == [Streams(5).generator(*name).random() for name in names]


# The count of numbers that an owner draws at a time never shows in a trace.


@pytest.mark.parametrize("clock", TABLE["clocks"], ids=str)
def test_a_trace_does_not_depend_on_the_block(clock, monkeypatch):
    network = traces.network(3, 40, updates=100, clock=clock, **TABLE["durations"])
    tables = []
    for block in (1, 2, 7, 16, 512):
        for module in (sys.modules["asyncdp_sim.network.simulate"], build):
            monkeypatch.setattr(module, "block", lambda n_owners, block=block: block)  # noqa: ARG005
        trace = traces.traced(network, 5)
        tables.append((trace.events.tolist(), trace.exchanges.tolist(), trace.end_tick))
    assert len(tables[0][0]) > 300
    assert all(table == tables[0] for table in tables)


def test_blocks_shrink_as_owners_grow():
    sizes = [build.block(n) for n in (1, 8, 9, 100, 10**6)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1] >= 1


DRAWN = [law for law in examples(Law) if isinstance(law, DrawnLaw)]


@pytest.mark.parametrize("law", DRAWN, ids=said)
def test_a_first_block_is_small_and_the_numbers_are_those_of_one_draw(law, monkeypatch):
    """Of every law: what generators keep between blocks, half a word of an integer say, stays."""
    whole = block_to_ticks(law.draw(Streams(1).generator("x"), 1000)).tolist()
    draw = type(law).draw
    sizes = []

    def counted(law: DrawnLaw, generator: np.random.Generator, size: int) -> np.ndarray:
        sizes.append(size)
        return draw(law, generator, size)

    monkeypatch.setattr(type(law), "draw", counted)
    assert list(islice(law.durations(Streams(1).within("x").generator, 100), 1000)) == whole
    assert sizes[:5] == [16, 32, 64, 100, 100]


def test_an_empirical_law_draws_by_position():
    law = Empirical(values=(0.1, 0.2, 0.3))
    drawn = [
        [next(d) for _ in range(100)]
        for d in (law.durations(Streams(1).within("x").generator, b) for b in (1, 3, 100))
    ]
    assert drawn[0] == drawn[1] == drawn[2]
