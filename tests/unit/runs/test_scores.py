"""Scores of predictions by hand, held-out rows, and owners alone."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.learning.objectives import LinearRecords, Logistic, Ridge, Softmax
from asyncdp_sim.learning.objectives.losses import SQUARED, Hinge, LogisticLoss, unsolved
from asyncdp_sim.learning.objectives.softmax import SoftmaxLoss
from asyncdp_sim.measures import scores
from asyncdp_sim.measures.scores import ACCURACY, AUC, BALANCED, LOG_LOSS, MAE, R_SQUARED, RMSE
from asyncdp_sim.results import read_manifest, read_table
from asyncdp_sim.runs.outcome import learn_alone
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.runs.run import reproduce, run, write
from asyncdp_sim.runs.scored import HeldOut
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.sentences.result import result_lines
from tests.huber import HuberLoss
from tests.one_in import one_in
from tests.reproducibility.runs import scenario, tables, written
from tests.tables import table
from tests.unit.scenario.test_taking_part import naming

# Scores of predictions: by hand, of rows without a target, of models that diverged.

Z, Y = np.array([2.0, -1.0, 0.0, 0.5]), np.array([1.0, 1.0, -1.0, -1.0])


def test_each_by_hand():
    odds = np.exp(Z)
    likely = np.where(Y > 0, odds / (1 + odds), 1 / (1 + odds))
    assert LOG_LOSS.of(Z, Y) == pytest.approx(-np.mean(np.log(likely)))
    assert RMSE.of(Z, Y) == pytest.approx(np.sqrt((1 + 4 + 1 + 2.25) / 4))
    assert MAE.of(Z, Y) == pytest.approx((1 + 2 + 1 + 1.5) / 4)
    assert ACCURACY.of(Z, Y) == (1 + 0 + 0.5 + 0) / 4
    assert AUC.of(Z, Y) == (2 + 0) / 4
    assert BALANCED.of(Z, Y) == (1 / 2 + 0.5 / 2) / 2
    assert BALANCED.of(Z[1:], Y[1:]) == (0 + 0.5 / 2) / 2
    assert R_SQUARED.of(Z, Y) == pytest.approx(1 - (1 + 4 + 1 + 2.25) / 4)
    assert np.isnan(R_SQUARED.of(Z[:3], np.full(3, 0.1)))  # whose mean is not 0.1


def test_auc_counts_pairs():
    generator = np.random.default_rng(3)
    z, y = generator.integers(0, 6, 60).astype(float), generator.choice([-1.0, 1.0], 60)
    pairs = [(a > b) + (a == b) / 2 for a, b in product(z[y > 0], z[y < 0])]
    assert AUC.of(z, y) == pytest.approx(np.mean(pairs))
    assert np.isnan(AUC.of(z, np.ones(60)))


def test_each_by_hand_of_three_classes():
    """Scores of the first two, the third's being 0; the last row ties the first and the third."""
    z = np.array([[[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0], [0.0, -1.0]]])
    y = np.array([1.0, 1.0, 3.0, 3.0])
    assert ACCURACY.of(z, y) == [(1 + 0 + 1 + 0.5) / 4]
    assert BALANCED.of(z, y[[0, 1, 2, 0]]) == [((1 + 0 + 0.5) / 3 + 1) / 2]
    e = np.exp(1)
    each = [(e + 2) / e, 2 + e**2, 1 + 1 / e + 1 / e**2, 2 + 1 / e]
    assert LOG_LOSS.of(z, y) == pytest.approx([np.mean(np.log(each))])
    z[0, 1, 1] = np.nan
    assert (ACCURACY.of(z, y), LOG_LOSS.of(z, y)) == ([0.0], [np.inf])


def test_a_guess_is_the_best_constant():
    """Its accuracy is the commonest label's share, its AUC ½, its R² 0 on the rows that decide."""
    y = np.array([1.0] * 6 + [3.0] * 3 + [2.0] * 1)
    model = Softmax(regularisation=1.0, classes=3)
    z = np.broadcast_to(model.guess(y), (1, 10, 2))
    assert ACCURACY.of(z, y) == [0.6]
    assert BALANCED.of(z, y) == pytest.approx([1 / 3])
    assert np.exp(model.guess(y)) == pytest.approx([7 / 4, 2 / 4])
    numbers = np.array([1.0, 2.0, 6.0, np.nan])
    guess = Ridge(regularisation=1.0).guess(numbers)
    assert guess == 3
    assert R_SQUARED.of(np.broadcast_to(guess, 3), numbers[:3]) == 0
    labels = np.array([1.0, -1.0, -1.0, -1.0, np.nan])
    guess = Logistic(regularisation=1.0).guess(labels)
    assert guess == pytest.approx(np.log(2 / 4))
    z = np.broadcast_to(guess, 4)
    assert (ACCURACY.of(z, labels[:4]), AUC.of(z, labels[:4])) == (0.75, 0.5)


def test_models_have_the_scores_that_mean_something():
    assert scores.scores_of(SQUARED) == scores.scores_of(HuberLoss(1.0)) == (RMSE, MAE, R_SQUARED)
    assert scores.scores_of(LogisticLoss()) == (ACCURACY, BALANCED, AUC, LOG_LOSS)
    assert scores.scores_of(SoftmaxLoss(3)) == (ACCURACY, BALANCED, LOG_LOSS)
    assert scores.scores_of(Hinge()) == (
        ACCURACY,
        BALANCED,
        AUC,
    )  # a margin is no logarithm of odds


@pytest.mark.parametrize("score", scores.SCORES, ids=lambda score: score.name)
def test_no_rows_and_divergence(score):
    assert np.isnan(score.of(np.zeros(0), np.zeros(0)))
    worst = 0.0 if score.more_is_better else np.inf
    worst = -np.inf if score is R_SQUARED else worst
    assert score.of(np.array([np.nan, 1.0]), np.array([1.0, -1.0])) == worst


@one_in(3, "score", scores.SCORES, ids=lambda score: score.name)
def test_many_models_are_scored_as_each_alone(score):
    """To the bit, one of them diverged; so are predictions of models that are judged together."""
    generator = np.random.default_rng(5)
    y, z = generator.choice([-1.0, 1.0], 300), generator.normal(size=(7, 300))
    z[3, 5] = np.nan
    assert score.of(z, y).tolist() == [float(score.of(one, y)) for one in z]
    x = np.asfortranarray(generator.normal(size=(300, 4)))
    models = generator.normal(size=(2000, 4))  # more than are held at once
    alone = np.array([score.of(x @ model, y) for model in models])
    judge = HeldOut.from_rows(x, y, LogisticLoss())
    assert judge.scored(models, (score,))[score].tobytes() == alone.tobytes()


def test_rows_without_a_target_count_in_no_score():
    """Nor in the mean loss."""
    x, y = np.array([[1.0], [2.0], [0.0]]), np.array([1.0, 1.0, 0.0])
    judge = HeldOut.from_rows(x, y, SQUARED, nothing=np.array([False, False, True]))
    model = np.array([[2.0]])
    assert judge.scored(model)[RMSE] == pytest.approx([np.sqrt((1 + 9) / 2)])
    assert judge.mean_loss(model) == pytest.approx([5.0])


# Runs whose models overflow: ψ is infinite, in every table and word, and nothing warns.

TABLE = table(__file__, "ways.toml")
STEPS, LABELS = TABLE["diverging"], TABLE["labels"]
MORE = {"run": {"updates": 60, "alone": True}, "data": {"held_out": 0.2}, "owners": {"records": 20}}


@one_in(2, "learning", ["replay", "live"])
@one_in(2, "bound", ["clip", "declared"])
@pytest.mark.parametrize("parts", STEPS.values(), ids=STEPS)
def test_a_run_that_diverges_is_told_as_such(parts, bound, learning, tmp_path):
    trusted = {"privacy": {"sensitivity": {"kind": bound, "bound": 1.0}}}
    raw = naming(3, MORE, {"run": {"learning": learning}}, trusted, parts)
    found = run(parse(Scenario, raw))
    final = found.learned.curve["relative_fitness"][-1]
    assert np.isnan(final) or final == np.inf or final > 1e30
    write(found, tmp_path / "out")
    assert any(line.startswith("ψ at the end") for line in result_lines(tmp_path / "out"))


def test_psi_overflows_before_f_does():
    """f(θ*) is below 1, so that f is finite at a model where ψ is not."""
    server = {"kind": "fedasync", "step": 1e152, "mixing": 1.0}
    few = {"run": {"updates": 1}, "data": {"noise": 0.01}, "algorithm": server}
    declared = {"privacy": {"sensitivity": {"kind": "declared", "bound": 1.0}}}
    curve = run(parse(Scenario, naming(3, few, declared))).learned.curve
    assert curve["relative_fitness"][-1] == np.inf
    assert np.isfinite(curve["fitness"][-1])


# Held-out rows and owners alone: judged one by one, in every table, and only where asked for.

ASKED = {"data__held_out": 0.2, "run__alone": True, "run__split": True}


@pytest.fixture(scope="module")
def outcome():
    return run(scenario(**ASKED))


@pytest.fixture(scope="module")
def directory(outcome, tmp_path_factory):
    place = tmp_path_factory.mktemp("honest") / "result"
    write(outcome, place)
    return place


def missed(outcome, owner, theta):
    """Return the errors of a model on an owner's held-out rows, row by row."""
    x, y = outcome.dataset.held_out_features[owner], outcome.dataset.held_out_targets[owner]
    return np.array([theta @ row - target for row, target in zip(x, y, strict=True)])


def naive(outcome, owner, theta):
    """Return the mean loss of a model on an owner's held-out rows."""
    return np.mean(missed(outcome, owner, theta) ** 2)


def test_a_triangular_factor_stands_for_the_rows():
    generator = np.random.default_rng(1)
    x, models = generator.normal(size=(50, 4)), generator.normal(size=(3, 4))
    exact = x @ models[0]
    for y in (generator.normal(size=50), exact):
        judge = HeldOut.from_rows(x, y, SQUARED)
        assert judge.features.shape == (5, 4)
        expected = [np.mean((y - x @ model) ** 2) for model in models]
        assert np.allclose(judge.mean_loss(models), expected, rtol=1e-12, atol=1e-28)
    assert HeldOut.from_rows(x[:3], exact[:3], SQUARED).features.shape == (3, 4)
    assert np.isnan(HeldOut.from_rows(x[:0], exact[:0], SQUARED).mean_loss(models)).all()


def test_errors_of_classifiers_count_a_zero_half():
    rows, labels = np.array([[1.0], [2.0], [-1.0], [0.0]]), np.array([1.0, -1, 1, 1])
    judge = HeldOut.from_rows(rows, labels, LogisticLoss())
    assert judge.error_rate(np.array([[1.0], [-1.0], [0.0]])).tolist() == [0.625, 0.375, 0.5]


def test_the_curve_holds_the_loss_on_all_held_out_rows(outcome, directory):
    curve = read_table(directory, "curve")
    measured = ["held_out_rmse", "held_out_mae", "held_out_r_squared"]
    assert list(curve.columns)[-5:] == ["fitness", "held_out_loss", *measured]
    sizes = [len(y) for y in outcome.dataset.held_out_targets]
    assert sizes == [6, 4, 5]
    for replicate, theta in enumerate(outcome.learned.models, start=1):
        last = curve[curve["replicate"] == replicate].iloc[-1]
        apart = np.concatenate([missed(outcome, owner, theta) for owner in range(3)])
        assert last["held_out_loss"] == pytest.approx(np.mean(apart**2))
        assert last["held_out_rmse"] == pytest.approx(np.sqrt(last["held_out_loss"]))
        assert last["held_out_mae"] == pytest.approx(np.abs(apart).mean())


def test_owners_hold_their_own_losses(outcome, directory):
    owners = read_table(directory, "owners").set_index(["replicate", "owner"])
    first = list(owners.columns).index("held_out_records")
    assert list(owners.columns)[first:] == TABLE["columns_of_owners"]
    objective = outcome.problem.task.objective
    for (replicate, owner), row in owners.iterrows():
        mine = owner - 1
        assert (row["records"], row["held_out_records"]) == ((24, 6), (16, 4), (20, 5))[mine]
        models = {
            "held_out_loss": outcome.learned.models[replicate - 1],
            "held_out_optimum": objective.optimum,
            "held_out_alone": outcome.problem.alone[mine],
        }
        for name, theta in models.items():
            assert row[name] == pytest.approx(naive(outcome, mine, theta)), name
            error = missed(outcome, mine, theta)
            behind = name.removeprefix("held_out").removeprefix("_loss")
            assert row[f"held_out_rmse{behind}"] == pytest.approx(np.sqrt(np.mean(error**2)))
            assert row[f"held_out_mae{behind}"] == pytest.approx(np.abs(error).mean())
        psi = objective.relative_fitness(outcome.problem.alone[mine])
        assert row["psi_alone"] == pytest.approx(float(psi))


def test_owners_alone_are_at_the_optimum_of_their_own_records(outcome, directory):
    alone = read_table(directory, "alone")
    assert list(alone.columns) == ["owner", "coordinate", "theta"]
    assert np.array_equal(alone["theta"].to_numpy().reshape(3, 3), outcome.problem.alone)
    features, targets = outcome.dataset.features, outcome.dataset.targets
    for x, y, theta in zip(features, targets, outcome.problem.alone, strict=True):
        gradient = 0.1 * theta + 2 * x.T @ (x @ theta - y) / len(y)
        free = np.abs(theta) < 2.0  # Θ's bound
        assert np.allclose(gradient[free], 0, atol=1e-9)
        assert (gradient[~free] * theta[~free] <= 0).all()


def test_an_owner_whose_optimum_is_not_found_is_named():
    class Unsolvable:
        def objective(self, features, targets):  # noqa: ARG002
            raise unsolved(1e-300, 1.0, 1e-8)

    with pytest.raises(DataError, match=r"to 1 only \(owner 1 alone\); "):
        learn_alone(Unsolvable(), LinearRecords([np.ones((2, 1))], [np.ones(2)]))


def test_nothing_is_trained_on_held_out_rows(outcome):
    """The run is that of the rows left: their number in the noise, their moments in f and θ*."""
    problem = outcome.problem
    assert problem.task.objective.records.tolist() == [24, 16, 20]
    scale = 2 * 2.0 * 30 / (np.array([24, 16, 20]) * 5.0)
    assert np.allclose(problem.task.reply.noise.scale, scale)
    x, y = np.concatenate(outcome.dataset.features), np.concatenate(outcome.dataset.targets)
    moments = x.T @ x / 60 + 0.05 * np.eye(3), x.T @ y / 60
    assert np.allclose(problem.task.objective.hessian, moments[0])
    assert np.allclose(problem.task.objective.linear, moments[1])


def test_the_summary_says_who_profits(outcome):
    figures = outcome.summary
    objective, models = outcome.problem.task.objective, outcome.learned.models
    psi = objective.relative_fitness(models).mean()
    alone = objective.relative_fitness(outcome.problem.alone)
    assert figures["profits_psi"] == np.count_nonzero(alone > psi)
    own = [naive(outcome, i, outcome.problem.alone[i]) for i in range(3)]
    rmse = [np.mean([np.sqrt(naive(outcome, i, theta)) for theta in models]) for i in range(3)]
    assert figures["profits_held_out"] == np.count_nonzero(np.sqrt(own) > rmse)
    assert figures["held_out_alone"] == pytest.approx(np.average(own, weights=[6, 4, 5]))
    errors = np.concatenate([missed(outcome, i, outcome.problem.alone[i]) for i in range(3)])
    assert figures["held_out_rmse_alone"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert figures["held_out_mae_alone"] == pytest.approx(np.abs(errors).mean())
    best = np.concatenate([missed(outcome, i, objective.optimum) for i in range(3)])
    assert figures["held_out_mae_optimum"] == pytest.approx(np.abs(best).mean())
    unseen = np.concatenate(outcome.dataset.held_out_targets)
    guess = unseen - np.concatenate(outcome.dataset.targets).mean()
    r_squared = 1 - (guess**2).mean() / unseen.var()
    assert figures["held_out_mae_guess"] == pytest.approx(np.abs(guess).mean())
    assert figures["held_out_r_squared_guess"] == pytest.approx(r_squared)


def test_it_is_reproduced(directory):
    assert reproduce(directory).summary == run(scenario(**ASKED)).summary


@pytest.mark.parametrize("changes", [ASKED, LABELS], ids=["ridge", "logistic"])
def test_held_out_rows_without_any_target_have_no_figures(changes, tmp_path):
    asked = scenario(**changes)
    made = build_dataset(asked)
    none = tuple(np.full(len(y), np.nan) for y in made.held_out_targets)
    write(run(asked, dataset=replace(made, held_out_targets=none)), tmp_path / "out")
    summary = read_manifest(tmp_path / "out")["summary"]  # which is of its shape
    figures = [value for key, value in summary.items() if key.startswith("held_out")]
    assert figures == [None] * len(figures)
    curve = read_table(tmp_path / "out", "curve").columns
    assert ("held_out_error" in curve) == (changes is LABELS)
    assert not any(line.startswith("held-out") for line in result_lines(tmp_path / "out"))


def test_where_nothing_is_asked_for_nothing_is_added(tmp_path):
    written(scenario(), tmp_path / "plain")
    assert tables(tmp_path / "plain") == written(scenario(run__split=True), tmp_path / "split")
    added = ("held_out", "alone", "profits", "psi_split")
    plain = read_manifest(tmp_path / "plain")["summary"]
    assert [key for key in plain if key.startswith(added)] == []
    split = read_manifest(tmp_path / "split")["summary"]
    assert split.pop("psi_split")["reason"] is None
    assert split == plain
    written(scenario(run__alone=True), tmp_path / "alone")
    assert list(read_table(tmp_path / "alone", "owners").columns)[-1] == "psi_alone"
