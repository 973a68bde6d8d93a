"""The share of the distance to the optimum that T updates of asynchronous gossip leave."""

from typing import Literal

import numpy as np

CentralStep = Literal["proof", "text"]
"""β = ρ/(2T²σ) as in the proof of Async, or (N − 1)ρ/(N T²σ) as in its text."""


def contraction(
    curvature: float,
    n_owners: int,
    *,
    step: float,
    sigma: float,
    updates: int,
    central_step: CentralStep = "proof",
) -> float:
    """Return what is left of the distance to the optimum after T updates, in the mean.

    Of owners with equal data that are chosen equally often, without noise and clipping: the largest
    absolute eigenvalue, to the power T, of the mean map of (θ_L, θ_1 … θ_N) along one eigenvector
    of f's second derivative. It has those of (θ_L, the mean of all θ_i) and, N − 1 times, that of
    differences between the θ_i. Above 1, learning diverges.

    Parameters
    ----------
    curvature : float
        The eigenvalue, ≥ σ.
    n_owners : int
        N.
    step : float
        Nρ/(T²σ).
    sigma : float
        σ.
    updates : int
        T.
    central_step : str
        "proof" or "text".
    """
    pull = step * sigma / (2 * n_owners)
    central = 1 - pull * (1 if central_step == "proof" else 2 * (n_owners - 1) / n_owners)
    own = 1 - pull - step * (curvature - sigma) / n_owners
    apart = 1 - (1 - own / 2) / n_owners
    common = np.linalg.eigvals(
        np.array([[central / 2, central / 2], [own / (2 * n_owners), apart]])
    )
    largest = np.abs([*common, *[apart] * (n_owners > 1)]).max()
    with np.errstate(over="ignore"):
        return float(largest**updates)
