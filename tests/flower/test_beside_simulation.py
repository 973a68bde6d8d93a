"""Real runs of three owners on 127.0.0.1, each beside simulated runs with its measured latencies.

``python -m pytest -m flower -s tests/flower/test_beside_simulation.py`` prints the figures.
"""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

import numpy as np
import pytest

from asyncdp_sim import run
from asyncdp_sim.imports import fit_law
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from tests.flower.loopback import Loopback
from tests.unit.exports.banks import BANKS, banks

pytestmark = [pytest.mark.flower, pytest.mark.nightly]  # some minutes each, on an idle machine
SIMULATED = 1000
UPDATES, ANSWERS = 40, 20


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Keep as many processes busy."""
    workers = [multiprocessing.get_context("fork").Process(target=_spin) for _ in range(count)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def _spin() -> None:
    while True:
        pass


@pytest.mark.parametrize("busy", [0, 4])
def test_a_real_run_is_one_of_the_runs_simulated_with_its_latencies(tmp_path, busy):
    budget = {"kind": "per-owner-cap", "answers": ANSWERS}
    scenario = banks(tmp_path).replace(privacy={"budget": budget}, run={"updates": UPDATES})
    with closing(Loopback(tmp_path)) as network, _busy(busy):
        network.start()
        network.carry_out(scenario)
        network.finished_run(wait=900.0)
        log = network.folder / "server/exchanges.csv"
        exchanges = np.genfromtxt(log, delimiter=",", skip_header=1, usecols=(1, 2))
        model, charges = network.model(), [network.charges(bank) for bank in BANKS]
    load_average = os.getloadavg()[1]
    real = {"time": np.nanmax(exchanges[:, 1]), "ψ": _psi(scenario, model["model"])}
    real |= {f"answers of {bank}": model["owners"][bank]["answers"] for bank in BANKS}
    spent = zip(BANKS, charges, strict=True)
    real |= {f"ε of {bank}": charged * 5.0 / ANSWERS for bank, charged in spent}
    lasted = np.diff(exchanges[~np.isnan(exchanges[:, 1])])[:, 0]
    fitted = fit_law(*np.array_split(lasted, 2))  # as ``asyncdp import trace --fit`` does
    print(f"\n{busy} busy processes, load {load_average:.1f}; an exchange (s): {fitted}")
    rare = {}
    for name, simulated in _simulated(scenario.replace(compute=fitted.law.model_dump())).items():
        low, high = np.quantile(simulated, [0.025, 0.975])
        beyond = min((simulated <= real[name]).mean(), (simulated >= real[name]).mean())
        rare[name] = 2 * beyond
        print(
            f"{name}: {real[name]:.3g}, simulated {simulated.mean():.3g} ({low:.3g} to {high:.3g})"
        )
    lost = sum(owner["lost"] for owner in model["owners"].values())
    print(f"{len(exchanges)} queries, {np.isnan(exchanges[:, 1]).sum()} unanswered, {lost} lost")
    assert min(rare.values()) > 0.002, rare  # 8 figures: false in 1.6 % of nights at most


def _psi(scenario: Scenario, model: list[float]) -> float:
    """Return ψ of a model, by the simulation's objective."""
    objective = prepare(scenario, build_dataset(scenario)).task.objective
    [fitness] = objective.fitness(np.array([model]))
    last = run(scenario.replace(run={"replicates": 1})).curve.iloc[-1]
    return float(fitness / (last.fitness / (1 + last.relative_fitness)) - 1)


def _simulated(scenario: Scenario) -> dict[str, np.ndarray]:
    """Return each figure of many simulated runs."""
    result = run(scenario.replace(run={"replicates": SIMULATED, "seed": 5}))
    last = result.curve.groupby("replicate").tail(1)
    figures = {"time": last.time.to_numpy(), "ψ": last.relative_fitness.to_numpy()}
    owners = result.owners.set_index(["replicate", "owner"])
    for place, bank in enumerate(BANKS, 1):
        own = owners.xs(place, level="owner")
        figures[f"answers of {bank}"] = own.answers_released.to_numpy()
        figures[f"ε of {bank}"] = own.epsilon_spent.to_numpy()
    return figures
