"""Judging by folds and on fresh rows: what is trained on what, and how wide intervals are."""

from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.decision import CrossValidation, JointModels, LinearModels, OwnRows
from asyncdp_sim.decision.gain import of_rows
from asyncdp_sim.decision.predictors import fitted
from tests.verification.decision_laws import Law, judge_by_cross_validation, judge_fresh, met


def noise_alone(seed: int, count: int = 40) -> tuple[OwnRows, JointModels]:
    """Rows of which nothing can be learned, and joint models that are random."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((count, 12))
    rows = OwnRows(x, generator.standard_normal(count), 0, np.arange(count))
    joint = LinearModels(generator.standard_normal((4, 1, 12)) / 3, np.zeros((4, 1)))
    return rows, met(rows, joint)


def judged(rows, joint, **more):
    generator = np.random.default_rng(7)
    options = {"own_best": "linear", "repeats": 1} | more
    return judge_by_cross_validation(rows, joint, 1e-4, generator, **options)


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
    assert len(widths) > 0
    assert min(widths) > 1e-4
    assert max(widths) < 0.2


def test_on_fresh_rows_the_training_rows_are_one_draw_too():
    law, generator = Law(), np.random.default_rng(2)
    rows, others, joint = law.rows(generator, 40), law.rows(generator, 400), law.joint(generator, 3)
    gain = judge_fresh(
        rows, met(rows, joint), others, joint.scores(others.columns), 1e-4, generator
    )
    assert gain.records == gain.rows == 40
    errors = others.errors(joint.scores(others.columns))
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
