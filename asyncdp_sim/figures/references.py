"""Laws, bounds and other models, which measured ψ is held against, and what papers report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.words import number
from asyncdp_sim.results import Cell


@dataclass(frozen=True)
class Reference:
    """A reference beside the measured means: a law, a bound, or ψ of another model.

    Attributes
    ----------
    name : str
        In the legend and the caption, such as ``2.15·10⁹/(ε n_i)²``.
    column : str
        In the table.
    at : callable
        ψ in a cell of the sweep, from its values or its result; NaN where there is none.
    """

    name: str
    column: str
    at: Callable[[Cell], float]


def measured_over(psi: Array, law: Array) -> Array:
    """Return measured ψ over that of a reference, where it is positive and finite, as one row."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = psi / law
    return np.asarray(ratio[np.isfinite(ratio) & (ratio > 0)])


def told_of_ratio(ratio: Array) -> str:
    """Return a caption's words on such ratios: their geometric mean and ends; none of none."""
    if len(ratio) == 0:
        return ""
    middle = number(float(np.exp(np.log(ratio).mean())))
    return f", measured over it {middle} ({number(ratio.min())} to {number(ratio.max())})"


FINAL_PSI: dict[str, Mapping[float, float]] = {
    # Async, figure 3: where the medians end, read off the plot. The law of figure 5, published
    # beside it, gives 3.4, 0.034 and 0.00034 at the same settings: the two disagree.
    "lending-convergence": {0.1: 0.4, 1.0: 0.04, 10.0: 0.008},
}
"""By entry: the published ψ(θ_L,T) for each value of the first swept path."""
ELSEWHERE = {
    "lending-convergence": (
        "read off the paper's figure 3. The law in its figure 5 gives 3.4, 0.034 and 0.00034 "
        "instead. The curves for ε = 0.1 and 1 end at this law; for ε = 10 the run is too short"
    ),
}
"""By entry: why the published points lie elsewhere than our curves."""
CONSTANT = 2.1536e9
"""c in the bound c/(ε n_i)² that figures 5 and 6 of Async draw, n_i records of each of 3 banks."""


def lending_law(cell: Cell) -> float:
    """Return c/(ε n_i)² in a cell."""
    said = cell.result.scenario
    return CONSTANT / (float(said["privacy"]["epsilon"]) * float(said["owners"]["records"])) ** 2


def hospital_law(epsilon: float) -> float:
    """Return 0.9/ε + 0.6/ε², as figure 10 of Async draws it; n, N and f(θ*) are in both numbers."""
    return 0.9 / epsilon + 0.6 / epsilon**2


LENDING = Reference("published bound 2.15·10⁹/(ε n_i)²", "law", lending_law)
HOSPITAL = Reference(
    "0.9/ε + 0.6/ε², as published", "law",
    lambda cell: hospital_law(float(cell.values["privacy.epsilon"])),
)  # fmt: skip
DRAWN: Mapping[str, tuple[Reference, ...]] = {"async-05": (LENDING,), "async-07": ()}
"""Entries beside whose surface a paper draws a bound, or none: in place of a fitted law."""
