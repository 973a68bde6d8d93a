"""The result directory, in and out. Files appear whole or not at all."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, ResultError
from asyncdp_sim.scenario import Scenario, data_path_from, dump, jsonable
from asyncdp_sim.trace import EventKind, Trace
from asyncdp_sim.units import to_units

Columns = Mapping[str, Any]


def refuse_existing(directory: Path) -> None:
    """Raise if something stands where a result is to be written.

    Raises
    ------
    ResultError
        If the path exists.
    """
    if directory.exists():
        allowed = "allowed is a directory that does not exist yet: name another with --out"
        raise ResultError([Fault("--out", "an existing path", allowed)], str(directory))


class Writer:
    """Builds a directory beside its final place and renames it there when all is written.

    Use as a context manager; what is written inside appears at :meth:`__exit__`, or not at all.

    Parameters
    ----------
    directory : Path
        Where the result is to appear; must not exist.

    Raises
    ------
    ResultError
        If the path exists or cannot be written.
    """

    def __init__(self, directory: Path) -> None:
        refuse_existing(directory)
        self.directory = directory
        self._partial = directory.with_name(f".partial-{directory.name}")

    def __enter__(self) -> "Writer":
        try:
            shutil.rmtree(self._partial, ignore_errors=True)
            self._partial.mkdir(parents=True)
        except OSError as error:
            raise _unwritable(self.directory, error) from None
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            shutil.rmtree(self._partial, ignore_errors=True)
            return
        refuse_existing(self.directory)
        os.rename(self._partial, self.directory)

    def text(self, name: str, text: str) -> None:
        """Write a text file."""
        write_into(self._partial, name, text)

    def json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON file."""
        write_into(self._partial, name, value)

    def table(self, name: str, columns: Columns) -> None:
        """Write a Parquet table of NumPy or Arrow columns."""
        write_into(self._partial, name, columns)

    def scenario(self, scenario: Scenario) -> None:
        """Write ``scenario.toml``, with a data path that loads from where the file will lie."""
        self.text("scenario.toml", dump(scenario, data_path_from(scenario, self.directory)))


def write_into(directory: Path, name: str, content: str | Mapping[str, Any]) -> None:
    """Write one file, whole or not at all: as ``name.tmp``, synchronised, then renamed.

    Parameters
    ----------
    directory : Path
        Must exist.
    name : str
        ``.parquet`` takes columns, ``.json`` a mapping (infinities become the text "inf");
        in both NaN becomes null. Anything else takes text.
    content : str or mapping

    Raises
    ------
    ResultError
        If it cannot be written.
    """
    unfinished = directory / f"{name}.tmp"
    try:
        if name.endswith(".parquet"):
            import pyarrow as pa
            import pyarrow.parquet as pq

            columns = {
                key: pa.array(value, from_pandas=True) if isinstance(value, np.ndarray) else value
                for key, value in content.items()  # type: ignore[union-attr]
            }
            pq.write_table(pa.table(columns), unfinished, compression="zstd")
        elif name.endswith(".json"):
            text = json.dumps(jsonable(content), indent=2, ensure_ascii=False)
            unfinished.write_text(text + "\n", encoding="utf-8")
        else:
            unfinished.write_text(str(content), encoding="utf-8")
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.rename(directory / name)
    except OSError as error:
        raise _unwritable(directory, error) from None


def update_columns(traces: Sequence[Trace], numbers: Sequence[int]) -> Columns:
    """Return ``updates``: one row per answer used, sorted by replicate and k."""
    tables = [trace.updates for trace in traces]
    joined = np.concatenate(tables)
    return {
        "replicate": _repeat(numbers, tables),
        "k": np.concatenate([np.arange(1, len(t) + 1, dtype=np.int32) for t in tables]),
        "tick": joined["tick"],
        "time": to_units(joined["tick"]),
        "owner": joined["owner"],
        "read_tick": joined["read_tick"],
        "staleness": joined["staleness"],
        "message": joined["message"],
    }


def event_columns(traces: Sequence[Trace], numbers: Sequence[int]) -> Columns:
    """Return ``events``: one row per event, sorted by replicate and seq."""
    import pyarrow as pa

    tables = [trace.events for trace in traces if trace.events is not None]
    joined = np.concatenate(tables)
    message, attempt = joined["message"], joined["attempt"]
    kinds = pa.array([kind.name for kind in EventKind])
    return {
        "replicate": _repeat(numbers, tables),
        "seq": np.concatenate([np.arange(len(t), dtype=np.int64) for t in tables]),
        "tick": joined["tick"],
        "time": to_units(joined["tick"]),
        "kind": pa.DictionaryArray.from_arrays(pa.array(joined["kind"]), kinds),
        "owner": joined["owner"],
        "message": pa.array(message, mask=message == 0),
        "attempt": pa.array(attempt, mask=attempt == 0),
        "detail": pa.DictionaryArray.from_arrays(
            pa.nulls(len(joined), pa.int8()), pa.array([], pa.string())
        ),
    }


def model_columns(models: npt.NDArray[np.float64], numbers: Sequence[int]) -> Columns:
    """Return ``models``: the final central model of every replicate, shape (R, p)."""
    n_features = models.shape[1]
    return {
        "replicate": np.repeat(np.array(numbers, dtype=np.int32), n_features),
        "coordinate": np.tile(np.arange(n_features, dtype=np.int32), len(models)),
        "theta_L": models.reshape(-1),
    }


def optimum_columns(theta: npt.NDArray[np.float64]) -> Columns:
    """Return ``optimum``: θ*, shape (p,)."""
    return {"coordinate": np.arange(len(theta), dtype=np.int32), "theta": theta}


def read_table(directory: Path, name: str) -> Any:
    """Return a table of a result as a pandas frame.

    Raises
    ------
    ResultError
        If it is not there or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(directory / f"{name}.parquet").to_pandas()
    except (OSError, pa.ArrowInvalid):
        raise _not_a_result(directory, f"no readable {name}.parquet") from None


def read_manifest(directory: Path) -> dict[str, Any]:
    """Return the manifest of a result.

    Raises
    ------
    ResultError
        If there is none or it is damaged.
    """
    try:
        manifest: dict[str, Any] = json.loads((directory / "manifest.json").read_bytes())
    except (OSError, ValueError):
        raise _not_a_result(directory, "no readable manifest.json") from None
    return manifest


def _repeat(numbers: Sequence[int], tables: Sequence[npt.NDArray[np.void]]) -> Any:
    lengths = [len(table) for table in tables]
    return np.repeat(np.array(numbers, dtype=np.int32), lengths)


def _not_a_result(directory: Path, given: str) -> ResultError:
    return ResultError([Fault("", given, "allowed is a result directory")], str(directory))


def _unwritable(directory: Path, error: OSError) -> ResultError:
    allowed = "allowed is a place that can be written to"
    return ResultError([Fault("--out", str(error.strerror or error), allowed)], str(directory))
