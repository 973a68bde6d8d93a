"""Many scenarios: the grid of a ``[sweep]``, cell by cell, each network simulated once."""

import itertools
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.data import Dataset
from asyncdp_sim.errors import Fault, ResultError, SpecError
from asyncdp_sim.privacy.label import label
from asyncdp_sim.provenance import (
    cpu_features,
    digest,
    git_commit,
    network_digest,
    placeless,
    versions,
)
from asyncdp_sim.result import (
    Writer,
    read_manifest,
    summary_column,
    swept_column,
    update_columns,
    write_into,
)
from asyncdp_sim.run import Outcome, manifest, reproduce, run, write
from asyncdp_sim.run.problem import build_dataset
from asyncdp_sim.run.replicates import Map, processes
from asyncdp_sim.scenario import Scenario, dump, jsonable, spoken
from asyncdp_sim.trace import Trace


@dataclass(frozen=True)
class Cell:
    """One point of the grid.

    Attributes
    ----------
    number : int
        From 0, last swept path fastest.
    values : mapping
        The swept paths and their values.
    scenario : Scenario
    """

    number: int
    values: Mapping[str, Any]
    scenario: Scenario

    @property
    def name(self) -> str:
        """Name of the cell's directory."""
        return f"cell-{self.number:04d}"

    @cached_property
    def network(self) -> str:
        """Digest under which cells share traces."""
        return network_digest(self.scenario, self.scenario.run.replicates)


def sweep(
    scenario: Scenario,
    directory: Path,
    *,
    workers: int = 1,
    on_cell: Callable[[Cell, int], None] = lambda cell, total: None,  # noqa: ARG005
) -> list[Cell]:
    """Run every cell of a scenario's grid into a sweep directory.

    Cells that have the same network share one set of traces, unless their timing depends on the
    model. Finished cells of an interrupted sweep are kept, so the same call continues it.

    Parameters
    ----------
    scenario : Scenario
        With a sweep.
    directory : Path
        Must not exist, or hold an unfinished sweep of the same scenario.
    workers : int
        Processes, ≥ 1; does not change the result.
    on_cell : callable
        Told of each finished cell and of the number of cells.

    Returns
    -------
    list of Cell
        In the order of the grid.

    Raises
    ------
    SpecError
        If the scenario has no sweep.
    ResultError
        If the directory holds something else, or a finished sweep.
    DataError
        If a cell's data are not what the scenario says.
    """
    if len(scenario.sweep) == 0:
        raise SpecError([Fault("sweep", "nothing", "allowed is a table of dotted paths and lists")])
    cells = [Cell(i, chosen, scenario.cell(chosen)) for i, chosen in enumerate(scenario.grid())]
    said = placeless(scenario)  # reads every data file once, before anything is written
    _open(scenario, directory)
    first: dict[str, int] = {}
    for cell in cells:
        first.setdefault(cell.network, cell.number)
    memory = _Memory()
    with processes(workers) as run_map:
        for cell in sorted(cells, key=lambda cell: first[cell.network]):
            if not (directory / cell.name / "manifest.json").exists():
                outcome = memory.run(cell, workers, run_map)
                _share_updates(directory, cell, outcome)
                write(outcome, directory / cell.name, updates=False)
            on_cell(cell, len(cells))
    _close(scenario, said, directory, cells)
    return cells


def reproduce_all(directory: Path, *, workers: int = 1) -> int:
    """Run a result, or every cell of a sweep, again; return how many were reproduced.

    Raises
    ------
    ResultError
        If the directory is neither.
    ReplayError
        If a data file or a fingerprint differs, naming what does.
    """
    manifest = read_manifest(directory)
    cells = [] if "summary" in manifest else list(manifest["fingerprints"])
    for name in cells:
        reproduce(directory / name, workers=workers)
    if len(cells) == 0:
        reproduce(directory, workers=workers)
    return max(1, len(cells))


class _Memory:
    """Keeps the latest dataset and traces for the next cell that has the same."""

    def __init__(self) -> None:
        self._data: tuple[str, Dataset] | None = None
        self._traces: tuple[str, tuple[Trace, ...]] | None = None

    def run(self, cell: Cell, workers: int, run_map: Map) -> Outcome:
        scenario = cell.scenario
        raw = scenario.plain()
        key = json.dumps([raw["data"], raw["owners"], scenario.run.seed], sort_keys=True)
        if self._data is None or self._data[0] != key:
            self._data = (key, build_dataset(scenario))
        known = self._traces is not None and self._traces[0] == cell.network
        traces = self._traces[1] if known and self._traces is not None else None
        records = self._data[1]
        outcome = run(scenario, workers=workers, dataset=records, traces=traces, run_map=run_map)
        self._traces = (cell.network, outcome.traces)
        return outcome


def _open(scenario: Scenario, directory: Path) -> None:
    text = dump(scenario, directory)
    if os.path.lexists(directory):
        known = directory / "scenario.toml"
        unfinished = known.exists() and not (directory / "manifest.json").exists()
        if not unfinished or known.read_text(encoding="utf-8") != text:
            allowed = "allowed is a new directory, or an unfinished sweep of this very scenario"
            raise ResultError([Fault("--out", "an existing path", allowed)], str(directory))
        for leftover in directory.glob(".partial-*"):
            shutil.rmtree(leftover)
        return
    with Writer(directory) as writer:
        writer.text("scenario.toml", text)


def _share_updates(directory: Path, cell: Cell, outcome: Outcome) -> None:
    shared = directory / "traces" / cell.network
    if not shared.exists():
        with Writer(shared, label([manifest(outcome)])) as writer:
            columns = update_columns(outcome.traces, outcome.numbers)
            writer.table("updates.parquet", columns)


def _close(scenario: Scenario, said: dict[str, Any], directory: Path, cells: list[Cell]) -> None:
    manifests = [read_manifest(directory / cell.name, "summary") for cell in cells]
    columns: dict[str, Any] = {"cell": np.arange(len(cells), dtype=np.int32)}
    for path, values in _swept(said, len(cells)):
        columns[path] = swept_column(values)
    columns["status"] = ["done"] * len(cells)
    columns["seed"] = [cell.scenario.run.seed for cell in cells]
    columns["network"] = [cell.network for cell in cells]
    summaries = [_flat(manifest["summary"]) for manifest in manifests]
    for name in dict.fromkeys(itertools.chain(*summaries)):
        columns[name] = summary_column(name, [summary.get(name) for summary in summaries])
    write_into(directory, "cells.parquet", columns, label(manifests).metadata())
    write_into(
        directory,
        "manifest.json",
        {
            "schema": 1,
            "scenario": jsonable(said),
            "digest": digest(jsonable(said)),
            "seed": scenario.run.seed,
            "cells": len(cells),
            "versions": versions(),
            "git_commit": git_commit(),
            "cpu_features": cpu_features(),
            "fingerprints": {
                c.name: m["fingerprints"] for c, m in zip(cells, manifests, strict=True)
            },
            "warnings": _gathered([manifest["warnings"] for manifest in manifests]),
        },
    )


def _gathered(warnings: Sequence[Sequence[str]]) -> list[str]:
    """Return every cell's warnings once, naming the cells where not all of them say it.

    Those that differ in their numbers of replicates, updates and answers alone are one.
    """
    alike: dict[str, dict[str, list[int]]] = {}
    for number, said in enumerate(warnings):
        for sentence in said:
            cells = alike.setdefault(_without_counts(sentence), {})
            cells.setdefault(sentence, []).append(number)
    found = []
    for sentences in alike.values():
        numbers = sorted(itertools.chain(*sentences.values()))
        text = next(iter(sentences)) if len(sentences) == 1 else _merged(list(sentences))
        if len(sentences) > 1 or len(numbers) < len(warnings):
            text = f"cell{'s' * (len(numbers) > 1)} {_in_words(numbers)}: {text}"
        found.append(text)
    return found


_OF_REPLICATES = re.compile(r"\d+ of \d+ replicates\b")
_COUNTS = re.compile(r"(\d+)(?: to (\d+))?")
_ANSWERS = re.compile(r"; of (\d+) answers released (.+)$")
_FATE = re.compile(r"(\d+) ([^,]+)")


def _without_counts(sentence: str) -> str:
    """Return a warning that counts replicates without its counts; others as they are."""
    if _OF_REPLICATES.search(sentence) is None:
        return sentence
    return _COUNTS.sub("#", _ANSWERS.sub("", sentence))


def _merged(sentences: Sequence[str]) -> str:
    """Return warnings that are alike as one, counts as ranges and fates of answers as shares."""
    heads = [_ANSWERS.sub("", sentence) for sentence in sentences]
    counts = [[tuple(map(int, filter(None, c))) for c in _COUNTS.findall(head)] for head in heads]
    ranges = iter([_range(*itertools.chain(*some)) for some in zip(*counts, strict=True)])
    said = _COUNTS.sub(lambda _: next(ranges), heads[0])
    shares: list[dict[str, float]] = []
    for known in map(_ANSWERS.search, sentences):
        released, fates = ("1", "") if known is None else known.groups()
        shares.append({fate: int(n) / int(released) for n, fate in _FATE.findall(fates)})
    told = []
    for fate in dict.fromkeys(itertools.chain(*shares)):
        part = [100 * share.get(fate, 0.0) for share in shares]
        low, high = (f"{end:.3g}" for end in (min(part), max(part)))
        told.append(f"{low if low == high else f'{low} to {high}'} % {fate}")
    return said + (f"; of the answers released {', '.join(told)}" if told else "")


def _range(*numbers: int) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _in_words(numbers: Sequence[int]) -> str:
    """Return ascending numbers, three or more in a row as a range."""
    rows = itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in run] for _, run in rows]
    parts = [[_range(*run)] if len(run) > 2 else map(str, run) for run in runs]
    return ", ".join(itertools.chain(*parts))


def _swept(said: Mapping[str, Any], cells: int) -> Iterator[tuple[str, list[Any]]]:
    """Yield each swept path and its value in every cell, data files by name and digest."""
    sweep: Mapping[str, list[Any]] = said["sweep"]
    grid = list(itertools.product(*sweep.values()))
    for place, path in enumerate(sweep):
        yield path, [spoken(path, grid[cell][place]) for cell in range(cells)]


def _flat(summary: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in summary.items():
        if name == "intervals":
            for inner, ends in value.items():
                low, high = (None, None) if ends is None else ends
                flat |= {f"{inner}_low": low, f"{inner}_high": high}
        elif isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": number for inner, number in value.items()}
        else:
            flat[name] = value
    return flat
