"""Starts and step sizes of algorithms, and the schedule of steps that some declare."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.specification import about

Initial = Annotated[
    Literal["zeros", "ones", "uniform"],
    about("Start of all models: 0, 1, or each coordinate drawn from U[0, 1)"),
]
Selection = Annotated[
    Literal["uniform", "inverse-rate"],
    about(
        "Step size of an owner. uniform, as published: the factor N assumes that all owners "
        "are equally likely; if they are not, another objective is optimised. inverse-rate: "
        "the step is divided by Nπ_i, π_i being the owner's share of the updates, which "
        "removes this bias"
    ),
]
Evening = Annotated[
    Literal["uniform", "inverse-rate", "inverse-weight"],
    about(
        "Step size of an owner. uniform: the factor N assumes that all owners are equally "
        "likely; if they are not, another objective is optimised. inverse-rate: the step is "
        "divided by Nπ_i, π_i being the owner's share of the updates, which removes this bias "
        "if all are equally stale. inverse-weight: it is divided by Nπ_i E[w(s) | i], w(s) "
        "being the weights of the owner's answers, which always removes it"
    ),
]


@dataclass(frozen=True)
class OneOnOne:
    """Algorithm 1 of Async: an answer moves the central model and its owner's copy.

    Attributes
    ----------
    rho : callable
        ρ, of N, T and σ.
    central_step : str
        β, as in :class:`~asyncdp_sim.learning.algorithms.AsyncGossip`.
    initial : str
        Where all models start.
    inverse_rate : bool
        Whether an owner's step is divided by its share of the updates.
    """

    rho: Callable[[int, int, float], float]
    central_step: Literal["proof", "text"]
    initial: Initial
    inverse_rate: bool


@dataclass(frozen=True, eq=False)
class Schedule:
    """The length of each round's step, and the model that is judged.

    Attributes
    ----------
    sizes : array (T, …)
        γ_k, k = 1 … T.
    kept : array (T,), optional
        a_k, where an average is judged: ū⁺ = a_k ū + (1 − a_k) u, u before the step. Absent, θ
        itself is judged.
    """

    sizes: Array
    kept: Array | None = None

    @classmethod
    def from_sizes(cls, size: Callable[[int], Array | float], updates: int) -> "Schedule":
        """Return the schedule of T rounds whose k-th step has this size."""
        return cls(np.stack([np.asarray(size(k)) for k in range(1, updates + 1)]))


@dataclass(frozen=True)
class StepsInRounds:
    """A step along the mean of a round's answers: θ⁺ = θ − γ_k (2H(θ − θ*) + w).

    Attributes
    ----------
    step : float
        ρ, c_1 or α, and
    schedule : callable
        what makes a schedule of it, or of several, and of T.
    initial : str
        Where the model starts.
    """

    step: float
    schedule: Callable[[float | Array, int], Schedule]
    initial: Initial
