"""Messages of gossip one by one: what each tells alone, and which of them are new."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.privacy.observers.knowledge import PRIME
from asyncdp_sim.privacy.observers.node import Round

Numbers = npt.NDArray[np.int64]


def sums(rounds: Sequence[Round], n_nodes: int) -> Array:
    """Return Σ a_u²/‖a‖² over the messages Σ_j a_j y_j that each node is sent, (M, M).

    Owners u in rows, listeners in columns; in units of 1/z², z being the multiplier of all nodes'
    noise. For synchronous steps of a matrix W it is the sum of Muffliato's published code,
    Σ_{t<T} Σ_{w ∈ N(v)} (Wᵗ)²_{wu}/‖(Wᵗ)_w‖². Messages share the noise that was added once, so that
    it bounds nothing: the exact figure, h_u of :mod:`asyncdp_sim.privacy.observers.node`, may be
    above it by any factor, as ``docs/privacy/gossip-averaging.md`` shows.

    Parameters
    ----------
    rounds : sequence of Round
        Who is sent what, in order.
    n_nodes : int
        M.
    """
    vectors, found = np.eye(n_nodes), np.zeros((n_nodes, n_nodes))
    for each in rounds:
        shares = np.square(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
        for listener, speaker in each.heard.tolist():
            found[:, listener] += shares[speaker]
        vectors[each.nodes] = each.weights / each.parts @ vectors[each.sources]
    return found


def counts(rounds: Sequence[Round], n_nodes: int) -> Numbers:
    """Return how many messages every node is sent, (M,)."""
    listeners = [each.heard[:, 0] for each in rounds]
    return np.bincount(np.concatenate(listeners), minlength=n_nodes)


def new_messages(rounds: Sequence[Round], n_nodes: int) -> Numbers:
    """Return how many of the messages that every node is sent are no sum of earlier ones, (M,).

    What the node itself put in is known to it. Exact but for one chance in millions: weights are
    fractions, and are taken modulo the prime 2³¹ − 1.
    """
    vectors, known = np.eye(n_nodes, dtype=np.int64), [_Span(node) for node in range(n_nodes)]
    for each in rounds:
        for listener, speaker in each.heard.tolist():
            known[listener].take(vectors[speaker])
        weights = each.weights * pow(each.parts, -1, PRIME) % PRIME
        vectors[each.nodes] = _times(weights, vectors[each.sources])
    return np.array([len(span.rows) for span in known], dtype=np.int64)


class _Span:
    """The space of the messages that a node was sent, modulo the prime, without its own part."""

    def __init__(self, node: int) -> None:
        self.node = node
        self.rows: dict[int, Numbers] = {}
        """By the place of their first number, which is 1."""

    def take(self, message: Numbers) -> None:
        """Add what a message has that no sum of earlier ones has."""
        left = message.copy()
        left[self.node] = 0
        for place, row in sorted(self.rows.items()):
            left = (left - left[place] * row) % PRIME
        if left.any():
            first = int(np.flatnonzero(left)[0])
            self.rows[first] = left * pow(int(left[first]), -1, PRIME) % PRIME


def _times(weights: Numbers, vectors: Numbers) -> Numbers:
    """Return weights times vectors modulo the prime; a product of two numbers still fits."""
    products = weights[:, :, None] * vectors[None] % PRIME
    return np.asarray(products.sum(axis=1) % PRIME)


def first_alone(rounds: Sequence[Round]) -> list[Round]:
    """Return the same rounds, in which every node hears its first message and no other."""
    heard: set[int] = set()
    found = []
    for each in rounds:
        new = [pair for pair in each.heard.tolist() if pair[0] not in heard]
        heard |= {listener for listener, _ in new}
        found.append(replace(each, heard=np.array(new, dtype=np.int64).reshape(-1, 2)))
    return found
