"""The catalogue's numbers, held against a second reading of the paper."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import Setting
from asyncdp_sim.learning.objectives import Ridge
from scenarios import entry
from scenarios.papers import lending
from scenarios.papers.lending import C_OF_LAW, FIGURES
from tests.transcription.stated import by_number, otherwise, read_again

PUBLISHED = ("lending-convergence", "lending-timing")
"""Entries that claim to be figures 3 and 4: "same run" but for the number of runs."""

paper = read_again("async")


@pytest.mark.parametrize("name", [*PUBLISHED, "lending-sound"])
def test_what_all_lending_entries_share(name):
    assert otherwise(entry(name).scenario(), paper.shared) == {}


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_the_published_runs_add(name):
    scenario = entry(name).scenario()
    assert scenario.records == (paper.records_each,) * paper.banks
    assert otherwise(scenario, paper.published) == {}
    assert scenario.source.startswith("Async, figure ")


def test_figure_3():
    scenario = entry("lending-convergence").scenario()
    assert scenario.source == "Async, figure 3"
    assert scenario.run.replicates == paper.runs
    assert scenario.run.record_every == 1
    assert scenario.sweep == {"privacy.epsilon": paper.budgets}
    assert len(paper.budgets) == paper.n_budgets


@pytest.mark.parametrize("name", ["async-05", "async-06"])
def test_figures_5_and_6_are_figure_3_s_runs_over_a_grid(name):
    scenario = entry(name).scenario()
    assert scenario.source == f"Async, figure {int(name[-1])}"
    assert otherwise(scenario, paper.shared) == {}
    alike = entry("lending-convergence").scenario().plain()
    assert same_but(scenario.plain(), alike, "records", "record_every")
    low, high, count = paper.sizes
    sizes = np.geomspace(low, high, count)
    low, high, count = paper.budgets_of_surface
    budgets = np.geomspace(low, high, count)
    assert list(scenario.sweep) == ["owners.records", "privacy.epsilon"]
    swept = scenario.sweep["owners.records"]
    assert swept == [int(np.ceil(round(size, 6))) for size in sizes]  # "rounded up"
    assert scenario.sweep["privacy.epsilon"] == pytest.approx(budgets, abs=6e-5)


def test_figure_7_is_over_banks():
    scenario = entry("async-07").scenario()
    assert scenario.source == "Async, figure 7"
    assert scenario.sweep["owners.count"] == paper.banks_of_many
    assert set(by_number(paper.pays)) <= set(scenario.sweep["privacy.epsilon"])
    assert scenario.owners.records == paper.records_of_many
    assert scenario.algorithm.initial == paper.start_of_many
    assert scenario.model.theta_max == paper.theta_max_of_many
    assert scenario.run.alone  # ψ(θ_1*)
    assert scenario.data.drift  # the table's banks are in order of date
    differ = ("records", "record_every", "alone", "initial", "theta_max", "drift")
    assert same_but(scenario.plain(), entry("lending-convergence").scenario().plain(), *differ)


def same_but(raw: dict[str, Any], other: dict[str, Any], *names: str) -> bool:
    """Return whether two scenarios run alike but for these fields and what they sweep."""
    tables = [name for name in raw if isinstance(raw[name], dict) and name != "sweep"]
    mine, others = (
        {(table, key): value for table in tables for key, value in each[table].items()}
        for each in (raw, other)
    )
    found = {key[1] for key in mine.keys() | others.keys() if mine.get(key) != others.get(key)}
    return found <= set(names)


def test_the_claims_are_held_against_what_the_paper_says():
    figures = {figure.name: figure for figure in FIGURES}
    published = {
        name: [each.published for each in figure.claims if each.variants == ("as-published",)]
        for name, figure in figures.items()
    }
    assert lending.CONSTANT == paper.c_2_drawn == pytest.approx(paper.c_2, rel=0.03)
    exponents = {
        (claim.low, claim.high)
        for figure in FIGURES
        for claim in figure.claims
        if claim.quantity.startswith("exponent of")
    }
    assert exponents == {tuple(paper.exponent_holds)}
    assert by_number(paper.ends) == lending.ENDS
    assert paper.records_each == lending.AT_SIZE
    assert (by_number(paper.pays)) == {
        lending.PAYS_AT: lending.PAYS_ABOVE,
        lending.PAYS_AT_TOO: lending.PAYS_ABOVE_TOO,
    }
    assert paper.beats_isolation == [lending.MANY, lending.LARGE]
    assert published["async-03"] == pytest.approx([*paper.ends_by_law.values(), 1.0], rel=0.02)
    relative = [
        each.published for each in figures["async-03"].claims if "over its start" in each.quantity
    ]
    start = 1 + paper.psi_at_start
    assert relative == pytest.approx([each / start for each in paper.ends.values()])
    assert figures["async-03"].claims[0].published == paper.psi_at_start
    assert published["async-05"] == [paper.c_2_drawn, 1.0]
    exponents = [
        each.published
        for each in figures["async-06"].claims
        if "exponent" in each.quantity and "as-published" in each.variants
    ]
    assert exponents == [paper.exponent] * 4
    assert [each.published for each in figures["async-07"].claims[:2]] == list(paper.pays.values())


@pytest.mark.parametrize("name", [f"async-{number:02d}" for number in range(3, 8)])
def test_the_text_s_version(name):
    [figure] = [each for each in FIGURES if each.name == name]
    assert otherwise(figure.scenario("as-written", full=True), paper.written) == {}


def test_figure_2_is_drawn_in_both_ways_of_reading_it():
    scenario = entry("async-02").scenario()
    assert scenario.source == "Async, figures 1 and 2"
    request, broadcast = (scenario.cell(chosen) for chosen in scenario.grid())
    assert [cell.protocol.kind for cell in (request, broadcast)] == paper.ways
    for cell in (request, broadcast):
        assert cell.clock.kind == "poisson"
        assert cell.clock.rate == paper.clock_rate
    assert request.protocol.busy == "refuse"  # "the learner only communicates" with one owner
    assert broadcast.channel.kind == "aloha"  # nobody listens first: answers at once are lost
    assert (broadcast.channel.contended is not None) == (paper.channels_in_all == 1)
    assert (broadcast.availability.probability < 1) == paper.some_listen


def test_figure_4_is_one_run():
    scenario = entry("lending-timing").scenario()
    assert scenario.source == "Async, figure 4"
    assert scenario.run.replicates == 1
    assert scenario.privacy.epsilon in paper.budgets
    assert scenario.network.clock == entry("lending-convergence").scenario().network.clock


def test_the_sound_entry_asks_the_papers_question_without_its_faults():
    scenario = entry("lending-sound").scenario()
    assert scenario.sweep == {"privacy.epsilon": paper.budgets}
    assert scenario.run.replicates == paper.runs
    assert scenario.privacy.noise == "vector"
    assert scenario.privacy.sensitivity.kind != "declared"
    assert scenario.source == "synthetic"


@pytest.mark.parametrize("epsilon", paper.budgets)
def test_the_noise_comes_out_as_published(epsilon):
    """T p/(n_i ε_i) from Ξ = p/2 through the package's own formula 2ΞT/(n_i ε_i)."""
    scenario = entry("lending-convergence").scenario((f"privacy.epsilon={epsilon}",))
    xi = scenario.privacy.sensitivity.xi(
        scenario.model, scenario.data.features, scenario.privacy.norm
    )
    records = np.array(scenario.records)
    noise = scenario.privacy.noise_for(records, scenario.run.updates, xi, scenario.data.features)
    scale = paper.horizon * paper.features / (paper.records_each * epsilon)  # code 4
    assert noise.scale == pytest.approx([scale] * paper.banks, rel=1e-15)


def test_the_step_comes_out_as_published():
    scenario = entry("lending-convergence").scenario()
    model = scenario.model
    weights = np.full(paper.banks, 1 / paper.banks)
    steps = scenario.algorithm.steps(
        Setting(weights, paper.features, scenario.run.updates, model.sigma, model.theta_max)
    )
    step = paper.banks * paper.rho / (paper.horizon**2 * paper.regulariser)  # code 2
    assert steps.step == pytest.approx(step * weights, rel=1e-15)
    half = paper.rho / (2 * paper.horizon**2)
    assert steps.shrink_central == pytest.approx(1 - half, rel=1e-15)
    assert steps.shrink_copy == pytest.approx(1 - half, rel=1e-15)
    assert steps.theta_max == paper.theta_max


def test_the_texts_regulariser_is_twice_the_codes():
    """The text's 10⁻⁵ θᵀθ is 2·10⁻⁵-strongly convex, the code's (10⁻⁵/2) θᵀθ half of that."""
    of_code = Ridge(regularisation=paper.regulariser, regulariser=paper.regulariser_form)
    of_text = Ridge(regularisation=paper.regulariser, regulariser="square")
    assert of_code.sigma == paper.regulariser
    assert of_text.sigma == 2 * paper.regulariser


def test_the_printed_constant_is_a_third_of_the_drawn_one_per_owner():
    """Equation (6): c̄'₂ Σ 1/ε² over n² = c̄'₂ N/(N n_i ε)², and 2.1 printed is not 2.15 drawn."""
    per_owner = paper.c_2 * paper.banks / paper.banks**2
    assert f"c̄'₂ = {paper.c_2 / 1e9:g}·10⁹ is c = {per_owner / 1e9:g}·10⁹" in C_OF_LAW
    assert paper.c_2_drawn == lending.CONSTANT
