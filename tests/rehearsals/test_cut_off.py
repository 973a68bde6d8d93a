"""Connections that are cut, strangers, and second lives: the run goes on, within budgets.

Whatever the machine is busy with: time passes only where it is slept.
"""

import asyncio
import json
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.rehearsals.learner import LearnerPeer
from asyncdp_sim.rehearsals.owner import Charges, OwnerPeer, OwnersReleases, charged, ledger_file
from asyncdp_sim.rehearsals.wire import Wire, connect
from asyncdp_sim.trace import ExchangeOutcome
from tests.rehearsals.scenes import WAYS, order_of, scenario
from tests.rehearsals.test_semantics import require_sound
from tests.rehearsals.timeless import timeless

CAPPED: dict[str, Any] = WAYS["budget"] | {"run": {"updates": 40, "seed": 3}}


async def cut_every_so_often(_: int, learner: LearnerPeer, owners: list[OwnerPeer]) -> None:
    """Hang up on one owner after the other, at the learner's end, until the run is over."""
    for number in range(30):
        await asyncio.sleep(0.03)
        wire = learner._wires.get(1 + number % len(owners))
        if wire is not None:
            wire.hang_up()


@pytest.mark.parametrize(
    "way", ["refuse", "queue of own ticks", "timeout", "push overlap", "rounds"]
)
def test_a_connection_that_is_cut_ends_its_exchanges_alone(way: str, tmp_path: Path) -> None:
    order = order_of(scenario(**WAYS[way]), tmp_path)
    found = timeless(order, cut_every_so_often)
    require_sound(order, found)
    assert found.trace.n_updates == order.network.updates


@pytest.mark.parametrize("way", ["refuse", "push overlap"])
def test_what_an_owner_begins_while_it_is_cut_off_is_given_up(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine it takes long to be let in again, and clocks go on ticking."""

    async def slowly(port: int) -> Wire | None:
        await asyncio.sleep(0.2)
        return await connect(port)

    monkeypatch.setattr("asyncdp_sim.rehearsals.owner.connect", slowly)
    order = order_of(scenario(**WAYS[way]), tmp_path)
    found = timeless(order, cut_every_so_often)
    require_sound(order, found)
    assert found.trace.n_updates == order.network.updates


def test_who_comes_back_when_the_run_is_over_is_told_so(tmp_path: Path) -> None:
    """Not only that it has begun: it would wait for the learner as long as that is there."""
    told = []

    async def late(port: int, learner: LearnerPeer, _: list[OwnerPeer]) -> None:
        wire = await connect(port)
        assert wire is not None
        while learner._ended is None:
            await asyncio.sleep(0.001)
        wire.send("hello", owner=1, token="token")
        for _ in range(2):
            heard = await asyncio.wait_for(wire.receive(), 5.0)
            assert heard is not None
            told.append(heard.kind)
        await wire.close()

    timeless(order_of(scenario(**WAYS["refuse"]), tmp_path), late)
    assert told == ["begin", "end"]


def test_no_owner_exceeds_its_budget_by_being_cut_off(tmp_path: Path) -> None:
    order = order_of(scenario(**CAPPED), tmp_path)
    found = timeless(order, cut_every_so_often)
    require_sound(order, found)
    assert found.trace.released.tolist() == list(order.network.answers_allowed)
    unused = found.trace.ended(ExchangeOutcome.lost)
    assert found.trace.n_updates == sum(order.network.answers_allowed) - unused.sum()


def frame(head: bytes, body: bytes = b"") -> bytes:
    return struct.pack("<II", len(head), len(body)) + head + body


HELLO = {"kind": "hello", "owner": 1}
STRANGE: dict[str, bytes] = {
    "a wrong token": frame(json.dumps({**HELLO, "token": "wrong"}).encode()),
    "a token outside ASCII": frame(json.dumps({**HELLO, "token": "tökèn"}).encode()),
    "half a letter": frame(b'{"kind": "hello", "owner": 1, "token": "\\ud800"}'),
    "no token": frame(json.dumps(HELLO).encode()),
    "no kind": frame(b"{}"),
    "a list": frame(b"[1, 2]"),
    "a number": frame(b"17"),
    "brackets within brackets": frame(b"[" * 4000),
    "no UTF-8": frame(b"\xff\xfe\x00{"),
    "no whole numbers": frame(json.dumps(HELLO).encode(), b"12345"),
    "a gigabyte to come": struct.pack("<II", 2**29, 2**29),
    "more than 4 KiB to come": struct.pack("<II", 4097, 0),
    "a page": b"GET / HTTP/1.1\r\n\r\n" * 9,
}


def test_strangers_are_not_heard(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They are hung up on at once; one line tells of them."""
    hung_up = []

    async def meddle(port: int, learner: LearnerPeer, _: list[OwnerPeer]) -> None:
        now = asyncio.get_running_loop().time
        for name, said in STRANGE.items():
            began = now()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(said)
            if name == "a page":
                writer.write_eof()
            with suppress(ConnectionError):
                assert await reader.read() == b""
            assert now() - began < 1.0
            hung_up.append(name)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
        assert len(learner._unknown) == 0

    order = order_of(scenario(), tmp_path)
    require_sound(order, timeless(order, meddle))
    assert hung_up == list(STRANGE)
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert "refused a connection without the token, from 127.0.0.1:" in record.getMessage()
    assert record.exc_info is None


def test_strangers_are_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Owners get in all the same, and at once: who is silent longest makes room."""
    most, began = [], []

    async def behind_them(port: int) -> Wire | None:
        await asyncio.sleep(0.5)
        return await connect(port)

    async def crowd(port: int, learner: LearnerPeer, _: list[OwnerPeer]) -> None:
        every = []
        for _ in range(60):
            every.append(await asyncio.open_connection("127.0.0.1", port))
            await asyncio.sleep(0.001)
            most.append(len(learner._unknown))
        while learner._begun is None:
            await asyncio.sleep(0.001)
        began.append(asyncio.get_running_loop().time())
        for _, writer in every:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    monkeypatch.setattr("asyncdp_sim.rehearsals.owner.connect", behind_them)
    order = order_of(scenario(), tmp_path)
    require_sound(order, timeless(order, crowd))
    assert max(most) == order.network.n_owners + 16
    assert began[0] < 1.0


def test_a_charge_is_on_disk_before_its_answer_is_there(tmp_path: Path) -> None:
    order = order_of(scenario(), tmp_path)
    releases = OwnersReleases(order, order.streams, 2)
    seen = []
    answers = releases._answers.give
    releases._answers.give = lambda *given: (  # type: ignore[method-assign]
        seen.append(charged(ledger_file(tmp_path, 2))) or answers(*given)
    )
    releases.release(7, 1000, np.zeros(3))
    releases.close()
    assert seen == [{7: 1000}]


def test_a_second_life_goes_on_where_the_first_one_ended(tmp_path: Path) -> None:
    order = order_of(scenario(), tmp_path / "")
    one = OwnersReleases(order, order.streams, 2)
    ever = [one.release(message, 0, np.zeros(3)) for message in range(4)]
    one.close()
    ledger_file(tmp_path, 2).write_text("".join(f"{message} 0\n" for message in range(2)))
    again = OwnersReleases(order, order.streams, 2)
    assert again.left == one._allowed - 2
    np.testing.assert_array_equal(again.release(2, 0, np.zeros(3)), ever[2])
    again.close()


def test_a_line_that_was_cut_off_is_paid_for(tmp_path: Path) -> None:
    file = tmp_path / "ledger.txt"
    file.write_text("3 100\n4 2")
    charges = Charges(file)
    assert charges.count == 2
    charges.charge(5, 300)
    charges.close()
    assert Charges(file).count == 3
    assert charged(file) == {3: 100, 5: 300}
