"""POLAR's figure 3: obfuscated gradients in three windows Δ, and a server that sees all.

The code is not published, and of the settings the paper leaves out the steps and Y, the length of
the additive vectors. ``as-published`` takes Y = 0.5, ``wide`` Y = 1.5. There is nothing private in
either: obfuscated gradients have no finite ε, so there is no ``sound``.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from analysis.convergence import Line, by_update, quartiles
from analysis.picture import Picture
from analysis.source import VARIANT, Sweep
from scenarios.papers.claims import Claim
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure, Settings

Array = npt.NDArray[np.float64]
WIDE = "wide"
VARIANTS: dict[str, Settings] = {AS_PUBLISHED: (), WIDE: ("algorithm.additive_bound=1.5",)}
OPEN, WINDOWS = "non-private", ("Δ = 10", "Δ = 20", "Δ = 50")
FALLEN = 0.01
"""Of the suboptimality at the start, as soon as which an iterate counts as converged."""


def median(sweep: Sweep, name: str) -> tuple[Array, Array]:
    """Return iterations and the median suboptimality there, over that at the start."""
    [cell] = [cell for cell in sweep.cells if cell.values[VARIANT] == name]
    k, (_, middle, _) = quartiles(cell.result, "k")
    return k, middle / middle[0]


def arrival(sweep: Sweep, name: str) -> float:
    """Return the first recorded iteration at a hundredth of the start; infinite if there is none.

    The end of the run is not waited for: the median must stay below from there on.
    """
    k, values = median(sweep, name)
    above = np.flatnonzero(values > FALLEN)
    last = int(above[-1]) + 1 if len(above) > 0 else 0
    return float(k[last]) if last < len(k) else float("inf")


def after(name: str, other: str) -> Callable[[Sweep], float]:
    """Return what measures how many times as many iterations one takes as another."""
    return lambda sweep: arrival(sweep, name) / arrival(sweep, other)


def left(name: str) -> Callable[[Sweep], float]:
    """Return what measures the suboptimality at the end over that at the start."""
    return lambda sweep: float(median(sweep, name)[1][-1])


def peak(name: str) -> Callable[[Sweep], float]:
    """Return what measures the largest suboptimality over that at the start."""
    return lambda sweep: float(median(sweep, name)[1].max())


RISES = "Δ = 50: largest suboptimality over the start's: first rises"
FOLLOWS = (
    "weights sum to M = 5 only over a window of Δ steps, and servers agree once in it; how far "
    "that delays depends on Y and the steps, which the paper does not state"
)
CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(f"{name}: suboptimality at the end over the start's: converges", left(name),
              high=FALLEN)
        for name in (OPEN, *WINDOWS)
    ),
    Claim("iterations of Δ = 10 over non-private: much slower", after(WINDOWS[0], OPEN), 2),
    Claim("iterations of Δ = 20 over Δ = 10: slower", after(WINDOWS[1], WINDOWS[0]), 1.2),
    Claim("iterations of Δ = 50 over Δ = 20: slower", after(WINDOWS[2], WINDOWS[1]), 1.2),
    Claim("iterations of Δ = 20 over non-private: follows very closely",
          after(WINDOWS[1], OPEN), high=2, because=FOLLOWS),
    Claim(RISES, peak(WINDOWS[2]), 1.01,
          because="the paper does not state Y; with Y = 1.5 it rises (wide)"),
    Claim(RISES, peak(WINDOWS[2]), 1.01, variants=(WIDE,)),
)  # fmt: skip


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw the figure: ψ, which is the suboptimality f − f* over f*, against iterations."""
    return [by_update([Line(cell.result, cell.label([VARIANT])) for cell in sweep.cells])]


FIGURES: tuple[PaperFigure, ...] = (
    PaperFigure("polar-03", "POLAR, figure 3", "polar-convergence", CLAIMS, pictures, VARIANTS,
                ("run.updates=200", "run.replicates=1")),
)  # fmt: skip
