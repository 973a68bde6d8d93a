"""Laws of durations: latency, computing time, and whatever else takes time.

A law knows its mean and its variance (model time units), and yields durations in ticks, drawn in
blocks; the size of a block never changes the values.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import chain, repeat
from math import fsum, log, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.kernel import Activity, Kernel, Priority
from asyncdp_sim.core.specification import (
    FAMILY,
    LONGEST,
    Duration,
    Positive,
    Several,
    Variant,
    trait,
)
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import TICKS_PER_UNIT, block_to_ticks, to_ticks
from asyncdp_sim.core.validation import faults_of, show
from asyncdp_sim.network.table_file import Columns, FromFile, by_line, columns_of, time_of

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
    variance: ClassVar[float]
    least: ClassVar[float] = 0.0
    """Infimum of the durations."""
    window: ClassVar[float | None] = None
    """W of a law that is uniform on [0, W); None of all others."""

    if TYPE_CHECKING:  # some laws have fields of that name, whose default it would be taken for

        @property
        def mean(self) -> float:
            """Mean."""

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
    variance = 0.0

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

    variance = trait(lambda self: self.mean**2)

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

    variance = trait(lambda self: (self.mean * self.cv) ** 2)

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

    variance = trait(lambda self: (self.mean * self.cv) ** 2)

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

    variance = trait(lambda self: (self.high - self.low) ** 2 / 12)

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


KINDS = "allowed is a CSV (UTF-8) or .parquet with a column of durations"


class Empirical(FromFile, DrawnLaw):
    """Drawn with replacement from durations (each ≥ 0): a list, or a column of a file."""

    memoryless = False
    listed = True
    durations_measured: ClassVar[tuple[float, ...]] = trait(
        lambda self: self._measured[0] if self.values is None else self.values
    )
    least = trait(lambda self: min(self.durations_measured))

    kind: Literal["empirical"] = "empirical"
    values: Several[Duration] | None = None
    path: str | None = None
    column: str | None = None
    unit: Positive | None = None

    @override
    def own_faults(self) -> Iterator[Fault]:
        if (self.values is None) == (self.path is None):
            shown = "nothing" if self.values is None else "beside path"
            yield Fault("values", shown, "allowed is either values, or path and column")
        elif self.path is None:
            for name in ("column", "unit"):
                if getattr(self, name) is not None:
                    yield Fault(name, show(getattr(self, name)), "allowed only with path")
        elif self.column is None:
            rule = "allowed is the name of the column of path that holds the durations"
            yield Fault("column", "nothing", rule)
        else:
            yield from self._measured[1]

    @cached_property
    @override
    def _content(self) -> Columns:
        return columns_of(str(self.path), (str(self.column),), "path", KINDS)

    @cached_property
    def _measured(self) -> tuple[tuple[float, ...], list[Fault]]:
        """The durations in the file, and what is wrong with it."""
        name, column, unit = Path(str(self.path)).name, str(self.column), self.unit or 1.0
        wrong, durations = list(self._content.wrong), []
        rule = f"allowed is a number from 0 to {LONGEST / unit:g} in {column!r}"
        for line, text in zip(self._content.lines, self._content.cells[column], strict=True):
            if text in ("", "nan"):
                continue
            value = time_of(text)
            if value is None or value * unit > LONGEST:
                place = f"{name}, {self._content.place} {line}"
                wrong.append((line, Fault("path", f"{show(text)} ({place})", rule)))
            else:
                durations.append(value * unit)
        if len(durations) == 0 and len(wrong) == 0:
            wrong.append((1, Fault("path", f"no number in {column!r} ({name})", KINDS)))
        return tuple(durations), by_line(wrong, name)

    @property
    @override
    def mean(self) -> float:
        return fsum(self.durations_measured) / len(self.durations_measured)

    def _variance(self) -> float:
        mean, values = self.mean, self.durations_measured
        return fsum((v - mean) ** 2 for v in values) / len(values)

    variance = trait(_variance)

    @override
    def biased(self, generator: np.random.Generator) -> float:
        values = self.durations_measured
        at = float(generator.random()) * fsum(values)
        reached = 0.0
        for value in values:
            reached += value
            if at < reached:
                return value
        return values[-1]

    @override
    def draw(self, generator: np.random.Generator, size: int) -> Array:
        values = self._drawn_from
        return values[generator.integers(len(values), size=size)]

    @cached_property
    def _drawn_from(self) -> Array:
        return np.asarray(self.durations_measured)


Law = Annotated[
    NoTime | Constant | Exponential | Lognormal | Gamma | Uniform | Empirical,
    FAMILY,
]
"""Every law; a new one joins by its line here."""


def too_short(law: LawKind, key: str = "") -> Fault:
    """Return what is wrong with a law whose durations have a mean of less than a tick."""
    rule = "allowed is a law with a mean of at least a tick, 1e-9"
    return Fault(key, show(law.model_dump()), rule)


def in_a_row(law: LawKind, count: int) -> LawKind:
    """Return the law of ``count`` durations, one after another.

    Raises
    ------
    SpecError
        If it has no name, or a mean longer than durations may be. The key is the law's own.
    """
    if count * law.mean > LONGEST:
        rule = f"allowed with {count} local steps is at most 1e9 for all of them together"
        raise SpecError([Fault("", show(law.model_dump()), rule)])
    total = law.in_a_row(count)
    if total is None:
        rule = "allowed with local steps is none, constant, exponential or gamma"
        raise SpecError([Fault("kind", repr(law.kind), rule)])
    return total


def _lasting(law: LawKind) -> LawKind:
    """Refuse a law whose durations have a mean of less than a tick."""
    if law.instant or law.mean < 1 / TICKS_PER_UNIT:
        raise faults_of([too_short(law)])
    return law


LastingLaw = Annotated[Law, AfterValidator(_lasting)]
"""A law of durations that take time."""


def alternate(
    kernel: Kernel, streams: Scope, gap: LawKind, length: LawKind, change: Callable[[bool], None]
) -> Activity:
    """Call ``change`` with False after a gap and with True after a length, over and over.

    They are drawn from the streams ``gap`` and ``length``.
    """
    gaps = gap.durations(partial(streams.generator, "gap"), 16)
    lengths = length.durations(partial(streams.generator, "length"), 16)
    while gaps is not None and lengths is not None:
        yield kernel.tick + next(gaps), Priority.PRESENCE
        change(False)
        yield kernel.tick + next(lengths), Priority.PRESENCE
        change(True)
