"""Result directories as tests look into them, and tables of which a number is moved."""

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def manifest(directory: Path | str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(directory, "manifest.json").read_bytes())
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def move_number(file: Path | str, column: str, row: int, by: float | None = None) -> None:
    """Add to a number of a table; without saying how much, it is moved by its last bit."""
    table = pq.read_table(file)
    values = table[column].to_pylist()
    values[row] = math.nextafter(values[row], math.inf) if by is None else values[row] + by
    place, kind = table.column_names.index(column), table.schema.field(column)
    pq.write_table(table.set_column(place, kind, pa.array(values, kind.type)), file)
