"""Runs of an app's own code by a virtual clock, beside simulated runs of the same scenario.

Owners read their tables, clip, charge ledgers on disk and refuse; the server asks, takes steps and
logs. Flower, OpenDP, the wait, the syncing of disks and checkpoints are left out: an exchange takes
an exponential time, and noise is NumPy's at the simulated scale.
"""

import json
import os
import sys
import warnings
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import ks_2samp

from asyncdp_sim import run
from asyncdp_sim.exports.flower import plan_of
from asyncdp_sim.exports.flower.private_learning import ledger, server
from asyncdp_sim.exports.flower.private_learning import owner as client
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in
from tests.unit.exports.banks import banks
from tests.unit.exports.test_flower import ALGORITHMS
from tests.unit.exports.world import World

RUNS = 200
EXCHANGE = 0.5
"""Mean seconds of an exchange; a time unit has one second."""
QUEUE = {"protocol": {"kind": "request", "busy": "queue"}}
BUFFERED = {**ALGORITHMS["fedbuff"], "run": {"updates": 20}}  # 40 answers, of 45
CASES = {
    **ALGORITHMS,
    "async-gossip in a queue": QUEUE,
    "fedasync by request": {**ALGORITHMS["fedasync"], "protocol": {"kind": "request"}},
    "fedbuff": BUFFERED,
    "fedbuff by request": {**BUFFERED, "protocol": {"kind": "request"}},
}


class _Noise:
    """Laplace noise of the simulated scale, by one generator of all owners."""

    draw = np.random.default_rng(11)

    def __init__(self, _: dict, owner: dict, size: int) -> None:
        self.scale, self.size = owner["simulated_scale"], size

    def answer(self, gradient: list[float]) -> list[float]:
        return (gradient + self.draw.laplace(scale=self.scale, size=self.size)).tolist()


def app_runs(scenario: Scenario, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """Return the answers of each owner, the seconds and the models of many runs, (runs, …) each."""
    plan = plan_of(scenario, 1.0)
    names = [each["name"] for each in plan["owners"]]
    monkeypatch.setattr(ledger, "PLAN", folder / "plan.json")
    ledger.PLAN.write_text(json.dumps(plan), encoding="utf-8")
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(server, "_write", lambda *_: None)
    monkeypatch.setattr(_Noise, "draw", np.random.default_rng(11))
    monkeypatch.setitem(
        sys.modules, f"{client.__package__}.noise", SimpleNamespace(OwnerNoise=_Noise)
    )
    ticks = Random(12)
    monkeypatch.setattr(client, "SystemRandom", lambda: ticks)
    digest = ledger.digest()
    monkeypatch.setattr(ledger, "digest", lambda: digest)
    exchange = np.random.default_rng(13)
    for name in names:
        ledger.create(str(folder / f"{name}.ledger"), name)
    owners = [
        client.OwnerClient(plan, each, {"table": str(folder / f"{each['name']}.csv"),
                                  "ledger": str(folder / f"{each['name']}.ledger")})
        for each in plan["owners"]
    ]  # fmt: skip
    answers, seconds, models = [], [], []
    for number in range(RUNS):
        for name in names:
            (folder / f"{name}.ledger").unlink()
            ledger.create(str(folder / f"{name}.ledger"), name)
        nodes = {
            100 + place: lambda point, place=place: {"owner": place} | owners[place].reply(point)
            for place in range(len(names))
        }
        world = World(nodes, lambda: exchange.exponential(EXCHANGE))
        place = folder / f"run {number}"
        place.mkdir()
        strategy = server.AsyncStrategy(plan, world, place, digest, 600.0)
        assert strategy.start()
        charged = [ledger.spent(str(folder / f"{name}.ledger"), name)[0] for name in names]
        taken = [party.answers for party in strategy.parties]
        most = [each["answers"] for each in plan["owners"]]
        assert np.all(np.less_equal(taken, charged) & np.less_equal(charged, most))
        answers.append(charged)
        seconds.append(world.now() - strategy.begun)
        models.append(strategy.learner.state["central"])
    return {"plan": plan, "answers": np.array(answers), "seconds": np.array(seconds),
            "models": np.array(models)}  # fmt: skip


def compared(scenario: Scenario, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """Return by figure (runs,) of the app, and (runs,) simulated."""
    app = app_runs(scenario, folder, monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = run(scenario.replace(run={"replicates": RUNS, "seed": 5}))
    owners = result.owners.set_index(["replicate", "owner"])
    figures = {}
    for place, each in enumerate(app["plan"]["owners"]):
        simulated = owners.xs(place + 1, level="owner")
        mine = app["answers"][:, place]
        figures[f"answers {each['name']}"] = mine, simulated.answers_released.to_numpy()
        spent = mine * each["epsilon"] / each["answers"], simulated.epsilon_spent.to_numpy()
        figures[f"ε {each['name']}"] = spent[0].round(9), spent[1].round(9)
    last = result.curve.groupby("replicate").tail(1)
    figures["time"] = app["seconds"], last.time.to_numpy()
    least = last.fitness.iloc[0] / (1 + last.relative_fitness.iloc[0])
    fitness = prepare(scenario, build_dataset(scenario)).task.objective.fitness(app["models"])
    figures["ψ"] = fitness / least - 1, last.relative_fitness.to_numpy()
    return figures


@one_in(len(CASES), "changes", CASES.values(), ids=CASES.keys())
def test_runs_of_the_app_are_those_of_the_simulation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict
) -> None:
    scenario = banks(tmp_path).replace(**changes)
    scenario = scenario.replace(compute={"kind": "exponential", "mean": EXCHANGE})
    for name, (ours, theirs) in compared(scenario, tmp_path, monkeypatch).items():
        spread = np.hypot(ours.std(), theirs.std()) / np.sqrt(RUNS)
        assert abs(ours.mean() - theirs.mean()) <= 4 * spread + 1e-9, (
            name,
            ours.mean(),
            theirs.mean(),
        )
        assert ks_2samp(ours, theirs).pvalue > 1e-4, name
