"""A network with one hidden layer: its layout, bounds and optimum, and its runs from a file."""

import math
from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.learning.longest_gradients import largest
from asyncdp_sim.learning.objectives import MLP, LinearRecords, Squared
from asyncdp_sim.learning.objectives import constants as constants_of
from asyncdp_sim.learning.objectives.losses import LogisticLoss
from asyncdp_sim.learning.objectives.mlp import Perceptron, PerceptronObjective, PerceptronRecords
from asyncdp_sim.learning.objectives.models import LinearObjective
from asyncdp_sim.privacy import Domain
from asyncdp_sim.runs.directory import manifest
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import load
from tests.one_in import one_in
from tests.together import together
from tests.unit.learning.problems import name, records, slope_of

# A network with one hidden layer: its layout, and the bounds of its outputs and gradients.

LOSSES = [Squared(), LogisticLoss()]
SIZES, D, H = (40, 1, 9), 3, 4
NET = Perceptron(D, H)


def data(loss, sizes=SIZES, d=D, seed=1):
    x, y = records(seed, sizes, d)
    if loss.classifies:
        y = [np.where(t < 0, -1.0, 1.0) for t in y]
    return [np.asfortranarray(np.column_stack([a, np.ones(len(a))])) for a in x], y


def models(count, net=NET, seed=2, size=0.7):
    return np.random.default_rng(seed).normal(size=(count, net.numbers)) * size


def objective(loss, theta_max=None, sigma=0.05, sizes=SIZES, hidden=H, d=D):
    x, y = data(loss, sizes, d)
    return PerceptronObjective(
        PerceptronRecords(Perceptron(d, hidden), x, y, loss), sigma, theta_max
    )


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
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_no_gradient_over_a_box_exceeds_its_bound(loss, theta_max, norm):
    """At random and at saturated models of the box; and the bound is within a factor of three."""
    x, y = data(loss, (60,))
    found = PerceptronRecords(NET, x, y, loss, None, norm)
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
@one_in(2, "loss", LOSSES, ids=name)
def test_no_feasible_direction_descends_from_the_optimum(loss, theta_max):
    here = objective(loss, theta_max)
    best, bound = here.optimum, np.inf if theta_max is None else theta_max
    assert np.abs(best).max() <= bound
    left = np.clip(best - slope_of(here, best), -bound, bound) - best
    assert np.abs(left).max() <= 1e-5 * float(here.fitness(np.zeros(NET.numbers)))
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
    records = PerceptronRecords(here.rows.net, [rows], [y], Squared())
    here = PerceptronObjective(records, 1e-4, None)
    assert here.least < LinearObjective(LinearRecords([rows], [y]), 1e-4, None).least / 10


@one_in(2, "loss", LOSSES, ids=name)
def test_units_of_features_and_targets_do_no_harm(loss):
    x, y = data(loss, (60,))
    scale = np.array([1e-3, 1.0, 1e4, 1.0])
    told = PerceptronObjective(PerceptronRecords(NET, [x[0] * scale], y, loss), 1e-8, None)
    here = PerceptronObjective(PerceptronRecords(NET, x, y, loss), 1e-3, None)
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
    found = constants_of(
        here, PerceptronRecords(NET, here.rows.features, here.rows.targets, Squared())
    )
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
    for judge, x, y in zip(judges, rows, targets, strict=True):
        z = np.tanh(x @ units[:, :3].T + units[:, 3]) @ outer + theta[25]
        assert judge.mean_loss(theta[None])[0] == pytest.approx(np.mean((y - z) ** 2))
    assert outcome.problem.alone is not None
    assert outcome.problem.alone.shape == (4, 26)
    assert np.isfinite(outcome.summary["held_out_final"]["mean"])
