"""Tables of when devices are online, as availability of kind ``intervals`` reads them."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.results.write import write_into

SUFFIXES = (".csv", ".parquet")


@dataclass
class OnlineTable:
    """Intervals in which devices are online, one row each, in the order in which they are added.

    Attributes
    ----------
    devices : list of str
        What the file calls owner 1, 2, …
    observed : float
        Seconds for which devices were watched, summed over them.
    """

    devices: list[str] = field(default_factory=list)
    observed: float = 0.0
    _owner: "array[int]" = field(default_factory=lambda: array("q"))
    _start: "array[float]" = field(default_factory=lambda: array("d"))
    _end: "array[float]" = field(default_factory=lambda: array("d"))

    def add(self, device: str, spans: Sequence[tuple[float, float]], observed: float) -> None:
        """Add a device that was online in ``spans`` (s) of the ``observed`` seconds."""
        self.devices.append(device)
        self.observed += observed
        for start, end in spans:
            self._owner.append(len(self.devices))
            self._start.append(start)
            self._end.append(end)

    def move(self, seconds: float) -> None:
        """Make another instant time 0."""
        self._start = array("d", (start - seconds for start in self._start))
        self._end = array("d", (end - seconds for end in self._end))

    @property
    def online(self) -> float:
        """Seconds online, summed over devices."""
        return fsum(self._end) - fsum(self._start)

    @property
    def share(self) -> float:
        """Share of the time watched that devices were online."""
        return self.online / self.observed if self.observed > 0 else 0.0

    def write(self, out: Path) -> list[str]:
        """Write the table, and return what is in it, in words.

        Raises
        ------
        DataError
            If there is no interval, or the file's name ends neither in .csv nor in .parquet.
        """
        if out.suffix not in SUFFIXES:
            allowed = f"allowed is a name that ends in {' or '.join(SUFFIXES)}"
            raise DataError([Fault("-o", repr(str(out)), allowed)])
        if len(self._owner) == 0:
            raise DataError([Fault("", "no device that is ever online", "allowed is one or more")])
        owner = np.frombuffer(self._owner, np.int64)
        columns = {
            "owner": owner,
            "start": np.frombuffer(self._start),
            "end": np.frombuffer(self._end),
            "device": np.array(self.devices, object)[owner - 1],
        }
        write_columns(columns, out)
        never = len(self.devices) - len(np.unique(owner))
        told = [
            f"{counted(len(self.devices), 'device')}, {counted(len(owner), 'interval')} (seconds)",
            f"online share {self.share:.9f}",
        ]
        if never > 0:
            told.append(f"{counted(never, 'device')} never online")
        return told


def write_columns(columns: Mapping[str, npt.NDArray[Any]], out: Path) -> None:
    """Write a table as CSV or Parquet, by its name, whole or not at all."""
    import pandas as pd

    written = columns if out.suffix == ".parquet" else pd.DataFrame(columns).to_csv(index=False)
    write_into(out.absolute().parent, out.name, written)


def counted(count: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
