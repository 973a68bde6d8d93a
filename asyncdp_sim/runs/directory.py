"""The result directory of a run: whether it is there already, its tables and its manifest."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asyncdp_sim.comparisons.differences import between, in_words
from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.decision import Judging
from asyncdp_sim.measures.energy import energy_predictions
from asyncdp_sim.privacy.accountants.composition import spending_columns
from asyncdp_sim.results import SCHEMA, columns, read_manifest
from asyncdp_sim.results import manifest as manifests
from asyncdp_sim.results.write import Writer, remove_leftovers, require_free
from asyncdp_sim.runs.gains import judging_of
from asyncdp_sim.runs.outcome import (
    RunResult,
    all_numbers,
    energy_columns,
    owner_columns,
    owner_figures,
)
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.label import Label, label
from asyncdp_sim.theory.predict.all import predict

_TABLES = tuple(f"{name}.parquet" for name in ("updates", "curve", "owners", "models", "optimum"))
"""Files of a run by itself: cells of sweeps keep no updates."""


def finished_or_free(
    scenario: Scenario, directory: Path, *, events: bool, judging: Judging | None = None
) -> bool:
    """Return whether the result of a scenario is in a directory; if not, make sure that it is free.

    The same scenario is the same as resolved: every field, the seed and the replicates among them,
    and the contents of data files, wherever these lie. What a killed run has left beside the
    directory is removed.

    Parameters
    ----------
    scenario : Scenario
        Without a sweep.
    directory : Path
    events : bool
        Whether every event is to be there.
    judging : Judging, optional
        How gains are to be judged, if they are judged at all.

    Raises
    ------
    ResultError
        If something else is there, or a result without the events or otherwise judged, or nothing
        can be written.
    DataError
        If a data file cannot be read.
    """
    # unlike `Path.is_file`, False of any path that cannot be, such as one too long
    if not os.path.isfile(directory / "manifest.json"):
        require_free(directory)
        remove_leftovers(directory)
        return False
    written = read_manifest(directory)
    _require_same(written, scenario, directory)
    _require_complete(written, directory, events, judging)
    return True


def _require_same(written: Mapping[str, Any], scenario: Scenario, directory: Path) -> None:
    """Raise unless a manifest is that of all replicates of a scenario's simulation."""
    asked = manifests.described(scenario)
    if "summary" not in written:
        raise _not_free(directory, "an existing path")
    if "measured" in written:
        raise _not_free(directory, "an existing path, of real processes, not of a simulation")
    differ = list(between("manifest.json", written["scenario"], asked, "asked"))
    complete = written.get("replicates") == list(all_numbers(scenario))
    if len(differ) > 0 or not complete:
        which = in_words(differ) or "of some replicates"
        raise _not_free(directory, f"an existing path, another result ({which})")


def _require_complete(
    written: Mapping[str, Any], directory: Path, events: bool, judging: Judging | None
) -> None:
    """Raise unless a result has its tables, its gains as they are to be judged, and its events."""
    missing = [name for name in _TABLES if not (directory / name).is_file()]
    if len(missing) > 0:
        raise _not_free(directory, f"a damaged result, without {', '.join(missing)}")
    judged = judging_of(written)
    if judging is not None and judged is not None and judging != judged:
        options = f"--material {judged.material:g} --own-best {judged.own_best}"
        raise _not_free(directory, f"an existing path, where gains were judged with {options}")
    if events and written.get("events") is not True:
        problem = "a finished result without events"
        remedy = "allowed is it without --events, or another --out"
        raise ResultError([Fault("--events", problem, remedy)], str(directory))


def _not_free(directory: Path, problem: str) -> ResultError:
    """Return the error of a directory that cannot be written to, or whose result is another."""
    remedy = "allowed is a directory that does not exist yet: name another with --out"
    return ResultError([Fault("--out", problem, remedy)], str(directory))


def write(outcome: RunResult, directory: Path, *, updates: bool = True) -> None:
    """Write a result directory; it appears whole or not at all.

    Parameters
    ----------
    outcome : RunResult
    directory : Path
        Must not exist.
    updates : bool
        Whether to write ``updates.parquet``.

    Raises
    ------
    ResultError
        If the directory exists or cannot be written.
    """
    with build(outcome, directory, updates=updates):
        pass  # leaving the block renames the directory


def build(outcome: RunResult, directory: Path, *, updates: bool = True) -> Writer:
    """Build a result directory beside its place, and return the writer that lets it appear.

    Arguments and errors are those of :func:`write`.
    """
    content, labelled = _labelled(outcome)
    writer = Writer(directory, labelled)
    try:
        _fill(writer, outcome, content, updates)
    except BaseException:
        writer.discard()
        raise
    return writer


def _fill(writer: Writer, outcome: RunResult, content: dict[str, Any], updates: bool) -> None:
    """Write the tables of a result, its scenario, and ``content`` as its manifest."""
    problem, participants = outcome.problem, outcome.problem.participants
    traces, numbers, curve = outcome.traces, outcome.numbers, outcome.learned.curve
    if updates:
        writer.table(
            "updates.parquet", participants.numbered(columns.update_columns(traces, numbers))
        )
    writer.table("curve.parquet", {name: curve[name] for name in curve.dtype.names or ()})
    owners = owner_columns(problem, outcome.ledger, outcome.guarantee, traces, numbers)
    owners |= energy_columns(outcome.scenario, traces)
    owners |= owner_figures(problem, outcome.learned.models)
    writer.table("owners.parquet", participants.numbered(owners))
    writer.table("models.parquet", columns.model_columns(outcome.learned.models, numbers))
    writer.table("optimum.parquet", columns.optimum_columns(problem.task.objective.optimum))
    spending = spending_columns(problem.accountant, traces)
    if spending is not None and outcome.guarantee.is_upper:
        writer.table("spending.parquet", participants.numbered(spending))
    if problem.alone is not None:
        writer.table("alone.parquet", participants.numbered(columns.alone_columns(problem.alone)))
    if outcome.gains is not None:
        writer.table("gains.parquet", outcome.gains.columns(participants))
    if all(trace.events is not None for trace in traces):
        groups = columns.event_groups(traces, numbers)
        writer.row_groups("events.parquet", map(participants.numbered, groups))
    writer.scenario(outcome.scenario)
    writer.put("manifest.json", content)
    writer.put(columns.README, columns.readme(content, writer.columns))


def manifest(outcome: RunResult) -> dict[str, Any]:
    """Return the origin and the summary of a result; no host, no path, no clock time."""
    return _labelled(outcome)[0]


def _labelled(outcome: RunResult) -> tuple[dict[str, Any], Label]:
    """Return the manifest of a result, and its label."""
    written = manifests.described(outcome.scenario)
    problem, participants = outcome.problem, outcome.problem.participants
    network = outcome.scenario.network
    content = {
        "schema": SCHEMA,
        "scenario": written,
        "digest": manifests.digest(written),
        "network": manifests.network_digest(outcome.scenario, len(outcome.numbers)),
        "seed": outcome.scenario.run.seed,
        "replicates": list(outcome.numbers),
        "end_ticks": [int(trace.end_tick) for trace in outcome.traces],
        "events": all(trace.events is not None for trace in outcome.traces),
        "columns": list(outcome.dataset.columns),
        **({"owner_names": list(participants.names)} if len(participants.names) > 0 else {}),
        "constants": {
            **vars(problem.posed.constants),
            "noise_bound": problem.xi,
            "least_fitness": problem.task.objective.least,
        },
        "versions": manifests.versions(),
        "git_commit": manifests.git_commit(),
        "cpu_features": manifests.cpu_features(),
        "blas_kernel": manifests.blas_kernel(),
        "fingerprints": outcome.fingerprints,
        "predictions": [
            dict(vars(item))
            for item in (*predict(network), *energy_predictions(outcome.scenario.energy, network))
        ],
        "warnings": list(outcome.warnings),
        "warning_fields": [item.content() for item in outcome.notices],
        "summary": outcome.summary,
    }
    unit = outcome.scenario.data.target_unit
    if outcome.gains is not None:
        content |= outcome.gains.content(unit, participants)
    if problem.task.held_out is not None and unit is not None:
        content["target_unit"] = unit
    labelled = label([content])  # reads the rest of the manifest
    if outcome.gains is not None:  # as the JSON of a forecast has them
        release = labelled.release
        content |= {"reads": "public" if release else "all", "release": release}
    return content | {"label": labelled.text}, labelled
