from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.forecast.design import tune
from asyncdp_sim.run import run
from asyncdp_sim.scenario import Scenario, load
from tests.unit.forecast.banks import banks, psi_alike

EQUAL = (2000, 2000, 2000)


def scenario(**changes):
    raw = banks(EQUAL, (2.0, 2.0, 2.0), 60, 3.0)
    for part, values in changes.items():
        raw[part] |= values
    return Scenario.model_validate(raw)


def test_the_design_is_what_a_forecast_of_its_scenario_says():
    found = tune(scenario())
    for setting, told in ((found.best, found.scenario), (found.given, scenario())):
        assert setting.psi == pytest.approx(psi_alike(told), rel=1e-9)
        assert (told.algorithm.rho, told.run.updates) == (setting.rho, setting.updates)
    assert found.gain == pytest.approx(found.given.psi / found.best.psi)
    assert found.gain > 2


def test_no_neighbour_is_better():
    found = tune(scenario())
    here = found.best
    assert min(each.psi for each in found.tried) == pytest.approx(here.psi, rel=1e-9)
    for factor in (0.9, 1.1):
        near = scenario(algorithm={"rho": factor * here.rho}, run={"updates": here.updates})
        assert psi_alike(near) > here.psi
    for updates in (here.updates // 2, here.updates * 2):
        assert tune(scenario(), lengths=(updates,)).best.psi > here.psi


def test_without_noise_a_longer_run_is_better():
    quiet = tune(scenario(privacy={"mechanism": "none"}), lengths=(10, 40, 160))
    assert quiet.best.updates == 160
    assert np.all(np.diff([each.psi for each in quiet.tried]) < 0)


def test_under_a_cap_answers_fit_the_length():
    capped = scenario(privacy={"budget": {"kind": "per-owner-cap", "answers": 45}})
    found = tune(capped, lengths=(20, 60))
    assert [each.answers for each in found.tried] == [15, 33]
    assert found.given.answers == 45


def test_owners_of_unequal_sizes_are_reported_exactly():
    found = tune(Scenario.model_validate(banks()))
    assert found.best.psi == pytest.approx(psi_alike(found.scenario), rel=1e-9)
    assert found.gain > 1


def test_what_has_no_moments_is_refused():
    with pytest.raises(SpecError, match="lengths"):
        tune(scenario(), lengths=(0,))
    raw = banks()
    raw["algorithm"] = {"kind": "fedasync", "step": 0.1, "mixing": 0.5}
    with pytest.raises(SpecError, match="no exact moments"):
        tune(Scenario.model_validate(raw))


def test_the_published_choice_on_lending_is_beaten_twofold_in_simulation_too():
    root = Path(__file__).parents[3] / "scenarios" / "catalogue"
    settings = ["owners.records=10000", "run.record_every=1000"]
    published = load(root / "lending-convergence.toml", settings)[0].base()
    found = tune(published, lengths=(10, 17, 30))
    assert published.privacy.epsilon == 1.0
    assert found.given.rho == 3000.0
    assert found.gain > 2
    ends = []
    for scenario in (published, found.scenario):
        curve = run(scenario).learned.curve
        last = np.flatnonzero(np.diff(curve["replicate"], append=-1) != 0)
        ends.append(curve["relative_fitness"][last])
    z = (found.given.psi - ends[0].mean()) / (ends[0].std(ddof=1) / 10)
    assert abs(z) < 4
    assert ends[0].mean() > 2 * ends[1].mean() + 4 * ends[0].std(ddof=1) / 10


def test_a_given_choice_without_exact_moments_is_said_to_be_unknown():
    capped = scenario(privacy={"budget": {"kind": "per-owner-cap", "answers": 21}})
    found = tune(capped, lengths=(20, 40))
    assert found.given is None
    assert found.gain is None
    assert any("budgets may end" in doubt for doubt in found.doubts)
    assert found.best.psi > 0
    assert "gain   not known" in found.lines()
