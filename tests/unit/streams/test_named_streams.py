"""Streams by name: the name decides the numbers, and is handed out once."""

import hashlib
import json

import numpy as np
import pytest

from asyncdp_sim.errors import StreamError
from asyncdp_sim.streams import Streams
from asyncdp_sim.streams.seeding import Seed, Seeder

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


def first(seed: int, name: tuple[str | int, ...]) -> list[int]:
    return Streams(seed).generator(*name).integers(2**62, size=4).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_name_gives_the_same_numbers(name: tuple[str | int, ...]) -> None:
    assert first(7, name) == first(7, name)
    assert first(7, name) != first(8, name)


def test_different_names_give_different_numbers() -> None:
    assert len({tuple(first(7, name)) for name in NAMES}) == len(NAMES)


def test_the_order_of_asking_changes_nothing() -> None:
    forth, back = Streams(3), Streams(3)
    one = {name: forth.generator(*name).random(3).tolist() for name in NAMES}
    two = {name: back.generator(*name).random(3).tolist() for name in reversed(NAMES)}
    assert one == two


def test_what_others_draw_changes_nothing() -> None:
    quiet, noisy = Streams(3), Streams(3)
    noisy.generator("other").random(10**5)
    assert quiet.generator("own").random() == noisy.generator("own").random()


def test_a_name_is_handed_out_once() -> None:
    streams = Streams(1)
    streams.generator("a", 1)
    streams.generator("a", "1")
    with pytest.raises(StreamError, match=r"\('a', 1\)"):
        streams.generator("a", 1)


def test_a_scope_is_a_prefix_and_shares_what_is_taken() -> None:
    streams = Streams(1)
    inner = streams.within("replicate", 3).within("owner", 2)
    drawn = inner.generator("clock").random()
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


@pytest.mark.parametrize("seed", [0, 7, 2**32, 2**128 - 1, 2**128, 2**200 + 17])
def test_the_numbers_are_those_of_numpys_seed_sequence(seed: int) -> None:
    name = ("replicate", 3, "owner", 17, "clock")
    digest = hashlib.blake2b(json.dumps(name).encode(), digest_size=16).digest()
    key = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    numbers = np.random.Generator(np.random.PCG64(sequence)).integers(2**62, size=4)
    assert first(seed, name) == numbers.tolist()


@pytest.mark.parametrize("seed", [0, 7, 2**32, 2**128 - 1, 2**128, 2**200 + 17])
def test_the_streams_of_each_owner_are_those_of_their_names(seed: int) -> None:
    scope = Streams(seed).within("replicate", 3)
    each = Streams(seed).within("replicate", 3).of_each(40, "loss", "query")
    for owner in (40, 1, 17):
        one = scope.generator("owner", owner, "loss", "query")
        other = each.source(owner)()
        assert isinstance(other.bit_generator, np.random.PCG64)
        assert other.bit_generator.state == one.bit_generator.state


def test_owners_who_are_some_of_more_keep_their_numbers_in_the_streams_of_each() -> None:
    numbers = (2, 9, 400)
    each = Streams(5).within("owner", 2).of_owners(numbers).of_each(3, "clock")
    drawn = [each.generator(owner).random() for owner in (1, 2, 3)]
    names = [("owner", 9, "owner", number, "clock") for number in numbers]
    assert drawn == [Streams(5).generator(*name).random() for name in names]


def test_a_stream_of_each_owner_is_handed_out_once() -> None:
    streams = Streams(1)
    scope = streams.within("50 %d")
    scope.of_each(3, "clock").generator(2)
    scope.of_each(3, "clock").generator(1)
    for again in (
        lambda: scope.generator("owner", 2, "clock"),
        lambda: scope.of_each(3, "clock").generator(2),
    ):
        with pytest.raises(StreamError, match=r"\('50 %d', 'owner', 2, 'clock'\)"):
            again()


@pytest.mark.parametrize("common", [4, 5, 9])
@pytest.mark.parametrize("own", [0, 1, 4, 6])
def test_seeds_worked_out_together_are_numpys(common: int, own: int) -> None:
    draws = np.random.default_rng(common + own)
    first = draws.integers(2**32, size=common, dtype=np.uint32)
    rows = draws.integers(2**32, size=(50, own), dtype=np.uint32)
    found = Seeder(first, own).seeds(rows)
    for row, words in zip(rows, found, strict=True):
        sequence = np.random.SeedSequence(np.concatenate([first, row]))
        assert words.tolist() == sequence.generate_state(4, np.uint64).tolist()


def test_a_seed_gives_no_other_words_than_it_has() -> None:
    seed = Seed(np.arange(4, dtype=np.uint64))
    for words, kind in ((8, np.uint64), (4, np.uint32)):
        with pytest.raises(ValueError, match="4 words of 64 bits"):
            seed.generate_state(words, kind)
