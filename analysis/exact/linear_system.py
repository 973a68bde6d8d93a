"""Views of gossip as linear systems with Gaussian noise: squared sensitivities in plain floats.

All that an observer receives is A x + B z, x what nodes put in, z standard normal. A shift d of x
makes the squared sensitivity μ² = (A d)ᵀ (B Bᵀ)⁺ (A d): that of the least z with B z = A d. Nothing
here is of the package's accountant, which works with digits and primes
(:mod:`asyncdp_sim.privacy.observers.node`); least squares in floats suffice while no row is nearly
a combination of others.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.privacy.observers.node import Round

TINY = 1e-10
"""Singular values below this share of the largest are none."""


def senders(step: Round, pool: Sequence[int], *, summed: bool = False) -> Iterator[Ints]:
    """Yield the nodes whose vectors are in each number that a pool receives in a round.

    One for every message, or all that a member receives at once if these are ``summed``.
    """
    listeners, speakers = step.heard.T
    for member in pool:
        nodes = speakers[listeners == member]
        yield from [nodes] if summed else nodes[:, None]


def system(
    rounds: Sequence[Round],
    n_nodes: int,
    pool: Sequence[int],
    *,
    fresh: bool = False,
    summed: bool = False,
) -> Array:
    """Return what each received number has of each input, (numbers, inputs).

    Parameters
    ----------
    rounds : sequence of Round
        Who receives what, and who averages, in order.
    n_nodes : int
        M.
    pool : sequence of int
        The nodes, from 0, whose messages are received.
    fresh : bool
        Whether every node puts in a value before every round (inputs: round by round, M each), or
        before the first one only.
    summed : bool
        Whether a member receives the sum of the messages of a round, and none of them.
    """
    count = len(rounds) if fresh else 1
    state, rows = np.zeros((n_nodes, n_nodes * count)), list[Array]()
    for place, step in enumerate(rounds):
        if fresh or place == 0:
            state[:, place * n_nodes : (place + 1) * n_nodes] += np.eye(n_nodes)
        rows += [state[nodes].sum(axis=0) for nodes in senders(step, pool, summed=summed)]
        state[step.nodes] = step.weights / step.parts @ state[step.sources]
    return np.array(rows).reshape(-1, n_nodes * count)


def parts(received: Array, noise: Array, known: Sequence[int]) -> tuple[Array, Array]:
    """Return A d of a shift by 1 of each node's inputs, (numbers, M), and B.

    Parameters
    ----------
    received : array (numbers, inputs)
        From :func:`system`.
    noise : array (M,)
        Standard deviation of each node's inputs.
    known : sequence of int
        Nodes whose noise the observer knows: its own.
    """
    n_nodes = len(noise)
    nodes = np.arange(received.shape[1]) % n_nodes
    shifts = received.reshape(len(received), -1, n_nodes).sum(axis=1)
    return shifts, (received * noise[nodes])[:, ~np.isin(nodes, known)]


def squared(received: Array, noise: Array, known: Sequence[int]) -> Array:
    """Return μ² of a shift by 1 of each node's inputs, all at once, (M,); NaN of known nodes."""
    shifts, spread = parts(received, noise, known)
    least = np.linalg.lstsq(spread, shifts, rcond=TINY)[0]
    found = np.square(least).sum(axis=0)
    found[list(known)] = np.nan
    return np.asarray(found)


def separately(received: Array, noise: Array, known: Sequence[int]) -> Array:
    """Return Σ μ² over received numbers, each taken by itself, (M,); NaN of known nodes."""
    shifts, spread = parts(received, noise, known)
    sums = np.square(spread).sum(axis=1)
    found = np.square(shifts)[sums > 0].T @ (1 / sums[sums > 0])
    found[list(known)] = np.nan
    return np.asarray(found)


def best_test(received: Array, noise: Array, known: Sequence[int], owner: int) -> Array:
    """Return weights of the received numbers in the best test for a shift of an owner's inputs."""
    shifts, spread = parts(received, noise, known)
    inverse = np.linalg.pinv(spread, rcond=TINY)
    return np.asarray(inverse.T @ (inverse @ shifts[:, owner]))
