"""Gradients that a neighbour on a graph works out of answers, and what models are made of."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.audits.eavesdropper import View, overhear
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms.gossip import GossipGraphSteps
from asyncdp_sim.runs.problem import Problem, build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from tests import scenes

pytestmark = pytest.mark.oracle("gradient that a neighbour reconstructs from answers")

OWNERS, P = 4, 3


@dataclass(frozen=True)
class Run:
    problem: Problem
    view: View
    steps: GossipGraphSteps


def gossip(epsilon=1.0):
    """Four owners in a ring, whose models no box holds back."""
    fields = scenes.fields(
        id="neighbours",
        run={"seed": 5, "updates": 60},
        owners={"count": OWNERS, "records": [5, 6, 7, 8]},
        data={"features": P},
        protocol={"kind": "gossip", "graph": {"kind": "ring"}},
        algorithm={"kind": "gossip-graph", "rho": 20.0},
        privacy={"epsilon": epsilon},
    )
    scenario = parse(Scenario, fields)
    problem = prepare(scenario, build_dataset(scenario))
    view = overhear(scenario.network, problem.task, Streams(5).within("replicate", 1))
    assert isinstance(problem.task.steps, GossipGraphSteps)
    return Run(problem, view, problem.task.steps)


def stepped(run, j):
    """Return where the j-th answer takes its owner's model."""
    owner = run.view.owners[j]
    return (
        run.steps.shrink[owner] * run.view.points[j] - run.steps.step[owner] * run.view.answers[j]
    )


def worked_out(run):
    """Return answers, by place, that the owner's neighbour works out at their next meeting.

    It knows the mean of the first meeting, its own model by its own answers, and the mean of the
    second, hence the model that the owner has come with.
    """
    meetings = run.view.trace.updates
    own: dict[int, Any] = {owner: np.zeros(P) for owner in range(OWNERS)}
    last: dict[int, int] = {}
    found = []
    for j, (owner, peer) in enumerate(
        zip(meetings["owner"] - 1, meetings["peer"] - 1, strict=True)
    ):
        before = last.get(owner)
        if before is not None and meetings["peer"][before] - 1 == peer:
            shown = 2 * run.view.points[j] - own[peer]
            known = run.steps.shrink[owner] * run.view.points[before]
            found.append((before, (known - shown) / run.steps.step[owner]))
        last[owner] = j
        if j + 1 == len(meetings) or meetings["k"][j + 1] != meetings["k"][j]:
            for moved in np.flatnonzero(meetings["k"] == meetings["k"][j]).tolist():
                own[int(run.view.owners[moved])] = stepped(run, moved)
    return found


def test_a_neighbour_works_out_answers_to_rounding():
    run = gossip()
    found = worked_out(run)
    assert len(found) > 10
    for place, answer in found:
        assert answer == pytest.approx(run.view.answers[place], abs=1e-9)


def test_what_it_works_out_is_the_gradient_where_there_is_no_noise():
    """Owner 2 adds none: its neighbours have its gradient; those of the others stay hidden."""
    run = gossip([1.0, np.inf, 1.0, 1.0])
    exact = run.problem.task.reply.gradients.gradient(run.view.owners, run.view.points)
    off: dict[bool, list[float]] = {True: [], False: []}
    for place, answer in worked_out(run):
        error = float(np.abs(answer - exact[place]).max())
        off[bool(run.view.owners[place] == 1)].append(error)
    assert len(off[True]) > 2
    assert max(off[True]) < 1e-9
    assert min(off[False]) > 0.01


def test_models_are_functions_of_the_noisy_answers_alone():
    """From public starts and steps, whatever the records are: the mean of all models at the end."""
    run = gossip()
    models = np.zeros((OWNERS, P))
    for j, owner in enumerate(run.view.owners.tolist()):
        models[owner] = stepped(run, j)
    assert models.mean(axis=0) == pytest.approx(run.view.final, abs=1e-12)
