"""Scenarios to rehearse, and rehearsals whose peers share this process, but no more than that."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from asyncdp_sim.network.table_file import EXAMPLES
from asyncdp_sim.rehearsals.config import Order
from asyncdp_sim.rehearsals.learner import LearnerPeer, Rehearsed
from asyncdp_sim.rehearsals.owner import OwnerPeer
from asyncdp_sim.rehearsals.transport import TOKEN_BYTES, run_here
from asyncdp_sim.runs import Ready
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec.base import parse
from tests.tables import table

PLAIN: dict[str, Any] = {
    "id": "rehearsed",
    "owners": {"count": 4, "records": 20},
    "data": {"kind": "gaussian", "features": 3},
    "model": {"kind": "ridge", "regularisation": 0.1},
    "algorithm": {"kind": "async-gossip", "rho": 10.0},
    "privacy": {"epsilon": 5.0, "sensitivity": {"kind": "clip", "bound": 1.0}},
    "compute": {"kind": "exponential", "mean": 0.3},
    "run": {"updates": 20, "seed": 3},
}
SERVER = {"kind": "parameter-server", "step": 0.1}
WAYS: dict[str, dict[str, Any]] = table(__file__, "ways.toml")
for _way in ("intervals", "intervals that end"):
    WAYS[_way]["availability"]["path"] = str(EXAMPLES / "online.csv")
"""What differs from the plain scenario, by what it is about."""


def scenario(**changes: Any) -> Scenario:
    """Return the plain scenario with other tables."""
    found: Scenario = parse(Scenario, {**PLAIN, **changes})
    return found


def order_of(scenario: Scenario, unit: float = 0.02) -> Order:
    """Return the order for a scenario's first replicate."""
    base = scenario.base()
    task = Ready.from_scenario(base, build_dataset(base)).problem.task
    return Order(base.network, task, base.run.seed, 1, bytes(TOKEN_BYTES), unit)


Meanwhile = Callable[[int], Awaitable[None]]
"""What happens while a run is on, by the learner's port."""


def rehearsed(order: Order) -> Rehearsed:
    """Return what peers give that talk over TCP within this process."""
    return run_here(talking(order))


async def talking(order: Order, meanwhile: Meanwhile | None = None) -> Rehearsed:
    """Let a learner and its owners talk, and return what comes of it."""
    learner, listening = LearnerPeer(order, lambda _: None), asyncio.Future[int]()
    run = asyncio.create_task(learner.run(listening.set_result))
    port = await listening
    if meanwhile is not None:
        await meanwhile(port)
    owners = [OwnerPeer(order, i) for i in range(1, order.network.n_owners + 1)]
    lives = [asyncio.create_task(owner.run(port)) for owner in owners]
    found = await run
    await asyncio.gather(*lives)
    return found
