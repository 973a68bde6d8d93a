from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.forecasts.advice.contest import CHOOSING, Played, ends
from asyncdp_sim.forecasts.advice.tune import tune
from asyncdp_sim.runs import run
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.scenario import Scenario, load
from tests.unit.forecasts.banks import banks

EQUAL = (2000, 2000, 2000)
FEW = {"lengths": (20, 60), "replicates": 4}
CLIPPED = {"sensitivity": {"kind": "clip", "bound": 1.0}}
"""Half of all record gradients are longer at the optimum."""


def scenario(**changes):
    raw = banks(EQUAL, (2.0, 2.0, 2.0), 60, 3.0)
    for part, values in changes.items():
        raw[part] |= values
    return Scenario.model_validate(raw)


def test_moments_beside_a_choice_are_what_a_forecast_of_its_scenario_says():
    found = tune(scenario(), **FEW)
    for shown, told in ((found.best, found.scenario), (found.given, scenario())):
        exact = forecast(told, moments="own")
        assert exact.doubts == ()
        assert shown.setting.moments == pytest.approx(exact.psi, rel=1e-9)
        assert told.algorithm.rho == shown.setting.rho
        assert told.run.updates == shown.setting.updates


@pytest.mark.long
@pytest.mark.parametrize("privacy", [{}, CLIPPED])
def test_the_headline_is_what_a_run_of_the_scenario_gives(privacy):
    asked = scenario(privacy=privacy)
    found = tune(asked, **FEW | {"replicates": 12})
    for shown, told in ((found.best, found.scenario), (found.given, asked)):
        runs = len(shown.simulated.final)
        summary = run(told, numbers=range(1, runs + 1)).summary["psi_final"]
        assert shown.simulated.psi == pytest.approx(summary["mean"], rel=1e-12)
    ratio, half = found.gain
    assert ratio == pytest.approx(found.given.simulated.psi / found.best.simulated.psi)
    assert ratio - half > 2
    gain = next(line for line in found.lines() if line.startswith("gain"))
    assert gain.startswith(f"gain      {ratio:.3g} ± {half:.2g} times")
    assert "not shown" not in gain


@pytest.mark.long
@pytest.mark.parametrize("privacy", [{}, CLIPPED])
def test_the_headline_agrees_with_an_independent_simulation(privacy):
    found = tune(scenario(privacy=privacy), lengths=(40,), replicates=32)
    again = ends(found.scenario, range(5001, 5151), dataset=build_dataset(found.scenario))
    independent = Played(again)
    apart = abs(found.best.simulated.psi - independent.psi)
    assert apart <= 1.5 * np.hypot(found.best.simulated.half_width, independent.half_width)
    assert found.best.simulated.half_width < 0.4 * independent.psi


def test_moments_that_take_clipping_as_inactive_would_promise_half():
    asked = scenario(privacy=CLIPPED)
    found = tune(asked, lengths=(60,), replicates=8)
    loose = found.scenario.model_copy(update={"privacy": scenario().privacy})
    bound = {"kind": "declared", "bound": 1.0}
    privacy = scenario(privacy={"sensitivity": bound}).privacy
    loose = loose.model_copy(update={"privacy": privacy})
    assert forecast(loose, moments="own").psi < 0.7 * found.best.simulated.psi
    assert found.best.setting.moments == pytest.approx(found.best.simulated.psi, rel=0.2)


@pytest.mark.long
def test_choices_near_by_are_no_better():
    found = tune(scenario(), lengths=(30, 60, 120), replicates=20)
    here = found.best.setting
    for factor in (0.6, 1.6):
        near = scenario(algorithm={"rho": factor * here.rho}, run={"updates": here.updates})
        assert forecast(near, moments="own").psi > here.moments


def test_without_noise_a_longer_run_is_better():
    quiet = tune(scenario(privacy={"mechanism": "none"}), lengths=(10, 40, 160), replicates=4)
    assert quiet.best.setting.updates == 160
    assert np.all(np.diff([each.moments for each in quiet.tried]) < 0)


def test_under_a_cap_answers_fit_the_length():
    capped = scenario(privacy={"budget": {"kind": "per-owner-cap", "answers": 45}})
    found = tune(capped, **FEW)
    assert [each.answers for each in found.tried] == [15, 33]
    assert found.given.setting.answers == 45
    assert found.given.setting.moments > found.best.setting.moments


def test_a_choice_that_cannot_be_bettered_is_kept_and_the_advice_says_so():
    better = tune(scenario(), lengths=(60,), replicates=20)
    best = better.best.setting
    own = scenario(algorithm={"rho": best.rho}, run={"updates": 60})
    found = tune(own, lengths=(3,), replicates=20)
    assert found.best is found.given
    assert found.scenario == own
    assert found.lines()[0].startswith(
        f"best      as given, ρ = {best.rho:.4g}, T = 60, K = 60: ψ "
    )
    assert found.lines()[1] == "gain      none: no better choice was found"


def test_a_gain_that_runs_do_not_show_is_said_to_be_none():
    better = tune(scenario(), lengths=(60,), replicates=20)
    near = scenario(algorithm={"rho": 1.02 * better.best.setting.rho})
    told = [line for line in tune(near, lengths=(60,), replicates=10).lines() if "gain" in line]
    assert told[0].endswith("not shown to pay") or "no better choice" in told[0]


def test_what_has_no_moments_is_refused():
    with pytest.raises(SpecError, match="lengths"):
        tune(scenario(), lengths=(0,))
    raw = banks()
    raw["algorithm"] = {"kind": "fedasync", "step": 0.1, "mixing": 0.5}
    with pytest.raises(SpecError, match="no exact moments"):
        tune(Scenario.model_validate(raw))


def test_a_given_choice_without_exact_moments_is_simulated_all_the_same():
    capped = scenario(privacy={"budget": {"kind": "per-owner-cap", "answers": 21}})
    found = tune(capped, **FEW)
    assert found.given.setting.moments is None
    assert str(found.given).endswith("(by moments not known)")
    assert found.given.simulated.psi > found.best.simulated.psi


def test_the_published_choice_on_lending_is_beaten_twofold():
    root = Path(__file__).parents[3] / "scenarios" / "catalogue"
    settings = ["owners.records=10000", "run.record_every=1000"]
    published = load(root / "lending-convergence.toml", settings)[0].base()
    found = tune(published, lengths=(17,), replicates=12)
    assert published.privacy.epsilon == 1.0
    assert found.given.setting.rho == 3000.0
    ratio, half = found.gain
    assert ratio - half > 2


def test_runs_that_chose_are_none_of_those_reported(monkeypatch):
    asked = list[tuple[bool, int]]()

    def seen(scenario, numbers, **how):
        asked.extend((number >= CHOOSING, number) for number in numbers)
        return ends(scenario, numbers, **how)

    monkeypatch.setattr("asyncdp_sim.forecasts.advice.tune.ends", seen)
    tune(scenario(), **FEW)
    chose = {number for early, number in asked if early}
    told = {number for early, number in asked if not early}
    assert told == set(range(1, 5))
    assert chose == set(range(CHOOSING, CHOOSING + 4))


def test_every_sentence_of_the_advice():
    told = tune(scenario(privacy=CLIPPED), lengths=(20, 40), replicates=2).lines("banks.toml")
    heads = [line[:10].rstrip() for line in told]
    assert heads == [
        *("best", "given", "gain", "next best", "next best", "runs", "moments"),
        *("tried", "tried", "assumed", "data"),
    ]
    assert told[5] == (
        "runs      2 of each choice with a ± (longer half of a 95 % interval), networks and noise "
        "being the same for all; other runs chose the best of 9 choices of ρ and T"
    )
    assert told[6] == (
        "moments   estimates, no promise: as if all owners had equally many records, and clipped "
        "gradients were linear around where the model is"
    )
    assert told[-2:] == [
        "assumed   in the search: records are spread over owners as if by chance: one truth for "
        "all of them",
        "data      synthetic records",
    ]
    exact = tune(scenario(), lengths=(20, 60), replicates=4).lines()
    assert "moments   exact for these owners; those tried, as if all owners had equally many " in (
        "\n".join(exact)
    )
