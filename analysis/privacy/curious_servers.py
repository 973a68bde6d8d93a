"""Curious servers of POLAR: knowledge of a client's gradient against their number τ."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.style import THEORY, looks
from asyncdp_sim.sentences.label import Label

NO_GUARANTEE = Label(
    text="POLAR: obfuscated, no differential privacy guarantee for any ε.",
    private=False,
    epsilon_true=inf,
    delta=None,
    timing_accounted=True,
    release=True,
)


@dataclass(frozen=True)
class Known:
    """Knowledge that τ of a client's servers have of its gradient.

    Attributes
    ----------
    window, uploads, servers : int
        Δ, |N_h| and τ.
    additive : float
        Y over the gradient's norm.
    error, expected : float
        Error of the best multiple of what they see, measured and by theory.
    cosine : float
        Mean |cos| between that and the gradient.
    """

    window: int
    uploads: int
    servers: int
    additive: float
    error: float
    expected: float
    cosine: float


def by_servers(rows: Sequence[Known]) -> Picture:
    """Draw error and direction against τ, a line for each |N_h|; all rows have one Δ and one Y."""
    uploads = sorted({row.uploads for row in rows})
    errors, cosines = list[Layer](), list[Layer]()
    for n, look in zip(uploads, looks(len(uploads), markersize=4.5), strict=True):
        line = sorted((r for r in rows if r.uploads == n), key=lambda row: row.servers)
        x, (error, expected, cosine) = _columns(line)
        thin, dots = {"color": look["color"], "linewidth": 0.9}, look | {"linestyle": "none"}
        errors += [Layer("line", x, error, name=f"$|N_h|$ = {n}", look=dots),
                   Layer("line", x, expected, look=thin)]  # fmt: skip
        cosines.append(Layer("line", x, cosine, look=look | {"linestyle": ":", "linewidth": 0.9}))
    across = Side("servers that collude $\\tau$", ticks=range(1, max(uploads) + 1))
    panels = [
        Panel(marks, across, Side(named, limits=(-0.03, 1.05), grid=True))
        for marks, named in ((errors, "error of the best guess (relative)"),
                             (cosines, "|cos| between guess and gradient"))
    ]  # fmt: skip
    least = min(rows, key=lambda row: row.error if row.servers < row.uploads else np.inf)
    title = f"All but one of {least.uploads} servers miss a gradient by {100 * least.error:.2g} %; "
    said = Declaration(panels, (7.2, 3.3), f"{title}all of them know it exactly")
    first = rows[0]
    caption = (
        "How well τ colluding servers of POLAR reconstruct a client's gradient from the sum of its "
        f"messages to them in Δ = {first.window} steps, with ‖d‖ ≤ {first.additive:g} ‖g‖ "
        "and one weight per upload. Left: root mean square error of the best multiple of that "
        "sum (1: nothing is learned); markers measured, lines √(r/(1+r)) with "
        "r = ρ²(|N_h| − τ)/τ. Right: the sum's direction. All |N_h| servers "
        "jointly learn the gradient exactly."
    )
    return Picture("curious-servers", said, _table(rows), caption, NO_GUARANTEE)


def one_more(rows: Sequence[Known]) -> Picture:
    """Draw the error against τ for clients that upload to τ + 1 servers, a line for each Δ."""
    shown = sorted(
        (row for row in rows if row.uploads == row.servers + 1),
        key=lambda row: (row.window, row.additive, row.servers),
    )
    windows = sorted({row.window for row in shown})
    marks = list[Layer]()
    for window, look in zip(windows, looks(len(windows), markersize=4.5), strict=True):
        for bare in (False, True):
            line = [r for r in shown if r.window == window and (r.additive == 0) is bare]
            x, (error, expected, _) = _columns(line)
            dots = look | {"linestyle": "none"} | ({"markerfacecolor": "white"} if bare else {})
            thin = {"color": look["color"], "linewidth": 0.9, "linestyle": "--" if bare else "-"}
            name = "" if bare else f"Δ = {window}"
            marks += [Layer("line", x, error, name=name, look=dots),
                      Layer("line", x, expected, look=thin)]  # fmt: skip
    dashed = {"color": THEORY, "linestyle": "--", "marker": "o", "markersize": 4.5}
    named = "weights alone ($Y = 0$)"
    marks.append(Layer("line", name=named, look=dashed | {"markerfacecolor": "white"}))
    named = "servers that collude $\\tau$, of the $\\tau + 1$ that a client uploads to"
    across = Side(named, ticks=sorted({row.servers for row in shown}))
    side = Side("error of the best guess (relative)", limits=(0, 1.05), grid=True)
    least = min(shown, key=lambda row: row.error)
    title = f"{least.servers} of {least.uploads} servers know a gradient best, within "
    title += f"{100 * least.error:.2g} %"
    said = Declaration([Panel(marks, across, side)], (6.5, 3.3), title)
    caption = (
        "Root mean square error with which τ colluding servers of POLAR guess the gradient of a "
        "client that uploads to τ + 1 servers; the gradient is constant over a window of Δ steps. "
        "Full: with additive perturbations; open, dashed: with weights alone. Lines: theory."
    )
    return Picture("one-more-server", said, _table(shown), caption, NO_GUARANTEE)


def _table(rows: Sequence[Known]) -> dict[str, npt.NDArray[Any]]:
    return {
        each.name: np.array([getattr(row, each.name) for row in rows]) for each in fields(Known)
    }


def _columns(line: Sequence[Known]) -> tuple[list[int], list[Array]]:
    """Return τ, and what was measured and expected at each."""
    names = ("error", "expected", "cosine")
    found = [np.array([getattr(row, name) for row in line]) for name in names]
    return [row.servers for row in line], found
