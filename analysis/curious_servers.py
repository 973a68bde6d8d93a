"""Curious servers of POLAR: knowledge of a client's gradient against their number τ."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.lines import Line2D

from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.privacy_label import Label
from asyncdp_sim.figures.kit.style import MARKERS, THEORY, canvas, colours, small_panels, style

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
    shades = colours(len(uploads))
    with style():
        figure, (errors, cosines) = small_panels(2, 1.0)
        for n, shade, marker in zip(uploads, shades, MARKERS, strict=False):
            line = sorted((r for r in rows if r.uploads == n), key=lambda row: row.servers)
            x = [row.servers for row in line]
            errors.plot(x, [row.error for row in line], marker, color=shade, markersize=4.5)
            errors.plot(x, [row.expected for row in line], color=shade, linewidth=0.9)
            cosines.plot(
                x, [row.cosine for row in line], marker, color=shade, markersize=4.5,
                linestyle=":", linewidth=0.9,
            )  # fmt: skip
        errors.set_ylabel("error of the best guess (relative)")
        cosines.set_ylabel("|cos| between guess and gradient")
        for axes in (errors, cosines):
            axes.set_ylim(-0.03, 1.05)
            axes.set_xlabel("servers that collude $\\tau$")
            axes.set_xticks(range(1, max(uploads) + 1))
            axes.grid(axis="y")
        keys = [
            Line2D([], [], color=shade, marker=marker, markersize=4.5, label=f"$|N_h|$ = {n}")
            for n, shade, marker in zip(uploads, shades, MARKERS, strict=False)
        ]
        figure.legend(handles=keys, loc="outside upper left", ncols=4)
    first = rows[0]
    caption = (
        "What τ colluding servers of POLAR know of a client's gradient from the sum of what it "
        f"sends them in a window of Δ = {first.window} steps, with ‖d‖ ≤ {first.additive:g} ‖g‖ "
        "and one weight per upload. Left: root mean square error of the best multiple of that "
        "sum (1: nothing is known); markers measured, lines √(r/(1+r)) with "
        "r = ρ²(|N_h| − τ)/τ. Right: the sum's direction. All |N_h| servers together know all."
    )
    return Picture("curious-servers", figure, _table(rows), caption, NO_GUARANTEE)


def one_more(rows: Sequence[Known]) -> Picture:
    """Draw the error against τ for clients that upload to τ + 1 servers, a line for each Δ."""
    shown = sorted(
        (row for row in rows if row.uploads == row.servers + 1),
        key=lambda row: (row.window, row.additive, row.servers),
    )
    windows = sorted({row.window for row in shown})
    with style():
        figure, axes = canvas(height=3.4)
        for window, shade, marker in zip(windows, colours(len(windows)), MARKERS, strict=False):
            for bare in (False, True):
                line = [r for r in shown if r.window == window and (r.additive == 0) is bare]
                x = [row.servers for row in line]
                axes.plot(
                    x, [row.error for row in line], marker, color=shade, markersize=4.5,
                    markerfacecolor="white" if bare else shade,
                )  # fmt: skip
                look = "--" if bare else "-"
                axes.plot(x, [row.expected for row in line], look, color=shade, linewidth=0.9)
        axes.set_ylim(0, 1.05)
        axes.set_xticks(sorted({row.servers for row in shown}))
        axes.set_xlabel("servers that collude $\\tau$, of the $\\tau + 1$ that a client uploads to")
        axes.set_ylabel("error of the best guess (relative)")
        axes.grid(axis="y")
        keys = [
            Line2D([], [], color=shade, marker=marker, markersize=4.5, label=f"Δ = {window}")
            for window, shade, marker in zip(windows, colours(len(windows)), MARKERS, strict=False)
        ]
        bare_key = Line2D(
            [], [], color=THEORY, linestyle="--", marker="o", markersize=4.5,
            markerfacecolor="white", label="weights alone ($Y = 0$)",
        )  # fmt: skip
        figure.legend(handles=[*keys, bare_key], loc="outside upper left", ncols=4)
    caption = (
        "How far off τ colluding servers of POLAR are where a client uploads to τ + 1: root mean "
        "square error of their best guess of its gradient, constant over a window of Δ steps. "
        "Full: with additive perturbations; open, dashed: with weights alone. Lines: theory."
    )
    return Picture("one-more-server", figure, _table(shown), caption, NO_GUARANTEE)


def _table(rows: Sequence[Known]) -> dict[str, npt.NDArray[Any]]:
    return {
        each.name: np.array([getattr(row, each.name) for row in rows]) for each in fields(Known)
    }
