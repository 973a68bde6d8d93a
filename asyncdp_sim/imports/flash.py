"""FLASH's devices: logs of their states, from which it follows when they are online.

The file is JSON: by device, ``messages`` has a line per change, a time (``2020-01-28 09:30:00``)
and a state with a tab between them. A device is online while it is all that is asked for: charging,
on Wi-Fi, and locked (or its screen off). What a state says lasts until another one says otherwise;
nothing is known before the first message or after the last.
"""

import json
from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.files import unreadable
from asyncdp_sim.imports.around import OnlineTable, refused, require_sound
from asyncdp_sim.spec.validation import show

NEEDS = ("charging", "wifi", "locked", "screen-off")
SAYS: dict[str, tuple[tuple[str, bool], ...]] = {
    "battery_charged_on": (("charging", True),),
    "battery_charged_off": (("charging", False),),
    "wifi": (("wifi", True),),
    **dict.fromkeys(("unknown", "2g", "3g", "4g", "5g"), (("wifi", False),)),
    "screen_off": (("screen-off", True),),
    "screen_on": (("screen-off", False),),
    "screen_lock": (("locked", True),),
    "screen_unlock": (("locked", False),),
    "phone_off": tuple((need, False) for need in NEEDS),
    **dict.fromkeys(("phone_on", "battery_low", "battery_okay"), ()),
}
"""Meaning of each state of a device; a battery percentage has no further meaning."""
_LINE = "allowed is a time, a tab, and a state that FLASH knows"
_KIND = "allowed is FLASH's JSON: a table by device, each with messages"
_CHUNK = 2**20


def import_flash(
    file: Path, out: Path, needs: Collection[str], first: int | None = None
) -> list[str]:
    """Write when the devices of a FLASH trace are online, and return it in words.

    Parameters
    ----------
    file : Path
        The JSON file; it is read piece by piece.
    out : Path
        A table of intervals, .csv or .parquet; time 0 is the first message of all.
    needs : collection of str
        What a device must be to be online, of :data:`NEEDS`.
    first : int, optional
        How many devices to take, from the front of the file.

    Raises
    ------
    DataError
        If the file is something else, or says what cannot be.
    """
    table, wrong, begun = OnlineTable(), list[Fault](), float("inf")
    for name, text in _devices(file):
        if first is not None and len(table.devices) == first:
            break
        try:
            if not isinstance(text, dict) or "messages" not in text:
                raise ValueError("no messages")
            reported = _changes(str(text["messages"]))
        except ValueError as reason:
            wrong.append(Fault("", f"{reason} (device {show(name)})", _LINE))
            continue
        if len(reported) > 0:
            begun = min(begun, reported[0][0])
            table.add(name, _online(reported, needs), reported[-1][0] - reported[0][0])
    require_sound(wrong, file)
    if len(table.devices) == 0:
        raise refused(file, "no devices", _KIND)
    table.move(begun)
    block = f'availability = {{ kind = "intervals", path = "{out.name}" }}'
    return [
        *table.write(out),
        f"online means: {', '.join(sorted(needs))}",
        f"{block}  # for a scenario with owners.count = {len(table.devices)}",
    ]


def _changes(messages: str) -> list[tuple[float, str]]:
    """Return times (s since 1970) and states, in order of time.

    Raises
    ------
    ValueError
        With the line that is wrong.
    """
    matches = []
    for number, line in enumerate(messages.split("\n"), start=1):
        if line.strip() == "":
            continue
        when, _, state = line.strip().partition("\t")
        state = state.strip().lower()
        try:
            moment = datetime.fromisoformat(when.strip()).replace(tzinfo=None)
            if state not in SAYS and not state.endswith("%"):
                raise ValueError
        except ValueError:
            raise ValueError(f"message {number}, {line.strip()[:60]!r}") from None
        matches.append(((moment - _EPOCH).total_seconds(), state))
    return sorted(matches, key=lambda change: change[0])


_EPOCH = datetime(1970, 1, 1)  # as the phones' clocks have it


def _online(changes: list[tuple[float, str]], needs: Collection[str]) -> list[tuple[float, float]]:
    """Return when all that is needed holds; of states at one instant the last counts."""
    spans: list[tuple[float, float]] = []
    is_so = dict.fromkeys(NEEDS, False)
    since: float | None = None
    for place, (when, state) in enumerate(changes):
        is_so |= SAYS.get(state, ())
        last = place + 1 == len(changes)
        if not last and changes[place + 1][0] == when:
            continue
        online = all(is_so[need] for need in needs) and not last
        if online and since is None:
            since = when
        elif not online and since is not None:
            spans.append((since, when))
            since = None
    return spans


def _devices(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a JSON table one by one.

    Raises
    ------
    DataError
        If it is none.
    """
    decoder, before = json.JSONDecoder(), "its first device"
    try:
        with file.open(encoding="utf-8") as stream:
            text, at = stream.read(_CHUNK).lstrip("\ufeff \t\r\n"), 1
            if not text.startswith("{"):
                raise refused(file, "text that is no JSON table", _KIND)
            while True:
                try:
                    at = _past(text, at, " \t\r\n,")
                    if text[at] == "}":
                        break
                    name, end = decoder.raw_decode(text, at)
                    colon = _past(text, end, " \t\r\n")
                    if text[colon] != ":":
                        raise ValueError("a name without a value")
                    content, end = decoder.raw_decode(text, _past(text, colon + 1, " \t\r\n"))
                except (ValueError, IndexError, RecursionError):
                    more = stream.read(max(_CHUNK, len(text) - at))
                    if more == "":
                        raise refused(file, f"text that is not JSON at {before}", _KIND) from None
                    text, at = text[at:] + more, 0
                    continue
                # halves of letters, which no file can hold, are marked
                name = str(name).encode("utf-8", errors="replace").decode()
                yield name, content
                at, before = end, f"the device after {show(name)}"
            if (text[at + 1 :] + stream.read()).strip() != "":
                raise refused(file, "text behind the JSON table", _KIND)
    except (OSError, UnicodeDecodeError) as error:
        raise refused(file, repr(file.name), f"{unreadable(error)}; {_KIND}") from None


def _past(text: str, at: int, skipped: str) -> int:
    """Return the place of the next character that is not skipped."""
    while text[at] in skipped:
        at += 1
    return at
