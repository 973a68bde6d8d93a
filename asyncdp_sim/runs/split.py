"""Split of ψ at the end into bias, selection, transient, and the noise of privacy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.learning.algorithms import AlgorithmSpec
from asyncdp_sim.learning.replay import CellTask, fold
from asyncdp_sim.runs.problem import Task
from asyncdp_sim.runs.replicates import Numbers, Workers, blocks, scopes_of
from asyncdp_sim.runs.scored import psi_of
from asyncdp_sim.trace import Trace

REPETITIONS = 200
"""How often the owners' sequence is gone through at most."""
PATIENCE = 20
"""Repetitions in which moves must halve; large steps may go round in circles instead."""
SETTLED = 1e-5
"""How much of ψ at the end a settled model may still have to go."""


@dataclass(frozen=True)
class Split:
    """The mean of ψ over replicates after the last update, split into four parts that sum to it.

    θ_T is the final model; θ_0 that of the same run without noise (same traces, same start); θ_∞
    where that run ends if the same owners go on coming in the same order, again and again.

    Attributes
    ----------
    bias : float or None
        ψ(E θ_∞) ≥ 0, with the mean over replicates for E: what no further run, average or budget
        mends. Of R replicates, a share of 1/R of the true ``selection`` is in it.
    selection : float or None
        E ψ(θ_∞) − ψ(E θ_∞) ≥ 0: the order in which owners came; smaller steps mend it.
    transient : float or None
        E ψ(θ_0) − E ψ(θ_∞): not yet converged, which more updates mend. Negative where the start
        was better than the limit.
    noise : float or None
        E ψ(θ_T) − E ψ(θ_0): what privacy costs here. May be negative by chance.
    limit_se, transient_se, noise_se : float or None
        Standard errors over replicates of ``bias`` + ``selection``, ``transient`` and ``noise``,
        the last two from differences within replicates; None with one replicate.
    repetitions : int or None
        How often the sequence was gone through until all replicates had settled.
    reason : str or None
        Why parts are None.
    """

    bias: float | None = None
    selection: float | None = None
    transient: float | None = None
    noise: float | None = None
    limit_se: float | None = None
    transient_se: float | None = None
    noise_se: float | None = None
    repetitions: int | None = None
    reason: str | None = None


def split_psi(
    algorithm: AlgorithmSpec,
    task: Task,
    seed: int,
    numbers: Numbers,
    traces: Sequence[Trace],
    models: Array,
    workers: Workers,
) -> Split:
    """Split the mean of ψ(θ_T) by further runs over the same traces, without noise.

    A replicate has settled when the last repetition of its sequence has moved ψ by at most
    :data:`SETTLED` of E ψ(θ_T), and so have all that follow together if each moves it less than
    the one before in the ratio of the last two. It counts as not settled after
    :data:`REPETITIONS`, or when its moves have not halved for :data:`PATIENCE`.

    Parameters
    ----------
    algorithm : AlgorithmSpec
    task : Task
    seed : int
    numbers : sequence of int
        The replicates, from 1.
    traces : sequence of Trace
        One per replicate.
    models : array (R, p)
        θ_T.
    workers : Workers
        They do not change the result.
    """
    psi = psi_of(task.objective, models)
    if not np.isfinite(psi).all():
        return Split(reason="the model diverged")
    quiet = task.without_noise()
    no_limit = _no_limit(algorithm, traces, sampled=quiet.reply.sample is not None)
    most = REPETITIONS if no_limit is None else 1
    parts = blocks(len(numbers), workers.count)
    work = partial(_go_on, quiet, seed, most, SETTLED * float(psi.mean()))
    done = workers.map(work, [numbers[part] for part in parts], [traces[part] for part in parts])
    free, limit, counts = (np.concatenate(column) for column in zip(*done, strict=True))
    free_psi, limit_psi = (psi_of(task.objective, models) for models in (free, limit))
    if not np.isfinite(free_psi).all():
        return Split(reason="the model without noise diverged")
    result = Split(
        noise=float(psi.mean() - free_psi.mean()), noise_se=_error(psi - free_psi), reason=no_limit
    )
    if no_limit is not None:
        return result
    open_ones = int(np.count_nonzero(counts == 0))
    if open_ones > 0:
        text = f"not settled: without noise, {open_ones} of {len(counts)} replicates keep moving"
        return replace(result, reason=text)
    bias = float(psi_of(task.objective, limit.mean(axis=0)[None])[0])
    return replace(
        result,
        bias=bias,
        selection=float(limit_psi.mean()) - bias,
        transient=float(free_psi.mean() - limit_psi.mean()),
        limit_se=_error(limit_psi),
        transient_se=_error(free_psi - limit_psi),
        repetitions=int(counts.max()),
    )


def _no_limit(algorithm: AlgorithmSpec, traces: Sequence[Trace], *, sampled: bool) -> str | None:
    """Return why going on over the same owners has no limit; None where it may have one."""
    if sampled:
        return "answers over random batches have no limit"
    if not algorithm.treats_updates_alike:
        return f"the updates of {algorithm.kind} are not alike: repeating them has no limit"
    if min(trace.n_updates for trace in traces) == 0:
        return "a replicate has no updates to repeat"
    return None


def _go_on(
    task: Task,
    seed: int,
    most: int,
    tolerance: float,
    numbers: Numbers,
    traces: Sequence[Trace],
) -> tuple[Array, Array, Ints]:
    """Return models after one repetition and when settled (R, p), and how many that took (0: none).

    Replicates of one length go together; each settles on its own.
    """
    shape = (len(numbers), task.objective.n_features)
    first, last = np.full(shape, np.nan), np.full(shape, np.nan)
    counts = np.zeros(len(numbers), dtype=np.int64)
    lengths = np.array([trace.n_updates for trace in traces])
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        alike = [traces[row] for row in rows.tolist()]
        these, state = [numbers[row] for row in rows.tolist()], None
        cell = CellTask(task.steps, task.reply, max(1, length))
        psi, moved, least = (np.full(len(rows), np.inf) for _ in range(3))
        waited = np.zeros(len(rows), dtype=np.int64)
        for count in range(1, most + 1):
            scopes = scopes_of(seed, these, task.owner_numbers)
            state = task.steps.init(scopes) if state is None else state  # advanced in place
            [path] = fold(alike, [cell], scopes, task.asks, state=state)
            models = path.final
            before, psi = psi, psi_of(task.objective, models)
            if count == 1:
                first[rows] = models
                continue
            with np.errstate(invalid="ignore"):
                former, moved = moved, np.abs(psi - before)
            going = (counts[rows] == 0) & (waited < PATIENCE)
            settled = going & _has_nearly_converged(moved, former, tolerance)
            last[rows[settled]], counts[rows[settled]] = models[settled], count
            halved = moved < least / 2
            least = np.where(halved, moved, least)
            waited = np.where(going & halved, 0, waited + 1)
            if not (going & ~settled & (waited < PATIENCE)).any():
                break
    return first, last, counts


def _has_nearly_converged(moved: Array, former: Array, tolerance: float) -> Bools:
    """Return whether what is left is little, if moves go on shrinking as the last two did."""
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(moved < former, moved**2 / (former - moved), np.inf)
    return np.asarray((moved == 0) | ((moved <= tolerance) & (left <= tolerance)))


def _error(values: Array) -> float | None:
    if len(values) < 2:
        return None
    return float(values.std(ddof=1) / np.sqrt(len(values)))
