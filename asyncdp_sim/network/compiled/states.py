"""States of NumPy's PCG64, many at a time, and the one generator whose state is swapped."""

import ctypes
from functools import cache

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

# The multiplier of PCG64 (O'Neill 2014), high and low half; a state moves to state·M + increment.
_HIGH, _LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
_HALF, _LOWER = np.uint64(32), np.uint64(0xFFFFFFFF)
_ONE, _TOP = np.uint64(1), np.uint64(63)


def states(seeds: Words) -> Words:
    """Return the states of generators with these seeds, as they lie in memory.

    Parameters
    ----------
    seeds : array of uint64 (n, 4)
        What ``SeedSequence.generate_state(4, uint64)`` gives each.

    Returns
    -------
    array of uint64 (n, 4)
        Low and high half of the state, then of the increment.
    """
    start_high, start_low, way_high, way_low = seeds.T
    high = (way_high << _ONE) | (way_low >> _TOP)
    low = (way_low << _ONE) | _ONE
    with np.errstate(over="ignore"):
        at_low = start_low + low
        at_high = start_high + high + (at_low < low)
        product = at_low * _LOW
        up = at_high * _LOW + at_low * _HIGH + _above(at_low, _LOW)
        state_low = product + low
        state_high = up + high + (state_low < low)
    return np.stack([state_low, state_high, low, high], axis=1)


def _above(a: Words, b: np.uint64) -> Words:
    """Return the high half of the 128 bits of a·b."""
    a1, a0, b1, b0 = a >> _HALF, a & _LOWER, b >> _HALF, b & _LOWER
    low = a0 * b0
    middle = a1 * b0 + (low >> _HALF)
    other = a0 * b1 + (middle & _LOWER)
    high: Words = a1 * b1 + (middle >> _HALF) + (other >> _HALF)
    return high


def words_of(source: np.random.Generator) -> list[int]:
    """Return the state of a generator, as it lies in memory (4 words)."""
    state = source.bit_generator.state["state"]
    halves = ((state[name], shift) for name in ("state", "inc") for shift in (0, 64))
    return [whole >> shift & (2**64 - 1) for whole, shift in halves]


@cache
def generator() -> np.random.Generator:
    """Return the generator that draws for all streams."""
    return np.random.Generator(np.random.PCG64(0))


@cache
def memory() -> Words:
    """Return the memory of that generator's state (4 words), which whoever draws sets before."""
    place = generator().bit_generator.ctypes.state_address
    state = ctypes.c_uint64.from_address(place).value  # NumPy keeps a pointer to it, and then
    return np.ctypeslib.as_array((ctypes.c_uint64 * 4).from_address(state))


@cache
def swappable() -> bool:
    """Return whether a state lies in memory as it is taken to.

    Two whole numbers of 128 bits, the lower half first: not so where a compiler has none of them.
    """
    return list(memory()) == words_of(generator())
