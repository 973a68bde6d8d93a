"""Result and sweep directories written by hand: a manifest, events, a curve, cells."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w
from matplotlib.text import Text

from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.results import Sweep
from asyncdp_sim.results.columns import tables
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps.sweep import sweep
from tests.manifests import changed, of_run
from tests.tables import table

Row = tuple[Any, ...]  # time, kind, owner, message, attempt, detail; the last ones may be left out


def scenario(n_owners: int = 3, **changes: Any) -> dict[str, Any]:
    """Return a scenario's tables; a change of kind replaces a table, others join it."""
    said = table(__file__, "made.toml")
    said["owners"]["count"] = n_owners
    for key, value in changes.items():
        said[key] = value if "kind" in value else {**said[key], **value}
    return said


def made(
    directory: Path,
    replicates: Sequence[Sequence[Row]] = (),
    said: dict[str, Any] | None = None,
    **summary: Any,
) -> Path:
    """Write a result directory with these replicates' events."""
    directory.mkdir(parents=True)
    said = scenario() if said is None else said
    (directory / "scenario.toml").write_text(tomli_w.dumps(said), encoding="utf-8")
    standard = {"private": True, "epsilon_true": 1.0, "updates": 1, "delta": 0.0}
    standard |= {"timing_accounted": True}
    numbers = list(range(1, max(1, len(replicates)) + 1))
    others = {"replicates": numbers, "events": True, "network": directory.name}
    (directory / "manifest.json").write_text(json.dumps(of_run(said, standard | summary, **others)))
    rows = [
        (number, seq, *(*row, None, None, None)[:6])
        for number, events in enumerate(replicates, start=1)
        for seq, row in enumerate(events)
    ]
    if len(rows) > 0:
        number, seq, time, kind, owner, message, attempt, detail = zip(*rows, strict=True)
        columns = {
            "replicate": pa.array(number, pa.int32()),
            "seq": pa.array(seq, pa.int64()),
            "tick": pa.array([to_ticks(t) for t in time], pa.int64()),
            "time": pa.array(time, pa.float64()),
            "kind": pa.array(kind).dictionary_encode(),
            "owner": pa.array(owner, pa.int32()),
            "message": pa.array(message, pa.int64()),
            "attempt": pa.array(attempt, pa.int16()),
            "detail": pa.array(detail, pa.string()).dictionary_encode(),
        }
        pq.write_table(pa.table(columns), directory / "events.parquet")
    return directory


def curve(
    directory: Path,
    psi: Sequence[float],
    *,
    first: float = 20.0,
    k: int = 9,
    times: Sequence[float] | None = None,
) -> None:
    """Write a curve of two records for each replicate: before the first update, and the last.

    The last has these ψ, at update ``k`` and these times (1 by default).
    """
    table: dict[str, list[float]] = {"replicate": [], "k": [], "time": [], "relative_fitness": []}
    for number, last in enumerate(psi, start=1):
        time = 1.0 if times is None else times[number - 1]
        pairs = ((number, number), (0, k), (0.0, time), (first, last))
        for column, pair in zip(table.values(), pairs, strict=True):
            column += pair
    write_table(directory, "curve", table)


def finished(directory: Path, columns: Mapping[str, Sequence[Any]]) -> Sweep:
    """Write the table of a sweep's cells, with their swept values, and open the sweep."""
    count = len(next(iter(columns.values())))
    table = {"cell": list(range(count)), **columns, "status": ["done"] * count}
    write_table(directory, "cells", table)
    return Sweep.read(directory)


def sweep_of(directory: Path, cells: Sequence[Mapping[str, Any]]) -> Sweep:
    """Write a sweep of cells: swept ``values``, tables of the scenario, ψ at the end, and more.

    That are figures of the ``summary``, keys of the ``manifest``, how the ``curve`` is written, and
    columns of ``owners``, for one replicate and alike in all.
    """
    for number, cell in enumerate(cells):
        psi, said = cell["psi"], scenario(**cell.get("said", {}))
        place = made(
            directory / f"cell-{number:04d}", [()] * len(psi), said, **cell.get("summary", {})
        )
        with changed(place) as manifest:
            manifest |= cell.get("manifest", {})
        curve(place, psi, **cell.get("curve", {}))
        owners = {name: [*column] * len(psi) for name, column in cell.get("owners", {}).items()}
        if owners:
            write_table(place, "owners", whole("owners", owners))
    swept = cells[0]["values"]
    return finished(directory, {name: [cell["values"][name] for cell in cells] for name in swept})


def write_table(directory: Path, name: str, columns: Any) -> None:
    """Write a table of a result: columns by name, or a frame; its replicates are the result's."""
    pq.write_table(pa.table(columns), directory / f"{name}.parquet")
    file = directory / "manifest.json"
    if "replicate" in columns and file.exists():
        manifest = json.loads(file.read_bytes())
        most = max(*manifest["replicates"], *(int(number) for number in columns["replicate"]))
        manifest["replicates"] = list(range(1, most + 1))
        file.write_text(json.dumps(manifest))


KEYS = ("replicate", "owner")
"""Columns that say whose a row is: 0 is nobody."""


def whole(name: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result's table with every number that it may have: 0 where none is given.

    So a new picture may read any of them.
    """
    rows = len(next(iter(columns.values())))
    numbers = [each.name for each in tables()[name].columns if each.type not in ("string", "bool")]
    return {each: [0] * rows for each in numbers if each not in KEYS} | dict(columns)


def texts(picture: Picture) -> list[str]:
    """Return all that is written in a picture."""
    return [text.get_text() for text in picture.figure.findobj(Text)]


def keys(picture: Picture) -> list[str]:
    """Return what is written in the only legend of a picture."""
    [legend] = picture.figure.legends
    return [text.get_text() for text in legend.get_texts()]


def lines_of(file: Path, scenario: str) -> list[CurveLine]:
    """Write and run the file of a sweep; return its cells as lines of a figure."""
    file.write_text(scenario)
    sweep(load(file)[0], file.with_suffix(""))
    opened = Sweep.read(file.with_suffix(""))
    return [CurveLine(cell.result, cell.label(opened.paths)) for cell in opened.cells]
