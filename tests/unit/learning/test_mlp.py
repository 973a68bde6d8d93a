"""``model.kind = "mlp"``, from the file to the result."""

from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.learning.objectives import MLP
from asyncdp_sim.learning.recording import largest
from asyncdp_sim.privacy import Domain
from asyncdp_sim.runs import manifest, run
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import load
from tests.one_in import one_in
from tests.tables import table

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
def test_noise_free_learning_descends(text: str, tmp_path: Path) -> None:
    """Gradients, step and θ* belong together: f falls, and ψ to a small part of its start."""
    outcome = run(scenario(tmp_path, text))
    curve = outcome.learned.curve
    assert np.all(np.diff(curve["fitness"].reshape(3, 7)[:, :4], axis=1) < 0)
    first, last = (curve["relative_fitness"][curve["k"] == k] for k in (0, 600))
    assert np.all((last >= 0) & (last < 0.1 * first))
    assert outcome.learned.models.shape == (3, 5 * (3 + 2) + 1)
    constants = manifest(outcome)["constants"]
    assert constants["smoothness"] is constants["xi"] is constants["xi_g"] is None


@pytest.mark.parametrize("case", table(__file__, "net_refused.toml")["refused"])
def test_what_is_wrong_is_said_in_a_line(case: dict[str, str], tmp_path: Path) -> None:
    """Units that start alike, too."""
    with pytest.raises(SpecError) as caught:
        scenario(tmp_path, FILE.replace(case["old"], case["new"]))
    assert caught.value.lines() == [f"{tmp_path / 'net.toml'}: {case['line']}"]


def test_units_that_start_alike_would_stay_alike(tmp_path: Path) -> None:
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
def test_the_bound_of_a_domain_holds_over_the_box_and_at_the_start(
    loss: str, theta_max: float, norm: str
) -> None:
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


def test_predictions_are_what_the_objective_judges(tmp_path: Path) -> None:
    here = scenario(tmp_path)
    problem = prepare(here, build_dataset(here))
    theta = np.random.default_rng(1).normal(size=26)
    pairs = zip(problem.records.features, problem.records.targets, strict=True)
    each = [here.model.phi.value(here.model.predictions(x, theta), y) for x, y in pairs]
    told = 0.01 / 2 * theta @ theta + np.concatenate(each).mean()
    assert float(problem.task.objective.fitness(theta)) == pytest.approx(told, rel=1e-13)


@pytest.mark.long
def test_held_out_rows_are_judged_by_the_networks_predictions(tmp_path: Path) -> None:
    """Also each owner's own optimum, as for any other model."""
    asked = FILE.replace("features = 3", "features = 3\nheld_out = 0.25").replace(
        "updates = 600", "updates = 40\nalone = true"
    )
    outcome = run(scenario(tmp_path, asked))
    rows, targets = outcome.dataset.held_out_features, outcome.dataset.held_out_targets
    judges, theta = outcome.problem.held_out, outcome.learned.models[0]
    units, outer = theta[:20].reshape(5, 4), theta[20:25]
    for judge, x, y in zip(judges, rows, targets, strict=True):
        z = np.tanh(x @ units[:, :3].T + units[:, 3]) @ outer + theta[25]
        assert judge.mean_loss(theta[None])[0] == pytest.approx(np.mean((y - z) ** 2))
    assert outcome.alone is not None
    assert outcome.alone.shape == (4, 26)
    assert np.isfinite(outcome.summary["held_out_final"]["mean"])
