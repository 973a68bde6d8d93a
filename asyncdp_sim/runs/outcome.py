"""The result of a run in memory: its accounts, its summary, and what a reader of it must know.

Accounts are the owners' table and the guarantee. Among them is an honest comparison of the private
model: on rows that it has not seen, and with owners alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.messages import Extent, Noted, Notice
from asyncdp_sim.data import Dataset
from asyncdp_sim.data.dataset import blank, outlying
from asyncdp_sim.learning.objectives import Model, Records
from asyncdp_sim.learning.objectives.records import Observed, largest_of_all
from asyncdp_sim.measures.energy import energy_figures, used
from asyncdp_sim.measures.scores import Score
from asyncdp_sim.privacy import Accountant, Guarantee, Ledger, ObservedMax, guarantee
from asyncdp_sim.privacy.guarantee import BROKEN, UNSHOWN
from asyncdp_sim.privacy.pairs import mu_of, of_gaussian, of_pure
from asyncdp_sim.results import manifest as manifests
from asyncdp_sim.results.columns import arrow_texts
from asyncdp_sim.runs.gains import Gains
from asyncdp_sim.runs.problem import Problem, prepare
from asyncdp_sim.runs.replicates import Learned, Workers
from asyncdp_sim.runs.scored import HeldOut, psi_of
from asyncdp_sim.runs.split import split_psi
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences import warnings as notes
from asyncdp_sim.trace import RELEASED, Ending, ExchangeOutcome, Trace
from asyncdp_sim.trace.vocabulary import State

Columns = dict[str, Any]


@dataclass(frozen=True, eq=False)
class RunResult:
    """Result of running one scenario, in memory.

    Attributes
    ----------
    problem : Problem
        What was run.
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
    gains : Gains, optional
        What owners gain, where it was judged.
    """

    problem: Problem
    numbers: tuple[int, ...]
    traces: tuple[Trace, ...]
    learned: Learned
    ledger: Ledger
    guarantee: Guarantee
    summary: dict[str, Any]
    notices: tuple[Notice, ...]
    gains: Gains | None = None

    @property
    def scenario(self) -> Scenario:
        """What was run, without a sweep."""
        return self.problem.scenario

    @property
    def dataset(self) -> Dataset:
        """The owners' records."""
        return self.problem.dataset

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


def ready(scenario: Scenario, dataset: Dataset, like: Problem | None = None) -> Problem:
    """Fill in a scenario's numbers from its data, and find what owners reach alone if asked to.

    Arguments are those of :func:`~asyncdp_sim.runs.problem.prepare`.

    Raises
    ------
    DataError
        If an optimum is not found, or the data do not fit the model.
    """
    problem = prepare(scenario, dataset, like)
    if not scenario.run.alone:
        return problem
    return replace(problem, alone=learn_alone(scenario.model, problem.records))


def outcome_of(
    problem: Problem,
    numbers: Sequence[int],
    traces: Sequence[Trace],
    network_summary: Mapping[str, Any],
    learned: Learned,
    workers: Workers,
) -> RunResult:
    """Return the result of what was learned over traces, one per replicate in ``numbers``."""
    scenario = problem.scenario
    honest_figures = honest_summary(problem, learned.models)
    if scenario.run.split:
        over = (scenario.run.seed, numbers, traces, learned.models, workers)
        split = split_psi(scenario.algorithm, problem.task, *over)
        honest_figures["psi_split"] = asdict(split)
    ledger = ledger_of(problem, traces)
    judged = judge(problem, traces, learned, ledger)
    of_learning = summary(problem, learned, judged, ledger)
    # of a figure that two have, the later one is kept; ``intervals`` is joined below
    figures = {**network_summary, **of_learning, **honest_figures}
    if scenario.energy is not None:
        spent = energy_figures(traces, scenario.energy, scenario.network)
        figures |= spent | {"intervals": figures["intervals"] | spent["intervals"]}
    reported = notices(problem, traces, learned, judged)
    return RunResult(
        problem, tuple(numbers), tuple(traces), learned, ledger, judged, figures, reported
    )


def notices(
    problem: Problem, traces: Sequence[Trace], learned: Learned, guarantee: Guarantee
) -> tuple[Notice, ...]:
    """Return what a reader of the result must know; :attr:`RunResult.warnings` has it in words."""
    scenario, dataset = problem.scenario, problem.dataset
    mark = {True: "", False: BROKEN, None: UNSHOWN}[guarantee.private]
    return (
        *(replace(item, sentence=f"{mark}{item.sentence}") for item in guarantee.because),
        *guarantee.remarks,
        *_of_scenario(scenario),
        *(() if scenario.run.target is None else _of_target(traces)),
        *notes.NeverOnline.from_scenario(scenario, traces),
        *notes.EndedEarly.of_runs(traces, scenario.run.updates),
        *_of_divergence(traces, learned),
        *([notes.PrivateRecordsRead()] if dataset.real else []),
        *map(Noted.from_sentence, (*problem.posed.notes, *dataset.notes)),
    )


def _of_scenario(scenario: Scenario) -> Iterator[Notice]:
    """Yield what the scenario asks for that a reader may overlook."""
    privacy = scenario.privacy
    yield from notes.TicksMeet.from_scenario(scenario)
    if not privacy.hides and privacy.epsilon is not None:
        yield notes.EpsilonNotUsed()
    if not privacy.needs_delta and privacy.delta is not None:
        yield notes.DeltaNotUsed(privacy.mechanism.kind)
    if scenario.model.classifies and scenario.data.uncentred is not None:
        text = "neither centres nor scales columns, so that classes are predicted worse; use pca"
        yield Noted.from_sentence(scenario.data.uncentred, f"data.preprocessing = {{}} {text}")


def _of_target(traces: Sequence[Trace]) -> Iterator[Notice]:
    """Yield how many runs ended at the target, as they should, and how many never met it."""
    n_updates = [trace.n_updates for trace in traces if trace.ending is Ending.target]
    if len(n_updates) > 0:
        ends = Extent(min(n_updates), max(n_updates))
        yield notes.TargetReached(len(n_updates), len(traces), ends)
    if len(n_updates) < len(traces):
        yield notes.TargetMissed(len(traces) - len(n_updates), len(traces))


def _of_divergence(traces: Sequence[Trace], learned: Learned) -> Iterator[Notice]:
    curve = learned.curve
    diverged = np.unique(curve["replicate"][~np.isfinite(curve["relative_fitness"])])
    if len(diverged) > 0:
        yield notes.ModelDiverged(len(diverged), len(traces))


def judge(problem: Problem, traces: Sequence[Trace], learned: Learned, ledger: Ledger) -> Guarantee:
    """Return what the run guarantees, measuring record gradients where a bound was declared."""
    scenario = problem.scenario
    finite = np.isfinite(learned.models).all(axis=1)
    return guarantee(
        scenario.privacy,
        problem.accountant,
        0.0 if problem.xi is None else problem.xi,
        problem.task.objective.n_features,
        _look(problem, traces, learned),
        problem.dataset.public_rows_of_owner,
        problem.task.objective.records,
        noise=problem.noise,
        diverged=int(np.count_nonzero(~finite)),
        obfuscated=scenario.algorithm.obfuscates,
        timing=scenario.timing_unaccounted,
        unsound=scenario.data.unsound,
        chosen=scenario.chosen_privately,
        owners=scenario.owners.participants,
        observed=None if scenario.privacy.listener.by_count else float(ledger.spent.max()),
        outside=scenario.outside_parts,
    )


def ledger_of(problem: Problem, traces: Sequence[Trace]) -> Ledger:
    """Return what owners spent, against the observer of the scenario."""
    observer = problem.scenario.privacy.listener.listening(problem.scenario)
    public = problem.dataset.public_rows_of_owner
    return Ledger.from_traces(problem.accountant, traces, public, observer)


def _look(problem: Problem, traces: Sequence[Trace], learned: Learned) -> ObservedMax | None:
    """Return how long record gradients are where they were asked for, or may be asked for next.

    That is at every query of an owner that was answered, and at the start, θ* and the final models
    for every owner.
    """
    records = problem.task.watched
    if records is None:
        return None
    met = learned.met or Observed(np.zeros(len(records.targets)), 0)
    models, starts = _distinct(learned.models), _distinct(learned.starts)
    value = models[np.isfinite(models).all(axis=1)]  # of diverged ones there is a count
    least = np.maximum(met.largest, problem.posed.longest_from(starts))
    values = largest_of_all(records, value, least)
    answered = sum(int(np.count_nonzero(trace.came_to(*RELEASED))) for trace in traces)
    return ObservedMax(values, met.queries, answered - met.queries)


def _distinct(models: Array) -> Array:
    """Return each model once; most often all are one, which needs no sorting."""
    return models[:1] if (models == models[:1]).all() else np.unique(models, axis=0)


def owner_columns(
    problem: Problem,
    ledger: Ledger,
    judged: Guarantee,
    traces: Sequence[Trace],
    numbers: Sequence[int],
) -> Columns:
    """Return ``owners``: one row per replicate and owner; NaN where a value is absent.

    Names are whole, as the table or the scenario has them; a column of them is there where owners
    have names.
    """
    n_owners, names = problem.task.objective.n_owners, problem.participants.names
    replicates, sharers = len(traces), problem.scenario.privacy.overlap
    hidden = problem.xi is not None
    epsilon = problem.accountant.epsilon if hidden else np.full(n_owners, np.nan)
    zcdp = {} if ledger.zcdp is None else {"zcdp_spent": ledger.zcdp.ravel()}
    median, attacker = ledger.median, ledger.attacker(sharers, judged.times)
    bare = np.isinf(judged.times) | np.isinf(ledger.spent.ravel())
    bounded = hidden & (judged.is_upper | bare)
    return {
        **owner_keys(traces, numbers),
        **({} if len(names) == 0 else {"name": arrow_texts(names * replicates)}),
        "records": np.tile(problem.task.objective.records, replicates),
        "epsilon": np.tile(epsilon, replicates),
        "epsilon_spent": np.where(hidden, ledger.spent.ravel(), np.nan),
        **zcdp,
        **({} if median is None else {"epsilon_median": median.ravel()}),
        "attacker_power": np.where(bounded, attacker.power.ravel(), np.nan),
        "attacker_advantage": np.where(bounded, attacker.advantage.ravel(), np.nan),
        **owner_counts(traces),
    }


def owner_keys(traces: Sequence[Trace], numbers: Sequence[int]) -> Columns:
    """Return which replicate and owner each row of ``owners`` is of."""
    owners = [trace.owners["owner"] for trace in traces]
    return {
        "replicate": np.repeat(np.array(numbers, dtype=np.int32), len(owners[0])),
        "owner": np.concatenate(owners),
    }


def owner_counts(traces: Sequence[Trace]) -> Columns:
    """Return the network columns of ``owners``: answers, attempts, and time online."""
    counts = {
        "answers_released": [trace.released for trace in traces],
        "updates": [trace.ended(ExchangeOutcome.applied) for trace in traces],
        "attempts": [trace.owners["attempts"] for trace in traces],
        "refused": [trace.owners["refused"] for trace in traces],
        "collided": [trace.ended(ExchangeOutcome.collided) for trace in traces],
        "lost": [trace.ended(ExchangeOutcome.lost) for trace in traces],
    }
    columns = {name: np.concatenate(item).astype(np.int32) for name, item in counts.items()}
    return columns | {"online_fraction": np.concatenate([t.owners["online"] for t in traces])}


def energy_columns(scenario: Scenario, traces: Sequence[Trace]) -> Columns:
    """Return the energy and byte columns of ``owners``, if the scenario has [energy]."""
    energy = scenario.energy
    if energy is None:
        return {}
    every = [used(trace, energy, scenario.network) for trace in traces]
    times = np.concatenate([item.times for item in every])
    return {
        "joules": np.concatenate([item.joules for item in every]),
        "bytes_sent": np.concatenate([item.sent for item in every]),
        "bytes_received": np.concatenate([item.received for item in every]),
        **{f"time_{state.name}": times[:, state] for state in State},
    }


def attacked(accountant: Accountant, judged: Guarantee, owners: int) -> dict[str, float | None]:
    """Return the most that an attacker can do with all that the observer receives of one record.

    κ = ``owners`` hold the record. Of one owner's, by the answers' own trade-off curve; else, or
    where they are not as private as claimed, by the true ε at δ. Of Gaussian answers that ε tells
    the curve. Where ε is only the least that it may be, there is no such bound.
    """
    true, delta = judged.epsilon_true, judged.delta
    if delta is None or true is None or not (judged.is_upper or np.isinf(true)):
        return {"attacker_power": None, "attacker_advantage": None}
    if accountant.multiplier is not None:
        every = of_gaussian(np.array([mu_of(true, delta)]))
    elif judged.private is False or owners > 1:
        every = of_pure(np.array([true]), delta)
    else:
        every = accountant.attacker(accountant.answers)
    power, advantage = float(every.power.max()), float(every.advantage.max())
    return {"attacker_power": power, "attacker_advantage": advantage}


def summary(
    problem: Problem, learned: Learned, judged: Guarantee, ledger: Ledger
) -> dict[str, Any]:
    """Return the figures of learning and privacy in the manifest's ``summary``."""
    curve = learned.curve
    last = np.flatnonzero(np.diff(curve["replicate"], append=-1) != 0)
    kappa = problem.scenario.privacy.overlap
    shared = {"shared_record_epsilon": ledger.shared(kappa)} if kappa > 1 else {}
    return {
        "clip_count": int(learned.clipped.sum()),
        "psi_final": spread(curve["relative_fitness"][last]),
        "max_spent_ratio": ledger.ratio(),
        **shared,
        "private": judged.private,
        "epsilon_true": judged.epsilon_true,
        "epsilon_at_least": judged.at_least,
        "delta": judged.delta,
        **attacked(ledger.accountant, judged, kappa),
        "bound_exceeded": judged.bound_exceeded,
        "queries_unseen": judged.unseen,
        "timing_accounted": problem.scenario.timing_unaccounted is None,
        "not_for_release": problem.dataset.real,
    }


def spread(psi: Array) -> dict[str, float]:
    """Return mean and quartiles; what has overflowed counts as infinite."""
    psi = np.where(np.isnan(psi), np.inf, psi)
    between: Literal["linear", "nearest"] = "linear" if np.isfinite(psi).all() else "nearest"
    with np.errstate(over="ignore"):
        low, middle, high = np.quantile(psi, (0.25, 0.5, 0.75), method=between)
        mean = psi.mean()
    return {"mean": float(mean), "median": float(middle), "q25": float(low), "q75": float(high)}


def learn_alone(model: Model, records: Records) -> Array:
    """Return θ_i*, each owner's optimum on its own training rows, shape (N, p).

    θ_i* = argmin over Θ of g(θ) + (1/n_i) Σ_{D_i} ℓ: no noise, no network, and nobody else's
    records (Async, figures 7 and 11). Where answers are clipped, losses here are not.

    Parameters
    ----------
    model : Model
    records : Records
        Rows that θ multiplies, and targets, owner by owner.

    Raises
    ------
    DataError
        If an owner's optimum is not found, naming the owner.
    """
    matches = []
    for owner, (x, y) in enumerate(zip(records.features, records.targets, strict=True), start=1):
        try:
            matches.append(_optimum(model, x, y))
        except DataError as error:
            named = [replace(f, given=f"{f.given} (owner {owner} alone)") for f in error.faults]
            raise DataError(named) from None
    return np.array(matches)


def _optimum(model: Model, x: Array, y: Array) -> Array:
    """Return an owner's θ_i*; where it is not found, that of its records of usual size."""
    try:
        return model.objective([x], [y]).optimum
    except DataError:
        far = outlying([x])
        if not far[0].any():
            raise
        return model.objective(blank([x], far), blank([y], far)).optimum


def owner_figures(problem: Problem, models: Array) -> dict[str, Any]:
    """Return further columns of ``owners``, one row per replicate and owner; NaN where absent.

    Parameters
    ----------
    problem : Problem
    models : array (R, p)
        Final central models.
    """
    judges, optimum = problem.posed.held_out, problem.task.objective.optimum[None]
    alone = problem.alone
    columns: dict[str, Any] = {}
    if len(judges) > 0:
        columns["held_out_records"] = _records(judges)
        columns["held_out_loss"] = np.stack([left.mean_loss(models) for left in judges], axis=1)
        columns["held_out_optimum"] = np.array([left.mean_loss(optimum)[0] for left in judges])
        columns |= _named(judges[0].scores, [left.scored(models) for left in judges])
        columns |= _named(judges[0].scores, [left.scored(optimum) for left in judges], "_optimum")
    if alone is not None:
        columns["psi_alone"] = psi_of(problem.task.objective, alone)
    if alone is not None and len(judges) > 0:
        columns["held_out_alone"] = _own(judges, alone)
        own = [left.scored(theta[None]) for left, theta in zip(judges, alone, strict=True)]
        columns |= _named(judges[0].scores, own, "_alone")
    shape = (len(models), problem.task.objective.n_owners)
    return {name: np.broadcast_to(values, shape).ravel() for name, values in columns.items()}


def honest_summary(problem: Problem, models: Array) -> dict[str, Any]:
    """Return further figures of the manifest's ``summary``; none where nothing was asked for.

    ``held_out_final`` is the spread over replicates of the final models' mean loss over all
    held-out rows, ``held_out_optimum`` that loss of θ*, ``held_out_alone`` that of each row under
    its owner's θ_i*; null where no held-out row has a target. ``profits_psi`` counts the owners
    for whom the mean of the final ψ is below ψ(θ_i*), ``profits_held_out`` those on whose own
    held-out rows the final models err less than θ_i*, in the mean over replicates of the first
    score. Each of :mod:`~asyncdp_sim.measures.scores` has figures too: ``held_out_rmse`` over
    replicates, ``held_out_rmse_optimum``, ``held_out_rmse_alone``, and ``held_out_rmse_guess`` of
    guessing.

    Parameters
    ----------
    problem, models
        As in :func:`owner_figures`.
    """
    objective, alone = problem.task.objective, problem.alone
    judges, together = problem.posed.held_out, problem.task.held_out
    by_name: dict[str, Any] = {}
    if together is not None:
        loss = spread(together.mean_loss(models)) if together.records > 0 else None
        by_name["held_out_final"] = loss
        by_name["held_out_optimum"] = float(together.mean_loss(objective.optimum[None])[0])
        for score, values in together.scored(models).items():
            by_name[f"held_out_{score.name}"] = None if np.isnan(values).any() else spread(values)
        for score, (value,) in together.scored(objective.optimum[None]).items():
            by_name[f"held_out_{score.name}_optimum"] = float(value)
        by_name |= _guessed(problem, together)
    if alone is not None:
        worse = psi_of(objective, alone) > psi_of(objective, models).mean()
        by_name["profits_psi"] = int(np.count_nonzero(worse))
    if alone is not None and together is not None:
        items, records = _own(judges, alone), _records(judges)
        total = float(items[records > 0] @ records[records > 0])
        by_name["held_out_alone"] = total / together.records if together.records > 0 else None
        errs = [
            (left.headline(theta[None])[0], left.headline(models).mean())
            for left, theta in zip(judges, alone, strict=True)
        ]
        more = together.scores[0].more_is_better
        by_name["profits_held_out"] = sum(
            bool(final > own if more else own > final) for own, final in errs
        )
        pairs = zip(judges, alone, strict=True)
        z = np.concatenate([left.predictions(theta[None]) for left, theta in pairs], axis=1)
        for score in together.scores:
            by_name[f"held_out_{score.name}_alone"] = float(score.of(z, together.known[1])[0])
    return by_name


def _guessed(problem: Problem, together: HeldOut) -> dict[str, float]:
    """Return scores of one prediction for all held-out rows, which training targets decide."""
    guess = problem.scenario.model.guess(np.concatenate(problem.dataset.targets))
    y = together.known[1]
    z = np.broadcast_to(guess, (1, len(y), *guess.shape))
    return {f"held_out_{s.name}_guess": float(s.of(z, y)[0]) for s in together.scores}


def _own(judges: Sequence[HeldOut], alone: Array) -> Array:
    """Return the loss of θ_i* on owner i's held-out rows, shape (N,); NaN where it has none."""
    pairs = zip(judges, alone, strict=True)
    return np.array([left.mean_loss(theta[None])[0] for left, theta in pairs])


def _named(
    scores: Sequence[Score], found: Sequence[Mapping[Score, Array]], behind: str = ""
) -> dict[str, Array]:
    """Return scores of each owner, (J, N) by name, or (N,) where there is one model."""
    columns = {s: np.stack([result[s] for result in found], axis=1) for s in scores}
    return {f"held_out_{score.name}{behind}": values for score, values in columns.items()}


def _records(judges: Sequence[HeldOut]) -> Ints:
    return np.array([left.records for left in judges], dtype=np.int64)
