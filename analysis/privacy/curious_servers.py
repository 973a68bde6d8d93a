"""Curious servers of POLAR: knowledge of a client's gradient against their number τ."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.figures.axes import key, legend, looks
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.style import THEORY, canvas, small_panels, style
from asyncdp_sim.privacy.label import Label

NO_GUARANTEE = Label(
    text="POLAR: obfuscated, no differential privacy guarantee for any ε.",
    private=False,
    epsilon_true=inf,
    delta=None,
    timing_accounted=True,
    not_for_release=False,
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
    lines = dict(zip(uploads, looks(len(uploads), markersize=4.5), strict=True))
    with style():
        figure, (errors, cosines) = small_panels(2, 7.2, 3.45)
        for n, look in lines.items():
            line = sorted((r for r in rows if r.uploads == n), key=lambda row: row.servers)
            x = [row.servers for row in line]
            errors.plot(x, [row.error for row in line], linestyle="none", **look)
            errors.plot(x, [row.expected for row in line], color=look["color"], linewidth=0.9)
            cosines.plot(x, [row.cosine for row in line], linestyle=":", linewidth=0.9, **look)
        errors.set_ylabel("error of the best guess (relative)")
        cosines.set_ylabel("|cos| between guess and gradient")
        for axes in (errors, cosines):
            axes.set_ylim(-0.03, 1.05)
            axes.set_xlabel("servers that collude $\\tau$")
            axes.set_xticks(range(1, max(uploads) + 1))
            axes.grid(axis="y")
        legend(figure, [key(f"$|N_h|$ = {n}", **look) for n, look in lines.items()], 4)
    first = rows[0]
    caption = (
        "How well τ colluding servers of POLAR reconstruct a client's gradient from the sum of its "
        f"messages to them in Δ = {first.window} steps, with ‖d‖ ≤ {first.additive:g} ‖g‖ "
        "and one weight per upload. Left: root mean square error of the best multiple of that "
        "sum (1: nothing is learned); markers measured, lines √(r/(1+r)) with "
        "r = ρ²(|N_h| − τ)/τ. Right: the sum's direction. All |N_h| servers "
        "jointly learn the gradient exactly."
    )
    return Picture("curious-servers", figure, _table(rows), caption, NO_GUARANTEE)


def one_more(rows: Sequence[Known]) -> Picture:
    """Draw the error against τ for clients that upload to τ + 1 servers, a line for each Δ."""
    shown = sorted(
        (row for row in rows if row.uploads == row.servers + 1),
        key=lambda row: (row.window, row.additive, row.servers),
    )
    windows = sorted({row.window for row in shown})
    lines = dict(zip(windows, looks(len(windows), markersize=4.5), strict=True))
    with style():
        figure, axes = canvas(height=3.4)
        for window, look in lines.items():
            for bare in (False, True):
                line = [r for r in shown if r.window == window and (r.additive == 0) is bare]
                x = [row.servers for row in line]
                shade, dash, face = look["color"], "-", look["color"]
                if bare:
                    dash, face = "--", "white"
                marks = look | {"markerfacecolor": face, "linestyle": "none"}
                axes.plot(x, [row.error for row in line], **marks)
                axes.plot(x, [row.expected for row in line], dash, color=shade, linewidth=0.9)
        axes.set_ylim(0, 1.05)
        axes.set_xticks(sorted({row.servers for row in shown}))
        axes.set_xlabel("servers that collude $\\tau$, of the $\\tau + 1$ that a client uploads to")
        axes.set_ylabel("error of the best guess (relative)")
        axes.grid(axis="y")
        keys = [key(f"Δ = {window}", **look) for window, look in lines.items()]
        open_mark = {"marker": "o", "markersize": 4.5, "markerfacecolor": "white"}
        keys.append(key("weights alone ($Y = 0$)", color=THEORY, linestyle="--", **open_mark))
        legend(figure, keys, 4)
    caption = (
        "Root mean square error with which τ colluding servers of POLAR guess the gradient of a "
        "client that uploads to τ + 1 servers; the gradient is constant over a window of Δ steps. "
        "Full: with additive perturbations; open, dashed: with weights alone. Lines: theory."
    )
    return Picture("one-more-server", figure, _table(shown), caption, NO_GUARANTEE)


def _table(rows: Sequence[Known]) -> dict[str, npt.NDArray[Any]]:
    return {
        each.name: np.array([getattr(row, each.name) for row in rows]) for each in fields(Known)
    }
