"""Joules and bytes of small scripted networks, worked out by hand; powers are powers of two."""

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.measures.energy import Energy, LearnerPower, used
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.clocks import ScriptedClock
from asyncdp_sim.network.latency import Aggregation
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.protocols import Rounds
from asyncdp_sim.trace.vocabulary import State
from tests.tables import table

ENERGY = Energy(idle=1, listening=2, computing=4, sending=8, receiving=16, offline=0.5)
BYTES = Energy(
    idle=0, listening=0, computing=0, sending=0, receiving=0,
    byte_sent=[1.0, 10.0], byte_received=0.25,
)  # fmt: skip
TRAVELS = Latency(query=Constant(value=0.25), answer=Constant(value=0.25))


def ran(*ticks, updates=2, **parts):
    """Return what two owners, or more, used whose clocks tick so."""
    fields = {
        "answers_allowed": (9,) * len(ticks),
        "updates": updates,
        "clock": ScriptedClock(times=[list(own) for own in ticks]),
        "compute": Constant(value=0.5),
        "latency": TRAVELS,
        "numbers": 3,
        "occupation": True,
    }
    network = Network(**(fields | parts))
    return simulate(network, Streams(1).within("replicate", 1)), network


def times(*ran, energy=ENERGY):
    """Return, per owner, the times that are not 0 by state."""
    found = used(*ran[:1], energy, *ran[1:]).times
    return [{state.name: float(row[state]) for state in State if row[state] != 0} for row in found]


CASES = table(__file__, "energy.toml")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_by_hand(case):
    parts = {key: None if x == "null" else x for key, x in case.get("with", {}).items()}
    found = ran(*case["ticks"], **parts)
    assert times(*found) == case["times"]
    spent = used(found[0], ENERGY, found[1])
    told = {"joules": spent.joules, "sent": spent.sent, "received": spent.received}
    if "of_bytes" in case:
        told["of_bytes"] = used(found[0], BYTES, found[1]).joules
    for name in told.keys() & case.keys():
        assert told[name].tolist() == case[name], name


def test_the_learner_is_busy_while_an_exchange_is_under_way():
    trace, network = ran([0.0], [0.5, 1.5])
    energy = ENERGY.model_copy(update={"learner": LearnerPower(idle=3, busy=5), "seconds": 60.0})
    assert used(trace, energy, network).learner == 60 * (5 * 2.0 + 3 * 0.5)
    assert used(trace, energy, network).joules.tolist() == [60 * 9.5] * 2
    assert used(trace, ENERGY, network).learner is None


def test_who_helps_to_open_a_sum_hears_of_it_and_sends():
    sums = Aggregation(least=2)
    parts = {"answers_per_update": None, "aggregation": sums, "updates": 1}
    trace, network = ran([], [], protocol=Rounds(), **parts)
    work = {"receiving": 0.5, "computing": 0.5, "sending": 0.5}
    assert times(trace, network) == [work, work]
    asked, opened = network.opening_bytes
    spent = used(trace, BYTES, network)
    assert spent.sent.tolist() == [network.answer_bytes + opened] * 2
    assert spent.received.tolist() == [network.query_bytes + asked] * 2


def test_a_trace_that_tells_nothing_of_it_is_refused():
    trace, network = ran([0.0], updates=1, occupation=False)
    with pytest.raises(ValueError, match="what owners were at"):
        used(trace, ENERGY, network)


def test_a_list_has_one_number_per_owner():
    assert [fault.key for fault in BYTES.faults(3)] == ["energy.byte_sent"]
    assert BYTES.faults(2) == []
    with pytest.raises(SpecError, match="idle"):
        Energy(idle=-1.0, listening=0, computing=0, sending=0, receiving=0)
