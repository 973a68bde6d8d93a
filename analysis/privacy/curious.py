"""Curious servers: what τ of them learn of a POLAR client's gradient from what it sent them.

In a window of Δ steps client h sends server J the shares W[i, J] g + d[i, J]; let g be the same
at all steps. All n = |N_h| servers together have Σ W g + Σ d = M g, and know g exactly. Any τ of
them have A g + D: the sum of some weights, which they do not know, and of some perturbations.

Shares are exchangeable and their total is fixed, so that what is known of A and D for one server
says it for τ (sampling without replacement): E A = τM/n, and with one number ρ²,
Var(A)/(E A)² + E‖D‖²/((E A)²‖g‖²) = ρ² (n − τ)/τ.
"""

from math import sqrt

import numpy as np

from asyncdp_sim.core.arrays import Array

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
        See :func:`~asyncdp_sim.learning.algorithms.obfuscation.draw_weights`.
    additive : array (C, Δ, n, p)
        See :func:`~asyncdp_sim.learning.algorithms.obfuscation.draw_additive`.
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
    :func:`~asyncdp_sim.learning.algorithms.obfuscation.draw_weights`) and q negative cells,
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
