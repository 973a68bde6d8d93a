"""Simulated runs of a scenario, on the data of a forecast: with noise, and without."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.forecasts.benefit import (
    budgets_tried,
    runs_of_each,
    task_with_budgets,
    value_alone,
)
from asyncdp_sim.forecasts.by_runs import final_psi, half_width, last, overflowed
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.runs.replicates import Learned, joined

REPLICATES, FIRST, FEWEST = 100, 40, 20
"""Runs with noise; the first of them, the only ones where these decide which owners gain; and the
fewest where errors on held-out rows do: ψ and the time are then of as many runs as these."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """Outcome of R simulated runs.

    Attributes
    ----------
    curve, times : array (J,)
        Mean ψ of the model and mean time (time units) at each recorded k, from k = 0 on.
    final, ends : array (R,)
        ψ and time at the end of each run; ψ is infinite where learning diverged.
    noise_free : float
        Mean ψ at the end without noise, with the same clipping.
    noise_cost : float
        Expected ψ that noise adds. Where models are linear in the noise, it is that of the
        difference between a run's models with and without noise, which no other chance is in.
    answers : array (N,)
        Mean number of answers that each owner released.
    learned : dict
        What was learned by the factor of the budgets, 1 among them: in the first runs, as many as
        :func:`~asyncdp_sim.forecasts.benefit.errors` makes where rows are held out.
    """

    curve: Array
    times: Array
    final: Array
    ends: Array
    noise_free: float
    noise_cost: float
    answers: Array
    learned: dict[float, Learned]

    @property
    def psi(self) -> float:
        """Mean ψ at the end."""
        return float(self.final.mean())


def simulated(population: Population, workers: int, progress: Progress | None = None) -> Simulated:
    """Run the scenario, and once more without noise, on the population's records.

    The runs without noise are over the same networks (unless timing looks at models), and clip
    what those with noise clip. Of them the end alone is judged. Where rows are held out, all
    budgets that are tried learn in the same fold, by the same gradients.

    Parameters
    ----------
    population : Population
    workers : int
        Processes, ≥ 1.
    progress : Progress, optional
        Receives the progress.
    """
    scenario, runs, loud = population.scenario, population.quick_runs, population.problem.task
    options: Any = {"whole": True, "workers": workers, "progress": progress}
    others, first, enough = list[float](), FIRST, FIRST
    if scenario.data.holds_out:
        factors = budgets_tried(population)
        others = [factor for factor in factors if factor != 1.0]
        first = runs_of_each(population, factors)
        enough = max(FEWEST, first)
    ends = [loud.without_noise(), *(task_with_budgets(population, factor) for factor in others)]
    ends = [replace(task, record_every=scenario.run.updates) for task in ends]
    traces, learned = runs.learned([loud, *ends], range(1, first + 1), **options)
    noisy, silent, *rest = learned
    tried = {1.0: noisy, **dict(zip(others, rest, strict=True))}
    if _undecided(population, final_psi(noisy.curve)):
        enough = REPLICATES
    if enough > first:
        further, more = runs.learned([loud, ends[0]], range(first + 1, enough + 1), **options)
        traces = [*traces, *further]
        noisy, silent = (joined(both) for both in zip((noisy, silent), more, strict=True))
    final, noise_free = final_psi(noisy.curve), float(final_psi(silent.curve).mean())
    noise_cost = float(final.mean()) - noise_free
    judge = population.judge if population.judge is not None else population.objective
    if judge is not None and scenario.privacy.clip_bound is None and np.isfinite(final).all():
        apart = noisy.models - silent.models
        noise_cost = float(
            np.einsum("ra,ab,rb->r", apart, judge.hessian, apart).mean() / judge.least
        )
    return Simulated(
        curve=overflowed(_mean(noisy.curve, "relative_fitness")),
        times=_mean(noisy.curve, "time"),
        final=final,
        ends=last(noisy.curve, "time"),
        noise_free=noise_free,
        noise_cost=noise_cost,
        answers=np.mean([trace.released for trace in traces], axis=0),
        learned=tried,
    )


def _undecided(population: Population, final: Array) -> bool:
    """Return whether ψ of more runs may decide of an owner, or nothing else does."""
    if population.scenario.data.holds_out:
        return False
    alone = value_alone(population)
    away = np.abs(alone - final.mean())
    return len(alone) == 0 or bool((away <= half_width(final)).any())


def _mean(curve: npt.NDArray[np.void], column: str) -> Array:
    """Return the mean over replicates; one that has ended stays where it ended."""
    curves = [
        curve[column][curve["replicate"] == replicate]
        for replicate in np.unique(curve["replicate"])
    ]
    longest = max(map(len, curves))
    held = [np.append(values, np.full(longest - len(values), values[-1])) for values in curves]
    return np.asarray(np.mean(held, axis=0))
