"""The hospital entries' numbers, held against a second reading of the paper."""

from itertools import pairwise

import pytest

from analysis.studies.psi_lines import hospital_law
from scenarios import entry
from scenarios.papers.hospital import FIGURES
from tests.transcription.stated import by_number, otherwise, read_again

PUBLISHED = ("async-08", "async-10", "async-11")
BY_NAME = {figure.name: figure for figure in FIGURES}


paper = read_again("async_hospital")


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_the_entries_set(name):
    scenario = entry(name).scenario()
    assert otherwise(scenario, paper.published) == {}
    assert scenario.data.split.model_dump() == paper.owners_are
    assert scenario.source == f"Async, figure {int(name[-2:])}"


@pytest.mark.parametrize("name", BY_NAME)
def test_what_the_text_sets(name):
    scenario = BY_NAME[name].scenario("as-written", full=True)
    assert otherwise(scenario, paper.published | paper.written).keys() <= {
        "run.replicates"
    }  # figure 9 is one of the runs
    assert scenario.data.split.model_dump() == paper.owners_are


def test_the_budgets():
    for name in ("async-08", "async-11"):
        assert entry(name).scenario().sweep == {"privacy.epsilon": paper.budgets}
    [(path, epsilons)] = entry("async-10").scenario().sweep.items()
    assert path == "privacy.epsilon"
    assert (epsilons[0], epsilons[-1]) == (paper.budgets[0], paper.budgets[-1])
    steps = [high / low for low, high in pairwise(epsilons)]
    assert steps == pytest.approx([100 ** (1 / 9)] * 9, rel=1e-3)


def published(name: str) -> dict[str, float | None]:
    return {claim.quantity: claim.published for claim in BY_NAME[name].claims}


def test_the_published_numbers():
    found = published("async-08")
    assert found["ψ at the start"] == paper.start_psi
    for epsilon, psi in by_number(paper.end_psi).items():
        of_it = [q for q in found if q.startswith("median ψ") and q.endswith(f"ε = {epsilon:g}")]
        assert [found[quantity] for quantity in of_it] == [psi]
    found = published("async-10")
    for epsilon, psi in by_number(paper.mean_psi).items():
        assert found[f"mean ψ, ε = {epsilon:g}"] == psi
    found = published("async-11")
    for epsilon, psi in by_number(paper.lines).items():
        assert found[f"mean ψ, ε = {epsilon:g}"] == psi
    assert found["hospitals that gain, ε = 10"] == len(paper.gain)


@pytest.mark.parametrize("epsilon", paper.budgets)
def test_the_law_of_figure_10(epsilon):
    first, second = paper.law
    assert hospital_law(epsilon) == pytest.approx(first / epsilon + second / epsilon**2, rel=1e-15)


def test_the_twins_hospitals_are_as_large_as_those_kept():
    from asyncdp_sim.data.hospital_data import LEAST_RECORDS

    assert paper.least_records == LEAST_RECORDS
    assert paper.hospitals < paper.hospitals_in_all
