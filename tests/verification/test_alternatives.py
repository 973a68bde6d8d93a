"""Other protocols held against models and differences that are known."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.decision import Estimate, JointModels, alternatives
from asyncdp_sim.decision.alternatives import difference
from asyncdp_sim.forecasts import alternatives as protocols
from asyncdp_sim.forecasts.gains import FRESH, Asked, gains
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.runs.gains import linear_models
from asyncdp_sim.scenario import Scenario
from tests.unit.forecasts.banks import banks
from tests.verification.decision_laws import judge_fresh

pytestmark = pytest.mark.oracle("gain of an owner and its interval")
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
        with one_thread():
            exact = judge_fresh(rows, joint, fresh, as_is, sigma, generator, own_best="linear")
        found = moments.gains.owners[owner].gain
        assert found.joint == pytest.approx(np.abs(fresh_y - fresh_x @ theta).mean(), rel=1e-9)
        assert found.gain.value == pytest.approx(exact.gain.value, abs=1e-9 * exact.own)


OWNERS, RUNS, TRUE = 12, 6, 0.3


def coverage(times: int, of_runs: float, of_rows: float, halves: int = 1) -> int:
    """Return how many intervals of differences hold the true one, of owners that differ by 1.

    A difference has the true one, the owner's distance from it, the deviation of its rows, and one
    of each run that all owners share.
    """
    generator, covered = np.random.default_rng(7), 0
    for _ in range(times):
        pairs = list[list[tuple[SimpleNamespace, SimpleNamespace]]]()
        away = generator.permutation(np.linspace(-1, 1, OWNERS))
        every = generator.standard_normal() * of_rows  # halves are drawn from the same rows
        for _ in range(halves):
            common = of_runs * generator.standard_normal(RUNS)
            shift = every + of_rows * generator.standard_normal() if halves > 1 else 0.0
            own = of_rows * generator.standard_normal(OWNERS) if halves == 1 else np.zeros(OWNERS)
            pairs.append(
                [owner_gains(TRUE + shift + a + e, common) for a, e in zip(away, own, strict=True)]
            )
        one, other = (
            SimpleNamespace(judged=[[pair[side] for pair in half] for half in pairs])
            for side in (0, 1)
        )
        found = difference(one, other)
        covered += found.low <= TRUE + (every if halves > 1 else 0.0) <= found.high
    return covered


def owner_gains(more: float, common: np.ndarray) -> tuple[SimpleNamespace, SimpleNamespace]:
    """Return two gains of an owner whose mean difference over runs is so much, and their runs."""
    base = np.zeros(RUNS)
    with_more = base + more + common
    return tuple(
        SimpleNamespace(gain=Estimate(float(runs.mean())), by_run=runs, redraw=None, rarer=9)
        for runs in (base, with_more)
    )


@pytest.mark.no_evidence
@pytest.mark.parametrize(("of_runs", "of_rows", "halves"), [(1.5, 0.5, 1), (0.1, 2, 1), (0, 1, 8)])
def test_differences_are_covered(of_runs, of_rows, halves):
    """At least 95 % by the binomial band: differences between owners make intervals wider."""
    assert coverage(1_000, of_runs, of_rows, halves) >= binom.ppf(1e-3, 1_000, 0.95)


@pytest.mark.no_evidence
@pytest.mark.parametrize("plant", ["runs", "rows"])
def test_a_planted_fault_is_noticed(plant, monkeypatch):
    """Without one part of the variance, coverage falls below the band."""
    if plant == "runs":
        monkeypatch.setattr(alternatives, "of_runs", lambda *_: ())
    else:
        monkeypatch.setattr(alternatives.np, "var", lambda *_, **__: 0.0)
    of_runs, of_rows = (1.5, 0.5) if plant == "runs" else (0.1, 2)
    assert coverage(300, of_runs, of_rows) < binom.ppf(1e-3, 300, 0.95)


@pytest.mark.no_evidence
def test_one_owner_has_the_sum_of_both_deviations():
    """No joint law of two errors has a difference of larger deviation."""
    parts = ((0.04, 9.0),), ((0.01, 5.0),)
    one, other = (
        SimpleNamespace(gain=Estimate(value, part), by_run=np.zeros(2), redraw=None)
        for value, part in zip((1.0, 1.5), parts, strict=True)
    )
    found = difference(SimpleNamespace(judged=[[one]]), SimpleNamespace(judged=[[other]]))
    assert found.value == 0.5
    assert found.parts == ((pytest.approx(0.09), 5.0),)
