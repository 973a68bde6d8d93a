"""Objectives of records, and scores of models on held-out rows, which nothing was trained on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import attrgetter

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.data import Dataset
from asyncdp_sim.data.dataset import FAR, blank, only_labels, outlying, void
from asyncdp_sim.learning.objectives import (
    Constants,
    Loss,
    Model,
    Norm,
    Objective,
    Records,
    Squared,
    constants,
)
from asyncdp_sim.learning.objectives.records import largest_of_all
from asyncdp_sim.measures.scores import Score, right, scores_of
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.scenario import Scenario

Predict = Callable[[Array, Array], Array]
_AT_ONCE = 2**17
"""Predictions held at once, a megabyte, unless one model has more."""


def products(rows: Array, models: Array) -> Array:
    """Return θᵀx of rows (m, p) under models (J, p), (J, m): each model's product by itself."""
    return np.asarray(np.matmul(rows, models[:, :, None])[:, :, 0])


def psi_of(objective: Objective, models: Array) -> Array:
    """Return ψ of models (J, p); infinite where one has diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        psi = objective.excess(models) / objective.least
    return np.where(np.isnan(psi), np.inf, psi)


def _one_by_one(predict: Predict, rows: Array, models: Array) -> Array:
    """Return predictions (J, m) of what takes one model (p,) at a time."""
    return np.array([predict(rows, model) for model in models])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out rows, and the loss that judges models on them, without regulariser.

    Attributes
    ----------
    features : array (m, p)
        Rows that θ multiplies.
    targets : array (m,)
    records : int
        How many rows with a target they stand for, ≥ 0; m unless the loss is squared.
    loss : Loss
        φ.
    known : tuple of array
        Rows (k, p) that have a target, and their targets (k,), which scores are of.
    predict : callable
        From rows (m, p) and models (J, p) to predictions (J, m), of each model what it is alone;
        θᵀx by default.
    """

    features: Array
    targets: Array
    records: int
    loss: Loss
    known: tuple[Array, Array]
    predict: Predict = products

    @classmethod
    def from_rows(
        cls,
        features: Array,
        targets: Array,
        loss: Loss,
        predict: Predict = products,
        nothing: Bools | None = None,
    ) -> "HeldOut":
        """Return the judge over rows (m, p) and their targets (m,).

        Those of ``nothing`` have none, and count nowhere.

        Under a linear model's squared loss the triangular factor of (X, y) stands for the rows:
        ‖y − Xθ‖ = ‖r − Rθ‖, with p + 1 rows at most and without cancellation.
        """
        if nothing is not None and nothing.any():
            features, targets = np.asfortranarray(features[~nothing]), targets[~nothing]
        records, values = len(targets), (features, targets)
        linear = predict is products
        if linear and isinstance(loss, Squared) and records > features.shape[1] + 1:
            factor = np.asarray(np.linalg.qr(np.column_stack([features, targets]), mode="r"))
            features, targets = np.asfortranarray(factor[:, :-1]), factor[:, -1].copy()
        return cls(features, targets, records, loss, values, predict)

    @property
    def scores(self) -> tuple[Score, ...]:
        """Scores of predictions in addition to their mean loss."""
        return scores_of(self.loss)

    def scored(self, models: Array, scores: Sequence[Score] | None = None) -> dict[Score, Array]:
        """Return scores of models (J, p), (J,) each; NaN without rows that have a target.

        Parameters
        ----------
        models : array (J, p)
        scores : sequence of Score, optional
            Which; all by default.
        """
        features, targets = self.known
        wanted = self.scores if scores is None else scores
        by_name: dict[Score, list[Array]] = {score: [] for score in wanted}
        for z in self._predictions(features, models):
            for score, item in by_name.items():
                item.append(score.of(z, targets))
        return {score: np.concatenate(item) for score, item in by_name.items()}

    def headline(self, models: Array) -> Array:
        """Return the first score of models (J, p), (J,)."""
        first = self.scores[:1]
        return self.scored(models, first)[first[0]]

    def mean_loss(self, models: Array) -> Array:
        """Return the mean of φ(z, y) for models (J, p), each by itself; NaN without targets."""
        with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge
            return self._mean(models, self.loss.value)

    def error_rate(self, models: Array) -> Array:
        """Return the share of labels that predictions miss, for models (J, p).

        Of two labels a prediction of 0 counts as half an error; NaN without labels, or where a
        model diverged.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._mean(models, lambda z, y: 1 - right(z, y))

    def predictions(self, models: Array) -> Array:
        """Return predictions (J, k) of the rows that have a target, for models (J, p)."""
        return np.concatenate(list(self._predictions(self.known[0], models)))

    def _mean(self, models: Array, judged: Callable[[Array, Array], Array]) -> Array:
        if self.records == 0:
            return np.full(len(models), np.nan)
        sums = [
            judged(z, self.targets).sum(axis=-1) for z in self._predictions(self.features, models)
        ]
        return np.concatenate(sums) / self.records

    def _predictions(self, rows: Array, models: Array) -> Iterator[Array]:
        """Yield predictions of rows for some models after others; one piece where there is none."""
        part = max(1, _AT_ONCE // max(1, len(rows)))
        with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge
            for first in range(0, max(1, len(models)), part):
                yield self.predict(rows, models[first : first + part])


def held_out(
    dataset: Dataset, model: Model, sensitivity: Sensitivity | None, norm: Norm
) -> tuple[tuple[HeldOut, ...], HeldOut | None]:
    """Return the judges over each owner's held-out rows, and that over all of them.

    Where training rows are brought into a bounded domain, rows to be predicted are scaled alike,
    but their targets stay as they are.

    Parameters
    ----------
    dataset : Dataset
    model : Model
    sensitivity : Sensitivity or None
    norm : str
        That of a domain's rows where it names none.
    """
    features, targets = list(dataset.held_out_features), list(dataset.held_out_targets)
    if len(features) == 0:
        return (), None
    if model.classifies:
        targets = [only_labels(y, model.labels) for y in targets]
    nothing = void(targets)
    targets = blank(targets, nothing)
    if sensitivity is not None:
        features, _ = sensitivity.confine(features, targets, norm)
    features = blank(model.design(features), nothing)
    predict = products if model.linear else partial(_one_by_one, model.predictions)
    pairs = zip(features, targets, strict=True)
    values = [
        HeldOut.from_rows(x, y, model.phi, predict, none)
        for (x, y), none in zip(pairs, nothing, strict=True)
    ]
    return tuple(values), _together(values)


def _together(each: Sequence[HeldOut]) -> HeldOut:
    """Return one judge over the rows of several, of which every row counts the same."""
    x = np.concatenate([left.features for left in each])
    y = np.concatenate([left.targets for left in each])
    records = sum(left.records for left in each)
    rows, targets = (np.concatenate(parts) for parts in zip(*(e.known for e in each), strict=True))
    joined = HeldOut.from_rows(np.asfortranarray(x), y, each[0].loss, each[0].predict)
    return replace(joined, records=records, known=(np.asfortranarray(rows), targets))


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
    _longest: dict[bytes, Array] = field(default_factory=dict, init=False, repr=False)

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


def _parts(scenario: Scenario) -> tuple[object, ...]:
    """Return the parts of a scenario that decide which records there are, and what they ask for."""
    privacy = scenario.privacy
    hidden = (privacy.bounded, privacy.norm, privacy.record_clip)
    return scenario.data, scenario.owners, scenario.model, *hidden


@dataclass(frozen=True, eq=False)
class ScoredOnAll(Objective):
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
        If no row has a target, θ* is not found, or the relative fitness is undefined.
    """
    model = scenario.model
    everybody = model.objective(*rows.scored)
    notes: tuple[str, ...] = ()
    if rows.confined and model.quadratic:  # the optimum of others takes a search
        notes = (_note_on_optimum(model.objective(*rows.as_given), everybody),)
    complete = len(rows.scored[0]) == rows.owners
    objective = everybody if complete else model.objective(*rows.trained_on)
    judge = objective if everybody is objective else ScoredOnAll(objective, everybody)
    if not judged:
        return objective, judge, notes
    if all(rows.all() for rows in void(dataset.scored[1])):
        rule = "a run needs numbers there; a forecast (asyncdp forecast) needs public rows alone"
        raise DataError([Fault("data.target", "no number in any row of an owner", rule)])
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


def _note_on_optimum(before: Objective, objective: Objective) -> str:
    """Say what the optimum of records in a bounded domain lacks on the records before."""
    lost = float(before.excess(objective.optimum)) / objective.least
    return FormattedMessage(
        "on the records as they were, f of this optimum is {lost:.2g} f(θ*) above the least f",
        lost=lost,
    )
