"""Exact moments of learning: in rounds, and given the order of updates."""

import itertools

import numpy as np
import pytest

from analysis.exact.learning import Expected, exact, grid
from analysis.exact.per_update import gossip_map_of, moments
from analysis.exact.turns import capped_moments, capped_size, ordered
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in
from tests.unit.forecasts.banks import banks
from tests.verification.gossip_cases import Case, correlated, dense_moments


def problem(n_owners=3, n_features=2, sigma=0.1, theta_max=None):
    g = np.random.default_rng(5)
    features = [g.normal(size=(10 * (i + 1), n_features)) for i in range(n_owners)]
    targets = [x.sum(axis=1) + g.normal(size=len(x)) for x in features]
    return Quadratic.from_records(features, targets, sigma, theta_max)


def test_the_map_of_an_objective():
    o = problem()
    process = gossip_map_of(o, rho=2.0, updates=5)
    assert np.allclose(process.optimum, o.optimum, rtol=1e-13)
    assert np.allclose(process.hessian, o.hessian, rtol=1e-14)
    assert process.n_owners == 3
    assert process.n_features == 2
    # at the optimum the drifts of the copies and of the central model cancel on average
    assert np.allclose(process.drift.mean(axis=0), -process.central_drift, rtol=1e-12)


def test_divergence_is_infinite_not_an_error():
    process = gossip_map_of(problem(), rho=1e9, updates=200)
    assert not np.all(np.isfinite(moments(process, np.ones(3)).second))


def test_a_projection_that_does_not_act_is_none_and_one_that_does_is_refused():
    assert gossip_map_of(problem(theta_max=50.0), rho=1.0, updates=4).updates == 4
    with pytest.raises(SpecError, match="theta_max"):
        gossip_map_of(problem(theta_max=0.5), rho=1.0, updates=4)


# Exact moments of synchronous learning: where there are some, and where there are none.

T = 30
ALGORITHMS = {
    "collab-1": {"kind": "collab-1", "rho": 300.0},
    "collab-2": {"kind": "collab-2", "step": 0.2},
    "parameter-server": {"kind": "parameter-server", "step": 0.2, "exponent": 0.3},
}


def together(name="collab-2", **parts):
    """Return three banks that learn in rounds."""
    raw = banks(updates=T) | {"protocol": {"kind": "rounds"}, "algorithm": ALGORITHMS[name]}
    raw["run"] |= {"replicates": 2, "record_every": 1} | parts.pop("run", {})
    raw["privacy"] |= parts.pop("privacy", {})
    return Scenario.model_validate(raw | parts)


def told(scenario):
    """Return exact moments, or why there are none."""
    return exact(population(scenario, private=False))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_without_noise_the_forecast_is_the_run(name):
    quiet = together(name, privacy={"mechanism": "none", "sensitivity": None})
    found = told(quiet)
    curve = run(quiet).learned.curve["relative_fitness"].reshape(2, T + 1)
    np.testing.assert_allclose(found.psi, curve[0], rtol=1e-9)
    np.testing.assert_array_equal(found.psi, found.noise_free)


def test_a_grid_is_the_single_forecasts():
    sweep = {"privacy.epsilon": [1.0, 5.0], "algorithm": list(ALGORITHMS.values())}
    swept = together(sweep=sweep)
    for values, point in zip(swept.grid(), grid(swept), strict=True):
        one = told(swept.cell(values))
        assert point.psi == pytest.approx(one.psi, rel=1e-12)
        assert point.noise_free == pytest.approx(one.noise_free, rel=1e-12)


def test_an_average_without_digits_is_said():
    lost = together(algorithm={"kind": "collab-2", "step": 5.0}, run={"updates": 100})
    assert any("no digits" in doubt for doubt in told(lost))


def test_an_early_model_that_leaves_the_box_is_seen_behind_the_average():
    wide = {"kind": "collab-2", "step": 3.0}
    assert isinstance(told(together(algorithm=wide)), Expected)
    for bound, refuted in ((300.0, True), (4000.0, False)):  # averages reach 189, models 3332
        box = {"kind": "ridge", "regularisation": 0.1, "theta_max": bound}
        found = told(together(algorithm=wide, model=box))
        assert (found == ("the projection onto Θ may act",)) is refuted


# Recursions over counts, and given the order of updates, against every order there is.

FIT = correlated(n_owners=3, records=12, n_features=2, sigma=0.2, seed=2)
UPDATES, CHANCE = 6, np.array([0.5, 0.3, 0.2])
KS = np.arange(UPDATES + 1)
CASES = [
    pytest.param(
        Case(FIT, 1.0, UPDATES, np.array([1.0, 2.0, 0.5]), noise, step, initial, CHANCE),
        id=f"{noise[:6]}-{step}-{initial}",
    )
    for noise in ("vector", "scalar-as-published")
    for step in ("proof", "text")
    for initial in ("zeros", "ones", "uniform")
]


def every_order(caps):
    """Return all orders of the updates that budgets allow, −1 after the last, and their P."""
    found, chance = [], []
    length = min(UPDATES, sum(caps))
    for order in itertools.product(range(3), repeat=length):
        left, p = np.array(caps), 1.0
        for owner in order:
            p *= CHANCE[owner] * (left[owner] > 0) / CHANCE[left > 0].sum()
            left[owner] -= 1
            if p == 0:
                break
        if p > 0:
            found.append([*order, *[-1] * (UPDATES - length)])
            chance.append(p)
    return np.array(found), np.array(chance)


@pytest.mark.parametrize("case", CASES)
@one_in(3, "caps", [(2, 3, 1), (1, 2, 1), (6, 6, 6)])
def test_all_ways_agree(case, caps):
    owners, chance = every_order(caps)
    assert chance.sum() == pytest.approx(1.0)
    how = {"noise": case.noise, "initial": case.initial}
    loud, still = (ordered(case.process, owners, KS, v, **how) for v in (case.variance, None))
    found = capped_moments(
        case.process, np.array(caps), case.variance, noise=case.noise, initial=case.initial
    )
    quiet = capped_moments(case.process, np.array(caps), noise=case.noise, initial=case.initial)
    shown = min(UPDATES, sum(caps)) + 1
    np.testing.assert_allclose((chance @ loud)[:shown], found.expected_excess(), rtol=1e-12)
    np.testing.assert_allclose((chance @ still)[:shown], quiet.expected_excess(), rtol=1e-12)
    assert np.all(loud[:, shown:] == loud[:, shown - 1 : shown])
    if min(caps) == UPDATES:
        exact = moments(case.process, case.variance, noise=case.noise, initial=case.initial)
        for name in ("mean", "second", "copies_mean", "copies_second", "cross_second"):
            np.testing.assert_allclose(getattr(found, name), getattr(exact, name), atol=1e-13)
        np.testing.assert_allclose(found.mean, dense_moments(case)[0][:, :2], atol=1e-13)


def test_another_fitness_may_judge_and_some_k_do():
    case, owners = CASES[0].values[0], every_order((2, 3, 1))[0]
    hessian, optimum = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([0.4, -0.1])
    some = np.array([0, 4])
    found = ordered(case.process, owners, some, case.variance, hessian=hessian, optimum=optimum)
    one = moments(case.process, case.variance)
    np.testing.assert_allclose(found[:, 0], one.expected_excess(hessian, optimum)[0], rtol=1e-12)
    every = ordered(case.process, owners, KS, case.variance, hessian=hessian, optimum=optimum)
    np.testing.assert_allclose(found, every[:, some], rtol=1e-12)


def test_an_owner_that_never_has_an_update_is_not_waited_for():
    case = CASES[0].values[0].but(probability=np.array([0.6, 0.4, 0.0]))
    found = capped_moments(case.process, np.array([2, 1, 6]), case.variance)
    assert found.mean.shape == (4, 2)
    assert np.all(np.isfinite(found.second))


def test_orders_do_not_mix():
    case, owners = CASES[0].values[0], every_order((2, 3, 1))[0]
    together = ordered(case.process, owners, KS, case.variance)
    for one, row in zip(together, owners, strict=True):
        assert one == pytest.approx(ordered(case.process, row[None], KS, case.variance)[0])


def test_the_size_of_a_recursion_over_counts():
    process = CASES[0].values[0].process
    assert capped_size(process, np.array([1, 9, 2])) == 2 * 7 * 3 * 3 * 8**2
