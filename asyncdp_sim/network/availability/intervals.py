"""Owners that are online in given intervals, read from a file."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.faults import faults_of
from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.availability.interval_rows import COLUMNS, KEY, IntervalTable, Reading
from asyncdp_sim.network.availability.kind import AvailabilityKind
from asyncdp_sim.network.contents import (
    Columns,
    FromFile,
    columns_of,
    moment_of,
    shortened,
)
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import Positive, Several, about
from asyncdp_sim.streams import Scope
from asyncdp_sim.units import to_ticks

KIND = f"allowed is a CSV (UTF-8) or .parquet with the columns {','.join(COLUMNS)}"


class Intervals(FromFile, AvailabilityKind):
    """An owner is online exactly in its intervals [start, end) of a file.

    An owner without a row is offline for ever; after its last interval an owner leaves for good,
    and completes what is under way, unless the intervals have a ``period``. Intervals of one owner
    may touch, which makes them one, and must not overlap. Rows may stand in any order.
    """

    always_online = False
    all_return = False
    rehearsed = True
    drawn_per_tick = False
    keeps_poisson = False

    kind: Literal["intervals"] = "intervals"
    path: Annotated[
        str,
        about(
            "A CSV or Parquet file with the columns owner (a number from 1, or the name of a "
            "device), start and end (time units, or ISO 8601 times, UTC unless they name a zone)",
            example="online.csv",
        ),
    ]
    names: Annotated[
        Several[str] | None,
        about(
            "Whose rows owners 1, 2, … have: names in the column owner, of which several owners "
            "may have the same. Absent: a file of names has one device per owner, as they first "
            "come",
            example=["device-a", "device-b", "device-a"],
        ),
    ] = None
    unit: Annotated[
        Positive | None,
        about(
            "Time that 1 in the file, or a second between two ISO times, stands for; 1 where "
            "absent",
            "time units",
            example=0.001,
        ),
    ] = None
    origin: Annotated[
        str | None,
        about(
            "The ISO time that is time 0; absent, the earliest start in the file",
            domain="an ISO 8601 time",
            example="2020-05-17T00:00",
        ),
    ] = None
    period: Annotated[
        Annotated[Positive, Field(le=1e9)] | None,
        about(
            "Time after which all intervals come again, for ever; none may end later. Absent: "
            "never",
            "time units",
            example=24.0,
        ),
    ] = None

    @property
    @override
    def of_everybody(self) -> bool:
        return True

    @model_validator(mode="after")
    def _is_said_in_words_that_exist(self) -> Self:
        found = []
        if self.origin is not None and moment_of(self.origin) is None:
            found.append(Fault("origin", repr(self.origin), "allowed is an ISO 8601 time"))
        if self.period is not None and to_ticks(self.period) < 1:
            found.append(Fault("period", str(self.period), "allowed is a tick, 1e-9, or more"))
        if len(found) > 0:
            raise faults_of(found)
        return self

    @override
    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        period = None if self.period is None else to_ticks(self.period)
        for owner in owners:
            periods = self.periods(owner.number)
            learner.kernel.start(_follow(periods, period, owner, learner))

    @override
    def online_share(self, n_owners: int) -> None:
        return

    @override
    def never_online(self, n_owners: int) -> tuple[int, ...]:
        every = range(1, n_owners + 1)
        return tuple(owner for owner in every if len(self.periods(owner)) == 0)

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        """Return what is wrong with the file, row by row: the first ten, and how many more."""
        table = self._table
        found = sorted([*table.wrong, *table.strangers(n_owners)], key=lambda pair: pair[0])
        told = shortened([fault for _, fault in found], self._name)
        if len(told) == 0:
            return self._misfits(n_owners)
        return told

    def _misfits(self, n_owners: int) -> list[Fault]:
        """Return a fault where names of devices do not fit the number of owners."""
        devices = self._table.devices
        if self.names is not None:
            if len(self.names) != n_owners:
                allowed = f"allowed is a name for each of {n_owners} owners"
                return [Fault("availability.names", f"{len(self.names)} names", allowed)]
            known = set(devices)
            lost = dict.fromkeys(name for name in self.names if name not in known)
            allowed = f"allowed are names in the column owner of {self._name}"
            return shortened(
                [Fault("availability.names", repr(name), allowed) for name in lost], self._name
            )
        if len(devices) > 0 and len(devices) != n_owners:
            given = f"{len(devices)} devices ({self._name})"
            allowed = f"allowed are as many as owners, {n_owners}, or availability.names for them"
            return [Fault(KEY, given, allowed)]
        return []

    def periods(self, owner: int) -> tuple[tuple[int, int], ...]:
        """Return when owner ``owner`` (from 1) is online: [start, end) in ticks, in order.

        Between two periods there is a gap of a tick or more.
        """
        if self.names is not None:
            owner = self._places.get(self.names[owner - 1], 0)
        return self._table.periods(owner)

    @override
    def content_digest(self) -> str:
        if isinstance(self._columns, SpecError):
            raise self._columns
        return self._columns.sha256

    @cached_property
    def _places(self) -> dict[str, int]:
        """The number of each device in the file."""
        return {name: place for place, name in enumerate(self._table.devices, start=1)}

    @cached_property
    def _columns(self) -> Columns | SpecError:
        try:
            return columns_of(self.path, COLUMNS, KEY, KIND)
        except SpecError as error:
            return error

    @cached_property
    def _table(self) -> IntervalTable:
        if isinstance(self._columns, SpecError):
            return IntervalTable(wrong=tuple((0, fault) for fault in self._columns.faults))
        named, unit = self.names is not None, 1.0 if self.unit is None else self.unit
        asked: dict[str, Any] = {"named": named, "unit": unit}
        asked |= {"origin": self.origin, "period": self.period}
        return Reading(self._columns, self._name, **asked).table()

    @property
    def _name(self) -> str:
        return Path(self.path).name


def _follow(
    periods: Sequence[tuple[int, int]], period: int | None, owner: Owner, learner: Learner
) -> Activity:
    if len(periods) == 0 or periods[0][0] > 0:
        owner.go_offline(learner)
    if len(periods) == 0:
        learner.give_up(owner.number)
        return
    if tuple(periods) == ((0, period),):
        return  # online for ever
    for start, end in _recurring(periods, period):
        if start > 0:
            yield start, Priority.PRESENCE
            owner.go_online(learner)
        yield end, Priority.PRESENCE
        owner.go_offline(learner)
    learner.leave(owner.number)


def _recurring(periods: Sequence[tuple[int, int]], period: int | None) -> Iterator[tuple[int, int]]:
    """Yield periods online, over and over where they have a period; what touches is one."""
    if period is None:
        yield from periods
        return
    wraps = periods[0][0] == 0 and periods[-1][1] == period
    begun = periods[0][0]
    for turn in count():
        past = turn * period
        for place, (start, end) in enumerate(periods):
            if not (wraps and place == 0):
                begun = past + start
            if not (wraps and place == len(periods) - 1):
                yield begun, past + end
