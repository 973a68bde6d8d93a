"""A trusted learner's noise on the sum of each round, which may be correlated over rounds.

With C a lower triangular Toeplitz matrix of first column c = (1, c_1, …, c_{b−1}), the rounds'
noise is C⁻¹ w, w Gaussian and independent: n_t = w_t − Σ_{l=1}^{b−1} c_l n_{t−l}. Who sees all sums
s + C⁻¹ w sees C s + w, and no more. An owner that moves sums in rounds that are b or more apart
moves C s by columns of C that have no row in common: by ‖c‖ times what it moves each sum, in
squares. So w has ‖c‖ times the standard deviation of independent noise, and an answer costs what
it costs there. Later noise takes back what earlier noise did to the model.

Sources: Choquette-Choo et al. (2023), "(Amplified) Banded Matrix Factorization", arXiv 2306.08153;
Fichtenberger, Henzinger and Upadhyay (2023), "Constant matters", for the coefficients.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import fsum, sqrt
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.privacy.mechanisms.gaussian import GaussianNoise
from asyncdp_sim.spec.base import Several, Spec
from asyncdp_sim.spec.validation import faults_of


class Correlation(Spec):
    """A banded matrix by which the noise of rounds is correlated.

    Its coefficients are those of the square root of the matrix of prefix sums,
    c_l = binom(2l, l)/4^l for l < bands; or they are listed. Listed ones do not increase, so that
    noise stays bounded (Eneström and Kakeya).
    """

    bands: Annotated[int, Field(ge=2, le=10_000)] | None = None
    coefficients: Several[Annotated[float, Field(gt=0, lt=1)]] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.bands is None) == (self.coefficients is None):
            value = "nothing" if self.bands is None else f"{self.bands} beside coefficients"
            raise faults_of([Fault("bands", value, "allowed is either bands or coefficients")])
        listed = self.coefficients or ()
        if any(later > former for former, later in pairwise(listed)):
            hint = "allowed are c_1 ≥ c_2 ≥ …, with which noise stays bounded"
            raise faults_of([Fault("coefficients", str(list(listed)), hint)])
        return self

    @property
    def column(self) -> tuple[float, ...]:
        """(1, c_1, …, c_{b−1}), the first column of C."""
        if self.coefficients is not None:
            return (1.0, *self.coefficients)
        column = [1.0]
        for lag in range(1, self.bands or 1):
            column.append(column[-1] * (2 * lag - 1) / (2 * lag))
        return tuple(column)

    def applied(self, noise: "LearnerNoise") -> "LearnerNoise":
        """Return the same noise correlated, with which an answer costs as much."""
        correlated = replace(noise, column=self.column)
        return replace(correlated, scale=noise.scale * correlated.length)


@dataclass(frozen=True, eq=False)
class LearnerNoise(GaussianNoise):
    """Noise on the sum of a round, in equal parts: one with each of its answers.

    Attributes
    ----------
    scale : array (N,)
        s_i: n_i s_i √parts is the standard deviation of w, the same for all owners.
    parts : int
        Answers of a round, the same number in every one.
    column : tuple of float
        c, the first column of C; (1,) where rounds are independent.
    """

    parts: int
    column: tuple[float, ...] = (1.0,)

    @property
    def length(self) -> float:
        """‖c‖."""
        return sqrt(fsum(c * c for c in self.column))

    @property
    def alone(self) -> GaussianNoise:
        """The noise on one owner's answer where all else is known, and all sums are used."""
        return GaussianNoise(self.scale * sqrt(self.parts) / self.length)

    @property
    @override
    def figure(self) -> str:  # type: ignore[override]
        if len(self.column) == 1:
            return "Gaussian with standard deviation"
        return "Gaussian, correlated over rounds, in the first of which it has standard deviation"

    @override
    def drawing(self, size: int) -> Callable[[np.random.Generator, int], Array]:
        if len(self.column) == 1:
            return super().drawing(size)
        return Filtered(np.array(self.column[1:]), self.parts, size)

    def whitened(self, rounds: Array) -> Array:
        """Return C s of what rounds' sums are, shape (T, p)."""
        white = rounds.copy()
        for lag, coefficient in enumerate(self.column[1 : len(rounds)], start=1):
            white[lag:] += coefficient * rounds[:-lag]
        return white


class Filtered:
    """Rows of C⁻¹ w: the j-th answers of all rounds are one sequence, of each stream.

    Parameters
    ----------
    coefficients : array (b − 1,)
        c_1, …
    parts : int
        Answers of a round.
    size : int
        Numbers in an answer.
    """

    def __init__(self, coefficients: Array, parts: int, size: int) -> None:
        self._coefficients = coefficients
        self._parts = parts
        self._size = size
        self._kept: dict[np.random.Generator, deque[Array]] = {}
        """Of each stream: the noise of its last rounds, the newest first."""
        self._ready: dict[np.random.Generator, Array] = {}
        """Rows of the round that is under way, not given yet."""

    def __call__(self, generator: np.random.Generator, count: int) -> Array:
        """Return the next ``count`` rows of a stream, shape (count, size)."""
        rows: list[Array] = []
        ready = self._ready.get(generator, np.empty((0, self._size)))
        while len(ready) < count:
            rows.append(ready)
            count -= len(ready)
            ready = self._round(generator)
        self._ready[generator] = ready[count:]
        return np.concatenate([*rows, ready[:count]])

    def _round(self, generator: np.random.Generator) -> Array:
        past = self._kept.setdefault(generator, deque(maxlen=len(self._coefficients)))
        noise = generator.standard_normal((self._parts, self._size))
        for coefficient, former in zip(self._coefficients.tolist(), past, strict=False):
            noise -= coefficient * former
        past.appendleft(noise)
        return noise
