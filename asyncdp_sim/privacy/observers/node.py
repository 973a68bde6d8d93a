"""Another node of a gossip graph, which sees its own meetings and no others."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import show
from asyncdp_sim.privacy.accountants.own import Accountant
from asyncdp_sim.privacy.observers.kind import (
    Array,
    Learned,
    ObserverKind,
    gaussian_epsilons,
    plainly,
)
from asyncdp_sim.privacy.observers.views import Round, leverages, meeting
from asyncdp_sim.spec import Count, Several, about
from asyncdp_sim.trace import ExchangeOutcome, Trace
from asyncdp_sim.words import numbers

_SENT = (ExchangeOutcome.applied, ExchangeOutcome.lost, ExchangeOutcome.in_flight)
_ALL = 1 - 1e-9
"""A leverage from which on a vector is taken for known: upwards, as every rounding here."""


class NodeObserver(ObserverKind):
    """Every other node, each with what it was sent itself, and all that colluders were sent.

    What it costs owner i is known once a run is over, from who met whom and when, for algorithms
    that average linearly what owners put in once (``averaging``), with Gaussian noise. Budgets are
    still divided for whoever hears every answer, so that no owner is above its budget whatever the
    run was.
    """

    by_count = False
    sees_meetings = True

    kind: Literal["node"] = "node"
    colluding: Annotated[
        Several[Count] | None,
        about(
            "Owners that put together all they see, with any node that listens; an owner's own "
            "record is then hidden from the others of them. Absent: every node on its own",
            "none",
            example=[2, 3],
        ),
    ] = None

    @override
    def words(self) -> str:
        seen = "another node of the graph that sees its own meetings"
        if self.colluding is None:
            return seen
        several = len(self.colluding) > 1
        return f"{seen}, and those of owner{'s' * several} {numbers(self.colluding)}, who collude"

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        privacy, algorithm = scenario.privacy, scenario.algorithm
        reasons = [
            (not algorithm.averages_once, f"algorithm averaging, given {algorithm.kind}"),
            (
                privacy.mechanism.composition != "gaussian",
                f"Gaussian noise, given {privacy.mechanism.kind}",
            ),
            *plainly(scenario),
        ]
        found = self.unmet("what a node learns", reasons)
        return found + self._misnamed(scenario.owners.count)

    def _misnamed(self, n_owners: int) -> list[Fault]:
        """Return a fault where colluders are no owners, or are named twice."""
        named = () if self.colluding is None else self.colluding
        if max(named, default=1) <= n_owners and len(set(named)) == len(named):
            return []
        allowed = f"allowed are different owners from 1 to {n_owners}"
        return [Fault("privacy.observer.colluding", show(list(named)), allowed)]

    @override
    def learned(self, accountant: Accountant, traces: Sequence[Trace]) -> Learned:
        """Return what each owner's record costs against the others, from these traces.

        μ of owner u against a view is √h_u/z_u (:mod:`asyncdp_sim.privacy.observers.views`), ε at
        δ that of one Gaussian answer with multiplier 1/μ, and ρ = μ²/2.
        """
        multiplier = accountant.multiplier
        if multiplier is None:
            raise ValueError("what a node learns is known of Gaussian answers alone")
        worst, median = [], []
        for trace in traces:
            squared = self.squared(multiplier, trace)
            worst.append(np.nanmax(squared, axis=1))
            median.append(np.nanquantile(squared, 0.5, axis=1, method="higher"))
        most, middle = np.array(worst), np.array(median)
        whole = accountant.spent(np.stack([trace.released for trace in traces]))
        each = [np.minimum(gaussian_epsilons(mu, accountant.delta), whole) for mu in (most, middle)]
        return Learned(each[0], most / 2, each[1])

    def squared(self, multiplier: Array, trace: Trace) -> Array:
        """Return μ² of owner u's record (rows) against node v (columns), (N, N) or (N, N + 1).

        The learner, where there is one, is the last column; an owner against itself is NaN.

        Parameters
        ----------
        multiplier : array (N,)
            z_i > 0, the noise over how far a record moves the vector.
        trace : Trace
            Of gossip.
        """
        n_owners = len(multiplier)
        rounds, nodes = meetings(trace), n_owners + int((trace.exchanges["peer"] == 0).any())
        noise = np.concatenate([multiplier, np.zeros(nodes - n_owners)])
        colluding = np.zeros(nodes, dtype=np.bool_)
        colluding[[owner - 1 for owner in self.colluding or ()]] = True
        found = leverages(rounds, noise, np.eye(nodes, dtype=np.bool_) | colluding).T[:n_owners]
        for owner in np.flatnonzero(colluding).tolist():  # the others of them against it
            others = colluding.copy()
            others[owner] = False
            pools = np.eye(nodes, dtype=np.bool_) | others
            found[owner] = leverages(rounds, noise, pools)[:, owner]
        found[found >= _ALL] = 1.0
        found[np.arange(n_owners), np.arange(n_owners)] = np.nan
        return np.asarray(found / np.square(multiplier)[:, None])


def meetings(trace: Trace) -> list[Round]:
    """Return who sent whom its vector in gossip, in order, from 0; the learner is number N.

    Meetings that the end of the run cut short are the last ones: the vectors were on their way.
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


__all__ = ["NodeObserver", "meetings"]
