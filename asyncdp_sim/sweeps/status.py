"""A sweep's folder: what is done, failed and left, and the table of its cells."""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from asyncdp_sim.comparisons.differences import between, in_words, leaves_in_lists
from asyncdp_sim.core.errors import Fault, ResultError, blaming
from asyncdp_sim.core.files import from_json, from_toml
from asyncdp_sim.core.messages import gathered, read_notices
from asyncdp_sim.core.words import duration, ranges, some_of
from asyncdp_sim.results import SCHEMA, read_manifest
from asyncdp_sim.results.columns import (
    README,
    arrow_texts,
    flat,
    readme,
    summary_column,
    swept_column,
    tables,
)
from asyncdp_sim.results.manifest import (
    VERSIONS,
    blas_kernel,
    cpu_features,
    digest,
    git_commit,
    other_versions,
    versions,
)
from asyncdp_sim.scenario import Scenario, dump, jsonable, parse, resolved, spoken, without_places
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sweeps.folder import FAILED, Folder
from asyncdp_sim.sweeps.grid import Cell

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
    sweep: Mapping[str, list[Any]] = said["sweep"]  # data files by name and digest
    by_path = zip(*itertools.product(*sweep.values()), strict=True)
    for path, values in zip(sweep, by_path, strict=True):
        columns[path] = swept_column([spoken(path, value) for value in values])
    states = ["failed" if cell.number in failed else "done" for cell in cells]
    columns["status"] = arrow_texts(states)
    if len(failed) > 0:
        columns["error"] = arrow_texts([failed.get(cell.number) for cell in cells])
    columns["seed"] = np.array([cell.seed for cell in cells])
    columns["network"] = arrow_texts([cell.network for cell in cells])
    made = [None if item is None else item["updates_per_replicate"] for item in entries]
    columns["updates_per_replicate"] = summary_column("updates_per_replicate", made)
    summaries = [{} if item is None else flat(item["summary"]) for item in entries]
    for figures in summaries:
        figures.pop("updates", None)  # of all replicates together
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
    into.put(README, readme(content, {"cells": columns, **_of_traces(into)}))
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
    manifest = read_manifest(into.root / cell.name, "summary")
    content = {name: manifest[name] for name in _NEEDED}
    sections = content["scenario"].items()
    content["scenario"] = {name: same.setdefault(repr(part), part) for name, part in sections}
    content["versions"] = same.setdefault(repr(content["versions"]), content["versions"])
    content["warnings"] = [same.setdefault(sentence, sentence) for sentence in content["warnings"]]
    content["updates_per_replicate"] = manifest["summary"]["updates"] / len(manifest["replicates"])
    content["notices"] = [same.setdefault(item, item) for item in read_notices(manifest)]
    return content


_ALLOWED = "allowed is a new directory, or a sweep of the same scenario"
_SHA = re.compile(r"[0-9a-f]{64}$")
_MOST = 4
"""Parts of other versions that are listed one by one."""


def own_scenario(place: Path) -> Scenario:
    """Return the scenario whose sweep is in a directory.

    Raises
    ------
    ResultError
        If there is no sweep.
    SpecError
        If its ``scenario.toml`` is damaged.
    """
    raw = require_sweep(place)
    with blaming(f"{place}/scenario.toml"):
        own: Scenario = parse(Scenario, resolved(raw, place))
    return own


def require_sweep(place: Path) -> dict[str, Any]:
    """Return the tables of the scenario whose sweep is in a directory.

    Raises
    ------
    ResultError
        If there is none.
    """
    raw = _tables(Folder(place))
    if "sweep" not in raw:
        remedy = "allowed is the directory of a sweep; to begin one: asyncdp sweep FILE"
        raise ResultError([Fault("", "no sweep", remedy)], str(place))
    return raw


def require_same_scenario(scenario: Scenario, into: Folder, place: Path) -> None:
    """Raise if what is in a folder is not a sweep of this scenario, wherever its data files lie.

    Raises
    ------
    ResultError
        If it is anything else, naming what differs where it is a sweep.
    """
    raw = _tables(into)
    if "sweep" not in raw:
        raise ResultError([Fault("--out", "an existing path", _ALLOWED)], str(place))
    asked = from_toml(dump(scenario, None))
    differ = list(between("", without_places(raw), without_places(asked), "asked"))
    if len(differ) > 0:
        problem = f"an existing path, a sweep of another scenario ({in_words(differ)})"
        raise ResultError([Fault("--out", problem, _ALLOWED)], str(place))


def is_finished(said: Mapping[str, Any], into: Folder, cells: Sequence[Cell], place: Path) -> bool:
    """Return whether every cell of a sweep is there, and the table of them.

    Parameters
    ----------
    said : mapping
        The scenario as it is described, data files by name and digest.
    into : Folder
    cells : sequence of Cell
    place : Path
        What the folder is called.

    Raises
    ------
    ResultError
        If it was made of other data files.
    """
    present = into.entries()
    if not all(name in present for name in ("cells.parquet", *(cell.name for cell in cells))):
        return False
    try:
        kept = read_manifest(into.root, "cells")
    except ResultError:  # none, or a damaged one: it is written anew
        return False
    if kept["digest"] != digest(jsonable(said)):
        raise _other_data(place)
    return True


def require_same_making(
    said: Mapping[str, Any],
    into: Folder,
    cells: Sequence[Cell],
    place: Path,
    *,
    mixed_versions: bool,
) -> None:
    """Raise if finished cells or traces come from other data files, or from other versions.

    Parameters
    ----------
    said, into, cells, place
        As in :func:`is_finished`.
    mixed_versions : bool
        Whether other versions are allowed.

    Raises
    ------
    ResultError
        Naming which parts have which versions, or if a cell's manifest is damaged.
    """
    now, present = _digests(said), into.entries()
    made: dict[str, Any] = {}
    for name in (cell.name for cell in cells if cell.name in present):
        manifest = read_manifest(into.root / name, "summary")
        if not _digests(manifest["scenario"]) <= now:
            raise _other_data(place / name)
        made[name] = manifest["versions"]
    rest: dict[str, list[str]] = {}
    for name, by in (made | versions_of_traces(into)).items():
        which = ", ".join(f"{part} {text}" for part, text in other_versions(by).items())
        if which != "":
            rest.setdefault(which, []).append(name)
    if len(rest) == 0 or mixed_versions:
        return
    parts = [f"{some_of(names, _MOST)} made with {which}" for which, names in rest.items()]
    remedy = "allowed are parts of one version, in a new directory, or --mixed-versions"
    raise ResultError([Fault("--out", "; ".join(parts), remedy)], str(place))


def versions_of_traces(into: Folder) -> dict[str, Any]:
    """Return what made the traces of each network; None where it is not known."""
    by_name: dict[str, Any] = {}
    for network in sorted(into.entries("traces")):
        text = into.text(f"traces/{network}/{VERSIONS}")
        try:
            made = from_json(text or "null")
        except ValueError:
            made = None
        if isinstance(made, dict):
            made.pop("loop", None)  # older versions name the event loop here
        by_name[f"traces/{network}"] = made
    return by_name


def _digests(said: Mapping[str, Any]) -> set[str]:
    """Return the SHA-256 digests of all data files of a described scenario."""
    texts = [leaf for leaf in leaves_in_lists(jsonable(said)).values() if isinstance(leaf, str)]
    return {match[0] for match in map(_SHA.search, texts) if match is not None}


def _other_data(place: Path) -> ResultError:
    problem = "results of data files with other contents"
    return ResultError([Fault("--out", problem, _ALLOWED)], str(place))


def _tables(into: Folder) -> dict[str, Any]:
    try:
        return from_toml(into.text("scenario.toml") or "")
    except ValueError:
        return {}


LATELY = 100
"""Number of cells from whose duration the remaining time is estimated."""
_RECORD = re.compile(r"cell-(\d{4,})\.json")
"""Name of the record of a cell that failed."""
PAUSE = 100.0
"""Times the mean of all other gaps: a longer one was an interruption."""


@dataclass(frozen=True)
class Status:
    """Progress of a sweep.

    Attributes
    ----------
    cells : int
        All of the grid.
    done : int
    failed : mapping
        From the numbers of cells that failed to why.
    seconds_left : float or None
        Until the others are done too, at the pace of late; None where none can be told.
    machine : bool
        Whether any failed because the machine had no room for it, so that another may.
    """

    cells: int
    done: int
    failed: Mapping[int, str]
    seconds_left: float | None
    machine: bool = False

    @property
    def left(self) -> int:
        """Cells that are neither done nor failed."""
        return self.cells - self.done - len(self.failed)

    def lines(self) -> list[str]:
        """Return all of it in words."""
        rows = {"cells": self.cells, "done": self.done, "failed": len(self.failed)}
        entries = [f"{name:<10} {count}" for name, count in (rows | {"not run": self.left}).items()]
        left = "unknown until two cells are done"
        if self.seconds_left is not None:
            left = duration(self.seconds_left)
        return [*entries, *([f"time left  {left}"] if self.left > 0 else []), *self.errors()]

    def errors(self) -> list[str]:
        """Return a line for each error, naming the cells that ended with it."""
        cells: dict[str, list[int]] = {}
        for number in sorted(self.failed):
            cells.setdefault(self.failed[number], []).append(number)
        return [f"cell{'s' * (len(item) > 1)} {ranges(item)}: {why}" for why, item in cells.items()]


def status(scenario: Scenario | None, place: Path) -> Status:
    """Return how far the sweep at a place has come, which is of a scenario where one is named.

    Raises
    ------
    ResultError
        If there is none, or of another scenario, or it cannot be read.
    """
    into = Folder(place)
    own = own_scenario(place)
    if scenario is not None:
        require_same_scenario(scenario, into, place)
    cells = sum(1 for _ in own.grid())
    entries = into.entries()
    done = (f"cell-{number:04d}" for number in range(cells))
    came = [entries[name] for name in done if name in entries]
    records = _failures(into)
    machine = any(record.get("machine") is True for record in records.values())
    pace = _pace(came)
    seconds = None if pace is None else (cells - len(came) - len(records)) * pace
    return Status(cells, len(came), _reasons(records), seconds, machine)


def errors(into: Folder) -> dict[int, str]:
    """Return why cells failed, by their numbers, ascending."""
    return _reasons(_failures(into))


def _reasons(records: Mapping[int, Mapping[str, Any]]) -> dict[int, str]:
    return {number: str(item["error"]) for number, item in records.items()}


def _failures(into: Folder) -> dict[int, dict[str, Any]]:
    """Return the records of cells that failed, by their numbers, ascending.

    A file of any other name, or that cannot be read, tells nothing: its cell is to be run.
    """
    done = into.entries()
    by_name = {}
    for entry in sorted(into.entries(FAILED)):
        match = _RECORD.fullmatch(entry)
        if match is None or entry.removesuffix(".json") in done:
            continue
        with suppress(ValueError):  # damaged
            content = from_json(into.text(f"{FAILED}/{entry}") or "")
            if isinstance(content, dict) and "error" in content:
                by_name[int(match[1])] = content
    return by_name


def _pace(came: Sequence[float]) -> float | None:
    """Return the mean gap between cells of late, without pauses; None of fewer than two."""
    gaps = [later - earlier for earlier, later in pairwise(sorted(came)[-LATELY:])]
    if len(gaps) == 0:
        return None
    rest = (sum(gaps) - max(gaps)) / max(1, len(gaps) - 1)
    return rest if max(gaps) > PAUSE * rest > 0 else fmean(gaps)
