"""POLAR's figure 3: obfuscated gradients in three windows Δ, and a server that sees all.

The code is not published, and of the settings the paper leaves out the steps and Y, the length of
the additive vectors. ``as-published`` takes Y = 0.5; ``wide`` Y = 1.5, with which suboptimality
first increases, as the paper says that it may; ``as-written`` could name nothing else. Nothing is
private in these: obfuscated gradients have no finite ε. ``sound`` asks the same of an algorithm
that has one: the non-private server of the figure with the same clients, data, steps and number of
iterations, where record gradients are clipped in L1 and every answer, one of as many as there are
iterations, has vector Laplace noise.

"The general trend of the non-private algorithm" is read as its shape, and not as its number of
iterations: the same paragraph has the non-private algorithm "much faster".
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.figures.convergence import CurveLine, by_update, quartiles
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario.paths import VARIANT
from scenarios.papers.claims import OURS, Range, result
from scenarios.papers.figure import SOUND, read_figures
from scenarios.papers.replayed import replay_claims, scale_claims

WIDE = "wide"
OPEN, WINDOWS = "non-private", ("Δ = 10", "Δ = 20", "Δ = 50")
LARGEST, BOUND = 10.0, 10.0
"""Of the private server: its largest ε, and the bound to which record gradients are clipped."""
FALLEN = 0.01
"""Of the suboptimality at the start, as soon as which an iterate counts as converged."""


def median(sweep: Sweep, name: str) -> tuple[Array, Array]:
    """Return iterations and the median suboptimality there, over that at the start."""
    k, (_, middle, _) = quartiles(result(sweep, name), "k")
    return k, middle / middle[0]


def arrival(sweep: Sweep, name: str) -> float:
    """Return the first recorded iteration at a hundredth of the start; infinite if there is none.

    The end of the run is not waited for: the median must stay below from there on.
    """
    k, values = median(sweep, name)
    above = np.flatnonzero(values > FALLEN)
    last = int(above[-1]) + 1 if len(above) > 0 else 0
    return float(k[last]) if last < len(k) else float("inf")


def left(sweep: Sweep, name: str) -> float:
    """Return the suboptimality at the end over that at the start."""
    return float(median(sweep, name)[1][-1])


def peak(sweep: Sweep, name: str) -> float:
    """Return the largest suboptimality over that at the start."""
    return float(median(sweep, name)[1].max())


def kept(sweep: Sweep) -> float:
    """Return the share of cells with noise that are private as claimed."""
    noisy = [cell for cell in sweep.cells if cell.values[VARIANT] != OPEN]
    return float(np.mean([cell.result.summary["private"] is True for cell in noisy]))


def farthest(sweep: Sweep) -> float:
    """Return the largest suboptimality over that at the start, of the smaller windows."""
    return max(peak(sweep, name) for name in WINDOWS[:2])


def drowned(sweep: Sweep, epsilon: float) -> Range:
    """Return what is left of the start at a small budget, at most, by that at the largest."""
    return FALLEN, left(sweep, f"ε = {LARGEST:g}") * (LARGEST / epsilon) ** 4


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw the figure: ψ, which is the suboptimality f − f* over f*, against iterations."""
    return [by_update([CurveLine(cell.result, cell.label([VARIANT])) for cell in sweep.cells])]


SCALE = scale_claims({SOUND: BOUND}, OURS)
THE_RUN = replay_claims({SOUND: BOUND})
FIGURES = read_figures(Path(__file__).with_suffix(".toml"), globals())
