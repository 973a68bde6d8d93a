"""Scores of predictions, by hand, and runs whose models diverged."""

from itertools import product

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import (
    Hinge,
    Logistic,
    LogisticLoss,
    Ridge,
    Softmax,
    SoftmaxLoss,
)
from asyncdp_sim.learning.objectives.losses import SQUARED
from asyncdp_sim.measures.scores import (
    ACCURACY,
    AUC,
    BALANCED,
    LOG_LOSS,
    MAE,
    R_SQUARED,
    RMSE,
    SCORES,
    scores_of,
)
from asyncdp_sim.runs import run, write
from asyncdp_sim.runs.scored import HeldOut
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.sentences.result import result_lines
from tests.huber import HuberLoss
from tests.one_in import one_in
from tests.tables import table
from tests.unit.scenario.test_taking_part import naming

# Scores of predictions: by hand, of rows without a target, of models that diverged.

Z, Y = np.array([2.0, -1.0, 0.0, 0.5]), np.array([1.0, 1.0, -1.0, -1.0])


def test_each_by_hand():
    assert RMSE.of(Z, Y) == pytest.approx(np.sqrt((1 + 4 + 1 + 2.25) / 4))
    assert MAE.of(Z, Y) == pytest.approx((1 + 2 + 1 + 1.5) / 4)
    assert ACCURACY.of(Z, Y) == (1 + 0 + 0.5 + 0) / 4
    assert AUC.of(Z, Y) == (2 + 0) / 4
    assert BALANCED.of(Z, Y) == (1 / 2 + 0.5 / 2) / 2
    assert BALANCED.of(Z[1:], Y[1:]) == (0 + 0.5 / 2) / 2
    assert R_SQUARED.of(Z, Y) == pytest.approx(1 - (1 + 4 + 1 + 2.25) / 4)
    odds = np.exp(Z)
    assert LOG_LOSS.of(Z, Y) == pytest.approx(
        -np.mean(np.log(np.where(Y > 0, odds / (1 + odds), 1 / (1 + odds))))
    )


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
    assert scores_of(SQUARED) == scores_of(HuberLoss(1.0)) == (RMSE, MAE, R_SQUARED)
    assert scores_of(LogisticLoss()) == (ACCURACY, BALANCED, AUC, LOG_LOSS)
    assert scores_of(SoftmaxLoss(3)) == (ACCURACY, BALANCED, LOG_LOSS)
    assert scores_of(Hinge()) == (ACCURACY, BALANCED, AUC)  # a margin is no logarithm of odds


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_no_rows_and_divergence(score):
    assert np.isnan(score.of(np.zeros(0), np.zeros(0)))
    worst = 0.0 if score.more_is_better else np.inf
    worst = -np.inf if score is R_SQUARED else worst
    assert score.of(np.array([np.nan, 1.0]), np.array([1.0, -1.0])) == worst


@one_in(3, "score", SCORES, ids=lambda score: score.name)
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

STEPS = table(__file__, "ways.toml")["diverging"]
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
    declared = {"privacy": {"sensitivity": {"kind": "declared", "bound": 1.0}}}
    few = {"run": {"updates": 1}, "data": {"noise": 0.01}}
    curve = run(parse(Scenario, naming(3, few, declared, {"algorithm": server}))).learned.curve
    assert curve["relative_fitness"][-1] == np.inf
    assert np.isfinite(curve["fitness"][-1])
