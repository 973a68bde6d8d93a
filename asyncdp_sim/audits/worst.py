"""Two neighbouring datasets of which one record differs by as much as any record may.

A bound that is enforced holds for every record, of a table or not. So the record is made up, after
encoding: along a coordinate or along all, short and long, with small and large targets. Of all
pairs one is taken whose gradients are as far apart as the bound allows, and by other amounts at
other queries: what moves all answers alike drops out of their differences.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.neighbours import Neighbours, single_gradients
from asyncdp_sim.audits.overheard import overhear
from asyncdp_sim.data import Dataset
from asyncdp_sim.runs.problem import Problem, build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.streams import Streams

Array = npt.NDArray[np.float64]
Record = tuple[Array, float]
"""Features (p,) and a target."""
SIZES = (0.1, 1.0, 10.0, 1000.0, -0.1, -1.0, -10.0, -1000.0)
"""What a direction of unit length is multiplied by."""
TARGETS = (0.0, 1.0, -1.0, 1000.0, -1000.0)
_BETTER = 1 + 1e-9
"""By how much at least: of pairs as good as each other, those along a coordinate are seen best."""
_TRIALS = 4
_QUERIES = 32
"""Queries, at most, and the runs that they are of, at which gradients are compared."""


@dataclass(frozen=True, eq=False)
class MadeUp:
    """A scenario with a record that was made up.

    Attributes
    ----------
    pair : Neighbours
        Its gradients are far apart, and the more or the less so from query to query.
    farthest : tuple of array (size,)
        What the owner would answer to one query, without noise, where that moves the most.
    """

    pair: Neighbours
    farthest: tuple[Array, Array]


def made_up(scenario: Scenario) -> MadeUp | None:
    """Return the two datasets, and two exact answers as far apart as a record can bring them.

    The owner is the one that pays the most for an answer, of several the one with the fewest
    records. None where the bound is declared, and nothing made up would respect it.

    Raises
    ------
    DataError
        As :func:`asyncdp_sim.runs.run`.
    """
    if scenario.privacy.on_trust:
        return None
    dataset = build_dataset(scenario)
    owner = dearest(scenario, dataset)
    queries = asked(scenario, prepare(scenario, dataset))
    p = scenario.data.features
    directions = [np.eye(1, p, at)[0] for at in sorted({0, p - 1})]
    records = along(scenario, [*directions, np.full(p, 1 / p)])
    gradients = gradients_of(scenario, records, queries)
    order = 1 if scenario.privacy.norm == "l1" else 2
    one, other, query = far(gradients, order, _at_one_query)
    sides = [_with(scenario, dataset, owner, records[j]) for j in (one, other)]
    at = np.array([owner]), queries[[query]]
    answers = [each.task.reply.gradients.gradient(*at)[0] for each in sides]
    one, other, _ = far(gradients, order, _varied)
    sides = [_with(scenario, dataset, owner, records[j]) for j in (one, other)]
    told = " or ".join(_said(*records[j]) for j in (one, other))
    row, called = dataset.row_name(dataset.rows[owner][0]), scenario.owners.participants[owner]
    pair = Neighbours(owner, sides[0], sides[1], f"{row}, of owner {called}, encoded, is {told}")
    return MadeUp(pair, (answers[0], answers[1]))


def dearest(scenario: Scenario, dataset: Dataset) -> int:
    """Return the owner that pays the most for an answer, of several that with fewest records."""
    price = [
        (claim.of_one().epsilon, -n)
        for claim, n in zip(owed(scenario), dataset.records, strict=True)
    ]
    finite = [owner for owner, (epsilon, _) in enumerate(price) if np.isfinite(epsilon)]
    return max(finite, key=lambda owner: (*price[owner], -owner))


def asked(scenario: Scenario, problem: Problem) -> Array:
    """Return what a few runs ask, none twice; the model that is 0 where they ask nothing."""
    talkative = scenario.model_copy(update={"trigger": None})
    scopes = [Streams(scenario.run.seed).within("audit", "worst", r) for r in range(_TRIALS)]
    points = [overhear(talkative.network, problem.task, scope).points for scope in scopes]
    found = np.unique(np.concatenate(points), axis=0)[:_QUERIES]
    return found if len(found) > 0 else np.zeros((1, found.shape[1]))


def along(scenario: Scenario, directions: Sequence[Array]) -> list[Record]:
    """Return records along these directions, short and long, with small and large targets."""
    targets = (1.0, -1.0) if scenario.model.classifies else TARGETS
    return [(size * each, y) for each, size, y in product(directions, SIZES, targets)]


def gradients_of(scenario: Scenario, records: Sequence[Record], queries: Array) -> Array:
    """Return gradients (queries, records, p) of single records, bounded."""
    x, y = [each[None] for each, _ in records], [np.array([value]) for _, value in records]
    return single_gradients(scenario, x, y, queries)


def far(gradients: Array, order: int, worth: Callable[[Array, int], Array]) -> tuple[int, int, int]:
    """Return two records whose gradients (queries, records, p) are far apart, and where most.

    ``worth`` says of differences (queries, m, p) how far apart, in the norm of that order, (m,).
    """
    best, found = 0.0, (0, 1, 0)
    for one in range(gradients.shape[1] - 1):
        apart = gradients[:, one + 1 :] - gradients[:, [one]]
        value = worth(apart, order)
        other = int(np.argmax(value))
        if value[other] > best * _BETTER:
            best = float(value[other])
            most = int(np.argmax(np.linalg.norm(apart[:, other], ord=order, axis=1)))
            found = (one, one + 1 + other, most)
    return found


def _at_one_query(apart: Array, order: int) -> Array:
    """Judge by the distance where it is largest."""
    return np.asarray(np.linalg.norm(apart, ord=order, axis=2).max(axis=0))


def on_average(apart: Array, order: int) -> Array:
    """Judge by the mean distance over queries."""
    return np.asarray(np.linalg.norm(apart, ord=order, axis=2).mean(axis=0))


def _varied(apart: Array, order: int) -> Array:
    """Judge by the mean distance over queries, and by how much the difference itself varies."""
    return on_average(apart, order) + on_average(apart - apart.mean(axis=0), order)


def _with(scenario: Scenario, dataset: Dataset, owner: int, record: Record) -> Problem:
    """Return the scenario with this record as the owner's first."""
    return prepare(scenario, replaced(dataset, {(owner, 0): record}))


def replaced(dataset: Dataset, records: Mapping[tuple[int, int], Record]) -> Dataset:
    """Return the records of a scenario, some replaced after encoding, by owner and place."""
    features, targets = list(dataset.features), list(dataset.targets)
    for owner in {owner for owner, _ in records}:
        features[owner] = features[owner].copy(order="F")
        targets[owner] = targets[owner].copy()
    for (owner, place), (x, y) in records.items():
        features[owner][place], targets[owner][place] = x, y
    return replace(dataset, features=tuple(features), targets=tuple(targets))


def _said(x: Array, y: float) -> str:
    """Return a made-up record in words."""
    at = np.flatnonzero(x)
    where = "all" if len(at) > 1 or len(x) == 1 else f"coordinate {at[0] + 1}"
    return f"{x[at[0]]:g} in {where} with target {y:g}"
