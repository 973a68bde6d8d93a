"""The hospital entries' numbers, held against a second reading of the paper."""

from itertools import pairwise

import pytest

from analysis.studies.psi import hospital_law
from asyncdp_sim.scenario import Scenario
from scenarios import entry
from scenarios.papers.hospital.figures import FIGURES
from tests.transcription import async_hospital_paper as paper

PUBLISHED = ("async-08", "async-10", "async-11")
BY_NAME = {figure.name: figure for figure in FIGURES}


def settings(scenario: Scenario) -> dict[str, object]:
    """Return what the paper and its code set."""
    sensitivity = scenario.privacy.sensitivity
    return {
        "owners": scenario.owners.count,
        "records": scenario.records,
        "runs": scenario.run.replicates,
        "horizon": scenario.run.updates,
        "features": scenario.data.features,
        "public": scenario.data.public_records,
        "projection": scenario.data.preprocessing.kind,
        "split": scenario.data.split.model_dump(),
        "encoding": (scenario.data.kind, scenario.data.encoding),
        "scored": scenario.data.score_on,
        "loss": scenario.model.kind,
        "regulariser": (scenario.model.regularisation, scenario.model.regulariser),
        "box": scenario.model.theta_max,
        "clock": (scenario.clock.kind, scenario.clock.rate),
        "protocol": scenario.protocol.kind,
        "rho": scenario.algorithm.rho,
        "central step": scenario.algorithm.central_step,
        "start": scenario.algorithm.initial,
        "mechanism": (scenario.privacy.mechanism.kind, scenario.privacy.noise),
        "bound": (sensitivity.kind, sensitivity.bound, sensitivity.norm),
        "budget": scenario.privacy.budget.kind,
    }


AS_PUBLISHED = {
    "owners": paper.HOSPITALS,
    "records": None,
    "runs": paper.RUNS,
    "horizon": paper.HORIZON,
    "features": paper.INPUTS,
    "public": paper.PUBLIC_IN_THE_CODE,
    "projection": paper.PROJECTION,
    "split": paper.OWNERS_ARE,
    "encoding": ("hospital", "as-published"),
    "scored": paper.SCORE_ON,
    "loss": paper.LOSS,
    "regulariser": (paper.REGULARISER, paper.REGULARISER_FORM),
    "box": paper.THETA_MAX,
    "clock": ("poisson", paper.CLOCK_RATE),
    "protocol": paper.PROTOCOL,
    "rho": paper.RHO,
    "central step": paper.CENTRAL_STEP,
    "start": paper.START,
    "mechanism": ("laplace", paper.NOISE),
    "bound": ("declared", paper.DECLARED_BOUND, None),
    "budget": "horizon",
}
AS_WRITTEN = AS_PUBLISHED | {
    "public": paper.PUBLIC_IN_THE_TEXT,
    "scored": paper.SCORE_IN_THE_TEXT,
    "regulariser": (paper.REGULARISER, "square"),
    "central step": paper.CENTRAL_STEP_IN_THE_TEXT,
    "start": paper.START_IN_THE_TEXT,
    "mechanism": ("laplace", "vector"),
    "bound": ("declared", paper.DECLARED_BOUND, paper.NORM_IN_THE_TEXT),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_the_entries_set(name: str) -> None:
    scenario = entry(name).scenario()
    assert settings(scenario) == AS_PUBLISHED
    assert scenario.source == f"Async, figure {int(name[-2:])}"


@pytest.mark.parametrize("name", BY_NAME)
def test_what_the_text_sets(name: str) -> None:
    found = settings(BY_NAME[name].scenario("as-written", full=True))
    assert found | {"runs": paper.RUNS} == AS_WRITTEN  # figure 9 is one of the runs


def test_the_budgets() -> None:
    for name in ("async-08", "async-11"):
        assert entry(name).scenario().sweep == {"privacy.epsilon": paper.BUDGETS}
    [(path, epsilons)] = entry("async-10").scenario().sweep.items()
    assert path == "privacy.epsilon"
    assert (epsilons[0], epsilons[-1]) == (paper.BUDGETS[0], paper.BUDGETS[-1])
    steps = [high / low for low, high in pairwise(epsilons)]
    assert steps == pytest.approx([100 ** (1 / 9)] * 9, rel=1e-3)


def published(name: str) -> dict[str, float | None]:
    return {claim.quantity: claim.published for claim in BY_NAME[name].claims}


def test_the_published_numbers() -> None:
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
def test_the_law_of_figure_10(epsilon: float) -> None:
    first, second = paper.LAW
    assert hospital_law(epsilon) == pytest.approx(first / epsilon + second / epsilon**2, rel=1e-15)


def test_the_twins_hospitals_are_as_large_as_those_kept() -> None:
    from asyncdp_sim.data.hospital_data import LEAST_RECORDS

    assert LEAST_RECORDS == paper.LEAST_RECORDS
    assert paper.HOSPITALS < paper.HOSPITALS_IN_ALL
