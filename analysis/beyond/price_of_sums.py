"""ψ over the share of owners that are absent, for answers one by one and in sums."""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side, measured
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import THEORY, looks
from asyncdp_sim.figures.sweep_figure import estimates
from asyncdp_sim.results import Result


def price_of_sums(
    absent: Array, lines: Sequence[tuple[str, Array]], results: Sequence[Result]
) -> Picture:
    """Draw mean ψ over absence, a line for each way to send answers; the first is one by one.

    ψ has the ends of its intervals, shape (3, J).
    """
    names = [f"single answers: {lines[0][0]}", *(name for name, _ in lines[1:])]
    moved = 0.3 * (np.arange(len(lines)) - (len(lines) - 1) / 2)
    marks = [
        measured(100 * absent + to, psi, name=name, **look)
        for name, (_, psi), look, to in zip(
            names, lines, looks(len(lines), markersize=5), moved, strict=True
        )
    ]
    closed = {float(value) for _, psi in lines for value in psi[0][psi[1] == psi[2]]}
    dashed = {"color": THEORY, "linestyle": "--", "linewidth": 0.9}
    marks += [Layer("level", y=psi, name="no sum opens in any run", look=dashed) for psi in closed]
    across = Side("owners absent at each step, %", ticks=(100 * absent).tolist())
    side = Side(f"mean $\\psi$ at the end, 95 % interval\n{BETTER}", log=True, grid=True)
    said = Declaration([Panel(marks, across, side)], (6.5, 3.4), which_pay(absent, lines))
    caption = (
        "Mean ψ when no owner may answer any more, or after 400 units, against the share of owners "
        "that are absent at each step of a sum. All owners spend ε = 1 against the learner, which "
        "receives every answer, or sums that need so many owners of 16. Error bars: 95 % "
        "intervals over replicates."
    )
    table = {
        "absent": np.tile(absent, len(lines)),
        "kind": np.repeat([name for name, _ in lines], len(absent)),
        **estimates("psi", np.concatenate([psi for _, psi in lines], axis=1).T),
    }
    return Picture("price-of-secure-sums", said, table, caption, label(list(results)))


def which_pay(absent: Array, lines: Sequence[tuple[str, Array]]) -> str:
    """Return up to which absence sums have a smaller ψ than answers one by one."""
    (_, single), *sums = lines
    pays = [int(np.cumprod(psi[0] < single[0]).sum()) for _, psi in sums]  # absences in a row
    most, least = max(pays), min(pays)
    longest, shortest = sums[pays.index(most)][0], sums[pays.index(least)][0]
    if most == 0:
        return "At equal ε sums never fit better than single answers"
    last = "at least " * (most == len(absent))
    text = "At equal ε sums fit better than single answers up to "
    text += f"{last}{100 * absent[most - 1]:.0f} % "
    text += f"absent ({longest}"
    (_, low, _), (_, _, high) = single, sums[pays.index(most)][1]
    text += ", where intervals meet)" if high[most - 1] >= low[most - 1] else ")"
    if least == most:
        return text
    share = "not at all" if least == 0 else f"only up to {100 * absent[least - 1]:.0f} %"
    return f"{text}, or {share} ({shortest})"
