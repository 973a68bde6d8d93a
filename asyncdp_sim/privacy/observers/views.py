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
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
PRIME = 2**31 - 1
"""Weights are fractions; a row is new over the fractions if it is modulo a prime, and a row that
is new is taken for a known one only if this prime divides a certain determinant."""
_PRECISE = 1e-4
"""Of a direction: what roundings may amount to, added up as if none cancelled. They do: against
exact fractions a millionth of that came of them (``tests/unit/privacy/test_views.py``)."""
_EPS = float(np.finfo(float).eps)
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
        self._known = [_Known(n_nodes, pool | ~self._hides) for pool in pools]

    def hear(self, heard: Numbers) -> None:
        """Let every pool take in what its members hear from others."""
        seen: set[tuple[int, int]] = set()
        for listener, speaker in heard.tolist():
            for pool in np.flatnonzero(self._pools[:, listener] & ~self._pools[:, speaker]):
                if (int(pool), speaker) not in seen:
                    seen.add((int(pool), speaker))
                    self._learn(int(pool), speaker)

    def _learn(self, pool: int, speaker: int) -> None:
        """Take in a vector: its new direction is known from now on."""
        left, off, known = self._left[pool], self._off[pool], self._known[pool]
        if known.adds(self._exact[speaker]):
            row, doubt = known.beyond(left[speaker]), off[speaker]
            alone = known.newly_alone()
            if alone is not None:  # a node's own vector: a direction without any rounding
                row, doubt = known.beyond(np.eye(1, len(left), alone)[0]), 0.0
            length = float(np.sqrt(row @ row))
            if doubt > _PRECISE * length:  # what the row is like is not known
                self._suppose(pool)
            else:
                self._project(pool, row / length, doubt / length + _EPS)
        left[speaker], off[speaker] = 0.0, 0.0

    def _project(self, pool: int, direction: Array, doubt: float) -> None:
        """Take a direction out of what is left of all vectors."""
        left, columns = self._left[pool], np.flatnonzero(direction)
        self.leverage[pool] += direction**2
        self._known[pool].keep(direction)
        along = left[:, columns] @ direction[columns]
        rows = np.flatnonzero(along)
        left[np.ix_(rows, columns)] -= along[rows, None] * direction[columns]
        self._off[pool] += 2 * doubt * np.abs(along)

    def _suppose(self, pool: int) -> None:
        """Take every vector for known that has a part in what was heard: that is never too little.

        Rounding has hidden how much is known of them.
        """
        some = self._known[pool].suppose_all()
        self.leverage[pool, some] = 1.0
        self._left[pool][:, some] = 0.0

    def mix(self, each: Round) -> None:
        """Let vectors be averaged."""
        weights, nodes, sources = each.weights / each.parts, each.nodes, each.sources
        self._left[:, nodes] = _applied(weights, self._left[:, sources])
        largest = np.abs(self._left[:, nodes]).max(axis=2)
        self._off[:, nodes] = self._off[:, sources] @ weights.T + 2 * _EPS * largest
        exact = _applied_exactly(each.weights, self._exact[sources])
        self._exact[nodes] = exact * pow(each.parts, -1, PRIME) % PRIME
        self._left[self._pools] = 0.0  # a member's own vector is known to it
        self._off[self._pools] = 0.0


class _Known:
    """What a pool knows: rows modulo the prime, reduced, and their directions, orthonormal."""

    def __init__(self, n_nodes: int, blind: Flags) -> None:
        self._seeing = np.flatnonzero(~blind)
        self._rows = np.zeros((0, len(self._seeing)), dtype=np.int64)
        self._pivots = np.zeros(0, dtype=np.int64)
        self._alone: set[int] = set()
        self._directions = np.zeros((0, n_nodes))

    def beyond(self, row: Array) -> Array:
        """Return a row (M,) without what is known of it, and what rounding has left of that."""
        for _ in range(2):
            row = row - (self._directions @ row) @ self._directions
        return row

    def keep(self, direction: Array) -> None:
        """Keep a direction (M,) of length 1."""
        self._directions = np.vstack([self._directions, direction])

    def adds(self, row: Numbers) -> bool:
        """Return whether a row is no combination of those before, and keep it."""
        if len(self._rows) == len(self._seeing):
            return False
        new = row[self._seeing] % PRIME
        if len(self._rows) > 0:
            held = new[self._pivots]
            some = np.flatnonzero(held)
            taken = held[some, None] * self._rows[some] % PRIME
            new = (new - taken.sum(axis=0)) % PRIME
        places = np.flatnonzero(new)
        if len(places) == 0:
            return False
        pivot = int(places[0])
        new = new * pow(int(new[pivot]), -1, PRIME) % PRIME
        others = self._rows[:, pivot].copy()
        some = np.flatnonzero(others)
        self._rows[some] = (self._rows[some] - others[some, None] * new % PRIME) % PRIME
        self._rows = np.vstack([self._rows, new])
        self._pivots = np.append(self._pivots, pivot)
        return True

    def newly_alone(self) -> int | None:
        """Return a node whose vector the last row has made known exactly; None where there is none.

        A reduced row that has one number only is such a vector, and no other row is.
        """
        single = self._pivots[np.count_nonzero(self._rows, axis=1) == 1].tolist()
        new = [pivot for pivot in single if pivot not in self._alone]
        self._alone.update(new)
        return int(self._seeing[new[-1]]) if len(new) > 0 else None

    def suppose_all(self) -> Numbers:
        """Take every vector with a part in the rows for known, and return whose they are."""
        places = np.flatnonzero(self._rows.any(axis=0))
        self._rows = np.eye(len(self._seeing), dtype=np.int64)[places]
        self._pivots, self._alone = places, set(places.tolist())
        some = self._seeing[places]
        self._directions = np.eye(self._directions.shape[1])[some]
        return some


def _applied(weights: Array, rows: Array) -> Array:
    """Return W applied to rows (V, b, M) of every pool, by the few that count where most do not."""
    if np.count_nonzero(weights) > 0.2 * weights.size or weights.shape[0] <= 2:
        return np.asarray(np.matmul(weights, rows))
    from scipy.sparse import csr_array

    sparse, n_pools = csr_array(weights), rows.shape[0]
    together = rows.transpose(1, 0, 2).reshape(rows.shape[1], -1)
    found = (sparse @ together).reshape(weights.shape[0], n_pools, rows.shape[2])
    return np.asarray(found.transpose(1, 0, 2))


def _applied_exactly(weights: Numbers, rows: Numbers) -> Numbers:
    """Return weights times rows modulo the prime, term by term."""
    found = np.zeros((len(weights), rows.shape[1]), dtype=np.int64)
    for column in range(weights.shape[1]):
        some = np.flatnonzero(weights[:, column])
        product = weights[some, column, None] % PRIME * rows[column] % PRIME
        found[some] = (found[some] + product) % PRIME
    return found


__all__ = ["PRIME", "Round", "all_at_once", "leverages", "meeting"]
