"""Inputs and results of a run in memory, and its result directory."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.comparisons.differences import between, in_words
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.core.messages import Ends, Noted, Notice
from asyncdp_sim.data import Dataset
from asyncdp_sim.decision import Judging
from asyncdp_sim.measures import NetworkSummary
from asyncdp_sim.measures.energy import energy_figures, energy_predictions
from asyncdp_sim.privacy import Guarantee, Ledger
from asyncdp_sim.privacy.accountants.by_losses import spending_columns
from asyncdp_sim.privacy.guarantee import BROKEN, UNSHOWN
from asyncdp_sim.results import SCHEMA, read_manifest
from asyncdp_sim.results import manifest as manifests
from asyncdp_sim.results.columns import (
    README,
    alone_columns,
    event_groups,
    model_columns,
    optimum_columns,
    readme,
    update_columns,
)
from asyncdp_sim.results.write import Writer, remove_leftovers, require_free
from asyncdp_sim.runs.account import (
    energy_columns,
    honest_summary,
    judge,
    learn_alone,
    ledger_of,
    owner_columns,
    owner_figures,
    summary,
)
from asyncdp_sim.runs.gains import Gains, judging_of
from asyncdp_sim.runs.problem import Problem, prepare
from asyncdp_sim.runs.replicates import Learned, Map
from asyncdp_sim.runs.split import split_psi
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.sentences.label import Label, label
from asyncdp_sim.sentences.warnings import (
    DeltaNotUsed,
    EndedEarly,
    EpsilonNotUsed,
    ModelDiverged,
    NeverOnline,
    PrivateRecordsRead,
    TargetMissed,
    TargetReached,
    TicksMeet,
)
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.prediction import Prediction
from asyncdp_sim.trace import Ending, Trace


@dataclass(frozen=True, eq=False)
class RunResult:
    """Result of running one scenario, in memory.

    Attributes
    ----------
    scenario : Scenario
        What was run, without a sweep.
    dataset : Dataset
    problem : Problem
    numbers : tuple of int
        The replicates that were run, from 1.
    traces : tuple of Trace
        One per replicate.
    learned : Learned
    ledger : Ledger
        What owners spent.
    guarantee : Guarantee
    summary : dict
        The manifest's ``summary``.
    notices : tuple of Notice
        What a reader must know.
    alone : array (N, p), optional
        Each owner's own optimum, where ``run.alone`` asks for it.
    gains : Gains, optional
        What owners gain, where it was judged.
    """

    scenario: Scenario
    dataset: Dataset
    problem: Problem
    numbers: tuple[int, ...]
    traces: tuple[Trace, ...]
    learned: Learned
    ledger: Ledger
    guarantee: Guarantee
    summary: dict[str, Any]
    notices: tuple[Notice, ...]
    alone: Array | None = None
    gains: Gains | None = None

    @property
    def participants(self) -> Participants:
        """Who took part."""
        return self.scenario.participants(self.dataset.owner_names)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know, in words."""
        return tuple(notice.describe() for notice in self.notices)

    @property
    def fingerprints(self) -> dict[str, str]:
        """Digests in layers; see :func:`asyncdp_sim.results.manifest.fingerprints`."""
        return manifests.fingerprints(self.traces, self.learned.curve, self.learned.models)


def all_numbers(scenario: Scenario) -> tuple[int, ...]:
    """Return the numbers of a scenario's replicates, from 1."""
    return tuple(range(1, scenario.run.replicates + 1))


@dataclass(frozen=True, eq=False)
class Ready:
    """A scenario with its data and numbers filled in, before anything is simulated.

    Attributes
    ----------
    scenario : Scenario
        Without a sweep.
    dataset : Dataset
    problem : Problem
    alone : array (N, p), optional
        Each owner's own optimum, where ``run.alone`` asks for it.
    """

    scenario: Scenario
    dataset: Dataset
    problem: Problem
    alone: Array | None

    @classmethod
    def from_scenario(
        cls, scenario: Scenario, dataset: Dataset, like: "Ready | None" = None
    ) -> "Ready":
        """Fill in a scenario's numbers from its data.

        Parameters
        ----------
        scenario : Scenario
        dataset : Dataset
        like : Ready, optional
            Another scenario: what the records ask for may be the same.

        Raises
        ------
        DataError
            If an optimum is not found, or the data do not fit the model.
        """
        problem = prepare(scenario, dataset, None if like is None else like.problem)
        alone = learn_alone(scenario.model, problem.records) if scenario.run.alone else None
        return cls(scenario, dataset, problem, alone)

    def outcome(
        self,
        numbers: Sequence[int],
        traces: Sequence[Trace],
        behaved: NetworkSummary,
        learned: Learned,
        *,
        workers: int,
        run_map: Map,
    ) -> RunResult:
        """Account for what was learned over traces, one per number, that ``behaved`` so."""
        scenario, dataset, problem = self.scenario, self.dataset, self.problem
        further = honest_summary(problem, self.scenario.model, learned.models, self.alone)
        if scenario.run.split:
            split = split_psi(
                scenario.algorithm, problem.task, scenario.run.seed, numbers, traces,
                learned.models, workers=workers, run_map=run_map,
            )  # fmt: skip
            further["psi_split"] = asdict(split)
        ledger = ledger_of(scenario, dataset, problem, traces)
        guarantee = judge(scenario, dataset, problem, traces, learned, ledger)
        of_learning = summary(scenario, dataset, learned, guarantee, ledger)
        figures = vars(behaved) | of_learning | further
        if scenario.energy is not None:
            spent = energy_figures(traces, scenario.energy, scenario.network)
            figures |= spent | {"intervals": figures["intervals"] | spent["intervals"]}
        return RunResult(
            scenario, dataset, problem, tuple(numbers), tuple(traces), learned, ledger, guarantee,
            summary=figures,
            notices=warnings(scenario, dataset, problem, traces, learned, guarantee),
            alone=self.alone,
        )  # fmt: skip


def warnings(
    scenario: Scenario,
    dataset: Dataset,
    problem: Problem,
    traces: Sequence[Trace],
    learned: Learned,
    guarantee: Guarantee,
) -> tuple[Notice, ...]:
    """Return what a reader of the result must know."""
    mark = {True: "", False: BROKEN, None: UNSHOWN}[guarantee.private]
    return (
        *(replace(item, sentence=f"{mark}{item.sentence}") for item in guarantee.because),
        *guarantee.remarks,
        *_of_scenario(scenario),
        *(() if scenario.run.target is None else _of_target(traces)),
        *NeverOnline.from_scenario(scenario, traces),
        *EndedEarly.of_runs(traces, scenario.run.updates),
        *_of_divergence(traces, learned),
        *([PrivateRecordsRead()] if dataset.real else []),
        *map(Noted.from_sentence, (*problem.notes, *dataset.notes)),
    )


def _of_scenario(scenario: Scenario) -> Iterator[Notice]:
    """Yield what the scenario asks for that a reader may overlook."""
    privacy = scenario.privacy
    yield from TicksMeet.from_scenario(scenario)
    if not privacy.hides and privacy.epsilon is not None:
        yield EpsilonNotUsed()
    if not privacy.needs_delta and privacy.delta is not None:
        yield DeltaNotUsed(privacy.mechanism.kind)
    if scenario.model.classifies and scenario.data.uncentred is not None:
        text = "neither centres nor scales columns, so that classes are predicted worse; use pca"
        yield Noted.from_sentence(scenario.data.uncentred, f"data.preprocessing = {{}} {text}")


def _of_target(traces: Sequence[Trace]) -> Iterator[Notice]:
    """Yield how many runs ended at the target, as they should, and how many never met it."""
    met = [trace.n_updates for trace in traces if trace.ending is Ending.target]
    if len(met) > 0:
        yield TargetReached(len(met), len(traces), Ends(min(met), max(met)))
    if len(met) < len(traces):
        yield TargetMissed(len(traces) - len(met), len(traces))


def _of_divergence(traces: Sequence[Trace], learned: Learned) -> Iterator[Notice]:
    curve = learned.curve
    lost = np.unique(curve["replicate"][~np.isfinite(curve["relative_fitness"])])
    if len(lost) > 0:
        yield ModelDiverged(len(lost), len(traces))


_TABLES = tuple(f"{name}.parquet" for name in ("updates", "curve", "owners", "models", "optimum"))
_ALLOWED = "allowed is a directory that does not exist yet: name another with --out"


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
    manifest, asked = read_manifest(directory), manifests.described(scenario)
    if "summary" not in manifest:
        require_free(directory)  # raises, as something is there
    if "measured" in manifest:
        which = "an existing path, of real processes, not of a simulation"
        raise ResultError([Fault("--out", which, _ALLOWED)], str(directory))
    differ = list(between("manifest.json", manifest["scenario"], asked, "asked"))
    complete = manifest.get("replicates") == list(all_numbers(scenario))
    if len(differ) > 0 or not complete:
        which = in_words(differ) or "of some replicates"
        problem = f"an existing path, another result ({which})"
        raise ResultError([Fault("--out", problem, _ALLOWED)], str(directory))
    missing = [name for name in _TABLES if not (directory / name).is_file()]
    if len(missing) > 0:
        problem = f"a damaged result, without {', '.join(missing)}"
        raise ResultError([Fault("--out", problem, _ALLOWED)], str(directory))
    kept_judging = judging_of(manifest)
    if judging is not None and kept_judging is not None and judging != kept_judging:
        options = f"--material {kept_judging.material:g} --own-best {kept_judging.own_best}"
        problem = f"an existing path, where gains were judged with {options}"
        raise ResultError([Fault("--out", problem, _ALLOWED)], str(directory))
    if events and manifest.get("events") is not True:
        problem = "a finished result without events"
        remedy = "allowed is it without --events, or another --out"
        raise ResultError([Fault("--events", problem, remedy)], str(directory))
    return True


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
        pass


def build(outcome: RunResult, directory: Path, *, updates: bool = True) -> Writer:
    """Build a result directory, and return what lets it appear.

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
    participants = outcome.participants
    traces, numbers, curve = outcome.traces, outcome.numbers, outcome.learned.curve
    if updates:
        writer.table("updates.parquet", participants.numbered(update_columns(traces, numbers)))
    writer.table("curve.parquet", {name: curve[name] for name in curve.dtype.names or ()})
    owners = owner_columns(
        outcome.problem, outcome.ledger, outcome.guarantee, outcome.scenario.privacy.overlap,
        traces, numbers, participants,
    )  # fmt: skip
    owners |= energy_columns(outcome.scenario, traces)
    owners |= owner_figures(outcome.problem, outcome.learned.models, outcome.alone)
    writer.table("owners.parquet", participants.numbered(owners))
    writer.table("models.parquet", model_columns(outcome.learned.models, numbers))
    optimum = outcome.problem.task.objective.optimum
    writer.table("optimum.parquet", optimum_columns(optimum))
    spending = spending_columns(outcome.problem.accountant, traces)
    if spending is not None and outcome.guarantee.is_upper:
        writer.table("spending.parquet", participants.numbered(spending))
    if outcome.alone is not None:
        writer.table("alone.parquet", participants.numbered(alone_columns(outcome.alone)))
    if outcome.gains is not None:
        gains = outcome.gains.columns(participants.names)
        writer.table("gains.parquet", participants.numbered(gains))
    if all(trace.events is not None for trace in traces):
        groups = event_groups(traces, numbers)
        writer.row_groups("events.parquet", map(participants.numbered, groups))
    writer.scenario(outcome.scenario)
    writer.put("manifest.json", content)
    writer.put(README, readme(content, writer.columns, ["manifest.json", "scenario.toml"]))


def manifest(outcome: RunResult) -> dict[str, Any]:
    """Return the origin and the summary of a result; no host, no path, no clock time."""
    return _labelled(outcome)[0]


def _labelled(outcome: RunResult) -> tuple[dict[str, Any], Label]:
    """Return the manifest of a result, and its label."""
    written = manifests.described(outcome.scenario)
    problem, names = outcome.problem, outcome.participants.names
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
        **({} if len(names) == 0 else {"owner_names": list(names)}),
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
        "predictions": [dict(vars(item)) for item in _predictions(outcome.scenario)],
        "warnings": list(outcome.warnings),
        "warning_fields": [item.content() for item in outcome.notices],
        "summary": outcome.summary,
    }
    unit = outcome.scenario.data.target_unit
    if outcome.gains is not None:
        content |= outcome.gains.content(unit)
    if problem.task.held_out is not None and unit is not None:
        content["target_unit"] = unit
    labelled = label([content])
    if outcome.gains is not None:  # as the JSON of a forecast has them
        read = labelled.not_for_release
        content |= {"reads": "all" if read else "public", "release": not read}
    return content | {"label": labelled.text}, labelled


def _predictions(scenario: Scenario) -> list[Prediction]:
    """Return predictions for a scenario's network, and for its energy if it has [energy]."""
    of_energy = energy_predictions(scenario.energy, scenario.network)
    return [*predict(scenario.network), *of_energy]
