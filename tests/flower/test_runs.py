"""Real runs of exported apps over Flower on 127.0.0.1, whose parties are killed in between.

Needs the extra ``flower``: ``python -m pytest -m flower tests/flower``.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager

import numpy as np
import pytest

from asyncdp_sim import exports, run
from asyncdp_sim.imports import fit_law
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from tests.flower.loopback import Loopback
from tests.unit.exports.banks import BANKS, banks
from tests.unit.exports.test_flower import ALGORITHMS, PUSH

pytestmark = [pytest.mark.flower, pytest.mark.nightly]  # a quarter of an hour in all
OTHERS = ["fedasync", "fedbuff", "collab-1", "collab-2", "parameter-server"]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    with closing(Loopback(tmp_path_factory.mktemp("banks"))) as network:
        network.start()
        yield network


def test_killed_parties_cost_answers_and_exceed_no_budget(network: Loopback, monkeypatch) -> None:
    monkeypatch.setattr(exports, "PATIENCE", 60.0)
    budget = {"kind": "per-owner-cap", "answers": 10}  # in all as many as there are updates
    network.carry_out(banks(network.folder).replace(**PUSH, privacy={"budget": budget}))
    started = network.start_run()
    network.wait(lambda: network.updates() >= 5)
    client = network.wait(
        lambda: next((bank for bank in BANKS if network.kill(bank, "flwr-clientapp")), "")
    )
    network.wait(lambda: network.updates() >= 10)
    assert network.kill("west") > 0
    before = network.answers()
    network.start_node("west")
    hit = {client, "west"}  # they answer again when the server has waited for them long enough
    network.wait(lambda: all(network.answers()[bank] > before[bank] for bank in hit))
    assert network.kill("link") > 0
    network.wait(lambda: started.poll() is not None)
    assert started.returncode != 0
    made = network.updates()
    assert made < 30
    network.start_link()
    printed = network.finished_run()
    assert f"starts at update {made} of 30" in printed
    ended = "all updates are made" if network.updates() == 30 else "no owner has budget left"
    assert f"update {network.updates()} of 30: {ended}" in printed
    assert [network.charges(bank) for bank in BANKS] == [10, 10, 10]
    # An answer that was logged when the link was killed may not have come into the checkpoint.
    assert network.updates() <= sum(network.answers().values()) <= network.updates() + 1


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_algorithm_is_carried_out(network: Loopback, name: str) -> None:
    updates, changes = (3, {"protocol": {"kind": "request"}}) if name == "fedasync" else (2, {})
    settings = {**ALGORITHMS[name], **changes, "run": {"updates": updates}}
    network.carry_out(banks(network.folder).replace(**settings))
    assert f"update {updates} of {updates}: all updates are made" in network.finished_run()
    assert network.updates() == updates
    head, *errors, _ = network.adapted("north").splitlines()
    assert head.startswith("mean absolute error on ")
    assert [line.split("  ")[1].strip() for line in errors[:2]] == ["joint model", "adapted model"]


def test_each_fault_of_an_owner_is_in_the_log_and_the_others_learn(network: Loopback) -> None:
    budget = {"budget": {"kind": "per-owner-cap", "answers": 3}}
    network.carry_out(banks(network.folder).replace(**PUSH, privacy=budget))
    north = network.folder / "north.csv"
    table = north.read_text(encoding="utf-8")
    try:
        north.write_text(table.replace("income", "Income"), encoding="utf-8")
        with network.ledger("south").open("ab") as ledger:
            ledger.write(b"|" * 3)
        network.start_second_node("west", "second")
        printed = network.finished_run(wait=60.0)
    finally:
        north.write_text(table, encoding="utf-8")
        network.kill("second")
    assert "ServerApp raised an exception" in printed  # though flwr run itself exits with 0
    assert printed.count("north refuses (refused): its own log has the reason") == 1
    assert "0 columns are 'income', not 1" in network.printed("north")
    assert "claims to be west, as node" in printed
    model = network.model()
    assert not model["complete"]
    assert {name: each["status"] for name, each in model["owners"].items()} == {
        "north": "refused: refused", "south": "spent", "west": "spent"
    }  # fmt: skip
    assert model["owners"]["west"]["answers"] == 3
    assert f"update {model['updates']} of 30: no owner can answer" in printed


# Real runs, each beside simulated runs with its measured latencies; ``-s`` prints the figures.

SIMULATED = 1000
UPDATES, ANSWERS = 40, 20


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Keep as many processes busy."""
    command = [sys.executable, "-c", "while True: pass"]
    workers = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


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
