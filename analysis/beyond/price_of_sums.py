"""ψ over the share of owners that are absent, for answers one by one and in sums."""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side, measured
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import THEORY, looks
from asyncdp_sim.figures.sweep_figure import estimates
from asyncdp_sim.results import Result

LEAST = 0.001
"""Share of sums opened that is drawn at least."""


def price_of_sums(
    absent: Array,
    lines: Sequence[tuple[str, Array]],
    opened: Sequence[Array],
    results: Sequence[Result],
) -> Picture:
    """Draw mean ψ over absence, a line for each way to send answers; the first is one by one.

    ψ has the ends of its intervals, shape (3, J). Below it is ψ over that of answers one by one,
    over the share of sums that are opened, of each kind but the first (J,).
    """
    names = [f"single answers: {lines[0][0]}", *(name for name, _ in lines[1:])]
    moved = 0.7 * (np.arange(len(lines)) - (len(lines) - 1) / 2)
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
    (_, (single, *_)), *sums = lines
    ratios = [psi[0] / single for _, psi in sums]
    below = [
        Layer("line", share, ratio, look={**look, "linestyle": "none"})
        for share, ratio, look in zip(
            opened, ratios, looks(len(lines), markersize=5)[1:], strict=True
        )
    ]
    below.append(Layer("level", y=1.0, look=dashed | {"linestyle": ":"}))
    of_single = Side("mean $\\psi$ over that of\nsingle answers", log=True, grid=True)
    panels = [
        Panel(marks, across, side),
        Panel(below, Side("share of sums opened", log=True, limits=(LEAST, 1.1)), of_single),
    ]
    title = f"{which_pay(absent, lines)}{where_they_open(opened, ratios)}"
    said = Declaration(panels, (6.5, 5.6), title, across=1)
    caption = (
        "Mean ψ when no owner may answer any more, or after 400 units, against the share of owners "
        "that are absent at each step of a sum. All owners spend ε = 1 against the learner, which "
        "receives every answer, or sums that need so many owners of 16. Error bars: 95 % "
        "intervals over replicates. Below: the same means over that of single answers, against the "
        f"share of sums that the binomial law opens; shares below {LEAST:.1%} are left out."
    )
    table = {
        "absent": np.tile(absent, len(lines)),
        "kind": np.repeat([name for name, _ in lines], len(absent)),
        "opened": np.concatenate([np.ones(len(absent)), *opened]),
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
    share = f"{100 * absent[most - 1]:.0f} %"
    text += f"{last}{share} absent ({longest}"
    (_, low, _), (_, _, high) = single, sums[pays.index(most)][1]
    text += f"; at {share} the intervals overlap)" if high[most - 1] >= low[most - 1] else ")"
    if least == most:
        return text
    share = "not at all" if least == 0 else f"only up to {100 * absent[least - 1]:.0f} %"
    return f"{text}, or {share} ({shortest})"


def where_they_open(opened: Sequence[Array], ratios: Sequence[Array]) -> str:
    """Return from which share of sums opened on ψ is smaller than that of single answers."""
    share, ratio = np.concatenate(opened), np.concatenate(ratios)
    order = np.argsort(share)[::-1]
    smaller = int(np.cumprod(ratio[order] < 1).sum())
    if smaller == 0:
        return ""
    return f"; they do wherever at least {100 * share[order][smaller - 1]:.0f} % of the sums open"
