"""The base of every law of durations, and the laws that have closed forms.

A law knows its mean, variance and third central moment (model time units), and yields durations
in ticks, drawn in blocks; the size of a block never changes the values.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from math import log, sqrt
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.units import block_to_ticks, to_ticks
from asyncdp_sim.spec.base import LONGEST, Duration, Positive, Variant, trait

Source = Callable[[], np.random.Generator]
"""Makes a random stream when the first number is drawn from it."""
_FIRST = 16
"""Durations drawn first; each further block is twice as large, for most are few."""


class LawKind(Variant):
    """A law of durations (time units)."""

    instant: ClassVar[bool]
    """There is no step at all: what follows happens at once, without an event."""
    constant: ClassVar[bool]
    """All durations are equally long."""
    memoryless: ClassVar[bool]
    """How long a duration has lasted says nothing of what is left of it."""
    listed: ClassVar[bool]
    """Durations are of a list of values: they may keep step with whatever else is regular."""
    durations_measured: ClassVar[tuple[float, ...] | None] = None
    """Durations of which it draws one with replacement; None of all other laws."""
    least: ClassVar[float] = 0.0
    """Infimum of the durations."""
    window: ClassVar[float | None] = None
    """W of a law that is uniform on [0, W); None of all others."""

    if TYPE_CHECKING:  # some laws have fields of that name, whose default it would be taken for

        @property
        def mean(self) -> float:
            """Mean."""

    @property
    @abstractmethod
    def central_moments(self) -> tuple[float, float]:
        """Variance and third central moment."""

    @property
    def variance(self) -> float:
        """Variance."""
        return self.central_moments[0]

    @property
    def third(self) -> float:
        """Third central moment."""
        return self.central_moments[1]

    def in_a_row(self, count: int) -> "LawKind | None":
        """Return the law of so many durations, one after another; None where it has no name."""
        return None

    @abstractmethod
    def biased(self, generator: np.random.Generator) -> float:
        """Return a duration drawn in proportion to its length.

        A uniform share of it is what is left of the duration under way at a random instant: the
        equilibrium law of renewal theory.
        """

    @abstractmethod
    def durations(self, source: Source, block: int) -> Iterator[int] | None:
        """Yield durations in ticks, without end; None where nothing takes an event.

        Parameters
        ----------
        source : callable
            Makes the random stream; called at the first draw.
        block : int
            How many durations are drawn at a time at most, ≥ 1; does not change the values.
        """


class DrawnLaw(LawKind):
    """A law whose durations are drawn; members implement :meth:`draw`."""

    instant = False
    constant = False

    @abstractmethod
    def draw(self, generator: np.random.Generator, size: int) -> Array:
        """Return ``size`` durations in model time units."""

    @override
    def durations(self, source: Source, block: int) -> Iterator[int]:
        return chain.from_iterable(self._blocks(source, block))

    def _blocks(self, source: Source, block: int) -> Iterator[list[int]]:
        generator, size = source(), min(_FIRST, block)
        while True:
            yield block_to_ticks(self.draw(generator, size)).tolist()
            size = min(2 * size, block)


class FixedLaw(LawKind):
    """A law of durations that are all the same."""

    constant = True
    memoryless = False
    least = trait(lambda self: self.mean)

    @property
    @override
    def central_moments(self) -> tuple[float, float]:
        return 0.0, 0.0

    @override
    def biased(self, generator: np.random.Generator) -> float:
        return self.mean


class NoTime(FixedLaw):
    """No duration and no event: the next step happens at the same instant."""

    instant = True
    listed = False

    kind: Literal["none"] = "none"

    @property
    @override
    def mean(self) -> float:
        return 0.0

    @override
    def in_a_row(self, count: int) -> Self:
        return self

    @override
    def durations(self, source: Source, block: int) -> None:
        return


class Constant(FixedLaw):
    """Always ``value``; has an event even if the value is 0."""

    instant = False
    listed = True

    kind: Literal["constant"] = "constant"
    value: Duration

    @property
    @override
    def mean(self) -> float:
        return self.value

    @override
    def in_a_row(self, count: int) -> Self:
        return type(self)(value=count * self.value)

    @override
    def durations(self, source: Source, block: int) -> Iterator[int]:
        return repeat(to_ticks(self.value))


Mean = Annotated[Positive, Field(le=LONGEST)]
_NARROWEST = 1e-6
"""cv of what is drawn, at least: less is lost among the ticks, and a constant says it."""
WIDEST, WIDEST_GAMMA = 1e6, 100.0
"""The largest cv. A lognormal's logarithm has a standard deviation of 5.3 there; gamma draws with
more are less than a tick, thousands in a row."""
Variation = Annotated[float, Field(ge=_NARROWEST, le=WIDEST)]
GammaVariation = Annotated[float, Field(ge=_NARROWEST, le=WIDEST_GAMMA)]


class Exponential(DrawnLaw):
    """Exponential with the given mean: density e^{−x/mean}/mean."""

    memoryless = True
    listed = False

    kind: Literal["exponential"] = "exponential"
    mean: Mean

    @property
    @override
    def central_moments(self) -> tuple[float, float]:
        return self.mean**2, 2 * self.mean**3

    @override
    def in_a_row(self, count: int) -> "Gamma":
        return Gamma(mean=count * self.mean, cv=count**-0.5)

    @override
    def biased(self, generator: np.random.Generator) -> float:
        return float(generator.gamma(2.0, self.mean))

    @override
    def draw(self, generator: np.random.Generator, size: int) -> Array:
        return generator.exponential(self.mean, size)


class Lognormal(DrawnLaw):
    """Lognormal by its mean and coefficient of variation cv.

    The logarithm is normal with variance s² = ln(1 + cv²) and mean ln(mean) − s²/2.
    """

    memoryless = False
    listed = False

    kind: Literal["lognormal"] = "lognormal"
    mean: Mean
    cv: Variation

    @property
    @override
    def central_moments(self) -> tuple[float, float]:
        return (self.mean * self.cv) ** 2, self.mean**3 * self.cv**4 * (3 + self.cv**2)

    @override
    def biased(self, generator: np.random.Generator) -> float:
        s2 = log(1 + self.cv**2)
        return float(generator.lognormal(log(self.mean) + s2 / 2, sqrt(s2)))

    @override
    def draw(self, generator: np.random.Generator, size: int) -> Array:
        s2 = log(1 + self.cv**2)
        return generator.lognormal(log(self.mean) - s2 / 2, sqrt(s2), size)


class Gamma(DrawnLaw):
    """Gamma by its mean and coefficient of variation cv: shape 1/cv²."""

    memoryless = False
    listed = False

    kind: Literal["gamma"] = "gamma"
    mean: Mean
    cv: GammaVariation

    @property
    @override
    def central_moments(self) -> tuple[float, float]:
        return (self.mean * self.cv) ** 2, 2 * self.mean**3 * self.cv**4

    @override
    def in_a_row(self, count: int) -> Self:
        return type(self)(mean=count * self.mean, cv=max(self.cv * count**-0.5, _NARROWEST))

    @override
    def biased(self, generator: np.random.Generator) -> float:
        return float(generator.gamma(1 / self.cv**2 + 1, self.mean * self.cv**2))

    @override
    def draw(self, generator: np.random.Generator, size: int) -> Array:
        return generator.gamma(1 / self.cv**2, self.mean * self.cv**2, size)


class Uniform(DrawnLaw):
    """Uniform on [low, high)."""

    memoryless = False
    listed = False
    least = trait(lambda self: self.low)
    window = trait(lambda self: self.high if self.low == 0 else None)

    kind: Literal["uniform"] = "uniform"
    low: Duration
    high: Duration

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.low >= self.high:
            yield Fault("high", str(self.high), f"allowed is a number > low = {self.low}")

    @property
    @override
    def mean(self) -> float:
        return (self.low + self.high) / 2

    @property
    @override
    def central_moments(self) -> tuple[float, float]:
        return (self.high - self.low) ** 2 / 12, 0.0

    @override
    def biased(self, generator: np.random.Generator) -> float:
        low, high = self.low**2, self.high**2
        return sqrt(low + (high - low) * float(generator.random()))

    @override
    def draw(self, generator: np.random.Generator, size: int) -> Array:
        return generator.uniform(self.low, self.high, size)


def uniforms(source: Source) -> Iterator[float]:
    """Return draws from U[0, 1), without end; the stream is made at the first."""
    return chain.from_iterable(_blocks(source))


def _blocks(source: Source) -> Iterator[list[float]]:
    generator = source()
    while True:
        yield generator.random(64).tolist()
