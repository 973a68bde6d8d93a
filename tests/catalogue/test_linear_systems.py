"""Gossip by linear systems: verdicts, closed forms of small graphs, and planted faults."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.exact import linear_system
from analysis.exact.linear_system import best_test, separately, squared, system
from asyncdp_sim.privacy.observers.node import all_at_once, meeting
from asyncdp_sim.runs.run import run
from scenarios import entry
from scenarios.beyond.observers import linear_systems
from tests.catalogue.verdicts import once

[FIGURE] = linear_systems.RESULTS
POOLS = pytest.mark.parametrize("pool", linear_systems.POOLS)
PAGE = Path(__file__).parents[2] / "docs" / "beyond" / "linear-systems.md"


def test_two_meetings_are_as_by_hand():
    """Owner 1 receives y_2, then the mean of y_2 and y_3, from which y_3 follows."""
    rounds = [meeting(0, 1, b_hears=False), meeting(1, 2, b_hears=False), meeting(0, 1)]
    noise = np.array([1.0, 2.0, 5.0])
    assert squared(system(rounds[:1], 3, [0]), noise, [0])[1:] == pytest.approx([1 / 4, 0])
    both = system(rounds, 3, [0])
    assert both == pytest.approx(np.array([[0, 1, 0], [0, 0.5, 0.5]]))
    assert squared(both, noise, [0])[1:] == pytest.approx([1 / 4, 1 / 25])
    assert best_test(both, noise, [0], 2) == pytest.approx([-1 / 25, 2 / 25])
    later = system(rounds[1:], 3, [0])
    assert squared(later, noise, [0])[1:] == pytest.approx([0.25 / (0.25 * 29)] * 2)
    apart = separately(both, noise, [0])
    assert apart[1:] == pytest.approx([1 / 4 + 1 / 29, 1 / 29])
    # Owner 3 colludes: its noise hides nothing; who observes every link knows no noise.
    assert squared(later, noise, [0, 2])[1] == pytest.approx(1 / 4)
    assert squared(system(rounds, 3, [0, 1, 2]), noise, []) == pytest.approx([1, 1 / 4, 1 / 25])


def test_fresh_noise_on_a_complete_graph_is_local_noise_and_a_curators_in_sums():
    steps = [all_at_once(np.ones((5, 5), dtype=np.int64), 5)] * 7
    ones = np.ones(5)
    assert squared(system(steps, 5, [2], fresh=True), ones, [2])[:2] == pytest.approx([7, 7])
    summed = squared(system(steps, 5, [2], fresh=True, summed=True), ones, [2])
    assert summed[:2] == pytest.approx([7 / 4, 7 / 4])
    several = squared(system(steps, 5, [2, 3], fresh=True, summed=True), ones, [2, 3])
    assert several[:2] == pytest.approx([7 / 3, 7 / 3])


def test_the_entry_says_what_its_cells_give():
    scenario, medians = entry("gossip-observers").scenario(), []
    for chosen in scenario.grid():
        ledger = run(scenario.cell(chosen)).ledger
        medians.append(None if ledger.median is None else float(np.median(ledger.median)))
        assert ledger.spent == pytest.approx(2.0)
    node, several, links = (medians[place::3] for place in range(3))
    said = " ".join(scenario.description.split())
    assert links == [None] * 3
    assert "at most {:.2g} on the ring, {:.2g} on the grid and {:.2g} where".format(*node) in said
    assert "share what they receive with it, {:.2g}, {:.2g} and {:.2g}.".format(*several) in said


GRID = tuple(claim for claim in FIGURE.claims if claim.quantity.startswith("grid"))
gossip = once(replace(FIGURE, claims=GRID), "run.replicates=1")


@pytest.mark.long
def test_what_is_claimed_of_a_grid_holds(gossip):
    assert (len(gossip.found), gossip.differ) == (22, {})
    assert gossip.drawn == ["threat-models"]


@pytest.fixture
def sweep(gossip):
    return gossip.sweep


@pytest.mark.long
@POOLS
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_half_and_twice_the_noise_fail(sweep, pool, factor, monkeypatch):
    """Planted fault: owners add so many times the noise that their ε asks for."""
    right = linear_systems.prepare

    def planted(*given):
        problem = right(*given)
        reply = problem.task.reply
        noise = replace(reply.noise, scale=factor * reply.noise.scale)
        task = replace(problem.task, reply=replace(reply, noise=noise))
        return replace(problem, task=task)

    low, high = linear_systems.sure(sweep)
    monkeypatch.setattr(linear_systems, "prepare", planted)
    monkeypatch.setattr(linear_systems, "messages", linear_systems.messages.__wrapped__)
    found = linear_systems.spread.__wrapped__(linear_systems.gossip(sweep, "grid"), pool)
    assert not low <= found <= high
    assert found == pytest.approx(factor**2, rel=0.2)


@pytest.mark.long
@POOLS
def test_losses_of_an_observer_that_forgets_messages_are_seen(sweep, pool, monkeypatch):
    """Planted fault: only the first four numbers are kept, of fourteen or more."""
    right = linear_system.system
    monkeypatch.setattr(linear_systems, "system", lambda *given: right(*given)[:4])
    of = linear_systems.gossip(sweep, "grid")
    assert linear_systems.off_package.__wrapped__(of, pool) > 1e-3


@pytest.mark.long
def test_a_colluder_whose_noise_counts_is_seen(sweep, monkeypatch):
    """Planted fault: the noise of colluding nodes hides records from the node."""
    right = linear_system.squared
    monkeypatch.setattr(
        linear_systems, "squared", lambda seen, noise, known: right(seen, noise, known[:1])
    )
    of = linear_systems.gossip(sweep, "grid")
    assert linear_systems.off_package.__wrapped__(of, "three nodes") > 1e-3


@pytest.mark.long
def test_the_page_has_what_is_exact(sweep):
    page = PAGE.read_text("utf-8")
    for view in linear_systems.VIEWS:
        graphs = [linear_systems.gossip(sweep, graph) for graph in linear_systems.GRAPHS]
        found = [f"{linear_systems.over_curator(of, *view):.2f}" for of in graphs]
        assert f"{', '.join(view)} | " in page
        assert f"| {' | '.join(found)} |" in page
