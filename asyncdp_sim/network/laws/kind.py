"""The base of every law of durations.

A law knows its mean, variance and third central moment (model time units), and yields durations
in ticks, drawn in blocks; the size of a block never changes the values.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from asyncdp_sim.spec import Kind
from asyncdp_sim.units import block_to_ticks

Source = Callable[[], np.random.Generator]
"""Makes a random stream when the first number is drawn from it."""
_FIRST = 16
"""Durations drawn first; each further block is twice as large, for most are few."""


class LawKind(Kind):
    """A law of durations (time units)."""

    instant: ClassVar[bool]
    """There is no step at all: what follows happens at once, without an event."""
    constant: ClassVar[bool]
    """All durations are equally long."""
    memoryless: ClassVar[bool]
    """How long a duration has lasted says nothing of what is left of it."""
    listed: ClassVar[bool]
    """Durations are of a list of values: they may keep step with whatever else is regular."""

    if TYPE_CHECKING:  # some laws have fields of that name, whose default it would be taken for

        @property
        def mean(self) -> float:
            """Mean."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance."""

    @property
    @abstractmethod
    def third(self) -> float:
        """Third central moment."""

    @property
    def durations_measured(self) -> tuple[float, ...] | None:
        """Durations of which it draws one with replacement; None of all other laws."""
        return None

    @property
    def least(self) -> float:
        """Infimum of the durations."""
        return 0.0

    @property
    def window(self) -> float | None:
        """W of a law that is uniform on [0, W); None of all others."""
        return None

    def in_a_row(self, count: int) -> "LawKind | None":  # noqa: ARG002
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
    def draw(self, generator: np.random.Generator, size: int) -> npt.NDArray[np.float64]:
        """Return ``size`` durations in model time units."""

    @override
    def durations(self, source: Source, block: int) -> Iterator[int]:
        return chain.from_iterable(self._blocks(source, block))

    def _blocks(self, source: Source, block: int) -> Iterator[list[int]]:
        generator, size = source(), min(_FIRST, block)
        while True:
            yield block_to_ticks(self.draw(generator, size)).tolist()
            size = min(2 * size, block)
