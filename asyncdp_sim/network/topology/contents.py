"""Contents of a network's file: read once, checked row by row, named by its digest."""

import csv
import hashlib
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, Self

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.faults import show
from asyncdp_sim.spec import Spec

EXAMPLES = Path(__file__).parents[1] / "examples"
"""Small files, one of each kind that is read, for three owners."""
LONGEST = 1e9
"""Time units: what the integer clock can count."""
MOST_FAULTS = 10
"""A long file repeats its faults; this many are enough to tell."""

Row = tuple[int, tuple[str, ...]]
"""The number of a line in its file, and the cells asked for."""


class Remembering(Spec):
    """A spec that works something out once (``cached_property``); its copies do so anew."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy that remembers nothing of what this one has worked out."""
        twin = super().model_copy(update=update, deep=deep)
        for name in [name for name in twin.__dict__ if name not in type(self).model_fields]:
            del twin.__dict__[name]
        return twin


def text_of(path: str, key: str, allowed: str) -> tuple[str, str]:
    """Return a file's text and the SHA-256 digest of its bytes (64 hex digits).

    Parameters
    ----------
    path : str
        The file; UTF-8, with or without a byte order mark.
    key, allowed : str
        What a fault is reported at, and what it says may stand there.

    Raises
    ------
    SpecError
        If the file is missing, a directory, unreadable, empty or not UTF-8.
    """
    try:
        data = Path(path).read_bytes()
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        reason = "there is no such file"
    except IsADirectoryError:
        reason = "this is a directory"
    except UnicodeDecodeError:
        reason = "the file is not UTF-8 text"
    except (OSError, ValueError) as error:  # a folder that may not be entered; a null character
        reason = f"the file cannot be read ({getattr(error, 'strerror', None) or error})"
    else:
        if text.strip() != "":
            return text, hashlib.sha256(data).hexdigest()
        reason = "the file is empty"
    raise SpecError([Fault(key, repr(path), f"{reason}; {allowed}")])


def rows_of(
    text: str, columns: Sequence[str], name: str, key: str
) -> tuple[list[Row], list[tuple[int, Fault]]]:
    """Return the rows of a CSV, and what is wrong with its shape.

    Blank lines are passed over, and so are columns that nobody asked for.

    Parameters
    ----------
    text : str
        The CSV; its first line is the header.
    columns : sequence of str
        What to read from each row, wherever the column stands.
    name, key : str
        The file's name, and what a fault is reported at.

    Returns
    -------
    list of Row, list of (int, Fault)
        The rows that have as many cells as the header, and the faults by line.
    """
    reader = csv.reader(StringIO(text, newline=""))
    rows: list[Row] = []
    wrong: list[tuple[int, Fault]] = []
    try:
        header = [cell.strip() for cell in next(reader, [])]
        if any(header.count(column) != 1 for column in columns):
            given = f"the header {show(','.join(header))} ({name}, line 1)"
            allowed = f"allowed is a header with the columns {','.join(columns)}, once each"
            return [], [(1, Fault(key, given, allowed))]
        places = [header.index(column) for column in columns]
        for cells in reader:
            if all(cell.strip() == "" for cell in cells):
                continue
            if len(cells) != len(header):
                given = f"{len(cells)} values ({name}, line {reader.line_num})"
                allowed = f"allowed are {len(header)}, one per column"
                wrong.append((reader.line_num, Fault(key, given, allowed)))
            else:
                rows.append((reader.line_num, tuple(cells[place].strip() for place in places)))
    except csv.Error as error:
        given = f"a line that is not CSV: {error} ({name}, line {reader.line_num})"
        wrong.append((reader.line_num, Fault(key, given, "allowed is CSV text")))
    if len(rows) == 0 and len(wrong) == 0:
        given = f"no rows below the header ({name})"
        wrong.append((1, Fault(key, given, f"allowed is at least one row {','.join(columns)}")))
    return rows, wrong


def time_of(cell: str) -> float | None:
    """Return a time from 0 to 10⁹ (time units), or None where a cell holds no such number."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if 0 <= value <= LONGEST and "_" not in cell else None


def shortened(found: Sequence[Fault], name: str) -> list[Fault]:
    """Return the first faults of a file, and how many more there are."""
    more = len(found) - MOST_FAULTS
    if more <= 0:
        return list(found)
    rest = Fault(found[0].key, f"{more} more faults ({name})", f"the first {MOST_FAULTS} are shown")
    return [*found[:MOST_FAULTS], rest]
