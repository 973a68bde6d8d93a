"""Gains held against truth: laws of which every owner has thousands of fresh rows.

Truth is the mean over new owners of a law, each with rows of its own, of the own model's error less
that of the joint models used as well as possible, on 3,000 fresh rows, with its standard error.
Other protocols are held against models and differences that are known.
"""

from functools import cache
from math import gamma, pi, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom, chi2

from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data.gaussian import GaussianData
from asyncdp_sim.decision import (
    Estimate,
    JointModels,
    LinearModels,
    OwnRows,
    Verdict,
    consortium,
    cross_validation,
    forecast,
    gain,
)
from asyncdp_sim.decision.adapted import pulled
from asyncdp_sim.decision.forecast import gain_difference
from asyncdp_sim.forecasts import alternatives as protocols
from asyncdp_sim.forecasts.gains import FRESH, Asked, gains
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.runs.gains import linear_models
from asyncdp_sim.scenario import Scenario
from tests.unit.forecasts.banks import banks
from tests.verification import decision_laws as laws

pytestmark = pytest.mark.oracle("gain of an owner and its interval")


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    with one_thread():
        yield


truth = cache(laws.true_gain)


def by_itself(rows: OwnRows, joint: LinearModels, generator, sigma=laws.SIGMA, repeats=1):
    """Judge an owner on its own rows, each of which is left out in turn."""
    options = {"own_best": "linear", "repeats": repeats}
    return laws.judge_by_cross_validation(rows, laws.met(rows, joint), sigma, generator, **options)


def by_folds(law: laws.Law, seed: int, count: int, repeats: int):
    generator = np.random.default_rng([seed, 2])
    rows = law.rows(generator, count)
    return by_itself(rows, law.joint(generator, 6), generator, repeats=repeats)


def require_honest(gains, true: float, error: float) -> None:
    """Coverage within the binomial band of 95 %, and hardly any verdict wrong."""
    covered = sum(gain.gain.low - 2 * error <= true <= gain.gain.high + 2 * error for gain in gains)
    assert covered >= binom.ppf(1e-3, len(gains), 0.95)
    assert all(gain.gain.half_width > 0 for gain in gains)
    signs = {Verdict.GAINS: 1, Verdict.WORSE: -1}
    wrong = sum(
        signs.get(gain.verdict, 0) * true < -2 * error
        or (gain.verdict is Verdict.NO_DIFFERENCE and abs(true) > gain.material + 2 * error)
        for gain in gains
    )
    assert wrong <= binom.ppf(0.999, len(gains), 0.05)


@pytest.mark.parametrize("columns", [3, 8])
def test_the_own_model_of_gaussian_rows_errs_as_its_distribution_says(columns):
    """Without shrinkage: E|y − ŷ| of least squares with a constant, of n rows and p columns.

    y − ŷ = ν √(1 + 1/n) √(1 + p F/(n − p)) Z, F of p and n − p degrees, so that the mean has a
    ratio of Γ functions.
    """
    n, law = 20, laws.Law(columns=columns)
    errors = []
    for seed in range(1500):
        generator = np.random.default_rng([seed, columns])
        rows, others = law.rows(generator, n), law.rows(generator, 20)
        nothing = LinearModels(np.zeros((1, 1, columns)), rows.constant()[None])
        own = pulled(rows, 0.0, nothing, [0.0]).scores(others.columns)[0, 0]
        errors.append(others.errors(own).mean())
    free = n - columns
    ratio = gamma((free - 1) / 2) * gamma(n / 2) / gamma(free / 2) / gamma((n - 1) / 2)
    exact = sqrt(2 / pi) * sqrt(1 + 1 / n) * ratio
    standard_error = float(np.std(errors, ddof=1) / sqrt(len(errors)))
    assert standard_error < 0.015 * exact
    assert abs(np.mean(errors) - exact) < 4 * standard_error


@pytest.mark.parametrize(
    ("law", "count"), [(laws.Law(noise=0.1), 25), (laws.Law(away=0.6, noise=0.05, persons=3), 60)]
)
def test_held_out_rows_judge_honestly(law, count):
    gains = [laws.on_fresh_rows(law, seed, count, 24, 6) for seed in range(40)]
    require_honest(gains, *truth(law, count, 120))


def test_folds_of_the_own_rows_judge_honestly():
    law = laws.Law(noise=0.1)
    require_honest([by_folds(law, seed, 25, 1) for seed in range(40)], *truth(law, 25, 120))


def test_the_mean_gain_of_owners_that_differ_has_the_right_sign():
    law = laws.Law(noise=0.02)
    true, error = truth(law, 25, 120)
    found = consortium([laws.on_fresh_rows(law, seed, 25, 40, 6) for seed in range(30)])
    assert found.verdict is Verdict.GAINS
    assert found.gain.low - 2 * error <= true <= found.gain.high + 2 * error


def mean_over_owners(seed: int, owners: int = 16):
    """Return the mean gain of owners of Gaussian rows on few fresh ones, and on many of theirs."""
    data, judged = GaussianData(features=3), 40
    drawn = data.build(owners, (60,) * owners, Streams(seed))
    truth = Streams(seed).generator("data", "truth").standard_normal(3)
    generator = np.random.default_rng([seed, 6])
    noise = 0.3 * generator.standard_normal((4, 1, 3))
    joint, gains, many = LinearModels(truth + noise, np.zeros((4, 1))), [], []
    fresh = data.fresh(owners, 2_000, Streams(seed))
    for x, y, (new, of_new) in zip(drawn.features, drawn.targets, fresh, strict=True):
        rows = OwnRows(x, y, 0, np.arange(len(y)))
        others = OwnRows(new, of_new, 0, np.arange(len(of_new)))
        for found, apart in ((gains, others.take(np.arange(judged))), (many, others)):
            models = laws.met(rows, joint), apart, joint.scores(apart.columns)
            found.append(laws.judge_fresh(rows, *models, laws.SIGMA, generator, own_best="linear"))
    of_models = 1 + judged / 60
    stated = sqrt(sum(gain.of_rows / of_models for gain in gains)) / owners
    return consortium(gains).gain.value - consortium(many).gain.value, stated


def test_the_mean_over_owners_of_drawn_records_errs_as_it_states():
    """On 40 fresh rows an owner against 2,000: independent rows, whose variances add up.

    Of J distances in units of their standard deviation, the sum of squares is χ² of J degrees,
    but for 40 of the 2,000 rows that both means have: 1/50 less.
    """
    pairs = np.array([mean_over_owners(seed) for seed in range(40)])
    total = float(np.sum((pairs[:, 0] / pairs[:, 1]) ** 2)) / (1 - 40 / 2_000)
    assert chi2.ppf(5e-4, 40) <= total <= chi2.ppf(1 - 5e-4, 40)


def shared_by_persons(seed: int, *, known: bool):
    """Judge an owner whose 25 persons have four rows each and x that name them."""
    generator = np.random.default_rng([seed, 3])
    persons = np.repeat(np.arange(25), 4)
    x = generator.standard_normal((25, 12))[persons]
    y = x[:, 0] + generator.standard_normal(25)[persons] + 0.1 * generator.standard_normal(100)
    rows = OwnRows(x, y, 0, persons if known else np.arange(100))
    joint = LinearModels(np.eye(12)[None, :1] + np.zeros((3, 1, 1)), np.zeros((3, 1)))
    return by_itself(rows, joint, generator, 1e-3)


def test_folds_by_row_flatter_the_own_model_where_persons_repeat():
    """The joint model is the truth: its error is E|N(0, 1.01)|, and no own model errs less."""
    least = sqrt(2 / pi * 1.01)
    apart, mixed = (
        [shared_by_persons(seed, known=known) for seed in range(12)] for known in (True, False)
    )
    assert np.mean([gain.own for gain in apart]) > least
    assert np.mean([gain.gain.value for gain in apart]) > 0.05
    assert np.mean([gain.own for gain in mixed]) < least  # it has seen the same persons


def of_constants(generator) -> OwnRows:
    return OwnRows(generator.standard_normal((30, 2)), np.full(30, 0.1), 0, np.arange(30))


@pytest.mark.no_evidence
def test_equal_models_are_no_gain():
    """Constant targets: every model says the same, and rounding decides nothing."""
    rows = of_constants(np.random.default_rng(0))
    joint = LinearModels(np.zeros((4, 1, 2)), np.full((4, 1), 0.1) * (1 + 1e-16))
    models, generator = laws.met(rows, joint), np.random.default_rng(1)
    gain = laws.judge_by_cross_validation(rows, models, laws.SIGMA, generator, own_best="linear")
    assert gain.gain.value == 0
    assert gain.verdict is Verdict.NO_DIFFERENCE


@pytest.mark.long
@pytest.mark.parametrize(
    ("law", "count"),
    [
        (laws.Law(noise=0.08), 60),
        (laws.Law(away=0.6, noise=0.05), 60),
        (laws.Law(noise=0.05, persons=3), 60),
        (laws.Law(classes=2, noise=0.1), 80),
    ],
)
def test_all_ways_judge_honestly(law, count):
    draws, owners = (150, 80) if law.classes == 0 else (60, 40)
    true = truth(law, count, draws)
    require_honest([laws.on_fresh_rows(law, s, count, 30, 6) for s in range(owners)], *true)
    require_honest([by_folds(law, s, count, 2) for s in range(owners)], *true)


@pytest.mark.long
def test_narrower_intervals_would_miss_where_columns_are_many():
    """30 columns, 60 rows: as docs/decisions.md says, 92 % of whole intervals and 74 % of 0.7."""
    law, count, owners = laws.Law(noise=0.2, columns=30), 60, 150
    _, (true, error) = true_gains(law, count)
    found = [by_folds(law, 5_000 + seed, count, 4).joint_gain for seed in range(owners)]
    away, half = np.array([(abs(each.value - true), each.half_width) for each in found]).T
    for width, share in ((1.0, 0.92), (0.7, 0.74)):
        covered = np.count_nonzero(away <= np.hypot(width * half, 1.96 * error))
        assert binom.ppf(1e-3, owners, share) <= covered <= binom.ppf(0.999, owners, share)


OWNERS = 40
SMALL = ((laws.Law(noise=0.05), 25), (laws.Law(noise=1.2), 200))
"""Rows leave most of what is uncertain in the first law, and the others' rows in the second one."""


def asked_with_redraws(law: laws.Law, count: int, seed: int, reused: bool):
    """Judge an owner by joint models of eight redraws, two runs each, as `forecast --as` does."""
    generator = np.random.default_rng([seed, 4])
    rows, around = law.rows(generator, count), law.joint(generator, 8)
    which = np.repeat(np.arange(8), 2)
    drawn = around.coefficients[np.zeros(16, dtype=int) if reused else which]
    runs = laws.Law(noise=0.01).joint(generator, 16).coefficients - law.common
    joint = LinearModels(drawn + runs, np.zeros((16, 1)))
    models = JointModels(joint.scores(rows.columns), joint, redraw=which)
    options = {"own_best": "linear", "repeats": 1}
    return laws.judge_by_cross_validation(rows, models, laws.SIGMA, generator, **options)


def a_tie(seed: int):
    """Judge an owner whose targets are all alike: models differ by rounding."""
    generator = np.random.default_rng([seed, 5])
    joint = LinearModels(np.zeros((4, 1, 2)), np.full((4, 1), 0.1) * (1 - 1e-15 * (seed % 2)))
    return by_itself(of_constants(generator), joint, generator)


@cache
def true_gains(law: laws.Law, count: int, draws: int = 150) -> np.ndarray:
    """Return the gain, and that of the joint model as it is, each with its standard error."""
    found = [laws.on_fresh_rows(law, 10_000 + seed, count, 1_500, 3) for seed in range(draws)]
    values = np.array([(each.gain.value, each.joint_gain.value) for each in found])
    return np.stack([values.mean(axis=0), values.std(axis=0, ddof=1) / sqrt(draws)], axis=1)


def complaints(*, reused: bool = False) -> set[str]:
    """Return what a benchmark of two laws, 40 owners each, finds wrong with intervals, verdicts."""
    faults = set()
    for law, count in SMALL:
        asked = [asked_with_redraws(law, count, seed, reused) for seed in range(OWNERS)]
        for name, (true, error) in zip(("gain", "joint_gain"), true_gains(law, count), strict=True):
            said = [getattr(each, name) for each in asked]
            covered = sum(each.low <= true <= each.high for each in said)
            if covered < binom.ppf(1e-3, OWNERS, 0.95):
                faults.add("intervals miss")
            values = np.array([each.value for each in said])
            spread = np.hypot(np.std(values, ddof=1) / sqrt(OWNERS), error)
            if abs(values.mean() - true) > 4 * spread:
                faults.add("gains are biased")
        true = true_gains(law, count)[0, 0]
        signs = [{Verdict.GAINS: 1, Verdict.WORSE: -1}.get(each.verdict, 0) for each in asked]
        if sum(sign * true < 0 for sign in signs) > binom.ppf(0.999, OWNERS, 0.05):
            faults.add("verdicts are wrong")
    if any(a_tie(seed).verdict is not Verdict.NO_DIFFERENCE for seed in range(OWNERS)):
        faults.add("ties decide")
    return faults


def signs(found, *_, **__):
    return Verdict.GAINS if found.low >= 0 else Verdict.UNDECIDED


Models = cross_validation._Models


def seen_all(models, out, right=Models.without):
    return right(models, out[:0])


def hindsight(models, joint, out, inner, right=cross_validation._chosen):
    own, strengths = right(models, joint, out, inner)
    fair, uses = models.uses(joint, out)
    tested = models.rows.take(out)
    errors = tested.errors(uses.scores(tested.columns, fair.scores[:, out])).sum(axis=-1)
    return own, np.broadcast_to(cross_validation.least(errors), strengths.shape)


NO_VARIANCE = ((gain, "of_rows", lambda *_: (0.0, 59.0)), (gain, "of_choices", lambda _: 0.0))
FAULTS = {
    "no variance of rows": ("intervals miss", *NO_VARIANCE),
    "ties decide": ("ties decide", (gain, "verdict_of", signs)),
    "the own model has seen all": ("gains are biased", (Models, "without", seen_all)),
    "strength in hindsight": ("gains are biased", (cross_validation, "_chosen", hindsight)),
}


@pytest.mark.long
def test_a_small_benchmark_finds_nothing_wrong():
    assert complaints() == set()


@pytest.mark.long
@pytest.mark.no_evidence
@pytest.mark.parametrize("planted", FAULTS)
def test_a_small_benchmark_notices_a_planted_fault(planted, monkeypatch):
    for law, count in SMALL:
        true_gains(law, count)  # of the right code
    noticed, *faults = FAULTS[planted]
    for fault in faults:
        monkeypatch.setattr(*fault)
    assert noticed in complaints()


@pytest.mark.long
@pytest.mark.no_evidence
def test_a_small_benchmark_notices_redraws_that_are_reused():
    assert "intervals miss" in complaints(reused=True)


# Other protocols held against models and differences that are known

LINEAR = Asked(own_best="linear", break_even=False)


def test_second_moments_without_noise_gain_what_least_squares_of_all_rows_gain():
    """NumPy's least squares of all rows instead of the joint model: the same gain, to 1e-9."""
    raw = banks(updates=6)
    raw["privacy"] = {"mechanism": "none"}
    scenario = Scenario.model_validate(raw)
    known = population(scenario, private=False)
    [moments] = protocols.alternatives(known, LINEAR, None, gains(known, LINEAR))
    data, sigma = known.dataset, scenario.model.sigma
    x, y = np.concatenate(data.features), np.concatenate(data.targets)
    ridge = np.vstack([x, np.sqrt(len(y) * sigma / 2) * np.eye(x.shape[1])])
    theta = np.linalg.lstsq(ridge, np.append(y, np.zeros(x.shape[1])), rcond=None)[0]
    streams = Streams(scenario.run.seed)
    drawn = scenario.data.fresh(scenario.owners.whole, FRESH, streams)
    for owner, (fresh_x, fresh_y) in enumerate(drawn):
        rows = protocols.known_rows(scenario, protocols.training_rows(data, owner))[0]
        part = (fresh_x, fresh_x, fresh_y, np.arange(FRESH))
        fresh = protocols.known_rows(scenario, part, FRESH)[0]
        linear = linear_models(scenario.model, data.projection, theta[None])
        joint = JointModels((rows.columns @ theta)[None, :, None], linear)
        generator = streams.generator("decision", "owner", owner + 1)
        as_is = (fresh_x @ theta)[None, :, None]
        exact = laws.judge_fresh(rows, joint, fresh, as_is, sigma, generator, own_best="linear")
        found = moments.gains.owners[owner].gain
        assert found.joint == pytest.approx(np.abs(fresh_y - fresh_x @ theta).mean(), rel=1e-9)
        assert found.gain.value == pytest.approx(exact.gain.value, abs=1e-9 * exact.own)


TWELVE, RUNS, TRUE = 12, 6, 0.3


def coverage(times: int, of_runs: float, of_rows: float, halves: int = 1) -> int:
    """Return how many intervals of differences hold the true one, of owners that differ by 1.

    A difference has the true one, the owner's distance from it, the deviation of its rows, and one
    of each run that all owners share.
    """
    generator, covered = np.random.default_rng(7), 0
    for _ in range(times):
        pairs = list[list[tuple[SimpleNamespace, SimpleNamespace]]]()
        away = generator.permutation(np.linspace(-1, 1, TWELVE))
        every = generator.standard_normal() * of_rows  # halves are drawn from the same rows
        for _ in range(halves):
            common = of_runs * generator.standard_normal(RUNS)
            shift = every + of_rows * generator.standard_normal() if halves > 1 else 0.0
            own = of_rows * generator.standard_normal(TWELVE) if halves == 1 else np.zeros(TWELVE)
            pairs.append(
                [owner_gains(TRUE + shift + a + e, common) for a, e in zip(away, own, strict=True)]
            )
        one, other = (
            SimpleNamespace(judged=[[pair[side] for pair in half] for half in pairs])
            for side in (0, 1)
        )
        found = gain_difference(one, other)
        covered += found.low <= TRUE + (every if halves > 1 else 0.0) <= found.high
    return covered


def owner_gains(more: float, common: np.ndarray) -> tuple[SimpleNamespace, SimpleNamespace]:
    """Return two gains of an owner whose mean difference over runs is so much, and their runs."""
    return tuple(
        SimpleNamespace(gain=Estimate(float(runs.mean())), by_run=runs, redraw=None, rarer=9)
        for runs in (np.zeros(RUNS), more + common)
    )


@pytest.mark.no_evidence
@pytest.mark.parametrize(("of_runs", "of_rows", "halves"), [(1.5, 0.5, 1), (0.1, 2, 1), (0, 1, 8)])
def test_differences_are_covered(of_runs, of_rows, halves):
    """At least 95 % by the binomial band: differences between owners make intervals wider."""
    assert coverage(1_000, of_runs, of_rows, halves) >= binom.ppf(1e-3, 1_000, 0.95)


@pytest.mark.no_evidence
@pytest.mark.parametrize(
    ("fault", "of_runs", "of_rows"),
    [
        ((forecast, "of_runs", lambda *_: ()), 1.5, 0.5),
        ((forecast.np, "var", lambda *_, **__: 0.0), 0.1, 2),
    ],
    ids=["runs", "rows"],
)
def test_a_planted_fault_is_noticed(fault, of_runs, of_rows, monkeypatch):
    """Without one part of the variance, coverage falls below the band."""
    monkeypatch.setattr(*fault)
    assert coverage(300, of_runs, of_rows) < binom.ppf(1e-3, 300, 0.95)


@pytest.mark.no_evidence
def test_one_owner_has_the_sum_of_both_deviations():
    """No joint law of two errors has a difference of larger deviation."""
    parts = ((0.04, 9.0),), ((0.01, 5.0),)
    one, other = (
        SimpleNamespace(gain=Estimate(value, part), by_run=np.zeros(2), redraw=None)
        for value, part in zip((1.0, 1.5), parts, strict=True)
    )
    found = gain_difference(SimpleNamespace(judged=[[one]]), SimpleNamespace(judged=[[other]]))
    assert found.value == 0.5
    assert found.parts == ((pytest.approx(0.09), 5.0),)
