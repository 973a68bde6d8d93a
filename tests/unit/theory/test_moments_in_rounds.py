"""Exact moments of synchronous learning: where there are some, and where there are none."""

import numpy as np
import pytest

from analysis.exact.grid import grid
from analysis.exact.learning import exact
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.network import simulate
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from tests.unit.forecasts.banks import banks

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
        assert point.psi == pytest.approx(one.psi[-1], rel=1e-12)
        assert point.noise_free == pytest.approx(one.noise_free[-1], rel=1e-12)


BURSTS = {"to_bad": 0.2, "to_good": 0.5}
ON_OFF = {
    "kind": "on-off",
    "on": {"kind": "exponential", "mean": 1.0},
    "off": {"kind": "exponential", "mean": 0.5},
}
WORK = {"kind": "exponential", "mean": 0.2}
CHURN = {
    "kind": "churn",
    "join": {"kind": "none"},
    "lifetime": {"kind": "exponential", "mean": 3.0},
}
LACKING = {
    "deadline": ({"protocol": {"kind": "rounds", "deadline": 0.3}}, "deadline"),
    "loss": ({"channel": {"kind": "ideal", "loss": 0.1}}, "messages are lost"),
    "queries lost": ({"channel": {"kind": "ideal", "loss_query": 0.1}}, "messages are lost"),
    "bursts": ({"channel": {"kind": "ideal", "loss": BURSTS}}, "messages are lost"),
    "aloha": ({"channel": {"kind": "aloha", "airtime": 0.05}}, "share a channel (pure ALOHA)"),
    "bernoulli": ({"availability": {"kind": "bernoulli", "probability": 0.5}}, "bernoulli"),
    "churn": ({"availability": CHURN}, "churn"),
    "cap": (
        {"privacy": {"budget": {"kind": "per-owner-cap", "answers": [T, 9, T]}}},
        "a budget of 9 answers",
    ),
    "until": ({"run": {"until": 4.0}}, "run.until"),
}
TDMA = {"kind": "tdma", "airtime": 0.1, "slot": 0.1}
WHOLE = {
    "plain": {},
    "on-off": {"availability": ON_OFF},
    "outages": {
        "availability": {
            "kind": "outages",
            "groups": [[1, 2]],
            "gap": {"kind": "exponential", "mean": 1.0},
            "length": {"kind": "exponential", "mean": 1.0},
        }
    },
    "tdma": {"channel": TDMA},
    "tdma side by side": {"channel": {"kind": "parallel", "channels": 2, "each": TDMA}},
    "capped as long as it takes": {"privacy": {"budget": {"kind": "per-owner-cap", "answers": T}}},
}


def attended(scenario):
    """Return how many answers each round has."""
    trace = simulate(scenario.network, Streams(2).within("one"))
    return np.bincount(trace.updates["k"], minlength=T + 1)[1:]


@pytest.mark.parametrize("name", LACKING)
def test_where_rounds_lack_answers_it_is_said(name):
    parts, reason = LACKING[name]
    scenario = together(**{"compute": WORK} | parts)
    assert any(reason in doubt for doubt in told(scenario))
    assert attended(scenario).min() < 3  # and they do


@pytest.mark.parametrize("name", WHOLE)
def test_where_everybody_answers_in_the_end_moments_are_exact(name):
    scenario = together(**{"compute": WORK} | WHOLE[name])
    assert not isinstance(told(scenario), tuple)
    assert attended(scenario).tolist() == [3] * T


OTHER = {
    "batch": (
        {
            "algorithm": ALGORITHMS["parameter-server"] | {"batch": 5},
            "privacy": {"mechanism": "none", "sensitivity": None},
        },
        "a new random sample of the owner's records",
    ),
    "clipped": ({"privacy": {"sensitivity": {"kind": "clip", "bound": 1.0}}}, "clipped"),
    "not quadratic": (
        {
            "model": {"kind": "mlp", "regularisation": 0.1, "hidden": 2},
            "algorithm": {"kind": "collab-2", "step": 0.2, "initial": "uniform"},
        },
        "not quadratic",
    ),
    "projected": (
        {"model": {"kind": "ridge", "regularisation": 0.1, "theta_max": 1.5}},
        "projection onto Θ may act",
    ),
    "diverging": ({"algorithm": {"kind": "parameter-server", "step": 1e6}}, "diverges"),
    "without digits": (
        {"algorithm": {"kind": "collab-2", "step": 5.0}, "run": {"updates": 100}},
        "no digits",
    ),
}


@pytest.mark.parametrize("name", OTHER)
def test_where_the_model_does_not_follow_its_moments_it_is_said(name):
    parts, reason = OTHER[name]
    assert any(reason in doubt for doubt in told(together(**parts)))
    assert grid(together(**parts, sweep={"run.seed": [1]}))[0].psi is None


def test_an_early_model_that_leaves_the_box_is_seen_behind_the_average():
    wide = {"kind": "collab-2", "step": 3.0}
    free = told(together(algorithm=wide))
    bound = 1.5 * float(free._loud.judged.reach)
    assert bound < free._loud.model.reach
    box = {"kind": "ridge", "regularisation": 0.1, "theta_max": bound}
    assert told(together(algorithm=wide, model=box)) == ("the projection onto Θ may act",)
