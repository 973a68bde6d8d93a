"""Laws of durations that are not drawn."""

from collections.abc import Iterator
from itertools import repeat
from typing import Annotated, Literal, Self

import numpy as np
from typing_extensions import override

from asyncdp_sim.network.laws.kind import LawKind, Source
from asyncdp_sim.spec import Duration, about
from asyncdp_sim.units import to_ticks


class FixedLaw(LawKind):
    """A law of durations that are all the same."""

    constant = True
    memoryless = False

    @property
    @override
    def variance(self) -> float:
        return 0.0

    @property
    @override
    def third(self) -> float:
        return 0.0


class NoTime(FixedLaw):
    """No step at all: what follows happens in the same instant, without an event."""

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
    def biased(self, generator: np.random.Generator) -> float:
        return 0.0

    @override
    def durations(self, source: Source, block: int) -> None:
        return


class Constant(FixedLaw):
    """Always ``value``; takes an event even when the value is 0."""

    instant = False
    listed = True

    kind: Literal["constant"] = "constant"
    value: Annotated[Duration, about("The duration", "time units")]

    @property
    @override
    def mean(self) -> float:
        return self.value

    @property
    @override
    def least(self) -> float:
        return self.value

    @override
    def in_a_row(self, count: int) -> Self:
        return type(self)(value=count * self.value)

    @override
    def biased(self, generator: np.random.Generator) -> float:
        return self.value

    @override
    def durations(self, source: Source, block: int) -> Iterator[int]:
        return repeat(to_ticks(self.value))
