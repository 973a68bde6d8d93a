"""Canaries: records in a scenario's data, each one of two by a fair coin.

One moves its owner's answers along a coordinate that no other one of that owner does, by as much as
a bound that is enforced allows: so that they hide each other as little as they can. Where the bound
is declared, both are records of the table, which it is claimed of: no others are blamed on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.audits.overheard import View
from asyncdp_sim.audits.worst import Record, along, asked, far, gradients_of, on_average, replaced
from asyncdp_sim.data import Dataset
from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.runs.problem import Problem, Task, exact_answers, prepare
from asyncdp_sim.scenario import Scenario

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Coins = npt.NDArray[np.bool_]
_LOOKED_AT = 200
"""Records of a table, at most, of which two are taken."""


@dataclass(frozen=True, eq=False)
class Canaries:
    """Records that coins decide.

    Attributes
    ----------
    scenario : Scenario
    dataset : Dataset
        The other records.
    owners, places : array of int (m,)
        Whose record, and which: the j-th of an owner lies along coordinate j.
    pairs : tuple
        By place, the two records of which one is there.
    """

    scenario: Scenario
    dataset: Dataset
    owners: Indices
    places: Indices
    pairs: tuple[tuple[Record, Record], ...]

    def problem(self, coins: Coins) -> Problem:
        """Return the scenario with what coins (m,) decide.

        Raises
        ------
        DataError
            As :func:`asyncdp_sim.runs.run`.
        """
        return prepare(self.scenario, self._placed(coins))

    def scores(self, view: View, task: Task) -> Array:
        """Return for each how much more the answers look like its second record, (m,).

        Of an owner's answers, the sum of ⟨answer − middle, d⟩/σ²: d is what its second record
        adds to the answer in place of its first, the middle that of all coins undecided, and σ²
        the variance of the noise. 0 where nothing was answered. Of the task, whose noise and
        algorithm know no records, those two are used.
        """
        noise, owners = task.reply.noise, view.owners
        first = self._answers(np.zeros_like(self.places, dtype=np.bool_), view, task)
        places = range(len(self.pairs))
        adds = [self._answers(self.places == at, view, task) - first for at in places]
        rest = view.answers - first - sum(adds, np.zeros_like(first)) / 2
        found = np.zeros(len(self.owners))
        for place, difference in enumerate(adds):
            with np.errstate(divide="ignore", invalid="ignore"):
                each = (rest * difference).sum(axis=1) / noise.variance[view.places]
                total = np.bincount(owners, each, minlength=task.objective.n_owners)
            here = self.places == place
            found[here] = np.nan_to_num(total, nan=0.0)[self.owners[here]]
        return found

    def _answers(self, coins: Coins, view: View, task: Task) -> Array:
        """Return what these coins would have had answered to the same queries, without noise."""
        gradients = exact_answers(self.scenario, self._placed(coins), task.steps)
        return np.asarray(gradients.gradient(view.owners, view.points))

    def _placed(self, coins: Coins) -> Dataset:
        where = zip(self.owners.tolist(), self.places.tolist(), coins.tolist(), strict=True)
        records = {(owner, place): self.pairs[place][coin] for owner, place, coin in where}
        return replaced(self.dataset, records)


def canaries(
    scenario: Scenario, dataset: Dataset, count: int | None, owners: Sequence[int], most: int
) -> Canaries:
    """Return as many canaries of these owners, one of each, then a second; None is up to ``most``.

    Raises
    ------
    SpecError
        If there is no room for so many: an owner has room for one per feature and record.
    """
    p = scenario.data.features
    room = [(at, i) for at in range(p) for i in owners if at < dataset.records[i]]
    if count is not None and not 1 <= count <= len(room):
        allowed = f"allowed is 1 to {len(room)}: one per feature and record of each owner"
        raise SpecError([Fault("canaries", str(count), allowed)])
    taken = room[: most if count is None else count]
    queries = asked(scenario, prepare(scenario, dataset))
    order = 1 if scenario.privacy.norm == "l1" else 2
    far_apart = _of_the_table if scenario.privacy.on_trust else _made_up
    pairs = [far_apart(scenario, dataset, queries, order, at) for at in range(taken[-1][0] + 1)]
    places, held = np.array(taken, dtype=np.int64).T
    return Canaries(scenario, dataset, held, places, tuple(pairs))


def _made_up(
    scenario: Scenario, dataset: Dataset, queries: Array, order: int, at: int
) -> tuple[Record, Record]:
    """Return two records along a coordinate whose gradients are far apart."""
    records = along(scenario, [np.eye(1, dataset.features[0].shape[1], at)[0]])
    one, other, _ = far(gradients_of(scenario, records, queries), order, on_average)
    return records[one], records[other]


def _of_the_table(
    scenario: Scenario, dataset: Dataset, queries: Array, order: int, at: int
) -> tuple[Record, Record]:
    """Return two records of the table whose gradients are far apart along a coordinate."""
    rows = [(x, float(y)) for each in zip(dataset.features, dataset.targets, strict=True)
            for x, y in zip(*each, strict=True)]  # fmt: skip
    records = rows[:: -(-len(rows) // _LOOKED_AT)]
    apart = gradients_of(scenario, records, queries)[:, :, [at]]
    one, other, _ = far(apart, order, on_average)
    return records[one], records[min(other, len(records) - 1)]  # of one record alone, the same
