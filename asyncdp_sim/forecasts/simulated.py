"""Simulated runs of a scenario, on the data of a forecast: with noise, and without."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.forecasts.by_runs import final_psi, last, overflowed
from asyncdp_sim.forecasts.population import Population

RUNS = 40
"""Simulated runs with noise, and as many without."""


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
    """

    curve: Array
    times: Array
    final: Array
    ends: Array
    noise_free: float
    noise_cost: float
    answers: Array

    @property
    def psi(self) -> float:
        """Mean ψ at the end."""
        return float(self.final.mean())


def simulated(population: Population, workers: int, progress: Progress | None = None) -> Simulated:
    """Run the scenario, and once more without noise, on the population's records.

    The runs without noise are over the same networks (unless timing looks at models), and clip
    what those with noise clip. Of them the end alone is judged.

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
    silent_task = replace(loud.without_noise(), record_every=scenario.run.updates)
    traces, [noisy, silent] = runs.learned([loud, silent_task], range(1, RUNS + 1), **options)
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
    )


def _mean(curve: npt.NDArray[np.void], column: str) -> Array:
    """Return the mean over replicates; one that has ended stays where it ended."""
    curves = [
        curve[column][curve["replicate"] == replicate]
        for replicate in np.unique(curve["replicate"])
    ]
    longest = max(map(len, curves))
    held = [np.append(values, np.full(longest - len(values), values[-1])) for values in curves]
    return np.asarray(np.mean(held, axis=0))
