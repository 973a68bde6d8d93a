"""The tables of a result, read back: whole, or refused in one line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from asyncdp_sim.columns.arrow import from_arrow
from asyncdp_sim.on_disk import file_bytes
from asyncdp_sim.reading.refusal import not_a_result


def read_table(directory: Path, name: str) -> Any:
    """Return a table of a result as a pandas frame.

    Raises
    ------
    ResultError
        If it is not there or damaged.
    """
    try:
        return read_parquet(directory / f"{name}.parquet").to_pandas()
    except ValueError:
        raise not_a_result(directory, f"no readable {name}.parquet") from None


def read_columns(directory: Path, name: str, wanted: Sequence[str]) -> tuple[npt.NDArray[Any], ...]:
    """Return columns that a table of a result has, as arrays, without pandas.

    Raises
    ------
    ResultError
        If it is not there or damaged.
    """
    try:
        table = read_parquet(directory / f"{name}.parquet", wanted)
    except ValueError:
        raise not_a_result(directory, f"no readable {name}.parquet") from None
    return tuple(from_arrow(table[column]) for column in wanted)


def read_parquet(path: Path, wanted: Sequence[str] | None = None) -> Any:
    """Return a table of a result as pyarrow has it, or these of its columns.

    Raises
    ------
    ValueError
        If it is not there or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        columns = None if wanted is None else list(wanted)
        table = pq.ParquetFile(pa.BufferReader(file_bytes(path))).read(columns)
        table.validate(full=True)  # texts are decoded when they are used, if ever
        return table
    except (OSError, ValueError, pa.ArrowException) as error:  # names that are no text, too
        raise ValueError(str(error)) from None


def column_names(directory: Path, name: str) -> list[str]:
    """Return the names of the columns of a table of a result.

    Raises
    ------
    ResultError
        If it is not there or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = f"{name}.parquet"
    try:
        schema = pq.read_schema(pa.BufferReader(file_bytes(directory / file)))
        return [str(each) for each in schema.names]
    except (OSError, ValueError, pa.ArrowException):
        raise not_a_result(directory, f"no readable {file}") from None
