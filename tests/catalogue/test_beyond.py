"""Promises of the entries beyond the papers, at fewer replicates."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.data import Dataset
from asyncdp_sim.runs.directory import write
from asyncdp_sim.runs.outcome import RunResult, owner_figures
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from scenarios import entry
from tests.one_in import one_in


def of_cells(name: str, *settings: str, data: bool = True, **wanted: Any) -> list[RunResult]:
    """Run the cells of an entry that have these values, in its order; over one dataset or not."""
    scenario: Scenario = entry(name).scenario(settings)
    dataset: Dataset | None = build_dataset(scenario) if data else None
    chosen = [
        each
        for each in scenario.grid()
        if all(each[path.replace("__", ".")] in values for path, values in wanted.items())
    ]
    return [run(scenario.cell(each), dataset=dataset) for each in chosen]


@pytest.mark.long
def test_banks_profit_under_budgets_of_their_own_answers_where_nobody_does_for_the_horizon():
    settings = ("run.replicates=1", "run.record_every=480")
    found = of_cells("value-of-collaboration", *settings, privacy__epsilon=[3.0])
    horizon, capped, gaussian = (each.summary for each in found)
    assert horizon["profits_psi"] == horizon["profits_held_out"] == 0
    assert 5 <= capped["profits_psi"] <= 11
    assert 11 <= gaussian["profits_psi"] <= 15
    for each in (horizon, capped, gaussian):
        assert each["private"]
        assert each["epsilon_true"] <= 3.0 * (1 + 1e-12)
    assert [each["delta"] for each in (horizon, capped, gaussian)] == [0, 0, 1e-6]


@pytest.mark.long
def test_the_small_and_shy_are_better_left_out():
    name = "exclude-the-small-and-shy"
    grid = {sum(each): each for each in entry(name).scenario().sweep["availability.probability"]}
    assert sorted(grid) == list(range(1, 13))
    shown = [grid[12], grid[1], grid[7]]  # in the entry's order
    settings = ("run.replicates=2", "run.record_every=50", "run.alone=false")
    plain = (*settings, 'sweep.variant=[{ name = "as they are" }]')
    found = of_cells(name, *plain, availability__probability=shown)
    everybody, first, some = (each.summary["psi_final"]["mean"] for each in found)
    assert some < first / 2
    assert everybody > 3 * some
    assert everybody > first
    eager = entry(name).scenario((*settings, "privacy.epsilon=1.0")).base()
    alike = run(eager, dataset=found[0].dataset)
    assert alike.summary["psi_final"]["mean"] < 2 * some
    best = {each.problem.task.objective.least for each in found}
    assert len(best) == 1  # one f for all coalitions
    assert all(each.summary["private"] for each in found)
    assert [int((each.traces[0].released > 0).sum()) for each in found] == [12, 1, 7]


@pytest.mark.long
def test_who_talks_more_is_served_better_unless_steps_are_divided_by_shares():
    settings = ("run.replicates=1", "run.record_every=2000", "owners.records=500")
    settings += ("privacy.epsilon=50.0",)  # fewer records, as much noise
    wanted = {"run__seed": [1, 2, 3]}
    found = of_cells("availability-and-fairness", *settings, data=False, **wanted)
    assert all(each.summary["private"] for each in found)
    relative = []
    for each in found:
        figures = owner_figures(each.problem, each.learned.models)
        ratio = figures["held_out_loss"] / figures["held_out_optimum"]
        relative.append(ratio.reshape(-1, 6).mean(axis=0))
    uniform, inverse = np.mean(relative[:3], axis=0), np.mean(relative[3:], axis=0)
    assert uniform[0] < 0.9
    assert uniform[5] > 1.15
    assert abs(inverse[5] - inverse[0]) < (uniform[5] - uniform[0]) / 2


@one_in(
    5,
    ("kind", "low", "high"),
    [
        ("ideal", 1, 1),
        ("tdma", 1, 1),
        ("csma", 1.04, 1.15),
        ("slotted-aloha", 1.8, 2.7),
        ("aloha", 4, 7),
    ],
)
def test_answers_that_collide_are_paid_for(kind, low, high):
    settings = ("run.replicates=3", "run.record_every=1000", "owners.records=50")
    channels = entry("price-of-a-collision").scenario().sweep["channel"]
    [channel] = [each for each in channels if each["kind"] == kind]
    [found] = of_cells("price-of-a-collision", *settings, channel=[channel], clock__rate=[0.1])
    released = sum(int(trace.released.sum()) for trace in found.traces)
    assert released == 3 * 1000  # every budget is spent
    assert low <= released / found.summary["updates"] <= high
    assert found.summary["private"]
    assert found.summary["max_spent_ratio"] == 1


@pytest.mark.nightly
def test_servers_that_ask_their_neighbours_alone_are_quicker_and_learn_nearly_as_well():
    found = of_cells("polar-server-graphs", "run.replicates=2", "run.updates=200")
    complete, *others = (each.summary for each in found)
    for each in others:
        assert 0.5 < each["simulated_time"] / complete["simulated_time"] < 0.7
        assert each["psi_final"]["mean"] < 2 * complete["psi_final"]["mean"]


@pytest.mark.long
def test_copies_for_every_owner_cost_what_its_description_says():
    scenario = entry("every-owner-a-learner").scenario()
    chosen = {each["variant"]["name"]: each for each in scenario.grid()}
    central, noised, exact = (
        run(scenario.cell(chosen[name]))
        for name in ("one learner for all", "learner 1", "learner 1, own exact")
    )
    psi = [each.summary["psi_final"]["mean"] for each in (central, noised, exact)]
    assert psi[0] < psi[2] < psi[1]
    assert 7 < psi[1] / psi[0] < 12  # "nine times"
    alone = owner_figures(central.problem, central.learned.models)["psi_alone"]
    assert (alone[:4] > psi[0]).all()
    assert (alone[:4] > psi[1]).tolist() == [False, True, True, True]
    assert [each.summary["private"] for each in (central, noised, exact)] == [True, True, False]


def test_a_small_budget_ends_where_its_description_says(tmp_path):
    """The sentence of `lending-three-budgets` on ε = 0.1: where ψ starts, and where it ends."""
    said = " ".join(entry("lending-three-budgets").scenario().description.split())
    [(first, ends)] = re.findall(r"here it falls from the same (\d+) and ends at (\d\.\d)\.", said)
    assert f"(ψ from {first} to 80)" in said
    variant = entry("lending-three-budgets").scenario().sweep["variant"][:1]
    [found] = of_cells("lending-three-budgets", "run.replicates=20", variant=variant)
    write(found, tmp_path / "small")
    curve = pd.read_parquet(tmp_path / "small" / "curve.parquet")
    assert {round(psi) for psi in curve.relative_fitness[curve.k == 0]} == {int(first)}
    assert round(found.summary["psi_final"]["mean"], 1) == float(ends)
