"""Fills in the numbers of a scenario from its data, for the replicates to learn with."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import DataError, Fault, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.words import extent
from asyncdp_sim.data import Dataset
from asyncdp_sim.data.dataset import DataKind
from asyncdp_sim.data.tables.rows import FROM_PRIVATE, Swap
from asyncdp_sim.learning.algorithms import Algorithm, Asks, Gradients, Setting
from asyncdp_sim.learning.answers import AnswerModel, Sample, WholeAnswers
from asyncdp_sim.learning.live import Target
from asyncdp_sim.learning.objectives import Objective, Records
from asyncdp_sim.privacy import Accountant
from asyncdp_sim.privacy.mechanisms import AnswerNoise, NoNoise
from asyncdp_sim.runs.scored import HeldOut, LearningProblem, prepared
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.theory.predict.update_order import lateness, shares
from asyncdp_sim.theory.prediction import Unknown


@dataclass(frozen=True, eq=False)
class Task:
    """All that learning a replicate takes, for a worker process.

    It holds records only where second moments do not do: where losses are not quadratic, where
    gradients are clipped, and where a declared bound is watched.

    Attributes
    ----------
    objective : Objective
        Judges models.
    steps, reply
        The algorithm, and the owners' answers.
    record_every : int
        Distance in k between rows of the curve.
    asks : str
        Where gradients are taken.
    held_out : HeldOut, optional
        Judges models on the held-out rows of all owners, where there are any.
    target : Target, optional
        How good a model has to be for its run to end.
    watched : Records, optional
        Whose gradients are measured at every query that is answered, where a bound was declared.
    owner_numbers : tuple of int, optional
        Numbers that owners have in streams, where they are some of more owners.
    fitted : bool
        Whether the fit ψ is measured; else it is NaN in the curve.
    """

    objective: Objective
    steps: Algorithm
    reply: AnswerModel
    record_every: int
    asks: Asks = "average"
    held_out: HeldOut | None = None
    target: Target | None = None
    watched: Records | None = None
    owner_numbers: tuple[int, ...] | None = None
    fitted: bool = True

    def without_noise(self) -> "Task":
        """Return the same with no noise on answers; clipping and the domain stay as they are.

        Noise that is only scaled and added is scaled by 0, so that both can learn in one fold.
        ``privacy.mechanism = "none"`` is something else: nothing is clipped or scaled there.
        """
        reply, noise, bound = self.reply, self.reply.noise, self.reply.bound
        bound = None if bound is None else replace(bound, noise=0.0)
        if is_dataclass(noise) and noise.added is not None:
            silent = replace(noise, scale=np.zeros_like(noise.scale))
            return replace(self, reply=replace(reply, noise=silent, bound=bound))
        exact = NoNoise(np.zeros(self.objective.n_owners))
        return replace(self, reply=replace(reply, noise=exact, allotment=None, bound=bound))


@dataclass(frozen=True, eq=False)
class Problem:
    """A scenario with its data and numbers filled in, before anything is simulated.

    Attributes
    ----------
    scenario : Scenario
        Without a sweep.
    task : Task
    posed : LearningProblem
        What the records ask for, whatever is hidden of them.
    accountant : Accountant
        What answers cost: ε_i and K_i.
    xi : float or None
        Ξ that the noise is scaled for; None without a mechanism.
    alone : array (N, p), optional
        Each owner's own optimum, where ``run.alone`` asks for it.
    """

    scenario: Scenario
    task: Task
    posed: LearningProblem
    accountant: Accountant
    xi: float | None
    alone: Array | None = None

    @property
    def dataset(self) -> Dataset:
        """The owners' records as they are read."""
        return self.posed.dataset

    @property
    def participants(self) -> Participants:
        """Who takes part."""
        return self.scenario.participants(self.dataset.owner_names)

    @property
    def records(self) -> Records:
        """The owners' records, for what second moments cannot tell."""
        return self.posed.records

    @property
    def noise(self) -> AnswerNoise:
        """What answers are hidden by; learning knows no more of it than it needs."""
        return self.task.reply.noise


def records(
    data: DataKind, count: int, sizes: tuple[int, ...] | None, seed: int, swap: Swap | None = None
) -> Dataset:
    """Return all owners' records."""
    return data.build(count, sizes, Streams(seed), swap)


few_records = lru_cache(maxsize=4)(records)
drawn_records = lru_cache(maxsize=2)(records)
"""The same, of few that no file holds and of more: kept, for later questions about them.

Of more, two sets: variants that take turns with them draw neither again.
"""
FEW_CELLS = 10_000_000
"""Features and targets of all owners' records, 80 MB."""


def build_dataset(
    scenario: Scenario, swap: Swap | None = None, read: Callable[..., Dataset] = records
) -> Dataset:
    """Return the records of the owners of a scenario, one of them replaced where that is asked for.

    Parameters
    ----------
    scenario : Scenario
    swap : Swap, optional
    read : callable
        Reads records that a file holds, as :func:`records` does.

    Raises
    ------
    DataError
        If a data file is not what the scenario says.
    """
    sizes = scenario.all_records
    arguments = (scenario.read_data, scenario.owners.whole, sizes, scenario.run.seed)
    if swap is not None:
        return of_owners(scenario, records(*arguments, swap))
    if scenario.data.file is None:
        cells = sum(sizes or (FEW_CELLS,)) * (scenario.data.features + 1)
        read = few_records if cells <= FEW_CELLS else drawn_records
    return of_owners(scenario, read(*arguments))


def of_owners(scenario: Scenario, made: Dataset) -> Dataset:
    """Return what a scenario's owners have of all records that were made."""
    if not (made.real or scenario.data.synthetic):  # data from outside, which say what they read
        made = replace(made, real=True)
    return scenario.part(made)


def prepare(
    scenario: Scenario,
    dataset: Dataset,
    like: Problem | None = None,
    *,
    judged: bool = True,
    noise_of: Ints | None = None,
) -> Problem:
    """Fill in a scenario's numbers from its data.

    Parameters
    ----------
    scenario : Scenario
    dataset : Dataset
    like : Problem, optional
        One that may be about the same records: what they ask for is not worked out again then.
    judged : bool
        Whether anybody asks how good models are, so that θ* has to be there.
    noise_of : array (N,), optional
        Records n_i that noise is scaled for, where the data set lacks some that a run would have.

    Raises
    ------
    DataError
        If the targets are no labels of a model that classifies, if θ* is not found, or if the
        relative fitness is undefined on these data.
    """
    privacy = scenario.privacy
    posed = None if like is None or not like.posed.fits(scenario, dataset) else like.posed
    posed = (
        LearningProblem.from_scenario(scenario, dataset, judged=judged) if posed is None else posed
    )
    objective, records = posed.objective, posed.records
    noise = scenario.noise_for(objective.records if noise_of is None else noise_of)
    steps = scenario.algorithm.steps(_setting(scenario, objective, noise))
    gradients = _answered(scenario, steps, objective, records)
    reply = AnswerModel(
        gradients,
        noise,
        sample=_sample(scenario, records),
        allotment=privacy.allotment(objective.n_owners),
        copy=privacy.copy_number,
        whole=privacy.per_owner and privacy.hides,
        bound=scenario.clip_law,
    )
    task = Task(
        objective=posed.judge,
        steps=steps,
        reply=reply,
        record_every=scenario.run.record_every,
        asks=scenario.protocol.asks,
        held_out=posed.all_held_out,
        target=None if scenario.run.target is None else Target(posed.judge, scenario.run.target),
        watched=records if privacy.on_trust else None,
        owner_numbers=scenario.owners.numbers,
    )
    xi = None if privacy.bounded is None else scenario.xi
    return Problem(scenario, task, posed, scenario.accountant, xi)


def exact_answers(scenario: Scenario, dataset: Dataset, steps: Algorithm) -> Gradients:
    """Return what owners answer before noise, on these data; no optimum is looked for.

    Raises
    ------
    DataError
        If the targets are no labels of a model that classifies.
    """
    model, privacy = scenario.model, scenario.privacy
    rows = prepared(scenario, dataset).trained_on
    records = model.records(*rows, privacy.record_clip, privacy.norm)
    return _answered(scenario, steps, model.objective(*rows), records)


def _answered(
    scenario: Scenario, steps: Algorithm, objective: Objective, records: Records
) -> Gradients:
    """Return what owners answer with: second moments do, where no record is clipped.

    Raises
    ------
    SpecError
        If an algorithm that is given noisy answers alone makes something else of gradients.
    """
    algorithm, privacy = scenario.algorithm, scenario.privacy
    exact: Gradients = objective if privacy.record_clip is None else records
    if privacy.per_owner and privacy.clip_bound is not None:  # nothing hidden is not clipped
        bound = None if privacy.bound_moves else privacy.clip_bound
        exact = WholeAnswers(exact, bound, privacy.norm, steps.local)
    if not algorithm.outside or algorithm.handles_gradients:
        return steps.answered_with(exact)
    if type(steps).answered_with is not Algorithm.answered_with or steps.local is not None:
        raise SpecError([algorithm.undeclared_fault("what owners answer with")])
    return exact


def _setting(scenario: Scenario, objective: Objective, noise: AnswerNoise) -> Setting:
    """Return the numbers that the algorithm is filled in with."""
    model, privacy = scenario.model, scenario.privacy
    needed = scenario.algorithm.needs_shares
    late = lateness(scenario.network) if scenario.algorithm.needs_lateness else None
    return Setting(
        weights=objective.weights,
        n_features=objective.n_features,
        horizon=scenario.run.updates,
        sigma=model.sigma,
        theta_max=model.theta_max,
        shares=np.array(shares(scenario.network)) if needed else None,
        protocol=scenario.protocol,
        noise=noise.scale,
        domain=privacy.bounded,
        lateness=None if isinstance(late, Unknown) else late,
    )


def _sample(scenario: Scenario, records: Records) -> Sample | None:
    """Return which records each answer is over; None is all of an owner's."""
    batch, probability = scenario.algorithm.sample, scenario.privacy.sampling
    if probability is not None:
        return Sample(records, max(map(len, records.targets)), probability)
    return None if batch is None else Sample(records, batch)


_MOST_USUAL = 4
"""Notes on columns, and counts of rows and owners, that are printed if there are no more."""
_COUNTS = frozenset({"values", "unused", "held"})
"""Fields of sentences that count the rows and owners of any table."""
_SAID = frozenset({"values", "held"})
"""Those that other lines of ``asyncdp check`` have said."""
_PRIVATE = "NOT FOR RELEASE: the lines below are exact counts of private rows, which no ε covers"


def table_lines(scenario: Scenario, *, details: bool = True) -> list[str]:
    """Return what a table is to its scenario, in words; none where no file is read.

    Without details, what the lines on owners and on held-out rows have said is left out.

    Raises
    ------
    DataError
        With all that a run, or a cell of the sweep, would refuse.
    """
    lines: list[str] = []
    faults: list[Fault] = []
    for place, cell in _cells(scenario):
        try:
            dataset = build_dataset(cell)
            prepare(cell, dataset)
        except DataError as error:
            faults += [fault.under(place) for fault in error.faults if fault not in faults]
        else:
            sizes = f"{extent(dataset.records)} records of an owner"
            lines = lines or [f"table: {sizes}", *_few(cell, dataset, details)]
    if len(faults) > 0:
        raise DataError(dict.fromkeys(faults))
    return lines


def require_columns(scenario: Scenario) -> None:
    """Refuse a synthetic twin whose columns are others than the scenario says, as a run would.

    One row of an owner is drawn, and the public ones: what columns there are depends on no more.

    Raises
    ------
    DataError
        With all that a run, or a cell of the sweep, would refuse.
    """
    faults: list[Fault] = []
    drawn: dict[str, tuple[str, Scenario]] = {}
    swept = any(path.partition(".")[0] in ("data", VARIANT) for path in scenario.sweep)
    cells = map(scenario.cell, scenario.grid() if swept else ())
    for place, cell in [("", scenario.base()), *(("sweep", cell) for cell in cells)]:
        drawn_twin = cell.data.file is None and cell.data.has_columns
        if drawn_twin and (not cell.data.says_records or _unsized(cell)):
            drawn.setdefault(cell.data.model_dump_json(), (place, cell))
    for place, cell in drawn.values():
        try:
            data = cell.read_data.model_copy(update={"held_out": 0.0})  # a share of one is no row
            records = None if _unsized(cell) else (1,)
            data.build(1, records, Streams(scenario.run.seed))
        except DataError as error:
            faults += [fault.under(place) for fault in error.faults]
    if len(faults) > 0:
        raise DataError(dict.fromkeys(faults))


def _unsized(scenario: Scenario) -> bool:
    """Return whether nothing says how many rows a twin has that is split by its targets."""
    split: Any = getattr(scenario.data, "split", None)
    unsaid = split is not None and split.by_target and split.shared_rows is None
    return bool(unsaid and scenario.owners.records is None)


def _few(scenario: Scenario, dataset: Dataset, details: bool) -> Iterator[str]:
    """Yield the notes on a table; the usual ones are counted where they are many."""
    columns = tuple(f"{name}: " for name in getattr(scenario.data, "columns", None) or ())
    usual = [
        note
        for note in dataset.notes
        if note.removeprefix(FROM_PRIVATE).startswith(columns)
        or not _COUNTS.isdisjoint(getattr(note, "fields", ()))
    ]
    many = len(usual) > _MOST_USUAL
    said = frozenset() if details else _SAID
    notes = [
        note
        for note in dataset.notes
        if not (many and note in usual) and said.isdisjoint(getattr(note, "fields", ()))
    ]
    notes += dataset.unlike
    if dataset.real and any(not note.startswith("Public rows: ") for note in notes):
        yield _PRIVATE
    yield from (f"table: {note}" for note in notes)
    if many:
        yield f"table: {len(usual)} notes on columns, rows, owners: asyncdp run --details"


def _cells(scenario: Scenario) -> Iterator[tuple[str, Scenario]]:
    """Yield the base, and cells in which other things are made of a file, and where they stand."""
    seen = []
    cells = (("sweep", scenario.cell(chosen)) for chosen in scenario.grid())
    for place, cell in itertools.chain([("", scenario.base())], cells):
        made = (cell.data, cell.owners, cell.model)
        if cell.data.file is not None and made not in seen:
            seen.append(made)
            yield place, cell
