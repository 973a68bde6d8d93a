"""Objectives of records: rows prepared, whatever is hidden of them, and models judged on more."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.data import Dataset
from asyncdp_sim.data.dataset import FAR, blank, only_labels, outlying, void
from asyncdp_sim.learning.objectives import (
    Constants,
    Objective,
    Records,
    constants,
)
from asyncdp_sim.learning.recording import largest_of_all
from asyncdp_sim.runs.held_out import HeldOut, held_out
from asyncdp_sim.scenario import Scenario

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
    value = blank(features, nothing), blank(targets, nothing)
    inside, text = _in_domain(scenario, value)
    scored = blank(scenario.model.design(inside[0]), nothing), inside[1]
    owners = len(dataset.features)
    return PreparedRows(value, scored, owners, inside is not value, (*notes, *text))


def _in_domain(scenario: Scenario, given: Rows) -> tuple[Rows, tuple[str, ...]]:
    """Return rows scaled into a bounded domain, if there is one, and a note on it."""
    privacy, domain = scenario.privacy, scenario.privacy.bounded
    if domain is None or not domain.bounds_records:
        return given, ()
    inside = domain.confine(*given, privacy.norm)
    bounds = domain.describe(scenario.model, scenario.data.features, privacy.norm) or ""
    return inside, (_confined(given, inside), bounds)


def _confined(before: Rows, after: Rows) -> str:
    """Say how many records the bounded domain has changed."""
    rows = sum(
        int(np.count_nonzero((x != z).any(axis=1)))
        for x, z in zip(before[0], after[0], strict=True)
    )
    values = sum(int(np.count_nonzero(y != z)) for y, z in zip(before[1], after[1], strict=True))
    total = sum(map(len, before[1]))
    return FormattedMessage(
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
    labels = [only_labels(values, scenario.model.labels) for values in targets]
    if all(np.isnan(values).all() for values in labels):
        raise _no_labels(scenario, "no label in any record")
    lost = sum(
        int(np.count_nonzero(np.isnan(y) & ~np.isnan(t)))
        for y, t in zip(labels, targets, strict=True)
    )
    if lost == 0:
        return labels, ()
    return labels, (
        FormattedMessage(
            "{lost} targets are no labels {labels}: these records contribute nothing (loss and "
            "gradient are 0), and n_i counts them",
            lost=lost,
            labels=_in_words(scenario),
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
        wrong = np.flatnonzero(_no_label(scenario, public))
        row = dataset.row_name(before + int(wrong[0])) if len(wrong) > 0 else ""
        _require_labels(scenario, public, f"in public {row}")


def _require_labels(scenario: Scenario, values: Array, where: str) -> None:
    """Refuse targets that are no labels, naming the first; absent ones are none."""
    other = values[_no_label(scenario, values)]
    if len(other) > 0:
        raise _no_labels(scenario, f"the value {other[0]:g} {where}")


def _no_label(scenario: Scenario, values: Array) -> Bools:
    """Return which targets are neither labels nor absent."""
    return np.asarray(~np.isnan(values) & ~np.isin(values, scenario.model.labels))


def _in_words(scenario: Scenario) -> str:
    """Return the labels in words."""
    first, *_, last = scenario.model.labels
    return f"{first:g} {'and' if len(scenario.model.labels) == 2 else 'to'} {last:g}"


def _no_labels(scenario: Scenario, given: str) -> DataError:
    key = "data.target" if hasattr(scenario.data, "target") else "data"
    remedy = f"allowed are labels {_in_words(scenario)} with model.kind = {scenario.model.kind}"
    return DataError([Fault(key, given, remedy)])


@dataclass(frozen=True, eq=False)
class LearningProblem:
    """The questions of a scenario's records to a model; cells of a sweep may have it in common.

    Attributes
    ----------
    of_scenario : tuple
        The parts of the scenario that it depends on, and whether models are judged.
    dataset : Dataset
    objective : Objective
        What is trained.
    judge : Objective
        What judges models.
    records : Records
        The owners', for what second moments cannot tell.
    held_out : tuple of HeldOut
        One per owner, over its held-out rows; without members where none are.
    all_held_out : HeldOut or None
        Over those of all.
    notes : tuple of str
        What was done to the records, for the user.
    """

    of_scenario: tuple[object, ...]
    dataset: Dataset
    objective: Objective
    judge: Objective
    records: Records
    held_out: tuple[HeldOut, ...]
    all_held_out: HeldOut | None
    notes: tuple[str, ...]

    @classmethod
    def from_scenario(
        cls, scenario: Scenario, dataset: Dataset, *, judged: bool = True
    ) -> "LearningProblem":
        """Prepare the records, and find the optimum where models are judged by it.

        Raises
        ------
        DataError
            If the targets are no labels of a model that classifies, if θ* is not found, or if the
            relative fitness is undefined on these data.
        """
        model, privacy = scenario.model, scenario.privacy
        rows = prepared(scenario, dataset)
        objective, judge, notes = _objectives(scenario, dataset, rows, judged=judged)
        records = model.records(*rows.trained_on, privacy.record_clip, privacy.norm)
        unseen, all_unseen = held_out(dataset, model, privacy.bounded, privacy.norm)
        text = (*rows.notes, *notes)
        which = (*_parts(scenario), judged)
        return cls(which, dataset, objective, judge, records, unseen, all_unseen, text)

    def fits(self, scenario: Scenario, dataset: Dataset) -> bool:
        """Return whether it is what a scenario's records ask for, with what judges models."""
        return self.dataset is dataset and self.of_scenario == (*_parts(scenario), True)

    @cached_property
    def constants(self) -> Constants:
        """The constants that the theorems speak of."""
        return constants(self.judge, self.records)

    def longest_from(self, starts: Array) -> Array:
        """Return how long every owner's record gradients are at θ* and some starts, shape (N,).

        It is remembered, as cells of a sweep mostly start from the same.
        """
        key = starts.tobytes()
        if key not in self._longest:
            points = np.concatenate([self.judge.optimum[None], starts])
            least = np.zeros(self.objective.n_owners)
            self._longest[key] = largest_of_all(self.records, points, least)
        return self._longest[key]

    @cached_property
    def _longest(self) -> dict[bytes, Array]:
        """What :meth:`longest_from` has found, by the bytes of the starts."""
        return {}


def _parts(scenario: Scenario) -> tuple[object, ...]:
    """Return the parts of a scenario that decide which records there are, and what they ask for."""
    privacy = scenario.privacy
    hidden = (privacy.bounded, privacy.norm, privacy.record_clip)
    return scenario.data, scenario.owners, scenario.model, *hidden


@dataclass(frozen=True, eq=False)
class ScoredOnAll:
    """An objective with f and θ* over all rows, and with the training owners only.

    As published of hospitals (``data.score_on = "all"``). θ* is not what the owners' answers
    lead to, so that ψ without any noise need not fall to 0. Its other attributes are those of an
    :class:`~asyncdp_sim.learning.objectives.Objective`.

    Attributes
    ----------
    trained : Objective
        Of the owners' rows: n_i, shares and gradients.
    everybody : Objective
        Of the owners' rows and those of no owner, who count as one owner more.
    """

    trained: Objective
    everybody: Objective

    records = property(attrgetter("trained.records"))
    weights = property(attrgetter("trained.weights"))
    n_owners = property(attrgetter("trained.n_owners"))
    n_features = property(attrgetter("trained.n_features"))
    second_moments = property(attrgetter("trained.second_moments"))
    gradient = property(attrgetter("trained.gradient"))
    sigma = property(attrgetter("everybody.sigma"))
    theta_max = property(attrgetter("everybody.theta_max"))
    smoothness = property(attrgetter("everybody.smoothness"))
    optimum = property(attrgetter("everybody.optimum"))
    least = property(attrgetter("everybody.least"))
    judge = property(attrgetter("everybody.second_moments"))
    excess = property(attrgetter("everybody.excess"))


def _objectives(
    scenario: Scenario, dataset: Dataset, rows: PreparedRows, *, judged: bool
) -> tuple[Objective, Objective, tuple[str, ...]]:
    """Return the training objective, the scoring objective, and notes on both.

    Raises
    ------
    DataError
        If θ* is not found, or if the relative fitness is undefined.
    """
    model = scenario.model
    everybody = model.objective(*rows.scored)
    notes: tuple[str, ...] = ()
    if rows.confined and model.quadratic:  # the optimum of others takes a search
        notes = (_moved(model.objective(*rows.as_given), everybody),)
    complete = len(rows.scored[0]) == rows.owners
    objective = everybody if complete else model.objective(*rows.trained_on)
    judge = objective if everybody is objective else ScoredOnAll(objective, everybody)
    if not judged:
        return objective, judge, notes
    try:
        _ = judge.least
    except DataError:
        far = outlying(rows.scored[0])
        if not dataset.real or not any(flags.any() for flags in far):
            raise
        judge, left_out = _without(far, scenario, objective, rows.scored)
        return objective, judge, (*notes, left_out)
    return objective, judge, notes


def _without(
    far: list[Bools], scenario: Scenario, objective: Objective, scored: Rows
) -> tuple[Objective, str]:
    """Return the scoring objective without rows of very large numbers, and a note on it.

    A useless objective is refused before anything is simulated. But that θ* is not found for one
    private record ends no run: θ* is then that of the others.

    Raises
    ------
    DataError
        If θ* is not found without them either.
    """
    count = sum(int(np.count_nonzero(rows)) for rows in far)
    rest = scenario.model.objective(blank(scored[0], far), blank(scored[1], far))
    judge = ScoredOnAll(objective, rest)
    _ = judge.least
    return judge, (
        FormattedMessage(
            "θ* of all records is not found: f, θ* and ψ leave out {count} with numbers above "
            "{far:g} times the usual, which are trained on all the same",
            count=count,
            far=FAR,
        )
    )


def _moved(before: Objective, objective: Objective) -> str:
    """Say what the optimum of records in a bounded domain lacks on the records before."""
    lost = float(before.excess(objective.optimum)) / objective.least
    return FormattedMessage(
        "on the records as they were, f of this optimum is {lost:.2g} f(θ*) above the least f",
        lost=lost,
    )
