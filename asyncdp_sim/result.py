"""The result directory, in and out. Files appear whole or not at all."""

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, ResultError
from asyncdp_sim.scenario import Scenario, dump, jsonable
from asyncdp_sim.trace import Detail, EventKind, Trace
from asyncdp_sim.units import to_units

Columns = Mapping[str, Any]


def require_free(directory: Path) -> None:
    """Raise if a result cannot be written here.

    Raises
    ------
    ResultError
        If something stands there already, or the place cannot be written to.
    """
    try:
        if os.path.lexists(directory):
            allowed = "allowed is a directory that does not exist yet: name another with --out"
            raise ResultError([Fault("--out", "an existing path", allowed)], str(directory))
        parent = next(p for p in directory.absolute().parents if os.path.lexists(p))
        os.lstat(parent / f".partial-{directory.name}.tmp")  # is the name too long, say?
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise _unwritable(directory, error) from None
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        said = "not a directory" if not parent.is_dir() else "not writable"
        raise _unwritable(directory, OSError(0, f"{parent} is {said}"))


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
        require_free(directory)
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
        try:
            require_free(self.directory)
            os.rename(self._partial, self.directory)
        except OSError as error:
            raise _unwritable(self.directory, error) from None
        finally:
            shutil.rmtree(self._partial, ignore_errors=True)

    def text(self, name: str, text: str) -> None:
        """Write a text file."""
        write_into(self._partial, name, text)

    def json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON file."""
        write_into(self._partial, name, value)

    def table(self, name: str, columns: Columns) -> None:
        """Write a Parquet table of NumPy or Arrow columns."""
        write_into(self._partial, name, columns)

    def stream(self, name: str, fill: Callable[[TextIO], None]) -> None:
        """Write a text file piece by piece."""
        with (self._partial / f"{name}.tmp").open("w", encoding="utf-8", newline="\n") as file:
            fill(file)
        os.rename(self._partial / f"{name}.tmp", self._partial / name)

    def scenario(self, scenario: Scenario) -> None:
        """Write ``scenario.toml``, with a data path that loads from where the file will lie."""
        self.text("scenario.toml", dump(scenario, self.directory))


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
    """Return ``updates``: one row per answer used, sorted by replicate and k.

    ``peer`` is there where models were read from others than the one learner.
    """
    tables = [trace.updates for trace in traces]
    joined = np.concatenate(tables)
    columns: dict[str, Any] = {
        "replicate": _repeat(numbers, tables),
        "k": joined["k"],
        "tick": joined["tick"],
        "time": to_units(joined["tick"]),
        "owner": joined["owner"],
        "read_tick": joined["read_tick"],
        "staleness": joined["staleness"],
        "message": joined["message"],
    }
    if np.any(joined["peer"] != 0):
        columns["peer"] = joined["peer"]
    return columns


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
            pa.array(joined["detail"], mask=joined["detail"] == 0),
            pa.array([detail.name.replace("_", "-") for detail in Detail]),
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


def alone_columns(theta: npt.NDArray[np.float64]) -> Columns:
    """Return ``alone``: each owner's own optimum θ_i*, shape (N, p), sorted by owner."""
    n_owners, n_features = theta.shape
    return {
        "owner": np.repeat(np.arange(1, n_owners + 1, dtype=np.int32), n_features),
        "coordinate": np.tile(np.arange(n_features, dtype=np.int32), n_owners),
        "theta": theta.reshape(-1),
    }


def summary_column(name: str, values: Sequence[Any]) -> Any:
    """Return a column of the sweep's ``cells`` from a figure of the cells' summaries."""
    import pyarrow as pa

    yes_or_no = ("private", "bound_exceeded", "timing_accounted", "not_for_release")
    if name in yes_or_no:
        return pa.array(values, pa.bool_())
    if name.endswith(".reason"):
        return pa.array(values, pa.string())
    counts = ("updates", "clip_count", "profits_psi", "profits_held_out", "psi_split.repetitions")
    whole = pa.int64() if name in counts else pa.float64()
    return pa.array([None if value is None else float(value) for value in values]).cast(whole)


def swept_column(values: Sequence[Any]) -> Any:
    """Return a column of swept values: as they are where all are alike, else as JSON texts."""
    import pyarrow as pa

    if all(isinstance(value, str) for value in values):
        return pa.array(values)
    if all(type(value) is bool for value in values):
        return pa.array(values, pa.bool_())
    if all(type(value) is int and abs(value) < 2**63 for value in values):
        return pa.array(values, pa.int64())
    if all(type(value) in (int, float) for value in values):
        return pa.array([float(value) for value in values])
    return pa.array([json.dumps(jsonable(value)) for value in values])


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
        If there is none or it is damaged.
    """
    try:
        manifest = json.loads((directory / "manifest.json").read_bytes())
    except (OSError, ValueError):
        raise _not_a_result(directory, "no readable manifest.json") from None
    tables = ("scenario", "versions", "fingerprints")
    wanted = {"digest", "seed", "warnings", *tables, *needed}
    if "summary" in needed:
        wanted |= {"events", "replicates"}
    if not isinstance(manifest, dict) or not wanted <= manifest.keys():
        raise _not_a_result(directory, "a damaged manifest.json")
    if not all(isinstance(manifest[key], dict) for key in tables):
        raise _not_a_result(directory, "a damaged manifest.json")
    return manifest


def _repeat(numbers: Sequence[int], tables: Sequence[npt.NDArray[np.void]]) -> Any:
    lengths = [len(table) for table in tables]
    return np.repeat(np.array(numbers, dtype=np.int32), lengths)


def _not_a_result(directory: Path, given: str) -> ResultError:
    return ResultError([Fault("", given, "allowed is a result directory")], str(directory))


def _unwritable(directory: Path, error: OSError | ValueError) -> ResultError:
    allowed = "allowed is a place that can be written to"
    said = getattr(error, "strerror", None) or str(error)
    return ResultError([Fault("--out", said, allowed)], str(directory))
