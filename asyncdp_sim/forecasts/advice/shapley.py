"""Shapley's division of the value that owners achieve together."""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from asyncdp_sim.theory.formulas.arguments import count, refused

Array = npt.NDArray[np.float64]
Members = npt.NDArray[np.bool_]
ENUMERATED = 12
"""Owners up to which all coalitions are looked at."""


@dataclass(frozen=True, eq=False)
class Division:
    """Shares of v(everybody) − v(nobody), to which they add up.

    Attributes
    ----------
    share : array (N,)
        φ_i.
    error : array (N,)
        Standard error; 0 where every coalition was looked at.
    """

    share: Array
    error: Array


def shapley(value: Callable[[Members], Array], owners: int) -> Division:
    """Return φ_i = Σ_S |S|!(N−|S|−1)!/N! (v(S ∪ i) − v(S)), from all 2^N coalitions.

    Parameters
    ----------
    value : callable
        v of coalitions (B, N), True for members; (B,).
    owners : int
        N, 1…12.

    Raises
    ------
    SpecError
        If there are more owners.
    """
    if count("owners", owners) > ENUMERATED:
        raise refused("owners", owners, f"1 to {ENUMERATED}; beyond, sample permutations")
    members = (np.arange(2**owners)[:, None] >> np.arange(owners) & 1).astype(bool)
    worth, size = value(members), members.sum(axis=1)
    weight = np.array([1 / (owners * comb(owners - 1, s)) for s in range(owners)])
    share = np.empty(owners)
    for i in range(owners):
        without = np.flatnonzero(~members[:, i])
        share[i] = weight[size[without]] @ (worth[without + 2**i] - worth[without])
    return Division(share, np.zeros(owners))


def sampled(
    value: Callable[[Members], Array],
    owners: int,
    permutations: int,
    generator: np.random.Generator,
) -> Division:
    """Return the mean of what owners add on joining in random orders, with its standard error.

    Unbiased for φ_i; the shares of every order add up to v(everybody) − v(nobody).

    Parameters
    ----------
    value : callable
        As for :func:`shapley`.
    owners : int
        N ≥ 1.
    permutations : int
        ≥ 2.
    generator : numpy.random.Generator
    """
    size = count("owners", owners)
    draws = count("permutations", permutations, 2)
    added = np.empty((draws, size))
    ladder = np.arange(size + 1)[:, None]
    for row in added:
        order = generator.permutation(size)
        worth = value(np.argsort(order) < ladder)  # the first 0, 1, … N of the order
        row[order] = np.diff(worth)
    return Division(added.mean(axis=0), added.std(axis=0, ddof=1) / np.sqrt(draws))
