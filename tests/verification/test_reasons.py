"""Reasons for no prediction: each is printed where it is true of runs, and not else.

A row has a network for which the reason is printed, a fact about its traces that must hold, and
networks close by in which the fact does not hold and the reason is not printed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.predict.update_order import releases
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.trace import EventKind, Trace

pytestmark = pytest.mark.no_evidence

Fields = dict[str, Any]
Fact = Callable[[list[Trace]], bool]
T, R = 60, 5


def network(changes: Fields) -> Network:
    fields: Fields = {"answers_allowed": [T] * 3, "updates": T, "clock": {"kind": "poisson"}}
    return parse(Network, fields | changes)


def traces(found: Network) -> list[Trace]:
    scopes = [Streams(5).within("replicate", r) for r in range(R)]
    return [simulate(found, scope, events=True) for scope in scopes]


def reasons(found: Network) -> set[str]:
    law = releases(found)
    return {each.reason for each in predict(found)} | (
        {law.reason} if isinstance(law, Unknown) else set()
    )


def happens(*kinds: str) -> Fact:
    """Whether there are events of any of these kinds."""
    wanted = [EventKind[kind] for kind in kinds]
    return lambda found: any(np.isin(trace.events["kind"], wanted).any() for trace in found)


def regular(found: list[Trace]) -> bool:
    gaps = np.concatenate([np.diff(trace.update_ticks) for trace in found])
    return bool(gaps.std() < 0.8 * gaps.mean())


def delayed(found: list[Trace]) -> bool:
    """Whether the first query of a run comes later than the first request."""
    firsts = []
    for trace in found:
        kind, tick = trace.events["kind"], trace.events["tick"]
        asked = tick[kind == EventKind.request_sent][0]
        firsts.append(tick[kind == EventKind.query_sent][0] > asked)
    return all(firsts)


def several(found: list[Trace]) -> bool:
    return any(len(trace.updates) > len(np.unique(trace.updates["k"])) for trace in found)


def together(found: list[Trace]) -> bool:
    """Whether different owners answer one query."""
    return any(len(np.unique(t.updates["read_tick"])) < len(t.updates) for t in found)


def silenced(found: list[Trace]) -> bool:
    """Whether a budget is spent before a run's last update."""
    for trace in found:
        kind, tick = trace.events["kind"], trace.events["tick"]
        spent = tick[kind == EventKind.budget_exhausted]
        if len(spent) > 0 and spent[0] < trace.update_ticks[-1]:
            return True
    return False


def piling_up(found: list[Trace]) -> bool:
    """Whether requests still wait at the end, more than half of all."""
    asked = [np.sum(t.events["kind"] == EventKind.request_sent) for t in found]
    return bool(np.mean([t.n_updates for t in found]) < 0.5 * np.mean(asked))


def unanswered(found: list[Trace]) -> bool:
    """Whether more queries than owners can have at hand have no answer."""
    kinds = [trace.events["kind"] for trace in found]
    sent = [np.sum(kind == EventKind.query_sent) for kind in kinds]
    released = [np.sum(kind == EventKind.answer_released) for kind in kinds]
    return bool(np.max(np.subtract(sent, released)) > 3)


def lacking(found: list[Trace]) -> bool:
    """Whether some round has not an answer of everybody."""
    return any(np.any(np.bincount(t.updates["k"])[1:] != 3) for t in found)


def timeless(found: list[Trace]) -> bool:
    return all(trace.update_ticks[-1] == 0 for trace in found)


SLOW: Fields = {"compute": {"kind": "exponential", "mean": 0.4}}
STEADY: Fields = {"compute": {"kind": "constant", "value": 0.4}}
PUSH: Fields = {"protocol": {"kind": "push"}}
QUEUE: Fields = {"protocol": {"kind": "request", "busy": "queue"}}
EVERY: Fields = {"protocol": {"kind": "request", "busy": "queue", "own_tick": "queue"}}
ROUNDS: Fields = {"protocol": {"kind": "rounds"}, "answers_per_update": None}
RETRY: Fields = {
    "protocol": {"kind": "request", "busy": "retry", "retry": {"kind": "constant", "value": 0.1}}
}
OFF: Fields = {
    "kind": "on-off",
    "on": {"kind": "exponential", "mean": 2.0},
    "off": {"kind": "exponential", "mean": 2.0},
}


def channel(**fields: Any) -> Fields:
    return {"channel": {"kind": "ideal"} | fields}


def within(time: float, **fields: Any) -> Fields:
    return {"protocol": {"kind": "request", "timeout": time} | fields}


def until_late(time: float) -> Fields:
    return ROUNDS | {"protocol": {"kind": "rounds", "deadline": time}}


LOSSY = channel(loss=0.3)
RETRIES = channel(loss=0.3, loss_acknowledgement=0.3, retransmissions=1)
ROWS: dict[str, tuple[Fields, Fact, tuple[Fields, ...]]] = {
    "clocks are gamma, not Poisson": (
        {"clock": {"kind": "gamma", "rate": 1.0, "cv": 0.1}, "answers_allowed": [T]} | PUSH,
        regular,
        ({"answers_allowed": [T]} | PUSH,),
    ),
    "availability is on-off, which is not drawn for each tick alone": (
        {"availability": OFF},
        happens("went_offline"),
        ({"availability": {"kind": "bernoulli", "probability": 0.5}},),
    ),
    "messages are lost": (PUSH | channel(loss=0.3), happens("answer_lost"), (PUSH,)),
    "messages are lost in bursts": (
        channel(loss={"to_bad": 0.3, "to_good": 0.3}),
        happens("answer_lost"),
        ({},),
    ),
    "the learner gives up after a timeout": (
        within(0.3) | SLOW,
        happens("timeout"),
        (within(0.5) | STEADY, SLOW),
    ),
    "owners vanish": (
        PUSH
        | {"protocol": {"kind": "push", "offline": "vanish"}, "availability": OFF}
        | SLOW
        | LOSSY,
        unanswered,
        (PUSH | {"availability": OFF} | SLOW | LOSSY,),
    ),
    "answers that arrived are sent again where acknowledgements are lost": (
        RETRIES,
        happens("answer_resent"),
        (channel(loss_acknowledgement=0.3), {}),
    ),
    "requests take time": (
        {"latency": {"request": {"kind": "constant", "value": 0.2}}},
        delayed,
        ({},),
    ),
    "requests wait in a queue": (QUEUE | SLOW, happens("request_queued"), (QUEUE, SLOW)),
    "refused requests are sent again": (RETRY | SLOW, happens("retry"), (RETRY, SLOW)),
    "requests that are lost are sent again": (
        RETRY | channel(loss_request=0.3),
        happens("retry"),
        (RETRY,),
    ),
    "an update takes 2 answers": ({"answers_per_update": 2}, several, ({},)),
    "a budget of 21 answers may be spent before the run ends": (
        {"answers_allowed": [21, T, T]},
        silenced,
        ({"answers_allowed": [59, T, T]}, {}),
    ),
    "owners share a channel": (
        PUSH | {"channel": {"kind": "aloha", "airtime": 0.2, "loss": 0.3}},
        happens("answer_collided"),
        (PUSH | LOSSY,),
    ),
    "jobs take time": (PUSH | SLOW, happens("clock_dropped"), (PUSH,)),
    "owners answer the same query": (
        {"protocol": {"kind": "broadcast", "interval": 2.0}},
        together,
        (PUSH, {}),
    ),
    "the queue grows without bound": (
        EVERY | {"compute": {"kind": "constant", "value": 1.0}, "until": 30.0},
        piling_up,
        (EVERY | {"compute": {"kind": "constant", "value": 0.1}, "until": 30.0},),
    ),
    "waiting owners do not ask again (own_tick)": (
        QUEUE | SLOW,
        happens("clock_dropped"),
        (EVERY | SLOW,),
    ),
    "rounds may end at the deadline": (
        until_late(0.5) | SLOW,
        lacking,
        (until_late(0.5) | STEADY, ROUNDS | SLOW),
    ),
    "rounds take no time": (ROUNDS, timeless, (ROUNDS | SLOW,)),
}


@pytest.mark.parametrize("said", ROWS)
def test_what_is_said_is_true(said):
    case, fact, others = ROWS[said]
    chosen = network(case)
    assert any(reason.startswith(said) for reason in reasons(chosen)), reasons(chosen)
    assert fact(traces(chosen))
    for other in others:
        near = network(other)
        assert not any(reason.startswith(said) for reason in reasons(near)), other
        assert not fact(traces(near)), other
