"""Promises of the entries on budgets and soundness, at fewer replicates."""

import numpy as np
import pytest

from analysis.exact.learning import ExpectedPsi, expected_psi
from asyncdp_sim.data import Dataset
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.runs.outcome import RunResult
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.runs.run import run
from scenarios import entry


def of_cells(name: str, epsilon: float, *settings: str) -> dict[str, RunResult]:
    """Run the cells of an entry's variants at one ε, by the variants' names."""
    scenario = entry(name).scenario(settings)
    dataset: Dataset = build_dataset(scenario)
    return {
        chosen["variant"]["name"]: run(scenario.cell(chosen), dataset=dataset)
        for chosen in scenario.grid()
        if chosen["privacy.epsilon"] == epsilon
    }


@pytest.mark.long
def test_budgets_per_answer_lower_mean_psi_as_promised():
    settings = ("run.replicates=16", "run.record_every=1000")
    found = of_cells("budgets-per-answer", 0.1, *settings)
    horizon, capped, gaussian = (each.summary["psi_final"]["mean"] for each in found.values())
    assert list(found) == ["Laplace, horizon", "Laplace, capped", "Gaussian, capped"]
    assert horizon > 50 * capped
    assert horizon > 500 * gaussian
    for outcome in found.values():
        summary = outcome.summary
        assert summary["private"]
        assert 0.1 * (1 - 1e-5) < summary["epsilon_true"] <= 0.1 * (1 + 1e-12)
        assert summary["clip_count"] < 0.05 * summary["updates"]
        assert summary["updates"] == 16 * 1000
        assert any("Ξ₁ = 17.91 and Ξ₂ = 5.662" in said for said in outcome.warnings)
    assert [each.summary["delta"] for each in found.values()] == [0, 0, 1e-6]


def test_the_published_bound_is_exceeded_and_the_clipped_one_holds():
    settings = ("owners.records=400", "data.public_records=200", "run.replicates=2")
    found = of_cells("price-of-soundness", 1.0, *settings, "run.updates=50")
    declared, clipped = (each.summary for each in found.values())
    assert declared["bound_exceeded"] is True
    assert declared["private"] is False
    assert declared["epsilon_true"] > 2.0
    said = next(each for each in found["declared, as published"].warnings if "exceeded" in each)
    largest = float(said.rpartition(": ")[2].split()[0])
    assert abs(declared["epsilon_true"] / (largest / 5.0) - 1) < 1e-3
    assert clipped["private"] is True
    assert clipped["epsilon_true"] == 1.0


@pytest.mark.long
def test_composed_losses_need_less_noise_than_a_sum_of_epsilon():
    settings = ("run.replicates=4", "run.record_every=1000", 'sweep."privacy.epsilon"=[1.0]')
    pure, composed, gaussian = of_cells("value-of-composition", 1.0, *settings).values()
    ratio = pure.problem.noise.scale / composed.problem.noise.scale
    assert np.round(ratio, 1).tolist() == [4.4] * 3
    psi = [each.summary["psi_final"]["mean"] for each in (pure, composed, gaussian)]
    assert 12 < psi[0] / psi[1] < 24
    assert 1.5 < psi[1] / psi[2] < 4
    for outcome, delta in ((pure, 0), (composed, 1e-6), (gaussian, 1e-6)):
        assert outcome.summary["private"] is True
        assert 0.999 < outcome.summary["epsilon_true"] <= 1
        assert outcome.summary["delta"] == delta


@pytest.mark.long
def test_samples_cost_as_much_noise_and_a_tenth_of_the_computing():
    """The sentences of `value-of-subsampling`: noise, time, and ψ at the end."""
    scenario = entry("value-of-subsampling").scenario(("run.record_every=300",))
    said = " ".join(scenario.description.split())
    dataset = build_dataset(scenario)
    found = {
        chosen["variant"]["name"]: run(scenario.cell(chosen), dataset=dataset)
        for chosen in scenario.grid()
        if chosen["variant"]["name"] in ("all records", "q = 0.1", "q = 0.01")
    }
    whole, tenth, hundredth = found.values()
    assert np.all(tenth.problem.noise.scale > 0.999 * whole.problem.noise.scale)
    assert np.all(tenth.problem.noise.scale < 1.01 * whole.problem.noise.scale)
    time = [each.summary["simulated_time"] for each in found.values()]
    assert time == pytest.approx([100, 10, 1])
    psi = [each.summary["psi_final"]["median"] for each in found.values()]
    assert f"at {psi[0]:.2f}, for a tenth" in said
    assert f"at {psi[2]:.2f} for a hundredth" in said
    assert f"{psi[1]:.2f}" == f"{psi[0]:.2f}"
    assert all(each.summary["private"] for each in (whole, tenth, hundredth))


@pytest.mark.long
def test_local_steps_save_exchanges_where_owners_are_alike():
    """The sentences of `value-of-local-steps`: noise, time, and ψ at the end."""
    scenario = entry("value-of-local-steps").scenario(("run.record_every=240",))
    said, found = " ".join(scenario.description.split()), {}
    for chosen in scenario.grid():
        key = chosen["data.split.dirichlet"], chosen["variant"]["name"]
        if key[0] < 1 or key[1] in ("E = 1", "E = 240"):
            found[key] = run(scenario.cell(chosen))
    once, several = found[1e6, "E = 1"], found[1e6, "E = 240"]
    assert np.array_equal(once.problem.noise.scale, several.problem.noise.scale)
    psi = {key: f"{each.summary['psi_final']['median']:.3f}" for key, each in found.items()}
    for words, key in (
        ("at {} after 240 exchanges", (1e6, "E = 1")),
        ("at {} after a single one, in 25 units", (1e6, "E = 240")),
        ("at {} after 60 exchanges", (0.3, "E = 4")),
        ("at {} after 15", (0.3, "E = 16")),
        ("at {} after one", (0.3, "E = 240")),
    ):
        assert words.format(psi[key]) in said
    time = [each.summary["simulated_time"] for each in (once, several)]
    assert time == pytest.approx([264, 25])
    assert all(each.summary["private"] for each in found.values())
    assert all(each.summary["max_spent_ratio"] <= 1 for each in found.values())


@pytest.mark.long
def test_uneven_spending_pays_where_noise_is_forgotten():
    """The sentences of `spending-unevenly`: exact ψ of its cells, and of the best growth."""
    psi = {}
    scenario = entry("spending-unevenly").scenario()
    dataset = build_dataset(scenario)
    for chosen in scenario.grid():
        name, growth = chosen["variant"]["name"], chosen["privacy.budget.growth"]
        cell = scenario.cell(chosen)
        near = (1.0, 1.12) if name.startswith("one-on-one") else (0.94, 1.0, 1.06, 1.12)
        if growth not in near or (growth == 1.12 and name.endswith("1/k")):
            continue  # models come near the box, or work is saved
        found = expected_psi(population(cell, private=False, dataset=dataset))
        assert isinstance(found, ExpectedPsi)
        psi.setdefault(name, {})[growth] = float(found.psi[-1])
    alone, constant, falling = psi.values()
    assert [round(alone[g], 3) for g in (1.0, 1.12)] == [0.038, 0.013]
    assert min(constant, key=constant.__getitem__) == 1.12
    assert round(constant[1.0], 3) == 0.030
    assert min(falling, key=falling.__getitem__) == 1.0
    assert round(falling[1.0], 3) == 0.011
    rounds = next(c for c in scenario.grid() if c["variant"]["name"] == "rounds, constant step")
    best = scenario.cell(rounds | {"privacy.budget.growth": 1.159})
    found = expected_psi(population(best, private=False, dataset=dataset))
    assert isinstance(found, ExpectedPsi)
    assert round(float(found.psi[-1]), 4) == 0.0062
    assert round(constant[1.0] / float(found.psi[-1]), 1) == 4.8
