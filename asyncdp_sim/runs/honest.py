"""Honest comparison of the private model: on rows that it has not seen, and with owners alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data.void import blank, outlying
from asyncdp_sim.errors import DataError
from asyncdp_sim.learning.objectives import Model, Objective, Records
from asyncdp_sim.measures.scores import Score
from asyncdp_sim.runs.account import spread
from asyncdp_sim.runs.held_out import HeldOut
from asyncdp_sim.runs.problem import Problem

Array = npt.NDArray[np.float64]


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
    found = []
    for owner, (x, y) in enumerate(zip(records.features, records.targets, strict=True), start=1):
        try:
            found.append(_optimum(model, x, y))
        except DataError as error:
            named = [replace(f, given=f"{f.given} (owner {owner} alone)") for f in error.faults]
            raise DataError(named) from None
    return np.array(found)


def _optimum(model: Model, x: Array, y: Array) -> Array:
    """Return an owner's θ_i*; where it is not found, that of its records of usual size."""
    try:
        return model.objective([x], [y]).optimum
    except DataError:
        far = outlying([x])
        if not far[0].any():
            raise
        return model.objective(blank([x], far), blank([y], far)).optimum


def owner_figures(problem: Problem, models: Array, alone: Array | None) -> dict[str, Any]:
    """Return further columns of ``owners``, one row per replicate and owner; NaN where absent.

    Parameters
    ----------
    problem : Problem
    models : array (R, p)
        Final central models.
    alone : array (N, p), optional
        θ_i*, where it was asked for.
    """
    judges, optimum = problem.held_out, problem.task.objective.optimum[None]
    each: dict[str, Any] = {}
    if len(judges) > 0:
        each["held_out_records"] = _records(judges)
        each["held_out_loss"] = np.stack([one.mean_loss(models) for one in judges], axis=1)
        each["held_out_optimum"] = np.array([one.mean_loss(optimum)[0] for one in judges])
        each |= _named(judges[0].scores, [one.scored(models) for one in judges])
        each |= _named(judges[0].scores, [one.scored(optimum) for one in judges], "_optimum")
    if alone is not None:
        each["psi_alone"] = _psi(problem.task.objective, alone)
    if alone is not None and len(judges) > 0:
        each["held_out_alone"] = _own(judges, alone)
        own = [one.scored(theta[None]) for one, theta in zip(judges, alone, strict=True)]
        each |= _named(judges[0].scores, own, "_alone")
    shape = (len(models), problem.task.objective.n_owners)
    return {name: np.broadcast_to(values, shape).ravel() for name, values in each.items()}


def honest_summary(problem: Problem, models: Array, alone: Array | None) -> dict[str, Any]:
    """Return further figures of the manifest's ``summary``; none where nothing was asked for.

    ``held_out_final`` is the spread over replicates of the final models' mean loss over all
    held-out rows, ``held_out_optimum`` that loss of θ*, ``held_out_alone`` that of each row under
    its owner's θ_i*. ``profits_psi`` counts the owners for whom the mean of the final ψ is below
    ψ(θ_i*), ``profits_held_out`` those on whose own held-out rows the final models err less than
    θ_i*, in the mean over replicates of the first score. Each of
    :mod:`~asyncdp_sim.measures.scores` has three figures too: ``held_out_rmse`` over replicates,
    ``held_out_rmse_optimum``, ``held_out_rmse_alone``.

    Parameters
    ----------
    problem, models, alone
        As in :func:`owner_figures`.
    """
    objective, together = problem.task.objective, problem.task.held_out
    found: dict[str, Any] = {}
    if together is not None:
        found["held_out_final"] = spread(together.mean_loss(models))
        found["held_out_optimum"] = float(together.mean_loss(objective.optimum[None])[0])
        for score, values in together.scored(models).items():
            found[f"held_out_{score.name}"] = None if np.isnan(values).any() else spread(values)
        for score, (value,) in together.scored(objective.optimum[None]).items():
            found[f"held_out_{score.name}_optimum"] = float(value)
    if alone is not None:
        gains = _psi(objective, alone) > _psi(objective, models).mean()
        found["profits_psi"] = int(np.count_nonzero(gains))
    if alone is not None and together is not None:
        each, records = _own(problem.held_out, alone), _records(problem.held_out)
        total = float(each[records > 0] @ records[records > 0])
        found["held_out_alone"] = total / together.records
        errs = [
            (one.headline(theta[None])[0], one.headline(models).mean())
            for one, theta in zip(problem.held_out, alone, strict=True)
        ]
        more = together.scores[0].more_is_better
        found["profits_held_out"] = sum(
            bool(final > own if more else own > final) for own, final in errs
        )
        pairs = zip(problem.held_out, alone, strict=True)
        z = np.concatenate([one.predictions(theta[None])[0] for one, theta in pairs])
        for score in together.scores:
            found[f"held_out_{score.name}_alone"] = float(score.of(z, together.known[1]))
    return found


def _psi(objective: Objective, models: Array) -> Array:
    """Return ψ of models (J, p); infinite where one has diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        psi = objective.excess(models) / objective.least
    return np.where(np.isnan(psi), np.inf, psi)


def _own(judges: Sequence[HeldOut], alone: Array) -> Array:
    """Return the loss of θ_i* on owner i's held-out rows, shape (N,); NaN where it has none."""
    pairs = zip(judges, alone, strict=True)
    return np.array([one.mean_loss(theta[None])[0] for one, theta in pairs])


def _named(
    scores: Sequence[Score], found: Sequence[Mapping[Score, Array]], behind: str = ""
) -> dict[str, Array]:
    """Return scores of each owner, (J, N) by name, or (N,) where there is one model."""
    columns = {s: np.stack([each[s] for each in found], axis=1) for s in scores}
    return {f"held_out_{score.name}{behind}": values for score, values in columns.items()}


def _records(judges: Sequence[HeldOut]) -> npt.NDArray[np.int64]:
    return np.array([one.records for one in judges], dtype=np.int64)


__all__ = ["honest_summary", "learn_alone", "owner_figures"]
