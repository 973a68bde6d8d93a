"""Views of averaging: how much of each node's own vector observers know, from who met whom.

Nodes start with y_i = x_i + s_i w_i, w standard normal, and all that is ever sent is linear in y.
An observer that knows the noise of a set C sees A y, rows of public numbers; one record moves
y_u by Δ_u = s_u/z_u at most. With B = A S restricted to the columns of others than C, whose noise
alone hides anything, it sees a Gaussian of mean shift Δ_u a_u and covariance B Bᵀ, so that two
neighbouring datasets are as hard to tell apart as N(0, 1) from N(μ, 1) with

    μ² = Δ_u² a_uᵀ (B Bᵀ)⁺ a_u = h_u/z_u²,    h_u = [Bᵀ(B Bᵀ)⁺B]_uu in [0, 1],

the leverage of u: how much of its noise direction lies in the row space of B. h_u = 1 where y_u
is known exactly, which costs what u's own noise gives (1/z_u²), and nothing ever costs more.

The rows arrive one by one. Kept are what is left of every node's vector after projection onto the
complement of what is known, and whether the next row says anything new: that is decided exactly,
modulo a prime, since a row whose new part is tiny tells as much as one whose new part is large.
How far rounding may have moved what is left is added up to first order; where that is no longer
small beside a new part, every vector with a part in what was heard is taken for known, h = 1, which
is never too little.
"""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.privacy.observers.known import EPS, PRIME, Array, Flags, Known, Numbers

_PRECISE = 1e-4
"""Of a direction: what roundings may amount to, added up as if none cancelled. They do: against
exact fractions a millionth of that came of them (``tests/unit/privacy/test_views.py``)."""
_LEAST = float(np.finfo(float).tiny)
_FEW = 8
"""Nodes that are averaged for all pools at once; more of them for each pool on its own."""
_NUMBERS = 2**22
"""Numbers that are kept at a time at most, unless one observer needs more."""


@dataclass(frozen=True, eq=False)
class Round:
    """What is sent and averaged at one time.

    Attributes
    ----------
    heard : array of int (m, 2)
        Listener and speaker, both nodes from 0; all listeners hear vectors as they were before.
    nodes : array of int (a,)
        Whose vectors change.
    sources : array of int (b,)
        Of whose they are made.
    weights : array of int (a, b)
        How often each counts, over ``parts``.
    parts : int
        The common denominator.
    """

    heard: Numbers
    nodes: Numbers
    sources: Numbers
    weights: Numbers
    parts: int


def meeting(a: int, b: int, *, a_hears: bool = True, b_hears: bool = True) -> Round:
    """Return two nodes' meeting: whoever hears the other takes the mean of both vectors."""
    heard = [pair for pair, arrives in (((a, b), a_hears), ((b, a), b_hears)) if arrives]
    nodes = [listener for listener, _ in heard]
    return Round(
        np.array(heard, dtype=np.int64).reshape(-1, 2),
        np.array(nodes, dtype=np.int64),
        np.array([a, b]),
        np.ones((len(nodes), 2), dtype=np.int64),
        2,
    )


def all_at_once(weights: Numbers, parts: int) -> Round:
    """Return a step of all nodes by a fixed matrix W = ``weights``/``parts``, (M, M).

    A node hears those whose vectors it takes some of.
    """
    listeners, speakers = np.nonzero(weights)
    apart = listeners != speakers
    nodes = np.arange(len(weights))
    heard = np.stack([listeners[apart], speakers[apart]], axis=1)
    return Round(heard, nodes, nodes, weights, parts)


def leverages(rounds: list[Round], noise: Array, pools: Flags) -> Array:
    """Return h_u of every node against every pool of observers, shape (V, M); 0 of members.

    Parameters
    ----------
    rounds : list of Round
        In their order.
    noise : array (M,)
        s_u > 0 in one unit for all; 0 of a node that holds no data, and adds none.
    pools : array of bool (V, M)
        Who puts together what it sees, and knows its own noise.
    """
    some = max(1, _NUMBERS // noise.size**2)
    parts = [pools[at : at + some] for at in range(0, len(pools), some)]
    return np.concatenate([_of_some(rounds, noise, part) for part in parts])


def _of_some(rounds: list[Round], noise: Array, pools: Flags) -> Array:
    views = _Views(noise, pools)
    for each in rounds:
        views.hear(each.heard)
        if not views.learning.any():
            break
        views.mix(each)
    return np.minimum(views.leverage, 1.0)


class _Views:
    """What some pools of observers know, and what is left of each node's vector to each."""

    def __init__(self, noise: Array, pools: Flags) -> None:
        n_nodes = pools.shape[1]
        self._pools, self._hides = pools, noise > 0
        self.leverage = np.zeros(pools.shape)
        left = np.where(pools, 0.0, noise)
        self._left = left[:, :, None] * np.eye(n_nodes)  # (V, M, M), columns in units of noise
        self._off = np.zeros(pools.shape)  # how far rounding may have moved what is unknown of it
        self._exact = np.diag(self._hides.astype(np.int64))  # (M, M), modulo the prime
        self._known = [Known(n_nodes, pool | ~self._hides) for pool in pools]
        self.learning = np.array([not known.everything for known in self._known])

    def hear(self, heard: Numbers) -> None:
        """Let every pool that may still learn take in what its members hear from others."""
        listeners, speakers = heard.T
        hears = self._pools[:, listeners] & ~self._pools[:, speakers] & self.learning[:, None]
        pools, places = np.nonzero(hears)
        pairs = zip(pools.tolist(), speakers[places].tolist(), strict=True)
        for pool, speaker in dict.fromkeys(pairs):
            self._learn(pool, speaker)

    def _learn(self, pool: int, speaker: int) -> None:
        """Take in a vector: its new direction is known from now on."""
        left, off, known = self._left[pool], self._off[pool], self._known[pool]
        if known.adds(self._exact[speaker]):
            alone = known.newly_alone()
            if len(alone) == 0 or known.hints(alone):
                self._turn(pool, [(left[speaker], off[speaker]), *known.own(alone)])
            self._tell(pool, alone)
        left[speaker], off[speaker] = 0.0, 0.0

    def _turn(self, pool: int, rows: list[tuple[Array, float]]) -> None:
        """Take the direction in that is new in all of some rows, from the least doubtful one."""
        known = self._known[pool]
        new = [(known.beyond(row), doubt) for row, doubt in rows]
        lengths = [max(float(np.sqrt(row @ row)), _LEAST) for row, _ in new]
        doubts = [doubt / length + EPS for (_, doubt), length in zip(new, lengths, strict=True)]
        best = int(np.argmin(doubts))
        if doubts[best] > _PRECISE:
            self._tell(pool, known.suppose_all())
        else:
            self._project(pool, new[best][0] / lengths[best], doubts[best])

    def _project(self, pool: int, direction: Array, doubt: float) -> None:
        """Take a direction out of what is left of all vectors."""
        left = self._left[pool]
        self.leverage[pool] += direction**2
        self._known[pool].keep(direction, doubt)
        along = left @ direction
        rows = np.flatnonzero(along)
        left[rows] -= np.outer(along[rows], direction)
        self._off[pool] += 2 * doubt * np.abs(along)

    def _tell(self, pool: int, nodes: Numbers) -> None:
        """Take nodes' vectors for known: nothing of them is left in any other."""
        self.leverage[pool, nodes] = 1.0
        self._left[pool][:, nodes] = 0.0
        self.learning[pool] = not self._known[pool].everything

    def mix(self, each: Round) -> None:
        """Let vectors be averaged."""
        weights, nodes, sources = each.weights / each.parts, each.nodes, each.sources
        off = self._off[:, sources] @ weights.T
        for pools in [slice(None)] if len(nodes) <= _FEW else np.flatnonzero(self.learning):
            left = self._left[pools]
            found = left[..., nodes, :] = _times(weights, left[..., sources, :])
            self._off[pools][..., nodes] = off[pools] + 2 * EPS * np.abs(found).max(axis=-1)
        exact = _applied_exactly(each.weights, self._exact[sources])
        self._exact[nodes] = exact * pow(each.parts, -1, PRIME) % PRIME
        self._left[self._pools] = 0.0  # a member's own vector is known to it
        self._off[self._pools] = 0.0


def _times(weights: Array, rows: Array) -> Array:
    """Return weights @ rows, (b, M) or those of all pools; sparse where most weights are 0."""
    if rows.ndim > 2 or np.count_nonzero(weights) > 0.2 * weights.size:
        return np.asarray(weights @ rows)
    from scipy.sparse import csr_array

    return np.asarray(csr_array(weights) @ rows)


def _applied_exactly(weights: Numbers, rows: Numbers) -> Numbers:
    """Return weights times rows modulo the prime, term by term."""
    found = np.zeros((len(weights), rows.shape[1]), dtype=np.int64)
    for column in range(weights.shape[1]):
        some = np.flatnonzero(weights[:, column])
        product = weights[some, column, None] % PRIME * rows[column] % PRIME
        found[some] = (found[some] + product) % PRIME
    return found


__all__ = ["Round", "all_at_once", "leverages", "meeting"]
