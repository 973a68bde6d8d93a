"""The catalogue's entries for Collab, and what they are held against, beside a second reading."""

from collections.abc import Iterator

import numpy as np
import pytest

from scenarios import entry
from scenarios.papers.claims import Claim
from scenarios.papers.collab import FIGURES
from tests.one_in import one_in
from tests.transcription.stated import otherwise, read_again

LENDING = ("collab-02", "collab-03", "collab-06")
FRAUD = ("collab-07", "collab-08", "collab-11")
FOUR = ("collab-06", "collab-11")


paper = read_again("collab")


@pytest.mark.parametrize("name", [*LENDING, *FRAUD, "fraud-svm"])
def test_what_all_entries_share(name):
    assert otherwise(entry(name).scenario(), paper.common) == {}


def test_theta_star_is_found_as_the_text_says():
    scenario = entry("collab-optimum").scenario()
    assert [scenario.algorithm.kind, scenario.privacy.epsilon] == paper.optimum_by
    cells = [scenario.cell(chosen) for chosen in scenario.grid()]
    constant = [cell for cell in cells if getattr(cell.algorithm, "exponent", 1.0) == 0.0]
    assert (len(constant) == 1) == paper.optimum_at_constant
    lending = entry("collab-02").scenario()
    assert scenario.data == lending.data
    assert scenario.model == lending.model


@pytest.mark.parametrize("name", LENDING)
def test_the_lending_experiment(name):
    scenario = entry(name).scenario()
    assert otherwise(scenario, paper.lending) == {}
    off = abs(scenario.model.regularisation - paper.lending_regulariser)
    assert off <= 1e-9  # 0 is not allowed


@pytest.mark.parametrize("name", [*FRAUD, "fraud-svm"])
def test_the_fraud_experiment(name):
    assert otherwise(entry(name).scenario(), paper.fraud) == {}


def test_the_first_fraud_entry():
    scenario = entry("fraud-svm").scenario()
    assert scenario.owners.records == paper.records_each
    assert scenario.privacy.epsilon == paper.budget


@pytest.mark.parametrize(
    ("name", "records"),
    [("collab-02", paper.lending_records_each), ("collab-07", paper.records_each)],
)
def test_figures_2_and_7(name, records):
    scenario = entry(name).scenario()
    assert scenario.owners.records == records
    assert scenario.run.replicates == paper.runs
    assert scenario.run.record_every == 1
    assert len(scenario.sweep["privacy.epsilon"]) == paper.n_budgets
    assert paper.budget in scenario.sweep["privacy.epsilon"]


@pytest.mark.parametrize("name", FOUR)
def test_the_small_and_the_reluctant_owners(name):
    scenario = entry(name).scenario()
    others = {tuple(given[1:]) for given in scenario.sweep["owners.records"]}
    budgets = {tuple(given[1:]) for given in scenario.sweep["privacy.epsilon"]}
    assert len(others) == len(budgets) == 2  # small and large, reluctant and eager
    assert min(others) == (paper.small_records,) * (paper.institutes - 1)
    assert min(budgets) == (paper.reluctant,) * (paper.institutes - 1)


def test_the_largest_first_owner():
    scenario = entry("collab-06").scenario()
    assert max(given[0] for given in scenario.sweep["owners.records"]) == paper.large_first


@one_in(5, "figure", FIGURES, ids=lambda figure: figure.name)
def test_the_algorithm_s_loop(figure):
    scenario = figure.scenario("as-written", full=True)
    assert scenario.run.updates == paper.updates_in_the_loop
    assert scenario.network.answers_allowed == (paper.answers_paid_for,) * paper.institutes
    as_published = figure.scenario("as-published", full=True)
    for chosen in scenario.grid():
        noises = []
        for cell in (each.cell(chosen) for each in (scenario, as_published)):
            records, xi = np.array(cell.records), cell.privacy.sensitivity.bound
            features = cell.data.features
            noises.append(cell.privacy.noise_for(records, cell.run.updates, xi, features).scale)
        assert noises[0] == pytest.approx(noises[1], rel=1e-15)


def published(name: str, words: str) -> Iterator[Claim]:
    """Yield a figure's claims with these words in their quantity."""
    [figure] = [figure for figure in FIGURES if figure.name == name]
    found = [claim for claim in figure.claims if words in claim.quantity]
    assert len(found) > 0
    yield from found


def test_the_published_numbers_are_the_papers():
    epsilon, size = paper.lending_within[1:]
    assert {c.published for c in published("collab-02", "over ψ at ε = 10")} == {paper.fold}
    words = f"ε = {epsilon:g}, taken to n_i = {size:,}"
    assert {c.published for c in published("collab-02", words)} == {paper.lending_within[0]}
    words = f"ε = {paper.budget:g}, taken to n_i = {paper.records_each:,}"
    assert {(c.published, c.high) for c in published("collab-07", words)} == {(paper.within,) * 2}
    for name in ("collab-04", "collab-05", "collab-09", "collab-10"):
        slopes = {c.published for c in published(name, "slope of ψ in")}
        assert slopes == {paper.slope, paper.third_theorem}
    for name in FOUR:
        powers = {c.published for c in published(name, "q of ψ ∝ (√(200 + 1/ε_1²)/(2000 + n_1))")}
        assert powers == {paper.printed_power, paper.squared_power}
