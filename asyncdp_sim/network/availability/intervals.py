"""Owners that are online in given intervals, read from a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from typing_extensions import override

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.faults import show
from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.availability.kind import AvailabilityKind
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.topology.contents import (
    EXAMPLES,
    Remembering,
    Row,
    rows_of,
    shortened,
    text_of,
    time_of,
)
from asyncdp_sim.streams import Scope
from asyncdp_sim.units import to_ticks

KEY = "availability.path"
COLUMNS = ("owner", "start", "end")
KIND = f"allowed is a CSV (UTF-8) with the columns {','.join(COLUMNS)}"
TIME = "allowed is a number from 0 to 1e9 (time units)"


class Intervals(Remembering, AvailabilityKind):
    """An owner is online exactly in its intervals [start, end) of a file.

    An owner without a row is offline for ever; after its last interval an owner leaves for good,
    and completes what is under way. Intervals of one owner may touch, which makes them one, and
    must not overlap. Rows may stand in any order.

    Attributes
    ----------
    path : str
        A CSV with the columns ``owner`` (a number from 1), ``start`` and ``end`` (time units,
        0 ≤ start < end ≤ 10⁹). It is read once.
    """

    always_online = False
    all_return = False
    drawn_per_tick = False
    keeps_poisson = False

    kind: Literal["intervals"] = "intervals"
    path: str

    @property
    @override
    def of_everybody(self) -> bool:
        return True

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(path=str(EXAMPLES / "online.csv")),)

    @override
    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for owner in owners:
            periods = self.periods(owner.number)
            learner.kernel.start(_follow(periods, owner, learner))

    @override
    def online_share(self, n_owners: int) -> None:
        return

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        """Return what is wrong with the file, row by row: the first ten, and how many more."""
        table = self._table
        allowed = f"allowed are owner numbers 1 to {n_owners}"
        unknown = [
            (line, Fault(KEY, f"owner {show(cell)} ({self._name}, line {line})", allowed))
            for cell, line in table.lines.items()
            if not 1 <= _number(cell) <= n_owners
        ]
        found = sorted([*table.wrong, *unknown], key=lambda pair: pair[0])
        return shortened([fault for _, fault in found], self._name)

    def periods(self, owner: int) -> tuple[tuple[int, int], ...]:
        """Return when owner ``owner`` (from 1) is online: [start, end) in ticks, in order.

        Between two periods there is a gap of a tick or more.
        """
        return self._table.online.get(owner, ())

    def content_digest(self) -> str:
        """Return the SHA-256 digest of the file's bytes as they were read (64 hex digits).

        Raises
        ------
        SpecError
            If the file could not be read.
        """
        table = self._table
        if table.sha256 is None:
            raise SpecError([fault for _, fault in table.wrong])
        return table.sha256

    @cached_property
    def _table(self) -> "_Table":
        return _read(self.path, self._name)

    @property
    def _name(self) -> str:
        return Path(self.path).name


@dataclass(frozen=True)
class _Table:
    """What a file says.

    Attributes
    ----------
    sha256 : str, optional
        Of its bytes; None where it could not be read.
    online : mapping
        From owner numbers to disjoint periods in ticks, in order.
    lines : mapping
        From the cells that name an owner to the first line with them.
    wrong : tuple
        Faults by line.
    """

    sha256: str | None
    online: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    wrong: tuple[tuple[int, Fault], ...] = ()


def _read(path: str, name: str) -> _Table:
    try:
        text, sha256 = text_of(path, KEY, KIND)
    except SpecError as error:
        return _Table(None, wrong=tuple((0, fault) for fault in error.faults))
    rows, wrong = rows_of(text, COLUMNS, name, KEY)
    lines: dict[str, int] = {}
    spans: dict[int, list[tuple[int, int, Row]]] = {}
    for row in rows:
        line, (owner, *times) = row
        lines.setdefault(owner, line)
        units = [time_of(cell) for cell in times]
        for column, cell, value in zip(COLUMNS[1:], times, units, strict=True):
            if value is None:
                wrong.append(
                    (line, Fault(KEY, f"{column} {show(cell)} ({name}, line {line})", TIME))
                )
        ticks = [to_ticks(value) for value in units if value is not None]
        if len(ticks) < 2:
            continue
        if ticks[0] >= ticks[1]:
            allowed = "allowed is an end after its start, by 1e-9 or more"
            wrong.append((line, Fault(KEY, f"{_spelled(row)} ({name}, line {line})", allowed)))
        else:
            spans.setdefault(_number(owner), []).append((ticks[0], ticks[1], row))
    online: dict[int, tuple[tuple[int, int], ...]] = {}
    for number, mine in spans.items():
        online[number], overlaps = _merged(sorted(mine), name)
        wrong += overlaps if number > 0 else []
    return _Table(sha256, online, lines, tuple(wrong))


def _merged(
    spans: Sequence[tuple[int, int, Row]], name: str
) -> tuple[tuple[tuple[int, int], ...], list[tuple[int, Fault]]]:
    """Join what touches; return the periods, and the faults of spans that overlap another."""
    periods: list[tuple[int, int]] = []
    wrong = []
    last: Row | None = None
    for start, end, row in spans:
        if last is None or start > periods[-1][1]:
            periods.append((start, end))
        elif start == periods[-1][1]:
            periods[-1] = (periods[-1][0], end)
        else:
            (early, first), (late, second) = sorted([(last[0], last), (row[0], row)])
            given = f"{_spelled(second)} of owner {second[1][0]} ({name}, line {late})"
            allowed = "allowed are intervals of one owner that do not overlap"
            wrong.append(
                (late, Fault(KEY, given, f"{allowed}: line {early} has {_spelled(first)}"))
            )
            if end <= periods[-1][1]:
                continue
            periods[-1] = (periods[-1][0], end)
        last = row
    return tuple(periods), wrong


def _spelled(row: Row) -> str:
    _, (_, start, end) = row
    return f"[{start}, {end})"


def _number(cell: str) -> int:
    """Return the number of an owner; 0 where a cell holds no such number."""
    return int(cell) if cell.isascii() and cell.isdigit() and len(cell) < 10 else 0


def _follow(periods: Sequence[tuple[int, int]], owner: Owner, learner: Learner) -> Activity:
    if len(periods) == 0 or periods[0][0] > 0:
        owner.go_offline(learner)
    if len(periods) == 0:
        learner.give_up(owner.number)
        return
    for start, end in periods:
        if start > 0:
            yield learner.kernel.at(start, Priority.PRESENCE)
            owner.go_online(learner)
        yield learner.kernel.at(end, Priority.PRESENCE)
        owner.go_offline(learner)
    learner.leave(owner.number)
