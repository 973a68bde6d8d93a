"""A run's model as a fitted scikit-learn pipeline; scikit-learn is imported late."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data.held_out import codes_of
from asyncdp_sim.data.tables.encoded_columns import TableEncoder
from asyncdp_sim.data.tables.rows import require_column
from asyncdp_sim.learning.objectives.models import ModelKind
from asyncdp_sim.learning.objectives.records import Norm
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.scenario import Scenario


@dataclass(frozen=True, eq=False)
class RowEncoder:
    """From raw rows of a table to the rows that θ multiplies; it can be pickled.

    Attributes
    ----------
    features : TableEncoder
    domain : Sensitivity or None
        The bounded domain that rows are scaled into, if any.
    norm : str
        That of the domain's rows.
    model : ModelKind
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
    from asyncdp_sim.decision import JointModels, OwnRows, adapted_model
    from asyncdp_sim.runs.gains import class_places, joint_scores, linear_models, margins

    model = scenario.model
    joint = pipeline(scenario, theta)
    encode, estimator = joint["encoder"].func, joint["model"]
    features, target = encode.features, str(getattr(scenario.data, "target_column", ""))
    require_column(target, list(rows.columns), "rows")
    targets = _targets(rows[target], features, model)
    labelled = np.flatnonzero(~np.isnan(targets))
    person = getattr(scenario.data, "person", None)
    persons = np.arange(len(rows)) if person is None else codes_of(rows[person])
    own = OwnRows(
        features.columns(rows)[labelled],
        class_places(targets[labelled], model),
        len(model.labels),
        persons[labelled],
    )
    linear = linear_models(model, features.projection, theta[None])
    scores = joint_scores(model, encode(rows)[labelled], theta[None])
    generator = Streams(scenario.run.seed).generator("decision", "owner", owner)
    models = JointModels(scores, linear, margins=margins(model))
    fitted, strength = adapted_model(own, models, model.sigma, generator)
    sign = -1.0 if len(model.labels) == 2 else 1.0  # scikit-learn scores the second of two classes
    coefficients, constants = sign * fitted.coefficients[0], sign * fitted.constants[0]
    name = "LogisticRegression" if model.classifies else "Ridge"
    if not model.classifies:
        coefficients, constants = coefficients[0], constants[0] + features.projection.target_shift
    elif len(model.labels) > 2:
        coefficients = np.concatenate([coefficients, np.zeros_like(coefficients[:1])])
        constants = np.append(constants, 0.0)
    result = getattr(import_module("sklearn.linear_model"), name)(fit_intercept=False)
    result.coef_, result.intercept_ = coefficients, constants
    result.n_features_in_ = coefficients.shape[-1]
    result.strength_ = strength
    if model.classifies:
        result.classes_ = estimator.classes_
    encoder = type(joint["encoder"])(ColumnEncoder(features))
    return type(joint)([("encoder", encoder), ("model", result)])


def _targets(column: Any, features: TableEncoder, model: ModelKind) -> Array:
    """Return targets of raw cells as the model learns them; NaN where there is none."""
    import pandas as pd

    if not model.classifies:
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
        return np.asarray(numbers - features.projection.target_shift)
    names = _classes(features.classes, model.labels)
    label_of = dict(zip(names.tolist(), model.labels, strict=True))
    if names.dtype.kind == "f":
        values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    else:
        values = column.astype(str).str.strip().to_numpy()
    return np.array([label_of.get(value, np.nan) for value in values.tolist()])


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
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer

    home, _, name = model.estimator.rpartition(".")
    estimator = getattr(import_module(home), name)(fit_intercept=False)
    estimator.coef_ = model.coefficients(theta)
    estimator.intercept_ = np.float64(features.projection.target_shift)
    estimator.n_features_in_ = estimator.coef_.shape[-1]
    if model.classifies:
        estimator.intercept_ = np.zeros(len(estimator.coef_))
        estimator.classes_ = _classes(features.classes, model.labels)
    rows = RowEncoder(features, privacy.bounded, privacy.norm, model)
    return Pipeline([("encoder", FunctionTransformer(rows)), ("model", estimator)])


def _classes(names: tuple[str, ...], labels: tuple[float, ...]) -> npt.NDArray[Any]:
    """Return what classes are called: numbers where all names are; labels where there is none."""
    classes = names if len(names) == len(labels) else labels
    try:
        return np.array(classes, dtype=float)
    except ValueError:
        return np.array(classes)
