"""Small learning problems, and slow obvious twins of what the package computes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.learning.recording import Trajectory
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.runs.outcome import RunResult
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import Trace

Array = np.ndarray


def records(seed: int, sizes: Sequence[int], p: int) -> tuple[list[Array], list[Array]]:
    """Owners with different data: features of unequal scale, targets with a noisy linear part."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=p) * 2
    features = [rng.normal(size=(n, p)) * rng.uniform(0.5, 2, p) for n in sizes]
    targets = [x @ truth + rng.normal(size=len(x)) for x in features]
    return [np.asfortranarray(x) for x in features], targets


def name(loss: Any) -> str:
    """A test id."""
    return type(loss).__name__ + str(getattr(loss, "delta", ""))


def slope_of(objective: Any, theta: Array) -> Array:
    """∇f(θ) of an objective, from its owners' gradients."""
    owners = np.arange(objective.n_owners)
    means = objective.gradient(owners, np.tile(theta, (objective.n_owners, 1)))
    return objective.sigma * theta + objective.weights @ means


def scopes(count: int = 1, seed: int = 1) -> list[Scope]:
    """Replicates from the first on."""
    return [Streams(seed).within("replicate", r) for r in range(1, count + 1)]


def same_path(found: Trajectory, expected: Trajectory) -> None:
    """Every bit, also of what is no number."""
    for name in ("updates", "central", "final", "clipped"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert ours.shape == theirs.shape, name
        assert ours.tobytes() == theirs.tobytes(), name
    assert found.record_every == expected.record_every


def traces(count: int, n_owners: int, updates: int, until: float | None = None) -> list[Trace]:
    network = Network(
        answers_allowed=(updates,) * n_owners,
        updates=updates,
        until=until,
        latency=Latency(answer=Exponential(mean=0.1)),
    )
    streams = Streams(4)
    return [simulate(network, streams.within("replicate", r)) for r in range(1, count + 1)]


def live_is_replay(asked: Scenario) -> RunResult:
    """Run a scenario in both ways, which have the same bits, and return the replay."""
    lived, replayed = (
        run(asked.replace(run={"learning": how}), events=True) for how in ("live", "replay")
    )
    assert lived.fingerprints == replayed.fingerprints
    for one, two in zip(lived.traces, replayed.traces, strict=True):
        assert one.events.tolist() == two.events.tolist()
    for name in ("curve", "starts", "models", "clipped"):
        one, two = getattr(lived.learned, name), getattr(replayed.learned, name)
        assert one.tobytes() == two.tobytes(), name
    assert np.isfinite(replayed.learned.models).all()
    return replayed
