"""Status of a sweep: cells done, failed and left, and the time that is left."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from asyncdp_sim.on_disk import from_json
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sweeps.folder import FAILED, Folder
from asyncdp_sim.sweeps.standing import own_scenario, require_same_scenario
from asyncdp_sim.words import duration, ranges

LATELY = 100
"""Cells whose pace tells how long the rest takes."""
_RECORD = re.compile(r"cell-(\d{4,})\.json")
"""Name of the record of a cell that failed."""
PAUSE = 100.0
"""Times the mean of all other gaps: a longer one was an interruption."""


@dataclass(frozen=True)
class Status:
    """Progress of a sweep.

    Attributes
    ----------
    cells : int
        All of the grid.
    done : int
    failed : mapping
        From the numbers of cells that failed to why.
    seconds_left : float or None
        Until the others are done too, at the pace of late; None where none can be told.
    machine : bool
        Whether any failed because the machine had no room for it, so that another may.
    """

    cells: int
    done: int
    failed: Mapping[int, str]
    seconds_left: float | None
    machine: bool = False

    @property
    def left(self) -> int:
        """Cells that are neither done nor failed."""
        return self.cells - self.done - len(self.failed)

    def lines(self) -> list[str]:
        """Return all of it in words."""
        took = "not known yet" if self.seconds_left is None else duration(self.seconds_left)
        told = [
            f"cells      {self.cells}",
            f"done       {self.done}",
            f"failed     {len(self.failed)}",
            f"left       {self.left}",
        ]
        return [*told, *([f"time left  {took}"] if self.left > 0 else []), *self.errors()]

    def errors(self) -> list[str]:
        """Return a line for each error, naming the cells that ended with it."""
        cells: dict[str, list[int]] = {}
        for number in sorted(self.failed):
            cells.setdefault(self.failed[number], []).append(number)
        return [f"cell{'s' * (len(some) > 1)} {ranges(some)}: {why}" for why, some in cells.items()]


def status(scenario: Scenario | None, place: Path) -> Status:
    """Return how far the sweep at a place has come, which is of a scenario where one is named.

    Raises
    ------
    ResultError
        If there is none, or of another scenario, or it cannot be read.
    """
    into = Folder(place)
    own = own_scenario(place)
    if scenario is not None:
        require_same_scenario(scenario, into, place)
    cells = sum(1 for _ in own.grid())
    entries = into.entries()
    done = (f"cell-{number:04d}" for number in range(cells))
    came = [entries[name] for name in done if name in entries]
    records = _failures(into)
    machine = any(each.get("machine") is True for each in records.values())
    pace = _pace([when for when in came if when is not None])
    seconds = None if pace is None else (cells - len(came) - len(records)) * pace
    return Status(cells, len(came), _reasons(records), seconds, machine)


def errors(into: Folder) -> dict[int, str]:
    """Return why cells failed, by their numbers, ascending."""
    return _reasons(_failures(into))


def _reasons(records: Mapping[int, Mapping[str, Any]]) -> dict[int, str]:
    return {number: str(each["error"]) for number, each in records.items()}


def _failures(into: Folder) -> dict[int, dict[str, Any]]:
    """Return the records of cells that failed, by their numbers, ascending.

    A file of any other name, or that cannot be read, tells nothing: its cell is to be run.
    """
    done = into.entries()
    found = {}
    for entry in sorted(into.entries(FAILED)):
        match = _RECORD.fullmatch(entry)
        if match is None or entry.removesuffix(".json") in done:
            continue
        with suppress(ValueError):  # damaged
            said = from_json(into.text(f"{FAILED}/{entry}") or "")
            if isinstance(said, dict) and "error" in said:
                found[int(match[1])] = said
    return found


def _pace(came: Sequence[float]) -> float | None:
    """Return the mean gap between cells of late, without pauses; None of fewer than two."""
    gaps = [later - earlier for earlier, later in pairwise(sorted(came)[-LATELY:])]
    if len(gaps) == 0:
        return None
    others = (sum(gaps) - max(gaps)) / max(1, len(gaps) - 1)
    return others if max(gaps) > PAUSE * others > 0 else fmean(gaps)
