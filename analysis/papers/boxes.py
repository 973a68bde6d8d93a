"""Boxes of 25–75 % at every iteration and the median as a black line (Collab, figures 2 and 7)."""

from collections.abc import Sequence

from analysis.one_panel import text
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.convergence import CurveLine, ending, quartile_rows, quartiles
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import THEORY, colours


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
    marks, median = list[Layer](), {"color": THEORY, "linewidth": 1.0}
    for (k, (low, middle, high)), line, shade in zip(found, lines, shades, strict=True):
        box = {"color": shade, "alpha": 0.6, "linewidth": 2.2}
        boxes = "25–75 %" if shade == shades[0] else ""
        marks += [Layer("strokes", k, None, low, high, boxes, look=box),
                  Layer("line", k, middle, name="median", look=median),
                  Layer("line", y=middle[-1:], end=line.name, look={"color": shade})]  # fmt: skip
    named = r"relative fitness $\psi(\bar{\theta}[k])$" + f"\n{BETTER}"
    across = Side("iteration $k$", limits=(0, max(k[-1] for k, _ in found)))
    panel = Panel(marks, across, Side(named, log=True, grid=True))
    ends = [float(psi[1, -1]) for _, psi in found]
    said = ", ".join(f"{number(end)} at {line.name}" for end, line in zip(ends, lines, strict=True))
    caption = text("boxes", ends=said)
    table = quartile_rows(lines, "k", relative_fitness=found)
    declared = Declaration([panel], (6.5, 4.0), ending(table, "k", "ψ"))
    return Picture(name, declared, table, caption, label([line.result for line in lines]))
