"""Ten faults that somebody might build into the runs of a paper's figures."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.data.tables.preprocessing import EigenUncentred, Projection
from asyncdp_sim.learning.algorithms import gathered, gossip
from asyncdp_sim.network import clocks
from asyncdp_sim.privacy.mechanisms import kind as laplace
from asyncdp_sim.runs import problem
from scenarios.papers import exact

Plant = Callable[[pytest.MonkeyPatch], None]
KINDS = (gossip.AsyncGossip, gathered.Collab1, gathered.Collab2, gathered.ParameterServer)


def noise(factor: float) -> Plant:
    """Draw so many times the noise."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        right = laplace.LaplaceNoise.add_noise

        def other(self: Any, owners: Any, gradients: Any, rows: Any) -> Any:
            return right(self, owners, gradients, factor * np.asarray(rows))

        patch.setattr(laplace.LaplaceNoise, "add_noise", other)

    return plant


def step(factor: float) -> Plant:
    """Take steps so many times as long, in the runs alone."""
    return _steps(lambda steps, _: _longer(steps, factor))


def _longer(steps: Any, factor: float) -> Any:
    if isinstance(steps, gossip.GossipSteps):
        return replace(
            steps, step=factor * steps.step, shrink_copy=1 - factor * (1 - steps.shrink_copy)
        )
    return replace(steps, rate=factor * steps.rate)


def _steps(change: Callable[[Any, Any], Any]) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        for kind in KINDS:
            right = kind.steps
            patch.setattr(kind, "steps", lambda self, setting, right=right: change(
                right(self, setting), setting
            ))  # fmt: skip

    return plant


def horizon(patch: pytest.MonkeyPatch) -> None:
    """Take steps for half as many updates."""
    right = problem._setting

    def other(*given: Any) -> Any:
        found = right(*given)
        return replace(found, horizon=found.horizon // 2)

    patch.setattr(problem, "_setting", other)


def split(patch: pytest.MonkeyPatch) -> None:
    """Split a budget over an owner's share of the answers, where it is over all of them."""
    right = laplace.scale_of

    def other(influence: Any, allowance: Any) -> Any:
        fewer = np.maximum(1, allowance.answers // len(allowance.answers))
        return right(influence, replace(allowance, answers=fewer))

    patch.setattr(laplace, "scale_of", other)


def order(patch: pytest.MonkeyPatch) -> None:
    """Let every second clock, from the first, tick half as often again."""
    right = clocks.PoissonClock.ticks

    def other(self: Any, owner: int, source: Any, block: int) -> Iterator[int]:
        ticks = right(self, owner, source, block)
        return (int(tick / 1.5) for tick in ticks) if owner % 2 == 1 else ticks

    patch.setattr(clocks.PoissonClock, "ticks", other)


def unscaled(patch: pytest.MonkeyPatch) -> None:
    """Leave out D^(-1/2) of the features X V D^(-1/2)."""
    right = EigenUncentred.fit

    def other(self: Any, rows: Any, target: Any, features: int) -> Any:
        found = right(self, rows, target, features)
        return Projection(None, found.matrix / np.linalg.norm(found.matrix, axis=0), 0.0)

    patch.setattr(EigenUncentred, "fit", other)


unprojected = _steps(lambda steps, _: replace(steps, theta_max=None))


def stale(patch: pytest.MonkeyPatch) -> None:
    """Ask at the learner's model of an update ago."""
    asked = gossip.GossipSteps.query

    def one_on_one(self: Any, state: Any, turn: Any) -> Any:
        _note(state, state.central)
        points = asked(self, state, turn)
        points += 0.5 * (state.before - state.central)[turn.index]
        return points

    def in_round(self: Any, state: Any, turn: Any) -> Any:  # noqa: ARG001
        _note(state, state.model)
        return state.before[turn.replicates]

    patch.setattr(gossip.GossipSteps, "query", one_on_one)
    patch.setattr(gathered.GatheredSteps, "query", in_round)


def _note(state: Any, model: Any) -> None:
    """Keep the model that was there before the one that is."""
    now = getattr(state, "now", model)
    if not np.array_equal(now, model):
        state.before = now
    elif not hasattr(state, "before"):
        state.before = model.copy()
    state.now = model.copy()


FAULTS: Mapping[str, Plant] = {
    "noise half": noise(0.5),
    "noise twice": noise(2.0),
    "step × 0.8": step(0.8),
    "step × 1.3": step(1.3),
    "T of the steps": horizon,
    "budget split": split,
    "i_k by another law": order,
    "unscaled features": unscaled,
    "missing projection": unprojected,
    "a stale read": stale,
}


def forget() -> None:
    """Drop what is kept of records and forecasts, which a fault may have changed."""
    problem.few_records.cache_clear()
    problem.drawn_records.cache_clear()
    exact._FORECASTS.clear()
    exact._SHARED = exact.Recursions()
