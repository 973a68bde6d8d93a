"""Joules and bytes of small scripted networks, worked out by hand; powers are powers of two."""

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.measures.energy import Energy, LearnerPower, used
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import Outages
from asyncdp_sim.network.channels import Aloha, Csma, Ideal, Tdma
from asyncdp_sim.network.clocks import PoissonClock, ScriptedClock
from asyncdp_sim.network.graphs import Complete
from asyncdp_sim.network.laws import Constant, NoTime
from asyncdp_sim.network.protocols import Broadcast, Dispatch, Gossip, Push, Rounds
from asyncdp_sim.network.sums import Aggregation
from asyncdp_sim.trace.occupation import State

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


def joules(*ran, energy=ENERGY):
    return used(ran[0], energy, ran[1]).joules.tolist()


def test_under_the_lock_an_owner_receives_computes_and_sends():
    # 0–1 owner 1 is served; owner 2 is refused at 0.5 and served from 1.5 to 2.5, the end
    found = ran([0.0], [0.5, 1.5])
    work = {"sending": 0.25, "computing": 0.5, "receiving": 0.25, "idle": 1.5}
    assert times(*found) == [work, work]
    assert joules(*found) == [8 * 0.25 + 4 * 0.5 + 16 * 0.25 + 1.5] * 2 == [9.5, 9.5]
    spent = used(found[0], BYTES, found[1])
    # a request is a header of 40 bytes, query and answer 3 numbers of 8 bytes besides
    assert spent.sent.tolist() == [40 + 64, 2 * 40 + 64]
    assert spent.received.tolist() == [64, 64]
    assert spent.joules.tolist() == [104 + 16, 1440 + 16]


def test_the_learner_is_busy_while_an_exchange_is_under_way():
    trace, network = ran([0.0], [0.5, 1.5])
    energy = ENERGY.model_copy(update={"learner": LearnerPower(idle=3, busy=5), "seconds": 60.0})
    assert used(trace, energy, network).learner == 60 * (5 * 2.0 + 3 * 0.5)
    assert used(trace, energy, network).joules.tolist() == [60 * 9.5] * 2
    assert used(trace, ENERGY, network).learner is None


def test_queries_that_cross_work_take_no_time_of_their_own():
    # every tick a job: at 0 and 0.5; of the second query 0.25 to 0.5 falls into the first job
    found = ran([0.0, 0.5], protocol=Push(own_tick="overlap"))
    # 0–.25 receiving, .25–.75 computing, .75–1 sending, 1–1.25 computing (from .75), –1.5 sending
    assert times(*found) == [{"sending": 0.5, "computing": 0.75, "receiving": 0.25}]


def test_answers_that_collide_are_sent_again_and_cost_as_much():
    # both send at .5–1 and collide; the backoff of 1 (doubled: none) is waited for, and so on
    channel = Aloha(airtime=0.5, retransmissions=1, backoff=Constant(value=1.0))
    found = ran([0.0], [0.25], protocol=Push(), channel=channel, latency=Latency(), until=3.0)
    # owner 1: computes 0–.5, sends .5–1, waits 1–2, sends 2–2.5; owner 2 all .25 later; then
    # nothing is left to try
    assert times(*found) == [
        {"sending": 1.0, "computing": 0.5, "listening": 1.0, "idle": 0.25},
        {"sending": 1.0, "computing": 0.5, "listening": 1.0, "idle": 0.25},
    ]
    assert joules(*found) == [8 + 2 + 2 + 0.25] * 2
    assert used(found[0], BYTES, found[1]).sent.tolist() == [128, 128]


def test_who_hears_another_listens_until_the_air_is_free():
    channel = Csma(airtime=0.5, propagation_delay=0.0, persistence=1.0)
    found = ran([0.0], [0.25], protocol=Push(), channel=channel, latency=Latency())
    # owner 2 is ready at .75 while owner 1 sends until 1, then sends until 1.5, the end
    assert times(*found) == [
        {"sending": 0.5, "computing": 0.5, "idle": 0.5},
        {"sending": 0.5, "computing": 0.5, "listening": 0.25, "idle": 0.25},
    ]


def test_who_waits_for_its_slot_listens():
    channel = Tdma(airtime=0.5, slot=0.5)
    found = ran([0.0], [0.0], protocol=Push(), channel=channel, latency=Latency())
    # ready at .5; owner 1's slots begin at 0, 1, owner 2's at .5, 1.5: it sends at once
    assert times(*found) == [
        {"sending": 0.5, "computing": 0.5, "listening": 0.5},
        {"sending": 0.5, "computing": 0.5, "idle": 0.5},
    ]


def test_beyond_a_shared_channel_an_answer_is_on_its_way_alone():
    found = ran([0.0], updates=1, protocol=Push(), channel=Aloha(airtime=0.5))
    # heard .25, computed .75, on the air until 1.25, on its way until 1.5
    assert times(*found) == [{"receiving": 0.25, "computing": 0.5, "sending": 0.5, "idle": 0.25}]


def test_with_a_rate_messages_last_as_long_as_their_bytes():
    latency = TRAVELS.model_copy(update={"rate_bytes": (64.0, 640.0)})
    found = ran([0.0], [0.0], protocol=Push(), latency=latency)
    # owner 1: 1.25 each way, of which 1 is its bytes'; owner 2: .35, of which .1
    first, second = times(*found)
    assert first == {"receiving": 1.0, "computing": 0.5, "sending": 1.0, "idle": 0.5}
    assert second == {"receiving": 0.1, "computing": 0.5, "sending": 0.1, "idle": 2.3}


def test_the_offline_draw_their_own_power_once_nothing_is_under_way():
    away = Outages(groups=[[1]], gap=Constant(value=0.5), length=Constant(value=4.0))
    found = ran([0.0], [0.0, 2.0], protocol=Push(), availability=away)
    # owner 1 goes at .5 in the middle of its work, which it ends: 0–.25–.75–1, offline until 3
    assert times(*found)[0] == {"receiving": 0.25, "computing": 0.5, "sending": 0.25}
    found = ran([0.0], [0.0, 2.0], protocol=Push(), availability=away, updates=3)
    assert times(*found) == [
        {"receiving": 0.25, "computing": 0.5, "sending": 0.25, "offline": 2.0},
        {"receiving": 0.5, "computing": 1.0, "sending": 0.5, "idle": 1.0},
    ]
    assert joules(*found)[0] == 4 + 2 + 2 + 0.5 * 2


def test_an_acknowledgement_is_received():
    latency = TRAVELS.model_copy(update={"acknowledgement": Constant(value=0.5)})
    found = ran([0.0, 3.0], updates=2, protocol=Push(), latency=latency)
    # 0–1 as ever, 1–1.5 acknowledged, 3–4 as ever: the run ends with the update
    assert times(*found) == [
        {"receiving": 1.0, "computing": 1.0, "sending": 0.5, "idle": 1.5},
    ]
    assert used(found[0], ENERGY, found[1]).received.tolist() == [2 * 64 + 40]


def test_a_query_that_is_lost_was_received_and_is_not_heard():
    channel = Ideal(loss_query=(1.0, 0.0))
    found = ran([0.0], [0.0], updates=1, protocol=Push(), channel=channel)
    assert times(*found)[0] == {"receiving": 0.25, "idle": 0.75}
    assert used(found[0], BYTES, found[1]).received.tolist() == [0, 64]


def test_a_query_that_takes_no_time_is_heard_unless_it_is_lost():
    channel = Ideal(loss_query=(1.0, 0.0))
    found = ran([0.0], [0.0], updates=1, protocol=Push(), channel=channel, latency=Latency())
    assert times(*found) == [{"idle": 0.5}, {"computing": 0.5}]
    assert used(found[0], BYTES, found[1]).received.tolist() == [0, 64]


def test_in_rounds_the_fast_wait_and_the_late_have_worked_in_vain():
    work = (Constant(value=0.25), Constant(value=1.5))
    parts = {"answers_per_update": None, "compute": work, "updates": 1}
    whole = ran([], [], protocol=Rounds(), **parts)
    assert times(*whole) == [
        {"receiving": 0.25, "computing": 0.25, "sending": 0.25, "idle": 1.25},
        {"receiving": 0.25, "computing": 1.5, "sending": 0.25},
    ]
    cut = ran([], [], protocol=Rounds(deadline=1.0), **parts)
    assert times(*cut) == [
        {"receiving": 0.25, "computing": 0.25, "sending": 0.25, "idle": 0.25},
        {"receiving": 0.25, "computing": 0.75},
    ]


def test_every_owner_hears_a_query_to_all():
    protocol = Broadcast(interval=2.0, answer_at="after-delay", delay=NoTime(), superseded="apply")
    found = ran([], [], updates=2, protocol=protocol)
    assert times(*found) == [{"receiving": 0.25, "computing": 0.5, "sending": 0.25}] * 2
    assert used(found[0], BYTES, found[1]).received.tolist() == [64, 64]


def test_tasks_wait_at_their_owner():
    found = ran([], updates=2, protocol=Dispatch(tasks=2))
    # queries until .25; works .25–.75, sends –1; the next –1.5, –1.75; a third query comes 1–1.25
    assert times(*found) == [{"receiving": 0.25, "computing": 1.0, "sending": 0.5}]
    assert used(found[0], ENERGY, found[1]).received.tolist() == [3 * 64]


def test_neighbours_send_each_other_their_models_and_their_answers():
    protocol = Gossip(graph=Complete(), clock=ScriptedClock(times=[[0.0]]))
    found = ran(
        [], [], updates=1, answers_per_update=None, protocol=protocol, clock=PoissonClock(),
        compute=(Constant(value=0.25), Constant(value=0.5)),
    )  # fmt: skip
    assert times(*found) == [
        {"receiving": 0.25, "computing": 0.25, "sending": 0.25, "idle": 0.25},
        {"receiving": 0.25, "computing": 0.5, "sending": 0.25},
    ]
    spent = used(found[0], BYTES, found[1])
    assert spent.sent.tolist() == spent.received.tolist() == [128, 128]


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
