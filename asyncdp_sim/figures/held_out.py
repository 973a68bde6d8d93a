"""Loss on held-out rows over updates, beside that of θ* and of owners alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from asyncdp_sim.core.words import known
from asyncdp_sim.figures.convergence import (
    CurveLine,
    Look,
    line_looks,
    medians,
    quartile_marks,
    quartile_rows,
    quartiles,
    wordy,
)
from asyncdp_sim.figures.drawer import BETTER, Declaration, Mark, Panel, Side, draw
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import THEORY
from asyncdp_sim.results import Result

REFERENCES = {
    "held_out_optimum": ("θ*: all records, without privacy", "--"),
    "held_out_alone": (r"$\theta_i^*$: each owner alone", ":"),
}
"""Figures of the summary that stay as they are: how they are named and drawn."""
SETTLED = 0.5
"""The axis of losses holds the bands of this last share of all updates, and what is before may lie
above it."""


def curves(lines: Sequence[CurveLine]) -> Picture:
    """Draw ψ on the rows trained on against k, and below it the mean loss on held-out rows.

    Beside it stand the loss of θ* on these rows, and that of every row under its owner's θ_i*.

    Parameters
    ----------
    lines : sequence of CurveLine
        Results with held-out rows; at least one.

    Raises
    ------
    ResultError
        If a curve is absent or damaged, or nothing was held out.
    """
    looks, names = line_looks(len(lines)), [line.name for line in lines]
    trained = [quartiles(line.result, "k") for line in lines]
    unseen = [quartiles(line.result, "k", of="held_out_loss") for line in lines]
    results = [line.result for line in lines]
    references, levels = _references(results, looks)
    lowest = [float(values[0].min()) for _, values in unseen]
    settled = [values[:, int(SETTLED * len(grid)) :] for grid, values in unseen]
    highest = [*levels, *(float(values.max()) for values in settled)]
    limits: tuple[float | None, float | None] = (None, None)
    if np.isfinite(highest).all():
        limits = (0.97 * min(*levels, *lowest), 1.03 * max(highest))
    across = Side("update $k$", limits=(0, max(grid[-1] for grid, _ in trained)))
    psi = r"$\psi(\theta_{L,k})$, training rows" + f"\n{BETTER}"
    loss = Side(f"mean loss, held-out rows\n{BETTER}", True, limits, grid=True)
    both = [
        Panel(quartile_marks(trained, names, looks), Side(), Side(psi, True, grid=True)),
        Panel(quartile_marks(unseen, names, looks) + references, across, loss),
    ]
    size, long = (6.5, 5.2), wordy(lines)
    figure = draw(Declaration(both, size, heights=(1.0, 1.3), right=not long, columns=2 - long))
    caption = (
        f"{medians(trained, unseen)} over replicates against update k. Above: ψ on the "
        "training rows. Below: mean loss of the same models on all held-out rows, without the "
        "regulariser. Dashed: θ*. Dotted: each owner's own optimum on its own rows. The first "
        "values may lie above the frame."
    )
    table = quartile_rows(lines, "k", relative_fitness=trained, held_out=unseen)
    for name in REFERENCES:
        values = [known(result.summary.get(name)) for result in results]
        table[name] = np.repeat(values, [len(grid) for grid, _ in trained])
    return Picture("held-out", figure, table, caption, label(results))


def _references(results: Sequence[Result], looks: Sequence[Look]) -> tuple[list[Mark], list[float]]:
    """Return what does not change with k, once where it is the same for all, and its values."""
    marks: list[Mark] = []
    values: list[float] = []
    for name, (words, dashes) in REFERENCES.items():
        levels = [known(result.summary.get(name)) for result in results]
        named = {
            value: look for value, look in zip(levels, looks, strict=True) if np.isfinite(value)
        }
        line: dict[str, Any] = {"linestyle": dashes, "linewidth": 1.2}
        for value, look in named.items():
            tone = {"color": THEORY if len(named) == 1 else look["color"]}
            marks.append(Mark("level", y=value, look=line | tone))
        marks += [Mark("line", name=words, look=line | {"color": THEORY})] if named else []
        values += named
    return marks, values
