"""Two implementations of each protocol give one trace: the event queue's, and that of sockets.

A rehearsal's owners and learner share no queue: they exchange messages over TCP and set timers.
Where the machine costs no time, all that they do falls on the ticks at which the simulation has it.
"""

import asyncio
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from asyncdp_sim.network import simulate
from asyncdp_sim.rehearsals.serving import ServingAlone
from asyncdp_sim.trace import Exchange, Trace
from tests.one_in import one_in
from tests.rehearsals.scenes import WAYS, order_of, scenario
from tests.rehearsals.timeless import timeless

pytestmark = pytest.mark.oracle(
    "every exchange: times of request, read, release and end, and outcome"
)

COLUMNS = ("owner", "request_tick", "read_tick", "read_k", "release_tick", "end_tick", "end_k")
TICKS = ("request_tick", "read_tick", "release_tick", "end_tick")


def exchanges(trace: Trace) -> npt.NDArray[np.void]:
    """Return exchanges by their reads; their numbers are each implementation's own."""
    rows = trace.exchanges
    return rows[np.lexsort((rows["owner"], rows["end_tick"], rows["read_tick"]))]


def both(changes: dict[str, Any]) -> tuple[Trace, Trace]:
    order = order_of(scenario(**changes), unit=1.0)
    rehearsed = timeless(order).trace
    simulated = simulate(order.network, order.streams)
    return rehearsed, simulated


def differences(changes: dict[str, Any]) -> list[str]:
    """Return in which columns the two traces differ, by more than the rounding of a tick."""
    ours, theirs = both(changes)
    if len(ours.exchanges) != len(theirs.exchanges) or ours.ending is not theirs.ending:
        return [f"{len(ours.exchanges)} exchanges and {len(theirs.exchanges)}"]
    one, other = exchanges(ours), exchanges(theirs)
    found = []
    for name in (*COLUMNS, "transmissions", "outcome"):
        apart = np.abs(one[name] - other[name])
        if (apart > (2 if name in TICKS else 0)).any():
            found.append(name)
    for name in ("attempts", "refused", "unheard"):
        if (ours.owners[name] != theirs.owners[name]).any():
            found.append(name)
    if not np.allclose(ours.owners["online"], theirs.owners["online"], atol=1e-6, equal_nan=True):
        found.append("online")
    return found


@one_in(4, "changes", WAYS.values(), ids=WAYS.keys())
def test_sockets_and_the_event_queue_agree(changes: dict[str, Any]) -> None:
    assert differences(changes) == []


def test_a_lock_that_is_released_late_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the learner is locked for a little longer than an exchange lasts."""
    free = ServingAlone.free

    def later(served: ServingAlone, exchange: Exchange) -> None:
        asyncio.get_running_loop().call_later(0.05, free, served, exchange)

    monkeypatch.setattr(ServingAlone, "free", later)
    assert differences({}) != []
