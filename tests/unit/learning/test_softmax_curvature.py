"""The bound on softmax's curvature is above the curvature of every model, and is reached."""

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import SoftmaxLoss


@pytest.mark.parametrize("classes", [3, 4, 6])
def test_no_model_has_more(classes):
    """A mutant lived whose bound was a quarter of what it is."""
    rng = np.random.default_rng(classes)
    loss, x = SoftmaxLoss(classes), rng.normal(size=(30, 3))
    y = rng.integers(1, classes + 1, size=30).astype(float)
    most = 0.0
    for scale in (0.0, 1.0, 30.0):
        z = rng.normal(size=(30, classes - 1)) * scale
        if scale == 30.0:  # two classes share all chances
            z[:, :2], z[:, 2:] = scale, -scale
        here, bound = loss.curvatures(x, z, y)
        assert np.linalg.eigvalsh(bound - here).min() > -1e-9
        most = max(most, np.linalg.eigvalsh(here).max() / np.linalg.eigvalsh(bound).max())
    assert most == pytest.approx(1.0, abs=1e-6)
