"""A run's model as a fitted scikit-learn pipeline; scikit-learn is imported late."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, InputError, SpecError
from asyncdp_sim.data.tables.encoded_columns import TableEncoder
from asyncdp_sim.learning.objectives.models import ModelKind
from asyncdp_sim.learning.objectives.rows import Norm
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
            given = f"an array of shape {values.shape}"
            columns = ", ".join(map(str, names))
            rule = f"allowed is a DataFrame, or rows of {len(names)} columns: {columns}"
            raise SpecError([Fault("X", given, rule)])
        return pd.DataFrame(values, columns=names)


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
        If scikit-learn is not installed, has no such model, or the data are no table.
    """
    model, privacy = scenario.model, scenario.privacy
    if model.estimator is None:
        rule = "allowed is ridge, logistic, svm or softmax"
        raise SpecError([Fault("model.kind", repr(model.kind), rule)])
    features = scenario.read_data.encoder()
    try:
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import FunctionTransformer
    except ModuleNotFoundError:
        fault = Fault("", "no scikit-learn", "install it: pip install scikit-learn")
        raise InputError([fault]) from None
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
