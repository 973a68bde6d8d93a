"""Nodes that average attack each other, and their neighbours: what is claimed, and no more."""

from functools import cache

import numpy as np
import pytest
from scipy.special import ndtr

from asyncdp_sim.audits.eavesdropper import overhear
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from tests import scenes
from tests.tables import table

from .node_views import Seen, best_test, scores
from .zscores import LIMIT

# Attacks of nodes on each other while they average: they reach what is claimed, and no more.
#
# An owner's vector differs by one record between two datasets. The attacker has what its members
# were sent in simulated runs, and their own vectors, and knows nothing of the formula: it learns
# the best linear test from half of the runs, and is tried on the other half. The vectors are
# Gaussian with one covariance, so that the best of all tests is linear, and its advantage is
# 2Φ(μ/2) − 1.

VIEWS = pytest.mark.oracle("information that nodes gain about each other's records by averaging")
GRADIENTS = pytest.mark.oracle("gradient that a neighbour reconstructs from answers")
N, RUNS = 6, 20_000
TABLE = table(__file__, "gossip_views.toml")
TRIED = [(graph, owner, set(members)) for graph, owner, members in TABLE["tried"]]
"""A graph, an owner, and who attacks it, from 1."""


@cache
def setting(graph):
    """Six owners with one number each, and a trace short enough that not all becomes known."""
    fields = scenes.fields(**TABLE["six"])
    fields["protocol"]["graph"] = {"kind": graph.removesuffix(", lossy")}
    fields["channel"]["loss"] = 0.4 if graph.endswith("lossy") else 0.0
    scenario = parse(Scenario, fields)
    trace = simulate(scenario.network, Streams(12).within("replicate", 1))
    return prepare(scenario, build_dataset(scenario)), trace


class Heard(Seen):
    """Averaging, in which some nodes note what they are sent, and what they put in themselves."""

    def nodes(self, owner, peer):
        """Return the sender, as a member hears or sends, and the member that hears."""
        sender = [owner] if {owner, peer} & self.pool else []
        return [*sender, *([peer] if peer in self.pool else [])]


def told_apart(graph, owner, members):
    """Return the advantage of the attack, and its standard error."""
    problem, trace = setting(graph)
    first, second = (
        scores(problem, trace, Heard(problem.task.steps, members), owner - 1, moved, 31, RUNS)
        for moved in (0, 1)
    )
    half = RUNS // 2
    best = best_test(first[:half], second[:half])
    middle = best @ (second[:half].mean(axis=0) + first[:half].mean(axis=0)) / 2
    right = np.mean(second[half:] @ best > middle), np.mean(first[half:] @ best <= middle)
    return float(sum(right) - 1), float(np.sqrt(sum(p * (1 - p) for p in right) / half))


def claimed(graph, owner, members):
    """Return the advantage of the best test of the first of some nodes, and that of knowing all."""
    problem, trace = setting(graph)
    multiplier = problem.accountant.multiplier
    node, *others = sorted(members)
    observer = NodeObserver(colluding=tuple(others) if others else None)
    squared = observer.squared(multiplier, trace)[owner - 1, node - 1]
    return tuple(2 * ndtr(mu / 2) - 1 for mu in (np.sqrt(squared), 1 / multiplier[owner - 1]))


@pytest.mark.long
@VIEWS
@pytest.mark.parametrize(("graph", "owner", "members"), TRIED)
def test_an_attack_reaches_what_is_claimed_and_no_more(graph, owner, members):
    found, error = told_apart(graph, owner, members)
    assert error < 0.01
    assert abs(found - claimed(graph, owner, members)[0]) <= LIMIT * error


@pytest.mark.long
@VIEWS
def test_most_of_these_views_are_neither_nothing_nor_all():
    """Else they would show little."""
    claims = [claimed(*each) for each in TRIED]
    assert sum(0.1 < claim < 0.95 * everything for claim, everything in claims) == 9


# Gradients that a neighbour on a graph works out of answers, and what models are made of.

OWNERS, P = 4, 3


def gossip(epsilon=1.0):
    """Four owners in a ring, whose models no box holds back."""
    fields = scenes.fields(**TABLE["four"])
    fields["privacy"]["epsilon"] = epsilon
    scenario = parse(Scenario, fields)
    problem = prepare(scenario, build_dataset(scenario))
    return problem, overhear(scenario.network, problem.task, Streams(5).within("replicate", 1))


def stepped(steps, view, j):
    """Return where the j-th answer takes its owner's model."""
    owner = view.owners[j]
    return steps.shrink[owner] * view.points[j] - steps.step[owner] * view.answers[j]


def worked_out(steps, view):
    """Return answers, by place, that the owner's neighbour works out at their next meeting.

    It knows the mean of the first meeting, its own model by its own answers, and the mean of the
    second, hence the model that the owner has come with.
    """
    meetings = view.trace.updates
    own = {owner: np.zeros(P) for owner in range(OWNERS)}
    last: dict[int, int] = {}
    found = []
    for j, (owner, peer) in enumerate(
        zip(meetings["owner"] - 1, meetings["peer"] - 1, strict=True)
    ):
        before = last.get(owner)
        if before is not None and meetings["peer"][before] - 1 == peer:
            shown = 2 * view.points[j] - own[peer]
            known = steps.shrink[owner] * view.points[before]
            found.append((before, (known - shown) / steps.step[owner]))
        last[owner] = j
        if j + 1 == len(meetings) or meetings["k"][j + 1] != meetings["k"][j]:
            for moved in np.flatnonzero(meetings["k"] == meetings["k"][j]).tolist():
                own[int(view.owners[moved])] = stepped(steps, view, moved)
    return found


@GRADIENTS
def test_a_neighbour_works_out_answers_to_rounding():
    problem, view = gossip()
    found = worked_out(problem.task.steps, view)
    assert len(found) > 10
    for place, answer in found:
        assert answer == pytest.approx(view.answers[place], abs=1e-9)


@GRADIENTS
def test_what_it_works_out_is_the_gradient_where_there_is_no_noise():
    """Owner 2 adds none: its neighbours have its gradient; those of the others stay hidden."""
    problem, view = gossip([1.0, np.inf, 1.0, 1.0])
    exact = problem.task.reply.gradients.gradient(view.owners, view.points)
    off = {True: [], False: []}
    for place, answer in worked_out(problem.task.steps, view):
        off[bool(view.owners[place] == 1)].append(float(np.abs(answer - exact[place]).max()))
    assert len(off[True]) > 2
    assert max(off[True]) < 1e-9
    assert min(off[False]) > 0.01


@GRADIENTS
def test_models_are_functions_of_the_noisy_answers_alone():
    """From public starts and steps, whatever the records are: the mean of all models at the end."""
    (problem, view), models = gossip(), np.zeros((OWNERS, P))
    for j, owner in enumerate(view.owners.tolist()):
        models[owner] = stepped(problem.task.steps, view, j)
    assert models.mean(axis=0) == pytest.approx(view.final, abs=1e-12)
