"""Simulated runs of which models and curves are looked at, and nothing is accounted for or kept."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network import Network
from asyncdp_sim.progress import Progress
from asyncdp_sim.runs.problem import Task
from asyncdp_sim.runs.replicates import Learned, learn_all, live_all, simulate_all
from asyncdp_sim.runs.workers import Map, processes
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.threads import one_thread
from asyncdp_sim.trace import Trace

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class QuickRuns:
    """Runs over one network, which is simulated once for each replicate, whoever learns over it.

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
    def of(cls, scenario: Scenario) -> "QuickRuns":
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
            how: Any = {"workers": workers, "run_map": mapped, "progress": progress}
            if self.live:
                both = [
                    live_all(self.network, task, self.seed, numbers, events=False, **how)
                    for task in quick
                ]
                return both[0][0], [learned for _, learned in both]
            traces = self._of(numbers, how)
            return traces, learn_all(quick, self.seed, numbers, traces, **how)

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


__all__ = ["QuickRuns", "final_psi", "last", "overflowed"]
