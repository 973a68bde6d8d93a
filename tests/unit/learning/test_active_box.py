"""An optimum on the boundary of Θ: the slope there counts in f(θ) − f(θ*)."""

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import Quadratic


def test_excess_is_the_difference_of_fitness_where_the_box_is_active():
    generator = np.random.default_rng(3)
    features = [generator.standard_normal((50, 3)) for _ in range(2)]
    targets = [x @ np.array([2.0, -0.1, 0.7]) + generator.standard_normal(50) for x in features]
    objective = Quadratic.from_records(features, targets, 0.1, 0.5)
    assert not objective.interior

    def fitness(theta):
        errors = [((y - x @ theta) ** 2).sum() for x, y in zip(features, targets, strict=True)]
        return 0.05 * theta @ theta + sum(errors) / 100

    for theta in generator.uniform(-0.5, 0.5, size=(20, 3)):
        expected = fitness(theta) - fitness(objective.optimum)
        assert objective.excess(theta) == pytest.approx(expected, rel=1e-9)
        assert expected >= 0
