"""Boxes of 25–75 % at every iteration and the median as a black line (Collab, figures 2 and 7)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.lines import Line2D

from asyncdp_sim.figures.kit.line_labels import end_labels
from asyncdp_sim.figures.kit.numbers import number
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.privacy_label import label
from asyncdp_sim.figures.kit.style import THEORY, canvas, colours, plain_numbers, style
from asyncdp_sim.figures.runs.convergence import Line, quartiles

CAPTION = (
    "Relative fitness ψ(θ̄[k]) = f(θ̄[k])/f(θ*) − 1 of the averaged model against iteration k: "
    "boxes, drawn as vertical lines, from the 25 % to the 75 % quantile over replicates, and the "
    "median as a black line"
)


def by_iteration(lines: Sequence[Line], *, name: str = "boxes") -> Picture:
    """Draw quartiles of ψ at every recorded iteration, in the manner of Collab.

    Parameters
    ----------
    lines : sequence of Line
        One colour each; at least one.
    name : str
        Of the files.

    Raises
    ------
    ResultError
        If a curve is absent or damaged.
    """
    shades = colours(len(lines))
    found = [quartiles(line.result, "k") for line in lines]
    table: dict[str, npt.NDArray[Any]] = {
        "line": np.repeat([line.name for line in lines], [len(k) for k, _ in found]),
        "k": np.concatenate([k for k, _ in found]),
    }
    values = np.concatenate([psi for _, psi in found], axis=1)
    table |= dict(
        zip(
            ("relative_fitness_q25", "relative_fitness_median", "relative_fitness_q75"),
            values,
            strict=True,
        )
    )
    with style():
        figure, axes = canvas(height=4.0)
        axes.set_yscale("log")
        for (k, (low, middle, high)), shade in zip(found, shades, strict=True):
            axes.vlines(k, low, high, color=shade, alpha=0.6, linewidth=2.2)
            axes.plot(k, middle, color=THEORY, linewidth=1.0)
        axes.set_xlim(0, max(k[-1] for k, _ in found))
        plain_numbers(axes)
        axes.grid(axis="y")
        axes.set_xlabel("iteration $k$")
        axes.set_ylabel(r"relative fitness $\psi(\bar{\theta}[k])$")
        ends = [float(psi[1, -1]) for _, psi in found]
        end_labels(axes, ends, [line.name for line in lines], shades)
        marks = [
            Line2D([], [], color=shades[0], alpha=0.6, linewidth=2.2, label="25–75 %"),
            Line2D([], [], color=THEORY, linewidth=1.0, label="median"),
        ]
        figure.legend(handles=marks, loc="outside upper right", ncols=2)
    said = ", ".join(f"{number(end)} at {line.name}" for end, line in zip(ends, lines, strict=True))
    caption = f"{CAPTION}. Median after the last iteration: {said}."
    return Picture(name, figure, table, caption, label([line.result for line in lines]))
