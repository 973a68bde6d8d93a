"""A forecast by training on the population's records, where moments do not apply at all."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.interval import half_width
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.forecasts.quick_runs import final_psi, last, overflowed
from asyncdp_sim.progress import Progress

Array = npt.NDArray[np.float64]
REPLICATES = 100


@dataclass(frozen=True, eq=False)
class Simulated:
    """Figures of runs of the scenario.

    Attributes
    ----------
    final : array (R,)
        ψ at the end of every run.
    psi : array (J,)
        Mean ψ at the recorded k.
    times : array (J,)
        Mean times then (time units).
    answers : array (N,)
        Mean answers released.
    noise_free : float
        Mean ψ at the end without noise.
    ends : array (R,)
        Times of the last updates.
    """

    final: Array
    psi: Array
    times: Array
    answers: Array
    noise_free: float
    ends: Array

    @property
    def half_width(self) -> float:
        """The longer half of the 95 % interval of the mean ψ at the end."""
        return half_width(self.final)

    @property
    def time_half_width(self) -> float:
        """The longer half of the 95 % interval of the mean time of the last update."""
        return half_width(self.ends)


def simulated(population: Population, workers: int, progress: Progress | None = None) -> Simulated:
    """Run the scenario, and once more without noise, on the population's records.

    The runs without noise are over the same networks (unless timing looks at models), and clip
    what those with noise clip.
    """
    loud = population.problem.task
    traces, (noisy, silent) = population.quick_runs.learned(
        [loud, loud.without_noise()], range(1, REPLICATES + 1),
        whole=True, workers=workers, progress=progress,
    )  # fmt: skip
    return Simulated(
        final=final_psi(noisy.curve),
        psi=overflowed(_mean(noisy.curve, "relative_fitness")),
        times=_mean(noisy.curve, "time"),
        answers=np.mean([trace.released for trace in traces], axis=0),
        noise_free=float(final_psi(silent.curve).mean()),
        ends=last(noisy.curve, "time"),
    )


def _mean(curve: npt.NDArray[np.void], column: str) -> Array:
    """Return the mean over replicates; one that has ended stays where it ended."""
    each = [
        curve[column][curve["replicate"] == replicate]
        for replicate in np.unique(curve["replicate"])
    ]
    longest = max(map(len, each))
    held = [np.append(some, np.full(longest - len(some), some[-1])) for some in each]
    return np.asarray(np.mean(held, axis=0))
