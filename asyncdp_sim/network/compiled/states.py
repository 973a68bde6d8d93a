"""The state of NumPy's PCG64, and the one generator whose state is swapped."""

import ctypes
from functools import cache

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]


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
