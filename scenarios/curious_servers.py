"""Study of τ curious servers of POLAR: ``python -m scenarios.curious_servers``.

The weights and perturbations are those that the simulated clients draw, with M = 5 and M̄ = 50
as published (POLAR, figure 3); a client's gradient is the same at all steps of a window, which is
the best that can happen to those who are curious. Y = ‖g‖ is ours: none is published.

In a window of Δ steps client h sends server J the shares W[i, J] g + d[i, J]; let g be the same
at all steps. All n = |N_h| servers together have Σ W g + Σ d = M g, and know g exactly. Any τ of
them have A g + D: the sum of some weights, which they do not know, and of some perturbations.

Shares are exchangeable and their total is fixed, so that what is known of A and D for one server
says it for τ (sampling without replacement): E A = τM/n, and with one number ρ²,
Var(A)/(E A)² + E‖D‖²/((E A)²‖g‖²) = ρ² (n − τ)/τ.
"""

import argparse
import sys
from math import inf, sqrt
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.one_panel import DOTS, captioned, written
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import InputError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.figures.drawer import Layer
from asyncdp_sim.figures.picture import Picture, save, write
from asyncdp_sim.figures.style import GRAY, looks
from asyncdp_sim.learning.algorithms.polar import draw_additive, draw_weights
from asyncdp_sim.sentences.label import Label

NOT = "POLAR: obfuscated, no differential privacy guarantee for any ε."
NO_GUARANTEE = Label(NOT, False, inf, None, timing_accounted=True, release=True)
SEED, CLIENTS, FEATURES = 1, 2000, 10
TOTAL, BOUND = 5.0, 50.0
UPLOADS, WINDOW = (2, 3, 4, 5), 10
ADDITIVE = (0.0, 1.0)
"""Y over ‖g‖."""


_NODES = 64
"""Of the quadrature over B, on either side of M: the integrand is a rational function of B."""


def guess(gradient: Array, weights: Array, additive: Array, servers: int) -> float:
    """Return √(E‖ĝ − g‖²/‖g‖²) of the guess of the first τ servers, over C windows.

    Of the best multiple ĝ = c Σ (W g + d) of what was seen: 0 is exact, and 1 what a guess of 0
    has, which knows nothing. The multiple c = E⟨s, g⟩/E‖s‖² of the seen sum s needs the laws of W
    and d and the size of g, no more; it is taken from these windows.

    Parameters
    ----------
    gradient : array (p,)
        g ≠ 0.
    weights : array (C, Δ, n) or (C, Δ, n, p)
        See :func:`~asyncdp_sim.learning.algorithms.polar.draw_weights`.
    additive : array (C, Δ, n, p)
        See :func:`~asyncdp_sim.learning.algorithms.polar.draw_additive`.
    servers : int
        τ in 1…n.
    """
    per_coordinate = weights if weights.ndim == 4 else weights[:, :, :, None]
    seen = (per_coordinate[:, :, :servers] * gradient + additive[:, :, :servers]).sum(axis=(1, 2))
    inner, square = seen @ gradient, np.square(seen).sum(axis=1)
    if not square.any():
        return 1.0  # nothing was seen
    explained = float(inner.mean()) ** 2 / (float(square.mean()) * float(gradient @ gradient))
    return sqrt(max(0.0, 1 - explained))


def guess_error(spread: float, n_servers: int, servers: int) -> float:
    """Return the error of the best multiple of what τ of n servers see, from one number.

    √(r/(1 + r)) with r = ρ² (n − τ)/τ: 0 for τ = n. For the τ = n − 1 of a client that uploads
    to τ + 1 servers it is ρ/√(τ + ρ²), which falls as τ grows: the one unseen share is then one
    of many.

    Parameters
    ----------
    spread : float
        ρ² ≥ 0; see :func:`weight_spread` and :func:`additive_spread`, whose sum it is.
    n_servers, servers : int
        n ≥ 2, and τ in 1…n.
    """
    ratio = spread * (n_servers - servers) / servers
    return sqrt(ratio / (1 + ratio))


def weight_spread(window: int, n_servers: int, total: float, bound: float) -> float:
    """Return the part of ρ² that weights have, Var(A)/(E A)² · τ/(n − τ), exactly.

    With m = Δn cells whose sum is M, Var(A) = v r(m − r)/(m − 1) for r = Δτ of them, so that the
    part is v m²/(M²(m − 1)), v = E ΣW²/m − (M/m)². Given B (see
    :func:`~asyncdp_sim.learning.algorithms.polar.draw_weights`) and q negative cells,
    E ΣW² = 2P²/(m − q + 1) + 2Q²/(q + 1), P, Q = (B ± M)/2, and q is Bin(m, (B − M)/2B) kept
    within 1…m − 1; where B ≤ M it is 2M²/(m + 1).

    Parameters
    ----------
    window, n_servers : int
        Δ ≥ 1 and n ≥ 2.
    total, bound : float
        M and M̄, 0 < M ≤ M̄, over a window.
    """
    cells = window * n_servers
    share = total / bound
    nodes, node_weights = np.polynomial.legendre.leggauss(_NODES)
    size = total + (bound - total) * (nodes + 1) / 2
    chance = (size - total) / (2 * size)
    more = _inverse_after(cells, chance)  # E 1/(q + 1)
    less = _inverse_after(cells, 1 - chance)  # E 1/(m − q + 1)
    squares = (size + total) ** 2 / 2 * less + (size - total) ** 2 / 2 * more
    square = share * 2 * total**2 / (cells + 1) + (1 - share) * float(node_weights @ squares) / 2
    variance = square / cells - (total / cells) ** 2
    return variance * cells**2 / (total**2 * (cells - 1))


def additive_spread(
    window: int, n_servers: int, total: float, square: float, gradient_norm: float
) -> float:
    """Return the part of ρ² that additive perturbations have: Δ n² E‖d‖²/(M²(n − 1)‖g‖²).

    Parameters
    ----------
    window, n_servers : int
        Δ ≥ 1 and n ≥ 2.
    total : float
        M > 0.
    square : float
        E‖d‖² of one perturbation, at most Y²; Y²p/(p + 2) for two servers.
    gradient_norm : float
        ‖g‖₂ > 0.
    """
    return window * n_servers**2 * square / (total**2 * (n_servers - 1) * gradient_norm**2)


def _inverse_after(cells: int, chance: Array) -> Array:
    """Return E 1/(X + 1), X = Bin(m, chance) kept within 1…m − 1, for each chance in [0, 1]."""
    free = np.mean((1 - chance)[:, None] ** np.arange(cells + 1), axis=1)
    none, all_of_them = (1 - chance) ** cells, chance**cells
    return np.asarray(free - none / 2 + all_of_them / (cells * (cells + 1)))


def measured(
    window: int, uploads: int, *, seed: int = SEED, clients: int = CLIENTS
) -> pd.DataFrame:
    """Return what 1…|N_h| servers know, without and with additive perturbations.

    Returns
    -------
    DataFrame
        ``window``, ``uploads`` and ``servers``: Δ, |N_h| and τ; ``additive``: Y over the gradient's
        norm; ``error`` and ``expected``: error of the best multiple of what they see, measured and
        by theory.
    """
    streams = Streams(seed)
    gradient = np.full(FEATURES, FEATURES**-0.5)

    def generators(purpose: str) -> list[np.random.Generator]:
        return [streams.generator(purpose, window, uploads, c) for c in range(clients)]

    weights = draw_weights(generators("weights"), window, uploads, TOTAL, BOUND)
    drawn = draw_additive(generators("additive"), window, uploads, FEATURES, 1.0)
    square = float(np.square(drawn).sum(axis=3).mean())
    of_weights = weight_spread(window, uploads, TOTAL, BOUND)
    rows = []
    for bound in ADDITIVE:
        spread = of_weights + additive_spread(window, uploads, TOTAL, bound**2 * square, 1.0)
        for servers in range(1, uploads + 1):
            error = guess(gradient, weights, bound * drawn, servers)
            expected = guess_error(spread, uploads, servers)
            rows.append((window, uploads, servers, bound, error, expected))
    names = ["window", "uploads", "servers", "additive", "error", "expected"]
    return pd.DataFrame(rows, columns=names)


def by_servers(rows: pd.DataFrame) -> Picture:
    """Draw the error against τ, a line for each |N_h|; all rows have one Δ and one Y."""
    lines, most = rows.groupby("uploads"), int(rows["uploads"].max())
    marks = [
        Layer("line", name="measured", look=DOTS | {"color": GRAY}),
        Layer("line", name="theory", look={"color": GRAY}),
    ]
    for (n, line), look in zip(lines, looks(len(lines), markersize=4.5), strict=True):
        x, error, expected = (line[name].to_numpy(float) for name in rows.columns[[2, 4, 5]])
        marks += [
            Layer("line", x, error, look=look | {"linestyle": "none"}),
            Layer("line", x, expected, look={"color": look["color"]}),
            written(n, 0, f"of {n}", "left", look["color"]),
        ]
    some = rows[rows["servers"] < rows["uploads"]]
    least = some.loc[some["error"].idxmin()]
    title = (
        f"All but one of {least.uploads:.0f} servers miss a gradient by {100 * least.error:.2g} %; "
        "all of them know it exactly"
    )
    table = {name: column.to_numpy() for name, column in rows.items()}
    window, additive = int(least["window"]), least["additive"]
    return captioned(
        "curious-servers", title, marks, table, NO_GUARANTEE,
        x={"ticks": range(1, most + 1)}, window=window, additive=additive,
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Measure and draw; return 0 done, 2 the input is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m scenarios.curious_servers", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=Path("results/curious-servers"))
    asked = parser.parse_args(arguments)
    rows = pd.concat([measured(WINDOW, n) for n in UPLOADS], ignore_index=True)
    picture, folder = by_servers(rows[rows["additive"] > 0]), asked.out / "figures"
    try:
        path = save(picture, folder)
        said = f"# Figures\n\n## {path.name}\n\n{picture.caption} {NO_GUARANTEE.text}\n"
        write(folder / "captions.md", said.encode())
    except InputError as error:
        sys.stderr.write("\n".join(error.lines()) + "\n")
        return 2
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
