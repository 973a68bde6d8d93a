"""Tables beside a page: which files a directory has, and what each of their columns holds."""

from dataclasses import dataclass
from pathlib import Path

from asyncdp_sim.columns import Column, tables


@dataclass(frozen=True)
class TableRows:
    """A table that is there, and those of its columns that are."""

    file: str
    meaning: str
    columns: tuple[Column, ...]


def tables_of(directory: Path) -> list[TableRows]:
    """Return the tables of a directory with the columns that they have, in the files' order."""
    found = []
    for name, table in tables().items():
        path = directory / f"{name}.parquet"
        if path.is_file():
            present = _columns(path)
            told = {column.name: column for column in table.columns}
            columns = tuple(told[each] for each in present if each in told)
            found.append(TableRows(f"{name}.parquet", table.meaning, columns))
    return found


def _columns(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    return [str(name) for name in pq.read_schema(path).names]
