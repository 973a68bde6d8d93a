"""ψ over the share of owners that are absent, for answers one by one and in sums."""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import looks
from asyncdp_sim.results import Result


def price_of_sums(
    absent: Array, lines: Sequence[tuple[str, Array]], results: Sequence[Result]
) -> Picture:
    """Draw mean ψ over absence, a line for each way to send answers; the first is one by one."""
    marks = [
        Layer("line", 100 * absent, psi, name=name, look=look)
        for (name, psi), look in zip(lines, looks(len(lines), markersize=5), strict=True)
    ]
    across = Side("owners absent at each step, %", ticks=(100 * absent).tolist())
    side = Side(f"mean $\\psi$ at the end\n{BETTER}", log=True, grid=True)
    said = Declaration([Panel(marks, across, side)], (6.5, 3.4), which_pay(absent, lines))
    caption = (
        "Mean ψ when no owner may answer any more, or after 400 units, against the share of owners "
        "that are absent at each step of a sum. All owners spend ε = 1 against the learner, which "
        "receives every answer, or sums that need so many owners of 16."
    )
    table = {
        "absent": np.tile(absent, len(lines)),
        "kind": np.repeat([name for name, _ in lines], len(absent)),
        "psi": np.concatenate([psi for _, psi in lines]),
    }
    return Picture("price-of-secure-sums", said, table, caption, label(list(results)))


def which_pay(absent: Array, lines: Sequence[tuple[str, Array]]) -> str:
    """Return up to which absence sums have a smaller ψ than answers one by one."""
    (_, single), *sums = lines
    parts = []
    for name, psi in sums:
        pays = np.flatnonzero(np.cumprod(psi < single))
        share = "never" if len(pays) == 0 else f"up to {100 * absent[pays[-1]]:.0f} %"
        parts.append(f"{share} ({name})")
    return f"Sums fit better at equal ε: {', '.join(parts)}"
