"""Owners' clocks: the times at which an owner may act.

A clock yields the ticks of one owner, in order. Rates are per time unit.
"""

from abc import abstractmethod
from collections.abc import Iterator
from itertools import accumulate, count, pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import (
    EACH_OWNER,
    FAMILY,
    Duration,
    PerOwner,
    Positive,
    Several,
    Variant,
    own,
    per_owner,
    trait,
    wrong_length,
)
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network.laws import Exponential, Gamma, GammaVariation, Source


class ClockKind(Variant):
    """An owner's clock."""

    memoryless: ClassVar[bool]
    """Gaps are exponential: how long ago the last tick was says nothing of the next."""
    mixing: ClassVar[bool]
    """Gaps are independent and have a density: ticks keep step with nothing that is periodic."""
    saturated: ClassVar[bool]
    """There are no ticks: an owner begins its next job the moment the last one ends."""
    superposed: ClassVar[bool] = False
    """Whether one clock ticks for all owners."""

    @abstractmethod
    def ticks(self, owner: int, source: Source, block: int) -> Iterator[int] | None:
        """Yield the ticks of owner ``owner`` (from 0), in order; None where there are none."""

    @abstractmethod
    def rates(self, n_owners: int) -> tuple[float, ...] | None:
        """Return the long-run mean number of ticks per time unit, per owner; None without one."""

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners, and values that do not fit together."""
        return []


class RatedClock(ClockKind):
    """A clock that ticks ``rate`` times per time unit in the long run."""

    saturated = False

    kind: str
    rate: PerOwner[Positive] = 1.0

    @override
    def rates(self, n_owners: int) -> tuple[float, ...]:
        return per_owner(self.rate, n_owners)

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        return wrong_length("clock.rate", self.rate, n_owners)


class PoissonClock(RatedClock):
    """Poisson process: independent exponential gaps with mean 1/rate (Async, section 3)."""

    memoryless = True
    mixing = True
    superposed = trait(lambda self: self.population == "superposed")

    kind: Literal["poisson"] = "poisson"
    population: Literal["per-owner", "superposed"] = "per-owner"

    @override
    def ticks(self, owner: int, source: Source, block: int) -> Iterator[int]:
        gap = Exponential.model_construct(mean=1 / own(self.rate, owner))  # of a checked rate
        return accumulate(gap.durations(source, block))


class GammaClock(RatedClock):
    """Renewal process with gamma gaps of mean 1/rate and coefficient of variation ``cv``.

    The first gap starts at 0 like all others (an ordinary renewal process). cv = 1 is Poisson.
    """

    memoryless = False
    mixing = True

    kind: Literal["gamma"] = "gamma"
    cv: GammaVariation

    @override
    def ticks(self, owner: int, source: Source, block: int) -> Iterator[int]:
        spacing = Gamma.model_construct(mean=1 / own(self.rate, owner), cv=self.cv)
        return accumulate(spacing.durations(source, block))


class DeterministicClock(RatedClock):
    """Ticks at phase + j/rate for j = 1, 2, …: integers times the period, never accumulated."""

    memoryless = False
    mixing = False

    kind: Literal["deterministic"] = "deterministic"
    phase: PerOwner[Duration] = 0.0

    @override
    def ticks(self, owner: int, source: Source, block: int) -> Iterator[int]:
        period = to_ticks(1 / own(self.rate, owner))
        start = to_ticks(own(self.phase, owner))
        return count(start + period, period)

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        return super().faults(n_owners) + wrong_length("clock.phase", self.phase, n_owners)


class ScriptedClock(ClockKind):
    """Ticks at given times, one list per owner; then never again."""

    memoryless = False
    mixing = False
    saturated = False

    kind: Literal["scripted"] = "scripted"
    times: Annotated[Several[Annotated[tuple[Duration, ...], Field(strict=False)]], EACH_OWNER]

    @override
    def ticks(self, owner: int, source: Source, block: int) -> Iterator[int]:
        yield from map(to_ticks, self.times[owner])

    @override
    def rates(self, n_owners: int) -> None:
        return

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        faults = []
        if len(self.times) != n_owners:
            rule = f"allowed is one list per owner, {n_owners} in all"
            faults.append(Fault("clock.times", f"{len(self.times)} lists", rule))
        for number, times in enumerate(self.times):
            if any(b <= a for a, b in pairwise(map(to_ticks, times))):
                rule = "allowed are increasing times at least 1e-9 apart"
                faults.append(Fault(f"clock.times[{number}]", str(list(times)), rule))
        return faults


class SaturatedClock(ClockKind):
    """No clock: an owner starts its next job when the last one ends.

    Only under ``push``, with jobs that take time and owners that are always online.
    """

    memoryless = False
    mixing = False
    saturated = True

    kind: Literal["saturated"] = "saturated"

    @override
    def ticks(self, owner: int, source: Source, block: int) -> None:
        return

    @override
    def rates(self, n_owners: int) -> None:
        return


Clock = Annotated[
    PoissonClock | GammaClock | DeterministicClock | ScriptedClock | SaturatedClock,
    FAMILY,
]
"""Every clock; a new one joins by its line here."""
