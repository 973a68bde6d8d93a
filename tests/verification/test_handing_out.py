"""Whom to ask, and how many at a time: the best choice is as soon, and as good, as was forecast."""

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.forecasts.handing_out import search as searching
from asyncdp_sim.forecasts.handing_out import soonest
from asyncdp_sim.forecasts.handing_out.search import alike, handed_out, ladder
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec import parse

pytestmark = pytest.mark.no_evidence

TARGET = 0.05
RAW = {
    "schema": 1,
    "id": "fast-and-slow",
    "run": {"seed": 1, "updates": 80},
    "owners": {"count": 4, "records": 20000},
    "data": {"kind": "gaussian", "features": 3, "condition": 4.0, "heterogeneity": 0.2},
    "model": {"kind": "ridge", "regularisation": 0.01, "theta_max": 20.0},
    "compute": [{"kind": "exponential", "mean": each} for each in (0.1, 0.1, 2.0, 2.0)],
    "protocol": {"kind": "dispatch", "tasks": 4},
    "algorithm": {
        "kind": "fedbuff", "step": 0.3, "server_step": 1.0, "buffer": 1,
        "weighting": "constant", "selection": "inverse-rate",
    },
    "privacy": {
        "epsilon": 10.0,
        "sensitivity": {"kind": "domain", "row_norm": 1.0, "target_max": 1.0, "rows": "l2"},
        "budget": {"kind": "as-asked"},
    },
}  # fmt: skip


def scene(**parts: object) -> Scenario:
    return parse(Scenario, {**RAW, **parts})


def off(reached) -> float:
    """Return by how many standard errors the time of runs is off the forecast's."""
    error = reached.times.std(ddof=1) / np.sqrt(len(reached.times))
    return (reached.times.mean() - reached.choice.time) / np.hypot(error, reached.choice.error)


@pytest.mark.long
def test_the_best_is_as_soon_and_as_good_as_forecast(monkeypatch):
    monkeypatch.setattr(searching, "SETTLED", 100)
    found = soonest(scene(), TARGET, replicates=100)
    for reached in (found.best, found.even):
        psi = reached.simulated.final
        assert abs(off(reached)) < 4
        assert (psi.mean() - TARGET) / (psi.std(ddof=1) / 10) < 4
    assert found.best.choice.time <= found.even.choice.time
    ratio, half = found.gain
    assert abs(ratio - found.even.choice.time / found.best.choice.time) < 3 * half
    assert found.best.choice.chances[0] > found.best.choice.chances[-1]  # the fast ones
    assert sum(found.scenario.network.answers_allowed) > found.best.choice.updates
    assert found.scenario.protocol.tasks == found.best.choice.tasks
    told = "\n".join(found.lines("mix.toml"))
    assert "--tune --target 0.05" in told


def test_owners_that_are_alike_have_one_chance():
    known = population(scene(), "own", private=False)
    groups = alike(known.scenario, known.objective)
    assert groups == ((0, 1), (2, 3))
    assert list(ladder(5)) == [1, 2, 4, 5, 10]
    chosen = handed_out(known.scenario, 3, (0.4, 0.4, 0.1, 0.1), 0.2, 50)
    allowed = chosen.network.answers_allowed
    assert allowed[0] == allowed[1] > 2 * allowed[2]
    assert (chosen.run.updates, chosen.algorithm.step, chosen.protocol.tasks) == (50, 0.2, 3)


@pytest.mark.parametrize("step", [0.3 / 12, 1.8])
def test_steps_are_sought_beyond_those_that_are_tried_first(monkeypatch, step):
    monkeypatch.setattr(searching, "ORDERS", 8)

    def time(given):
        known = population(
            scene(algorithm={**RAW["algorithm"], "step": given}), "own", private=False
        )
        search = searching.HandingOut(known, TARGET, alike(known.scenario, known.objective))
        return search.soonest(4, (0.25,) * 4).time

    assert time(step) == pytest.approx(time(0.3), rel=0.05)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"algorithm": {"kind": "fedasync", "step": 0.1, "mixing": 0.5}}, "not one model"),
        ({"algorithm": {**RAW["algorithm"], "buffer": 3}}, "not one model"),
        ({"channel": {"kind": "ideal", "loss": 0.1}}, "messages are lost"),
        ({"run": {"updates": 80, "until": 5.0}}, "run.until"),
        ({"privacy": {**RAW["privacy"], "sensitivity": {"kind": "clip", "bound": 1.0}}}, "clipped"),
    ],
)
def test_what_has_no_moments_is_refused_by_name(parts, said):
    small = {"owners": {"count": 4, "records": 50}, **parts}
    with pytest.raises(SpecError, match=said):
        soonest(scene(**small), TARGET)


@pytest.mark.long
def test_a_target_that_is_never_reached_is_refused():
    with pytest.raises(SpecError, match=r"--target: given 1e-09; nothing that was tried"):
        soonest(scene(run={"updates": 8}, owners={"count": 4, "records": 50}), 1e-9)
