"""Boxes of 25–75 % at every iteration and the median as a black line (Collab, figures 2 and 7)."""

from collections.abc import Sequence

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.axes import BETTER, end_labels, key, legend, log_axis, scale
from asyncdp_sim.figures.convergence import CurveLine, quartile_rows, quartiles
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import THEORY, canvas, colours, style

CAPTION = (
    "Relative fitness ψ(θ̄[k]) = f(θ̄[k])/f(θ*) − 1 of the averaged model against iteration k: "
    "boxes, drawn as vertical lines, from the 25 % to the 75 % quantile over replicates, and the "
    "median as a black line"
)


def by_iteration(lines: Sequence[CurveLine], *, name: str = "boxes") -> Picture:
    """Draw quartiles of ψ at every recorded iteration, in the manner of Collab.

    Parameters
    ----------
    lines : sequence of CurveLine
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
    with style():
        figure, axes = canvas(height=4.0)
        log_axis(axes)
        for (k, (low, middle, high)), shade in zip(found, shades, strict=True):
            axes.vlines(k, low, high, color=shade, alpha=0.6, linewidth=2.2)
            axes.plot(k, middle, color=THEORY, linewidth=1.0)
        axes.set_xlim(0, max(k[-1] for k, _ in found))
        named = r"relative fitness $\psi(\bar{\theta}[k])$" + f"\n{BETTER}"
        scale(axes, xlabel="iteration $k$", ylabel=named)
        ends = [float(psi[1, -1]) for _, psi in found]
        end_labels(axes, ends, [line.name for line in lines], shades)
        marks = [
            key("25–75 %", color=shades[0], alpha=0.6, linewidth=2.2),
            key("median", color=THEORY, linewidth=1.0),
        ]
        legend(figure, marks, 2, right=True)
    said = ", ".join(f"{number(end)} at {line.name}" for end, line in zip(ends, lines, strict=True))
    caption = f"{CAPTION}. Median after the last iteration: {said}."
    table = quartile_rows(lines, "k", relative_fitness=found)
    return Picture(name, figure, table, caption, label([line.result for line in lines]))
