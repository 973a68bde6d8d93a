"""Logs of federated training: which client was sent the model, and when its answer arrived.

Read are tables with the columns client, sent and received, and the logs of NVFlare's server and of
Flower's SuperNodes.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from math import isfinite, nan
from pathlib import Path

import numpy as np

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.imports.around import refused, require_sound
from asyncdp_sim.imports.exchanges import KIND, MeasuredTrace, numbered, read_trace
from asyncdp_sim.network.table_file import LONGEST, columns_of, moment_of, text_of

COLUMNS = ("client", "sent", "received")
_TIMES = (
    "allowed are sent and then received (empty without an answer), all in seconds or all in "
    "ISO 8601 times"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CLOCK = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.,](\d{3,6})")
_NVFLARE = re.compile(
    r"assigned task to client (?P<to>.+?): name=(?P<task>\S+), id=(?P<id>\S+)"
    r"|got result from client (?P<by>.+?) for task: name=(?P<done>\S+), id=(?P<same>\S+)"
)
_FLOWER = re.compile(
    r"SuperNode ID: (?P<node>\S+)|Receiving: train\S* message|Sending: train\S* message"
    r"|(?P<message>Receiving|Sending): |Sent successfully"
)
_LOG = (
    f"{KIND}, or {','.join(COLUMNS)}; the log of NVFlare's server; or logs of Flower's SuperNodes, "
    "one after the other, started with FLWR_LOG_LEVEL=DEBUG"
)

_Row = tuple[str, float, float, float]
"""A client, and the seconds at which it was sent the model, answered, and was received."""


def read_measured(file: Path) -> MeasuredTrace:
    """Read measured exchanges from a table or a log.

    Raises
    ------
    DataError
        With the lines that are wrong.
    """
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        try:
            header = ",".join(pq.read_schema(file).names)
        except (OSError, ValueError):  # read_trace says what is wrong
            header = ""
        return _table(file) if "client" in header.split(",") else read_trace(file)
    text, _ = text_of(str(file), "", _LOG)
    lines = _COLOUR.sub("", text).splitlines()
    if "," in lines[0] and _CLOCK.search(lines[0]) is None:
        names = [cell.strip() for cell in lines[0].split(",")]
        return _table(file) if "client" in names else read_trace(file)
    if any(_NVFLARE.search(line) for line in lines):
        return _exchanges(list(_nvflare(lines, file.name)), file, "task named train")
    if any("SuperNode ID: " in line for line in lines):
        return _exchanges(list(_flower(lines, file.name)), file, "train message")
    if _CLOCK.search(lines[0]) is None:
        return read_trace(file)
    problem = f"a log without clients: {lines[0][:60]!r} ({file.name}, line 1)"
    raise refused(file, problem, _LOG)


def _table(file: Path) -> MeasuredTrace:
    """Read the columns client, sent and received."""
    columns = columns_of(str(file), COLUMNS, "", _LOG)
    wrong, rows, forms = list(columns.wrong), list[_Row](), set[bool]()
    cells = zip(*(columns.cells[name] for name in COLUMNS), strict=True)
    for line, (client, *stood) in zip(columns.lines, cells, strict=True):
        times = [_seconds(cell) for cell in stood]
        forms |= {form for _, form in times if form is not None}
        (sent, known), (received, _) = times
        empty = stood[1] in ("", "nan")
        if client == "" or known is None or len(forms) > 1 or not (empty or received >= sent):
            where = f"{file.name}, {columns.place} {line}"
            problem = f"{','.join((client, *stood))} ({where})"
            wrong.append((line, Fault("", problem, _TIMES)))
        rows.append((client, sent, received, received))
    require_sound([fault for _, fault in sorted(wrong, key=lambda pair: pair[0])], file)
    return _exchanges(rows, file, "row")


def _seconds(cell: str) -> tuple[float, bool | None]:
    """Return seconds and whether they were an ISO time; NaN and None of a cell without a time."""
    moment = moment_of(cell)
    if moment is not None:
        return moment[0] / 1e6, True
    try:
        value = float(cell)
    except ValueError:
        return nan, None
    return (value, False) if isfinite(value) else (nan, None)


def _time(line: str, place: int, name: str) -> float:
    """Return when a line was logged, in seconds.

    Raises
    ------
    DataError
        If the line has no time.
    """
    found = _CLOCK.search(line)
    try:
        moment = datetime.fromisoformat("{}T{}.{}+00:00".format(*found.groups() if found else ""))
    except (ValueError, IndexError):
        problem = f"no time: {line.strip()[:60]!r} ({name}, line {place})"
        rule = "allowed are lines with a time (Flower: FLWR_LOG_LEVEL=DEBUG)"
        raise DataError([Fault("", problem, rule)]) from None
    return moment.timestamp()


def _nvflare(lines: list[str], name: str) -> Iterator[_Row]:
    """Yield training tasks from the log of NVFlare's server."""
    sent: dict[tuple[str, str], float] = {}
    for place, line in enumerate(lines, start=1):
        found = _NVFLARE.search(line)
        if found is None or "train" not in (found["task"], found["done"]):
            continue
        time = _time(line, place, name)
        if found["to"] is not None:
            sent.setdefault((found["to"], found["id"]), time)
        elif (found["by"], found["same"]) in sent:
            received = max(time, start := sent.pop((found["by"], found["same"])))
            yield found["by"], start, received, received
    for (client, _), start in sent.items():
        yield client, start, nan, nan


def _flower(lines: list[str], name: str) -> Iterator[_Row]:
    """Yield training messages from logs of Flower's SuperNodes, which work on one at a time."""
    node, sent, answered = "", nan, nan
    for place, line in enumerate(lines, start=1):
        found = _FLOWER.search(line)
        if found is None:
            continue
        step = found[0]
        if step.startswith(("SuperNode", "Receiving: train")) and not np.isnan(sent):
            yield node, sent, nan, nan
            sent = answered = nan
        if found["node"] is not None:
            node = found["node"]
        elif step.startswith("Receiving: train"):
            sent = _time(line, place, name)
        elif step.startswith("Sending: train"):
            answered = _time(line, place, name)
        elif step == "Sent successfully" and not np.isnan(sent + answered):
            yield node, sent, answered, _time(line, place, name)
            sent = answered = nan
    if not np.isnan(sent):
        yield node, sent, nan, nan


def _exchanges(rows: list[_Row], file: Path, unit: str) -> MeasuredTrace:
    """Return exchanges, in seconds after the first; a model is read when it is sent."""
    if len(rows) == 0:
        raise refused(file, f"no {unit} ({file.name})", _LOG)
    names, owner = numbered([client for client, *_ in rows])
    times = np.array([row[1:] for row in rows], np.float64)
    times -= times[:, 0].min()
    if np.nanmax(times) > LONGEST:
        problem = f"{np.nanmax(times):g} s between first and last ({file.name})"
        raise refused(file, problem, f"allowed are at most {LONGEST:g} s")
    order = np.argsort(times[:, 0], kind="stable")
    sent, release, end = times[order].T
    return MeasuredTrace(names, owner[order], sent, sent, release, end)
