"""The client's own table, read as the plan says: codes, scales and bounds are of public rows.

The client must trust this file with its rows; none of them leaves it but through ``owner.py``.
What a cell becomes depends on that cell and the plan alone, never on another private row.
"""

import csv
import math
import re
from datetime import UTC, datetime

import numpy as np

LARGEST = 1e50
_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[-+]\d\d:?\d\d)?)?")
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")


def read(path: str, owner: dict, data: dict) -> tuple[np.ndarray, np.ndarray]:
    """Return the owner's features (n, p) and targets (n,); records without a target are 0.

    Raises
    ------
    ValueError
        If a column is not there, or the table has other than n_i records.
    """
    rows = _rows(path, owner, data)
    kept = set(owner["held_out"])
    rows = [row for place, row in enumerate(rows) if place not in kept]
    if len(rows) != owner["records"]:
        raise ValueError(f"the table has {len(rows)} records, the plan {owner['records']}")
    columns = [part for column in data["columns"] for part in _coded(rows, column, data)]
    x = np.array(columns).T.reshape(len(rows), -1)
    [y] = _coded(rows, data["target"], data)
    with np.errstate(over="ignore", invalid="ignore"):
        if data["matrix"] is not None:
            matrix = np.array(data["matrix"])
            shift = 0.0 if data["shift"] is None else np.array(data["shift"]) @ matrix
            x = x @ matrix - shift
        y = y - data["target_shift"]
        if data["ones"]:
            x = np.column_stack([x, np.ones(len(x))])
        void = np.isnan(y) | ~(np.abs(y) <= LARGEST) | ~(np.abs(x) <= LARGEST).all(axis=1)
    if data["labels"] is not None:
        void |= ~np.isin(y, data["labels"])
    x, y = np.where(void[:, None], 0.0, x), np.where(void, 0.0, y)
    if data["domain"] is not None:
        length = np.linalg.norm(x, ord=data["domain"]["order"], axis=1)
        most, target = data["domain"]["row_norm"], data["domain"]["target_max"]
        x = x * (most / np.maximum(length, most))[:, None]
        y = np.clip(y, -target, target)
    if data["append_one"]:
        x = np.column_stack([x, np.where(void, 0.0, 1.0)])
    return x, y


def _rows(path: str, owner: dict, data: dict) -> list[dict]:
    """Return the owner's rows in order, as texts by column, None where a cell is missing."""
    with open(path, encoding=data["charset"].replace("utf-8", "utf-8-sig"), newline="") as file:
        for _ in range(data["skip"]):
            file.readline()
        lines = csv.reader(file, delimiter=data["separator"], strict=True)
        names, rows = next(lines), []
        needed = {column["name"] for column in (*data["columns"], data["target"])}
        if not needed <= set(names):
            raise ValueError(f"the table has no column {min(needed - set(names))!r}")
        for line in filter(None, lines):
            cells = dict(zip(names, line, strict=False))
            if data["owner_column"] in names and cells.get(data["owner_column"]) != owner["name"]:
                continue  # a table of several owners
            rows.append({name: _present(cells.get(name, ""), data) for name in needed})
    return rows[: owner["records"] + len(owner["held_out"])] if data["first_rows"] else rows


def _present(text: str, data: dict) -> str | None:
    return None if text == "" or text.strip().lower() in data["missing"] else text


def _coded(rows: list[dict], column: dict, data: dict) -> list[np.ndarray]:
    """Return the numbers that a column becomes."""
    texts, unknown = [row[column["name"]] for row in rows], column.get("unknown", math.nan)
    if column["kind"] == "one-hot":
        return [np.array([float(text == value) for text in texts]) for value in column["values"]]
    if column["kind"] == "number":
        read_cell = lambda text: number(text, data["decimal"])  # noqa: E731
    elif column["kind"] == "ordinal":
        read_cell = {value: float(j) for j, value in enumerate(column["order"])}.get
    else:
        read_cell = lambda text: column["labels"].get(_spelled(text).strip())  # noqa: E731
    values = [math.nan if text is None else read_cell(text) for text in texts]
    values = [math.nan if value is None else value for value in values]
    return [np.array([value if math.isfinite(value) else unknown for value in values])]


def number(text: str, decimal: str = ".") -> float:
    """Return a cell's number: true is 1, a date its days since 1970, 12:00 is 0.5; else NaN."""
    word = text.strip()
    if decimal == "," and _COMMA.fullmatch(word):
        word = word.replace(",", ".")
    if "_" not in word and word.isascii():
        try:
            return float(word)
        except ValueError:
            pass
    if word.lower() in ("true", "false"):
        return float(word.lower() == "true")
    time = _TIME.fullmatch(word)
    if time is not None:
        parts = zip(time.groups(), (24, 1440, 86_400), strict=True)
        return sum(float(part or 0) / unit for part, unit in parts)
    try:
        when = datetime.fromisoformat(word) if _DATE.fullmatch(word) else None
    except ValueError:  # such as a 13th month
        when = None
    if when is None:
        return math.nan
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return math.floor((when - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) / 86_400


def _spelled(text: str) -> str:
    """Return a class's name, where 1 and 1.0 are one."""
    try:
        value = float(text) if "_" not in text and text.isascii() else math.nan
    except ValueError:
        return text
    if not math.isfinite(value):
        return text
    return f"{value + 0.0:.0f}" if value.is_integer() else repr(value)
