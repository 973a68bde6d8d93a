"""Simulated runs of which models and curves are looked at, and the ± of their mean ψ.

ψ is about a quadratic form of the noise: its runs have skewness 2 to 7, and the few that end far
out are missing from most samples. A sample with too low a mean has then too small a spread, so that
mean ± t s/√R misses too often, nearly always from below.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.data import Dataset
from asyncdp_sim.network import Network
from asyncdp_sim.runs.problem import Task
from asyncdp_sim.runs.replicates import Learned, Map, learn_all, live_all, processes, simulate_all
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.formulas.arguments import t_quantile
from asyncdp_sim.trace import Trace

LARGEST = 1e100
"""A number whose cube floating point holds."""
LIGHT, STIR = 2.5e10, 1e5
"""Numbers of records that may be read to compare choices, some 15 s of work, fewer runs beyond;
and how many could be read in the time that an update takes besides."""
FEWEST = 10


def affordable(scenario: Scenario, dataset: Dataset, updates: float, most: int = 100) -> int:
    """Return how many runs, 10 to ``most``, of so many updates (of all choices) are light work.

    An answer reads p numbers of each of its owner's records where gradients are clipped, else p².
    """
    return max(2, min(most, max(FEWEST, int(LIGHT / (updates * work(scenario, dataset))))))


def work(scenario: Scenario, dataset: Dataset) -> float:
    """Return the numbers that an update reads, and what it takes besides as if it read more."""
    p = float(scenario.data.features)
    rows = p
    bound = scenario.privacy.sensitivity
    clipped = bound is not None and bound.clip_bound is not None
    if clipped or scenario.sampled:
        rows = float(np.mean([len(targets) for targets in dataset.targets]))
    return STIR + p * rows


def half_width(values: Array) -> float:
    """Return the longer half of the 95 % interval of a mean, by Hall's transformation.

    With the sample's mean m, standard deviation s and skewness g, and q = ± t/√R − g/(6R) by
    Student's t, the ends are

        m − s h(q),   h(q) = (3/g) ((1 + g q)^⅓ − 1),   h(q) = q where g = 0,

    one above m, one below. The longer half is reported for both, so that the ± covers the ends.

    Parameters
    ----------
    values : array (R,)
        R ≥ 2, of independent runs. Infinite where one is not finite.

    Returns
    -------
    float
        ≥ 0; that of Student's t where values are symmetric.

    Notes
    -----
    P. Hall, On the removal of skewness by transformation, Journal of the Royal Statistical
    Society B 54 (1992), 221–228: the cubic that makes t about symmetric, and is monotone.
    """
    if not np.isfinite(values).all():
        return float("inf")
    largest = float(np.abs(values).max())
    if largest > LARGEST:
        return largest * half_width(values / largest)
    runs, apart = len(values), values - values.mean()
    spread = float(values.std(ddof=1))
    if spread == 0.0:
        return 0.0
    skewness = float(np.mean((apart / values.std()) ** 3))
    t = t_quantile(runs - 1, 0.975) / np.sqrt(runs)
    ends = np.array([-t, t]) - skewness / (6 * runs)
    if abs(skewness) > 1e-6:
        ends = 3 / skewness * (np.cbrt(1 + skewness * ends) - 1)
    return spread * float(np.abs(ends).max())


@dataclass(frozen=True, eq=False)
class QuickRuns:
    """Runs over one network, which is simulated once a replicate for all algorithms.

    Where learning is live every task's networks are its own.

    Attributes
    ----------
    network : Network
    seed : int
    live : bool
        Whether timing looks at models.
    """

    network: Network
    seed: int
    updates: int
    live: bool
    _traces: dict[int, Trace] = field(default_factory=dict, repr=False)

    @classmethod
    def from_scenario(cls, scenario: Scenario) -> "QuickRuns":
        """Return those of a scenario's network and seed."""
        run = scenario.run
        return cls(scenario.network, run.seed, run.updates, run.learning == "live")

    def learned(
        self,
        tasks: Sequence[Task],
        numbers: Sequence[int],
        *,
        whole: bool = False,
        workers: int = 1,
        run_map: Map | None = None,
        progress: Progress | None = None,
    ) -> tuple[list[Trace], list[Learned]]:
        """Return the networks of the first task's replicates, and what each task learns.

        To the bit what :func:`asyncdp_sim.runs.run` learns, except that models are not judged on
        held-out rows and that no gradient is measured.

        Parameters
        ----------
        tasks : sequence of Task
            At least one; all of scenarios with this network and seed.
        numbers : sequence of int
            Of the replicates, from 1.
        whole : bool
            Whether curves are recorded as often as tasks say; else at the start and the end alone.
        workers : int
            Processes, ≥ 1; never change a result.
        run_map : callable, optional
            A ``map`` over so many processes that are there already.
        progress : Progress, optional
            Told how far it has come.
        """
        less: dict[str, Any] = {} if whole else {"record_every": self.updates}
        quick = [replace(task, held_out=None, watched=None, **less) for task in tasks]
        with (
            one_thread(),
            nullcontext(run_map) if run_map is not None else processes(workers) as mapped,
        ):
            options: Any = {"workers": workers, "run_map": mapped, "progress": progress}
            if self.live:
                both = [
                    live_all(self.network, task, self.seed, numbers, events=False, **options)
                    for task in quick
                ]
                return both[0][0], [learned for _, learned in both]
            traces = self._of(numbers, options)
            return traces, learn_all(quick, self.seed, numbers, traces, **options)

    def _of(self, numbers: Sequence[int], how: Any) -> list[Trace]:
        new = [number for number in numbers if number not in self._traces]
        if len(new) > 0:
            made = simulate_all(self.network, self.seed, new, events=False, **how)
            self._traces.update(zip(new, made, strict=True))
        return [self._traces[number] for number in numbers]


def final_psi(curve: npt.NDArray[np.void]) -> Array:
    """Return ψ at the end of each replicate of a curve, (R,); infinite where it has overflowed."""
    return overflowed(last(curve, "relative_fitness"))


def overflowed(psi: Array) -> Array:
    """Return ψ, infinite where it is no number since something has overflowed (∞ − ∞)."""
    return np.where(np.isnan(psi), np.inf, psi)


def last(curve: npt.NDArray[np.void], column: str) -> Array:
    """Return a column at the end of each replicate of a curve, (R,)."""
    rows = np.flatnonzero(np.diff(curve["replicate"], append=-1) != 0)
    return np.array(curve[column][rows], dtype=float)
