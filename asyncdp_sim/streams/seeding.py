"""Seeds of many random streams at once: NumPy's ``SeedSequence``, an array at a time."""

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence

Words = npt.NDArray[np.uint32]
Seeds = npt.NDArray[np.uint64]

# The constants of numpy.random.SeedSequence (O'Neill 2015, "Developing a seed_seq alternative").
_POOL = 4
_INIT_A, _MULT_A = 0x43B0D7E5, 0x931E8875
_INIT_B, _MULT_B = 0x8B51F9DD, 0x58F38DED
MIX_LEFT, MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_HALF = np.uint32(16)


class Seed(ISeedSequence):
    """The four words from which a PCG64 starts, worked out before.

    Parameters
    ----------
    words : array of uint64 (4,)
        A row that a :class:`Seeder` returns.
    """

    def __init__(self, words: Seeds) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: object = np.uint64) -> Seeds:
        """Return the four words.

        Raises
        ------
        ValueError
            If others are asked for.
        """
        if n_words != _POOL or np.dtype(dtype) != np.uint64:  # type: ignore[call-overload]
            raise ValueError(f"a seed has {_POOL} words of 64 bits, and {n_words} are asked for")
        return self._words


class Seeder:
    """Works out seeds whose entropy begins with the same words.

    Parameters
    ----------
    common : array of uint32 (c,)
        The first words of every entropy, c ≥ 4.
    n_own : int
        w, how many words follow.

    Attributes
    ----------
    pool : array of uint32 (4,)
        What is left of the words in common.
    before, after : array of uint32 (w, 4)
        Constants by which each word that follows is hashed.
    """

    def __init__(self, common: Words, n_own: int) -> None:
        self.pool = np.random.SeedSequence(common).pool
        done = _POOL * len(common)  # hashed before, for the words in common
        constants = _constants(_INIT_A, _MULT_A, done + _POOL * n_own + 1)[done:]
        self.before = constants[:-1].reshape(n_own, _POOL)
        self.after = constants[1:].reshape(n_own, _POOL)

    def seeds(self, own: Words) -> Seeds:
        """Return ``SeedSequence([*common, *row]).generate_state(4, uint64)`` of each row.

        Parameters
        ----------
        own : array of uint32 (n, w)
            The words that follow those in common.

        Returns
        -------
        array of uint64 (n, 4)
        """
        hashed = _hashed(own[:, :, None], self.before, self.after) * MIX_RIGHT
        pool = np.tile(self.pool, (len(own), 1))
        for place in range(own.shape[1]):
            pool *= MIX_LEFT
            pool -= hashed[:, place]
            pool ^= pool >> _HALF
        words = _hashed(np.concatenate([pool, pool], axis=1), LAST[:-1], LAST[1:])
        return words.astype("<u4").view("<u8").astype(np.uint64)


def _hashed(words: Words, before: Words, after: Words) -> Words:
    """Return words hashed by the constants before and after each."""
    found = words ^ before
    found *= after
    found ^= found >> _HALF
    return found


def _constants(first: int, factor: int, count: int) -> Words:
    """Return first, first·factor, first·factor², … modulo 2³²."""
    powers = np.full(count, factor, dtype=np.uint32)
    powers[0] = first
    return np.multiply.accumulate(powers, dtype=np.uint32)


LAST = _constants(_INIT_B, _MULT_B, 2 * _POOL + 1)
"""Constants by which the words of a seed are hashed, before and (from the second) after."""
