"""Observers of gossip and of sums: verdicts on what they learn, closed forms, planted faults."""

# Gossip by linear systems: verdicts, closed forms of small graphs, and planted faults.

import csv
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from analysis.exact import linear_system
from analysis.exact.linear_system import best_test, separately, squared, system
from asyncdp_sim.privacy.observers.node import all_at_once, meeting
from asyncdp_sim.results import Sweep
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sweeps.sweep import sweep as run_sweep
from scenarios import entry
from scenarios.beyond import decor, muffliato
from scenarios.beyond.observers import linear_systems
from scenarios.beyond.observers import secure_sums as sums
from scenarios.papers.claims import judge
from scenarios.papers.figure import AS_PUBLISHED
from tests.catalogue.verdicts import once

[SYSTEMS] = linear_systems.RESULTS
DOCS = Path(__file__).parents[2] / "docs"
POOLS = pytest.mark.parametrize("pool", linear_systems.POOLS)


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
    assert separately(both, noise, [0])[1:] == pytest.approx([1 / 4 + 1 / 29, 1 / 29])
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


OF_GRID = tuple(claim for claim in SYSTEMS.claims if claim.quantity.startswith("grid"))
gossip = once(replace(SYSTEMS, claims=OF_GRID), "run.replicates=1")


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
        return replace(problem, task=replace(problem.task, reply=replace(reply, noise=noise)))

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
    assert linear_systems.off_package.__wrapped__(linear_systems.gossip(sweep, "grid"), pool) > 1e-3


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
    page = (DOCS / "beyond" / "linear-systems.md").read_text("utf-8")
    for view in linear_systems.VIEWS:
        graphs = [linear_systems.gossip(sweep, graph) for graph in linear_systems.GRAPHS]
        found = [f"{linear_systems.over_curator(of, *view):.2f}" for of in graphs]
        assert f"{', '.join(view)} | " in page
        assert f"| {' | '.join(found)} |" in page


# Muffliato's sum over messages against exact losses: the verdicts, and planted faults.

[MUFFLIATO] = muffliato.RESULTS
N = 8
SMALL = (
    f"owners.count={N}", "owners.records=50", "run.replicates=2", "run.updates=40",
    'sweep.variant=[{ name = "ring" }, '
    '{ name = "complete", "protocol.graph" = { kind = "complete" } }]',
)  # fmt: skip


THERE = ("ring", "complete")
OF_THESE = tuple(each for each in MUFFLIATO.claims if each.quantity.partition(":")[0] in THERE)
summed_messages = once(replace(MUFFLIATO, claims=OF_THESE), *SMALL)
ABOVE = "share of pairs whose loss is above the sum"


def test_the_verdicts(summed_messages):
    assert set(summed_messages.differ.values()) == {"differs"}
    differ = {quantity.partition(": ")[2] for quantity in summed_messages.differ}
    assert {ABOVE} <= differ <= {ABOVE, "mean loss over the mean of the sum, capped"}
    assert summed_messages.drawn == ["message-sums"]


def test_replicates_that_are_drawn_again_are_told(summed_messages):
    factor = summed_messages.found[
        "ring: mean loss over a trusted curator's: a factor of the graph"
    ]
    assert factor.error is not None
    assert 0 < factor.error < factor.ours


# Pairwise noise beside gossip alone: the verdicts, second ways, and mistakes that are seen.

PAIRWISE, _ = decor.RESULTS
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
    assert decor.seen_by_all(graph, 1.0, squared) == pytest.approx(drawn, rel=0.02)


@pytest.mark.long
def test_gossip_alone_has_the_error_and_the_loss_that_muffliato_has(paired):
    sweep = paired.sweep
    for name in ("ring", "complete"):
        losses = muffliato.of(sweep, name)
        loss = losses.exact[:, losses.apart].mean()
        local = decor.factor(sweep, name, "local")
        assert decor.factor(sweep, name, "gossip") == pytest.approx(local * loss, rel=1e-6)


@pytest.mark.long
def test_what_has_not_met_is_the_cause(tmp_path):
    """On a ring, ten times as many meetings halve the cost at least."""
    factors = []
    for updates in (40, 400):
        more = (*FOUR_GRAPHS, f"run.updates={updates}", 'sweep.variant=[{ name = "ring" }]')
        run_sweep(PAIRWISE.scenario(AS_PUBLISHED, full=False, more=more), tmp_path / str(updates))
        factors.append(decor.factor(Sweep.read(tmp_path / str(updates)), "ring", "pairs"))
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
    known = decor.incidence
    wrong = {"signs": lambda graph: np.abs(known(graph)), "forgotten": lambda g: known(g)[:, 1:]}
    monkeypatch.setattr(decor, "incidence", wrong[fault])
    found = judge("", AS_PUBLISHED, PAIRWISE.claims, {AS_PUBLISHED: paired.sweep})
    assert [each.verdict for each in found if each.quantity.startswith(seen)] == ["fails"]


# The price of hiding answers in sums: the page by formulas, bytes by hand, and verdicts.


[SUMS] = sums.RESULTS
PAGE = (DOCS / "beyond" / "secure-sums.md").read_text("utf-8")
PROOF = (DOCS / "privacy" / "aggregation.md").read_text("utf-8")
GRID = {
    (each["variant"]["name"], round(1 - each["availability.probability"], 9)): each
    for each in entry("price-of-secure-sums").scenario().grid()
}
FEW = ('sweep."availability.probability"=[1.0, 0.9, 0.8, 0.7, 0.6]',)
FITS = {"below 1": "better", "above 1": "worse", "undecided": "undecided"}
GAINS = {"above 0": "larger", "no material difference": "no difference"}
"""Verdicts on ratios of ψ and on gains, as the page has them."""


def at(name: str, absent: float) -> Scenario:
    return entry("price-of-secure-sums").scenario().cell(GRID[name, absent])


def test_the_page_has_the_shares_of_sums_that_open():
    assert len(rows()) == 5
    for name, absent, opened, *_ in rows():
        assert opened == f"{sums.opens(at(name, float(absent))):.3f}"


def rows() -> list[list[str]]:
    """Return the cells of the page's table: sums, absent, opened, ratio and gain."""
    lines = [line for line in PAGE.splitlines() if line.startswith(("| 12", "| 4"))]
    return [line.strip("| ").split(" | ") for line in lines]


def test_pages_decide_by_intervals():
    """Of shares that open, one is undecided: all larger ones fit better, all smaller ones worse."""
    with (DOCS / "pictures" / "secure-sums.csv").open(encoding="utf-8") as stream:
        names = ("opened", "ratio", "ratio_low", "ratio_high")
        cells = sorted([float(row[name]) for name in names] for row in csv.DictReader(stream))
    worse = [cell for cell in cells if cell[2] > 1]
    better = [cell for cell in cells if cell[3] < 1]
    [undecided] = [cell for cell in cells if cell[2] <= 1 <= cell[3]]
    assert [*worse, undecided, *better] == cells
    least, most = f"at least {100 * better[0][0]:.2g} %", f"at most {100 * worse[-1][0]:.2g} %"
    said = [f"{least} of the sums open", f"where {most} open single answers fit better"]
    said.append("{:.2f} times that of single answers ({:.2f} to {:.2f})".format(*better[0][1:]))
    said.append(
        "at {:.0f} % it is undecided ({:.2f}; {:.2f} to {:.2f})".format(
            100 * undecided[0], *undecided[1:]
        )
    )
    page = " ".join(PAGE.split())
    assert [part for part in said if part not in page] == []
    for file in ("beyond/README.md", "catalogue.md"):
        assert f"where {least} of" in (DOCS / file).read_text("utf-8")


def test_bytes_of_an_update_are_those_that_are_counted_by_hand():
    """Sixteen owners, five numbers of 8 bytes, headers of 40, keys of 64 and shares of 80."""
    assert sums.bytes_of_update(at(sums.SINGLE, 0.0)) == 16 * (80 + 80)
    query, answer, opening = 80 + 15 * 144, 80 + 64 + 15 * 80, 42 + 40 + 15 * 80
    assert sums.bytes_of_update(at("12 of 16, one trip", 0.0)) == 16 * (query + answer + opening)
    keys, shares = 40 + 40 + 64, 40 + 15 * 64 + 40 + 15 * 80
    query, answer = 80 + 15 * 80, 80
    three = sums.bytes_of_update(at("12 of 16, three trips", 0.0))
    assert three == 16 * (keys + shares + query + answer + opening)


def test_bytes_count_sums_that_stay_shut(monkeypatch):
    """By played sums: Σ bytes over opened ones; and a planted fault, all owners asked to open."""
    draws, found = np.random.default_rng(4), at("12 of 16, one trip", 0.1)
    query, answer = found.network.query_bytes, found.network.answer_bytes
    there, back = found.network.opening_bytes
    answered = draws.binomial(16, 0.9, 100_000)
    replied = draws.binomial(answered, 0.9)
    opening = np.where(answered >= 12, answered * there + replied * back, 0)
    played = (16 * query + answered * answer + opening).sum() / np.sum(replied >= 12)
    assert sums.bytes_of_update(found) == pytest.approx(played, rel=0.01)
    monkeypatch.setattr(sums, "asked_by_step", lambda n, *_: n)
    assert sums.bytes_of_update(found) != pytest.approx(played, rel=0.01)


summed = once(SUMS, *FEW)


@pytest.mark.long
def test_verdicts_are_those_of_intervals(summed):
    """Each verdict of the page is one that ``verify`` gives, and its interval bears it out."""
    found, sweep = summed.found, summed.sweep
    assert summed.differ == {}
    assert summed.drawn == ["price-of-secure-sums"]
    for name, absent, _, ratio, gain in rows():
        value, low, high = sums.psi_over_single(sweep, name, float(absent))
        more = sums.gain_above_single(sweep, name, float(absent))
        at_this = f"{100 * float(absent):.0f} % absent: "
        of_ratio, of_gain = (
            quantity.rpartition(": ")[2]
            for part in (": ψ over", ": mean gain above")
            for quantity in found
            if quantity.startswith(name + part) and at_this in quantity
        )
        assert ratio == f"{value:.3f} ({low:.3f} to {high:.3f}): {FITS[of_ratio]}"
        assert gain == f"{more.value:.3f} ± {more.half_width:.3f}: {GAINS[of_gain]}"
        assert FITS[of_ratio] == ("better" if high < 1 else "worse" if low > 1 else "undecided")
        assert (GAINS[of_gain] == "larger") is (more.low > 0)


@pytest.mark.long
def test_sums_pay_where_the_page_says(summed):
    found, sweep = summed.found, summed.sweep
    late = found["8 of 16, one trip: ε if late answers were unmasked singly"].ours
    assert f"cost a mean owner ε = {late:.2f} in place of 1" in PROOF
    assert "Reproduced: 1.77 and 2.02." in PAGE
    own = sums.gains(sums.cell(sweep, sums.SINGLE, 0.1)).owners
    assert f"own error, {np.mean([owner.own for owner in own]):.2f}" in PAGE
    bytes_of = [sums.larger(sweep, "12 of 16, one trip", each) for each in (0.0, 0.1, 0.2)]
    assert "{:.0f}, {:.0f} and {:.0f}".format(*bytes_of) in PAGE


@pytest.mark.long
def test_a_sum_that_opens_with_a_share_more_or_less_is_seen(summed, monkeypatch):
    right = sums.sum_opens
    for moved in (-1, 1):
        with monkeypatch.context() as patch:
            patch.setattr(sums, "sum_opens", lambda n, least, s, m=moved: right(n, least + m, s))
            low, high = sums.around(summed.sweep, "12 of 16, one trip", 0.2)
        assert not low <= sums.opened(summed.sweep, "12 of 16, one trip", 0.2) <= high
