"""Owners' clocks, which say when an owner would talk.

A clock yields the ticks of one owner, in order. Rates are per time unit.
"""

from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Annotated, Literal

from pydantic import Field

from asyncdp_sim.errors import Fault
from asyncdp_sim.network.laws import Exponential, Gamma, Source
from asyncdp_sim.spec import (
    Duration,
    PerOwner,
    Positive,
    Several,
    Spec,
    own,
    per_owner,
    wrong_length,
)
from asyncdp_sim.units import to_ticks


class PoissonClock(Spec):
    """Poisson process: independent exponential gaps with mean 1/rate (Async, section 3).

    Attributes
    ----------
    rate : float or list
        λ > 0, ticks per time unit: one number, or a list with one per owner.
    population : str
        Every owner has a clock of its own ("per-owner"), or one clock ticks for all of them
        ("superposed"): the same law by other random numbers, for very many owners.
    """

    kind: Literal["poisson"] = "poisson"
    rate: PerOwner[Positive] = 1.0
    population: Literal["per-owner", "superposed"] = "per-owner"

    def ticks(self, owner: int, source: Source, block: int) -> Iterator[int]:
        """Yield the ticks of owner ``owner`` (from 0), without end."""
        return accumulate(Exponential(mean=1 / own(self.rate, owner)).durations(source, block))

    def rates(self, n_owners: int) -> tuple[float, ...]:
        """Return the mean number of ticks per time unit, per owner."""
        return per_owner(self.rate, n_owners)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        return wrong_length("clock.rate", self.rate, n_owners)


class GammaClock(Spec):
    """Renewal process with gamma gaps of mean 1/rate and coefficient of variation ``cv`` (> 0).

    The first gap starts at 0 like all others (an ordinary renewal process). cv = 1 is Poisson.
    """

    kind: Literal["gamma"] = "gamma"
    rate: PerOwner[Positive] = 1.0
    cv: Positive

    def ticks(self, owner: int, source: Source, block: int) -> Iterator[int]:
        """Yield the ticks of owner ``owner`` (from 0), without end."""
        law = Gamma(mean=1 / own(self.rate, owner), cv=self.cv)
        return accumulate(law.durations(source, block))

    def rates(self, n_owners: int) -> tuple[float, ...]:
        """Return the long-run mean number of ticks per time unit, per owner."""
        return per_owner(self.rate, n_owners)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        return wrong_length("clock.rate", self.rate, n_owners)


class DeterministicClock(Spec):
    """Ticks at phase + j/rate for j = 1, 2, …: integers times the period, never accumulated.

    ``phase`` (time units, ≥ 0) is one number or a list with one per owner.
    """

    kind: Literal["deterministic"] = "deterministic"
    rate: PerOwner[Positive] = 1.0
    phase: PerOwner[Duration] = 0.0

    def ticks(self, owner: int, source: Source, block: int) -> Iterator[int]:  # noqa: ARG002
        """Yield the ticks of owner ``owner`` (from 0), without end."""
        period = to_ticks(1 / own(self.rate, owner))
        start = to_ticks(own(self.phase, owner))
        number = 0
        while True:
            number += 1
            yield start + number * period

    def rates(self, n_owners: int) -> tuple[float, ...]:
        """Return the number of ticks per time unit, per owner."""
        return per_owner(self.rate, n_owners)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners, or periods below one tick."""
        found = wrong_length("clock.rate", self.rate, n_owners)
        found += wrong_length("clock.phase", self.phase, n_owners)
        if not found and min(to_ticks(1 / rate) for rate in self.rates(n_owners)) < 1:
            given = f"{max(self.rates(n_owners)):g}"
            found.append(Fault("clock.rate", given, "allowed is at most 1e9 ticks per time unit"))
        return found


class ScriptedClock(Spec):
    """Ticks at given times (time units, ≥ 0, increasing), one list per owner; then never again."""

    kind: Literal["scripted"] = "scripted"
    times: Several[Annotated[tuple[Duration, ...], Field(strict=False)]]

    def ticks(self, owner: int, source: Source, block: int) -> Iterator[int]:  # noqa: ARG002
        """Yield the ticks of owner ``owner`` (from 0)."""
        yield from map(to_ticks, self.times[owner])

    def rates(self, n_owners: int) -> None:  # noqa: ARG002
        """Return None: a finite script has no rate."""
        return

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners, and times out of order."""
        found = []
        if len(self.times) != n_owners:
            allowed = f"allowed is one list per owner, {n_owners} in all"
            found.append(Fault("clock.times", f"{len(self.times)} lists", allowed))
        for number, times in enumerate(self.times):
            ticks = [to_ticks(time) for time in times]
            if any(b <= a for a, b in pairwise(ticks)):
                allowed = "allowed are increasing times at least 1e-9 apart"
                found.append(Fault(f"clock.times[{number}]", str(list(times)), allowed))
        return found


class SaturatedClock(Spec):
    """No clock at all: an owner begins its next job the moment the last one ends.

    Only under ``push``, with jobs that take time and owners that are always online.
    """

    kind: Literal["saturated"] = "saturated"

    def ticks(self, owner: int, source: Source, block: int) -> None:  # noqa: ARG002
        """Return None: there is nothing to wait for between jobs."""
        return

    def rates(self, n_owners: int) -> None:  # noqa: ARG002
        """Return None: the pace is the jobs' own."""
        return

    def faults(self, n_owners: int) -> list[Fault]:  # noqa: ARG002
        """Return nothing: it fits any number of owners."""
        return []


Clock = Annotated[
    PoissonClock | GammaClock | DeterministicClock | ScriptedClock | SaturatedClock,
    Field(discriminator="kind"),
]
"""Every clock; a new one joins by its line here."""
