"""Other protocols at the same ε, and observers side by side: what is compared, and what is said."""

import json
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

import asyncdp_sim as ad
from asyncdp_sim.api.traces import Forecast
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.decision import Estimate
from asyncdp_sim.decision.forecast import Alternative
from asyncdp_sim.forecasts.alternatives import DELTA, ROUNDS, alternatives
from asyncdp_sim.forecasts.forecast import applying, forecast
from asyncdp_sim.forecasts.gains import Asked
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.accountants import gaussian_epsilon, gaussian_multiplier
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sentences import forecast as said
from asyncdp_sim.sentences.forecast import (
    NO_BETTER,
    NOT_COMPARED,
    better_protocol,
    content_of_others,
    lines_of_others,
)
from tests.one_in import one_in
from tests.unit.forecasts.banks import banks
from tests.unit.forecasts.clinics import clinics

LINEAR = Asked(own_best="linear", break_even=False)


def compared(scenario, whose=None, private=False):
    known = population(scenario.base(), private=private)
    found = forecast(scenario, known=known, judged=LINEAR, whose=whose)
    return found, alternatives(known, LINEAR, whose, found.gains)


def hidden_whole():
    """Return a scenario that hides whole owners."""
    clip = {"kind": "clip", "bound": 1.0}
    privacy = {"epsilon": 1.0, "unit": "owner", "sensitivity": clip}
    return Scenario.model_validate(banks(updates=6) | {"privacy": privacy})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A scenario, what its owners gain on average, and other protocols; compared once."""
    scenario = clinics(tmp_path_factory.mktemp("clinics"), epsilon=3.0)
    return scenario, *compared(scenario)


def test_sums_are_better_where_noise_rules(made):
    _, found, (moments, sums) = made
    assert [moments.name, sums.name] == ["noisy second moments", "sums of answers"]
    assert sums.more.low > 0
    assert sums.more.value > moments.more.value
    better = better_protocol(content_of_others((moments, sums)), "the average owner")
    table = lines_of_others(found.gains, (moments, sums))
    assert " ".join(table[0].split()) == "protocol mean gain, days more than in the scenario"
    assert "sums of answers, δ = 1e-06" in table[3]
    [verdict] = [line for line in table if line.startswith("Better protocol")]
    gains = "sums of answers, δ = 1e-06: the average owner gains"
    assert better.startswith(gains)
    assert verdict.startswith(f"Better protocol  {gains}")
    assert " days (" in verdict
    content = json.loads(said.as_json(found, content_of_others((moments, sums))))["alternatives"]
    assert [other["protocol"] for other in content] == [moments.name, sums.name]
    assert content[1]["difference"]["low"] == pytest.approx(sums.more.low)
    assert content[1]["consortium"]["gain"] == pytest.approx(sums.gains.together.gain.value)


def test_the_python_door_has_other_protocols_as_a_frame(made):
    _, found, others = made
    opened = Forecast(found, others)
    frame = opened.alternatives
    assert frame["protocol"].tolist() == [other.name for other in others]
    assert frame["low"].tolist() == [other.more.low for other in others]
    lines = lines_of_others(found.gains, others)
    assert opened.lines()[-len(lines) :] == lines
    assert len(Forecast(found).alternatives) == 0
    asked = ad.forecast(hidden_whole(), alternatives=True).alternatives
    assert "allowed with privacy.unit owner: clip" in asked["refused"][0]


def test_every_owner_keeps_its_epsilon(made):
    scenario, _, others = made
    for other in others:
        changed = scenario.replace(**other.settings)
        assert set(changed.accountant.epsilon.tolist()) == {3.0}
        assert changed.privacy.stated_delta == {"sums of answers": 1e-6}.get(other.name, 0.0)


@pytest.mark.long
def test_settings_are_chosen_without_private_rows(tmp_path):
    """The public rows are the same, and so are the settings, whatever the owners' rows are."""
    public, private = clinics(tmp_path, epsilon=3.0), clinics(tmp_path, epsilon=3.0)
    _, chosen = compared(public)
    rows = pd.read_csv(tmp_path / "all.csv")
    rows.assign(**dict.fromkeys("abcde", 9), stay=1).to_csv(tmp_path / "all.csv", index=False)
    _, again = compared(private, private=True)
    assert [other.settings for other in chosen] == [other.settings for other in again]


def test_an_owner_that_asks_is_compared_by_its_own_gain(tmp_path):
    found, others = compared(clinics(tmp_path, epsilon=3.0), whose="C1")
    table = lines_of_others(found.gains, others)
    assert " ".join(table[0].split()) == "protocol gain, days more than in the scenario"
    for other in others:
        [one], [two] = found.gains.judged[0], other.gains.judged[0]
        most = (one.gain.variance**0.5 + two.gain.variance**0.5) ** 2
        assert other.more.variance == pytest.approx(most)


@pytest.mark.long
def test_the_own_protocol_is_no_alternative(made):
    scenario, _, others = made
    for other in others:
        _, rest = compared(scenario.replace(**other.settings))
        assert other.name not in [each.name for each in rest]


def test_what_does_not_fit_says_why():
    found, (moments, *_) = compared(hidden_whole())
    assert "allowed with privacy.unit owner: clip" in moments.refused
    assert f"noisy second moments: {moments.refused}" in lines_of_others(found.gains, (moments,))


def test_nothing_is_compared_where_owners_differ(tmp_path):
    found, others = compared(clinics(tmp_path, away=1.5))
    assert others == ()
    assert lines_of_others(found.gains, others) == [NOT_COMPARED]


def test_no_protocol_is_called_better_without_an_interval_above_zero():
    wide, clear = Estimate(0.5, ((1.0, 9.0),)), Estimate(0.3, ((0.01, 9.0),))
    others = [Alternative("one", {}, more=wide)]
    assert better_protocol(content_of_others(others), "Clinic A") == NO_BETTER
    others.append(Alternative("another", {}, more=clear))
    better = better_protocol(content_of_others(others), "Clinic A")
    assert better.startswith("another: Clinic A gains 0.30 (0.07 to 0.53) more")


def test_the_page_says_what_is_tried_and_what_json_has(made):
    page = Path(__file__).parents[3] / "docs" / "privacy" / "aggregation.md"
    page = " ".join(page.read_text(encoding="utf-8").split())
    _, _, others = made
    [first, _] = content_of_others(others)
    assert all(f"`{key}`" in page for key in first)
    assert f"rounds ({ROUNDS[0]} to {ROUNDS[-1]})" in page
    assert DELTA == 1e-6
    assert "δ (10⁻⁶ if the scenario has none)" in page


@pytest.mark.parametrize("kind", ["svm", "logistic"])
def test_classifiers_have_sums_alone_where_their_curvature_is_bounded(kind):
    raw = banks(records=(60, 60), epsilon=(3.0, 3.0), updates=6)
    raw["data"]["labels"] = True
    raw["model"] = {"kind": kind, "regularisation": 0.1}
    raw["privacy"]["sensitivity"] = {"kind": "clip", "bound": 1.0}
    raw["algorithm"] = {"kind": "async-gossip", "step": 0.5}
    _, (moments, sums) = compared(Scenario.model_validate(raw))
    assert "noisy-statistics solves least squares: allowed is ridge" in moments.refused
    if kind == "svm":
        assert "no step is proposed where curvature has no bound" in sums.refused
    else:
        assert sums.refused is None


# Observers side by side: ε of each, the noise that would do against it, and ψ then.

SCENE = Path(__file__).parents[2] / "verification" / "scenes" / "last-model.toml"
MANY = "owners.records=2000"


@cache
def of_many():
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
    told = said.lines(found)
    head = next(at for at, line in enumerate(told) if "ε against" in line)
    assert " ".join(told[head].split()) == "ε against at most noise ψ then ψ alone above"
    assert told[head + 1].split()[:3] == ["transcript", "2", "1"]
    raw = json.loads(said.as_json(found))["observers"]
    above = [each.psi_alone_above for each in found.observers]
    assert [each["psi_alone_above"] for each in raw] == above
    assert raw[2]["observer"] == "an observer of the last central model alone"


def test_where_one_observer_applies_nothing_is_said_of_any():
    for mechanism in ("laplace", "none"):
        settings = f"privacy.mechanism={mechanism}", "privacy.observer.kind=transcript"
        found = forecast(load(SCENE, settings)[0], judged=None)
        assert found.observers == ()
        assert "observers" not in json.loads(said.as_json(found))
        assert not any("ε against" in line for line in said.lines(found))


def test_an_observer_of_the_scenario_s_own_kind_is_one_of_them():
    settings = (
        "protocol={kind='gossip', graph={kind='ring'}}",
        "algorithm={kind='averaging', step=0.2}",
        "privacy.budget={kind='per-owner-cap', answers=1}",
        "privacy.observer={kind='node', colluding=[2]}",
    )
    gossip = load(SCENE, settings)[0]
    assert [each.name for each in applying(gossip)] == ["transcript", "node", "node"]
