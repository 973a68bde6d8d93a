"""Distance between the servers of POLAR-SGD: its Lemma 3, as printed and as it can be derived.

Windows are counted from 0, as in the lemma (in the algorithm they start at 1, so that its x_{0,1}
is the lemma's x_{0,0}). In window l server J makes Δ projected steps with α_l, from x_{0,l}^J to
x_{Δ,l}^J = x_{0,l}^J + e_l^J, and the servers average: x_{0,l+1} = B_l x_{Δ,l}, B_l doubly
stochastic. With Φ(k, l) = B_k … B_l,

    x_{0,k+1} = Φ(k, 0) x_{0,0} + Σ_{l=0}^{k} Φ(k, l) e_l,

and since projections do not expand, ‖e_l^J‖ ≤ α_l C (M̄L + ΔY): a client's weights towards one
server sum to at most M̄ in absolute value over the window, and it adds at most Y at each step.

The lemma defines δ_{k+1}^J = x_{0,k+1}^J − x̄_{0,k}, server J after the averaging that ends window
k less the mean *before* that window, though the text (and Lemma 4) speaks of the disagreement at
one time, x_{0,k+1}^J − x̄_{0,k+1}. Its bound is one on both.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.theory.formulas import finite, refused


def smallest_entry(matrix: Array) -> float:
    """Return the smallest nonzero entry of a doubly stochastic matrix B; 1/S for B = 11ᵀ/S.

    The analysis of several servers calls it ρ; it is not the ρ of steps.

    Parameters
    ----------
    matrix : array (S, S)
        Rows and columns sum to 1 (to 1e-9), entries ≥ 0; connected, with a positive diagonal.

    Raises
    ------
    SpecError
        If it is none such. The paper does not ask for the diagonal, but its source does: two
        servers that swap their models never agree.
    """
    entries = doubly_stochastic(matrix)
    heard = entries > 0
    for _ in range(len(entries).bit_length()):
        heard = heard @ heard
    if not heard.all():
        raise refused("matrix", "servers that are not connected", "a connected graph")
    return float(entries[entries > 0].min())


def doubly_stochastic(matrix: Array) -> Array:
    """Return a doubly stochastic matrix with a positive diagonal."""
    size = len(matrix)
    entries = finite("matrix", matrix, (size, size))
    sums = np.concatenate([entries.sum(axis=0), entries.sum(axis=1)])
    if np.any(entries < 0) or np.any(np.abs(sums - 1) > 1e-9):
        raise refused("matrix", "other sums or negative entries", "a doubly stochastic matrix")
    if np.any(np.diagonal(entries) <= 0):
        raise refused("matrix", "a zero on the diagonal", "a share > 0 of every server's own model")
    return entries


@dataclass(frozen=True, kw_only=True)
class Obfuscation:
    """What bounds how far servers move.

    Attributes
    ----------
    n_servers, n_clients, window : int
        S ≥ 2, C ≥ 1, Δ ≥ 1.
    gradient_norm : float
        L ≥ 0, the largest norm of a stochastic gradient of one client, known or measured. Where
        weights differ per coordinate (and X is a box): the norm of the vector of the largest
        absolute values of each coordinate.
    weight_bound, additive_bound : float
        M̄ > 0 and Y ≥ 0.
    every_step : bool
        Whether M̄ bounds a client's weights at each step (Theorem 2) and not over a window.
    """

    n_servers: int
    n_clients: int
    window: int
    gradient_norm: float
    weight_bound: float
    additive_bound: float
    every_step: bool = False

    @property
    def reach(self) -> float:
        """Bound on ‖e_l^J‖/α_l: C (M̄L + ΔY), or ΔC (M̄L + Y) under ``every_step``."""
        return self.n_clients * (self._weights + self.window * self.additive_bound)

    @property
    def mean_reach(self) -> float:
        """Bound on (1/S) Σ_J ‖e_l^J‖/α_l: M̄ is shared by the servers, C (M̄L/S + ΔY)."""
        shared = self._weights / self.n_servers
        return self.n_clients * (shared + self.window * self.additive_bound)

    @property
    def mean_reach_inside(self) -> float:
        """Bound on ‖(1/S) Σ_J e_l^J‖/α_l while no projection acts: Σ_J d = 0, so C M̄L/S."""
        return self.n_clients * self._weights / self.n_servers

    @property
    def _weights(self) -> float:
        steps = self.window if self.every_step else 1
        return steps * self.weight_bound * self.gradient_norm


def printed_mixing(n_servers: int, rho: float, windows: int) -> Array:
    """Return θβⁿ for n = 1 … windows, β = 1 − ρ/(4S²), θ = β⁻²: |Φ(k, s) − 1/S| at n = k − s + 1.

    Parameters
    ----------
    n_servers : int
        S ≥ 2.
    rho : float
        Smallest nonzero entry of all B_l (:func:`smallest_entry`), in (0, 1]; 1/S for complete
        averaging, though that mixes at once (:func:`mixing` is 0).
    windows : int
        ≥ 1.

    References
    ----------
    POLAR, section V-A; Nedić, Olshevsky, Ozdaglar and Tsitsiklis (2008), Distributed subgradient
    methods and quantization effects, CDC (servers connected at every averaging).
    """
    beta = 1 - rho / (4 * n_servers**2)
    return beta ** np.arange(-1.0, windows - 1)


def mixing(matrix: Array, windows: int) -> Array:
    """Return max |Bⁿ − 1/S| over all entries for n = 1 … windows: exact if B_l is B always.

    Arguments as for :func:`smallest_entry`. Complete averaging gives zeros (to rounding).
    """
    smallest_entry(matrix)
    rest = matrix - 1 / len(matrix)  # its powers are Bⁿ − 11ᵀ/S
    found, power = [], np.eye(len(matrix))
    for _ in range(windows):
        power = power @ rest
        found.append(np.max(np.abs(power)))
    return np.array(found)


def mixing_in_turn(matrices: Sequence[Array], windows: int) -> Array:
    """Return max |Φ(k, s) − 1/S|, n = k − s + 1 = 1 … windows: exact if B_l takes turns.

    Over all entries, and over all s: whichever of the matrices comes first.

    Parameters
    ----------
    matrices : sequence of arrays (S, S)
        B_0, B_1, …, counted round; doubly stochastic, with a positive diagonal. Each may leave
        servers apart, if all together do not.
    windows : int
        ≥ 1.
    """
    smallest_entry(np.mean(matrices, axis=0))
    for matrix in matrices:
        doubly_stochastic(matrix)
    size, found = len(matrices[0]), []
    powers = [np.eye(size) for _ in matrices]
    for n in range(windows):
        for first in range(len(matrices)):
            rest = matrices[(first + n) % len(matrices)] - 1 / size
            powers[first] = rest @ powers[first]
        found.append(max(float(np.max(np.abs(power))) for power in powers))
    return np.array(found)


def lemma_3(bounds: Obfuscation, steps: Array, start: float, rho: float) -> Array:
    """Return Lemma 3's bound on max_J ‖δ_{k+1}^J‖ for k = 0 … K−1, as printed.

    Sθβ^{k+1} max_I ‖x_{0,0}^I‖ + 4α_k ΔC(M̄L + Y) + 2θΔSC(M̄L + Y) Σ_{l=1}^{k} β^{k+1−l} α_{l−1}.

    It follows from :func:`disagreement` + α_k :attr:`~Obfuscation.mean_reach`, term by term, for
    weights bounded over the window or at every step, and is loose: more than 8S⁴ times the bound
    for complete averaging in the long run (constant α).

    Parameters
    ----------
    bounds : Obfuscation
    steps : array (K,)
        α_0 … α_{K−1} > 0.
    start : float
        max_I ‖x_{0,0}^I‖ ≥ 0.
    rho : float
        See :func:`printed_mixing`.
    """
    geometric = printed_mixing(bounds.n_servers, rho, len(steps))  # θβ, θβ², …
    far = bounds.weight_bound * bounds.gradient_norm + bounds.additive_bound
    far *= bounds.window * bounds.n_clients
    earlier = np.convolve(steps, np.concatenate([[0.0], geometric[:-1]]))[: len(steps)]
    first = bounds.n_servers * geometric * start
    return first + 4 * far * steps + 2 * bounds.n_servers * far * earlier


def disagreement(bounds: Obfuscation, steps: Array, start: float, mixed: Array) -> Array:
    """Return a bound on max_J ‖x_{0,k+1}^J − x̄_{0,k+1}‖ for k = 0 … K−1, right after averaging.

    With g_n ≥ |Φ(k, l) − 1/S| in every entry, n = k − l + 1, and h = 2(1 − 1/S), which bounds
    Σ_I |Φ(k, l)[J, I] − 1/S| for every doubly stochastic matrix,

    min(S g_{k+1}, h) max_I ‖x_{0,0}^I‖ + Σ_{l=0}^{k} α_l min(S g_n a, h r),

    where r is :attr:`~Obfuscation.reach` and a :attr:`~Obfuscation.mean_reach`. For complete
    averaging g_n = 0: servers agree exactly, as secure consensus gives all of them one sum. Then
    δ_{k+1}^J is the same for all J, x̄_{0,k+1} − x̄_{0,k} = (1/S) Σ_I e_k^I, of norm at most
    α_k a (α_k C M̄L/S while no projection acts), and the grid adds at most √p |X|·2⁻⁴¹; before
    the averaging ‖x_{Δ,k}^J − x̄_{0,k}‖ ≤ α_k r, which is attained.

    Parameters
    ----------
    bounds, steps, start
        As for :func:`lemma_3`.
    mixed : array (K,)
        g_1 … g_K: :func:`printed_mixing` for any connected graphs, :func:`mixing` for one matrix,
        :func:`mixing_in_turn` for several.
    """
    servers, most = bounds.n_servers, 2 * (1 - 1 / bounds.n_servers)
    terms = np.minimum(servers * mixed * bounds.mean_reach, most * bounds.reach)
    first = np.minimum(servers * mixed, most) * start
    pushed: Array = np.convolve(steps, terms)[: len(steps)]
    return np.asarray(first + pushed, dtype=float)
