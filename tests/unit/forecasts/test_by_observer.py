"""Observers side by side: ε of each, the noise that would do against it, and ψ then."""

import json
from functools import cache
from pathlib import Path

import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.decision.forecast import Forecast
from asyncdp_sim.forecasts.costs import applying
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.accountants.own import gaussian_epsilon, gaussian_multiplier
from asyncdp_sim.scenario import load
from asyncdp_sim.sentences.forecast import as_json, lines
from tests.one_in import one_in

SCENE = Path(__file__).parents[2] / "verification" / "scenes" / "last-model.toml"
MANY = "owners.records=2000"


@cache
def of_many() -> Forecast:
    return forecast(load(SCENE, (MANY,))[0], judged=None)


def test_each_observer_has_its_epsilon_its_noise_and_its_winners():
    found = of_many()
    transcript, every, last, sums = found.observers
    names = ["transcript", "all models", "last model", "aggregate"]
    assert [each.name for each in found.observers] == names
    assert transcript.epsilon == pytest.approx(2.0, rel=1e-5)
    assert transcript.quieter == pytest.approx(1.0, rel=1e-5)
    assert transcript.psi == pytest.approx(found.psi, rel=1e-4)
    assert transcript.psi_alone_above == sum(found.alone > found.psi)
    assert every.quieter == pytest.approx(3**-0.5, rel=1e-4)  # three owners' noise is in a sum
    assert (sums.quieter, sums.psi) == pytest.approx((every.quieter, every.psi), rel=1e-4)
    assert every.psi - found.noise_free == pytest.approx(found.cost_of_privacy / 3, rel=1e-3)
    assert last.epsilon < every.epsilon < transcript.epsilon
    assert [each.psi_alone_above for each in found.observers] == [1, 2, 3, 2]


@one_in(2, "sees", ["all", "last"])
def test_with_so_much_noise_an_owner_spends_its_budget_against_that_observer(sees):
    budgets = "privacy.epsilon=[1.0, 2.0, 3.0]"
    scenario = load(SCENE, (MANY, budgets, f"privacy.observer.sees={sees}"))[0]
    found = {each.name: each for each in forecast(scenario, judged=None).observers}
    noise = found[{"all": "all models", "last": "last model"}[sees]].quieter
    multipliers = [gaussian_multiplier(each, 1e-5) * noise for each in (1.0, 2.0, 3.0)]
    louder = [gaussian_epsilon(each, 1e-5) for each in multipliers]
    less = load(SCENE, (MANY, f"privacy.epsilon={louder}", f"privacy.observer.sees={sees}"))[0]
    trace = simulate(less.network, Streams(1).within("replicate", 1))
    accountant = less.privacy.accountant_for(3, less.run.updates)
    told = less.privacy.listener.listening(less).learned(accountant, [trace]).most[0]
    shares = told / [1.0, 2.0, 3.0]
    assert max(shares) == pytest.approx(1.0, rel=1e-4)


def test_the_screen_and_json_have_all():
    found = of_many()
    told = lines(found)
    head = next(at for at, line in enumerate(told) if "ε against" in line)
    assert " ".join(told[head].split()) == "ε against at most noise ψ then ψ alone above"
    assert told[head + 1].split()[:3] == ["transcript", "2", "1"]
    raw = json.loads(as_json(found))["observers"]
    above = [each.psi_alone_above for each in found.observers]
    assert [each["psi_alone_above"] for each in raw] == above
    assert raw[2]["observer"] == "an observer of the last central model alone"


def test_where_one_observer_applies_nothing_is_said_of_any():
    for mechanism in ("laplace", "none"):
        settings = f"privacy.mechanism={mechanism}", "privacy.observer.kind=transcript"
        found = forecast(load(SCENE, settings)[0], judged=None)
        assert found.observers == ()
        assert "observers" not in json.loads(as_json(found))
        assert not any("ε against" in line for line in lines(found))


def test_an_observer_of_the_scenario_s_own_kind_is_one_of_them():
    settings = (
        "protocol={kind='gossip', graph={kind='ring'}}",
        "algorithm={kind='averaging', step=0.2}",
        "privacy.budget={kind='per-owner-cap', answers=1}",
        "privacy.observer={kind='node', colluding=[2]}",
    )
    gossip = load(SCENE, settings)[0]
    assert [each.name for each in applying(gossip)] == ["transcript", "node", "node"]
