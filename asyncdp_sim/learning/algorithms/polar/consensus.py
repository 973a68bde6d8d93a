"""Agreement of POLAR's servers: averages of models, in secret or openly with neighbours.

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
from math import isfinite

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network.graphs import Neighbours, parts

Array = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

RESOLUTION = 2**40
"""Grid points per |X|: the spacing is |X|·2⁻⁴⁰."""
MODULUS = 2**63
"""Of all sums; more than 2 S · RESOLUTION."""
MOST_SERVERS = 2**20
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
    masks = np.stack([each.integers(0, MODULUS, shape, dtype=np.uint64) for each in generators])
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
        If a model is outside [−|X|, |X|] or not a number, or the shapes do not fit.

    References
    ----------
    POLAR, algorithm 2. Abbe, Khandani and Lo (2012), Privacy-preserving methods for sharing
    financial risk exposures, American Economic Review 102(3).
    """
    if not (isfinite(bound) and bound > 0):
        raise ValueError(f"|X| must be finite and > 0, given {bound!r}")
    if models.ndim < 2 or not 2 <= models.shape[-2] <= MOST_SERVERS:
        raise ValueError(f"models must be (…, S, p) with 2 ≤ S ≤ 2^20, given {models.shape}")
    n_servers = models.shape[-2]
    if masks.dtype != np.uint64 or masks.shape != (*models.shape[:-1], *models.shape[-2:]):
        raise ValueError(f"masks must be uint64 (…, S, S, p), given {masks.dtype} {masks.shape}")
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
    found = own.copy()
    for other in near[server]:
        away = points[..., other - 1, :] - own
        found += np.sign(away) * (np.abs(away) // parts(near, server, other - 1))
    return found
