"""A result read for a verdict: its scenario, its objective, and its models at the end."""

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario, load
from scenarios.papers.claims import Range, result

SURE = 4.0
"""Standard errors within which a mean must be."""


Work = TypeVar("Work", bound=Callable[..., Any])


def once(most: int) -> Callable[[Work], Work]:
    """Return a decorator that keeps what a function works out of results, so many at most.

    A result is known by its directory and its digest: one whose replicates are drawn again has
    what its run has.
    """

    def decorated(work: Work) -> Work:
        @lru_cache(maxsize=most)
        def known(directory: Path, _: str, *more: Any) -> Any:
            return work(Result.read(directory), *more)

        @wraps(work)
        def of(result: Result, *more: Any) -> Any:
            return known(result.directory.resolve(), str(result.manifest["digest"]), *more)

        return cast("Work", of)

    return decorated


@once(32)
def scenario(found: Result) -> Scenario:
    """Return the scenario of a result."""
    return load(found.directory / "scenario.toml")[0]


@once(4)
def objective_of(found: Result) -> Quadratic:
    """Return f over the records of a result."""
    known = scenario(found)
    objective = prepare(known, build_dataset(known)).task.objective.second_moments
    if objective is None:
        raise ValueError(f"the loss of model {known.model.kind} is no quadratic")
    return objective


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


def late_means(sweep: Sweep, names: Iterable[str]) -> tuple[Array, Array]:
    """Return mean ψ of variants, late in their runs, and two standard errors of each."""
    late = [late_psi(result(sweep, name)) for name in names]
    mean, about = np.array([(each.mean(), 2 * uncertain(each)) for each in late]).T
    return mean, about


def off_by(values: Array, exact: float) -> float:
    """Return how many standard errors a mean over replicates is off its exact value."""
    return float((values.mean() - exact) / uncertain(values))


def mean_psi(sweep: Sweep, name: str) -> float:
    """Return mean ψ of a variant, late in its run."""
    return float(late_psi(result(sweep, name)).mean())


def psi_around(sweep: Sweep, name: str, exact: float) -> Range:
    """Return a window of standard errors of a variant's mean ψ around its exact value."""
    about = SURE * uncertain(late_psi(result(sweep, name)))
    return exact - about, exact + about
