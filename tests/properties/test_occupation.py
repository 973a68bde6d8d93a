"""Occupation of owners over all kinds of networks: told without changing them, filling time."""

from fractions import Fraction
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.measures.energy import Energy, used
from asyncdp_sim.network import Network
from asyncdp_sim.network.laws import NoTime
from asyncdp_sim.network.protocols import Push, Request
from asyncdp_sim.trace import EventKind, Trace
from asyncdp_sim.trace.recorder import Spells
from asyncdp_sim.trace.spans import ANSWER, COMPUTING, OFFLINE, QUERY, REQUEST, spans
from asyncdp_sim.trace.vocabulary import State
from tests.properties.networks import FIXED, SEEDS, networks, traced
from tests.properties.rough_networks import rough_networks

pytestmark = pytest.mark.oracle("activity of each owner at every tick")

FEW = settings(FIXED, max_examples=15)
ENERGY = Energy(
    idle=0.11, listening=0.73, computing=5.7, sending=1.9, receiving=0.83, offline=0.013,
    byte_sent=1e-3, byte_received=2e-3, seconds=3600.0,
)  # fmt: skip
STATE = {
    REQUEST: State.sending,
    ANSWER: State.sending,
    COMPUTING: State.computing,
    QUERY: State.receiving,
    OFFLINE: State.offline,
}


def noted(network: Network, seed: int) -> tuple[Trace, list[list[int]]]:
    """Return a trace with occupation and events, and the spells it was made of."""
    kept: list[list[int]] = []
    usual = Spells.occupation

    def keeping(self: Spells, *args: object) -> object:
        kept.extend(self.rows.tolist())
        return usual(self, *args)

    asked = network.model_copy(update={"occupation": True})
    with patch.object(Spells, "occupation", keeping):
        return traced(asked, seed), kept


def swept(rows: list[list[int]], owner: int, end: int) -> list[int]:
    """Return an owner's ticks by state, going from one change to the next."""
    own = [(state, start, min(stop, end)) for who, state, start, stop in rows if who == owner]
    cuts = sorted({0, end, *(tick for _, *both in own for tick in both if tick <= end)})
    found = [0] * len(State)
    for a, b in pairwise(cuts):
        now = [state for state, start, stop in own if start <= a and b <= stop]
        found[min(now, default=State.idle)] += b - a
    return found


def ticks(trace: Trace, owner: int) -> list[int]:
    return [int(trace.occupation[state.name][owner - 1]) for state in State]


@FEW
@given(rough_networks(0.25), SEEDS)
def test_notes_change_nothing_and_every_tick_of_a_run_is_in_one_state(
    network: Network, seed: int
) -> None:
    trace, rows = noted(network, seed)
    bare = traced(network, seed)
    assert bare.occupation is None
    assert trace.events.tolist() == bare.events.tolist()
    assert trace.exchanges.tolist() == bare.exchanges.tolist()
    for owner in range(1, trace.n_owners + 1):
        assert ticks(trace, owner) == swept(rows, owner, trace.end_tick)
        assert sum(ticks(trace, owner)) == trace.end_tick


@FEW
@given(rough_networks(0.25), SEEDS)
def test_joules_are_power_times_time_and_bytes(network: Network, seed: int) -> None:
    trace, rows = noted(network, seed)
    found = used(trace, ENERGY, network)
    for owner in range(1, trace.n_owners + 1):
        exact = sum(
            Fraction(getattr(ENERGY, state.name)) * 3600 * Fraction(spent, TICKS_PER_UNIT)
            for state, spent in zip(State, swept(rows, owner, trace.end_tick), strict=True)
        )
        exact += Fraction(1e-3) * int(found.sent[owner - 1])
        exact += Fraction(2e-3) * int(found.received[owner - 1])
        assert abs(found.joules[owner - 1] - float(exact)) <= 1e-12 * float(exact)


@FEW
@given(rough_networks(), SEEDS)
def test_what_is_on_a_shared_air_is_what_owners_send(network: Network, seed: int) -> None:
    if network.channel.contended is None:
        return
    free = {"topology": None, "latency": network.latency.model_copy(update={"request": NoTime()})}
    trace, rows = noted(Network(**{**dict(network), **free}), seed)
    end = trace.end_tick
    sent = [max(0, min(b, end) - a) for _, state, a, b in rows if state == State.sending]
    assert sum(sent) == trace.on_air_ticks


@FEW
@given(
    networks(),
    st.sampled_from([Request(), Push(), Push(own_tick="overlap")]),
    SEEDS,
)
def test_occupation_is_what_events_tell(network: Network, protocol: object, seed: int) -> None:
    """Where every stage begins and ends with an event: spans of events, joined by precedence."""
    network = Network(**{**dict(network), "protocol": protocol})
    trace, _ = noted(network, seed)
    if EventKind.query_received not in trace.events["kind"] and network.mean_times("query")[0] > 0:
        return  # the only queries are still on their way, which no event tells
    told = [
        [span.owner, STATE[span.name], span.start, span.end]
        for span in spans(trace.events, trace.end_tick)
        if span.name in STATE
    ]
    for owner in range(1, trace.n_owners + 1):
        assert ticks(trace, owner) == swept(told, owner, trace.end_tick)
    answers = np.bincount(
        trace.exchanges["owner"], trace.exchanges["transmissions"], trace.n_owners + 1
    )
    assert trace.occupation["answers"].tolist() == answers[1:].tolist()
