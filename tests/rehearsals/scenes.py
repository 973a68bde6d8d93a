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
SHORT = {"kind": "exponential", "mean": 0.1}
COMES_AND_GOES = {
    "kind": "on-off",
    "on": {"kind": "exponential", "mean": 1.0},
    "off": {"kind": "exponential", "mean": 0.7},
}
ONLINE = str(EXAMPLES / "online.csv")
SERVER = {"kind": "parameter-server", "step": 0.1}
WAYS: dict[str, dict[str, Any]] = {
    "refuse": {},
    "queue": {"protocol": {"kind": "request", "busy": "queue"}},
    "queue of own ticks": {"protocol": {"kind": "request", "busy": "queue", "own_tick": "queue"}},
    "retry": {"protocol": {"kind": "request", "busy": "retry", "retry": SHORT}},
    "timeout": {"protocol": {"kind": "request", "timeout": 0.4}},
    "late answers": {
        "protocol": {"kind": "request", "timeout": 0.3},
        "compute": SHORT,
        "latency": {"answer": {"kind": "exponential", "mean": 0.3}},
    },
    "overlap within a budget": {
        "protocol": {"kind": "push", "own_tick": "overlap"},
        "compute": {"kind": "constant", "value": 5.0},
        "privacy": {
            "epsilon": 5.0,
            "budget": {"kind": "per-owner-cap", "answers": 3},
            "sensitivity": {"kind": "clip", "bound": 1.0},
        },
    },
    "vanish": {
        "protocol": {"kind": "request", "timeout": 0.6, "offline": "vanish"},
        "availability": COMES_AND_GOES,
    },
    "latency": {"latency": {"request": SHORT, "query": SHORT, "answer": SHORT}},
    "loss": {
        "channel": {
            "kind": "ideal", "loss": 0.3, "loss_query": 0.1, "loss_request": 0.2,
            "retransmissions": 1,
        },
    },
    "loss with a timeout": {
        "channel": {"kind": "ideal", "loss": 0.4, "retransmissions": 2},
        "protocol": {"kind": "request", "timeout": 0.7, "busy": "queue"},
    },
    "fresh answers": {
        "channel": {"kind": "ideal", "loss": 0.4, "retransmissions": 2, "resend": "fresh"}
    },
    "fresh answers with a timeout": {
        "channel": {"kind": "ideal", "loss": 0.4, "retransmissions": 2, "resend": "fresh"},
        "protocol": {"kind": "request", "timeout": 0.7},
    },
    "push": {"protocol": {"kind": "push"}, "latency": {"query": SHORT, "answer": SHORT}},
    "push overlap": {
        "protocol": {"kind": "push", "own_tick": "overlap"},
        "channel": {"kind": "ideal", "loss": 0.2},
    },
    "push vanish": {
        "protocol": {"kind": "push", "offline": "vanish"},
        "availability": COMES_AND_GOES,
    },
    "bernoulli": {"availability": {"kind": "bernoulli", "probability": 0.5}},
    "rounds": {"protocol": {"kind": "rounds"}, "algorithm": SERVER},
    "rounds with a deadline": {
        "protocol": {"kind": "rounds", "deadline": 0.4},
        "algorithm": SERVER,
        "channel": {"kind": "ideal", "loss": 0.2},
        "availability": COMES_AND_GOES,
    },
    "rounds of whoever listens": {
        "protocol": {"kind": "rounds"},
        "algorithm": SERVER,
        "availability": {"kind": "bernoulli", "probability": 0.5},
    },
    "intervals": {
        "owners": {"count": 3, "records": 20},
        "availability": {"kind": "intervals", "path": ONLINE, "unit": 0.5, "period": 12.0},
    },
    "intervals that end": {
        "owners": {"count": 3, "records": 20},
        "availability": {"kind": "intervals", "path": ONLINE},
    },
    "other clocks": {"clock": {"kind": "gamma", "rate": [0.5, 1.0, 2.0, 4.0], "cv": 0.5}},
    "budget": {
        "privacy": {
            "epsilon": 5.0,
            "budget": {"kind": "per-owner-cap", "answers": 3},
            "sensitivity": {"kind": "clip", "bound": 1.0},
        }
    },
    "until": {"run": {"updates": 1000, "seed": 3, "until": 3.0}},
    "buffer": {
        "protocol": {"kind": "push"},
        "algorithm": {"kind": "fedbuff", "step": 0.1, "server_step": 1.0, "buffer": 3},
    },
    "batches": {
        "privacy": {"mechanism": "none"},
        "protocol": {"kind": "rounds"},
        "algorithm": {**SERVER, "batch": 5},
        "channel": {"kind": "ideal", "loss": 0.3},
    },
}  # fmt: skip
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
