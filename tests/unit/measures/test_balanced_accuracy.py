"""Balanced accuracy of any number of classes, and AUC of two, beside scikit-learn's."""

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import SoftmaxLoss
from asyncdp_sim.measures.scores import AUC, BALANCED, scores_of

sklearn = pytest.importorskip("sklearn.metrics")


@pytest.mark.parametrize("classes", [2, 3, 5, 9])
def test_every_class_counts_alike(classes):
    """A mutant lived that counted the last three classes alone."""
    rng = np.random.default_rng(classes)
    chances = np.arange(1.0, classes + 1)
    drawn = rng.choice(classes, size=400, p=chances / chances.sum())
    guessed = np.where(rng.random(400) < 0.6, drawn, rng.integers(classes, size=400))
    if classes == 2:
        y, z = 2.0 * drawn - 1, 2.0 * guessed - 1
    else:
        y = drawn + 1.0
        z = np.eye(classes)[guessed][:, :-1] * 5 - (guessed == classes - 1)[:, None] * 5.0
    expected = sklearn.balanced_accuracy_score(drawn, guessed)
    assert BALANCED.formula(z[None], y)[0] == pytest.approx(expected)


def test_softmax_of_two_classes_has_an_auc():
    """Its score is that of the label −1, so that AUC is that of 1 by the other sign."""
    rng = np.random.default_rng(3)
    y = rng.choice([-1.0, 1.0], size=300)
    z = y + 2 * rng.normal(size=300)
    assert AUC in scores_of(SoftmaxLoss(2))
    assert AUC not in scores_of(SoftmaxLoss(3))
    expected = sklearn.roc_auc_score(y, z)
    models = np.stack([-z, z])[..., None]  # (2, m, 1)
    np.testing.assert_allclose(AUC.of(models, y), [expected, 1 - expected])
