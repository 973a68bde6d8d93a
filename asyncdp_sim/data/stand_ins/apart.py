"""Owners taken to be as unlike as what is known of them shows beyond chance."""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.data.dataset import Array


@dataclass(frozen=True, eq=False)
class Apart:
    """Owners' distances from all together.

    Attributes
    ----------
    variance : float
        τ², the variance of owners' own ways: the mean of (own − all)² beyond chance, at least 0.
    half_width : float
        Of about a 95 % interval of τ² as these owners have it, which chance hides.
    shares : array (K,)
        λ_i in [0, 1): how much of what is seen of owner i is taken to be its own.
    """

    variance: float
    half_width: float
    shares: Array


def apart(distance: Array, noise: Array, weight: Array, size: int) -> Apart:
    """Return how far owners are from all together, and what share of what is seen is their own.

    What is seen of owner i, less what is seen of all, is its own way, of variance τ², plus chance
    of variance v_i. τ² is as the squared distances are above what chance makes them; and
    λ_i = √(τ²/(τ² + v_i)) leaves each owner as far from the others as owners are, where the usual
    τ²/(τ² + v_i), the best guess of each, would leave them too near one another.

    Parameters
    ----------
    distance : array (K,)
        ‖seen of i − seen of all‖².
    noise : array (K,)
        v_i, the variance of what is seen of i if nothing was its own.
    weight : array (K,)
        w_i ≥ 0, Σ w_i = 1: all together is the mean by these weights.
    size : int
        Numbers that are seen of each owner, of about equal variance.

    Notes
    -----
    T. A. Louis, Estimating a population of parameter values using Bayes and empirical Bayes
    methods, Journal of the American Statistical Association 79 (1984), 393–398.
    """
    left = 1 - float(weight @ weight)
    if left <= 0:
        return Apart(0.0, 0.0, np.zeros(len(weight)))
    chance = (1 - 2 * weight) * noise + float(np.square(weight) @ noise)
    variance = max(0.0, float(weight @ (distance - chance)) / left)
    # Σ w_i‖·‖² of Gaussian numbers, each of variance v_i/size, about own ways of τ²/size
    doubt = np.square(weight) @ (2 * np.square(noise) + 4 * noise * variance) / size
    half = 1.96 * float(np.sqrt(doubt)) / left
    if variance == 0:
        return Apart(0.0, half, np.zeros(len(weight)))
    return Apart(variance, half, np.sqrt(variance / (variance + noise)))
