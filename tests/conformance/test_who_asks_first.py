"""Channels asked by owners in another order: the same comes of each, as far as it can."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pytest
from typing_extensions import override

from asyncdp_sim.core.kernel import TRANSMISSION_BEGINS, Kernel, Waiting
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network.channels import Channel, SlottedAloha
from asyncdp_sim.network.channels.air import Air, Fate, Port
from asyncdp_sim.network.channels.aloha import SlottedMedium
from asyncdp_sim.network.laws import uniforms
from tests.conformance.members import said
from tests.conformance.test_channels import EACH, SHARED, N, Plan, Station, hears_at_once
from tests.together import together

SLOTTED = [channel for channel in SHARED if channel.contended.slotted]
ORDERS = range(1, 4)


def came_of(channel: Channel, asked: Plan, ties: int | None = None) -> list[tuple[Any, ...]]:
    """What came of every attempt, by owner; ties at a tick are shuffled with a seed."""
    kernel = Kernel(None if ties is None else np.random.default_rng(ties))
    sent = Station(channel, kernel=kernel).run(asked)
    return sorted((one.owner, one.start, one.end, one.fate) for one in sent)


def in_slots(channel: Channel, order: int | None = None) -> list[tuple[int, int]]:
    """Random attempts as slots begin; or somewhere within the slot before, in a random order."""
    rng, slot = np.random.default_rng(6), to_ticks(getattr(channel.contended, "slot", 0.1))
    slots, owners = rng.integers(1, 151, 240), rng.integers(1, N + 1, 240)
    early = 0 if order is None else np.random.default_rng(order).integers(0, slot, 240)
    return list(zip((slots * slot - early).tolist(), owners.tolist(), strict=True))


def depends_on_ties(channel: Channel) -> bool:
    asked = in_slots(channel)
    return any(came_of(channel, asked, seed) != came_of(channel, asked) for seed in ORDERS)


def depends_on_who_asks_first(channel: Channel) -> bool:
    asked = came_of(channel, in_slots(channel))
    return any(came_of(channel, in_slots(channel, order)) != asked for order in ORDERS)


@together
@EACH
def test_what_comes_of_whom_depends_on_ties_only_where_one_is_heard_at_once(channel):
    remedy = "a channel whose draws are made in the order of asking is to be left out here"
    by_turns = channel.contended.queues  # a tick for each answer, in the order in which they came
    assert depends_on_ties(channel) == (hears_at_once(channel) or by_turns), remedy


@together
@pytest.mark.parametrize("channel", SLOTTED, ids=said)
def test_who_asks_first_within_a_slot_makes_no_difference(channel):
    assert not depends_on_who_asks_first(channel)


class OneCoin(SlottedMedium):
    """Slots in which each owner tosses the one coin of the channel as it asks, and may wait one."""

    def __init__(self, air: Air, slot: int, draws: Iterator[float]) -> None:
        super().__init__(air, slot)
        self._draws = draws

    @override
    def port(self, owner: int) -> Port:
        return Tossing(super().port(owner), self._air.kernel, self._slot, self._draws).transmit


@dataclass
class Tossing:
    """A slotted port whose owner waits a slot where the next draw says so."""

    right: Port
    kernel: Kernel
    slot: int
    draws: Iterator[float]

    def transmit(self, *how: Any) -> Waiting[Fate]:
        while next(self.draws) >= 0.5:
            yield self.kernel.tick + self.slot, TRANSMISSION_BEGINS
        return (yield from self.right(*how))


class FirstComes(SlottedAloha):
    """A slotted channel whose draws depend on who asks first."""

    kind: Literal["first-comes"] = "first-comes"

    @override
    def open(self, kernel: Kernel, streams: Any, n_owners: int) -> OneCoin:
        draws = uniforms(partial(streams.generator, "coin"))
        return OneCoin(Air(kernel), to_ticks(self.slot), draws)


def test_draws_that_depend_on_who_asks_first_are_caught():
    """With ties and without: no order of events at one tick need ever change."""
    wrong = FirstComes(airtime=0.1, slot=0.1)
    assert depends_on_ties(wrong)
    assert depends_on_who_asks_first(wrong)
