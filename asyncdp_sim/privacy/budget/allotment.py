"""Parts of budgets: each answer has its own, in the order of release."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
_ULP = 2.0**-52


@dataclass(frozen=True, eq=False)
class Allotment:
    """Parts s_ik of what adds up over an owner's answers: ε of pure ones, 1/z² of Gaussian ones.

    The k-th answer that an owner releases has the k-th part, whatever became of those before: what
    is lost keeps its part, what is not released leaves its part unspent.

    Attributes
    ----------
    parts : tuple of array (K_i,)
        s_i1 … s_iK of each owner, > 0; Σ_k s_ik ≤ 1, and 1 but for rounding.
    """

    parts: tuple[Array, ...]

    @classmethod
    def of(cls, weights: Sequence[Array]) -> "Allotment":
        """Return the one whose parts are in proportion to these weights, (K_i,) each."""
        return cls(tuple(_parts(each) for each in weights))

    @cached_property
    def answers(self) -> Counts:
        """K_i, shape (N,)."""
        return np.array([len(each) for each in self.parts], dtype=np.int64)

    @cached_property
    def _first(self) -> Counts:
        """Where each owner's first answer stands among all, (N,)."""
        return np.cumsum(self.answers) - self.answers

    def places(self, owners: Counts, numbers: Counts) -> Counts:
        """Return where answers stand among all of all owners, one owner's after another's.

        Parameters
        ----------
        owners, numbers : array of int (r,)
            Whose, and how many that owner had released before, both from 0.
        """
        return np.asarray(self._first[owners] + numbers)

    def of_owners(self, numbers: Array) -> Array:
        """Return each owner's number for each of its answers, (ΣK_i,)."""
        return np.repeat(numbers, self.answers)

    @cached_property
    def relative(self) -> Array:
        """K_i s_ik, how many times an equal part each answer has, (ΣK_i,)."""
        return np.concatenate(self.parts) * self.of_owners(self.answers.astype(float))

    def of_any(self, answers: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return of which owners something is true of an answer, given of which, (ΣK_i,)."""
        return np.asarray(np.logical_or.reduceat(answers, self._first))

    def of_one(self, owner: int) -> tuple[float, ...]:
        """Return the same of one owner (from 0), K_i of them."""
        first = int(self._first[owner])
        return tuple(self.relative[first : first + int(self.answers[owner])].tolist())

    @cached_property
    def _spent(self) -> Array:
        """K_i Σ_{l ≤ k} s_il for k = 0 … K_i, (ΣK_i + N,)."""
        return np.concatenate([_running(each) for each in self.parts])

    def equal(self, released: Counts) -> Array:
        """Return how many answers with equal parts cost what these do, shape (..., N).

        K_i Σ_{k ≤ m} s_ik of m answers, and K_i exactly of K_i.
        """
        starts = self._first + np.arange(len(self.parts))
        return np.asarray(self._spent[starts + released])


def _parts(weights: Array) -> Array:
    """Return weights divided by their sum; what they add up to is at most 1."""
    parts = weights / fsum(weights.tolist())
    while fsum([*parts.tolist(), -1.0]) > 0:  # exact, but for the last digit of what is left
        parts = parts * (1 - _ULP)
    return parts


def _running(parts: Array) -> Array:
    """Return K times the sums of the first 0 … K parts, rising; the last is K."""
    count = len(parts)
    sums = np.concatenate([[0.0], count * np.cumsum(parts)])
    sums[-1] = count
    return np.asarray(np.minimum(sums, count))


__all__ = ["Allotment"]
