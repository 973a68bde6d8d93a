"""The sentences of `joules-against-accuracy`."""

import pytest

from asyncdp_sim.measures.energy import used
from asyncdp_sim.runs import run
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
