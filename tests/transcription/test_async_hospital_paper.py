"""The hospital entries' numbers, held against a second reading of the paper."""

from itertools import pairwise

import pytest

from analysis.studies.psi import hospital_law
from scenarios import entry
from scenarios.papers.hospital.figures import FIGURES
from tests.transcription import async_hospital_paper as paper
from tests.transcription.stated import otherwise

PUBLISHED = ("async-08", "async-10", "async-11")
BY_NAME = {figure.name: figure for figure in FIGURES}


AS_PUBLISHED = {
    "owners.count": paper.HOSPITALS,
    "records": None,
    "run.replicates": paper.RUNS,
    "run.updates": paper.HORIZON,
    "data.features": paper.INPUTS,
    "data.public_records": paper.PUBLIC_IN_THE_CODE,
    "data.preprocessing.kind": paper.PROJECTION,
    "data.kind": "hospital",
    "data.encoding": "as-published",
    "data.score_on": paper.SCORE_ON,
    "model.kind": paper.LOSS,
    "model.regularisation": paper.REGULARISER,
    "model.regulariser": paper.REGULARISER_FORM,
    "model.theta_max": paper.THETA_MAX,
    "clock.kind": "poisson",
    "clock.rate": paper.CLOCK_RATE,
    "protocol.kind": paper.PROTOCOL,
    "algorithm.rho": paper.RHO,
    "algorithm.central_step": paper.CENTRAL_STEP,
    "algorithm.initial": paper.START,
    "privacy.mechanism.kind": "laplace",
    "privacy.noise": paper.NOISE,
    "privacy.sensitivity.kind": "declared",
    "privacy.sensitivity.bound": paper.DECLARED_BOUND,
    "privacy.sensitivity.norm": None,
    "privacy.budget.kind": "horizon",
}
"""What the paper and its code set."""
AS_WRITTEN = AS_PUBLISHED | {
    "data.public_records": paper.PUBLIC_IN_THE_TEXT,
    "data.score_on": paper.SCORE_IN_THE_TEXT,
    "model.regulariser": "square",
    "algorithm.central_step": paper.CENTRAL_STEP_IN_THE_TEXT,
    "algorithm.initial": paper.START_IN_THE_TEXT,
    "privacy.noise": "vector",
    "privacy.sensitivity.norm": paper.NORM_IN_THE_TEXT,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_the_entries_set(name):
    scenario = entry(name).scenario()
    assert otherwise(scenario, AS_PUBLISHED) == {}
    assert scenario.data.split.model_dump() == paper.OWNERS_ARE
    assert scenario.source == f"Async, figure {int(name[-2:])}"


@pytest.mark.parametrize("name", BY_NAME)
def test_what_the_text_sets(name):
    scenario = BY_NAME[name].scenario("as-written", full=True)
    assert otherwise(scenario, AS_WRITTEN).keys() <= {
        "run.replicates"
    }  # figure 9 is one of the runs
    assert scenario.data.split.model_dump() == paper.OWNERS_ARE


def test_the_budgets():
    for name in ("async-08", "async-11"):
        assert entry(name).scenario().sweep == {"privacy.epsilon": paper.BUDGETS}
    [(path, epsilons)] = entry("async-10").scenario().sweep.items()
    assert path == "privacy.epsilon"
    assert (epsilons[0], epsilons[-1]) == (paper.BUDGETS[0], paper.BUDGETS[-1])
    steps = [high / low for low, high in pairwise(epsilons)]
    assert steps == pytest.approx([100 ** (1 / 9)] * 9, rel=1e-3)


def published(name: str) -> dict[str, float | None]:
    return {claim.quantity: claim.published for claim in BY_NAME[name].claims}


def test_the_published_numbers():
    found = published("async-08")
    assert found["ψ at the start"] == paper.START_PSI
    for epsilon, psi in paper.END_PSI.items():
        of_it = [q for q in found if q.startswith("median ψ") and q.endswith(f"ε = {epsilon:g}")]
        assert [found[quantity] for quantity in of_it] == [psi]
    found = published("async-10")
    for epsilon, psi in paper.MEAN_PSI.items():
        assert found[f"mean ψ, ε = {epsilon:g}"] == psi
    found = published("async-11")
    for epsilon, psi in paper.LINES.items():
        assert found[f"mean ψ, ε = {epsilon:g}"] == psi
    assert found["hospitals that gain, ε = 10"] == len(paper.GAIN)


@pytest.mark.parametrize("epsilon", paper.BUDGETS)
def test_the_law_of_figure_10(epsilon):
    first, second = paper.LAW
    assert hospital_law(epsilon) == pytest.approx(first / epsilon + second / epsilon**2, rel=1e-15)


def test_the_twins_hospitals_are_as_large_as_those_kept():
    from asyncdp_sim.data.hospital_data import LEAST_RECORDS

    assert LEAST_RECORDS == paper.LEAST_RECORDS
    assert paper.HOSPITALS < paper.HOSPITALS_IN_ALL
