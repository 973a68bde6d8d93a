"""Claims against observers that do not receive every answer, recomputed from a trace.

A second way, simpler and slower, of numbers that :mod:`asyncdp_sim.privacy.observers` states: plain
sums over rounds, a regression in place of a convex hull, and fractions in place of many digits.
Nothing is taken from there, nor from the accountants.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from fractions import Fraction
from math import sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.audits.claims import Owed
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import ExchangeOutcome, Trace

Array = npt.NDArray[np.float64]
Vector = dict[int, Fraction]
"""How often each node's own vector counts in a vector."""
_STARTS = 200
"""Rounds that are tried as the first of those that hide a record, at most."""
_MEETINGS, _NODES = 5000, 30
"""Beyond which fractions take too long."""


def of_models(scenario: Scenario, trace: Trace, claims: Sequence[Owed]) -> Array:
    """Return μ² of every owner's record against an observer that sees central models, (N,).

    One record of owner u moves the sum of a round by 2Ξ/n, and the noise in it has variance Σ z_j²
    of those owners j that answered in it, in that unit.
    """
    squared = np.array([claim.each for claim in claims]) ** -2.0
    rounds: dict[int, set[int]] = defaultdict(set)
    for k, owner in trace.updates[["k", "owner"]].tolist():
        rounds[k].add(owner - 1)
    present = np.zeros((len(rounds), len(claims)), dtype=np.bool_)
    for row, owners in zip(present, rounds.values(), strict=True):
        row[list(owners)] = True
    noise = present @ squared
    squared_mu = np.asarray((present / noise[:, None]).sum(axis=0))
    if scenario.privacy.listener.model_dump()["sees"] == "all" or len(rounds) == 0:
        return squared_mu
    last = _of_the_last(scenario, np.array(list(rounds)), present, noise)
    return np.asarray(np.minimum(squared_mu, last))


def _of_the_last(
    scenario: Scenario, numbers: npt.NDArray[np.int64], present: npt.NDArray[np.bool_], noise: Array
) -> Array:
    """Return μ² of the last model of a descent (``docs/privacy/last-model.md``), (N,).

    Of the shifts that may be put off until a later round's noise hides them, those whose squares
    over the noise sum to the least are an isotonic regression.
    """
    from scipy.optimize import isotonic_regression

    model, rounds = scenario.model, scenario.algorithm.in_rounds
    domain, records = scenario.privacy.sensitivity, np.array(scenario.trained_on, dtype=float)
    if rounds is None or domain is None or scenario.xi is None:
        raise TypeError("the last model is that of a descent in rounds")
    fields = domain.model_dump()
    longest = model.longest(fields["row_norm"], fields["rows"] or scenario.privacy.norm)
    smoothness = model.phi.curvature * longest**2  # type: ignore[operator]
    steps = rounds.schedule(rounds.step, scenario.run.updates).sizes[numbers - 1]
    contraction = np.maximum(
        np.abs(1 - steps * model.sigma), np.abs(1 - steps * (model.sigma + smoothness))
    )
    later = np.array([contraction[k + 1 :].prod() for k in range(len(steps))])
    moved = later * steps / (present @ (records / records.sum()))
    variance = np.square(moved) * noise
    unit = 2 * scenario.xi / records.sum()
    across = 2 * float(model.theta_max or np.inf) * sqrt(scenario.numbers) / unit
    count = len(steps)
    starts = np.unique(np.geomspace(1, count, min(count, _STARTS)).astype(int))
    squared_mu = np.full(present.shape[1], np.inf)
    for owner, present_owner in enumerate(present.T):
        if not present_owner.any():
            squared_mu[owner] = 0.0
            continue
        for first in (count - starts).tolist():
            shift, weights = (moved * present_owner)[first:], variance[first:]
            if first > 0:  # the start is public, and no later model is
                shift[0] += across * contraction[first] * later[first]
            if (weights > 0).all():
                slope = isotonic_regression(shift / weights, weights=weights).x
                squared_mu[owner] = min(squared_mu[owner], float(weights @ np.square(slope)))
    return squared_mu


def of_view(trace: Trace, claims: Sequence[Owed], pool: Set[int], owner: int) -> float | None:
    """Return μ² of an owner's record against nodes that pool what they receive.

    With B the rows that they hear, in units of the noise, and without the vectors of their own,
    it is [Bᵀ(B Bᵀ)⁻¹B]_uu / z_u². None where there are too many meetings or nodes.

    Parameters
    ----------
    trace : Trace
        Of gossip.
    claims : sequence of Owed
        One per owner.
    pool : set of int
        The nodes; owners from 1, the learner is 0.
    owner : int
        From 1; not in the pool.
    """
    meetings = list(_meetings(trace))
    if len(meetings) > _MEETINGS or trace.n_owners > _NODES:
        return None
    noise = {number: 1 / Fraction(claim.each) for number, claim in enumerate(claims, 1)}
    vectors: dict[int, Vector] = {node: {node: Fraction(1)} for node in noise} | {0: {}}
    basis: dict[int, Vector] = {}
    for a, b, a_hears, b_hears in meetings:
        before = {a: vectors[a], b: vectors[b]}
        for listener, speaker, receives in ((a, b, a_hears), (b, a, b_hears)):
            if receives and listener in pool and speaker not in pool:
                _add(basis, {u: x * noise[u] for u, x in before[speaker].items() if u not in pool})
            if receives:
                vectors[listener] = _combined(before[a], before[b], Fraction(1, 2), Fraction(1, 2))
    rows = list(basis.values())
    gram = [[_product(row, other) for other in rows] for row in rows]
    seen = [row.get(owner, Fraction(0)) for row in rows]
    share = _product(dict(enumerate(seen)), dict(enumerate(_solved(gram, seen))))
    return float(share / noise[owner] ** 2)


def _meetings(trace: Trace) -> Iterator[tuple[int, int, bool, bool]]:
    """Yield the two nodes of each meeting in order, and whether each received from the other.

    The last are those of whom the run's end cut off the messages, which were on their way.
    """
    ways = (ExchangeOutcome.applied, ExchangeOutcome.lost, ExchangeOutcome.in_flight)
    rows = trace.exchanges[trace.came_to(*ways)]
    names = ["owner", "peer", "outcome"]
    late = rows["outcome"] == ExchangeOutcome.in_flight
    rows_in_order = [*rows[~late][names].tolist(), *rows[late][names].tolist()]
    if any(
        peer == 0 for _, peer, _ in rows_in_order
    ):  # each with the learner, where nothing is lost
        yield from ((owner, 0, True, True) for owner, _, _ in rows_in_order)
        return
    for (a, b, sent), (_, _, answered) in zip(rows_in_order[::2], rows_in_order[1::2], strict=True):
        yield a, b, answered != ExchangeOutcome.lost, sent != ExchangeOutcome.lost


def _combined(first: Vector, second: Vector, one: Fraction, other: Fraction) -> Vector:
    every = {u: one * first.get(u, 0) + other * second.get(u, 0) for u in {*first, *second}}
    return {u: Fraction(x) for u, x in every.items() if x != 0}


def _product(first: Vector, second: Vector) -> Fraction:
    return sum((x * second[u] for u, x in first.items() if u in second), Fraction(0))


def _add(basis: dict[int, Vector], row: Vector) -> None:
    """Keep what is new of a row; every kept one has a first vector that no later one has."""
    for pivot, kept in basis.items():
        if pivot in row:
            row = _combined(row, kept, Fraction(1), -row[pivot] / kept[pivot])
    if len(row) > 0:
        basis[min(row)] = row


def _solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Return x of a definite matrix and a right side, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k, pivot in enumerate(rows):
        rows[k] = pivot = [x / pivot[k] for x in pivot]
        for other, row in enumerate(rows):
            if other != k and row[k] != 0:
                rows[other] = [x - row[k] * y for x, y in zip(row, pivot, strict=True)]
    return [row[-1] for row in rows]
