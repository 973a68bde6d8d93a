"""The sentences of `joules-against-accuracy`, and its picture."""

from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures.studies import ENERGY as FIGURE
from asyncdp_sim.figures.studies import frontier
from asyncdp_sim.measures.energy import used
from asyncdp_sim.results import Sweep
from asyncdp_sim.runs import run
from asyncdp_sim.sweeps import sweep
from asyncdp_sim.trace.vocabulary import State
from scenarios import entry

ENTRY = "joules-against-accuracy"
ROUNDS, DEADLINE, ALONE, GOSSIP, ALIKE, FAST = (
    "all in rounds", "until a deadline", "one at a time", "gossip", "dispatch",
    "dispatch to the fast",
)  # fmt: skip


@pytest.mark.long
def test_more_to_the_fast_is_cheapest_and_rounds_go_furthest():
    """ψ, joules and time with 20 answers each, as the entry's text has them."""
    scenario, found = entry(ENTRY).scenario(), {}
    for chosen in scenario.grid():
        name, _, length = chosen["variant"]["name"].rpartition(", ")
        if length == "20 answers":
            found[name] = run(scenario.cell(chosen))
    said = " ".join(scenario.description.split())
    figures = {name: each.summary for name, each in found.items()}
    for words, name in (
        ("Where ψ {psi:.3f} will do", FAST),
        ("{joules:.0f} J in {time:.1f} units, against", FAST),
        ("against {joules:.0f} J in {time:.0f} units one at a time", ALONE),
        ("deadline reach {psi:.3f} with {joules:.0f} J in {time:.0f} units", DEADLINE),
        ("for all reach {psi:.4f} with {joules:.0f} J in {time:.0f} units", ROUNDS),
        ("queue at the slowest: {joules:.0f} J for {psi:.3f}", ALIKE),
        ("Gossip ends at {psi:.2f} with {joules:.0f} J", GOSSIP),
    ):
        told = figures[name]
        numbers = {"psi": told["psi_final"]["median"], "joules": told["joules"]}
        assert words.format(**numbers, time=told["simulated_time"]) in said
    alone = found[ALONE]
    every = [used(t, alone.scenario.energy, alone.scenario.network) for t in alone.traces]
    idle = 1.5 * sum(each.times[:, State.idle].sum() for each in every)
    assert f"{idle / sum(each.joules.sum() for each in every):.0%}".replace("%", " %") in said
    assert all(each.summary["private"] for each in found.values())
    assert all(each.summary["max_spent_ratio"] <= 1 for each in found.values())


SMALL = ("run.replicates=2", "owners.records=400")
DECIDES = "protocol = { kind = 'rounds', deadline = 0.5 }"


def drawn(folder: Path, *settings: str) -> Sweep:
    sweep(entry(ENTRY).scenario((*SMALL, *settings)), folder, workers=1)
    return Sweep.read(folder)


@pytest.mark.long
def test_psi_is_drawn_against_joules_and_time(tmp_path):
    names = ("all, 5 answers", "all, 20 answers", "some, 20 answers")
    few = f"{{ name = '{names[0]}', 'run.updates' = 5, 'privacy.budget.answers' = 5 }}"
    two = f"{few}, {{ name = '{names[1]}' }}, {{ name = '{names[2]}', {DECIDES} }}"
    found = drawn(tmp_path / "frontier", f"sweep.variant=[{two}]")
    picture = FIGURE.picture(found)
    table = picture.table
    assert table["line"].tolist() == ["all", "all", "some"]
    cells = [cell.result.summary for cell in found.cells]
    assert table["joules"].tolist() == [each["joules"] for each in cells]
    assert table["time"].tolist() == [each["simulated_time"] for each in cells]
    assert picture.caption.startswith("ψ at the end (median over replicates) against the energy of")
    assert picture.label.text.startswith("Private as claimed: ε = 1 per owner")


@pytest.mark.long
def test_a_sweep_of_something_else_is_no_picture(tmp_path):
    found = drawn(tmp_path / "other", "sweep={'privacy.epsilon' = [1.0, 2.0]}")
    with pytest.raises(ResultError, match=r"none of variants with \[energy\]"):
        FIGURE.picture(found)


def test_the_frontier_is_what_nobody_beats():
    points = np.array([[1.0, 2.0, 3.0, 1.0], [3.0, 2.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0]])
    # the third has more of the first, and no less of the others, than the second; twins stay
    assert frontier(points).tolist() == [True, True, False, True]
