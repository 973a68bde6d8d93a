"""What was spent, what is guaranteed, and the summary that stands in the manifest."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data import Dataset
from asyncdp_sim.learning.algorithms import Polar
from asyncdp_sim.learning.objectives.largest import largest
from asyncdp_sim.learning.watch import ANSWERED, Met
from asyncdp_sim.privacy import Guarantee, Ledger, Look, guarantee
from asyncdp_sim.privacy.label import BROKEN, UNSHOWN
from asyncdp_sim.runs.problem import Problem
from asyncdp_sim.runs.replicates import Learned
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import Ending, Outcome, Trace

Columns = dict[str, Any]


def judge(
    scenario: Scenario,
    dataset: Dataset,
    problem: Problem,
    traces: Sequence[Trace],
    learned: Learned,
) -> Guarantee:
    """Return what the run guarantees, measuring record gradients where a bound was declared."""
    finite = np.isfinite(learned.models).all(axis=1)
    return guarantee(
        scenario.privacy,
        problem.accountant,
        0.0 if problem.xi is None else problem.xi,
        problem.task.objective.n_features,
        _look(problem, traces, learned),
        dataset.public_rows_of_owner,
        problem.task.objective.records,
        diverged=int(np.count_nonzero(~finite)),
        obfuscated=isinstance(scenario.algorithm, Polar),
        timing=scenario.timing_unaccounted,
        unsound=scenario.data.unsound,
    )


def _look(problem: Problem, traces: Sequence[Trace], learned: Learned) -> Look | None:
    """Return how long record gradients are where they were asked for, or may be asked for next.

    That is at every query of an owner that was answered, and at the start, θ* and the final models
    for every owner.
    """
    records = problem.task.watched
    if records is None:
        return None
    places = [problem.task.objective.optimum[None], learned.starts, learned.models]
    models = np.unique(np.concatenate(places), axis=0)
    known = models[np.isfinite(models).all(axis=1)]  # of diverged ones there is a count
    met = learned.met or Met(np.zeros(len(records.targets)), 0)
    each = [largest(records, owner, known, least) for owner, least in enumerate(met.largest)]
    answered = sum(int(trace.ended(*ANSWERED).sum()) for trace in traces)
    return Look(np.array(each), met.queries, answered - met.queries)


def owner_columns(
    problem: Problem, dataset: Dataset, traces: Sequence[Trace], numbers: Sequence[int]
) -> Columns:
    """Return ``owners``: one row per replicate and owner; NaN where a value is absent."""
    n_owners = problem.task.objective.n_owners
    tables = np.concatenate([trace.owners for trace in traces])
    ledger = Ledger.of(problem.accountant, traces, dataset.public_rows_of_owner)
    used = [np.bincount(t.updates["owner"], minlength=n_owners + 1)[1:] for t in traces]
    replicates = len(traces)
    hidden = problem.xi is not None
    epsilon = problem.accountant.epsilon if hidden else np.full(n_owners, np.nan)
    zcdp = {} if ledger.zcdp is None else {"zcdp_spent": ledger.zcdp.ravel()}
    collided = np.concatenate([trace.ended(Outcome.collided) for trace in traces])
    lost = np.concatenate([trace.ended(Outcome.lost) for trace in traces])
    withheld = np.concatenate([trace.ended(Outcome.withheld) for trace in traces])
    return {
        "replicate": np.repeat(np.array(numbers, dtype=np.int32), n_owners),
        "owner": tables["owner"],
        "records": np.tile(problem.task.objective.records, replicates),
        "epsilon": np.tile(epsilon, replicates),
        "epsilon_spent": ledger.spent.ravel() if hidden else np.full(ledger.spent.size, np.nan),
        **zcdp,
        "answers_released": ledger.released.ravel().astype(np.int32),
        "updates": np.concatenate(used).astype(np.int32),
        "attempts": tables["attempts"].astype(np.int32),
        "refused": tables["refused"].astype(np.int32),
        "collided": collided.astype(np.int32),
        "lost": lost.astype(np.int32),
        "online_fraction": tables["online"],
        **({} if problem.task.threshold is None else {"withheld": withheld.astype(np.int32)}),
    }


def summary(
    scenario: Scenario,
    dataset: Dataset,
    problem: Problem,
    traces: Sequence[Trace],
    learned: Learned,
    judged: Guarantee,
) -> dict[str, Any]:
    """Return the figures of learning and privacy in the manifest's ``summary``."""
    curve = learned.curve
    last = np.flatnonzero(np.diff(curve["replicate"], append=-1) != 0)
    ledger = Ledger.of(problem.accountant, traces, dataset.public_rows_of_owner)
    kappa = scenario.privacy.overlap
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
        "bound_exceeded": judged.bound_exceeded,
        "queries_unseen": judged.unseen,
        "timing_accounted": scenario.timing_unaccounted is None,
        "not_for_release": dataset.real,
    }


def warnings(
    scenario: Scenario,
    dataset: Dataset,
    problem: Problem,
    traces: Sequence[Trace],
    learned: Learned,
    judged: Guarantee,
) -> list[str]:
    """Return what a reader of the result must know, one sentence each."""
    mark = {True: "", False: BROKEN, None: UNSHOWN}[judged.private]
    said = [f"{mark}{reason}" for reason in judged.reasons]
    if scenario.privacy.mechanism == "none" and scenario.privacy.epsilon is not None:
        said.append("privacy.epsilon is not used: mechanism none adds no noise")
    if scenario.privacy.mechanism != "gaussian" and scenario.privacy.delta is not None:
        said.append(f"privacy.delta is not used: mechanism {scenario.privacy.mechanism} has none")
    if scenario.adversary is not None and len(scenario.adversary.owners) > 0:
        said.append(f"{scenario.adversary.words()}; f and θ* are of all owners' records")
    if scenario.acceptance is not None and scenario.acceptance.kind != "all":
        said.append(f"the learner's acceptance: {scenario.acceptance.words()}")
    if scenario.run.target is not None:
        said += _of_target(traces)
    ended = [trace for trace in traces if trace.ending is not Ending.target]
    short = [trace.n_updates for trace in ended if trace.n_updates < scenario.run.updates]
    if len(short) > 0:
        said.append(
            f"{len(short)} of {len(traces)} replicates ended before T = {scenario.run.updates} "
            f"updates ({min(short)} to {max(short)}): {_why_short(ended)}"
        )
    curve = learned.curve
    lost = curve["replicate"][~np.isfinite(curve["relative_fitness"])]
    diverged = len(np.unique(lost))
    if diverged > 0:
        said.append(f"the model diverged in {diverged} of {len(traces)} replicates: lower rho")
    if dataset.real:
        said.append("private records were read: fitness, optimum and curves are not for release")
    return [*said, *problem.notes, *dataset.notes]


def spread(psi: npt.NDArray[np.float64]) -> dict[str, float]:
    """Return mean and quartiles; what has overflowed counts as infinite."""
    psi = np.where(np.isnan(psi), np.inf, psi)
    between: Literal["linear", "nearest"] = "linear" if np.isfinite(psi).all() else "nearest"
    with np.errstate(over="ignore"):
        low, middle, high = np.quantile(psi, (0.25, 0.5, 0.75), method=between)
        mean = psi.mean()
    return {"mean": float(mean), "median": float(middle), "q25": float(low), "q75": float(high)}


def _of_target(traces: Sequence[Trace]) -> list[str]:
    """Say how many runs ended at the target, as they should, and how many never met it."""
    met = [trace.n_updates for trace in traces if trace.ending is Ending.target]
    of, said = f"of {len(traces)} replicates", []
    if len(met) > 0:
        said.append(f"{len(met)} {of} reached run.target, after {min(met)} to {max(met)} updates")
    if len(met) < len(traces):
        said.append(f"{len(traces) - len(met)} {of} ended without reaching run.target")
    return said


def _why_short(traces: Sequence[Trace]) -> str:
    """Say why runs ended early: every reason once, the most frequent first."""
    counted = Counter(trace.ending for trace in traces if trace.ending is not Ending.updates)
    whys = " or ".join(ending.value for ending, _ in counted.most_common())
    fates = {
        "collided": sum(int(trace.ended(Outcome.collided).sum()) for trace in traces),
        "were lost": sum(int(trace.ended(Outcome.lost).sum()) for trace in traces),
        "were turned away": sum(int(trace.ended(Outcome.discarded).sum()) for trace in traces),
        "were left in the buffer": sum(
            int(trace.ended(Outcome.buffered).sum()) for trace in traces
        ),
    }
    withheld = sum(int(trace.ended(Outcome.withheld).sum()) for trace in traces)
    if withheld > 0:
        whys += f" ({withheld} answers were withheld)"
    released = sum(int(trace.released.sum()) for trace in traces)
    told = [f"{count} {fate}" for fate, count in fates.items() if count > 0]
    return whys + (f"; of {released} answers released {', '.join(told)}" if told else "")


__all__ = ["judge", "owner_columns", "summary", "warnings"]
