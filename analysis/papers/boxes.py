"""Boxes of 25–75 % at every iteration and the median as a black line (Collab, figures 2 and 7)."""

from collections.abc import Sequence

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import key, legend, log_axis, scale
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import THEORY, canvas, colours, style
from asyncdp_sim.figures.runs.convergence import CurveLine, quartile_rows, quartiles

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
        scale(axes, xlabel="iteration $k$", ylabel=r"relative fitness $\psi(\bar{\theta}[k])$")
        ends = [float(psi[1, -1]) for _, psi in found]
        marks = [
            *(
                key(f"{line.name}: 25–75 %", color=shade, alpha=0.6, linewidth=2.2)
                for line, shade in zip(lines, shades, strict=True)
            ),
            key("median", color=THEORY, linewidth=1.0),
        ]
        legend(figure, marks, 2)
    said = ", ".join(f"{number(end)} at {line.name}" for end, line in zip(ends, lines, strict=True))
    caption = f"{CAPTION}. Median after the last iteration: {said}."
    table = quartile_rows(lines, "k", relative_fitness=found)
    return Picture(name, figure, table, caption, label([line.result for line in lines]))
