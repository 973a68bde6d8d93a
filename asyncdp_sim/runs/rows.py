"""Prepares the rows of a scenario: labels checked, absent values blanked, in the bounded domain."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data import Dataset
from asyncdp_sim.data.void import blank, only_labels, void
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.notices import Counted
from asyncdp_sim.scenario import Scenario

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Rows = tuple[list[Array], list[Array]]
"""Features and targets, owner by owner."""


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """The rows that models are judged by, those of the owners first.

    Attributes
    ----------
    as_given : tuple of list
        Before they were brought into a bounded domain, features as the data have them.
    scored : tuple of list
        As they are used: rows that θ multiplies, and their targets.
    owners : int
        How many of them are owners', who train on theirs.
    confined : bool
        Whether they were brought into a bounded domain.
    notes : tuple of str
        What was done to the records, for the user.
    """

    as_given: Rows
    scored: Rows
    owners: int
    confined: bool
    notes: tuple[str, ...]

    @property
    def trained_on(self) -> Rows:
        """The owners' rows."""
        features, targets = self.scored
        return features[: self.owners], targets[: self.owners]

    @property
    def all_trained_on(self) -> bool:
        """Whether no others judge."""
        return len(self.scored[0]) == self.owners


def prepared(scenario: Scenario, dataset: Dataset) -> PreparedRows:
    """Return the rows of a scenario.

    Raises
    ------
    DataError
        If the targets are no labels of a model that classifies.
    """
    features, targets = dataset.scored
    targets, notes = _labelled(scenario, dataset, targets)
    nothing = void(targets)
    given = blank(features, nothing), blank(targets, nothing)
    inside, said = _in_domain(scenario, given)
    scored = blank(scenario.model.design(inside[0]), nothing), inside[1]
    owners = len(dataset.features)
    return PreparedRows(given, scored, owners, inside is not given, (*notes, *said))


def _in_domain(scenario: Scenario, given: Rows) -> tuple[Rows, tuple[str, ...]]:
    """Return rows as a bounded domain has them, where there is one, and what is said of it."""
    privacy, domain = scenario.privacy, scenario.privacy.bounded
    if domain is None or not domain.bounds_records:
        return given, ()
    inside = domain.confine(*given, privacy.norm)
    bounds = domain.words(scenario.model, scenario.data.features, privacy.norm) or ""
    return inside, (_confined(given, inside), bounds)


def _confined(before: Rows, after: Rows) -> str:
    """Say how many records the bounded domain has changed."""
    rows = sum(
        int(np.count_nonzero((x != z).any(axis=1)))
        for x, z in zip(before[0], after[0], strict=True)
    )
    values = sum(int(np.count_nonzero(y != z)) for y, z in zip(before[1], after[1], strict=True))
    total = sum(map(len, before[1]))
    return Counted(
        "the bounded domain scaled {rows} of {total} rows down and clipped {values} targets; "
        "fitness, optimum and ψ are those of the changed records",
        rows=rows,
        total=total,
        values=values,
    )


def _labelled(
    scenario: Scenario, dataset: Dataset, targets: list[Array]
) -> tuple[list[Array], tuple[str, ...]]:
    """Return targets, NaN where a model that classifies finds no label, and what is said of it.

    Whether a column is one of labels is for public rows to say, and for drawn ones, which tell of
    nobody: a private target that is none is a record that contributes nothing.
    """
    if not scenario.model.classifies:
        return targets, ()
    _look_at_labels(scenario, dataset, targets)
    labels = [only_labels(values) for values in targets]
    if all(np.isnan(values).all() for values in labels):
        raise _no_labels(scenario, "no label in any record")
    lost = sum(
        int(np.count_nonzero(np.isnan(y) & ~np.isnan(t)))
        for y, t in zip(labels, targets, strict=True)
    )
    if lost == 0:
        return labels, ()
    return labels, (
        Counted(
            "{lost} targets are no labels -1 and 1: these records contribute nothing (loss and "
            "gradient are 0), and n_i counts them",
            lost=lost,
        ),
    )


def _look_at_labels(scenario: Scenario, dataset: Dataset, targets: Sequence[Array]) -> None:
    """Refuse targets that are no labels where they tell of nobody: in drawn rows and public ones.

    Raises
    ------
    DataError
        With the first such value.
    """
    if not dataset.real:
        for place, values in enumerate(targets):
            owned = place < scenario.owners.count
            called = scenario.owners.participants[place] if owned else 0
            _require_labels(
                scenario, values, f"at owner {called}" if owned else "in no owner's row"
            )
        for values in dataset.held_out_targets:
            _require_labels(scenario, values, "in a held-out row")
    public, places = dataset.public_targets, dataset.file_rows
    if public is not None:
        before = 0 if places is None else places.count - len(public)
        wrong = np.flatnonzero(_no_label(public))
        row = dataset.row_name(before + int(wrong[0])) if len(wrong) > 0 else ""
        _require_labels(scenario, public, f"in public {row}")


def _require_labels(scenario: Scenario, values: Array, where: str) -> None:
    """Refuse targets other than −1 and 1, naming the first; absent ones are none."""
    other = values[_no_label(values)]
    if len(other) > 0:
        raise _no_labels(scenario, f"the value {other[0]:g} {where}")


def _no_label(values: Array) -> Flags:
    """Return which targets are neither −1 nor 1, nor absent."""
    return np.asarray(~np.isnan(values) & (np.abs(values) != 1))


def _no_labels(scenario: Scenario, given: str) -> DataError:
    key = "data.target" if hasattr(scenario.data, "target") else "data"
    allowed = f"allowed are labels -1 and 1 with model.kind = {scenario.model.kind}"
    return DataError([Fault(key, given, allowed)])
