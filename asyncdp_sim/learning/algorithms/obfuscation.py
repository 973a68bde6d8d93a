"""Perturbed gradients of POLAR's clients, and masked and averaged models of its servers.

Client h sends server J of its own servers N_h, at step i, W[i, J] g + d[i, J] instead of a gradient
g (POLAR, equation 1). Two conditions bind what it draws in a window:

- symmetric learning (SLC, equations 2 and 3): Σ_J Σ_i W = M, the same for all clients, and
  Σ_J d = 0 at every step;
- bounded update (BUC, equations 4 and 5): Σ_J Σ_i |W| ≤ M̄, and ‖d‖₂ ≤ Y.

Both hold exactly for the numbers returned, in whatever order they are summed: they are multiples
of a unit so coarse that floats sum them without rounding.

Each server J sends every other L a random mask R_{J,L}, announces
A^J = x^J + Σ_L R_{L,J} − Σ_L R_{J,L}, and all of them sum what was announced: the masks cancel
(POLAR, algorithm 2, lines 8–12). The paper computes modulo 2|X|, where the sum of S models wraps.
Here models are whole numbers on a grid of 2⁴⁰ points per |X|, and the modulus is 2⁶³.

Secure consensus needs every server to hear every other. Where only neighbours talk, the models of
servers are multiplied by a doubly stochastic matrix B (POLAR, section V-A), here by Metropolis
weights: B[I, J] = 1/(1 + max(d_I, d_J)) for neighbours of d_I and d_J neighbours, the rest on the
diagonal. On the same grid, what one server gives the other takes, so that the mean over servers
stays what it was exactly.

References
----------
Xiao, Boyd and Lall (2005), A scheme for robust distributed sensor fusion based on average
consensus, IPSN (the weights).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.network.graphs import Neighbours, parts

MARGIN = 2.0**-30
"""Share of Y that is left to rounding; enough while |N_h| √p < 2²⁰."""


def draw_weights(
    generators: Sequence[np.random.Generator],
    window: int,
    n_servers: int,
    total: float,
    bound: float,
    *,
    n_features: int | None = None,
    every_step: bool = False,
) -> Array:
    """Draw the weights W of one window for several clients.

    The cells (a step and a server) over which a condition sums are drawn together. Let B be uniform
    on [0, M̄]. Where B ≤ M, all cells are positive and share M. Else q of the m cells, chosen at
    random, are negative, q being Bin(m, (B − M)/(2B)) kept within 1 … m − 1; the positive cells
    share (B + M)/2, the negative ones −(B − M)/2. What is shared is split uniformly. So cells are
    exchangeable (E W is M over their number), sizes are about alike for both signs, Σ|W| is max(B,
    M), and no open set of allowed weights is left out: two cells are uniform on all that is
    allowed, W_1 on [(M − M̄)/2, (M + M̄)/2].

    Parameters
    ----------
    generators : sequence of Generator, length C
        One per client; its weights depend on no other's.
    window : int
        Δ ≥ 1.
    n_servers : int
        |N_h| ≥ 2.
    total, bound : float
        M and M̄, 0 < M ≤ M̄ ≤ 2⁴⁰ M. With M̄ = M no weight is negative.
    n_features : int, optional
        p ≥ 1: a weight for each coordinate, and the conditions for each (POLAR, section V-B).
    every_step : bool
        Whether SLC and BUC hold at every step, Σ_J W = M and Σ_J |W| ≤ M̄ (Theorem 2, for losses
        that are not smooth), and not over the window. A window then learns Δ M.

    Returns
    -------
    array (C, Δ, |N_h|) or (C, Δ, |N_h|, p)
        Multiples of ulp(M̄). Σ W is M rounded to such a multiple, within ulp(M̄)/2 (M itself where
        it is one, as whole numbers are); Σ|W| never exceeds M̄.

    References
    ----------
    POLAR, assumptions 1 and 2, theorem 2.
    """
    width = 1 if n_features is None else n_features
    sums, cells = (window, n_servers) if every_step else (1, window * n_servers)
    uniform = np.stack([generator.random((sums, cells + 1, width)) for generator in generators])
    sizes = np.stack(
        [generator.standard_exponential((sums, cells, width)) for generator in generators]
    )

    # in units of M̄'s last place every sum is a whole number below 2^53, hence exact
    unit = float(np.spacing(bound))
    learned, most = np.rint(total / unit), bound / unit
    taken = np.floor(np.maximum(uniform[:, :, :1] * most - learned, 0) / 2)
    coin = uniform[:, :, 1:]
    negative = (coin < taken / (learned + 2 * taken)) | (coin == coin.min(axis=2, keepdims=True))
    negative &= (coin < coin.max(axis=2, keepdims=True)) & (taken > 0)
    taken = np.where(negative.any(axis=2, keepdims=True), taken, 0.0)  # all coins may be equal
    units = _split(learned + taken, np.where(negative, 0.0, sizes))
    units -= _split(taken, np.where(negative, sizes, 0.0))
    shape = (len(generators), window, n_servers)
    return (units * unit).reshape(shape if n_features is None else (*shape, width))


def draw_additive(
    generators: Sequence[np.random.Generator],
    window: int,
    n_servers: int,
    n_features: int,
    bound: float,
) -> Array:
    """Draw the additive perturbations d of one window for several clients.

    At every step, c_J = √(n/(n−1)) (z_J − z̄) for iid standard normal z_J in R^p, n = |N_h|, and
    d_J = Y c_J/√(max_J ‖c_J‖² + 2E) with E ~ Exp(1): servers are exchangeable, directions
    isotropic, and no open set of allowed perturbations is left out. For two servers d_1 = −d_2 is
    uniform in the ball of radius Y.

    Parameters
    ----------
    generators : sequence of Generator, length C
        One per client.
    window, n_servers, n_features : int
        Δ ≥ 1, |N_h| ≥ 2, p ≥ 1.
    bound : float
        Y ≥ 0.

    Returns
    -------
    array (C, Δ, |N_h|, p)
        Multiples of ulp(|N_h| Y) with Σ_J d = 0 exactly, and ‖d‖₂ ≤ Y.

    References
    ----------
    POLAR, equations 3 and 5. Barthe, Guédon, Mendelson and Naor (2005), A probabilistic approach
    to the geometry of the l_p^n-ball (the uniform law in a ball by a normal and an exponential).
    """
    shape = (window, n_servers, n_features)
    drawn = np.stack([generator.standard_normal(shape) for generator in generators])
    extra = np.stack([generator.standard_exponential((window, 1, 1)) for generator in generators])
    drawn -= drawn.mean(axis=2, keepdims=True)
    drawn *= sqrt(n_servers / (n_servers - 1))
    largest = np.square(drawn).sum(axis=3, keepdims=True).max(axis=2, keepdims=True)
    drawn *= (1 - MARGIN) * bound / np.sqrt(largest + 2 * extra)
    unit = float(np.spacing(n_servers * bound))
    sums = np.rint(np.cumsum(drawn, axis=2) / unit)
    sums[:, :, -1] = 0.0
    return np.diff(sums, axis=2, prepend=0.0) * unit


def _split(total: Array, sizes: Array) -> Array:
    """Split whole numbers (C, sums, 1, p) into whole parts in proportion to sizes along axis 2."""
    ends = np.cumsum(sizes, axis=2)
    share = ends / np.maximum(ends[:, :, -1:], np.finfo(float).tiny)
    return np.diff(np.floor(total * share), axis=2, prepend=0.0)


Words = npt.NDArray[np.uint64]
RESOLUTION = 2**40
"""Grid points per |X|: the spacing is |X|·2⁻⁴⁰."""
MODULUS = 2**63
"""All sums are modulo this number, which is more than 2 S · RESOLUTION."""
_LAST = np.uint64(MODULUS - 1)


@dataclass(frozen=True, eq=False)
class Consensus:
    """One secure consensus, and all that was sent for it; … stands for any leading axes.

    Attributes
    ----------
    mean : array (…, p)
        The model that every server goes on with.
    messages : array of uint64 (…, S, p)
        A^J in [0, 2⁶³), which every server sees.
    masks : array of uint64 (…, S, S, p)
        R_{J,L} at [J, L], which servers J and L see.
    """

    mean: Array
    messages: Words
    masks: Words

    def unmasked(self, viewer: int) -> Words:
        """Return what is left of every A^L when one server takes its own masks off.

        It is x^L + |X| on the grid, plus Σ_K (R_{K,L} − R_{L,K}) over third servers K: uniform on
        [0, 2⁶³) whatever x^L is where S ≥ 3, jointly so for all but one of the others (their sum
        follows from the mean). For S = 2 there is no third server, and it is x^L itself.

        Parameters
        ----------
        viewer : int
            J, from 0. Its own row is its own masked model.

        Returns
        -------
        array of uint64 (…, S, p)
        """
        put_on, taken_off = self.masks[..., viewer, :, :], self.masks[..., :, viewer, :]
        return (self.messages - put_on + taken_off) & _LAST


def draw_masks(generators: Sequence[np.random.Generator], n_servers: int, n_features: int) -> Words:
    """Draw R_{J,L}, uniform on [0, 2⁶³), for one consensus in each of R replicates.

    Parameters
    ----------
    generators : sequence of Generator, length R
    n_servers, n_features : int
        S and p.

    Returns
    -------
    array of uint64 (R, S, S, p)
        R_{J,L} at [J, L]; R_{J,J} = 0, as a server sends itself none.
    """
    shape = (n_servers, n_servers, n_features)
    masks = np.stack(
        [generator.integers(0, MODULUS, shape, dtype=np.uint64) for generator in generators]
    )
    own = np.arange(n_servers)
    masks[:, own, own] = 0
    return masks


def secure_consensus(models: Array, bound: float, masks: Words) -> Consensus:
    """Average the models of S servers, each coordinate on its own.

    With x^J on the grid, n^J = round(2⁴⁰ (x^J/|X| + 1)) in [0, 2⁴¹],
    A^J = n^J + Σ_L R_{L,J} − Σ_L R_{J,L} (mod 2⁶³), and the mean is
    |X| ((Σ A^J mod 2⁶³)/S 2⁻⁴⁰ − 1).

    It differs from (1/S) Σ x^J by at most half a spacing, |X|·2⁻⁴¹ (and the rounding of floats,
    |X|·2⁻⁵²), and stays in [−|X|, |X|]; models all on one bound give that bound exactly.

    Parameters
    ----------
    models : array (…, S, p)
        x^J in [−|X|, |X|], 2 ≤ S ≤ 2²⁰.
    bound : float
        |X| > 0, the largest absolute value of a coordinate.
    masks : array of uint64 (…, S, S, p)
        See :func:`draw_masks`.

    Raises
    ------
    ValueError
        If a model is outside [−|X|, |X|] or not a number.

    References
    ----------
    POLAR, algorithm 2. Abbe, Khandani and Lo (2012), Privacy-preserving methods for sharing
    financial risk exposures, American Economic Review 102(3).
    """
    n_servers = models.shape[-2]
    if not np.all(np.abs(models) <= bound):
        raise ValueError(f"a model is outside [-{bound!r}, {bound!r}]: project it first")
    # uint64 wraps at 2^64, a multiple of the modulus
    points = (np.rint(models / bound * RESOLUTION) + RESOLUTION).astype(np.uint64)
    messages = (points + masks.sum(axis=-3) - masks.sum(axis=-2)) & _LAST
    total = (messages.sum(axis=-2) & _LAST).astype(np.int64) - n_servers * RESOLUTION
    return Consensus(total / n_servers / RESOLUTION * bound, messages, masks)


Points = npt.NDArray[np.int64]


def gridded(models: Array, bound: float) -> Points:
    """Return models in [−|X|, |X|] as whole numbers, 2⁴⁰ of them per |X|."""
    return np.rint(models / bound * RESOLUTION).astype(np.int64)


def averaged(points: Points, server: int, near: Neighbours) -> Points:
    """Return what a server goes on with: n_I + Σ_J ⌊(n_J − n_I)/(1 + max(d_I, d_J))⌋ towards 0.

    Rounded towards zero, what I gives J is what J takes from I, and no model leaves the hull of
    those that it is made of; it is off by less than one grid point for each neighbour.

    Parameters
    ----------
    points : array of int64 (…, S, p)
        All servers' models before the agreement; those of others than neighbours do not matter.
    server : int
        I, from 0.
    near : tuple of tuples
        Each server's neighbours, from 1.
    """
    own = points[..., server, :]
    average = own.copy()
    for other in near[server]:
        away = points[..., other - 1, :] - own
        average += np.sign(away) * (np.abs(away) // parts(near, server, other - 1))
    return average
