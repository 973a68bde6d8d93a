"""The step of an update in place of ρ: one number everywhere, and how far it takes the model."""

import numpy as np
import pytest

from asyncdp_sim.forecasts.advice.tune import tune
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.step import step_lines
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.forecast import lines
from asyncdp_sim.theory.formulas.convergence import contraction
from tests.tables import table
from tests.unit.forecasts.banks import banks

RHO, T, N, SIGMA = 30.0, 60, 3, 0.1
STEP = N * RHO / (T**2 * SIGMA)


def scenario(step=STEP, *, updates=T):
    raw = banks((400, 400, 400), (1.0, 2.0, 0.5), updates, RHO)
    if step is not None:
        raw["algorithm"] = {"kind": "async-gossip", "step": step}
    return Scenario.model_validate(raw)


BY_RHO = scenario(None)


@pytest.mark.parametrize("learning", ["replay", "live"])
def test_runs_by_the_step_are_those_by_its_rho(learning):
    by_step, by_rho = (
        run(each.replace(run={"learning": learning}), numbers=range(1, 5)).summary["psi_final"]
        for each in (scenario(), BY_RHO)
    )
    assert by_step["mean"] == pytest.approx(by_rho["mean"], rel=1e-9)


def test_forecasts_by_the_step_are_those_by_its_rho():
    one, other = (forecast(each) for each in (scenario(), BY_RHO))
    assert one.psi == pytest.approx(other.psi, rel=1e-9)


def test_a_shorter_run_keeps_the_step_and_goes_not_so_far():
    short = scenario(updates=T // 5)
    assert short.algorithm.step_of(N, T // 5, SIGMA) == STEP
    by_rho = scenario(None, updates=T // 5)
    assert by_rho.algorithm.step_of(N, T // 5, SIGMA) == pytest.approx(25 * STEP)


def test_tuning_writes_the_step():
    found = tune(BY_RHO)
    assert found.scenario.algorithm.rho is None
    assert found.scenario.algorithm.step == found.best.setting.step
    assert found.lines()[0].startswith(f"best      step = {found.best.setting.step:.3g}, T = ")


@pytest.mark.parametrize("central_step", ["proof", "text"])
@pytest.mark.parametrize("curvature", [0.1, 2.0, 40.0, 400.0])
def test_the_contraction_is_that_of_the_mean_path(curvature, central_step):
    owners, step, updates = 4, 0.3, 50
    models, after = np.eye(owners + 1), np.zeros((owners + 1, owners + 1))
    beta = step / (2 * owners) if central_step == "proof" else step * (owners - 1) / owners**2
    for owner in range(1, owners + 1):  # every owner's update, each with probability 1/N
        moved, middle = models.copy(), (models[0] + models[owner]) / 2
        gradient = (curvature - SIGMA) * middle / owners
        moved[owner] = middle - step * (SIGMA * middle / (2 * owners) + gradient)
        moved[0] = middle - beta * SIGMA * middle
        after += moved / owners
    slowest = np.abs(np.linalg.eigvals(after)).max()
    how = {"step": step, "sigma": SIGMA, "updates": updates, "central_step": central_step}
    left = contraction(curvature, owners, **how)
    assert left == pytest.approx(slowest**updates, rel=1e-6)


ALGORITHMS = table(__file__, "scenes.toml")["one_owner"]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm["kind"])
def test_a_check_says_what_other_steps_leave_of_the_distance(algorithm):
    raw = banks((400,), (np.inf,), T, RHO) | {"algorithm": algorithm}
    raw["data"]["features"] = 1
    answers = algorithm["kind"].startswith("fed")
    raw["protocol"] = {"kind": "request" if answers else "rounds"}
    alone = Scenario.model_validate(raw)
    psi = run(alone, numbers=[1]).learned.curve["relative_fitness"]
    (said, *_) = step_lines(alone)
    left = float(said.split("after T updates, ")[1].split()[0])
    assert left == pytest.approx(np.sqrt(psi[-1] / psi[0]), rel=0.05)
    assert 0.001 < left < 0.9
    assert ("for staleness 0" in said) == answers


@pytest.mark.parametrize(("rho", "diverges"), [(40.0, False), (40_000.0, True)])
def test_steps_that_are_too_long_are_named(rho, diverges):
    told = lines(forecast(Scenario.model_validate(banks(updates=200, rho=rho))))
    said = [line for line in told if line.startswith("diverges")]
    assert len(said) == diverges
    assert all("take shorter steps" in line for line in said)
