"""The catalogue's numbers, held against a second reading of the paper."""

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import Setting
from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.scenario import Scenario
from scenarios import entry
from tests.transcription import async_paper as paper

PUBLISHED = ("lending-convergence", "lending-timing")
"""Entries that claim to be figures 3 and 4: "same run" but for the number of runs."""


def shared(scenario: Scenario) -> dict[str, object]:
    """Return the settings that all entries of the lending experiment have from the paper."""
    return {
        "owners": scenario.owners.count,
        "horizon": scenario.run.updates,
        "features": scenario.data.features,
        "public": scenario.data.public_records,
        "projection": scenario.data.preprocessing,
        "split": scenario.data.split,
        "loss": scenario.model.kind,
        "regulariser": (scenario.model.regularisation, scenario.model.regulariser),
        "box": scenario.model.theta_max,
        "clock": (scenario.clock.kind, scenario.clock.rate),
        "protocol": scenario.protocol.kind,
        "rho": scenario.algorithm.rho,
        "central step": scenario.algorithm.central_step,
        "mechanism": scenario.privacy.mechanism,
    }


TRANSCRIBED = {
    "owners": paper.BANKS,
    "horizon": paper.HORIZON,
    "features": paper.FEATURES,
    "public": paper.PUBLIC_IN_THE_CODE,
    "projection": paper.PROJECTION,
    "split": paper.BLOCKS,
    "loss": paper.LOSS,
    "regulariser": (paper.REGULARISER, paper.REGULARISER_FORM),
    "box": paper.THETA_MAX,
    "clock": ("poisson", paper.CLOCK_RATE),
    "protocol": paper.PROTOCOL,
    "rho": paper.RHO,
    "central step": paper.CENTRAL_STEP,
    "mechanism": paper.MECHANISM,
}


@pytest.mark.parametrize("name", [*PUBLISHED, "lending-sound"])
def test_what_all_lending_entries_share(name: str) -> None:
    assert shared(entry(name).scenario()) == TRANSCRIBED


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_the_published_runs_add(name: str) -> None:
    scenario = entry(name).scenario()
    assert scenario.records == (paper.RECORDS_EACH,) * paper.BANKS
    assert scenario.data.kind == "lending"
    assert scenario.data.encoding == paper.ENCODING
    assert scenario.data.public_overlap is False  # 3 × 250,000 of roughly 890,000 rows: disjoint
    assert scenario.algorithm.initial == paper.START
    assert scenario.privacy.noise == paper.NOISE
    sensitivity = scenario.privacy.sensitivity
    assert (sensitivity.kind, sensitivity.bound) == ("declared", paper.DECLARED_BOUND)
    assert scenario.privacy.budget.kind == "horizon"
    assert scenario.source.startswith("Async, figure ")


def test_figure_3() -> None:
    scenario = entry("lending-convergence").scenario()
    assert scenario.source == "Async, figure 3"
    assert scenario.run.replicates == paper.RUNS
    assert scenario.run.record_every == 1
    assert scenario.sweep == {"privacy.epsilon": paper.BUDGETS}
    assert len(paper.BUDGETS) == paper.N_BUDGETS


def test_figure_4_is_one_run() -> None:
    scenario = entry("lending-timing").scenario()
    assert scenario.source == "Async, figure 4"
    assert scenario.run.replicates == 1
    assert scenario.privacy.epsilon in paper.BUDGETS
    assert scenario.network.clock == entry("lending-convergence").scenario().network.clock


def test_the_sound_entry_asks_the_papers_question_without_its_faults() -> None:
    scenario = entry("lending-sound").scenario()
    assert scenario.sweep == {"privacy.epsilon": paper.BUDGETS}
    assert scenario.run.replicates == paper.RUNS
    assert scenario.privacy.noise == "vector"
    assert scenario.privacy.sensitivity.kind != "declared"
    assert scenario.source == "synthetic"


@pytest.mark.parametrize("epsilon", paper.BUDGETS)
def test_the_noise_comes_out_as_published(epsilon: float) -> None:
    """T p/(n_i ε_i) from Ξ = p/2 through the package's own formula 2ΞT/(n_i ε_i)."""
    scenario = entry("lending-convergence").scenario((f"privacy.epsilon={epsilon}",))
    xi = scenario.privacy.sensitivity.xi(
        scenario.model, scenario.data.features, scenario.privacy.norm
    )
    records = np.array(scenario.records)
    noise = scenario.privacy.noise_for(records, scenario.run.updates, xi, scenario.data.features)
    assert noise.scale == pytest.approx([paper.noise_scale(epsilon)] * paper.BANKS, rel=1e-15)


def test_the_step_comes_out_as_published() -> None:
    scenario = entry("lending-convergence").scenario()
    model = scenario.model
    weights = np.full(paper.BANKS, 1 / paper.BANKS)
    steps = scenario.algorithm.steps(
        Setting(weights, paper.FEATURES, scenario.run.updates, model.sigma, model.theta_max)
    )
    assert steps.step == pytest.approx(paper.step(paper.BANKS) * weights, rel=1e-15)
    half = paper.RHO / (2 * paper.HORIZON**2)
    assert steps.shrink_central == pytest.approx(1 - half, rel=1e-15)
    assert steps.shrink_copy == pytest.approx(1 - half, rel=1e-15)
    assert steps.theta_max == paper.THETA_MAX


def test_the_texts_regulariser_is_twice_the_codes() -> None:
    """The text's 10⁻⁵ θᵀθ is 2·10⁻⁵-strongly convex, the code's (10⁻⁵/2) θᵀθ half of that."""
    of_code = Ridge(regularisation=paper.REGULARISER, regulariser=paper.REGULARISER_FORM)
    of_text = Ridge(regularisation=paper.REGULARISER, regulariser="square")
    assert of_code.sigma == paper.REGULARISER
    assert of_text.sigma == 2 * paper.REGULARISER
