"""Owners that are online in given intervals, read from a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import Activity, Priority
from asyncdp_sim.core.specification import LONGEST, Positive, Several
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import TICKS_PER_UNIT, to_ticks
from asyncdp_sim.core.validation import show
from asyncdp_sim.network import table_file
from asyncdp_sim.network.availability.kind import AvailabilityKind
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner

KEY = "availability.path"
COLUMNS = ("owner", "start", "end")
TIME = "allowed is a number from 0 to 1e9 (time units)"
MOMENT = "allowed is an ISO 8601 time, from 0 to 1e9 time units after the origin"


@dataclass(frozen=True)
class IntervalTable:
    """The contents of a file of intervals.

    Attributes
    ----------
    owner, start, end : array
        Periods online in ticks, by owner or device and then by time: what touches is one.
    first : tuple of (int, int, str)
        Where owners are numbered: the line where each number comes first, the number (0 of a cell
        that holds none), and both in words.
    devices : tuple of str
        Where owners are named: the names in the file.
    wrong : tuple of (int, Fault)
        By line.
    """

    owner: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    start: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    end: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    first: tuple[tuple[int, int, str], ...] = ()
    devices: tuple[str, ...] = ()
    wrong: tuple[tuple[int, Fault], ...] = ()

    def periods(self, owner: int) -> tuple[tuple[int, int], ...]:
        """Return when an owner is online."""
        low, high = np.searchsorted(self.owner, [owner, owner + 1])
        mine = self.start[low:high].tolist(), self.end[low:high].tolist()
        return tuple(zip(*mine, strict=True))

    def strangers(self, n_owners: int) -> list[tuple[int, Fault]]:
        """Return a fault for each number in the file that no owner has."""
        rule = f"allowed are owner numbers 1 to {n_owners}"
        return [
            (line, Fault(KEY, f"owner {cell}", rule))
            for line, number, cell in self.first
            if not 1 <= number <= n_owners
        ]


@dataclass(eq=False)
class Reading:
    """A file's rows on their way to intervals of owners.

    Parameters
    ----------
    columns : Columns
        Of the file: owner, start and end.
    name : str
        What messages call the file.
    named : bool
        Whether the column owner holds names, even where these look like numbers.
    unit : float
        Time that 1 in the file, or a second between two ISO times, stands for, in time units.
    origin : str or None
        The ISO time that is time 0; None for the earliest start.
    period : float or None
        No interval may end later.
    """

    columns: table_file.Columns
    name: str
    named: bool
    unit: float
    origin: str | None
    period: float | None

    def __post_init__(self) -> None:
        self.wrong = list(self.columns.wrong)

    def table(self) -> IntervalTable:
        """Return what the rows say."""
        owner, first, devices = self._owners()
        times = self._times()
        start, end = np.rint(np.nan_to_num(times) * TICKS_PER_UNIT).astype(np.int64)
        good = ~np.isnan(times).any(axis=0)
        self._blame(good & (start >= end), "allowed is an end after its start, by 1e-9 or more")
        good &= start < end
        if self.period is not None:
            late = good & (end > to_ticks(self.period))
            self._blame(late, f"allowed is an end up to the period, {self.period:g}")
        rows = np.flatnonzero(good & (owner > 0))
        rows = rows[np.lexsort((end[rows], start[rows], owner[rows]))]
        owner, start, end = owner[rows], start[rows], end[rows]
        again = np.zeros(len(rows), dtype=bool)
        again[1:] = (owner[1:] == owner[:-1]) & (start[1:] < end[:-1])
        for number in np.unique(owner[again]):
            mine = np.flatnonzero(owner == number)
            self._overlaps(rows[mine], start[mine], end[mine])
        begins = np.ones(len(rows), dtype=bool)  # of a period: not where another one ends
        begins[1:] = (owner[1:] != owner[:-1]) | (start[1:] > end[:-1])
        ends = np.append(begins[1:], True)[: len(rows)]
        periods = owner[begins], start[begins], end[ends]
        return IntervalTable(*periods, first, devices, tuple(self.wrong))

    def _owners(self) -> tuple[Ints, tuple[tuple[int, int, str], ...], tuple[str, ...]]:
        """Return each row's owner, 0 where there is none; where each number stands first; names."""
        cells = self.columns.cells["owner"]
        places: dict[str, int] = {}
        for place, cell in enumerate(cells):
            places.setdefault(cell, place)
        if self.named or all(cell != "" and table_file.time_of(cell) is None for cell in places):
            number = {name: place for place, name in enumerate(places, start=1)}
            return np.array([number[cell] for cell in cells]), (), tuple(places)
        number = {cell: int(cell) if table_file.is_number(cell) else 0 for cell in places}
        first = tuple(
            (self.columns.lines[place], number[cell], f"{show(cell)} ({self._where(place)})")
            for cell, place in places.items()
        )
        return np.array([number[cell] for cell in cells], np.int64), first, ()

    def _times(self) -> Array:
        """Return starts and ends in time units, (2, rows); NaN where there is none."""
        columns = [self.columns.cells[column] for column in COLUMNS[1:]]
        filled = [next((cell for cell in cells if cell != ""), "") for cells in columns]
        if all(table_file.moment_of(cell) is None for cell in filled):
            if self.origin is not None:
                rule = "allowed only where the file has ISO 8601 times"
                self.wrong.append((1, Fault("availability.origin", repr(self.origin), rule)))
            return np.stack([self._column(column, TIME) for column in COLUMNS[1:]])
        moments = np.stack([self._column(column, MOMENT) for column in COLUMNS[1:]])
        asked = None if self.origin is None else table_file.moment_of(self.origin)
        origin = np.fmin.reduce(moments[0], initial=np.inf) if asked is None else asked[0]
        times: Array = (moments - origin) / 1e6 * self.unit
        for row, column in zip(times, COLUMNS[1:], strict=True):
            off = (row < 0) | (row > LONGEST)
            for place in np.flatnonzero(off):
                self._refuse(column, int(place), MOMENT)
            row[off] = np.nan
        return times

    def _column(self, column: str, allowed: str) -> Array:
        """Return a column's times (time units), or its moments (µs); NaN where there is none."""
        cells, zoned = self.columns.cells[column], dict[bool, int]()
        values = np.full(len(cells), np.nan)
        for place, cell in enumerate(cells):
            moment, time = table_file.moment_of(cell), table_file.time_of(cell)
            if allowed == MOMENT and moment is not None:
                values[place], aware = moment
                zoned.setdefault(aware, place)
            elif allowed == TIME and time is not None and time * self.unit <= LONGEST:
                values[place] = time * self.unit
            else:
                self._refuse(column, place, allowed)
        if len(zoned) > 1:
            rule = "allowed is a time zone on all of them, or on none"
            self._refuse(column, zoned[False], rule)
        return values

    def _refuse(self, column: str, place: int, allowed: str) -> None:
        shown = f"{column} {show(self.columns.cells[column][place])} ({self._where(place)})"
        self.wrong.append((self.columns.lines[place], Fault(KEY, shown, allowed)))

    def _blame(self, which: Bools, allowed: str) -> None:
        for place in map(int, np.flatnonzero(which)):
            shown = f"{self._spelled(place)} ({self._where(place)})"
            self.wrong.append((self.columns.lines[place], Fault(KEY, shown, allowed)))

    def _overlaps(self, rows: Ints, start: Ints, end: Ints) -> None:
        """Note the rows of an owner that overlap another one."""
        last, reached = rows[0], end[0]
        for row, begins, ends in zip(rows[1:], start[1:], end[1:], strict=True):
            if begins < reached:
                first, second = sorted([last, row])
                shown = f"{self._spelled(second)} of owner {self.columns.cells['owner'][second]}"
                rule = "allowed are intervals of one owner that do not overlap"
                rule += f": {self._line(first)} has {self._spelled(first)}"
                fault = Fault(KEY, f"{shown} ({self._where(second)})", rule)
                self.wrong.append((self.columns.lines[second], fault))
                if ends <= reached:
                    continue
            last, reached = row, ends

    def _line(self, place: int) -> str:
        return f"{self.columns.place} {self.columns.lines[place]}"

    def _where(self, place: int) -> str:
        return f"{self.name}, {self._line(place)}"

    def _spelled(self, place: int) -> str:
        start, end = (self.columns.cells[column][place] for column in COLUMNS[1:])
        return f"[{start}, {end})"


KIND = f"allowed is a CSV (UTF-8) or .parquet with the columns {','.join(COLUMNS)}"


class Intervals(table_file.FromFile, AvailabilityKind):
    """An owner is online exactly in its intervals [start, end) of a file.

    An owner without a row is always offline. After its last interval an owner completes the work
    under way and leaves for good, unless the intervals have a ``period``. Intervals of one owner
    may touch, which makes them one, and must not overlap. Rows may stand in any order.
    """

    always_online = False
    all_return = False
    drawn_per_tick = False
    keeps_poisson = False
    of_everybody = True

    kind: Literal["intervals"] = "intervals"
    path: str
    names: Several[str] | None = None
    unit: Positive | None = None
    origin: str | None = None
    period: Annotated[Positive, Field(le=1e9)] | None = None

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.origin is not None and table_file.moment_of(self.origin) is None:
            yield Fault("origin", repr(self.origin), "allowed is an ISO 8601 time")
        if self.period is not None and to_ticks(self.period) < 1:
            yield Fault("period", str(self.period), "allowed is a tick, 1e-9, or more")

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
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
        faults = table_file.by_line([*table.wrong, *table.strangers(n_owners)], self._name)
        return faults or self._misfits(n_owners)

    def _misfits(self, n_owners: int) -> list[Fault]:
        """Return a fault where names of devices do not fit the number of owners."""
        devices = self._table.devices
        if self.names is not None:
            if len(self.names) != n_owners:
                rule = f"allowed is a name for each of {n_owners} owners"
                return [Fault("availability.names", f"{len(self.names)} names", rule)]
            device_names = set(devices)
            lost = dict.fromkeys(name for name in self.names if name not in device_names)
            rule = f"allowed are names in the column owner of {self._name}"
            return table_file.shortened(
                [Fault("availability.names", repr(name), rule) for name in lost], self._name
            )
        if len(devices) > 0 and len(devices) != n_owners:
            shown = f"{len(devices)} devices ({self._name})"
            rule = f"allowed are as many as owners, {n_owners}, or availability.names for them"
            return [Fault(KEY, shown, rule)]
        return []

    def periods(self, owner: int) -> tuple[tuple[int, int], ...]:
        """Return when owner ``owner`` (from 1) is online: [start, end) in ticks, in order.

        Between two periods there is a gap of a tick or more.
        """
        if self.names is not None:
            owner = self._places.get(self.names[owner - 1], 0)
        return self._table.periods(owner)

    @cached_property
    def _places(self) -> dict[str, int]:
        """The number of each device in the file."""
        return {name: place for place, name in enumerate(self._table.devices, start=1)}

    @cached_property
    @override
    def _content(self) -> table_file.Columns:
        return table_file.columns_of(self.path, COLUMNS, KEY, KIND)

    @cached_property
    def _table(self) -> IntervalTable:
        named, unit = self.names is not None, 1.0 if self.unit is None else self.unit
        of = self._content, self._name, named, unit, self.origin, self.period
        return Reading(*of).table()

    @property
    def _name(self) -> str:
        return Path(self.path).name


def _follow(
    periods: Sequence[tuple[int, int]], period: int | None, owner: Owner, learner: Learner
) -> Activity:
    if len(periods) == 0 or periods[0][0] > 0:
        owner.set_online(False, learner)
    if len(periods) == 0:
        learner.give_up(owner.number)
        return
    if tuple(periods) == ((0, period),):
        return  # online for ever
    for start, end in _recurring(periods, period):
        if start > 0:
            yield start, Priority.PRESENCE
            owner.set_online(True, learner)
        yield end, Priority.PRESENCE
        owner.set_online(False, learner)
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
