"""Peers keep to the protocol, whatever their pace; what they learned is learned again to the bit.

Nothing here depends on how quick the machine is: where a learner's patience ends, as under a
timeout, time passes only where it is slept.
"""

import asyncio
from contextlib import suppress
from functools import partial

import numpy as np

from asyncdp_sim.learning.acceptance import clipped
from asyncdp_sim.learning.algorithms import AnswerBatch
from asyncdp_sim.learning.reply import AnswerModel
from asyncdp_sim.rehearsals.config import Order
from asyncdp_sim.rehearsals.learner import Rehearsed
from asyncdp_sim.rehearsals.serving import Arrived
from asyncdp_sim.rehearsals.transport import run_here
from asyncdp_sim.runs.traces import learn_released
from asyncdp_sim.trace import Ending, ExchangeOutcome
from tests.one_in import one_in
from tests.rehearsals.scenes import WAYS, order_of, rehearsed, scenario, talking
from tests.rehearsals.timeless import timeless


def require_sound(order: Order, found: Rehearsed) -> None:
    """Ask of a rehearsal what holds of every run: its models follow, and its books agree."""
    again = learn_released(order.task, order.seed, [order.number], [found.trace])
    np.testing.assert_array_equal(again.models, found.learned.models)
    np.testing.assert_array_equal(again.curve, found.learned.curve)
    released = found.trace.released
    assert (released <= order.network.answers_allowed).all()


@one_in(4, "changes", WAYS.values(), ids=WAYS.keys())
def test_every_way_to_talk(changes):
    order = order_of(scenario(**changes))
    require_kept(order, timeless(order))


@one_in(5, "way", ["refuse", "queue", "fresh answers", "push", "rounds"])
def test_whatever_the_pace(way):
    order = order_of(scenario(**WAYS[way]))
    require_kept(order, rehearsed(order))


def require_kept(order: Order, found: Rehearsed) -> None:
    """Ask of a rehearsal that it went as its protocol says, to its end."""
    require_sound(order, found)
    network, trace = order.network, found.trace
    if trace.ending is Ending.updates:
        assert trace.n_updates == network.updates
    if min(network.answers_allowed) < network.updates:
        assert trace.ending is Ending.spent
        assert trace.released.tolist() == list(network.answers_allowed)
    given_up = trace.exchanges[trace.came_to(ExchangeOutcome.abandoned)]
    assert (given_up["transmissions"] == 0).all()
    if network.protocol.one_on_one:
        assert (trace.updates["staleness"] == 0).all()


STRANGE = {
    "a wrong token": b"x" * 16 + b"\x00\x00\x00\x01",
    "half a token": bytes(7),
    "a page": b"GET / HTTP/1.1\r\n\r\n" * 9,
}


def test_a_connection_without_the_token_is_refused(caplog):
    async def meddle(port: int) -> None:
        for said in STRANGE.values():
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(said)
            writer.write_eof()
            with suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()

    order = order_of(scenario())
    require_sound(order, run_here(talking(order, meddle)))
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["rehearse: refused a connection without the token"] * len(STRANGE)


def test_the_server_clips_answers_that_arrived():
    arrived = Arrived(AnswerModel(None, None, acceptance=partial(clipped, np.array([1.0, 2.0]))))
    arrived.last = np.array([3.0, -1.0])
    turn = AnswerBatch(np.array([1]))
    assert arrived.give(turn, np.zeros((1, 2))).tolist() == [[1.5, -0.5]]
