"""A run's model as a fitted scikit-learn pipeline; scikit-learn is imported late."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data.splits import codes_of
from asyncdp_sim.data.tables.encoded_columns import TableEncoder
from asyncdp_sim.data.tables.rows import require_column
from asyncdp_sim.learning.objectives.models import ModelKind
from asyncdp_sim.learning.objectives.records import Norm
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.scenario import Scenario

if TYPE_CHECKING:
    from asyncdp_sim.decision import OwnRows


@dataclass(frozen=True, eq=False)
class RowEncoder:
    """From raw rows of a table to the rows that θ multiplies; it can be pickled.

    Attributes
    ----------
    features : TableEncoder
        From raw rows to features.
    domain : Sensitivity or None
        The bounded domain that rows are scaled into, if any.
    norm : str
        The norm of rows that the domain bounds.
    model : ModelKind
        Adds the constant feature, if it has an intercept.
    """

    features: TableEncoder
    domain: Sensitivity | None
    norm: Norm
    model: ModelKind

    def __call__(self, frame: Any) -> Array:
        """Return rows (n, p) of a frame, or of an array with its columns in their order.

        Raises
        ------
        SpecError
            If it is no frame, and no array of as many columns.
        """
        rows = [self.features(self._named(frame))]
        if self.domain is not None:
            rows, _ = self.domain.confine(rows, [np.zeros(len(rows[0]))], self.norm)
        return self.model.design(rows)[0]

    def _named(self, rows: Any) -> Any:
        """Return raw rows as a frame."""
        import pandas as pd

        if isinstance(rows, pd.DataFrame):
            return rows
        names = list(self.features.public)
        values = np.asarray(rows, dtype=object)
        if values.ndim != 2 or values.shape[1] != len(names):
            shape = f"an array of shape {values.shape}"
            columns = ", ".join(map(str, names))
            rule = f"allowed is a DataFrame, or rows of {len(names)} columns: {columns}"
            raise SpecError([Fault("X", shape, rule)])
        return pd.DataFrame(values, columns=names)


@dataclass(frozen=True, eq=False)
class ColumnEncoder:
    """From raw rows of a table to its encoded columns, before any projection; can be pickled."""

    features: TableEncoder

    def __call__(self, frame: Any) -> Array:
        """Return columns (n, c)."""
        return self.features.columns(frame)


def adapted(scenario: Scenario, theta: Array, owner: int, rows: Any) -> Any:
    """Return a pipeline of a table's encoder and the joint model adapted to an owner's rows.

    Parameters
    ----------
    scenario : Scenario
    theta : array (p,)
        The joint model.
    owner : int
        Its number, from 1, in the stream that divides rows into folds.
    rows : DataFrame
        With the table's columns, the target among them.

    Raises
    ------
    InputError
        As :func:`pipeline`, and if rows lack a column.
    """
    from asyncdp_sim.decision import JointModels, adapted_model
    from asyncdp_sim.runs.gains import joint_scores, linear_models, margins

    model = scenario.model
    joint = pipeline(scenario, theta)
    encode = joint["encoder"].func
    features = encode.features
    target = str(getattr(scenario.data, "target_column", ""))
    for column in (target, getattr(scenario.data, "person", None) or target):
        require_column(column, list(rows.columns), "rows")
    targets = features.targets(rows[target])
    if model.classifies:
        targets = np.where(np.isin(targets, model.labels), targets, np.nan)
    labelled = np.flatnonzero(~np.isnan(targets))
    own = _own_rows(scenario, features, rows, targets, labelled)
    linear = linear_models(model, features.projection, theta[None])
    scores = joint_scores(model, encode(rows)[labelled], theta[None])
    generator = Streams(scenario.run.seed).generator("decision", "owner", owner)
    models = JointModels(scores, linear, margins=margins(model))
    fitted, strength = adapted_model(own, models, model.sigma, generator)
    coefficients, constants = fitted.coefficients[0], fitted.constants[0]
    if not model.classifies:
        name = "Ridge"
        coefficients, constants = coefficients[0], constants[0] + features.projection.target_shift
    else:
        name = "LogisticRegression"
        if len(model.labels) == 2:  # scikit-learn scores the second of two classes, ours the first
            coefficients, constants = -coefficients, -constants
        else:  # the reference class has score 0
            coefficients = np.concatenate([coefficients, np.zeros_like(coefficients[:1])])
            constants = np.append(constants, 0.0)
    result = _estimator(f"sklearn.linear_model.{name}", coefficients, constants)
    result.strength_ = strength
    if model.classifies:
        result.classes_ = joint["model"].classes_
    return _pipeline(ColumnEncoder(features), result)


def _own_rows(
    scenario: Scenario, features: TableEncoder, rows: Any, targets: Array, labelled: Ints
) -> "OwnRows":
    """Return the rows with targets as a decision reads them, each with its person."""
    from asyncdp_sim.decision import OwnRows
    from asyncdp_sim.runs.gains import class_places

    person = getattr(scenario.data, "person", None)
    persons = np.arange(len(rows)) if person is None else codes_of(rows[person])
    return OwnRows(
        features.columns(rows)[labelled],
        class_places(targets[labelled], scenario.model),
        len(scenario.model.labels),
        persons[labelled],
    )


def pipeline(scenario: Scenario, theta: Array) -> Any:
    """Return a pipeline of a table's encoder and a fitted linear model.

    Parameters
    ----------
    scenario : Scenario
    theta : array (p,)
        Its model.

    Raises
    ------
    InputError
        If scikit-learn has no such model, or the data are no table.
    """
    model, privacy = scenario.model, scenario.privacy
    if model.estimator is None:
        rule = "allowed is ridge, logistic, svm or softmax"
        raise SpecError([Fault("model.kind", repr(model.kind), rule)])
    features = scenario.read_data.encoder()
    coefficients = model.coefficients(theta)
    if model.classifies:
        estimator = _estimator(model.estimator, coefficients, np.zeros(len(coefficients)))
        estimator.classes_ = _classes(features.classes, model.labels)
    else:
        constant = np.float64(features.projection.target_shift)
        estimator = _estimator(model.estimator, coefficients, constant)
    return _pipeline(RowEncoder(features, privacy.bounded, privacy.norm, model), estimator)


def _estimator(place: str, coefficients: Array, constants: Any) -> Any:
    """Return a fitted linear estimator of scikit-learn, by the name of its module and class."""
    module, _, name = place.rpartition(".")
    estimator = getattr(import_module(module), name)(fit_intercept=False)
    estimator.coef_, estimator.intercept_ = coefficients, constants
    estimator.n_features_in_ = coefficients.shape[-1]
    return estimator


def _pipeline(encode: Callable[[Any], Array], estimator: Any) -> Any:
    """Return the pipeline that encodes raw rows and then predicts."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer

    return Pipeline([("encoder", FunctionTransformer(encode)), ("model", estimator)])


def _classes(names: tuple[str, ...], labels: tuple[float, ...]) -> npt.NDArray[Any]:
    """Return what classes are called: numbers where all names are; labels where there is none."""
    classes = names if len(names) == len(labels) else labels
    try:
        return np.array(classes, dtype=float)
    except ValueError:
        return np.array(classes)
