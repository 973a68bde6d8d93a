"""A forecast by training on the population's records, where moments do not apply at all."""

from collections.abc import Sequence
from dataclasses import replace
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
from asyncdp_sim.forecasts.by_moments import MomentForecast
from asyncdp_sim.forecasts.by_runs import final_psi, half_width, last, overflowed
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.runs.replicates import Learned, joined

REPLICATES, FIRST, FEWEST = 100, 40, 20
"""Runs with noise; the first of them, the only ones where these decide which owners gain; and the
fewest where errors on held-out rows do: ψ and the time are then of as many runs as these."""


def simulated(
    population: Population,
    doubts: Sequence[str],
    workers: int,
    progress: Progress | None = None,
) -> tuple[MomentForecast, dict[float, Learned]]:
    """Run the scenario, and once more without noise, on the population's records.

    The runs without noise are over the same networks (unless timing looks at models), and clip
    what those with noise clip. Of them the end alone is judged. Where rows are held out, all
    budgets that are tried learn in the same fold, by the same gradients.

    Parameters
    ----------
    population : Population
    doubts : sequence of str
        Why exact moments do not apply.
    workers : int
        Processes, ≥ 1.
    progress : Progress, optional
        Told how far it has come.

    Returns
    -------
    MomentForecast
    dict
        What was learned by the factor of the budgets, 1 among them: in the first runs, as many as
        :func:`~asyncdp_sim.forecasts.benefit.errors` makes where rows are held out.
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
    final, times = final_psi(noisy.curve), last(noisy.curve, "time")
    result = MomentForecast(
        psi=overflowed(_mean(noisy.curve, "relative_fitness")),
        times=_mean(noisy.curve, "time"),
        mean=float(final.mean()),
        end=float(times.mean()),
        half_width=half_width(final),
        noise_free=float(final_psi(silent.curve).mean()),
        bound=None,
        bound_of=None,
        spread=final,
        answers=np.mean([trace.released for trace in traces], axis=0),
        time_half_width=half_width(times),
        words=f"{len(final)} simulated runs, since exact moments do not apply",
        doubts=tuple(doubts),
    )
    return result, tried


def _undecided(population: Population, final: Array) -> bool:
    """Return whether ψ of more runs may decide of an owner, or nothing else does."""
    objective = population.objective
    if population.scenario.data.holds_out or objective is None:
        return not population.scenario.data.holds_out
    away = value_alone(population, objective, 0.0) - final.mean()
    return bool((np.abs(away) <= half_width(final)).any())


def _mean(curve: npt.NDArray[np.void], column: str) -> Array:
    """Return the mean over replicates; one that has ended stays where it ended."""
    curves = [
        curve[column][curve["replicate"] == replicate]
        for replicate in np.unique(curve["replicate"])
    ]
    longest = max(map(len, curves))
    held = [np.append(values, np.full(longest - len(values), values[-1])) for values in curves]
    return np.asarray(np.mean(held, axis=0))
