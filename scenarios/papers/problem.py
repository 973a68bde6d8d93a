"""The objective of a sweep whose cells share their records, and its models at the end."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario, load
from scenarios.papers.claims import Range, result

SURE = 4.0
"""Standard errors within which a mean must be."""


@lru_cache(maxsize=32)
def _read(directory: Path, _: str) -> Scenario:
    return load(directory / "scenario.toml")[0]


def scenario(found: Result) -> Scenario:
    """Return the scenario of a result."""
    return _read(found.directory, str(found.manifest["digest"]))


@lru_cache(maxsize=4)
def _prepared(directory: Path, _: str) -> Quadratic:
    known = load(directory / "scenario.toml")[0]
    objective = prepare(known, build_dataset(known)).task.objective.second_moments
    if objective is None:
        raise ValueError(f"the loss of model {known.model.kind} is no quadratic")
    return objective


def objective_of(found: Result) -> Quadratic:
    """Return f over the records of a result."""
    return _prepared(found.directory, str(found.manifest["digest"]))


def objective(sweep: Sweep) -> Quadratic:
    """Return f over the records that all cells of a sweep share."""
    return objective_of(sweep.cells[0].result)


def ends(found: Result) -> Array:
    """Return the models after the last update, (R, p)."""
    replicate, theta = found.columns("models", "replicate", "theta_L")
    return theta.reshape(len(np.unique(replicate)), -1)


def late_psi(found: Result) -> Array:
    """Return ψ of every replicate, the mean over the second half of its updates, (R,)."""
    replicate, k, psi = found.columns("curve", "replicate", "k", "relative_fitness")
    late = 2 * k >= k.max()
    count = np.bincount(replicate[late])
    total = np.bincount(replicate[late], weights=psi[late])
    return np.asarray(total[count > 0] / count[count > 0])


def uncertain(values: Array) -> float:
    """Return the standard error of a mean over replicates."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def mean_psi(sweep: Sweep, name: str) -> float:
    """Return mean ψ of a variant, late in its run."""
    return float(late_psi(result(sweep, name)).mean())


def psi_around(sweep: Sweep, name: str, exact: float) -> Range:
    """Return a window of standard errors of a variant's mean ψ around its exact value."""
    about = SURE * uncertain(late_psi(result(sweep, name)))
    return exact - about, exact + about
