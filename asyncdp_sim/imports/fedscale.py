"""FedScale's devices: when they are online, and how fast they compute and communicate.

Both files are pickles of one dictionary. Availability, by device: ``active`` and ``inactive``, when
its periods online begin and end (s), which come again every ``finish_time``. Capacity, by device:
``computation``, the milliseconds in which a model answers for one record, of which a step of
training takes three times as much; and ``communication``, in kilobits (of 1024 bits) a second.

A pickle is a program for a small machine, part of which imports and calls. Here a file is first
read opcode by opcode: it must consist of those that build numbers, texts, lists and dictionaries,
and nothing else. What is left can call nothing, holds no reference before it was made, and asks for
no more room than its own length; it is then loaded by a reader that knows no class either.
"""

import io
import pickle
import pickletools
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

from typing_extensions import override

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.files import unreadable
from asyncdp_sim.imports.around import (
    OnlineTable,
    counted,
    listed,
    refused,
    require_sound,
    written_around,
)
from asyncdp_sim.network.table_file import LONGEST
from asyncdp_sim.spec.validation import show

TRAINING = 3
"""A step of training takes as long as so many answers of the model."""
BYTES = 1024 / 8
"""In a kilobit."""
_KINDS = "allowed is FedScale's table of availability, or of capacity, by device"


def import_fedscale(file: Path, out: Path, records: int, first: int | None = None) -> list[str]:
    """Write the content of a FedScale file, and return it in words.

    Parameters
    ----------
    file : Path
        Availability or capacity of devices.
    out : Path
        Of availability: a table of intervals, .csv or .parquet. Of capacity: a scenario, .toml.
    records : int
        Records of a device, for all of which an answer takes its gradient.
    first : int, optional
        How many devices to take, from the front of the file.

    Raises
    ------
    DataError
        If the file is neither, or says what cannot be.
    """
    devices, opcodes = read_plain(file)
    if not isinstance(devices, dict) or not all(isinstance(d, dict) for d in devices.values()):
        raise refused(file, f"a pickle of a {type(devices).__name__}", _KINDS)
    chosen = dict(list(devices.items())[:first])
    if len(chosen) == 0:
        raise refused(file, "no devices", _KINDS)
    head = next(iter(chosen.values()))
    if "active" in head:
        return _availability(file, chosen, out, opcodes)
    if "computation" in head:
        return _capacity(file, chosen, out, records)
    raise refused(file, f"devices with {show(list(head))}", _KINDS)


def _availability(file: Path, devices: Mapping[Any, Any], out: Path, opcodes: int) -> list[str]:
    table, wrong = OnlineTable(), []
    periods: set[float] = set()
    left = opcodes  # a list that many devices share is read once only
    for name, text in devices.items():
        try:
            left -= len(_list(text, "active"))
            if left < 0:
                raise refused(file, "one list that many devices share", _KINDS)
            spans, period = _spans(text)
        except (KeyError, ValueError) as error:
            wrong.append(_wrong_device(name, error, _ALLOWED))
            continue
        periods.add(period)
        table.add(str(name), spans, period)
    require_sound(wrong, file)
    reported = table.write(out)
    block = f'availability = {{ kind = "intervals", path = "{out.name}"'
    if len(periods) == 1:
        block += f", period = {periods.pop():.1f}"
    else:
        reported.append(f"{len(periods)} different values of finish_time: no common period")
    return [*reported, f"{block} }}  # for a scenario with owners.count = {len(table.devices)}"]


_ALLOWED = (
    "allowed are active and inactive, lists of seconds in turn, up to finish_time, which is > 0 "
    f"and at most {LONGEST:g}"
)


def _wrong_device(name: object, error: KeyError | ValueError, allowed: str) -> Fault:
    """Return what is wrong with a device, or not there."""
    reason = f"no {error}" if isinstance(error, KeyError) else str(error)
    return Fault("", f"{reason} (device {show(name)})", allowed)


def _list(said: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list of a device; raise KeyError or ValueError where there is none."""
    times = said[key]
    if isinstance(times, list):
        return times
    raise ValueError(f"{key} {show(times)}")


def _number(said: Mapping[str, Any], key: str) -> float:
    """Return a number of a device; raise KeyError or ValueError where there is none."""
    try:
        return float(said[key])
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{key} {show(said[key])}") from None


def _spans(said: Mapping[str, Any]) -> tuple[list[tuple[float, float]], float]:
    """Return the periods online of a device and after how long they come again.

    Raises
    ------
    KeyError, ValueError
        With what is wrong.
    """
    period = _number(said, "finish_time")
    active, inactive = (
        [_number({key: time}, key) for time in _list(said, key)] for key in ("active", "inactive")
    )
    if len(active) == len(inactive) + 1:
        inactive.append(period)  # online to the end
    if len(active) != len(inactive):
        raise ValueError(f"{len(active)} times active and {len(inactive)} inactive")
    if not 0 < period <= LONGEST:
        raise ValueError(f"finish_time {period:g}")
    before = 0.0
    for start, end in zip(active, inactive, strict=True):
        if not before <= start <= end <= period:
            raise ValueError(f"active from {start:g} to {end:g}")
        before = end
    return [(s, e) for s, e in zip(active, inactive, strict=True) if s < e], period


def _capacity(file: Path, devices: Mapping[Any, Any], out: Path, records: int) -> list[str]:
    compute, rates, wrong = [], [], []
    for name, text in devices.items():
        try:
            slow, rate = (_number(text, key) for key in ("computation", "communication"))
        except (KeyError, ValueError) as error:
            wrong.append(_wrong_device(name, error, _FAST))
            continue
        takes, speed = TRAINING * records * slow / 1000, rate * BYTES
        if 0 <= takes <= LONGEST and 0 < speed < inf:
            compute.append(takes)
            rates.append(speed)
        else:
            wrong.append(Fault("", f"{slow:g} and {rate:g} (device {show(name)})", _FAST))
    require_sound(wrong, file)
    laws = (f'{{ kind = "constant", value = {seconds!r} }}' for seconds in compute)
    speeds = listed(map(repr, rates))
    blocks = [f"compute = {listed(laws)}", "[latency]", f"rate_bytes = {speeds}"]
    written_around(blocks, out, file, owners=len(compute), records=records)
    return [
        f"{counted(len(compute), 'device')}: compute and latency.rate_bytes (seconds, bytes/s)",
        f"a gradient of {counted(records, 'record')}: {min(compute):g} to {max(compute):g} s",
        f"{min(rates):g} to {max(rates):g} bytes/s",
    ]


_FAST = (
    "allowed are computation (ms, ≥ 0) and communication (kbit/s, > 0), and at most "
    f"{LONGEST:g} s for the records of a device"
)


# fmt: off
PLAIN = frozenset((
    "PROTO", "FRAME", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT",
    "BININT1", "BININT2", "LONG", "LONG1", "FLOAT", "BINFLOAT", "UNICODE", "BINUNICODE",
    "SHORT_BINUNICODE", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "EMPTY_LIST", "LIST",
    "APPEND", "APPENDS", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE", "GET", "BINGET",
    "LONG_BINGET",
))
# fmt: on
"""Opcodes of plain values; a tuple is none, for it could be a key that takes for ever to hash."""
_PLACES = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
_WORD = "allowed is a pickle of numbers, texts, lists and dictionaries, of 1 GB at most"
_LARGEST = 2**30


class PlainReader(pickle.Unpickler):
    """Reads a pickle, and refuses every class."""

    @override
    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module_name}.{global_name}")


def read_plain(path: Path) -> tuple[Any, int]:
    """Return what a pickle holds, and of how many opcodes it consists.

    Raises
    ------
    DataError
        If it cannot be read, is no pickle, or holds anything but plain values.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise refused(path, f"a file of {path.stat().st_size} bytes", _WORD)
        data = path.read_bytes()
    except OSError as error:
        raise refused(path, repr(path.name), f"{unreadable(error)}; {_WORD}") from None
    try:
        length = _scan(data, path)
        return PlainReader(io.BytesIO(data)).load(), length
    except DataError:
        raise
    except Exception:  # whatever a broken pickle makes of the machine's stack
        raise refused(path, repr(path.name), f"the file is not a whole pickle; {_WORD}") from None


def _scan(data: bytes, path: Path) -> int:
    """Return how many opcodes there are.

    Raises
    ------
    DataError
        If one of them does anything but build plain values.
    """
    length = 0
    for opcode, argument, place in pickletools.genops(data):
        length += 1
        name = opcode.name
        if name not in PLAIN:
            problem = f"a pickle with the opcode {name} at byte {place}, which may execute code"
            raise refused(path, problem, _WORD)
        if name in _PLACES and int(argument or 0) > length:
            problem = f"a pickle that fills place {argument} of its memory with opcode {length}"
            raise refused(path, problem, _WORD)
    return length
