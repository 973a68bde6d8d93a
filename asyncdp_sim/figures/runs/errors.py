"""Errors in the target's own unit on each owner's held-out rows: alone, and with the others."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.figures.kit.picture import Picture, label, row_labels
from asyncdp_sim.figures.kit.style import (
    MARKERS,
    THEORY,
    colours,
    owner_ticks,
    panels,
    style,
)
from asyncdp_sim.figures.runs.convergence import CurveLine
from asyncdp_sim.figures.runs.profit import ALONE, OWN
from asyncdp_sim.measures.scores import SCORES, Score


def by_owner(lines: Sequence[CurveLine]) -> Picture:
    """Draw the headline score of every owner: of its own model, of the private one, and of θ*.

    Parameters
    ----------
    lines : sequence of CurveLine
        Results of the same owners, with held-out rows and owners alone; at least one.

    Raises
    ------
    ResultError
        If a table is absent or damaged.
    """
    results = [line.result for line in lines]
    shades = colours(len(lines))
    score = headline(results[0].summary)
    unit = results[0].manifest.get("target_unit")
    owners = np.arange(1, results[0].n_owners + 1)
    name = f"held_out_{score.name}"
    alone, best = (
        results[0].of_owners(f"{name}{end}").mean(axis=0) for end in ("_alone", "_optimum")
    )
    private = [result.of_owners(name).mean(axis=0) for result in results]
    with style():
        figure, (axes,) = panels((1.0,), height=3.6)
        axes.plot(owners, best, "_", color=THEORY, markersize=11, label="θ*: all, without privacy")
        axes.plot(owners - 0.15, alone, label=OWN, **ALONE)
        for place, (line, shade, values) in enumerate(zip(lines, shades, private, strict=True)):
            mark = MARKERS[place % len(MARKERS)]
            said = f"private, {line.name}" if line.name else "private"
            at = owners + 0.35 * place / len(lines)
            axes.plot(at, values, mark, color=shade, markersize=4, label=said)
        axes.grid(axis="y")
        axes.set_ylabel(score.words + (f" ({unit})" if score.in_units and unit else ""))
        owner_ticks(axes, "x", results[0].participants)
        axes.set_xlabel("owner $i$")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    table: dict[str, npt.NDArray[Any]] = {
        "line": np.repeat([line.name for line in lines], len(owners)),
        "owner": np.tile(owners, len(lines)),
        f"{name}_optimum": np.tile(best, len(lines)),
        f"{name}_alone": np.tile(alone, len(lines)),
        name: np.concatenate(private),
        **row_labels([[result] for result in results], [len(owners)] * len(lines)),
    }
    better = "above" if score.more_is_better else "below"
    caption = (
        f"{score.words} on each owner's own held-out rows: of its own model θ_i* (crosses), of the "
        "private model, in the mean over replicates (markers), and of θ* (dashes). An owner whose "
        f"marker lies {better} its cross gains by joining."
    )
    return Picture("errors", figure, table, caption, label(results))


def headline(summary: dict[str, Any]) -> Score:
    """Return the first score that a summary has; there is one wherever rows were held out."""
    return next(score for score in SCORES if f"held_out_{score.name}" in summary)
