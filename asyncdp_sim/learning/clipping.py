"""Clipping of whole answers, to one bound or to one that noisy counts move (adaptive clipping).

In round t each answer is clipped to Ξ_t, and its owner sends a vote: ½ where its answer was at most
Ξ_t long, −½ where it was longer, 0 where it is nothing. Of m votes with sum S,
b̄ = (S + N(0, σ²))/m + ½ is the noisy share of answers within the bound, and
Ξ_{t+1} = Ξ_t exp(−rate (b̄ − quantile)) (Andrew, Thakkar, McMahan, Ramaswamy 2021).
"""

from dataclasses import dataclass
from math import exp
from typing import ClassVar

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.learning.algorithms import Array
from asyncdp_sim.learning.objectives import Norm

_FARTHEST = 300.0
"""Largest |ln Ξ_t/Ξ_1|: answers clipped to such a bound have finite squares."""


def clipped(answers: Array, bounds: Array | float, norm: Norm) -> Array:
    """Return a min(1, B/‖a‖) for each row, shape (r, p); what is not finite counts as zero."""
    finite, lengths = _lengths(answers, norm)
    with np.errstate(over="ignore"):
        share = bounds / np.maximum(lengths, bounds)
    return np.asarray(finite * share[:, None])


def _lengths(answers: Array, norm: Norm) -> tuple[Array, Array]:
    """Return answers with zeros for what is not finite, and ‖a‖ of each row."""
    finite = np.where(np.isfinite(answers).all(axis=1, keepdims=True), answers, 0.0)
    with np.errstate(over="ignore"):
        sizes = np.abs(finite) if norm == "l1" else np.square(finite)
        lengths = sizes.sum(axis=1) if norm == "l1" else np.sqrt(sizes.sum(axis=1))
    return finite, lengths


@dataclass(frozen=True, eq=False)
class AdaptiveBound:
    """The numbers by which a clip bound moves; by row, where those of several cells do.

    Attributes
    ----------
    start, quantile, rate : float
        Ξ_1, the share of answers that are to be within the bound, and how fast it moves.
    noise : float
        σ, the standard deviation of the noise on the sum of votes.
    norm : str
    """

    start: float | Array
    quantile: float | Array
    rate: float | Array
    noise: float | Array
    norm: Norm

    by_row: ClassVar[tuple[str, ...]] = ("start", "quantile", "rate", "noise")

    def clip(self, answers: Array, bounds: Array) -> tuple[Array, Array]:
        """Return answers (r, p), each clipped to its bound, and their votes (r,)."""
        _, lengths = _lengths(answers, self.norm)
        votes = np.where(lengths <= bounds, 0.5, -0.5)
        return clipped(answers, bounds, self.norm), np.where(lengths == 0, 0.0, votes)


class ClipBounds:
    """The bounds of a run's replicates, from round to round.

    Parameters
    ----------
    law : AdaptiveBound
    rows : int
        Replicates, of all cells.
    """

    def __init__(self, law: AdaptiveBound, rows: int) -> None:
        self._law = law
        self._start, self._quantile, self._rate, self._noise = (
            np.broadcast_to(np.ravel(getattr(law, name)), rows) for name in law.by_row
        )
        self._walked = np.zeros(rows)
        self._times = np.ones(rows)
        self._votes = np.zeros(rows)
        self._owners = np.zeros(rows)
        self._path = [self._start.copy()]

    @property
    def path(self) -> Array:
        """Ξ_1, Ξ_2, … of every replicate, shape (rounds + 1, rows)."""
        return np.stack(self._path)

    def clip(self, rows: Ints, answers: Array, *, counted: bool = True) -> tuple[Array, Array]:
        """Return the answers (r, p) of these rows, clipped to Ξ_t, and Ξ_t/Ξ_1, shape (r, 1).

        An answer that is not ``counted`` does not move the bound of the next round.
        """
        answers, votes = self._law.clip(answers, self._path[-1][rows])
        if counted:
            self._votes[rows] += votes
            self._owners[rows] += 1
        return answers, self._times[rows, None]

    def end_round(self, rows: Ints | None, noise: Array) -> None:
        """Move the bounds of these rows (None: all), by their counts and N(0, 1) ``noise`` (r,)."""
        at = np.arange(len(self._votes)) if rows is None else rows
        votes = self._votes[at] + self._noise[at] * noise
        share = votes / self._owners[at] + 0.5
        self._walked[at] -= self._rate[at] * (share - self._quantile[at])
        self._walked[at] = np.clip(self._walked[at], -_FARTHEST, _FARTHEST)
        self._times[at] = [exp(walked) for walked in self._walked[at].tolist()]
        self._votes[at], self._owners[at] = 0.0, 0.0
        self._path.append(self._start * self._times)
