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
from tests.tables import composed, table

pytestmark = pytest.mark.no_evidence

Fields = dict[str, Any]
Fact = Callable[[list[Trace]], bool]
T, R = 60, 5


def network(case: list[Any]) -> Network:
    fields: Fields = {"answers_allowed": [T] * 3, "updates": T, "clock": {"kind": "poisson"}}
    return parse(Network, fields | composed(TABLE["parts"], case))


def traces(found: Network) -> list[Trace]:
    scopes = [Streams(5).within("replicate", r) for r in range(R)]
    return [simulate(found, scope, events=True) for scope in scopes]


def reasons(found: Network) -> set[str]:
    law = releases(found)
    return {each.reason for each in predict(found)} | (
        {law.reason} if isinstance(law, Unknown) else set()
    )


def happens(kind: str) -> Fact:
    """Whether there are events of a kind."""
    return lambda found: any((trace.events["kind"] == EventKind[kind]).any() for trace in found)


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


def late(found: list[Trace]) -> bool:
    """Whether some owner has none of the first half of the updates, in every run."""
    return all(len(np.unique(t.updates["owner"][: T // 2])) < 3 for t in found)


def interleaved(found: list[Trace]) -> bool:
    """Whether an owner sends an answer again after it has begun to send another one."""
    again = EventKind.answer_resent
    for trace in found:
        sent = trace.events[np.isin(trace.events["kind"], (EventKind.answer_released, again))]
        for owner in (1, 2, 3):
            own = sent[sent["owner"] == owner]
            if np.any((own["kind"][1:] == again) & (np.diff(own["message"]) != 0)):
                return True
    return False


def timeless(found: list[Trace]) -> bool:
    return all(trace.update_ticks[-1] == 0 for trace in found)


FACTS: dict[str, Fact] = {
    fact.__name__: fact
    for fact in (
        regular, delayed, several, together, silenced, piling_up, unanswered, lacking, late,
        interleaved, timeless,
    )
}  # fmt: skip
TABLE = table(__file__, "reasons.toml")
ROWS = TABLE["rows"]


@pytest.mark.parametrize("said", ROWS)
def test_what_is_said_is_true(said):
    row = ROWS[said]
    fact = happens(row["event"]) if "event" in row else FACTS[row["fact"]]
    chosen = network(row["case"])
    assert any(reason.startswith(said) for reason in reasons(chosen)), reasons(chosen)
    assert fact(traces(chosen))
    for other in row["near"]:
        near = network(other)
        assert not any(reason.startswith(said) for reason in reasons(near)), other
        assert not fact(traces(near)), other
