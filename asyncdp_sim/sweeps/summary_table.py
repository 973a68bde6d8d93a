"""The table of a sweep's cells, and its manifest."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from asyncdp_sim.columns import (
    README,
    arrow_texts,
    flat,
    readme,
    summary_column,
    swept_column,
    tables,
)
from asyncdp_sim.core.messages import gathered, revived
from asyncdp_sim.privacy.label import label
from asyncdp_sim.results import SCHEMA
from asyncdp_sim.results.provenance import blas_kernel, cpu_features, digest, git_commit, versions
from asyncdp_sim.scenario import Scenario, jsonable, spoken
from asyncdp_sim.sweeps.batch import Cell
from asyncdp_sim.sweeps.folder import Folder
from asyncdp_sim.sweeps.status import versions_of_traces

OTHERS = ("manifest.json", "scenario.toml")
_NEEDED = ("scenario", "summary", "warnings", "fingerprints", "versions")


def close(
    scenario: Scenario,
    said: Mapping[str, Any],
    into: Folder,
    cells: Sequence[Cell],
    failed: Mapping[int, str],
) -> None:
    """Write ``cells.parquet`` and ``manifest.json`` when every cell is done or has failed.

    Parameters
    ----------
    scenario : Scenario
    said : mapping
        The scenario as it is described, data files by name and digest.
    into : Folder
    cells : sequence of Cell
        All of the grid.
    failed : mapping
        From the numbers of cells without a result to why.

    Raises
    ------
    ResultError
        If a cell's manifest is damaged, or nothing can be written.
    """
    done = [cell for cell in cells if cell.number not in failed]
    same: dict[Any, Any] = {}
    manifests = {cell.number: _trimmed(into, cell, same) for cell in done}
    entries = [manifests.get(cell.number) for cell in cells]
    columns: dict[str, Any] = {"cell": np.arange(len(cells), dtype=np.int32)}
    for path, values in _swept(said, len(cells)):
        columns[path] = swept_column(values)
    columns["status"] = arrow_texts(
        ["failed" if cell.number in failed else "done" for cell in cells]
    )
    if len(failed) > 0:
        columns["error"] = arrow_texts([failed.get(cell.number) for cell in cells])
    columns["seed"] = np.array([cell.seed for cell in cells])
    columns["network"] = arrow_texts([cell.network for cell in cells])
    made = [None if item is None else item["updates_per_replicate"] for item in entries]
    columns["updates_per_replicate"] = summary_column("updates_per_replicate", made)
    summaries = [{} if item is None else flat(item["summary"]) for item in entries]
    for some in summaries:
        some.pop("updates", None)  # of all replicates together
    for name in dict.fromkeys(itertools.chain(*summaries)):
        columns[name] = summary_column(name, [summary.get(name) for summary in summaries])
    together = None if len(manifests) == 0 else label(list(manifests.values()))
    into.put("cells.parquet", columns, {} if together is None else together.metadata_of_exact())
    warnings = gathered([None if item is None else item["notices"] for item in entries])
    reasons = {cells[number].name: why for number, why in failed.items()}
    content = {
        "schema": SCHEMA,
        "scenario": jsonable(said),
        "digest": digest(jsonable(said)),
        "seed": scenario.run.seed,
        "cells": len(cells),
        **({"failed": reasons} if len(reasons) > 0 else {}),
        "versions": versions(),
        **_mixed(into, {cell.name: manifests[cell.number]["versions"] for cell in done}),
        "git_commit": git_commit(),
        "cpu_features": cpu_features(),
        "blas_kernel": blas_kernel(),
        "fingerprints": {cell.name: manifests[cell.number]["fingerprints"] for cell in done},
        "warnings": [item.describe() for item in warnings],
        "warning_fields": [item.content() for item in warnings],
        **({} if together is None else {"label": together.text}),
    }
    into.put(README, readme(content, {"cells": columns, **_of_traces(into)}, OTHERS))
    into.put("manifest.json", content)


def _of_traces(into: Folder) -> dict[str, list[str]]:
    """Return the tables that some network's traces have, and their columns."""
    present = {name for item in into.entries("traces") for name in into.entries(f"traces/{item}")}
    values = {n: t for n, t in tables().items() if n.startswith("traces/")}
    return {
        name: [item.name for item in table.columns]
        for name, table in values.items()
        if f"{name.removeprefix('traces/')}.parquet" in present
    }


def _mixed(into: Folder, cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return which versions made which cells and traces; nothing where these made all."""
    made: dict[str, list[str]] = {}
    for name, text in ({**cells, **versions_of_traces(into)}).items():
        made.setdefault(json.dumps(text, sort_keys=True), []).append(name)
    if set(made) <= {json.dumps(versions(), sort_keys=True)}:
        return {}
    parts = [{"versions": json.loads(text), "made": names} for text, names in made.items()]
    return {"mixed_versions": parts}


def _trimmed(into: Folder, cell: Cell, same: dict[Any, Any]) -> dict[str, Any]:
    """Return what the table and the label need of a cell's manifest.

    What several cells say alike is kept once, in ``same``: there may be thousands of cells.
    """
    manifest = into.manifest(cell.name, "summary")
    content = {name: manifest[name] for name in _NEEDED}
    sections = content["scenario"].items()
    content["scenario"] = {name: same.setdefault(repr(part), part) for name, part in sections}
    content["versions"] = same.setdefault(repr(content["versions"]), content["versions"])
    content["warnings"] = [same.setdefault(sentence, sentence) for sentence in content["warnings"]]
    content["updates_per_replicate"] = manifest["summary"]["updates"] / len(manifest["replicates"])
    content["notices"] = [same.setdefault(item, item) for item in revived(manifest)]
    return content


def _swept(said: Mapping[str, Any], cells: int) -> Iterator[tuple[str, list[Any]]]:
    """Yield each swept path and its value in every cell, data files by name and digest."""
    sweep: Mapping[str, list[Any]] = said["sweep"]
    grid = list(itertools.product(*sweep.values()))
    for place, path in enumerate(sweep):
        yield path, [spoken(path, grid[cell][place]) for cell in range(cells)]
