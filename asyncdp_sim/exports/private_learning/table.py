"""The client's own table, read as the plan says: codes, scales and bounds are of public rows.

The client must trust this file with its rows; none of them leaves it but through ``owner.py``.
What a cell becomes depends on that cell and the plan alone, never on another private row. Every
cell is read: what is no number, code or text is missing, however long or broken it is.
"""

import csv
import json
import math
import re
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

PUBLIC = Path(__file__).with_name("public.json")
"""The plan's public rows, for runs on one machine."""
LARGEST = 1e50
csv.field_size_limit(2**31 - 1)  # a cell may be as long as a file
_MARKED = re.compile(r"""\A\s*(?:="([-+]?[\d.,]+)"|'([-+]?[\d.,]+))\s*\Z""")
_MARKS = str.maketrans("٫٬．，－＋％", ".'.,-+%")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(?:\.\d{3})+\s*")
_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[-+]\d\d:?\d\d)?)?")
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")


class TableError(Exception):
    """The table as a whole is not the plan's; its text is for the owner alone."""


def read(path: str, owner: dict, data: dict) -> tuple[np.ndarray, np.ndarray, int]:
    """Return features (n, p), targets (n,), and how many records are void: those are all 0."""
    held_out, columns = set(owner["held_out"]), data["columns"]
    rows = [row for place, row in enumerate(texts(path, owner, data)) if place not in held_out]
    if len(rows) != owner["records"]:
        raise TableError(f"the table has {len(rows)} records, the plan {owner['records']}")
    x = np.array([[v for name in columns for v in _coded(row, name, data)] for row in rows], float)
    y = np.array([_coded(row, data["target"], data)[0] for row in rows], float)
    with np.errstate(over="ignore", invalid="ignore"):
        if data["matrix"] is not None:
            x = x @ np.array(data["matrix"]) - np.array(data["shift"])
        y = y - data["target_shift"]
        if data["ones"]:  # a feature of the preprocessing that is 1; the domain confines it too
            x = np.column_stack([x, np.ones(len(x))])
        void = ~(np.abs(y) <= LARGEST) | ~(np.abs(x) <= LARGEST).all(axis=1)  # so is NaN
    if data["labels"] is not None:
        void |= ~np.isin(y, data["labels"])
    x, y = np.where(void[:, None], 0.0, x), np.where(void, 0.0, y)
    if data["domain"] is not None:
        length = np.linalg.norm(x, ord=data["domain"]["order"], axis=1)
        most, target = data["domain"]["row_norm"], data["domain"]["target_max"]
        x = x * (most / np.maximum(length, most))[:, None]
        y = np.clip(y, -target, target)
    if data["append_one"]:  # the model's intercept, outside of the domain; void rows stay 0
        x = np.column_stack([x, np.where(void, 0.0, 1.0)])
    return x, y, int(void.sum())


def texts(path: str, owner: dict, data: dict) -> list[dict]:
    """Return the owner's rows in order, as texts by column."""
    count = owner["records"] + len(owner["held_out"])
    if path == str(PUBLIC):  # which are fewer: they are taken over and over
        public = json.loads(PUBLIC.read_text(encoding="utf-8"))
        return [public[place % len(public)] for place in range(count)]
    # This codec drops a byte order mark, and reads files without one too.
    charset = "utf-8-sig" if data["charset"] == "utf-8" else data["charset"]
    with open(path, encoding=charset, errors="replace", newline="") as file:
        for _ in range(data["skip"]):
            file.readline()
        lines = csv.DictReader(file, delimiter=data["separator"], restval="")
        names, rows = lines.fieldnames or [], list(lines)
    for column in (*data["columns"], data["target"]):
        if names.count(column["name"]) != 1:
            raise TableError(f"{names.count(column['name'])} columns are {column['name']!r}, not 1")
    if data["owner_column"] in names:  # a table of several owners
        rows = [row for row in rows if row[data["owner_column"]] == owner["name"]]
    return rows[:count] if data["first_rows"] else rows


def _coded(row: dict, column: dict, data: dict) -> list[float | None]:
    """Return the numbers that a row's cell becomes; of an unknown target that is None."""
    text, unknown = row[column["name"]], column["unknown"]
    if text == "" or text.strip().lower() in data["missing"][column["name"]]:
        return unknown
    if column["codes"] is not None:
        return column["codes"].get(folded(text) if column["folded"] else text, unknown)
    kind, value = read_number(text, data["decimal"])
    return [value] if kind in column["kinds"] and math.isfinite(value) else unknown


def read_number(text: str, decimal: str = ".") -> tuple[str, float]:
    """Return the kind of a cell and its number; "" and NaN if it is no number.

    Kinds are "number"; "truth" (true is 1, false 0); "time", in days (12:00 is 0.5); and "date", in
    days since 1970. With a decimal comma, 1.234 is no number, since it may mean 1234.
    """
    text = _MARKED.sub(r"\1\2", text)  # a spreadsheet's marks of a text, as in ="12" and '12
    text = "".join(str(unicodedata.decimal(sign, sign)) for sign in text).translate(_MARKS)
    if decimal == "," and _THOUSANDS.fullmatch(text):
        return "", math.nan
    if decimal == "," and _COMMA.fullmatch(text.strip()):
        text = text.replace(",", ".")
    value, word = _decimal(text), text.strip()
    if not math.isnan(value):
        return "number", value
    if word.lower() in ("true", "false"):
        return "truth", float(word.lower() == "true")
    if (time := _TIME.fullmatch(word)) is not None:
        parts = zip(time.groups(), (24, 1440, 86_400), strict=True)
        return "time", sum(float(part or 0) / unit for part, unit in parts)
    try:
        when = datetime.fromisoformat(word if _DATE.fullmatch(word) else "")
    except ValueError:  # no date, or such as a 13th month
        return "", math.nan
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return "date", math.floor((when - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) / 86_400


def _decimal(text: str) -> float:
    try:
        return float(text) if "_" not in text and text.isascii() else math.nan
    except ValueError:
        return math.nan


def folded(text: str) -> str:
    """Return what spellings of a class have in common: blanks, capitals; 1, 1.0 and 1,0 are one."""
    word = re.sub(r"(?<=\d),00?$", "", text.strip().casefold())
    return f"{value:.15g}" if math.isfinite(value := _decimal(word)) else text.strip().casefold()
