"""Small runs, written to disk, and their tables read back as bytes or rows."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from asyncdp_sim.core.specification import parse
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario import Scenario
from tests.tables import table

Raw = dict[str, Any]


def scenario(**changes: Any) -> Scenario:
    """Return a lively small scenario, with dotted paths (``a__b``) changed."""
    raw: Raw = table(__file__, "runs.toml")
    for path, value in changes.items():
        *parents, last = path.split("__")
        within = raw
        for parent in parents:
            within = within.setdefault(parent, {})
        within[last] = value
    return parse(Scenario, raw)


def written(asked: Scenario, directory: Path, **options: Any) -> dict[str, bytes]:
    """Run with all events, write, and return the bytes of every table."""
    write(run(asked, events=True, **options), directory)
    return tables(directory)


def tables(directory: Path) -> dict[str, bytes]:
    """Return the bytes of every Parquet file below a directory, by path."""
    files = sorted(directory.rglob("*.parquet"))
    assert len(files) > 0
    return {str(file.relative_to(directory)): file.read_bytes() for file in files}


def rows(directory: Path, name: str, replicate: int | None = None) -> list[dict[str, Any]]:
    """Return a table's rows, of one replicate if asked."""
    found = pq.read_table(directory / f"{name}.parquet").to_pylist()
    return [row for row in found if replicate is None or row["replicate"] == replicate]
