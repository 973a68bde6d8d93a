"""Files of networks that were measured: tables of when devices are online, and their scenario."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.network.table_file import shortened
from asyncdp_sim.results.write import write_into
from asyncdp_sim.scenario import SCHEMA_LINE, load

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
            remedy = f"allowed is a name that ends in {' or '.join(SUFFIXES)}"
            raise DataError([Fault("-o", repr(str(out)), remedy)])
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
        lines = [
            f"{counted(len(self.devices), 'device')}, {counted(len(owner), 'interval')} (seconds)",
            f"online {100 * self.share:.3g} % of the time",
        ]
        if never > 0:
            lines.append(f"{counted(never, 'device')} never online")
        return lines


def write_columns(columns: Mapping[str, npt.NDArray[Any]], out: Path) -> None:
    """Write a table as CSV or Parquet, by its name, whole or not at all."""
    import pandas as pd

    written = columns if out.suffix == ".parquet" else pd.DataFrame(columns).to_csv(index=False)
    write_into(out.absolute().parent, out.name, written)


def refused(file: Path, given: str, allowed: str) -> DataError:
    """Return the error of a file that is not what it should be."""
    return DataError([Fault("", given, allowed)], str(file))


def require_sound(wrong: Sequence[Fault], file: Path) -> None:
    """Raise if something is wrong in a file."""
    if len(wrong) > 0:
        raise DataError(shortened(wrong, file.name), str(file))


def counted(count: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def listed(values: Iterable[str]) -> str:
    """Return an array of TOML, a value a line."""
    return "\n".join(["[", *(f"    {value}," for value in values), "]"])


_AROUND = (
    f"{SCHEMA_LINE}\n"
    + """\
# The network is that of {file}. Who learns what, by which steps and at which
# price is yours to say: the lines marked "a choice" stand for it.
schema = 1
id = "{id}"
title = "The network of {file}"
{blocks}

[run]
updates = {updates}{until}  # a choice

[owners]
count = {owners}
records = {records}  # a choice

[data]  # a choice
kind = "gaussian"
features = 10

[model]  # a choice
kind = "ridge"
regularisation = 1e-3

[algorithm]  # a choice
{algorithm}

[privacy]  # a choice
epsilon = 1.0
sensitivity = {{ kind = "clip", bound = 1.0 }}
"""
)


def written_around(
    blocks: Sequence[str],
    out: Path,
    file: Path,
    *,
    owners: int,
    records: int = 100,
    updates: int = 1000,
    rounds: int | None = None,
    until: float | None = None,
) -> None:
    """Write a scenario that can be run, around the network part that ``blocks`` say in TOML.

    Raises
    ------
    DataError
        If its name does not end in .toml.
    SpecError
        If what was measured makes no network.
    """
    if out.suffix != ".toml":
        raise DataError([Fault("-o", repr(str(out)), "allowed is a name that ends in .toml")])
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in file.stem.lower()).split()
    learned = (
        'kind = "async-gossip"\nrho = 1.0' if rounds is None else 'kind = "collab-2"\nstep = 0.1'
    )
    text = _AROUND.format(
        file=file.name.replace('"', "'").replace("\\", "/"),
        id="-".join(words) or "measured",
        blocks="\n".join(blocks),
        updates=updates if rounds is None else rounds,
        until="" if until is None else f"\nuntil = {until!r}",
        owners=owners,
        records=records,
        algorithm=learned,
    )
    write_into(out.absolute().parent, out.name, text)
    load(out)
