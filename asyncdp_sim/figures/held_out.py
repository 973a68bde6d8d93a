"""Loss on held-out rows over updates, beside that of θ* and of owners alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from asyncdp_sim.core.words import known
from asyncdp_sim.figures.axes import (
    BETTER,
    LONGEST_AT_END,
    end_labels,
    key,
    legend,
    log_axis,
)
from asyncdp_sim.figures.convergence import (
    CurveLine,
    draw_quartiles,
    line_keys,
    line_marks,
    medians,
    quartile_rows,
    quartiles,
)
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import THEORY, colours, panels, plain_numbers, style
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
    shades = colours(len(lines))
    trained = [quartiles(line.result, "k") for line in lines]
    unseen = [quartiles(line.result, "k", of="held_out_loss") for line in lines]
    results = [line.result for line in lines]
    wordy = max(len(line.name) for line in lines) > LONGEST_AT_END
    named, across = line_keys(lines, shades) if wordy else ([], 2)
    with style():
        figure, both = panels((1.0, 1.3), height=5.2 + 0.2 * len(named))
        for axes, scores in zip(both, (trained, unseen), strict=True):
            log_axis(axes)
            axes.grid(axis="y")
            draw_quartiles(axes, scores, shades)
            axes.set_xlim(0, max(grid[-1] for grid, _ in scores))
        marks, levels = _references(both[1], results, shades)
        lowest = [float(values[0].min()) for _, values in unseen]
        settled = [values[:, int(SETTLED * len(grid)) :] for grid, values in unseen]
        highest = [*levels, *(float(values.max()) for values in settled)]
        if np.isfinite(highest).all():
            both[1].set_ylim(0.97 * min(*levels, *lowest), 1.03 * max(highest))
        for axes, scores in zip(both, (trained, unseen), strict=True):
            plain_numbers(axes)
            if len(lines) > 1 and not wordy:
                names = [line.name for line in lines]
                last = [values[1, -1] for _, values in scores]
                end_labels(axes, last, names, shades, line_marks(len(lines)))
        both[0].set_ylabel(r"$\psi(\theta_{L,k})$, training rows" + f"\n{BETTER}")
        both[1].set(ylabel=f"mean loss, held-out rows\n{BETTER}", xlabel="update $k$")
        legend(figure, [*named, *marks], across, right=not wordy)
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


def _references(
    axes: Axes, results: Sequence[Result], shades: Sequence[str]
) -> tuple[list[Artist], list[float]]:
    """Draw what does not change with k, once where it is the same for all.

    Return the marks for a legend, and the values.
    """
    marks: list[Artist] = []
    values: list[float] = []
    for name, (words, dashes) in REFERENCES.items():
        levels = [known(result.summary.get(name)) for result in results]
        named = {
            value: shade for value, shade in zip(levels, shades, strict=True) if np.isfinite(value)
        }
        look: dict[str, Any] = {"linestyle": dashes, "linewidth": 1.2}
        for value, shade in named.items():
            axes.axhline(value, color=THEORY if len(named) == 1 else shade, **look)
        marks += [key(words, color=THEORY, **look)] if named else []
        values += named
    return marks, values
