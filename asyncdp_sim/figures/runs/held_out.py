"""Loss on held-out rows over updates, beside that of θ* and of owners alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from asyncdp_sim.figures.kit.line_labels import end_labels
from asyncdp_sim.figures.kit.numbers import as_float
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.privacy_label import label
from asyncdp_sim.figures.kit.source import Result
from asyncdp_sim.figures.kit.style import BLUE, THEORY, colours, panels, plain_numbers, style
from asyncdp_sim.figures.runs.convergence import (
    DIVERGED,
    MOST_BANDS,
    QUARTILES,
    Line,
    quartiles,
    stepped,
)

Array = npt.NDArray[np.float64]
REFERENCES = {
    "held_out_optimum": ("θ*: all together, without privacy", "--"),
    "held_out_alone": ("θ_i*: every owner alone", ":"),
}
"""Figures of the summary that stay as they are: how they are named and drawn."""
ROOM = 1.5
"""Losses above so many times the largest end are cut off, that the ends can be told apart."""


def curves(lines: Sequence[Line]) -> Picture:
    """Draw ψ on the rows trained on against k, and below it the mean loss on held-out rows.

    Beside it stand the loss of θ* on these rows, and that of every row under its owner's θ_i*.

    Parameters
    ----------
    lines : sequence of Line
        Results with held-out rows; at least one.

    Raises
    ------
    ResultError
        If a curve is absent or damaged, or nothing was held out.
    """
    shades = [BLUE] if len(lines) == 1 else colours(len(lines))
    trained = [quartiles(line.result, "k") for line in lines]
    unseen = [
        (grid, _held_out(line.result, grid)) for line, (grid, _) in zip(lines, trained, strict=True)
    ]
    results = [line.result for line in lines]
    with style():
        figure, both = panels((1.0, 1.3), height=5.2)
        for axes, found in zip(both, (trained, unseen), strict=True):
            axes.set_yscale("log")
            axes.grid(axis="y")
            for (grid, (low, middle, high)), shade in zip(found, shades, strict=True):
                if len(lines) <= MOST_BANDS:
                    axes.fill_between(grid, low, high, color=shade, alpha=0.25, linewidth=0)
                axes.plot(grid, middle, color=shade)
            axes.set_xlim(0, max(grid[-1] for grid, _ in found))
        marks, known = _references(both[1], results, shades)
        ends = [*known, *(float(values[1, -1]) for _, values in unseen)]
        lowest = [float(values[0].min()) for _, values in unseen]
        if np.isfinite(ends).all():
            both[1].set_ylim(0.97 * min(*known, *lowest), ROOM * max(ends))
        for axes, found in zip(both, (trained, unseen), strict=True):
            plain_numbers(axes)
            if len(lines) > 1:
                end_labels(
                    axes,
                    [values[1, -1] for _, values in found],
                    [line.name for line in lines],
                    shades,
                )
        both[0].set_ylabel(r"$\psi(\theta_{L,k})$, rows trained on")
        both[1].set_ylabel("mean loss, held-out rows")
        both[1].set_xlabel("update $k$")
        figure.legend(handles=marks, loc="outside upper right", ncols=2)
    caption = (
        "Median (line) and 25–75 % band over replicates against update k. Above: ψ on the rows "
        "trained on. Below: the mean loss of the same models on all held-out rows, without "
        "regulariser, beside that of θ* and that of every row under its owner's own optimum; "
        "where models begin may lie above the frame."
    )
    return Picture("held-out", figure, _table(lines, trained, unseen), caption, label(results))


def _references(
    axes: Axes, results: Sequence[Result], shades: Sequence[str]
) -> tuple[list[Artist], list[float]]:
    """Draw what does not change with k, once where it is the same for all.

    Return the marks for a legend, and the values.
    """
    marks: list[Artist] = []
    values: list[float] = []
    for name, (said, dashes) in REFERENCES.items():
        known = [as_float(each.summary.get(name)) for each in results]
        given = {
            value: shade for value, shade in zip(known, shades, strict=True) if value is not None
        }
        look: dict[str, Any] = {"linestyle": dashes, "linewidth": 1.2}
        for value, shade in given.items():
            axes.axhline(value, color=THEORY if len(given) == 1 else shade, **look)
        marks += [Line2D([], [], color=THEORY, label=said, **look)] if given else []
        values += given
    return marks, values


def _held_out(result: Result, grid: npt.NDArray[Any]) -> Array:
    """Return the quartiles over replicates of the held-out loss on a grid of k, shape (3, G)."""
    replicate, k, loss = result.columns("curve", "replicate", "k", "held_out_loss")
    starts = np.flatnonzero(np.diff(replicate, prepend=-1) != 0)[1:]
    steps = zip(np.split(k, starts), np.split(loss, starts), strict=True)
    values = np.stack([stepped(when, what, grid) for when, what in steps])
    known = np.where(np.isnan(values), DIVERGED, np.minimum(values, DIVERGED))
    found = np.quantile(known, QUARTILES, axis=0)
    return np.asarray(np.where(found > DIVERGED / 1e6, np.inf, found))


def _table(
    lines: Sequence[Line],
    trained: Sequence[tuple[Array, Array]],
    unseen: Sequence[tuple[Array, Array]],
) -> dict[str, npt.NDArray[Any]]:
    rows = [len(grid) for grid, _ in trained]
    table: dict[str, npt.NDArray[Any]] = {
        "line": np.repeat([line.name for line in lines], rows),
        "k": np.concatenate([grid for grid, _ in trained]),
    }
    for name, found in (("relative_fitness", trained), ("held_out", unseen)):
        parts = np.concatenate([values for _, values in found], axis=1)
        table |= dict(zip((f"{name}_q25", f"{name}_median", f"{name}_q75"), parts, strict=True))
    for name in REFERENCES:
        known = [as_float(line.result.summary.get(name)) for line in lines]
        table[name] = np.repeat([np.nan if value is None else value for value in known], rows)
    return table
