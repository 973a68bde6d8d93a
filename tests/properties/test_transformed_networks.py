"""The same network in other words: owners in another order, another unit of time.

Whatever kinds a network is made of, its run must be the same run in the other words. A field is
known to be a time, or a rate, by the unit that it declares.
"""

from contextlib import nullcontext
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import Spec, picked
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.theory.predict.channels import theory_of
from asyncdp_sim.trace import Trace
from tests.drawn import NothingFitsError
from tests.fresh import fresh_seed, none_escapes
from tests.properties.networks import FIXED, SEEDS, network, seeded
from tests.properties.rough_networks import rough_network
from tests.properties.test_any_channel_and_protocol import CHECKS, summed
from tests.traces import network as small
from tests.traces import scope, traced

BY_UNIT = {
    "time units": 0.5,
    "time units / side": 0.5,
    "ticks / time unit": 2.0,
    "bytes / time unit": 2.0,
}
"""What a number is multiplied by, in a unit of time twice as long."""
WITHOUT_UNIT = {"until": 0.5}
"""Fields of a network itself, which declare none."""


def any_network(rng: Random) -> Network:
    return rough_network(rng, 0.25) if rng.random() < 0.5 else network(rng)


NETWORKS = seeded(any_network)


def in_longer_units(spec: Spec) -> Spec:
    """Return a specification whose times are in a unit twice as long."""
    changed = {}
    for name, field in type(spec).model_fields.items():
        extra = field.json_schema_extra
        unit = extra.get("unit") if isinstance(extra, dict) else None
        by = WITHOUT_UNIT.get(name, BY_UNIT.get(str(unit), 1.0))
        changed[name] = _multiplied(getattr(spec, name), by)
    if getattr(spec, "path", None) is not None and changed["unit"] is None:
        changed["unit"] = 0.5  # of the times in the file
    return type(spec)(**changed)


def _multiplied(value: Any, by: float) -> Any:
    if isinstance(value, Spec):
        return in_longer_units(value)
    if isinstance(value, tuple):
        return tuple(_multiplied(each, by) for each in value)
    return value * by if isinstance(value, float | int) and by != 1.0 else value


def story(trace: Trace, names: dict[int, int] | None = None) -> Any:
    """What happened, to whom, in which order, but not when; owners by other names if asked."""
    rows, owners = trace.exchanges, trace.owners
    numbers = [1 + place for place in range(trace.n_owners)]
    called = {number: number if names is None else names[number] for number in numbers}
    kept = ("message", "read_k", "end_k", "outcome", "transmissions")
    accounts = {
        called[number]: tuple(int(owners[name][number - 1]) for name in ("attempts", "refused"))
        for number in numbers
    }
    return (
        trace.ending,
        [called[owner] for owner in rows["owner"].tolist()],
        {name: rows[name].tolist() for name in kept},
        accounts,
    )


def scales(net: Network) -> bool:
    """Whether all times are in fields: those of a file's links are not."""
    return net.topology is None or net.topology.kind != "file"


def apart(net: Network) -> bool:
    """Whether owners never act at one tick, and are told apart by their streams alone.

    Who is first at one tick, and who stands where in a graph or a file, is told by numbers.
    """
    alone = net.clock.mixing and net.protocol.kind in ("request", "push") and net.topology is None
    unnumbered = net.availability.kind != "intervals" and not by_number(net.channel)
    return alone and unnumbered and net.ties == "declared"


def by_number(channel: Channel) -> bool:
    """Whether an owner's number tells when, or on which of several channels, it sends.

    Slot j is owner j's, and so is channel (j − 1) mod K + 1: in another order an owner waits for
    another slot, and collides with others.
    """
    shared = channel.contended
    return (shared is not None and shared.in_turn) or theory_of(channel).spread_alike() != channel


def same_in_longer_units(net: Network, seed: int) -> None:
    """Durations are rounded to ticks, each by itself: times are twice as long but for that."""
    one, other = (simulate(each, scope(seed)) for each in (net, in_longer_units(net)))
    assert story(one) == story(other)
    apart = np.abs(one.exchanges["end_tick"] - 2 * other.exchanges["end_tick"])
    drawn = 10 + len(one.exchanges) + int(one.owners["attempts"].sum())
    assert apart.max(initial=0) <= 4 * drawn


def same_in_another_order(net: Network, seed: int) -> None:
    places = list(range(net.n_owners))
    Random(seed).shuffle(places)
    numbers = tuple(place + 1 for place in places)
    allowed = tuple(net.answers_allowed[place] for place in places)
    again = picked(net, places).model_copy(
        update={"owner_numbers": numbers, "answers_allowed": allowed}
    )
    names = dict(enumerate(numbers, 1))
    one, other = (simulate(each, scope(seed)) for each in (net, again))
    assert story(one) == story(other, names)
    assert np.array_equal(one.exchanges["end_tick"], other.exchanges["end_tick"])


@pytest.mark.long
@settings(FIXED, max_examples=60)
@given(NETWORKS.filter(scales), SEEDS)
def test_in_a_unit_of_time_twice_as_long(net: Network, seed: int) -> None:
    same_in_longer_units(net, seed)


@settings(FIXED, max_examples=150)
@given(seeded(network), SEEDS)
def test_with_owners_in_another_order(net: Network, seed: int) -> None:
    if apart(net):
        same_in_another_order(net, seed)


ALOHA, TDMA = {"kind": "aloha", "airtime": 0.1}, {"kind": "tdma", "airtime": 0.1, "slot": 0.1}
SENT_BY_NUMBER = [
    TDMA,
    {"kind": "parallel", "channels": 1, "each": TDMA},
    {"kind": "parallel", "channels": 2, "each": TDMA},
    {"kind": "parallel", "channels": 2, "each": ALOHA, "choice": "by-owner"},
]
SENT_WHENEVER = [ALOHA, {"kind": "parallel", "channels": 2, "each": ALOHA}]


@pytest.mark.parametrize("channel", [*SENT_BY_NUMBER, *SENT_WHENEVER], ids=str)
def test_owners_in_another_order_are_told_apart_by_numbers_alone(channel):
    """Found at night: slots, and channels of one's own, within several channels."""
    parts = {"clock": {"kind": "poisson", "rate": 3.0}, "protocol": {"kind": "push"}}
    net = small(4, 20, updates=60, until=20.0, channel=channel, **parts)
    assert apart(net) == (channel in SENT_WHENEVER)
    with nullcontext() if apart(net) else pytest.raises(AssertionError):
        same_in_another_order(net, 1)


@pytest.mark.nightly
def test_twenty_thousand_networks(record_property):
    """Every rule that tests of any network hold, and both transformations."""
    first, tried, found = fresh_seed(), 0, []
    for number in range(first, first + 24_000):
        rng = Random(number)
        try:
            net = any_network(rng)
        except (SpecError, NothingFitsError):  # what is drawn does not always fit together
            continue
        tried += 1
        try:
            hold(net, rng.randrange(2**32))
        except Exception as error:
            found.append(f"{number}: {net.digest(0, 1)}: {error!r}")
    none_escapes(record_property, tried, found)
    assert tried >= 20_000


def hold(net: Network, seed: int) -> None:
    """Raise if a rule is broken by a run of a network."""
    held = summed(net, seed)
    trace = traced(held, seed)
    for holds in CHECKS if held.until is not None else ():
        holds(held, trace)
    if scales(net):
        same_in_longer_units(net, seed)
    if apart(net):
        same_in_another_order(net, seed)
