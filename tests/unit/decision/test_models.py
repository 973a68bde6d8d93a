"""Own models and adapted ones, and how they are judged: by folds, and on fresh rows."""

from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.decision import CrossValidation, JointModels, LinearModels, OwnRows, adapted_model
from asyncdp_sim.decision.adapted import pulled
from asyncdp_sim.decision.cross_validation import folds, latest
from asyncdp_sim.decision.gain import of_rows
from asyncdp_sim.decision.predictors import OWN, fitted, least
from asyncdp_sim.decision.rows import SPREAD, probabilities
from tests.verification.decision_laws import Law, judge_by_cross_validation, judge_fresh, met

SIGMA = 0.02


def rows_of(classes, count=60):
    law = Law(classes=classes, noise=0.2)
    generator = np.random.default_rng(4)
    return law.rows(generator, count), law.joint(generator, 3)


def alone(rows, joint):
    """Return the scores of a model that is pulled towards nothing."""
    nothing = LinearModels(np.zeros_like(joint.coefficients[:1]), rows.constant()[None])
    return pulled(rows, SIGMA, nothing, [0.0]).scores(rows.columns)[0]


def scaled(rows):
    return (rows.columns - rows.columns.mean(axis=0)) / rows.columns.std(axis=0)


@pytest.mark.parametrize("classes", [0, 2, 4])
@pytest.mark.parametrize("count", [60, 12])
def test_adaptation_ends_at_the_own_model_and_at_the_joint_one(classes, count):
    rows, joint = rows_of(classes, count)  # 12 rows of 8 columns: some directions are hardly seen
    own = alone(rows, joint)
    ends = pulled(rows, SIGMA, joint, [0.0, 1e13]).scores(rows.columns)
    size = np.abs(own).max()
    np.testing.assert_allclose(ends[0], np.broadcast_to(own, ends[0].shape), atol=1e-9 * size)
    np.testing.assert_allclose(ends[1], joint.scores(rows.columns), rtol=1e-9, atol=1e-9)


def test_the_own_model_of_numbers_is_ridge_of_all_columns():
    from sklearn.linear_model import Ridge

    rows, joint = rows_of(0)
    own, x = alone(rows, joint)[0, :, 0], scaled(rows)
    fit = Ridge(alpha=len(rows) * SIGMA / 2, tol=1e-12).fit(x, rows.targets)
    np.testing.assert_allclose(own, fit.predict(x), rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_own_model_of_classes_is_multinomial_regression_of_all_columns(classes):
    from scipy.optimize import minimize

    rows, joint = rows_of(classes)
    x, path = scaled(rows), pulled(rows, SIGMA, joint, [0.1])
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
    expected = x @ w[:, :-1].T + w[:, -1]
    np.testing.assert_allclose(path.scores(rows.columns)[0, 0], expected, atol=2e-5)


def test_probabilities_are_spread_so_that_one_surprise_is_not_infinite():
    rows = OwnRows(np.zeros((2, 1)), np.array([0.0, 1.0]), 2, np.arange(2))
    right, wrong = -np.log(1 - SPREAD / 2), -np.log(SPREAD / 2)
    assert rows.errors(np.full((2, 1), 1e9)) == pytest.approx([right, wrong])
    assert rows.errors(np.full((2, 1), np.nan)) == pytest.approx([wrong] * 2)
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


LOST = [(classes, False, np.nan) for classes in (0, 2, 3)]
OF_MARGINS = [(2, True, np.nan), (2, True, 1e200)]


@pytest.mark.parametrize(("classes", "margins", "factor"), [*LOST, *OF_MARGINS])
def test_what_has_diverged_errs_the_most_and_adapted_it_is_an_own_one(classes, margins, factor):
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
    assert rows.errors(fair.scores).mean() < rows.errors(raw.scores).mean()


# Judging: what is trained on what, and how wide intervals are.


def noise_alone(seed, count=40):
    """Rows of which nothing can be learned, and joint models that are random."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((count, 12))
    rows = OwnRows(x, generator.standard_normal(count), 0, np.arange(count))
    joint = LinearModels(generator.standard_normal((4, 1, 12)) / 3, np.zeros((4, 1)))
    return rows, met(rows, joint)


def judged(rows, joint, **more):
    options = {"own_best": "linear", "repeats": 1} | more
    return judge_by_cross_validation(rows, joint, 1e-4, np.random.default_rng(7), **options)


def test_no_model_that_is_judged_has_seen_the_rows():
    """Of noise nothing is learned: no model errs less than guessing, but for chance."""
    own, adapted = [], []
    for seed in range(12):
        gain = judged(*noise_alone(seed))
        own.append(gain.own - gain.guessing)
        adapted.append(gain.adapted - gain.guessing)
    assert np.mean(own) > -0.01
    assert np.mean(adapted) > 0.02  # the best of nine on the rows that judge would be below 0


@pytest.mark.parametrize(("persons", "folds"), [(40, 5), (4, 4), (2, 2)])
def test_the_interval_is_as_wide_as_nadeau_and_bengio_say(persons, folds):
    rows, joint = noise_alone(1)  # own models are all the constant
    rows = OwnRows(rows.columns, np.zeros(40), 2, np.arange(40) % persons)
    plain, _ = of_rows(rows.errors(joint.scores).mean(axis=0), rows.persons, 1.0)
    for times in (1, 2):
        gain = judged(rows, joint, repeats=times)
        variance, _ = gain.joint_gain.parts[0]
        assert variance == pytest.approx(plain * (1 / times + folds / (folds - 1)))
        assert gain.degrees == persons - 1


def test_the_interval_holds_what_other_rows_would_choose():
    """The joint model is random: own rows keep it at a distance, and the gain is exactly 0."""
    law, widths = Law(away=0.6, noise=0.05), []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        rows, others = law.rows(generator, 60), law.rows(generator, 30)
        joint = law.joint(generator, 3)
        arguments = (rows, met(rows, joint), others, joint.scores(others.columns), 1e-3, generator)
        gain = judge_fresh(*arguments, own_best="linear")
        if gain.gain.value == 0:
            widths.append(gain.gain.half_width / gain.own)
    assert 1e-4 < min(widths) <= max(widths) < 0.2


def test_on_fresh_rows_the_training_rows_are_one_draw_too():
    law, generator = Law(), np.random.default_rng(2)
    rows, others, joint = law.rows(generator, 40), law.rows(generator, 400), law.joint(generator, 3)
    scores = joint.scores(others.columns)
    gain = judge_fresh(rows, met(rows, joint), others, scores, 1e-4, generator)
    assert gain.records == gain.rows == 40
    errors = others.errors(scores)
    assert gain.joint == pytest.approx(errors.mean())
    spread = np.var(errors.mean(axis=0), ddof=1) / 400
    assert gain.joint_gain.parts[0][0] / spread == pytest.approx(1 + 400 / 40, rel=0.5)


def test_each_fold_is_judged_by_its_own_joint_models():
    """An analyst has all rows: what judges a fold was trained without it."""
    rows, joint = noise_alone(3)
    cv = CrossValidation(rows, 1e-4, np.random.default_rng(7), own_best="linear", repeats=1)
    of_folds = []
    for out in cv.divisions[0]:
        scores = np.full(joint.scores.shape, 100.0)
        scores[:, out, 0] = rows.targets[out]
        of_folds.append(replace(joint, scores=scores))
    [gain] = cv.judge([of_folds])
    assert gain.joint == 0
    assert gain.own == judged(rows, joint).own


@pytest.mark.parametrize(("cases", "known"), [(0, False), (1, False), (2, True)])
def test_rows_of_one_class_show_nothing_of_the_others(cases, known):
    """Own and adapted model say "no" to all: that is no proof of no difference."""
    rows, joint = noise_alone(9)
    targets = np.where(np.arange(40) < cases, 1.0, 0.0)
    gain = judged(OwnRows(rows.columns, targets, 2, rows.persons), joint)
    assert np.isfinite(gain.gain.half_width) == known
    if not known:
        assert gain.verdict == "undecided"
    assert gain.degrees == 39  # of the mean over owners, who have cases together


def test_later_rows_judge_once_where_rows_have_an_order():
    rows, joint = noise_alone(4)
    ordered = OwnRows(rows.columns, rows.targets, 0, rows.persons, np.arange(40.0))
    gain = judged(ordered, joint)
    last = np.abs(rows.targets[32:] - joint.scores[:, 32:, 0]).mean()
    assert gain.joint == pytest.approx(last)
    assert gain.degrees == 7


@pytest.mark.parametrize("count", [0, 1])
def test_an_owner_without_rows_has_no_gain(count):
    rows, joint = noise_alone(5)
    few = np.arange(count)
    met_few = JointModels(joint.scores[:, few], joint.linear)
    gain = judged(rows.take(few), met_few)
    assert np.isnan(gain.own)
    assert gain.verdict == "undecided"
    assert gain.rows_to_decide is None


@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e9])
def test_gains_do_not_depend_on_the_units_of_columns(unit):
    rows, joint = noise_alone(2)
    rows = OwnRows(rows.columns + 5.0, rows.columns[:, 0] + rows.targets / 9, 0, rows.persons)
    others = OwnRows(rows.columns * unit, rows.targets, 0, rows.persons)
    same = LinearModels(joint.linear.coefficients / unit, joint.linear.constants)
    here, there = judged(rows, met(rows, joint.linear)), judged(others, met(others, same))
    assert here.own < 0.5 * here.guessing
    assert there.own == pytest.approx(here.own)
    assert there.gain.value == pytest.approx(here.gain.value)


def test_boosting_is_among_the_own_models_from_a_hundred_rows_on():
    generator = np.random.default_rng(6)
    x = generator.standard_normal((120, 2))
    rows = OwnRows(x, 3.0 * np.sign(x[:, 0] * x[:, 1]), 0, np.arange(120))
    joint = met(rows, LinearModels(np.zeros((2, 1, 2)), np.zeros((2, 1))))
    others = OwnRows(x + 1e-3, rows.targets, 0, rows.persons)
    arguments = (rows, joint, others, joint.scores, 1e-4)
    assert judge_fresh(*arguments, generator).own_best == "boosting"
    assert judge_fresh(*arguments, generator, own_best="linear").own_best != "boosting"
    few = np.arange(99)
    fewer = JointModels(joint.scores[:, few], joint.linear)
    assert judge_fresh(rows.take(few), fewer, *arguments[2:], generator).own_best != "boosting"


@pytest.mark.parametrize("count", range(9, 19))
def test_folds_of_which_some_are_too_small_for_a_model(count):
    """Nine rows have the constant alone, ten have models. Where folds compare constants alone, none
    of them chooses a model that is pulled, which a useless joint one would spoil.
    """
    rows, joint = noise_alone(8, count)
    useless = LinearModels(1e6 * joint.linear.coefficients, joint.linear.constants + 1e6)
    by_folds = judged(rows, met(rows, useless))
    arguments = (rows, met(rows, useless), rows, useless.scores(rows.columns), 1e-4)
    for gain in (by_folds, judge_fresh(*arguments, np.random.default_rng(7), own_best="linear")):
        assert abs(gain.gain.value) < 10


def test_the_strength_is_not_the_best_one_in_hindsight():
    above = []
    for seed in range(6):
        (rows, joint), (others, _) = noise_alone(seed), noise_alone(seed + 50)
        as_is = joint.linear.scores(others.columns)
        generator = np.random.default_rng(0)
        gain = judge_fresh(rows, joint, others, as_is, 1e-4, generator, own_best="linear")
        _, [uses] = fitted(rows, 1e-4, [joint])
        scores = uses.scores(others.columns, as_is)
        best = others.errors(scores).mean(axis=-1).min(axis=0).mean()
        above.append(gain.adapted - best)
    assert min(above) >= -1e-12
    assert np.mean(above) > 1e-3
