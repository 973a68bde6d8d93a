"""Gossip by linear systems: verdicts, closed forms of small graphs, and planted faults."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.exact import linear_system
from analysis.exact.linear_system import averaged, squared, system
from asyncdp_sim.privacy.observers.node import all_at_once, meeting
from asyncdp_sim.results import Sweep
from scenarios.beyond.observers import linear_systems
from scenarios.papers.figure import AS_PUBLISHED
from tests.catalogue.verdicts import verdicts

[FIGURE] = linear_systems.RESULTS
FEW = (
    "run.replicates=1",
    'sweep.variant=[{ name = "ring" }, '
    '{ name = "complete", "protocol.graph" = { kind = "complete" } }]',
)


def test_two_meetings_are_as_by_hand():
    """Owner 1 receives y_2, then the mean of y_2 and y_3, from which y_3 follows."""
    rounds = [meeting(0, 1, b_hears=False), meeting(1, 2, b_hears=False), meeting(0, 1)]
    found = squared(system(rounds[:1], 3, 0), np.array([1.0, 2.0, 5.0]), 0)
    assert found[1:] == pytest.approx([1 / 4, 0])
    found = squared(system(rounds, 3, 0), np.array([1.0, 2.0, 5.0]), 0)
    assert found[1:] == pytest.approx([1 / 4, 1 / 25])
    found = squared(system(rounds[1:], 3, 0), np.array([1.0, 2.0, 5.0]), 0)
    assert found[1:] == pytest.approx([0.25 / (0.25 * 29)] * 2)
    assert averaged(rounds, 3)[0] == pytest.approx([1 / 4, 1 / 2, 1 / 4])


def test_fresh_noise_on_a_complete_graph_is_local_noise_and_a_curators_in_sums():
    steps = [all_at_once(np.ones((5, 5), dtype=np.int64), 5)] * 7
    assert squared(system(steps, 5, 2, fresh=True), np.ones(5), 2)[:2] == pytest.approx([7, 7])
    summed = squared(system(steps, 5, 2, fresh=True, summed=True), np.ones(5), 2)
    assert summed[:2] == pytest.approx([7 / 4, 7 / 4])


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    out = tmp_path_factory.mktemp("systems")
    kept = [each for each in FIGURE.claims if each.quantity.startswith(("ring", "complete"))]
    figure = replace(FIGURE, claims=tuple(kept))
    told = verdicts(figure, out, *FEW)
    assert len(told) == 10
    assert {each.verdict for each in told} == {"agrees"}
    return Sweep.read(out / FIGURE.name / AS_PUBLISHED)


@pytest.mark.long
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_half_and_twice_the_noise_fail(sweep, factor, monkeypatch):
    right = linear_systems.stated
    monkeypatch.setattr(linear_systems, "stated", lambda found: right(found) / factor)
    low, high = linear_systems.sure(sweep)
    found = linear_systems._spread.__wrapped__(linear_systems.gossip(sweep, "ring"))
    assert not low <= found <= high
    assert found == pytest.approx(factor**2, rel=0.2)


@pytest.mark.long
def test_losses_of_a_node_that_forgets_messages_are_seen(sweep, monkeypatch):
    """Planted fault: each node keeps its first four messages, of twenty or so."""
    right = linear_system.system
    monkeypatch.setattr(linear_systems, "system", lambda *given: right(*given)[:4])
    assert linear_systems._off.__wrapped__(linear_systems.gossip(sweep, "ring")) > 1e-3


@pytest.mark.long
def test_the_page_has_what_is_exact(sweep):
    page = Path("docs/beyond/linear-systems.md").read_text("utf-8")
    for received, ring, complete in (("sums", "1.03", "1.03"), ("messages", "2.06", "36.00")):
        found = [f"{linear_systems.over_curator(sweep, graph, received):.2f}"
                 for graph in ("ring", "complete")]  # fmt: skip
        assert found == [ring, complete]
        assert f", {received} received | " in page
