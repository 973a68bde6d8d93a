"""Entries and verdicts of papers, held against their sentences and second readings of them."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from analysis.studies.psi_lines import hospital_law
from asyncdp_sim.scenario.catalogue import catalogue
from scenarios import entry
from scenarios.papers import FIGURES, collab, hospital, polar
from scenarios.papers.claims import OURS, SENTENCES, Claim, Printed
from scenarios.papers.figure import AS_PUBLISHED
from tests.mutants.mutant import ROOT
from tests.one_in import one_in
from tests.together import together
from tests.transcription.stated import by_number, otherwise, read_again

PAPERS = ROOT.parent / "shared" / "papers"
ASYNC, ASYNC_FIRST = "004_a58cdd6b6f400488.txt", "001_700a027017646420.txt"
COLLAB, POLAR = "000_1a5356a39d184a58.txt", "003_856ab2b0caf2fa21.txt"
FILES = {"Async": {ASYNC, ASYNC_FIRST}, "Collab": {COLLAB}, "POLAR": {POLAR}}


def file_of(sentence: Printed) -> str:
    return sentence.where.partition(",")[0]


@cache
def text(file: Path) -> str:
    joined = re.sub(r"-\s*\n\s*(?=[a-z])", "", file.read_text(encoding="utf-8"))
    return re.sub(r"\s+", " ", joined)


@pytest.mark.parametrize("name", SENTENCES)
def test_it_stands_in_its_file(name):
    sentence = SENTENCES[name]
    file = PAPERS / file_of(sentence)
    if not file.is_file():
        pytest.skip("the papers' texts are not beside the project")
    said, place = text(file), 0
    for part in sentence.says.split(" … "):
        place = said.find(part, place)
        assert place >= 0, part


@together
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_every_row_names_one_of_its_own_paper(figure):
    files = FILES[figure.source.partition(",")[0]]
    assert len(figure.printed) > 0
    for each in (*figure.printed, *(claim.judges for claim in figure.claims)):
        if isinstance(each, Printed):
            assert file_of(each) in files
        else:
            assert each in ("", OURS)


def test_every_sentence_is_judged():
    judged = {
        each
        for figure in FIGURES
        for each in (*figure.printed, *(claim.judges for claim in figure.claims))
    }
    assert {name for name, each in SENTENCES.items() if each not in judged} == set()


def test_figures_of_async_have_the_numbers_of_the_version_that_is_named():
    for figure in FIGURES:
        if figure.source.startswith("Async") and AS_PUBLISHED in figure.variants:
            assert all(file_of(each) == ASYNC for each in figure.printed)


def test_what_one_version_claims_of_all_the_other_claims_of_some():
    """The abstract of 001 says "equal to 1 results in", the introduction of 004 "can beat"."""
    for name in ("async-07", "async-11"):
        [figure] = [each for each in FIGURES if each.name == name]
        of_all = [each for each in figure.claims if each.judges == SENTENCES["SUPERIOR"]]
        of_some = [each for each in figure.claims if each.judges == SENTENCES["CAN_BEAT"]]
        assert [(each.low, each.high, each.published) for each in of_all] == [(1, 1, 1.0)]
        assert len(of_some) > 0
        assert all("can" in each.quantity and each.published is None for each in of_some)
    assert SENTENCES["SUPERIOR"].where.startswith(ASYNC_FIRST)
    assert SENTENCES["CAN_BEAT"].where.startswith(ASYNC)


# No entry of the catalogue cites a paper without a second reading.

READ_AGAIN = {"Async": ("async", "async_hospital"), "Collab": ("collab",), "POLAR": ("polar",)}
"""Second readings of each paper."""


def test_every_entry_that_cites_a_paper_is_transcribed():
    citing = {}
    for found in catalogue():
        source = found.scenario().source
        if source != "synthetic":
            citing.setdefault(source.partition(",")[0], set()).add(found.name)
    assert citing == {
        paper: {entry for name in names for entry in read_again(name).entries}
        for paper, names in READ_AGAIN.items()
    }


# The hospital entries' numbers, held against a second reading of the paper.


PUBLISHED = ("async-08", "async-10", "async-11")
BY_NAME = {figure.name: figure for figure in hospital.FIGURES}


of_hospitals = read_again("async_hospital")


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_the_entries_set(name):
    scenario = entry(name).scenario()
    assert otherwise(scenario, of_hospitals.published) == {}
    assert scenario.data.split.model_dump() == of_hospitals.owners_are
    assert scenario.source == f"Async, figure {int(name[-2:])}"


@pytest.mark.parametrize("name", BY_NAME)
def test_what_the_text_sets(name):
    scenario = BY_NAME[name].scenario("as-written", full=True)
    assert otherwise(scenario, of_hospitals.published | of_hospitals.written).keys() <= {
        "run.replicates"
    }  # figure 9 is one of the runs
    assert scenario.data.split.model_dump() == of_hospitals.owners_are


def test_the_budgets():
    for name in ("async-08", "async-11"):
        assert entry(name).scenario().sweep == {"privacy.epsilon": of_hospitals.budgets}
    [(path, epsilons)] = entry("async-10").scenario().sweep.items()
    assert path == "privacy.epsilon"
    assert (epsilons[0], epsilons[-1]) == (of_hospitals.budgets[0], of_hospitals.budgets[-1])
    steps = [high / low for low, high in pairwise(epsilons)]
    assert steps == pytest.approx([100 ** (1 / 9)] * 9, rel=1e-3)


def published_of(name: str) -> dict[str, float | None]:
    return {claim.quantity: claim.published for claim in BY_NAME[name].claims}


def test_the_published_numbers():
    found = published_of("async-08")
    assert found["ψ at the start"] == of_hospitals.start_psi
    for epsilon, psi in by_number(of_hospitals.end_psi).items():
        of_it = [q for q in found if q.startswith("median ψ") and q.endswith(f"ε = {epsilon:g}")]
        assert [found[quantity] for quantity in of_it] == [psi]
    found = published_of("async-10")
    for epsilon, psi in by_number(of_hospitals.mean_psi).items():
        assert found[f"mean ψ, ε = {epsilon:g}"] == psi
    found = published_of("async-11")
    for epsilon, psi in by_number(of_hospitals.lines).items():
        assert found[f"mean ψ, ε = {epsilon:g}"] == psi
    assert found["hospitals that gain, ε = 10"] == len(of_hospitals.gain)


@pytest.mark.parametrize("epsilon", of_hospitals.budgets)
def test_the_law_of_figure_10(epsilon):
    first, second = of_hospitals.law
    assert hospital_law(epsilon) == pytest.approx(first / epsilon + second / epsilon**2, rel=1e-15)


def test_the_twins_hospitals_are_as_large_as_those_kept():
    from asyncdp_sim.data.hospital_data import LEAST_RECORDS

    assert of_hospitals.least_records == LEAST_RECORDS
    assert of_hospitals.hospitals < of_hospitals.hospitals_in_all


# The catalogue's entries for Collab, and what they are held against, beside a second reading.


LENDING = ("collab-02", "collab-03", "collab-06")
FRAUD = ("collab-07", "collab-08", "collab-11")
FOUR = ("collab-06", "collab-11")


of_collab = read_again("collab")


@pytest.mark.parametrize("name", [*LENDING, *FRAUD, "fraud-svm"])
def test_what_all_entries_share(name):
    assert otherwise(entry(name).scenario(), of_collab.common) == {}


def test_theta_star_is_found_as_the_text_says():
    scenario = entry("collab-optimum").scenario()
    assert [scenario.algorithm.kind, scenario.privacy.epsilon] == of_collab.optimum_by
    cells = [scenario.cell(chosen) for chosen in scenario.grid()]
    constant = [cell for cell in cells if getattr(cell.algorithm, "exponent", 1.0) == 0.0]
    assert (len(constant) == 1) == of_collab.optimum_at_constant
    lending = entry("collab-02").scenario()
    assert scenario.data == lending.data
    assert scenario.model == lending.model


@pytest.mark.parametrize("name", LENDING)
def test_the_lending_experiment(name):
    scenario = entry(name).scenario()
    assert otherwise(scenario, of_collab.lending) == {}
    off = abs(scenario.model.regularisation - of_collab.lending_regulariser)
    assert off <= 1e-9  # 0 is not allowed


@pytest.mark.parametrize("name", [*FRAUD, "fraud-svm"])
def test_the_fraud_experiment(name):
    assert otherwise(entry(name).scenario(), of_collab.fraud) == {}


def test_the_first_fraud_entry():
    scenario = entry("fraud-svm").scenario()
    assert scenario.owners.records == of_collab.records_each
    assert scenario.privacy.epsilon == of_collab.budget


@pytest.mark.parametrize(
    ("name", "records"),
    [("collab-02", of_collab.lending_records_each), ("collab-07", of_collab.records_each)],
)
def test_figures_2_and_7(name, records):
    scenario = entry(name).scenario()
    assert scenario.owners.records == records
    assert scenario.run.replicates == of_collab.runs
    assert scenario.run.record_every == 1
    assert len(scenario.sweep["privacy.epsilon"]) == of_collab.n_budgets
    assert of_collab.budget in scenario.sweep["privacy.epsilon"]


@pytest.mark.parametrize("name", FOUR)
def test_the_small_and_the_reluctant_owners(name):
    scenario = entry(name).scenario()
    others = {tuple(given[1:]) for given in scenario.sweep["owners.records"]}
    budgets = {tuple(given[1:]) for given in scenario.sweep["privacy.epsilon"]}
    assert len(others) == len(budgets) == 2  # small and large, reluctant and eager
    assert min(others) == (of_collab.small_records,) * (of_collab.institutes - 1)
    assert min(budgets) == (of_collab.reluctant,) * (of_collab.institutes - 1)


def test_the_largest_first_owner():
    scenario = entry("collab-06").scenario()
    assert max(given[0] for given in scenario.sweep["owners.records"]) == of_collab.large_first


@one_in(5, "figure", collab.FIGURES, ids=lambda figure: figure.name)
def test_the_algorithm_s_loop(figure):
    scenario = figure.scenario("as-written", full=True)
    assert scenario.run.updates == of_collab.updates_in_the_loop
    assert scenario.network.answers_allowed == (of_collab.answers_paid_for,) * of_collab.institutes
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
    [figure] = [figure for figure in collab.FIGURES if figure.name == name]
    found = [claim for claim in figure.claims if words in claim.quantity]
    assert len(found) > 0
    yield from found


def test_the_published_numbers_are_the_papers():
    epsilon, size = of_collab.lending_within[1:]
    assert {c.published for c in published("collab-02", "over ψ at ε = 10")} == {of_collab.fold}
    words = f"ε = {epsilon:g}, taken to n_i = {size:,}"
    assert {c.published for c in published("collab-02", words)} == {of_collab.lending_within[0]}
    words = f"ε = {of_collab.budget:g}, taken to n_i = {of_collab.records_each:,}"
    assert {(c.published, c.high) for c in published("collab-07", words)} == {
        (of_collab.within,) * 2
    }
    for name in ("collab-04", "collab-05", "collab-09", "collab-10"):
        slopes = {c.published for c in published(name, "slope of ψ in")}
        assert slopes == {of_collab.slope, of_collab.third_theorem}
    for name in FOUR:
        powers = {c.published for c in published(name, "q of ψ ∝ (√(200 + 1/ε_1²)/(2000 + n_1))")}
        assert powers == {of_collab.printed_power, of_collab.squared_power}


# The catalogue's POLAR entry, held against a second reading of the paper.


of_polar = read_again("polar")


def test_the_polar_entry_is_as_published_where_the_paper_says_anything():
    base = entry("polar-convergence").scenario()
    cells = [base.cell(chosen) for chosen in base.grid()]
    hidden = [cell for cell in cells if cell.algorithm.kind == "polar"]
    assert len(hidden) < len(cells)  # beside the one server that hides nothing
    assert {cell.protocol.window for cell in hidden} == {*of_polar.windows}
    for cell in cells:
        assert otherwise(cell, of_polar.all_cells) == {}
        assert cell.owners.count * cell.owners.records == of_polar.points
    for cell in hidden:
        assert otherwise(cell, of_polar.hidden_cells) == {}
        assert cell.protocol.reach == "all" or cell.protocol.reach >= of_polar.least_reach


def test_every_sentence_on_the_figure_is_a_claim():
    [figure] = polar.FIGURES
    of_it = [claim for claim in figure.claims if {"as-published", polar.WIDE} & {*claim.variants}]
    assert {claim.quantity.rpartition(": ")[2] for claim in of_it} == {*of_polar.sentences}
    assert {int(name.partition(" = ")[2]) for name in polar.WINDOWS} == {*of_polar.windows}
