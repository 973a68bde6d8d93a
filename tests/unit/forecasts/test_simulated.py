"""Simulated forecasts of runs of unequal length, by hand."""

import numpy as np
import pytest
from scipy.stats import binom

import asyncdp_sim as ad
from asyncdp_sim.core.specification import members, parse
from asyncdp_sim.forecasts import population as module
from asyncdp_sim.forecasts.contest import Played
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.population import RUNS, final_psi, half_width, population, value_alone
from asyncdp_sim.learning.algorithms import AnyAlgorithm, FedBuff
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.fields import examples_of
from asyncdp_sim.sentences.forecast import as_json
from asyncdp_sim.sweeps.sweep import sweep
from tests import scenes
from tests.conformance.members import examples
from tests.one_in import one_in
from tests.tables import table
from tests.unit.forecasts.banks import banks

DTYPE = [("replicate", "i4"), ("relative_fitness", "f8")]
CURVE = np.array([(1, 8.0), (1, 4.0), (1, 2.0), (2, 6.0), (2, 3.0)], dtype=DTYPE)
"""Of two replicates, the second of which ends an update earlier."""


def test_a_run_that_has_ended_stays_where_it_ended():
    assert module._mean(CURVE, "relative_fitness").tolist() == [7.0, 3.5, 2.5]
    assert final_psi(CURVE).tolist() == [2.0, 3.0]
    lost = CURVE.copy()
    lost["relative_fitness"][2] = np.nan
    assert final_psi(lost).tolist() == [np.inf, 3.0]


CASES = table(__file__, "scenes.toml")


@one_in(2, "parts", CASES["diverging"].values(), ids=CASES["diverging"])
def test_a_learning_that_diverges_is_infinitely_far_off_and_never_no_number(parts):
    """∞ − ∞ of a model that has overflowed is not told as if nothing were known."""
    fields = scenes.fields(**(CASES["diverges"] | parts))
    found = forecast(parse(Scenario, fields), judged=None, target=0.5)
    assert (found.psi, found.psi_half_width) == (np.inf, np.inf)
    told = [found.psi, found.noise_free, *found.quantiles.values(), *found.curve, *found.times]
    assert np.isnan(told).sum() == 0
    assert found.curve[-1] == np.inf
    assert '"psi": "inf"' in as_json(found)


@pytest.mark.long
@pytest.mark.parametrize(("runs", "error"), [(20, 0.015), (RUNS, 0.022)])
def test_the_interval_of_few_runs_covers_as_stated(runs, error):
    """Of 4,000/R intervals, each of R other runs, a share of 0.95 ± the standard error."""
    asked = scenes.scenario(**table(__file__, "clipped.toml")).replace(data={"held_out": 0.25})
    known = population(asked, private=False)
    _, [learned] = known.quick_runs.learned([known.problem.task], range(1, 4001))
    final = final_psi(learned.curve)
    within = [abs(few.mean() - final.mean()) <= half_width(few) for few in final.reshape(-1, runs)]
    assert 0.95 - 3 * error < np.mean(within) < 0.999


CLIP = {"kind": "clip", "bound": 0.5}
DOMAIN = {"kind": "domain", "row_norm": 1.0, "target_max": 1.0}


@pytest.mark.parametrize("bound", [CLIP, DOMAIN], ids=["clipped", "in a domain"])
@pytest.mark.parametrize("learning", ["replay", "live"])
@pytest.mark.long
def test_without_noise_answers_are_bounded_as_with_it(bound, learning):
    """An infinite budget clips and scales as any other; mechanism none does neither."""
    asked = scenes.scenario(
        run={"updates": 12, "replicates": RUNS, "learning": learning},
        privacy={"epsilon": 20.0, "sensitivity": bound},
        **CASES["trusted"],
    )
    found = forecast(asked)
    assert found.method.startswith(f"{RUNS} simulated runs")
    endless = run(asked.replace(privacy={"epsilon": float("inf")})).summary["psi_final"]["mean"]
    assert found.noise_free == pytest.approx(endless, rel=1e-9)
    bare = run(parse(Scenario, {**asked.plain(), "privacy": {"mechanism": "none"}}))
    assert abs(bare.summary["psi_final"]["mean"] - found.noise_free) > 0.02 * found.noise_free


# ψ of an owner's own optimum where Θ binds: that of the best model in Θ, never below 0.


@pytest.mark.parametrize("theta_max", [0.05, 0.3, None])
def test_it_is_what_runs_say_of_owners_alone(theta_max):
    raw = banks(records=(40, 90, 30))
    raw["model"] |= {} if theta_max is None else {"theta_max": theta_max}
    raw["run"] |= {"alone": True, "replicates": 2}
    scenario = parse(Scenario, raw)
    known = population(scenario, private=False)
    objective = known.objective
    assert objective.interior is (theta_max is None)
    found = value_alone(known)
    assert (found >= 0).all()
    owners = ad.run(scenario).owners.query("replicate == 1")
    assert found == pytest.approx(owners["psi_alone"].to_numpy(), rel=1e-9, abs=1e-12)
    inside = (theta_max or np.inf) * (1 + 1e-9)
    assert all(np.abs(objective.of_owner(i).optimum).max() <= inside for i in range(3))


def test_a_model_outside_of_the_box_would_be_better_than_the_best_inside():
    """Why it once was negative: f is smaller where no model may be."""
    raw = banks()
    raw["model"]["theta_max"] = 0.05
    objective = population(parse(Scenario, raw), private=False).objective
    free = np.stack([objective.of_owner(i).free_optimum for i in range(3)])
    assert (objective.relative_fitness(free) < 0).all()


# Runs in which no update is ever made: of every algorithm they are forecast as they end.

ALGORITHMS = [examples_of(member)[0] for member in members(AnyAlgorithm)]
EACH = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=[each.kind for each in ALGORITHMS])
BOUNDS = pytest.mark.parametrize("bound", ["clip", "declared"])


def _scenario(algorithm, bound, **privacy):
    protocol = next(each for each in examples(Protocol) if algorithm.runs_on(each))
    raw = banks(records=(20, 20, 20), updates=6) | {"algorithm": algorithm, "protocol": protocol}
    raw["run"]["replicates"], raw["model"]["theta_max"] = 3, 5.0
    raw["compute"] = {"kind": "constant", "value": 1.0}
    raw["privacy"] |= {"sensitivity": {"kind": bound, "bound": 5.0}} | privacy
    raw["sweep"] = {"model.regularisation": [0.1, 0.2]}
    return parse(Scenario, raw)


@pytest.mark.long
@BOUNDS
@EACH
def test_none_before_until(algorithm, bound, tmp_path):
    scenario = _scenario(algorithm, bound, **CASES["needs"].get(algorithm.kind, {}))
    _ends_as_it_starts(scenario.replace(run={"until": 0.5}), tmp_path)


@BOUNDS
def test_none_where_a_buffer_never_fills(bound, tmp_path):
    fedbuff = FedBuff(step=0.5, server_step=1.0, buffer=7)
    scenario = _scenario(fedbuff, bound, budget={"kind": "per-owner-cap", "answers": 2})
    _ends_as_it_starts(scenario, tmp_path)


def _ends_as_it_starts(scenario, folder):
    summary, found = run(scenario.base()).summary, forecast(scenario.base())
    assert summary["updates"] == found.time == 0
    start = summary["psi_final"]["mean"]
    assert (found.psi, found.noise_free) == pytest.approx((start, start))
    assert sweep(scenario, folder / "sweep").done == 2


# The ± of a mean: by hand where values are symmetric, and by coverage where they are skewed.


def student(values):
    return 1.984 * values.std(ddof=1) / np.sqrt(len(values))


def test_that_of_symmetric_values_is_by_students_t():
    """Of 100 values with standard deviation s: t(0.975; 99) s/√100."""
    values = np.tile([1.0, 3.0], 50)
    assert half_width(values) == pytest.approx(1.984 * np.sqrt(100 / 99) / 10, rel=1e-3)
    assert half_width(np.append(values, np.inf)) == np.inf
    assert half_width(np.full(5, 2.0)) == 0.0


def test_it_is_the_same_for_values_turned_around_and_grows_with_them():
    values = np.random.default_rng(1).gamma(0.5, size=40)
    assert half_width(-values) == pytest.approx(half_width(values))
    assert half_width(7 + 3 * values) == pytest.approx(3 * half_width(values))
    assert half_width(values) > 1.1 * student(values)


@pytest.mark.parametrize("scale", [1e-30, 1e90, 1e101, 1e150, 1e300])
def test_it_grows_with_values_whose_cubes_overflow(scale):
    values = np.random.default_rng(1).gamma(0.5, size=40)
    assert half_width(scale * values) == pytest.approx(scale * half_width(values), rel=1e-9)


def test_by_hand():
    """Values 0, 0, 0, 4: m = 1, s = 2, second and third central moment 3 and 6, t = 3.18245."""
    g = 6 / 3**1.5
    low, high = (sign * 3.18245 / 2 - g / 24 for sign in (-1, 1))
    longest = max(abs(3 / g * (np.cbrt(1 + g * q) - 1)) for q in (low, high))
    assert half_width(np.array([0.0, 0.0, 0.0, 4.0])) == pytest.approx(2 * longest, rel=1e-5)


def skewed(trial, runs=60):
    """Return made-up ψ of skewness 3, as that of simulated runs."""
    return np.random.default_rng([7, trial]).gamma(4 / 9, size=runs)


@pytest.mark.long
def test_means_of_skewed_runs_and_their_ratios_are_covered():
    """Student's t is seen to be too narrow."""
    trials, mean = 3000, 4 / 9
    means, by_t, ratios = 0, 0, 0
    for trial in range(trials):
        runs = skewed(trial)
        means += abs(runs.mean() - mean) <= half_width(runs)
        by_t += abs(runs.mean() - mean) <= student(runs)
        shared = 1 + skewed(trial + trials)
        ratio, half = Played(shared + runs).over(Played(shared))
        ratios += abs(ratio - (1 + 2 * mean) / (1 + mean)) <= half
    for hits in (means, ratios):
        assert binom.cdf(hits, trials, 0.95) > 0.01
    assert binom.cdf(by_t, trials, 0.95) < 1e-6
