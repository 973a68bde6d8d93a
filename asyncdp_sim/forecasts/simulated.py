"""A forecast by training on the population's records, where moments do not apply at all."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.forecasts.benefit import budgets_tried, runs_of_each, value_alone
from asyncdp_sim.forecasts.by_moments import MomentForecast
from asyncdp_sim.forecasts.by_runs import final_psi, half_width, last, overflowed
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.runs.replicates import joined

REPLICATES, FIRST, FEWEST = 100, 40, 20
"""Runs with noise; the first of them, the only ones where these decide which owners gain; and the
fewest where errors on held-out rows do: ψ and the time are then of as many runs as these."""
QUIET = 10
"""Runs without noise, as many as with it where the ± of their mean ψ is not :data:`SMALL`."""
SMALL = 0.1, 0.05
"""Largest ± of ψ without noise, over the ± of ψ with it and over ψ without noise itself."""


def simulated(
    population: Population,
    doubts: Sequence[str],
    workers: int,
    progress: Progress | None = None,
) -> MomentForecast:
    """Run the scenario, and once more without noise, on the population's records.

    The runs without noise are over the same networks (unless timing looks at models), and clip
    what those with noise clip. Of them the end alone is judged. They differ by their networks
    alone: a few tell their mean where its ± hardly adds to that of ψ.

    Parameters
    ----------
    population : Population
    doubts : sequence of str
        Why exact moments do not apply.
    workers : int
        Processes, ≥ 1.
    progress : Progress, optional
        Told how far it has come.
    """
    loud = population.problem.task
    quiet = replace(loud.without_noise(), record_every=population.scenario.run.updates)
    options: Any = {"whole": True, "workers": workers, "progress": progress}
    first = FIRST
    if population.scenario.data.holds_out:
        first = max(FEWEST, runs_of_each(population, budgets_tried(population)))
    numbers, runs = range(1, first + 1), population.quick_runs
    traces, [noisy] = runs.learned([loud], numbers, **options)
    if _undecided(population, final_psi(noisy.curve)):
        numbers = range(1, REPLICATES + 1)
        further, [more] = runs.learned([loud], numbers[first:], **options)
        traces, noisy = [*traces, *further], joined([noisy, more])
    final, ends = final_psi(noisy.curve), last(noisy.curve, "time")
    half, silent = half_width(final), np.zeros(0)
    for few in (numbers[:QUIET], numbers[QUIET:]):
        _, [learned] = runs.learned([quiet], few, **options)
        silent = np.concatenate([silent, final_psi(learned.curve)])
        if half_width(silent) <= min(SMALL[0] * half, SMALL[1] * float(silent.mean())):
            break
    return MomentForecast(
        psi=overflowed(_mean(noisy.curve, "relative_fitness")),
        times=_mean(noisy.curve, "time"),
        mean=float(final.mean()),
        end=float(ends.mean()),
        half_width=half,
        noise_free=float(silent.mean()),
        bound=None,
        bound_of=None,
        spread=final,
        answers=np.mean([trace.released for trace in traces], axis=0),
        time_half_width=half_width(ends),
        words=f"{len(final)} simulated runs, since exact moments do not apply",
        doubts=tuple(doubts),
    )


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
