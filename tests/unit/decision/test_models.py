"""Own models, adapted ones, and folds."""

from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.decision import JointModels, LinearModels, OwnRows, adapted_model
from asyncdp_sim.decision.adapted import pulled
from asyncdp_sim.decision.cross_validation import folds, latest
from asyncdp_sim.decision.predictors import OWN, fitted, least
from asyncdp_sim.decision.rows import SPREAD, probabilities
from tests.verification.decision_laws import Law, met

SIGMA = 0.02


def rows_of(classes: int, count: int = 60) -> tuple[OwnRows, LinearModels]:
    law = Law(classes=classes, noise=0.2)
    generator = np.random.default_rng(4)
    return law.rows(generator, count), law.joint(generator, 3)


@pytest.mark.parametrize("classes", [0, 2, 4])
@pytest.mark.parametrize("count", [60, 12])
def test_adaptation_ends_at_the_own_model_and_at_the_joint_one(classes, count):
    rows, joint = rows_of(classes, count)  # 12 rows of 8 columns: some directions are hardly seen
    nothing = LinearModels(np.zeros_like(joint.coefficients[:1]), rows.constant()[None])
    own = pulled(rows, SIGMA, nothing, [0.0]).scores(rows.columns)[0]
    ends = pulled(rows, SIGMA, joint, [0.0, 1e13]).scores(rows.columns)
    size = np.abs(own).max()
    np.testing.assert_allclose(ends[0], np.broadcast_to(own, ends[0].shape), atol=1e-9 * size)
    np.testing.assert_allclose(ends[1], joint.scores(rows.columns), rtol=1e-9, atol=1e-9)


def test_the_own_model_of_numbers_is_ridge_of_all_columns():
    from sklearn.linear_model import Ridge

    rows, joint = rows_of(0)
    nothing = LinearModels(np.zeros_like(joint.coefficients[:1]), rows.constant()[None])
    own = pulled(rows, SIGMA, nothing, [0.0]).scores(rows.columns)[0, 0, :, 0]
    x = (rows.columns - rows.columns.mean(axis=0)) / rows.columns.std(axis=0)
    fit = Ridge(alpha=len(rows) * SIGMA / 2, tol=1e-12).fit(x, rows.targets)
    np.testing.assert_allclose(own, fit.predict(x), rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_own_model_of_classes_is_multinomial_regression_of_all_columns(classes):
    from scipy.optimize import minimize

    rows, joint = rows_of(classes)
    path = pulled(rows, SIGMA, joint, [0.1])
    x = (rows.columns - rows.columns.mean(axis=0)) / rows.columns.std(axis=0)
    aim = joint.coefficients[0] * rows.columns.std(axis=0)
    b0 = joint.constants[0] + joint.coefficients[0] @ rows.columns.mean(axis=0)

    def fitness(v):
        w = v.reshape(classes - 1, -1)
        z = x @ w[:, :-1].T + w[:, -1]
        p = probabilities(z)[np.arange(len(x)), rows.targets.astype(int)]
        away = np.sum((w[:, :-1] - aim) ** 2) + np.sum((w[:, -1] - b0) ** 2)
        return -np.log(p).mean() + SIGMA / 2 * np.sum(w[:, :-1] ** 2) + 0.1 * away

    found = minimize(fitness, np.zeros((classes - 1) * 9), method="BFGS", options={"gtol": 1e-9})
    w = found.x.reshape(classes - 1, -1)
    np.testing.assert_allclose(
        path.scores(rows.columns)[0, 0], x @ w[:, :-1].T + w[:, -1], atol=2e-5
    )


def test_probabilities_are_spread_so_that_one_surprise_is_not_infinite():
    rows = OwnRows(np.zeros((2, 1)), np.array([0.0, 1.0]), 2, np.arange(2))
    sure = np.full((2, 1), 1e9)
    found = rows.errors(sure)
    assert found == pytest.approx([-np.log(1 - SPREAD / 2), -np.log(SPREAD / 2)])
    assert rows.errors(np.full((2, 1), np.nan)) == pytest.approx([-np.log(SPREAD / 2)] * 2)
    numbers = OwnRows(np.zeros((2, 1)), np.array([0.0, 1.0]), 0, np.arange(2))
    assert numbers.errors(np.array([[np.nan], [3.0]])).tolist() == [np.inf, 2.0]


def test_the_constant_is_the_median_or_the_smoothed_shares():
    numbers = OwnRows(np.zeros((3, 1)), np.array([0.0, 1.0, 9.0]), 0, np.arange(3))
    assert numbers.constant().tolist() == [1.0]
    classes = OwnRows(np.zeros((4, 1)), np.array([0.0, 0, 0, 1]), 3, np.arange(4))
    shares = probabilities(classes.constant()[None])[0]
    assert shares == pytest.approx([3.5 / 5.5, 1.5 / 5.5, 0.5 / 5.5])


def test_an_owner_of_one_class_or_few_rows_has_the_constant_in_every_model():
    rows, joint = rows_of(2, 60)
    one = OwnRows(rows.columns, np.zeros(60), 2, rows.persons)
    for few in (one, rows.take(np.arange(5))):
        own, [uses] = fitted(few, SIGMA, [met(rows, joint)])
        everywhere = np.broadcast_to(few.constant(), (len(OWN), 60, 1))
        np.testing.assert_array_equal(own.scores(rows.columns, boosted=True), everywhere)
        scores = uses.scores(rows.columns, joint.scores(rows.columns))
        np.testing.assert_array_equal(scores[0], np.broadcast_to(few.constant(), (3, 60, 1)))
        np.testing.assert_array_equal(scores[-1], joint.scores(rows.columns))


@pytest.mark.parametrize(
    ("classes", "margins", "factor"),
    [
        (0, False, np.nan),
        (2, False, np.nan),
        (2, True, np.nan),
        (2, True, 1e200),
        (3, False, np.nan),
    ],
)
def test_a_model_that_has_diverged_errs_the_most_and_adapted_it_is_an_own_one(
    classes, margins, factor
):
    """It has nothing to be pulled towards: zeros would be a guess, which may be better than own."""
    rows, joint = rows_of(classes)
    lost = LinearModels(joint.coefficients * factor, joint.constants)
    fair = JointModels(lost.scores(rows.columns), lost, margins=margins)
    fair = fair.calibrated(rows, np.arange(len(rows)))
    models, [uses] = fitted(rows, SIGMA, [fair])
    scores = uses.scores(rows.columns, fair.scores)
    own = models.scores(rows.columns, boosted=False)
    for adapted, linear in zip(scores[:-1], own, strict=False):
        np.testing.assert_allclose(adapted, np.broadcast_to(linear, adapted.shape), atol=1e-6)
    worst = np.log(classes / SPREAD) if classes > 0 else np.inf
    assert rows.errors(scores[-1]) == pytest.approx(worst)
    assert least(rows.errors(scores).sum(axis=-1)).max() < len(scores) - 1


@pytest.mark.parametrize("lost", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_prediction_of_classes_that_is_not_finite_has_the_worst_error(classes, lost):
    rows = OwnRows(np.zeros((3, 1)), np.arange(3.0) % classes, classes, np.arange(3))
    z = np.zeros((3, classes - 1))
    z[:, 0] = lost
    assert rows.errors(z) == pytest.approx(np.log(classes / SPREAD))


def test_rows_of_a_person_are_in_one_fold_and_folds_are_alike():
    persons = np.repeat(np.arange(20), 3)
    rows = OwnRows(np.zeros((60, 1)), np.zeros(60), 0, persons)
    found = folds(rows, 5, np.random.default_rng(0))
    assert [len(fold) for fold in found] == [12] * 5
    assert sorted(np.concatenate(found).tolist()) == list(range(60))
    whose = [set(persons[fold]) for fold in found]
    assert sum(map(len, whose)) == 20
    assert len(folds(rows.take(np.arange(6)), 5, np.random.default_rng(0))) == 2


def test_the_latest_rows_of_whole_persons_judge():
    persons = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    order = np.array([0, 9, 1, 2, 3, 4, 5, 6, 7, 8])
    rows = OwnRows(np.zeros((10, 1)), np.zeros(10), 0, persons, order)
    assert latest(rows, 0.2)[0].tolist() == [0, 1]
    assert latest(rows, 0.3)[0].tolist() == [0, 1, 8, 9]


def test_of_strengths_that_err_alike_the_largest_is_chosen():
    assert least(np.array([[2.0], [1.0], [1.0]])).tolist() == [2]
    assert least(np.array([[np.inf], [1.0], [np.nan]])).tolist() == [1]


def test_an_adapted_model_is_between_the_own_one_and_the_joint_one():
    law = Law(noise=0.0)
    generator = np.random.default_rng(5)
    rows, joint = law.rows(generator, 40), law.joint(generator, 1)
    found, strength = adapted_model(rows, met(rows, joint), SIGMA, np.random.default_rng(0))
    assert strength >= 0.1
    others = law.rows(generator, 5000)
    adapted = others.errors(found.scores(others.columns))[0].mean()
    own = fitted(rows, SIGMA)[0].scores(others.columns, boosted=False)[:1]
    assert adapted < others.errors(own)[0].mean()


def test_an_owner_of_one_class_adapts_a_worse_joint_model_to_its_constant():
    """As it is judged: its rows choose between the joint model as it is and the constant alone."""
    rows, joint = rows_of(2, 40)
    rows = replace(rows, targets=np.zeros(40))
    found, strength = adapted_model(rows, met(rows, joint), SIGMA, np.random.default_rng(0))
    assert strength == 0
    assert found.scores(rows.columns)[0].tolist() == [rows.constant().tolist()] * 40
    sure = LinearModels(0 * joint.coefficients[:1], 0 * joint.constants[:1] + 50.0)
    _, strength = adapted_model(rows, met(rows, sure), SIGMA, np.random.default_rng(0))
    assert strength == np.inf


def test_margins_become_probabilities_by_a_sigmoid_of_the_training_rows():
    rows, joint = rows_of(2, 200)
    margins = LinearModels(5 * joint.coefficients, joint.constants + 3.0)
    raw = JointModels(margins.scores(rows.columns), margins, margins=True)
    fair = raw.calibrated(rows, np.arange(200))
    np.testing.assert_allclose(fair.linear.scores(rows.columns), fair.scores, rtol=1e-8, atol=1e-8)
    before = rows.errors(raw.scores).mean()
    assert rows.errors(fair.scores).mean() < before
