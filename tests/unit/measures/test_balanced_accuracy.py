"""Balanced accuracy of any number of classes, beside scikit-learn's."""

import numpy as np
import pytest

from asyncdp_sim.measures.scores import BALANCED

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
