"""Multinomial logistic regression and a network with one hidden layer: bounds, optima, runs."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.learning.objectives import MLP, LinearRecords, Logistic, Softmax, Squared
from asyncdp_sim.learning.objectives import constants as constants_of
from asyncdp_sim.learning.objectives.losses import LogisticLoss
from asyncdp_sim.learning.objectives.mlp import Perceptron, PerceptronObjective, PerceptronRecords
from asyncdp_sim.learning.objectives.models import LinearObjective
from asyncdp_sim.learning.objectives.records import largest
from asyncdp_sim.learning.objectives.softmax import SoftmaxLoss
from asyncdp_sim.privacy import Domain
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import manifest, run
from asyncdp_sim.scenario import load
from tests.one_in import one_in
from tests.together import together
from tests.unit.learning.problems import slope_of
from tests.unit.learning.test_record_gradients import CASES, NET, ORDER, D, data, judge, models
from tests.unit.learning.test_record_gradients import HIDDEN as H

SOFTMAX = [case for name, case in CASES.items() if "classes" in name]
CLASSES = pytest.mark.parametrize("case", SOFTMAX, ids=lambda case: f"{case.loss.classes} classes")
NETS = [case for name, case in CASES.items() if "perceptron" in name]


def objective(case, theta_max=None, sigma=0.05, sizes=(40, 1, 9)):
    return judge(case, *data(case, sizes), sigma, theta_max)


# Multinomial logistic regression: its optimum, its bounds, and labels that are none.

OPTIMUM = pytest.mark.oracle("optimum of multinomial logistic regression")


@pytest.mark.oracle("largest gradient over a domain")
@pytest.mark.parametrize("norm", ["l1", "l2"])
@CLASSES
def test_the_bound_of_a_domain_is_never_exceeded_and_is_all_but_reached(case, norm):
    rng, classes = np.random.default_rng(4), case.loss.classes
    x, y = data(case, (500,))
    row_norm = float(np.linalg.norm(x[0], ord=ORDER[norm], axis=1).max())
    bound = Softmax(regularisation=1.0, classes=classes).gradient_bound(row_norm, 1.0, D, norm)
    here = case.made(case.loss, x, y, None, norm)
    assert here.gradient_bound(None) == pytest.approx(bound)
    worst = largest(here, 0, rng.normal(size=(400, case.size)) * 30)
    assert 0.9 * bound < worst <= bound


@OPTIMUM
@pytest.mark.parametrize("theta_max", [None, 0.3, 0.05])
@CLASSES
def test_the_optimum_agrees_with_another_solver(case, theta_max):
    """Whose own slope is checked: no coordinate leads downwards within the box."""
    here, count = objective(case, theta_max, sizes=(60, 30)), case.size
    x, y = np.concatenate(here.rows.features), np.concatenate(here.rows.targets)

    def fitness(theta):
        total = np.zeros(count)
        value = 0.0
        for row, target in zip(x, y, strict=True):
            one, slope = case.spelled(row, target, theta)
            value, total = value + one, total + slope
        return 0.05 / 2 * theta @ theta + value / len(y), 0.05 * theta + total / len(y)

    box = None if theta_max is None else [(-theta_max, theta_max)] * count
    aims = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}
    found = minimize(
        fitness, np.zeros(count), jac=True, bounds=box, method="L-BFGS-B", options=aims
    )
    left = found.x - fitness(found.x)[1]
    bound = np.inf if theta_max is None else theta_max
    assert np.abs(np.clip(left, -bound, bound) - found.x).max() < 1e-5
    assert np.allclose(here.optimum, found.x, atol=1e-4)
    assert float(here.fitness(here.optimum)) <= found.fun * (1 + 1e-12)


@CLASSES
def test_excess_is_the_difference_of_fitness_and_keeps_its_digits_near_the_optimum(case):
    here = objective(case)
    for theta in models(case, 4) * 4:
        told = float(here.fitness(theta) - here.least)
        assert float(here.excess(theta)) == pytest.approx(told, rel=1e-9)
    away = models(case, 1)[0]
    near = [float(here.excess(here.optimum + 10.0**-k * away)) * 10.0 ** (2 * k) for k in (3, 5, 7)]
    assert np.allclose(near, near[-1], rtol=1e-2)
    assert float(here.excess(here.optimum + 1e3 * away)) > 0
    several = np.stack([here.optimum + size * away for size in (1e-5, 1.0, 1e3)])
    assert here.excess(several).tolist() == [float(here.excess(each)) for each in several]


@OPTIMUM
@pytest.mark.parametrize("clip", [None, 0.4])
def test_two_classes_are_logistic_regression_of_the_first(clip):
    """θ is that of the first class: logistic regression's is its opposite."""
    case = CASES["2 classes"]
    x, y = data(case)
    two, one = Softmax(regularisation=0.1, classes=2), Logistic(regularisation=0.1)
    assert np.allclose(two.objective(x, y).optimum, -one.objective(x, y).optimum, rtol=1e-7)
    assert isinstance(one.objective(x, y), LinearObjective)
    assert isinstance(one.phi, LogisticLoss)
    points, owners = models(case, 3), np.array([0, 1, 2])
    found = two.records(x, y, clip, "l1").gradient(owners, points)
    assert np.allclose(found, -one.records(x, y, clip, "l1").gradient(owners, -points), rtol=1e-12)
    assert two.gradient_bound(3.0, 1.0, D, "l1") == one.gradient_bound(3.0, 1.0, D, "l1")


def test_the_optimum_of_records_of_one_class_is_found():
    """Scores are far apart there and losses small: a difference of scores has lost their digits."""
    x = np.random.default_rng(1).normal(size=(40, 6, D))
    for rows in x:
        here = Softmax(regularisation=1e-3, classes=3).objective([rows], [np.ones(6)])
        assert here.rows.loss.value(np.array([[40.0, 1.0]]), np.ones(1))[0] == pytest.approx(
            np.log1p(np.exp(-39.0) + np.exp(-40.0)), rel=1e-12, abs=0
        )
        assert np.isfinite(here.optimum).all()


@pytest.mark.parametrize("seed", [3, 13, 26, 55])
def test_the_optimum_of_few_records_of_large_numbers_is_found(seed):
    """Classes are all but certain there, so that p_y − 1 has few digits."""
    rng = np.random.default_rng(seed)
    x = [np.column_stack([rng.normal(5e5, 2e5, 3), rng.normal(40, 10, 3), np.ones(3)])]
    two, three = [np.array([-1.0, 1.0, -1.0])], [np.array([1.0, 2.0, 3.0])]
    least = Logistic(regularisation=1e-3).objective(x, two).least
    found = Softmax(regularisation=1e-3, classes=2).objective(x, two).least
    assert found == pytest.approx(least, rel=1e-9)
    fit = Softmax(regularisation=1e-3, classes=3).objective(x, three)
    assert (fit.excess(fit.optimum * np.array([[0.999], [1.001]])) > 0).all()


def test_a_record_without_a_label_contributes_nothing():
    loss = SoftmaxLoss(3)
    z, y = np.random.default_rng(1).normal(size=(4, 2)), np.array([0.0, 1.0, 2.0, 3.0])
    assert loss.value(z, y)[0] == 0
    assert (loss.slope(z, y)[0] == 0).all()
    assert (loss.value(z, y)[1:] > 0).all()
    assert (np.abs(loss.slope(z, y)[1:]).sum(axis=1) > 0).all()


# The bound on softmax's curvature is above the curvature of every model, and is reached.


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


# A network with one hidden layer: its layout, and the bounds of its outputs and gradients.


def test_the_layout_by_hand():
    """H = 1, d = 2: z = w tanh(w₁x₁ + w₂x₂ + b) + c."""
    net, theta = Perceptron(2, 1), np.array([0.5, -1.0, 0.25, 3.0, -2.0])
    x = np.array([[2.0, 0.25, 1.0]])
    assert net.numbers == 5
    found = net.outputs(x, theta, net.active(x, theta))
    assert found == pytest.approx([3 * math.tanh(1.0) - 2])
    assert Perceptron(10, 8).numbers == 10 * 8 + 8 + 8 + 1


@together
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("theta_max", [0.2, 1.5, 6.0])
@pytest.mark.parametrize("case", NETS)
def test_no_gradient_over_a_box_exceeds_its_bound(case, theta_max, norm):
    """At random and at saturated models of the box; and the bound is within a factor of three."""
    found = case.made(case.loss, *data(case, (60,)), None, norm)
    bound, rng = found.gradient_bound(theta_max), np.random.default_rng(5)
    thetas = rng.uniform(-1, 1, size=(2000, NET.numbers)) * theta_max
    thetas[::2] = np.sign(thetas[::2]) * theta_max
    thetas[1::2, -1] = theta_max * np.sign(thetas[1::2, -1])
    thetas[1::2, -1 - H : -1] = theta_max * np.sign(thetas[1::2, -1 - H : -1])
    thetas[1::4, : -1 - H] *= np.random.default_rng(6).uniform(0, 0.3, (500, 1))
    worst = largest(found, 0, thetas)
    assert bound / 3 < worst <= bound
    assert found.gradient_bound(None) is None


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_bound_of_an_outputs_slope_is_reached_by_one_unit(norm):
    """‖∂z/∂θ‖ over all a ∈ [−1, 1] and |w₂| ≤ θ_max, by a fine grid."""
    a = np.linspace(0, 1, 20001)
    for c in (0.1, 0.5, 0.8, 3.0):
        inner = c * (1 - a * a)
        told = 1 + a + inner if norm == "l1" else np.sqrt(1 + a * a + inner * inner)
        assert float(Perceptron(1, 1).longest(c, 1.0, norm)) == pytest.approx(told.max(), rel=1e-6)


def test_the_reach_of_outputs_is_that_of_saturated_units():
    """All parameters at θ_max = 6 and all features at 1: z = 6(H tanh 24 + 1)."""
    theta, x = np.full(NET.numbers, 6.0), np.ones((1, D + 1))
    assert NET.outputs(x, theta, NET.active(x, theta)) == pytest.approx([NET.reach(6.0)], rel=1e-12)


# θ* of a network with one hidden layer: a local minimum, the best of several, always the same.

BOXES = [None, 100.0, 0.4]


@pytest.mark.parametrize("theta_max", BOXES)
@one_in(2, "case", NETS)
def test_no_feasible_direction_descends_from_the_optimum(case, theta_max):
    here = objective(case, theta_max)
    best, bound = here.optimum, np.inf if theta_max is None else theta_max
    assert np.abs(best).max() <= bound
    left = np.clip(best - slope_of(here, best), -bound, bound) - best
    assert np.abs(left).max() <= 1e-5 * float(here.fitness(np.zeros(NET.numbers)))
    assert (np.abs(best).max() == bound) == (theta_max == 0.4)
    around = best + np.random.default_rng(1).normal(size=(200, NET.numbers)) * 1e-3
    assert np.all(here.excess(np.clip(around, -bound, bound)) > 0)


@one_in(2, "case", NETS)
def test_the_optimum_is_the_same_every_time_and_beats_other_descents(case):
    here, again = objective(case), objective(case)
    assert np.array_equal(here.optimum, again.optimum)
    found = [
        minimize(here.fitness, v, jac=lambda t: slope_of(here, t), method="CG").fun
        for v in models(case, 4, seed=9)
    ]
    assert here.least <= min(found) * (1 + 1e-6)
    assert here.least < min(found) * 1.5  # and is no other objective's


def test_excess_is_a_plain_difference_and_may_be_negative(monkeypatch):
    case = NETS[0]
    here, points = objective(case), models(case, 6).reshape(2, 3, -1)
    assert np.array_equal(here.excess(points), here.fitness(points) - here.least)
    assert float(here.excess(here.optimum)) == 0
    worse = points[0, 0]
    monkeypatch.setitem(here.__dict__, "optimum", worse)
    monkeypatch.setitem(here.__dict__, "least", float(here.fitness(worse)))
    assert float(here.excess(objective(case).optimum)) < 0


def test_a_network_beats_the_linear_model_where_the_truth_bends():
    """Targets sin(2x) of one feature: a line is no use, three units are."""
    x = np.linspace(-2, 2, 60)[:, None]
    y = np.sin(2 * x[:, 0])
    rows = np.asfortranarray(np.column_stack([x, np.ones(60)]))
    records = PerceptronRecords(Perceptron(1, 3), [rows], [y], Squared())
    here = PerceptronObjective(records, 1e-4, None)
    assert here.least < LinearObjective(LinearRecords([rows], [y]), 1e-4, None).least / 10


@one_in(2, "case", NETS)
def test_units_of_features_and_targets_do_no_harm(case):
    x, y = data(case, (60,))
    scaled = judge(case, [x[0] * np.array([1e-3, 1.0, 1e4, 1.0])], y, 1e-8)
    # with next to no regulariser, and found to the same accuracy
    assert scaled.least < judge(case, x, y, 1e-3).least


def test_an_optimum_that_is_not_found_is_refused(monkeypatch):
    monkeypatch.setattr("asyncdp_sim.learning.objectives.mlp._EVALUATIONS", 1)
    monkeypatch.setattr("asyncdp_sim.learning.objectives.mlp._TRIAL", 3)
    with pytest.raises(DataError) as caught:
        objective(NETS[1], sigma=1e-3).least  # noqa: B018
    assert "model.regularisation: given σ = 0.001, with which θ* is found to" in str(caught.value)


@pytest.mark.parametrize("theta_max", [None, 0.8])
def test_the_constants_claim_no_smoothness_and_no_bound_without_a_box(theta_max):
    here = objective(NETS[0], theta_max)
    found = constants_of(here, here.rows)
    assert found.sigma == 0.05
    assert found.smoothness is None
    assert (found.xi is None) == (found.xi_g is None) == (theta_max is None)


# ``model.kind = "mlp"``, from the file to the result.

FILE = Path(__file__).with_name("net.toml").read_text("utf-8")
LABELS = (
    FILE.replace("features = 3", "features = 3\nlabels = true")
    .replace("hidden = 5", 'hidden = 5\nloss = "logistic"')
    .replace("rho = 180.0", "rho = 900.0")
)


def scenario(folder: Path, text: str = FILE):
    file = folder / "net.toml"
    file.write_text(text, encoding="utf-8")
    return load(file)[0]


@one_in(2, "text", [FILE, LABELS], ids=["squared", "logistic"])
def test_noise_free_learning_descends(text, tmp_path):
    """Gradients, step and θ* belong together: f falls, and ψ to a small part of its start."""
    outcome = run(scenario(tmp_path, text))
    curve = outcome.learned.curve
    assert np.all(np.diff(curve["fitness"].reshape(3, 7)[:, :4], axis=1) < 0)
    first, last = (curve["relative_fitness"][curve["k"] == k] for k in (0, 600))
    assert np.all((last >= 0) & (last < 0.1 * first))
    assert outcome.learned.models.shape == (3, 5 * (3 + 2) + 1)
    constants = manifest(outcome)["constants"]
    assert constants["smoothness"] is constants["xi"] is constants["xi_g"] is None


def test_units_that_start_alike_would_stay_alike(tmp_path):
    """What the refusal spares: from ones, all units have one gradient; from zeros, none moves."""
    here = scenario(tmp_path)
    objective = prepare(here, build_dataset(here)).task.objective
    for start, still in ((0.0, True), (1.0, False)):
        found = objective.gradient(np.array([0]), np.full((1, 26), start))[0]
        units = found[:20].reshape(5, 4)
        # to rounding: a matrix product may sum its columns in different orders
        np.testing.assert_allclose(units, np.tile(units[0], (5, 1)), rtol=1e-13)
        assert (np.abs(found[:25]).max() == 0) == still


@pytest.mark.parametrize("norm", ["l1", "l2-as-published"])
@pytest.mark.parametrize("theta_max", [0.3, 2.0])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_bound_of_a_domain_holds_over_the_box_and_at_the_start(loss, theta_max, norm):
    """Also where the start in [0, 1) lies outside Θ."""
    rng = np.random.default_rng(7)
    model = MLP(hidden=4, loss=loss, regularisation=1.0, theta_max=theta_max)
    domain = Domain(row_norm=1.5, target_max=2.0, norm=norm)
    x = rng.normal(size=(200, 3)) * 3
    y = np.where(rng.normal(size=200) < 0, -1.0, 1.0) * (2 if loss == "squared" else 1)
    [x], [y] = domain.confine([x], [y])
    boxed = rng.uniform(-theta_max, theta_max, (500, 21))
    boxed[::2] = np.sign(boxed[::2]) * theta_max
    records = model.records(model.design([x]), [y], None, "l1" if norm == "l1" else "l2")
    met = largest(records, 0, np.concatenate([boxed, rng.random((500, 21))]))
    bound = domain.xi(model, 3)
    assert bound / 5 < met <= bound


def test_predictions_are_what_the_objective_judges(tmp_path):
    here = scenario(tmp_path)
    problem = prepare(here, build_dataset(here))
    theta = np.random.default_rng(1).normal(size=26)
    pairs = zip(problem.records.features, problem.records.targets, strict=True)
    each = [here.model.phi.value(here.model.predictions(x, theta), y) for x, y in pairs]
    told = 0.01 / 2 * theta @ theta + np.concatenate(each).mean()
    assert float(problem.task.objective.fitness(theta)) == pytest.approx(told, rel=1e-13)


@pytest.mark.long
def test_held_out_rows_are_judged_by_the_networks_predictions(tmp_path):
    """Also each owner's own optimum, as for any other model."""
    asked = FILE.replace("features = 3", "features = 3\nheld_out = 0.25").replace(
        "updates = 600", "updates = 40\nalone = true"
    )
    outcome = run(scenario(tmp_path, asked))
    rows, targets = outcome.dataset.held_out_features, outcome.dataset.held_out_targets
    judges, theta = outcome.problem.posed.held_out, outcome.learned.models[0]
    units, outer = theta[:20].reshape(5, 4), theta[20:25]
    for of_owner, x, y in zip(judges, rows, targets, strict=True):
        z = np.tanh(x @ units[:, :3].T + units[:, 3]) @ outer + theta[25]
        assert of_owner.mean_loss(theta[None])[0] == pytest.approx(np.mean((y - z) ** 2))
    assert outcome.problem.alone is not None
    assert outcome.problem.alone.shape == (4, 26)
    assert np.isfinite(outcome.summary["held_out_final"]["mean"])
