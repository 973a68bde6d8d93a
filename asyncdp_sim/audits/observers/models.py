"""Central models attacked: the last one of many runs on each of two neighbouring datasets."""

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.audits.check import Check, Fact
from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.facts import stated_anew
from asyncdp_sim.audits.observers.claims import of_models
from asyncdp_sim.audits.worst import replaced
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.accountants.gaussian_law import epsilon_of
from asyncdp_sim.privacy.attack import Claim, attack, most_shown
from asyncdp_sim.runs.problem import Task, build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.streams import Streams
from asyncdp_sim.trace import Trace

Array = npt.NDArray[np.float64]
_NUMBERS = 10**8
"""Numbers of answers that are drawn on each dataset, about."""
_MODELS = (200, 10_000)
"""Last models on each dataset, at least and at most."""
_LARGE = 1000.0
"""Of a record that its bound brings down."""
_TOGETHER = 2000
"""Runs that are replayed at once."""


def audit_models(scenario: Scenario, doubt: float) -> tuple[Check, Fact]:
    """Attack what an observer claims that sees models, and work that out anew.

    All records but one are nothing (x = 0), which steps forget the least; that one is long, with a
    large target or the opposite one. All runs have one network, which tells nothing of records, so
    that models alone do. The last ones are ordered along what sets them apart without noise.

    Parameters
    ----------
    scenario : Scenario
        Whose observer sees models.
    doubt : float
        In (0, 1); 1 − doubt is the confidence.
    """
    streams = Streams(scenario.run.seed)
    trace = simulate(scenario.network, streams.within("audit", "models", "network"))
    delta = scenario.privacy.delta or 0.0
    squared = of_models(scenario, trace, owed(scenario))
    anew = np.array([epsilon_of(sqrt(mu), delta) for mu in squared])
    owner = int(np.argmax(anew))
    claim = Claim(float(anew[owner]), delta, gaussian=True)
    tasks = opposite(scenario, owner)
    one, other = (
        _ends(task.without_noise(), trace, Streams(scenario.run.seed), (0,), 1) for task in tasks
    )  # from one start
    apart, count = (one - other)[0], _count(scenario, trace)
    first, second = (
        _ends(task, trace, streams, (1, side), count) @ apart for side, task in enumerate(tasks)
    )
    shown = attack({"last model": (first, second)}, claim, doubt)
    called = scenario.owners.participants
    most = most_shown(claim, count, doubt)
    check = Check("the last model", called[owner], claim, shown, count, most)
    stated = scenario.privacy.listener.listening(scenario).learned(scenario.accountant, [trace])
    worst = int(np.argmax(anew - stated.most[0]))
    whose = f"the last model of owner {called[worst]}"
    return check, stated_anew(whose, float(stated.most[0, worst]), float(anew[worst]))


def opposite(scenario: Scenario, owner: int) -> tuple[Task, Task]:
    """Return learning on two datasets that are nothing but one record, or the opposite one."""
    dataset, label = build_dataset(scenario), scenario.model.classifies
    nothing = tuple(np.zeros_like(x) for x in dataset.features)
    targets = dataset.targets if label else tuple(np.zeros_like(y) for y in dataset.targets)
    bare, size = replace(dataset, features=nothing, targets=targets), 1.0 if label else _LARGE
    x = _LARGE * np.eye(1, nothing[owner].shape[1])[0]
    one, other = (
        prepare(scenario, replaced(bare, {(owner, 0): (x, y)}), judged=False).task
        for y in (size, -size)
    )
    return one, other


def _count(scenario: Scenario, trace: Trace) -> int:
    """Return how many runs on each dataset are replayed."""
    numbers = max(1, len(trace.updates) * scenario.answer_numbers)
    rows = 1 if scenario.model.quadratic else sum(scenario.trained_on or (1,))
    return int(np.clip(_NUMBERS // (numbers * rows), *_MODELS))


def _ends(task: Task, trace: Trace, streams: Streams, name: tuple[Any, ...], count: int) -> Array:
    """Return the last models of so many runs, shape (count, p)."""
    found = []
    for first in range(0, count, _TOGETHER):
        numbers = range(first, min(count, first + _TOGETHER))
        scopes = [streams.within("audit", "models", *name, number) for number in numbers]
        last = max(1, trace.n_updates)
        path = replay([trace] * len(scopes), task.steps, task.reply, scopes, last)
        found.append(path.final)
    return np.concatenate(found)


__all__ = ["audit_models", "opposite"]
