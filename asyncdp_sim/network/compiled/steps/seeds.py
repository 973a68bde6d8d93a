"""Seeds of random streams, as :mod:`asyncdp_sim.streams` gives them, worked out some at a time.

NumPy's ``SeedSequence`` of a name's digest, and the first state of a PCG64.
Numbers are 64 bits wide throughout; those of ``SeedSequence`` are cut to 32.
"""

from typing import Any

import numpy as np

from asyncdp_sim.network.compiled.steps.digests import digest, spell
from asyncdp_sim.network.compiled.steps.step import step
from asyncdp_sim.network.compiled.world import ABREAST, AFTER, BEFORE, CHAIN, CONSTANT, MIXED, TEXT
from asyncdp_sim.streams.seeding import LAST, MIX_LEFT, MIX_RIGHT

_TOP = np.uint64(63)
_HALF, _QUARTER, _ONE, _NONE = np.uint64(32), np.uint64(16), np.uint64(1), np.uint64(0)
_LOWER = np.uint64(0xFFFFFFFF)
_LEFT, _RIGHT = np.uint64(MIX_LEFT), np.uint64(MIX_RIGHT)
_LAST = LAST.astype(np.uint64)
# The multiplier of PCG64 (O'Neill 2014), high and low half; a state moves to state·M + increment.
_HIGH, _LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)


@step
def seed_all(d: Any, stage: int, n_owners: int) -> None:
    """Seed the streams of all owners' stage, where each has one that is drawn from."""
    at = d.stages[stage]
    if at.stream_each == 0 or d.laws[at.law + at.law_each].code <= CONSTANT:
        return
    for first in range(1, n_owners + 1, ABREAST):
        seed(d, stage, first, min(ABREAST, n_owners + 1 - first))


@step
def seed(d: Any, stage: int, first: int, count: int) -> None:
    """Set the states of the streams of so many owners' stage, before their first draws."""
    at, pool, texts = d.stages[stage], d.pool, d.texts
    spell(d, stage, first, count)
    digest(texts, count)
    spread(pool, texts[CHAIN:MIXED], texts[MIXED:TEXT], count)
    for lane in range(count):
        words = d.streams[at.stream + at.stream_each * (first + lane)]
        for i in range(4):
            lower, upper = texts[MIXED + 4 + 2 * i, lane], texts[MIXED + 5 + 2 * i, lane]
            words[i] = lower | (upper << _HALF)
        start(words)


@step
def spread(pool: Any, digests: Any, found: Any, count: int) -> None:
    """Leave the eight words of seeds in the rows from the fifth, those of a pool before."""
    for i in range(4):
        for lane in range(count):
            found[i, lane] = pool[i]
    for place in range(4):
        shift = _HALF if place & 1 else _NONE
        for i in range(4):
            before, after = pool[BEFORE + 4 * place + i], pool[AFTER + 4 * place + i]
            for lane in range(count):
                word = (digests[place >> 1, lane] >> shift) & _LOWER
                hashed = hash_word(word, before, after)
                mixed = (found[i, lane] * _LEFT - hashed * _RIGHT) & _LOWER
                found[i, lane] = mixed ^ (mixed >> _QUARTER)
    for i in range(8):
        for lane in range(count):
            found[4 + i, lane] = hash_word(found[i & 3, lane], _LAST[i], _LAST[i + 1])


@step
def hash_word(word: Any, before: Any, after: Any) -> Any:
    """Return a word of 32 bits, hashed."""
    found = ((word ^ before) * after) & _LOWER
    return found ^ (found >> _QUARTER)


@step
def start(words: Any) -> None:
    """Turn the four words of a seed into a state and its increment, low halves first."""
    start_high, start_low, way_high, way_low = words[0], words[1], words[2], words[3]
    high = (way_high << _ONE) | (way_low >> _TOP)
    low = (way_low << _ONE) | _ONE
    at_low = start_low + low
    at_high = start_high + high + np.uint64(at_low < low)
    up = at_high * _LOW + at_low * _HIGH + product_above(at_low, _LOW)
    words[0] = at_low * _LOW + low
    words[1] = up + high + np.uint64(words[0] < low)
    words[2], words[3] = low, high


@step
def product_above(a: Any, b: Any) -> Any:
    """Return the high half of the 128 bits of a·b."""
    a1, a0, b1, b0 = a >> _HALF, a & _LOWER, b >> _HALF, b & _LOWER
    middle = a1 * b0 + ((a0 * b0) >> _HALF)
    other = a0 * b1 + (middle & _LOWER)
    return a1 * b1 + (middle >> _HALF) + (other >> _HALF)
