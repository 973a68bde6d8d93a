"""θ* of a network with one hidden layer: a local minimum, the best of several, always the same."""

import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.learning.objectives import LinearObjective, LogisticLoss, Squared
from asyncdp_sim.learning.objectives import constants as constants_of
from asyncdp_sim.learning.objectives.mlp import PerceptronRecords
from tests.one_in import one_in
from tests.unit.learning.problems import name, slope_of
from tests.unit.learning.test_perceptron import LOSSES, NET, data, models, objective

BOXES = [None, 100.0, 0.4]


@pytest.mark.parametrize("theta_max", BOXES)
@one_in(2, "loss", LOSSES, ids=name)
def test_no_feasible_direction_descends_from_the_optimum(loss, theta_max):
    here = objective(loss, theta_max)
    best, bound = here.optimum, np.inf if theta_max is None else theta_max
    assert np.abs(best).max() <= bound
    left = np.clip(best - slope_of(here, best), -bound, bound) - best
    zero = float(here.fitness(np.zeros(NET.numbers)))
    assert np.abs(left).max() <= 1e-5 * zero
    assert (np.abs(best).max() == bound) == (theta_max == 0.4)
    around = best + np.random.default_rng(1).normal(size=(200, NET.numbers)) * 1e-3
    assert np.all(here.excess(np.clip(around, -bound, bound)) > 0)


@one_in(2, "loss", LOSSES, ids=name)
def test_the_optimum_is_the_same_every_time_and_beats_other_descents(loss):
    from scipy.optimize import minimize

    here, again = objective(loss), objective(loss)
    assert np.array_equal(here.optimum, again.optimum)
    found = [
        minimize(here.fitness, v, jac=lambda t: slope_of(here, t), method="CG").fun
        for v in models(4, seed=9)
    ]
    assert here.least <= min(found) * (1 + 1e-6)
    assert here.least < min(found) * 1.5  # and is no other objective's


def test_excess_is_a_plain_difference_and_may_be_negative(monkeypatch):
    here = objective(Squared())
    points = models(6).reshape(2, 3, -1)
    assert np.array_equal(here.excess(points), here.fitness(points) - here.least)
    assert float(here.excess(here.optimum)) == 0
    monkeypatch.setitem(here.__dict__, "optimum", models(1)[0])
    monkeypatch.setitem(here.__dict__, "least", float(here.fitness(models(1)[0])))
    assert float(here.excess(objective(Squared()).optimum)) < 0


def test_a_network_beats_the_linear_model_where_the_truth_bends():
    """Targets sin(2x) of one feature: a line is no use, three units are."""
    x = np.linspace(-2, 2, 60)[:, None]
    y = np.sin(2 * x[:, 0])
    rows = np.asfortranarray(np.column_stack([x, np.ones(60)]))
    here = objective(Squared(), sigma=1e-4, hidden=3, d=1)
    here = type(here)(here.net, [rows], [y], Squared(), 1e-4, None)
    line = LinearObjective([rows], [y], Squared(), 1e-4, None)
    assert here.least < line.least / 10


@one_in(2, "loss", LOSSES, ids=name)
def test_units_of_features_and_targets_do_no_harm(loss):
    x, y = data(loss, (60,))
    scale = np.array([1e-3, 1.0, 1e4, 1.0])
    told = type(objective(loss))(NET, [x[0] * scale], y, loss, 1e-8, None)
    here = type(told)(NET, x, y, loss, 1e-3, None)
    assert told.least < here.least  # with next to no regulariser, and found to the same accuracy


def test_an_optimum_that_is_not_found_is_refused(monkeypatch):
    monkeypatch.setattr("asyncdp_sim.learning.objectives.mlp._EVALUATIONS", 1)
    monkeypatch.setattr("asyncdp_sim.learning.objectives.mlp._TRIAL", 3)
    with pytest.raises(DataError) as caught:
        objective(LogisticLoss(), sigma=1e-3).least  # noqa: B018
    assert "model.regularisation: given σ = 0.001, with which θ* is found to" in str(caught.value)


@pytest.mark.parametrize("theta_max", [None, 0.8])
def test_the_constants_claim_no_smoothness_and_no_bound_without_a_box(theta_max):
    here = objective(Squared(), theta_max)
    found = constants_of(here, PerceptronRecords(NET, here.features, here.targets, Squared()))
    assert found.sigma == 0.05
    assert found.smoothness is None
    assert (found.xi is None) == (found.xi_g is None) == (theta_max is None)
