"""State of POLAR's servers: their models, and iterations that some of them have not made yet."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.algorithms.steps import Array, Indices


@dataclass(eq=False)
class Iteration:
    """One iteration, while some server has not made its step.

    Attributes
    ----------
    uploads : array (R, C, |N_h|, p)
        What each client sent to each of its servers; zero where it has not.
    weights, added : array (R, C, |N_h|, 1 or p)
        W and d of this step.
    stepped : array (R, S, p)
        What servers have come to before they agree, if that is due.
    models : array (R, S, p)
        What servers have come to.
    agreed : set of int
        Servers that have averaged with their neighbours.
    clipped : array of bool (R,)
        Whether the projection onto X changed some server's model.
    """

    uploads: Array
    weights: Array
    added: Array
    stepped: Array
    models: Array
    clipped: npt.NDArray[np.bool_]
    agreed: set[int] = field(default_factory=set)


@dataclass(eq=False)
class PolarState:
    """Models of all servers, each as far as it is; advanced in place.

    Attributes
    ----------
    central : array (R, p)
        Mean over servers after the last update.
    servers : array (R, S, p)
        x^J after so many steps as server J has made.
    clipped : array of int (R,)
        Updates in which the projection onto X changed some server's model.
    clients, masks : list of Generator
        R·C for perturbations, replicate by replicate, and R for the consensus.
    steps : list of int
        By server, how many it has made.
    answered : array of int (C, |N_h|)
        How many answers of each client there were (for each of its servers, under "basic").
    k, window : int
        Updates made; the window whose perturbations are drawn, from 1.
    weights : array (R, C, Δ, |N_h|, 1 or p)
    added : array (R, C, Δ, |N_h|, p)
        W and d of this window, the latest that somebody has begun.
    iterations : dict
        By k.
    """

    central: Array
    servers: Array
    clipped: Indices
    clients: list[np.random.Generator]
    masks: list[np.random.Generator]
    steps: list[int]
    answered: Indices
    k: int = 0
    window: int = 0
    weights: Array = field(default_factory=lambda: np.empty(0))
    added: Array = field(default_factory=lambda: np.empty(0))
    iterations: dict[int, Iteration] = field(default_factory=dict)
