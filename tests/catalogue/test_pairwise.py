"""Noise of gossip: sums over messages, pairwise noise, and mistakes that are seen."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from asyncdp_sim.results import Sweep
from asyncdp_sim.sweeps.sweep import sweep as run_sweep
from scenarios.beyond import muffliato, pairwise
from scenarios.papers.claims import judge
from scenarios.papers.figure import AS_PUBLISHED
from tests.catalogue.verdicts import once

# Muffliato's sum over messages against exact losses: the verdicts, and planted faults.

[FIGURE] = muffliato.RESULTS
N = 8
SMALL = (
    f"owners.count={N}", "owners.records=50", "run.replicates=2", "run.updates=40",
    'sweep.variant=[{ name = "ring" }, '
    '{ name = "complete", "protocol.graph" = { kind = "complete" } }]',
)  # fmt: skip


THERE = ("ring", "complete")
OF_THESE = tuple(each for each in FIGURE.claims if each.quantity.partition(":")[0] in THERE)
summed = once(replace(FIGURE, claims=OF_THESE), *SMALL)
ABOVE = "share of pairs whose loss is above the sum"


def test_the_verdicts(summed):
    assert set(summed.differ.values()) == {"differs"}
    differ = {quantity.partition(": ")[2] for quantity in summed.differ}
    assert {ABOVE} <= differ <= {ABOVE, "mean loss over the mean of the sum, capped"}
    assert summed.drawn == ["message-sums"]


def test_replicates_that_are_drawn_again_are_told(summed):
    factor = summed.found["ring: mean loss over a trusted curator's: a factor of the graph"]
    assert factor.error is not None
    assert 0 < factor.error < factor.ours


# Pairwise noise beside gossip alone: the verdicts, second ways, and mistakes that are seen.

[PAIRWISE] = pairwise.RESULTS
FOUR_GRAPHS = (
    f"owners.count={N}", "owners.records=50", "run.replicates=2", "run.updates=40",
    'sweep.variant=[{ name = "ring" }, '
    '{ name = "grid", "protocol.graph" = { kind = "edges", between = '
    "[[1, 2], [2, 3], [3, 4], [5, 6], [6, 7], [7, 8], [1, 5], [2, 6], [3, 7], [4, 8]] } }, "
    '{ name = "geometric", "protocol.graph" = { kind = "geometric", radius = 0.6, graph = 3 } }, '
    '{ name = "complete", "protocol.graph" = { kind = "complete" } }]',
)  # fmt: skip


paired = once(PAIRWISE, *FOUR_GRAPHS)


def test_the_noise_of_all_is_what_pairs_that_are_drawn_make():
    """The covariance of 200,000 draws of own and pairwise noise, edge by edge."""
    graph, rng, squared = nx.cycle_graph(5), np.random.default_rng(3), 4.0
    sent = rng.normal(size=(200_000, 5))
    for a, b in graph.edges:
        shared = rng.normal(0, squared**0.5, len(sent))
        sent[:, a] += shared
        sent[:, b] -= shared
    drawn = np.linalg.inv(np.cov(sent.T)).diagonal().max()
    assert pairwise.seen_by_all(graph, 1.0, squared) == pytest.approx(drawn, rel=0.02)


@pytest.mark.long
def test_gossip_alone_has_the_error_and_the_loss_that_muffliato_has(paired):
    sweep = paired.sweep
    for name in ("ring", "complete"):
        losses = muffliato.of(sweep, name)
        loss = losses.exact[:, losses.apart].mean()
        local = pairwise.factor(sweep, name, "local")
        assert pairwise.factor(sweep, name, "gossip") == pytest.approx(local * loss, rel=1e-6)


@pytest.mark.long
def test_what_has_not_met_is_the_cause(tmp_path):
    """On a ring, ten times as many meetings halve the cost at least."""
    factors = []
    for updates in (40, 400):
        more = (*FOUR_GRAPHS, f"run.updates={updates}", 'sweep.variant=[{ name = "ring" }]')
        run_sweep(PAIRWISE.scenario(AS_PUBLISHED, full=False, more=more), tmp_path / str(updates))
        factors.append(pairwise.factor(Sweep.read(tmp_path / str(updates)), "ring", "pairs"))
    assert factors[1] < factors[0] / 2
    assert 1 <= factors[1] < 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("signs", "complete graph of 16: loss of a step"),
        ("signs", "complete: large pairwise noise"),
        ("forgotten", "grid without borders"),
    ],
)
def test_a_planted_fault_fails(paired, monkeypatch, fault, seen):
    """Both of a pair add its noise (alike on graphs of two sides); one pair's is forgotten."""
    assert "fails" not in paired.differ.values()
    known = pairwise.incidence
    wrong = {"signs": lambda graph: np.abs(known(graph)), "forgotten": lambda g: known(g)[:, 1:]}
    monkeypatch.setattr(pairwise, "incidence", wrong[fault])
    found = judge("", AS_PUBLISHED, PAIRWISE.claims, {AS_PUBLISHED: paired.sweep})
    assert [each.verdict for each in found if each.quantity.startswith(seen)] == ["fails"]
