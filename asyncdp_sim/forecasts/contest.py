"""Choices compared by simulated runs: the worst are left out step by step, the last run afresh.

All choices have the same networks and noise (common random numbers), so that their differences are
known better than either. The best of many choices in some runs was also lucky in them; reported
figures are therefore from other runs, which had no part in the choice.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.progress import Progress, counted
from asyncdp_sim.core.words import plus_minus
from asyncdp_sim.data import Dataset
from asyncdp_sim.forecasts import population
from asyncdp_sim.runs.problem import Problem, prepare
from asyncdp_sim.runs.replicates import Workers
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.forecast import RELEASE

Choice = TypeVar("Choice")
Play = Callable[[Sequence[int]], Array]
"""ψ at the end of replicates of these numbers."""
REPLICATES = 100
"""Runs of what is reported, 1 … R: those that ``asyncdp run`` makes of it too."""
CHOOSING = 1_000_001
"""Number of the first replicate of those that choices are made by."""
FIRST, LEFT = 8, 2
"""Runs of each choice at first; choices among which the last runs decide."""
SHARE = 0.25
"""Of the runs of the last heat, how many a choice has on average over all heats, at most."""


@dataclass(frozen=True, eq=False)
class Played:
    """ψ at the end of simulated runs of a choice.

    Attributes
    ----------
    final : array (R,)
        R ≥ 2; infinite where learning diverged.
    """

    final: Array

    @classmethod
    def from_curve(cls, curve: npt.NDArray[np.void]) -> "Played":
        """Return what the runs of a curve end at."""
        return cls(population.final_psi(curve))

    @property
    def psi(self) -> float:
        """Mean."""
        return float(self.final.mean())

    @property
    def half_width(self) -> float:
        """The longer half of the 95 % interval of the mean."""
        return population.half_width(self.final)

    def content(self) -> dict[str, Any]:
        """Return the mean of the runs with its interval, as JSON has it."""
        return {"psi": self.psi, "half_width": self.half_width, "runs": len(self.final)}

    def __str__(self) -> str:
        """Return the figure and how well it is known."""
        if not np.isfinite(self.psi):
            return f"ψ not finite in {int(np.isinf(self.final).sum())} of {len(self.final)} runs"
        return f"ψ {plus_minus(self.psi, self.half_width)}"

    def over(self, other: "Played") -> tuple[float, float]:
        """Return the mean over that of another choice in the same runs, and its ±, as of a mean.

        The quotient a/b of means has about the variance of the mean of (a_r − (a/b) b_r)/b.
        """
        if not np.isfinite(other.psi):
            return (0.0 if np.isfinite(self.psi) else np.nan), 0.0
        ratio = self.psi / other.psi
        if not np.isfinite(ratio):
            return ratio, 0.0
        return ratio, population.half_width(self.final - ratio * other.final) / abs(other.psi)

    def times(self, best: "Played") -> str:
        """Return in words how many times as large it is as that of the best choice."""
        ratio, half = self.over(best)
        times = f"{plus_minus(ratio, half)} times" if isfinite(ratio) else "not comparable with"
        return f"{times} ψ of the best"

    def against(self, other: "Played", whose: str, whose_other: str) -> str:
        """Return in words how many times as large it is as that of another choice.

        Parameters
        ----------
        other : Played
            In the same runs.
        whose, whose_other : str
            Of which choices they are.
        """
        ratio, half = self.over(other)
        if not isfinite(ratio):
            return f"not a number: ψ {whose} is not finite"
        of = f"ψ {whose} over ψ {whose_other}, in the same runs"
        text = f"{plus_minus(ratio, half)} times ({of})"
        return text if ratio - half > 1 else f"{text}: not shown to pay"


def winner(
    plays: Mapping[Choice, Play], most: int, progress: Progress | None = None
) -> list[Choice]:
    """Return choices from the best on, the worse half left out again and again.

    Each that is left has twice as many runs in the next heat, the former ones among them. The
    order is by the mean ψ of the heat in which a choice was left out, later heats first.

    Parameters
    ----------
    plays : mapping
        How each choice is simulated.
    most : int
        Runs of a choice, ≥ 1, in the last heat.
    progress : Progress, optional
        Told how many runs are done, of all heats together.
    """
    heats = list(_heats(len(plays), most))
    total = sum(choices * (runs - before) for choices, before, runs in heats)
    advance = counted(progress, f"comparing {len(plays)} choices: runs", total)
    left, out = list(plays), list[Choice]()
    seen = dict.fromkeys(plays, np.zeros(0))
    for choices, before, runs in heats:
        left, out = left[:choices], left[choices:] + out
        numbers = range(CHOOSING + before, CHOOSING + runs)
        for choice in left:
            seen[choice] = np.concatenate([seen[choice], plays[choice](numbers)])
            advance(len(numbers))
        left.sort(key=lambda choice: float(seen[choice].mean()))
    return left + out


def _heats(choices: int, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield how many choices are left in each heat, and their runs before it and after it."""
    before, runs = 0, min(FIRST, most)
    yield choices, before, runs
    while runs < most and choices > 1:
        choices, before, runs = max(min(LEFT, choices), choices // 2), runs, min(2 * runs, most)
        yield choices, before, runs


def afresh(
    plays: Mapping[Choice, Play], replicates: int, progress: Progress | None = None
) -> dict[Choice, Played]:
    """Return what choices come to in runs 1 … R, which had no part in the choosing."""
    count = len(plays)
    advance = counted(progress, f"simulating the best {count} afresh: runs", count * replicates)
    played = dict[Choice, Played]()
    for choice, play in plays.items():
        played[choice] = Played(play(range(1, replicates + 1)))
        advance(replicates)
    return played


def refuse(reasons: Mapping[str, bool], problem: str, remedy: str) -> None:
    """Refuse a scenario by the first reason that holds.

    Parameters
    ----------
    reasons : mapping
        Whether each reason holds.
    problem, remedy : str
        What is not possible because of it, and what to do instead.

    Raises
    ------
    SpecError
    """
    for reason, holds in reasons.items():
        if holds:
            raise SpecError([Fault("", f"{problem}, because {reason}", remedy)])


def longest(scenario: Scenario, dataset: Dataset) -> int:
    """Return the largest T of which :data:`FEWEST` runs are light work."""
    return int(population.LIGHT / (population.FEWEST * population.work(scenario, dataset)))


def ends(
    scenario: Scenario, numbers: Sequence[int], *, dataset: Dataset, workers: int | Workers = 1
) -> Array:
    """Return ψ at the end of the replicates of these numbers; infinite where it has overflowed."""
    every = scenario.run.updates
    return along([scenario], numbers, every, dataset, workers=workers)[1][0][:, -1]


def along(
    scenarios: Sequence[Scenario],
    numbers: Sequence[int],
    every: int,
    dataset: Dataset,
    *,
    like: Problem | None = None,
    workers: int | Workers = 1,
) -> tuple[Ints, list[Array]]:
    """Return lengths (J,) of runs, and ψ (R, J) there of scenarios with one network.

    A shorter run is the beginning of a longer one. A run that has ended stays where it ended.

    Parameters
    ----------
    scenarios : sequence of Scenario
    numbers : sequence of int
        Of the replicates, rising.
    every : int
        Distance between lengths, the last of which is T.
    dataset : Dataset
    like : Problem, optional
        One that may be about the same records.
    workers : int or Workers
        As of :meth:`QuickRuns.learned`.
    """
    updates = scenarios[0].run.updates
    lengths = np.minimum(np.arange(every, updates + every, every), updates)
    if len(numbers) == 0:
        return lengths, [np.zeros((0, len(lengths))) for _ in scenarios]
    tasks = []
    for scenario in scenarios:
        like = prepare(scenario, dataset, like)
        tasks.append(replace(like.task, record_every=every))
    runs = population.QuickRuns(scenarios[0])
    _, learned = runs.learned(tasks, numbers, whole=True, workers=workers)
    return lengths, [_at(outcome.curve, lengths) for outcome in learned]


def _at(curve: npt.NDArray[np.void], lengths: Ints) -> Array:
    """Return ψ (R, J) of replicates after so many updates; infinite where it has overflowed."""
    firsts = np.flatnonzero(np.diff(curve["replicate"], prepend=-1) != 0)
    parts = np.split(population.overflowed(curve["relative_fitness"]), firsts[1:])
    ks = np.split(curve["k"], firsts[1:])
    return np.stack(
        [psi[np.searchsorted(k, lengths, "right") - 1] for psi, k in zip(parts, ks, strict=True)]
    )


def compared(best: Played, others: str) -> str:
    """Return how choices were compared, and what ``others`` of the runs did."""
    return (
        f"{len(best.final)} of each choice with a ± (longer half of a 95 % interval), networks and "
        f"noise being the same for all; other runs {others}"
    )


@dataclass(frozen=True, eq=False)
class Advice:
    """A scenario that is advised, and of which records.

    Attributes
    ----------
    scenario : Scenario or None
        With what is advised in it; None where nothing is.
    data : str
        Data that the runs learned from.
    release : bool
        Whether it may be published: no private record was read. A choice made from private
        records is a release, too.
    unchecked : bool
        Whether the records are the twin's of a table that was not read.
    """

    scenario: Scenario | None
    data: str
    release: bool
    unchecked: bool

    def source(self, command: str) -> list[str]:
        """Return of which records it is; advice of a twin is checked by this, with --private."""
        lines = [f"data      {self.data}" + ("" if self.release else f": {RELEASE}")]
        if self.unchecked:
            lines.append(
                "unchecked on the table itself, whose records were not read; to simulate on them: "
                f"asyncdp forecast {command} --private (do not publish its output)"
            )
        return lines


def advice_on(
    known: population.Population, asked: Scenario, advised: Scenario | None
) -> dict[str, Any]:
    """Return the fields of :class:`Advice`.

    Parameters
    ----------
    known : Population
        Data of the runs.
    asked : Scenario
        The scenario as given.
    advised : Scenario or None
        The scenario with what is advised.
    """
    return {
        "scenario": None if advised is None else population.choosing(advised, known),
        "data": known.words,
        "release": not known.private,
        "unchecked": known.scenario.data != asked.data,
    }
