"""Another node of a gossip graph, which sees its own meetings and no others.

Nodes start with y_i = x_i + s_i w_i, w standard normal, and every sent vector is linear in y. An
observer that knows the noise of a set C sees A y, A a matrix of public numbers. One record moves
y_u by at most Δ_u = s_u/z_u. Let B = A S, restricted to the columns of nodes outside C, because
only their noise hides anything. The observer sees a Gaussian of mean shift Δ_u a_u and covariance B
Bᵀ. So two neighbouring datasets are as hard to distinguish as N(0, 1) from N(μ, 1) with

    μ² = Δ_u² a_uᵀ (B Bᵀ)⁺ a_u = h_u/z_u²,    h_u = [Bᵀ(B Bᵀ)⁺B]_uu in [0, 1],

the leverage of u: the share of its noise direction in the row space of B. h_u = 1 if y_u is known
exactly. The cost is then that of u's own noise, 1/z_u², the largest possible.

Which rows are new, and which nodes' own vectors are known, is decided modulo a prime, because a row
with a tiny new part reveals as much as one with a large new part. Rows of partly known vectors are
kept in as many digits as determine their space to 1e-9; this error is added to h. If the most
digits do not suffice, every vector with a part in the received rows counts as known, h = 1, which
is never too little.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Count, Several
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.core.validation import show
from asyncdp_sim.core.words import numbers
from asyncdp_sim.privacy.accountants import Accountant
from asyncdp_sim.privacy.observers.kind import (
    Learned,
    ObserverKind,
    Requirement,
    at_most_all,
    multipliers,
    plainly,
)
from asyncdp_sim.privacy.observers.knowledge import (
    Known,
    Numbers,
    applied,
    averaged,
    learn,
    leverage,
    whole,
)
from asyncdp_sim.trace import ExchangeOutcome, Trace

_LIMBS = (8, 20, 40, 80)
"""Numbers of limbs of 20 bits for vectors: more are used if fewer do not suffice."""
_SOME = 128
"""Received vectors that a pool collects before it keeps their new part; batches are faster."""
_NUMBERS = 2**25
"""Largest number of limbs kept at a time, unless one pool needs more."""


@dataclass(frozen=True, eq=False)
class Round:
    """The messages and averages of one time.

    Attributes
    ----------
    heard : array of int (m, 2)
        Receiver and sender, both nodes from 0; the sent vectors are those before the round.
    nodes : array of int (a,)
        The nodes whose vectors change.
    sources : array of int (b,)
        The nodes that their new vectors combine.
    weights : array of int (a, b)
        The weight of each source, times ``parts``.
    parts : int
        The common denominator.
    """

    heard: Numbers
    nodes: Numbers
    sources: Numbers
    weights: Numbers
    parts: int


def meeting(a: int, b: int, *, a_hears: bool = True, b_hears: bool = True) -> Round:
    """Return two nodes' meeting: a node that receives the other's vector takes the mean of both."""
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

    A node receives the vectors that have a positive weight in its own.
    """
    listeners, speakers = np.nonzero(weights)
    apart = listeners != speakers
    nodes = np.arange(len(weights))
    heard = np.stack([listeners[apart], speakers[apart]], axis=1)
    return Round(heard, nodes, nodes, weights, parts)


class Message(NamedTuple):
    """A vector as it was sent: modulo the prime, and in limbs with an error bound."""

    exact: Array
    limbs: Array
    off: float


def leverages(rounds: list[Round], noise: Array, pools: Bools) -> Array:
    """Return h_u of every node against every pool of observers, shape (V, M); 0 for members.

    Parameters
    ----------
    rounds : list of Round
        In their order.
    noise : array (M,)
        s_u > 0 in one unit for all; 0 for a node without data, which adds no noise.
    pools : array of bool (V, M)
        The members of each pool, which share what they receive and know their own noise.
    """
    leverage_of, doubtful = np.zeros(pools.shape), np.arange(len(pools))
    with one_thread():  # others would wait for each other longer than they work
        for count in _LIMBS:
            left = []
            for part in _in_parts(doubtful, rounds, noise.size, count):
                views = _Views(noise, pools[part], count)
                views.follow(rounds)
                leverage_of[part], sure = views.judged()
                left += part[~sure].tolist()
            doubtful = np.array(left, dtype=np.int64)  # more digits for pools that need them
    return leverage_of


def _in_parts(pools: Numbers, rounds: list[Round], n_nodes: int, count: int) -> Iterator[Numbers]:
    """Yield as many pools at a time as the memory for their vectors allows."""
    room = _NUMBERS // (n_nodes * count)
    speakers = sum(len(np.unique(step.heard[:, 1])) for step in rounds)
    size = max(1, len(pools) if speakers <= room else room // n_nodes)
    yield from (pools[at : at + size] for at in range(0, len(pools), size))


class _Views:
    """The knowledge of several pools of observers, and all vectors in many digits."""

    def __init__(self, noise: Array, pools: Bools, count: int) -> None:
        start = np.diag((noise > 0).astype(float))  # a node that adds no noise is no unknown
        self._noise, self._pools, self._exact = noise, pools, start
        self._vectors, self._off = whole(start, count), np.zeros(len(start))
        self._known = [Known(pool | (noise == 0)) for pool in pools]
        self._heard: list[list[Message]] = [[] for _ in pools]
        self._new: list[list[Message]] = [[] for _ in pools]
        self._said: dict[int, Message] = {}

    def follow(self, rounds: list[Round]) -> None:
        """Process rounds until no pool can learn more."""
        for step in rounds:
            if all(knowledge.everything for knowledge in self._known):
                return
            self._hear(step.heard)
            self._mix(step)
        self._learn(1)

    def _hear(self, heard: Numbers) -> None:
        """Add to every pool the vectors that its members receive from other nodes."""
        listeners, speakers = heard.T
        receives = self._pools[:, listeners] & ~self._pools[:, speakers]
        for place in np.flatnonzero(receives.any(axis=1)).tolist():
            if not self._known[place].everything:
                speakers_heard = dict.fromkeys(speakers[receives[place]].tolist())
                self._new[place] += [self._message(node) for node in speakers_heard]
        self._learn(_SOME)

    def _learn(self, least: int) -> None:
        """Keep the new part of received vectors, for pools with at least ``least`` of them."""
        places = [place for place, new in enumerate(self._new) if len(new) >= least]
        rows = [np.array([message.exact for message in self._new[place]]) for place in places]
        for place, new in zip(
            places,
            learn([self._known[place_of_pool] for place_of_pool in places], rows),
            strict=True,
        ):
            self._heard[place] += [self._new[place][row] for row in np.flatnonzero(new)]
            self._new[place] = []

    def _message(self, node: int) -> Message:
        """Return a node's current vector, stored once for all its receivers."""
        if node not in self._said:
            kept = self._exact[node].copy(), self._vectors[:, node].copy(), self._off[node]
            self._said[node] = Message(*kept)
        return self._said[node]

    def _mix(self, each: Round) -> None:
        """Average the vectors of a round."""
        nodes, sources, weights, parts = each.nodes, each.sources, each.weights, each.parts
        self._off[nodes] = np.abs(weights) @ self._off[sources] / parts + 1
        self._exact[nodes] = applied(weights, parts, self._exact[sources])
        self._vectors[:, nodes] = averaged(weights, parts, self._vectors[:, sources])
        for node in nodes.tolist():
            self._said.pop(node, None)

    def judged(self) -> tuple[Array, Bools]:
        """Return the leverage of every node for every pool, (V, M), and which pools are certain.

        For other pools every node in a received vector counts as known.
        """
        leverage_of, sure = np.zeros(self._pools.shape), np.ones(len(self._pools), dtype=np.bool_)
        for place, messages in enumerate(self._bases()):
            knowledge = self._known[place]
            leverage_of[place, knowledge.alone], leverage_of[place, knowledge.partly] = 1.0, 1.0
            if len(messages) == 0:
                continue
            leverage_partly = self._told(messages, knowledge.partly)
            sure[place] = leverage_partly is not None
            if leverage_partly is not None:
                leverage_of[place, knowledge.partly] = np.minimum(leverage_partly, 1.0)
        return leverage_of, sure

    def _bases(self) -> list[list[Message]]:
        """Return for every pool messages that span its knowledge of partly known nodes.

        They are independent after known vectors are removed: as many as its reduced rows.
        """
        places = [knowledge.pivots for knowledge in self._known]
        messages = [
            [message for message in heard if message.exact[pivots].any()]
            for heard, pivots in zip(self._heard, places, strict=True)
        ]
        pools = [
            pool
            for pool, pool_messages in enumerate(messages)
            if len(pool_messages) > len(places[pool])
        ]
        rows = [
            np.array([pool_messages.exact[places[pool]] for pool_messages in messages[pool]])
            for pool in pools
        ]
        afresh = [Known(np.zeros(len(places[pool]), dtype=np.bool_)) for pool in pools]
        for pool, new in zip(pools, learn(afresh, rows), strict=True):
            messages[pool] = [messages[pool][row] for row in np.flatnonzero(new)]
        return messages

    def _told(self, messages: list[Message], columns: Numbers) -> Array | None:
        """Return h of the partly known nodes, rounded up; None if more digits are needed."""
        rows = np.array([message.limbs[:, columns] for message in messages])
        off = np.array([message.off for message in messages])
        result = leverage(rows.transpose(1, 0, 2), off, self._noise[columns])
        return None if result is None else result[0] + result[1]


_SENT = (ExchangeOutcome.applied, ExchangeOutcome.lost, ExchangeOutcome.in_flight)
_ALL = 1 - 1e-9
"""Leverage from which a vector counts as known: rounded up, like everything here."""


class NodeObserver(ObserverKind):
    """Every other node: it sees the messages that it and colluding owners received.

    The cost for owner i is computed after a run from its meetings. This requires Gaussian noise and
    an algorithm that averages linearly one noisy value per owner (``averaging``). Budgets are still
    divided for an observer of every answer, so no owner exceeds its budget.
    """

    by_count = False
    sees_meetings = True

    kind: Literal["node"] = "node"
    colluding: Several[Count] | None = None

    @override
    def describe(self) -> str:
        seen = "another node of the graph that sees its own meetings"
        if self.colluding is None:
            return seen
        several = len(self.colluding) > 1
        return f"{seen}, and those of owner{'s' * several} {numbers(self.colluding)}, who collude"

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        algorithm = scenario.algorithm
        averages = Requirement(
            not algorithm.averages_once, "algorithm averaging", f"algorithm {algorithm.kind}"
        )
        faults = self.unmet("what a node learns", [averages, *plainly(scenario)])
        return faults + self._misnamed(scenario.owners.count)

    def _misnamed(self, n_owners: int) -> list[Fault]:
        """Return a fault if colluders are not owners, or are named twice."""
        named = () if self.colluding is None else self.colluding
        if max(named, default=1) <= n_owners and len(set(named)) == len(named):
            return []
        hint = f"allowed are different owners from 1 to {n_owners}"
        return [Fault("privacy.observer.colluding", show(list(named)), hint)]

    @override
    def learned(self, accountant: Accountant, traces: Sequence[Trace]) -> Learned:
        """Return the cost of each owner's record against the other nodes, from these traces.

        μ of owner u against a view is √h_u/z_u (:mod:`asyncdp_sim.privacy.observers.node`), ε at
        δ that of one Gaussian answer with multiplier 1/μ, and ρ = μ²/2.
        """
        multiplier, worst, median = multipliers(accountant), [], []
        for trace in traces:
            squared = self.squared(multiplier, trace)
            worst.append(np.nanmax(squared, axis=1))
            median.append(np.nanquantile(squared, 0.5, axis=1, method="higher"))
        most, middle = np.array(worst), np.array(median)
        worst_case, usual = (at_most_all(accountant, traces, mu) for mu in (most, middle))
        return Learned(worst_case, most / 2, usual)

    def squared(self, multiplier: Array, trace: Trace) -> Array:
        """Return μ² of owner u's record (rows) against node v (columns), (N, N) or (N, N + 1).

        The learner, where there is one, is the last column; an owner against itself is NaN.

        Parameters
        ----------
        multiplier : array (N,)
            z_i > 0, the noise over the largest change of the vector by one record.
        trace : Trace
            Of gossip.
        """
        n_owners = len(multiplier)
        rounds, nodes = meetings(trace), n_owners + int((trace.exchanges["peer"] == 0).any())
        noise = np.concatenate([multiplier, np.zeros(nodes - n_owners)])
        colluding = np.zeros(nodes, dtype=np.bool_)
        colluding[[owner - 1 for owner in self.colluding or ()]] = True
        leverage_of = leverages(rounds, noise, np.eye(nodes, dtype=np.bool_) | colluding).T[
            :n_owners
        ]
        for owner in np.flatnonzero(colluding).tolist():  # the others of them against it
            other_colluders = colluding.copy()
            other_colluders[owner] = False
            pools = np.eye(nodes, dtype=np.bool_) | other_colluders
            leverage_of[owner] = leverages(rounds, noise, pools)[:, owner]
        leverage_of[leverage_of >= _ALL] = 1.0
        leverage_of[np.arange(n_owners), np.arange(n_owners)] = np.nan
        return np.asarray(leverage_of / np.square(multiplier)[:, None])


def meetings(trace: Trace) -> list[Round]:
    """Return the meetings of gossip in order; nodes count from 0, the learner is N.

    Meetings that the end of the run cut short come last; their vectors count as sent.
    """
    sent = trace.came_to(*_SENT)
    rows = trace.exchanges[sent]
    rows = rows[np.argsort(rows["outcome"] == ExchangeOutcome.in_flight, kind="stable")]
    arrives = rows["outcome"] != ExchangeOutcome.lost
    owners, peers, learner = rows["owner"] - 1, rows["peer"] - 1, trace.n_owners
    if (peers < 0).any():  # a star, where nothing is lost
        return [meeting(owner, learner) for owner in owners.tolist()]
    pairs = zip(owners[::2].tolist(), peers[::2].tolist(), strict=True)
    heard = zip(arrives[1::2].tolist(), arrives[::2].tolist(), strict=True)
    return [
        meeting(a, b, a_hears=from_b, b_hears=from_a)
        for (a, b), (from_b, from_a) in zip(pairs, heard, strict=True)
    ]
