"""Gains of a run's owners, judged on its held-out rows, or on fresh ones of its law.

Predictions have the shape (J, n, S): of J models, n rows, and S scores of a row.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from asyncdp_sim import decision
from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import Dataset
from asyncdp_sim.data.dataset import only_labels
from asyncdp_sim.data.tables.preprocessing import Projection
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.results.columns import arrow_texts
from asyncdp_sim.scenario import Participants, Scenario

RUNS = 10
"""Replicates whose models are judged, the first ones: their noise is a small part of intervals."""
FRESH = 20_000
"""Fresh rows of the owners' law on which owners of drawn records are judged."""
MOST = 2_000
"""Of one owner's table, training rows that own models are fitted to, and held-out rows that judge:
the first. With more, an own model hardly improves, and a run would wait for it. Of drawn records,
up to :data:`FRESH` train and judge."""
ASSUMES = "all {count} owners join, with these ε"
IF_OTHERS_LEFT = "the {count} owners that gain join alone, with these ε"
"""What mean gains are of."""


@dataclass(frozen=True, eq=False)
class Gains:
    """Gains of a run's owners.

    Attributes
    ----------
    owners : tuple of Gain
        One per owner, in the order of the tables.
    together : Consortium or None
        None where no owner has a gain.
    score : str
        What errors are measured by.
    runs : int
        How many replicates were judged.
    judged_on : str
        "held-out rows", or "fresh rows".
    judging : Judging
    remaining : Gains or None
        The same of the owners that gain, in a simulation without the others; None where all gain,
        or fewer than two.
    """

    owners: tuple[decision.Gain, ...]
    together: decision.Consortium | None
    score: str
    runs: int
    judged_on: str
    judging: decision.Judging
    remaining: "Gains | None" = None

    @property
    def gaining(self) -> list[int]:
        """Places of the owners that gain; none where all do, or fewer than two."""
        places = [i for i, gain in enumerate(self.owners) if gain.verdict is decision.Verdict.GAINS]
        return places if 1 < len(places) < len(self.owners) else []

    def columns(self, participants: Participants) -> dict[str, Any]:
        """Return ``gains``: one row per owner; absent is null, of an owner without rows."""
        rows = [gain.content() for gain in self.owners]
        columns: dict[str, Any] = {"owner": np.array(participants.numbers, dtype=np.int32)}
        if len(participants.names) > 0:
            columns["name"] = arrow_texts(participants.names)
        for key, first in rows[0].items():
            cells = [row[key] for row in rows]
            if isinstance(first, str):
                columns[key] = arrow_texts(cells)
            else:
                columns[key] = np.array(cells, dtype=np.int64 if key == "records" else float)
        return columns

    def content(self, unit: str | None, participants: Participants) -> dict[str, Any]:
        """Return what the manifest says: score, unit, gains of owners and of all, if others left.

        Its keys are those of a forecast's JSON; a run has one ε, and no break-even.
        """
        numbers = participants.numbers
        names = participants.names or (None,) * len(numbers)
        owners = [
            {"owner": number, "name": name} | gain.content() | {"break_even": None}
            for number, name, gain in zip(numbers, names, self.owners, strict=True)
        ]
        result: dict[str, Any] = {"score": self.score, "unit": unit}
        result |= {"judging": asdict(self.judging), "owners": owners, "break_even": None}
        if self.together is not None:
            result["consortium"] = self._of_all(self.together, ASSUMES)
        if self.remaining is not None and self.remaining.together is not None:
            result["remaining"] = self.remaining._of_all(self.remaining.together, IF_OTHERS_LEFT)
        return result

    def _of_all(self, together: decision.Consortium, assumes: str) -> dict[str, Any]:
        verdicts = [str(gain.verdict) for gain in self.owners]
        own = np.array([gain.own for gain in self.owners])
        return {
            **together.content(),
            "assumes": assumes.format(count=len(self.owners)),
            "owners": together.owners,
            "own": float(np.nanmean(own)),
            "verdicts": {name: verdicts.count(name) for name in sorted(set(verdicts))},
            "no_better_than_guessing": sum(
                not gain.better_than_guessing for gain in self.owners if np.isfinite(gain.guessing)
            ),
            "runs": self.runs,
            "judged_on": self.judged_on,
        }


def judging_of(manifest: Mapping[str, Any]) -> decision.Judging | None:
    """Return how the gains of a result were judged; None where they were not."""
    if "score" not in manifest:
        return None
    return decision.Judging(**manifest.get("judging", {}))  # absent of older versions


def asked_for(scenario: Scenario) -> bool:
    """Return whether gains are judged: rows are held out, or ``run.alone`` asks about drawn ones.

    Elsewhere own models would be judged on the rows that they were fitted to.
    """
    return scenario.data.held_out > 0 or (scenario.run.alone and scenario.data.draws_fresh)


class EncodedRows(NamedTuple):
    """Rows of one owner: encoded columns, features, targets, and which person each row is of."""

    columns: Array
    features: Array
    targets: Array
    persons: Ints


def judge_gains(
    scenario: Scenario, dataset: Dataset, models: Array, judging: decision.Judging
) -> Gains | None:
    """Return what owners gain; None where no row is apart from training.

    Parameters
    ----------
    scenario : Scenario
        Without a sweep.
    dataset : Dataset
        Its owners' records.
    models : array (R, p)
        Final central models.
    judging : Judging
    """
    if not asked_for(scenario):
        return None
    from threadpoolctl import threadpool_limits

    model, chosen = scenario.model, models[:RUNS]
    fresh_by_owner = fresh_rows(scenario, FRESH) if scenario.data.held_out == 0 else None
    most = MOST if fresh_by_owner is None else FRESH
    linear = linear_models(model, dataset.projection, chosen)
    streams, gains = Streams(scenario.run.seed), list[decision.Gain]()
    import_module("sklearn.ensemble")  # the limit below reaches libraries that are loaded
    with one_thread(), threadpool_limits(limits=1):
        for owner, number in enumerate(scenario.owners.participants):
            fresh = None if fresh_by_owner is None else next(fresh_by_owner)
            rows, own_scores = _scored(scenario, chosen, training_rows(dataset, owner), most)
            judging_rows, judged_scores = _scored(
                scenario, chosen, _judging_rows(dataset, owner, fresh), most
            )
            joint = decision.JointModels(own_scores, linear, margins=margins(model))
            generator = streams.generator("decision", "owner", number)
            apart = decision.FreshRows(
                rows, judging_rows, model.sigma, generator, own_best=judging.own_best
            )
            [gain] = apart.judge(joint, judged_scores, material=judging.material)
            # n_i of all records: the rows above are the first of those that have a target
            gains.append(replace(gain, records=dataset.records[owner]))
    return Gains(
        tuple(gains),
        decision.consortium(gains),
        decision.scored_by(len(model.labels)),
        len(chosen),
        "held-out rows" if scenario.data.held_out > 0 else "fresh rows",
        judging,
    )


def training_rows(dataset: Dataset, owner: int) -> EncodedRows:
    """Return the rows that an owner (from 0) trains on."""
    persons = dataset.persons_of(dataset.rows[owner])
    return EncodedRows(
        dataset.encoded_of(owner), dataset.features[owner], dataset.targets[owner], persons
    )


def _judging_rows(dataset: Dataset, owner: int, fresh: tuple[Array, Array] | None) -> EncodedRows:
    """Return the fresh rows (x, y), or else the held-out rows of an owner (from 0)."""
    if fresh is not None:
        x, y = fresh
        return EncodedRows(x, x, y, np.arange(len(y)))
    rows = dataset.held_out_rows
    x, y = dataset.held_out_features[owner], dataset.held_out_targets[owner]
    persons = np.arange(len(y)) if len(rows) == 0 else dataset.persons_of(rows[owner])
    return EncodedRows(dataset.encoded_of(owner, held_out=True), x, y, persons)


def fresh_rows(scenario: Scenario, count: int) -> Iterator[tuple[Array, Array]]:
    """Yield so many fresh features and targets of the law of each owner that takes part."""
    drawn = scenario.data.fresh(scenario.owners.whole, count, Streams(scenario.run.seed))
    wanted = {*scenario.owners.participants}
    yield from (rows for number, rows in enumerate(drawn or (), start=1) if number in wanted)


def _scored(
    scenario: Scenario, models: Array, part: EncodedRows, most: int
) -> tuple[decision.OwnRows, Array]:
    """Return rows that have a target, and predictions (J, n, S) of these by joint models."""
    rows, design, _ = known_rows(scenario, part, most)
    return rows, joint_scores(scenario.model, design, models)


def known_rows(
    scenario: Scenario, part: EncodedRows, most: int = MOST
) -> tuple[decision.OwnRows, Array, Ints]:
    """Return the first rows that have a target, their design matrix, and their places in ``part``.

    The design is what models multiply: features confined as privacy asks, and a column of ones
    where the model has a constant.
    """
    model, (columns, features, targets, persons) = scenario.model, part
    if model.classifies:
        targets = only_labels(targets, model.labels)
    present = np.flatnonzero(~np.isnan(targets))[:most]
    rows = decision.OwnRows(
        np.asarray(columns[present]),
        class_places(targets[present], model),
        len(model.labels),
        persons[present],
    )
    domain = scenario.privacy.bounded
    inputs = [np.asarray(features[present])]
    if domain is not None:
        inputs, _ = domain.confine(inputs, [targets[present]], scenario.privacy.norm)
    return rows, model.design(inputs)[0], present


def class_places(targets: Array, model: Model) -> Array:
    """Return targets as they are, or the places of their labels from 0."""
    if not model.classifies:
        return targets
    return np.searchsorted(np.array(model.labels), targets).astype(np.float64)


def margins(model: Model) -> bool:
    """Return whether a model predicts margins, from which no probabilities follow: no log-odds."""
    return model.classifies and not model.phi.logit


def joint_scores(model: Model, rows: Array, models: Array) -> Array:
    """Return predictions (J, n, S): numbers, or scores of all classes but the last."""
    with np.errstate(over="ignore", invalid="ignore"):  # a run may have diverged
        values = np.stack([model.predictions(rows, theta) for theta in models])
    return values if values.ndim == 3 else _to_last(model, values[..., None])


def _to_last(model: Model, values: Array) -> Array:
    """Return predictions, or parameters of these, as scores against the last class.

    Models of labels −1 and 1 give those of label 1, which is the last: the sign flips.
    """
    return -values if model.classifies and not model.first_of_two else values


def linear_models(
    model: Model, projection: Projection | None, models: Array
) -> decision.LinearModels | None:
    """Return models (J, p) in encoded columns; None where a model is not linear.

    With features (x − shift) M and a last one of ones, θ = (w, c) predicts xᵀMw + c − shiftᵀMw.
    The shapes are (J, S, columns) of coefficients, and (J, S) of constants.
    """
    if model.estimator is None:
        return None
    scores = max(1, len(model.labels) - 1)
    theta = _to_last(model, models.reshape(len(models), scores, -1))
    constant = np.zeros(theta.shape[:-1])
    if model.augmented or (projection is not None and projection.ones):
        theta, constant = theta[..., :-1], theta[..., -1]
    with np.errstate(over="ignore", invalid="ignore"):
        if projection is not None and projection.matrix is not None:
            theta = theta @ projection.matrix.T
        if projection is not None and projection.shift is not None:
            constant = constant - theta @ projection.shift
    return decision.LinearModels(theta, constant)
