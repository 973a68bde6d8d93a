"""Tables beside a page: which files a directory has, and what each of their columns holds."""

from dataclasses import dataclass
from pathlib import Path

from asyncdp_sim.columns import Column, tables
from asyncdp_sim.results import column_names


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
        if (directory / f"{name}.parquet").exists():
            present = column_names(directory, name)
            told = {column.name: column for column in table.columns}
            columns = tuple(told[each] for each in present if each in told)
            found.append(TableRows(f"{name}.parquet", table.meaning, columns))
    return found
