"""The fingerprint of a cell of an entry: what a small run of it writes, digested in layers.

Cut are amounts alone: updates, replicates, records, the distance between rows of the curve. Owners,
clocks, channel, protocol, algorithm, privacy and whether learning is live or replayed stay the
entry's own. Digested is what users are promised: the columns of a result's tables by their names,
types and values, and the numbers of its manifest; no file's bytes, no text, version or path.
"""

import hashlib
import json
from collections.abc import Iterator
from math import isqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario import Scenario, parse
from scenarios import entry
from tests import tables

CELLS = 8
"""Cells of an entry at most."""
MOST = {"updates": 60, "replicates": 2, "record_every": 10}
PUBLIC_RECORDS = 400
DIGITS = 16
"""Of a digest."""
LAYERS = tables.table(__file__, "fingerprint.toml")
"""Which layer a table is of, but for columns whose names put them elsewhere."""
Fingerprint = dict[str, str]


def cells(name: str) -> list[int]:
    """Return the numbers of an entry's cells that are run, evenly chosen; 0 without a sweep."""
    n_cells = sum(1 for _ in entry(name).scenario().grid()) or 1
    return [round(place) for place in np.linspace(0, n_cells - 1, min(CELLS, n_cells))]


def small(name: str, cell: int) -> Scenario:
    """Return an entry's cell with little to do."""
    scenario = entry(name).scenario()
    grid = list(scenario.grid()) or [{}]
    raw = scenario.cell(grid[cell]).plain()
    raw["run"] |= {key: min(raw["run"][key], most) for key, most in MOST.items()}
    if "records" in raw["owners"]:
        raw["owners"]["records"] = fewer(raw["owners"]["records"])
    if "public_records" in raw["data"]:
        raw["data"]["public_records"] = min(raw["data"]["public_records"], PUBLIC_RECORDS)
    return parse(Scenario, raw)


def fewer(records: Any) -> Any:
    """Return fewer records, of all owners or of each; who has the most keeps the most."""
    if isinstance(records, list):
        return [fewer(each) for each in records]
    return min(records, 100 + isqrt(records))


def recorded(name: str, cell: int) -> Fingerprint:
    """Return the digests of an entry's cell, or under ``refused`` why it does not run."""
    try:
        return fingerprint(small(name, cell))
    except Exception as error:  # the other cells are compared all the same
        return {"refused": f"{type(error).__name__}: {error}"}


def fingerprint(scenario: Scenario) -> Fingerprint:
    """Return the digests of a scenario by layer."""
    with threadpool_limits(1):  # a sum split over another number of threads has other bits
        return of_run(scenario)


def of_run(scenario: Scenario, *, events: bool = True) -> Fingerprint:
    """Return the digests of what a run writes, every event included if asked."""
    with TemporaryDirectory() as temporary:
        directory = Path(temporary) / "result"
        write(run(scenario, events=events), directory)
        manifest = json.loads((directory / "manifest.json").read_bytes())
        tables = of_tables(directory)
    predicted = {each["quantity"]: each["value"] for each in manifest["predictions"]}
    figures = numbers({key: manifest[key] for key in ("summary", "constants")})
    return tables | {"figures": of_text(figures), "theory": of_text(numbers(predicted))}


def of_tables(directory: Path) -> Fingerprint:
    """Return the digests of a result's tables."""
    found = {name: hashlib.sha256() for name in ("time", *LAYERS.values())}
    for file in sorted(directory.glob("*.parquet")):
        for name, values in columns(file):
            said = f"{file.stem} {name} {values.dtype.str} {len(values)} "
            found[layer(file.stem, name)].update(said.encode() + values.tobytes())
    return {name: digest.hexdigest()[:DIGITS] for name, digest in found.items()}


def columns(file: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the columns of a table by name; texts have one width."""
    table = pq.read_table(file)
    for name in sorted(table.column_names):
        column = table[name].combine_chunks()
        coded = pa.types.is_dictionary(column.type)  # as numbers its nulls are the last text
        values = (column.dictionary_decode() if coded else column).to_numpy(zero_copy_only=False)
        yield name, values.astype(str) if values.dtype == object else values


def layer(table: str, column: str) -> str:
    """Return which layer a column is of."""
    if column in ("tick", "time") or column.endswith("_tick"):
        return "time"
    return "curves" if column.startswith(("psi", "held_out")) else LAYERS[table]


def numbers(value: Any) -> Any:
    """Return tables, lists and arrays without their texts but infinity's; tables by their keys."""
    if isinstance(value, dict):
        return {str(key): numbers(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [numbers(inner) for inner in value]
    return "" if isinstance(value, str) and value not in ("inf", "-inf") else value


def of_text(content: Any) -> str:
    """Return the digest of numbers at full precision."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:DIGITS]
