"""Two neighbouring datasets of which one record differs by as much as any record may.

A bound that is enforced holds for every record, of a table or not. So the record is made up, after
encoding: along a coordinate or along all, short and long, with small and large targets. Of all
pairs one is taken whose gradients are as far apart as the bound allows, and by other amounts at
other queries: what moves all answers alike drops out of their differences.
"""

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
    queries = _queries(scenario, prepare(scenario, dataset))
    records = list(_made_up(scenario))
    x, y = [each[None] for each, _ in records], [np.array([value]) for _, value in records]
    gradients = single_gradients(scenario, x, y, queries)
    order = 1 if scenario.privacy.norm == "l1" else 2
    one, other, query = _far(gradients, order, varied=False)
    sides = [_with(scenario, dataset, owner, *records[j]) for j in (one, other)]
    at = np.array([owner]), queries[[query]]
    answers = [each.task.reply.gradients.gradient(*at)[0] for each in sides]
    one, other, _ = _far(gradients, order, varied=True)
    sides = [_with(scenario, dataset, owner, *records[j]) for j in (one, other)]
    told = " or ".join(_said(*records[j]) for j in (one, other))
    row, called = dataset.row_name(dataset.rows[owner][0]), scenario.owners.participants[owner]
    pair = Neighbours(owner, sides[0], sides[1], f"{row}, of owner {called}, encoded, is {told}")
    return MadeUp(pair, (answers[0], answers[1]))


def dearest(scenario: Scenario, dataset: Dataset) -> int:
    """Return the owner that pays the most for an answer, of several that with fewest records."""
    price = [(claim.cost(1), -n) for claim, n in zip(owed(scenario), dataset.records, strict=True)]
    finite = [owner for owner, (epsilon, _) in enumerate(price) if np.isfinite(epsilon)]
    return max(finite, key=lambda owner: (*price[owner], -owner))


def _queries(scenario: Scenario, problem: Problem) -> Array:
    """Return what a few runs ask, none twice."""
    talkative = scenario.model_copy(update={"trigger": None})
    scopes = [Streams(scenario.run.seed).within("audit", "worst", r) for r in range(_TRIALS)]
    asked = [overhear(talkative.network, problem.task, scope).points for scope in scopes]
    return np.unique(np.concatenate(asked), axis=0)[:_QUERIES]


def _made_up(scenario: Scenario) -> list[tuple[Array, float]]:
    """Return records: features and a target."""
    p = scenario.data.features
    directions = [np.eye(1, p, at)[0] for at in sorted({0, p - 1})]
    directions.append(np.full(p, 1 / p))
    targets = (1.0, -1.0) if scenario.model.classifies else TARGETS
    return [(size * along, y) for along, size, y in product(directions, SIZES, targets)]


def _far(gradients: Array, order: int, *, varied: bool) -> tuple[int, int, int]:
    """Return two records whose gradients (queries, records, p) are far apart, and where most.

    By their distance where it is largest; or, ``varied``, by its mean over queries and by how much
    the difference itself varies.
    """
    best, found = 0.0, (0, 1, 0)
    for one in range(gradients.shape[1] - 1):
        apart = gradients[:, one + 1 :] - gradients[:, [one]]
        length = np.linalg.norm(apart, ord=order, axis=2)
        value = length.max(axis=0)
        if varied:
            changes = np.linalg.norm(apart - apart.mean(axis=0), ord=order, axis=2)
            value = length.mean(axis=0) + changes.mean(axis=0)
        other = int(np.argmax(value))
        if value[other] > best * _BETTER:
            best = float(value[other])
            found = (one, one + 1 + other, int(np.argmax(length[:, other])))
    return found


def _with(scenario: Scenario, dataset: Dataset, owner: int, x: Array, y: float) -> Problem:
    """Return the scenario with this record as the owner's first."""
    features, targets = dataset.features[owner].copy(order="F"), dataset.targets[owner].copy()
    features[0], targets[0] = x, y
    return prepare(
        scenario,
        replace(
            dataset,
            features=(*dataset.features[:owner], features, *dataset.features[owner + 1 :]),
            targets=(*dataset.targets[:owner], targets, *dataset.targets[owner + 1 :]),
        ),
    )


def _said(x: Array, y: float) -> str:
    """Return a made-up record in words."""
    at = np.flatnonzero(x)
    where = "all" if len(at) > 1 or len(x) == 1 else f"coordinate {at[0] + 1}"
    return f"{x[at[0]]:g} in {where} with target {y:g}"
