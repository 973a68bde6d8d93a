"""Views of gossip as linear systems with Gaussian noise: squared sensitivities in plain floats.

All that it receives is A x + B z, x what nodes put in, z standard normal. A shift d of x makes the
squared sensitivity μ² = (A d)ᵀ (B Bᵀ)⁺ (A d). Nothing here is of the package's accountant, which
works with digits and primes (:mod:`asyncdp_sim.privacy.observers.node`); a pseudo-inverse of floats
suffices while no row is nearly a combination of others.
"""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.privacy.observers.node import Round

TINY = 1e-10
"""Singular values below this share of the largest are none."""


def system(
    rounds: Sequence[Round],
    n_nodes: int,
    observer: int,
    *,
    fresh: bool = False,
    summed: bool = False,
) -> Array:
    """Return what each received message has of each input, (messages, inputs).

    Parameters
    ----------
    rounds : sequence of Round
        Who receives what, and who averages, in order.
    n_nodes, observer : int
        M, and a node from 0.
    fresh : bool
        Whether every node puts in a value before every round (inputs: round by round, M each), or
        before the first one only.
    summed : bool
        Whether it receives the sum of the messages of a round, and none of them.
    """
    count = len(rounds) if fresh else 1
    state, rows = np.zeros((n_nodes, n_nodes * count)), list[Array]()
    for place, each in enumerate(rounds):
        if fresh or place == 0:
            state[:, place * n_nodes : (place + 1) * n_nodes] += np.eye(n_nodes)
        listeners, speakers = each.heard.T
        received = state[speakers[listeners == observer]]
        rows.append(received.sum(axis=0, keepdims=True) if summed else received)
        state[each.nodes] = each.weights / each.parts @ state[each.sources]
    return np.concatenate(rows)


def averaged(rounds: Sequence[Round], n_nodes: int) -> Array:
    """Return what each node's vector has of each node's first input in the end, (M, M)."""
    state = np.eye(n_nodes)
    for each in rounds:
        state[each.nodes] = each.weights / each.parts @ state[each.sources]
    return state


def squared(received: Array, noise: Array, observer: int) -> Array:
    """Return μ² of a shift by 1 of each node's inputs, all at once, (M,); NaN of the observer.

    Parameters
    ----------
    received : array (messages, inputs)
        From :func:`system`.
    noise : array (M,)
        Standard deviation of each node's inputs; the observer knows its own.
    """
    n_nodes = len(noise)
    shifts = received.reshape(len(received), -1, n_nodes).sum(axis=1)
    spread = received * np.tile(noise, received.shape[1] // n_nodes)
    spread = spread[:, np.arange(received.shape[1]) % n_nodes != observer]
    left, values, _ = np.linalg.svd(spread, full_matrices=False)
    kept = values > TINY * values.max(initial=0)
    found = np.square((left[:, kept] / values[kept]).T @ shifts).sum(axis=0)
    found[observer] = np.nan
    return np.asarray(found)
