"""Laws of durations: latency, computing time, and whatever else takes time.

Each law knows its mean, variance and third central moment (model time units), and yields
durations in ticks, drawn in blocks; the size of a block never changes the values.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from math import fsum, log, sqrt
from typing import Annotated, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY
from asyncdp_sim.faults import faults_of, show
from asyncdp_sim.spec import Duration, Positive, Several, Spec
from asyncdp_sim.units import TICKS_PER_UNIT, block_to_ticks, to_ticks

Mean = Annotated[Positive, Field(le=1e9)]
Source = Callable[[], np.random.Generator]
"""Makes the law's random stream when the first duration is drawn."""


class NoTime(Spec):
    """No step at all: what follows happens in the same instant, without an event."""

    kind: Literal["none"] = "none"

    @property
    def mean(self) -> float:
        """Mean, 0."""
        return 0.0

    @property
    def variance(self) -> float:
        """Variance, 0."""
        return 0.0

    @property
    def third(self) -> float:
        """Third central moment, 0."""
        return 0.0

    @property
    def least(self) -> float:
        """Infimum of the durations, 0."""
        return 0.0

    def biased(self, generator: np.random.Generator) -> float:  # noqa: ARG002
        """Return a length-biased duration, 0."""
        return 0.0

    def durations(self, source: Source, block: int) -> None:  # noqa: ARG002
        """Return None: there is nothing to wait for."""
        return


class _Drawn(Spec):
    """A law whose durations are drawn; members implement :meth:`draw`."""

    @property
    def least(self) -> float:
        """Infimum of the durations (time units)."""
        return 0.0

    @abstractmethod
    def biased(self, generator: np.random.Generator) -> float:
        """Return a duration (time units) drawn in proportion to its length.

        A uniform share of it is what is left of the duration under way at a random instant: the
        equilibrium law of renewal theory.
        """

    @abstractmethod
    def draw(self, generator: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
        """Return ``size`` durations in model time units."""

    def durations(self, source: Source, block: int) -> Iterator[int]:
        """Yield durations in ticks, without end.

        Parameters
        ----------
        source : callable
            Makes the random stream; called at the first draw.
        block : int
            How many durations are drawn at a time, ≥ 1; does not change the values.
        """
        generator = source()
        while True:
            yield from block_to_ticks(self.draw(generator, block))


class Constant(Spec):
    """Always ``value`` time units (≥ 0); takes an event even when the value is 0."""

    kind: Literal["constant"] = "constant"
    value: Duration

    @property
    def mean(self) -> float:
        """Mean, the value."""
        return self.value

    @property
    def variance(self) -> float:
        """Variance, 0."""
        return 0.0

    @property
    def third(self) -> float:
        """Third central moment, 0."""
        return 0.0

    @property
    def least(self) -> float:
        """Infimum of the durations, the value."""
        return self.value

    def biased(self, generator: np.random.Generator) -> float:  # noqa: ARG002
        """Return a duration (time units) drawn in proportion to its length."""
        return self.value

    def durations(self, source: Source, block: int) -> Iterator[int]:  # noqa: ARG002
        """Yield the value in ticks, without end; no stream is used."""
        ticks = to_ticks(self.value)
        while True:
            yield ticks


class Exponential(_Drawn):
    """Exponential with the given mean (> 0): density e^{−x/mean}/mean."""

    kind: Literal["exponential"] = "exponential"
    mean: Mean

    @property
    def variance(self) -> float:
        """Variance, mean²."""
        return self.mean**2

    @property
    def third(self) -> float:
        """Third central moment, 2 mean³."""
        return 2 * self.mean**3

    def biased(self, generator: np.random.Generator) -> float:
        """Return a duration (time units) drawn in proportion to its length."""
        return float(generator.gamma(2.0, self.mean))

    def draw(self, generator: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
        """Return ``size`` durations in model time units."""
        return generator.exponential(self.mean, size)


class Lognormal(_Drawn):
    """Lognormal by its mean (> 0) and coefficient of variation cv (> 0).

    The logarithm is normal with variance s² = ln(1 + cv²) and mean ln(mean) − s²/2.
    """

    kind: Literal["lognormal"] = "lognormal"
    mean: Mean
    cv: Positive

    @property
    def variance(self) -> float:
        """Variance, (mean·cv)²."""
        return (self.mean * self.cv) ** 2

    @property
    def third(self) -> float:
        """Third central moment, mean³ cv⁴ (3 + cv²)."""
        return self.mean**3 * self.cv**4 * (3 + self.cv**2)

    def biased(self, generator: np.random.Generator) -> float:
        """Return a duration (time units) drawn in proportion to its length."""
        s2 = log(1 + self.cv**2)
        return float(generator.lognormal(log(self.mean) + s2 / 2, sqrt(s2)))

    def draw(self, generator: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
        """Return ``size`` durations in model time units."""
        s2 = log(1 + self.cv**2)
        return generator.lognormal(log(self.mean) - s2 / 2, sqrt(s2), size)


class Gamma(_Drawn):
    """Gamma by its mean (> 0) and coefficient of variation cv (> 0): shape 1/cv²."""

    kind: Literal["gamma"] = "gamma"
    mean: Mean
    cv: Positive

    @property
    def variance(self) -> float:
        """Variance, (mean·cv)²."""
        return (self.mean * self.cv) ** 2

    @property
    def third(self) -> float:
        """Third central moment, 2 mean³ cv⁴."""
        return 2 * self.mean**3 * self.cv**4

    def biased(self, generator: np.random.Generator) -> float:
        """Return a duration (time units) drawn in proportion to its length."""
        return float(generator.gamma(1 / self.cv**2 + 1, self.mean * self.cv**2))

    def draw(self, generator: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
        """Return ``size`` durations in model time units."""
        return generator.gamma(1 / self.cv**2, self.mean * self.cv**2, size)


class Uniform(_Drawn):
    """Uniform on [low, high), 0 ≤ low < high."""

    kind: Literal["uniform"] = "uniform"
    low: Duration
    high: Duration

    @model_validator(mode="after")
    def _is_an_interval(self) -> Self:
        if self.low >= self.high:
            allowed = f"allowed is a number > low = {self.low}"
            raise faults_of([Fault("high", str(self.high), allowed)])
        return self

    @property
    def mean(self) -> float:
        """Mean, (low + high)/2."""
        return (self.low + self.high) / 2

    @property
    def variance(self) -> float:
        """Variance, (high − low)²/12."""
        return (self.high - self.low) ** 2 / 12

    @property
    def third(self) -> float:
        """Third central moment, 0: it is symmetric."""
        return 0.0

    @property
    def least(self) -> float:
        """Infimum of the durations, low."""
        return self.low

    def biased(self, generator: np.random.Generator) -> float:
        """Return a duration (time units) drawn in proportion to its length."""
        low, high = self.low**2, self.high**2
        return sqrt(low + (high - low) * float(generator.random()))

    def draw(self, generator: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
        """Return ``size`` durations in model time units."""
        return generator.uniform(self.low, self.high, size)


class Empirical(_Drawn):
    """Drawn with replacement from a list of durations (each ≥ 0)."""

    kind: Literal["empirical"] = "empirical"
    values: Several[Duration]

    @property
    def mean(self) -> float:
        """Mean of the list."""
        return fsum(self.values) / len(self.values)

    @property
    def variance(self) -> float:
        """Variance of the list (divided by its length)."""
        mean = self.mean
        return fsum((v - mean) ** 2 for v in self.values) / len(self.values)

    @property
    def third(self) -> float:
        """Third central moment of the list."""
        mean = self.mean
        return fsum((v - mean) ** 3 for v in self.values) / len(self.values)

    @property
    def least(self) -> float:
        """Least duration of the list."""
        return min(self.values)

    def biased(self, generator: np.random.Generator) -> float:
        """Return a duration (time units) drawn in proportion to its length."""
        at = float(generator.random()) * fsum(self.values)
        reached = 0.0
        for value in self.values:
            reached += value
            if at < reached:
                return value
        return self.values[-1]

    def draw(self, generator: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
        """Return ``size`` durations in model time units."""
        return np.asarray(self.values)[generator.integers(len(self.values), size=size)]


Law = Annotated[
    NoTime | Constant | Exponential | Lognormal | Gamma | Uniform | Empirical,
    FAMILY,
]
"""Every law; a new one joins by its line here."""


def too_short(laws: Mapping[str, Law]) -> list[Fault]:
    """Return a fault for each law, by its key, whose mean is below one tick."""
    allowed = "allowed is a law with a mean of at least a tick, 1e-9"
    return [
        Fault(key, show(law.model_dump()), allowed)
        for key, law in laws.items()
        if isinstance(law, NoTime) or law.mean < 1 / TICKS_PER_UNIT
    ]


__all__ = [
    "Constant",
    "Empirical",
    "Exponential",
    "Gamma",
    "Law",
    "Lognormal",
    "NoTime",
    "Source",
    "Uniform",
    "too_short",
]
