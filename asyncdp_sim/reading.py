"""The tables and the manifest of a result, read back: whole, or refused in one line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from asyncdp_sim.columns.arrow import from_arrow
from asyncdp_sim.errors import Fault, ResultError
from asyncdp_sim.on_disk import file_bytes, from_json

SCHEMA = 1
"""Version of the format of results."""

_TABLES = ("scenario", "versions", "fingerprints")
_INFINITE = ("inf", "-inf")  # as JSON has them
_OF_KINDS = ("algorithm", "availability", "channel", "clock", "data", "model", "protocol")
"""Sections of a scenario that say which kind they are."""
_OF_RUNS = ("summary", "events", "replicates")


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
        raise _refused(directory, f"no readable {name}.parquet") from None


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
        raise _refused(directory, f"no readable {name}.parquet") from None
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
        raise _refused(directory, f"no readable {file}") from None


def read_manifest(directory: Path, *needed: str) -> dict[str, Any]:
    """Return the manifest of a result or a sweep.

    Parameters
    ----------
    directory : Path
    needed : str
        Keys that it must have besides those that every manifest has.

    Raises
    ------
    ResultError
        If there is none, or it is damaged or of another version of the format.
    """
    try:
        manifest = from_json(file_bytes(directory / "manifest.json"))
    except (OSError, ValueError):
        raise _refused(directory, "no readable manifest.json") from None
    wanted = {"schema", "digest", "seed", "warnings", *_TABLES, *needed}
    wanted |= set(_OF_RUNS) if "summary" in needed else set()
    if not isinstance(manifest, dict) or not wanted <= manifest.keys() or not _whole(manifest):
        raise _refused(directory, "a damaged manifest.json")
    if manifest["schema"] != SCHEMA:
        raise _refused(directory, f"a result of schema {manifest['schema']}", f"one of {SCHEMA}")
    return manifest


def _whole(manifest: Mapping[str, Any]) -> bool:
    """Return whether the parts of a manifest are what they should be."""
    summary, warnings = manifest.get("summary", {}), manifest["warnings"]
    return (
        all(isinstance(manifest[key], dict) for key in _TABLES)
        and all(map(_says_its_kind, _sections(manifest["scenario"])))
        and isinstance(warnings, list)
        and all(isinstance(line, str) for line in warnings)
        and isinstance(summary, dict)
        and all(map(_a_number_or_more, summary.values()))
    )


def _sections(scenario: Mapping[str, Any]) -> list[Any]:
    return [scenario[section] for section in _OF_KINDS if section in scenario]


def _says_its_kind(section: Any) -> bool:
    return isinstance(section, dict) and isinstance(section.get("kind"), str)


def _a_number_or_more(value: Any) -> bool:
    """Return whether a figure is a number, a truth, unknown, or several of them."""
    return value is None or isinstance(value, int | float | list | dict) or value in _INFINITE


def _refused(directory: Path, given: str, allowed: str = "a result directory") -> ResultError:
    return ResultError([Fault("", given, f"allowed is {allowed}")], str(directory))
