"""Rules of every network, however its messages wait, collide, are lost and sent again."""

from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncdp_sim.core.specification import kind_of, members
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.learning.algorithms import AsyncGossip, Collab2, FedBuff, Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.live import LiveLearning, Target
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.channels import Channel, Ideal
from asyncdp_sim.network.laws import NoTime
from asyncdp_sim.network.sums import Aggregation
from asyncdp_sim.privacy.accountants import Pure
from asyncdp_sim.privacy.mechanisms import DiscreteLaplaceNoise, GaussianNoise, LaplaceNoise
from asyncdp_sim.trace import Detail, Ending, EventKind, ExchangeOutcome, Trace
from asyncdp_sim.trace.tables import check
from asyncdp_sim.trace.vocabulary import RELEASED
from tests.ordering.scene import Scripted
from tests.properties.networks import FIXED, SEEDS, counted
from tests.properties.rough_networks import rough_networks
from tests.traces import scope, traced
from tests.unit.learning.problems import records

K = EventKind
ROUGH = settings(FIXED, max_examples=30)
FEW, MANY = 50, 300
"""What happens in one of 20 networks is met by the few in all but 1 of 169 tries."""
TRIED = pytest.mark.parametrize(
    "examples", [FEW, pytest.param(MANY, marks=pytest.mark.long)], ids=["few", "some"]
)
BUFFERS = st.sampled_from([1, 2, 3])
ANY = rough_networks(0.25)
BEGINS = (K.answer_released, K.answer_resent)
ARRIVALS = (K.answer_collided, K.answer_lost, K.answer_delivered, K.answer_discarded)


@ROUGH
@given(ANY, SEEDS)
def test_the_seed_decides_and_keeping_events_changes_nothing(network: Network, seed: int) -> None:
    kept, again = traced(network, seed), traced(network, seed)
    bare = simulate(network, scope(seed))
    check(kept)
    assert kept.events.tolist() == again.events.tolist()
    for other in (again, bare):
        assert other.exchanges.tolist() == kept.exchanges.tolist()
        assert np.array_equal(other.owners["online"], kept.owners["online"], equal_nan=True)
        for name in ("attempts", "refused", "unheard"):
            assert other.owners[name].tolist() == kept.owners[name].tolist()
        for name in ("end_tick", "in_flight_total", "recomputed", "on_air_ticks", "ending"):
            assert getattr(other, name) == getattr(kept, name)


def no_owner_exceeds_its_budget(network: Network, trace: Trace) -> None:
    """At no time: every release is counted as it happens, and none follows the last."""
    allowed = np.array(network.answers_allowed)
    assert np.all(trace.released <= allowed)
    assert trace.released.tolist() == counted(trace, K.answer_released)
    used = np.bincount(trace.updates["owner"], minlength=network.n_owners + 1)[1:]
    assert np.all(used <= trace.released)
    epsilon = np.linspace(0.1, 3.0, network.n_owners)
    charged = Pure(allowed, epsilon, epsilon).spent(trace.released)
    assert np.all(charged <= epsilon)
    assert np.array_equal(charged == epsilon, trace.released == allowed)
    assert counted(trace, K.budget_exhausted) == (trace.released == allowed).astype(int).tolist()
    kinds, owners = trace.events["kind"], trace.events["owner"]
    for place in np.flatnonzero(kinds == K.budget_exhausted):
        own = owners[place:] == owners[place]
        assert not np.any(own & (kinds[place:] == K.answer_released))


def the_owners_ledger_balances(network: Network, trace: Trace) -> None:
    """Every attempt is refused, unheard, served, or still waiting; every sending has one end."""
    owners, rows = trace.owners, trace.exchanges
    if network.protocol.kind == "request":
        assert owners["attempts"].tolist() == counted(trace, K.request_sent)
    assert owners["refused"].tolist() == counted(trace, K.request_refused)
    assert owners["unheard"].tolist() == counted(trace, K.request_lost)
    served = np.bincount(rows["owner"], minlength=network.n_owners + 1)[1:]
    waiting = owners["attempts"] - owners["refused"] - owners["unheard"] - served
    assert np.all(waiting + trace.recomputed >= 0)
    begun, over = counted(trace, *BEGINS), counted(trace, *ARRIVALS)
    flying = [a - b for a, b in zip(begun, over, strict=True)]
    assert min(flying) >= 0
    if trace.one_each:
        assert max(flying) <= 1
        assert np.all(waiting <= 1)
    if trace.ending is Ending.spent:
        assert max(flying) == 0
        assert not np.any(
            np.isin(rows["outcome"], [ExchangeOutcome.unreleased, ExchangeOutcome.in_flight])
        )
    arrived = trace.ended(ExchangeOutcome.applied, ExchangeOutcome.buffered)
    assert arrived.tolist() == counted(trace, K.answer_delivered)
    several = network.answers_per_update
    if several is None:
        each_answers_once_a_round(trace)
    else:
        assert int(arrived.sum()) // several == trace.n_updates
        last = trace.updates["owner"][several - 1 :: several]
        completed = np.bincount(last, minlength=network.n_owners + 1)[1:]
        assert completed.tolist() == counted(trace, K.update_applied)
    shares = owners["online"]
    assert np.all((shares >= 0) & (shares <= 1) | np.isnan(shares))


def each_answers_once_a_round(trace: Trace) -> None:
    """From one model, and whoever is late or lost is left out; an update has no owner."""
    pairs = trace.updates[["k", "owner"]].tolist()
    assert len(set(pairs)) == len(pairs)
    assert {k for k, _ in pairs} == set(range(1, trace.n_updates + 1))
    assert not trace.updates["staleness"].any()
    assert counted(trace, K.update_applied) == [0] * trace.n_owners


def every_exchange_is_told_by_its_events(network: Network, trace: Trace) -> None:
    """Release, transmissions and outcome, written again from the events alone."""
    end = to_ticks(network.until)
    released, sent, final = {}, Counter(), {}
    fates = {
        K.answer_collided: ExchangeOutcome.collided,
        K.answer_lost: ExchangeOutcome.lost,
        K.answer_discarded: ExchangeOutcome.discarded,
        K.answer_delivered: ExchangeOutcome.applied,
    }
    columns = (trace.events[name].tolist() for name in ("kind", "message", "tick", "detail"))
    for number, message, tick, detail in zip(*columns, strict=True):
        kind = K(number)
        assert tick <= trace.end_tick <= end
        if final.get(message) is ExchangeOutcome.applied:
            continue  # what is sent for want of an acknowledgement is no part of the exchange
        if kind is K.answer_released:
            assert message not in released
            released[message] = tick
        if kind in BEGINS:
            sent[message] += 1
            final[message] = ExchangeOutcome.in_flight
        elif kind in fates:
            assert detail != Detail.duplicate
            final[message] = fates[kind]
    for row in trace.exchanges:
        message, outcome = int(row["message"]), ExchangeOutcome(row["outcome"])
        assert row["transmissions"] == sent[message]
        if message in released:
            assert outcome in RELEASED
            assert row["release_tick"] == min(released[message], row["end_tick"])
            # What the end of the run cuts short between two attempts is still in flight.
            came = ExchangeOutcome.applied if outcome is ExchangeOutcome.buffered else outcome
            assert came is final[message] or outcome is ExchangeOutcome.in_flight
        else:
            assert outcome in (ExchangeOutcome.unreleased, ExchangeOutcome.abandoned)
    assert set(released) <= set(trace.exchanges["message"].tolist())


def a_run_ends_for_the_reason_it_gives(network: Network, trace: Trace) -> None:
    left = np.array(network.answers_allowed) - trace.released
    assert (trace.ending is Ending.updates) == (trace.n_updates == network.updates)
    assert (trace.ending is Ending.horizon) == (trace.end_tick == to_ticks(network.until))
    if trace.ending is Ending.spent:
        assert np.all(left == 0)
    if trace.ending is Ending.silent:
        assert np.any(left > 0)
        stops = network.clock.kind == "scripted" and network.protocol.kind != "rounds"
        online = network.availability.online_share(network.n_owners)
        assert stops or online is None or min(online) == 0
    assert trace.ending is not Ending.stalled


def a_locked_learner_serves_one_at_a_time(network: Network, trace: Trace) -> None:
    if network.protocol.kind == "request":
        rows = trace.exchanges
        begin = np.maximum(rows["read_tick"], rows["request_tick"]).tolist()
        spans = sorted(zip(begin, rows["end_tick"].tolist(), strict=True))
        assert all(a[1] <= b[0] for a, b in pairwise(spans))


def the_absent_do_not_act(network: Network, trace: Trace) -> None:
    """Their clocks' ticks are dropped; where owners vanish they neither listen nor send."""
    vanishes = getattr(network.protocol, "offline", "finish") == "vanish"
    away: set[int] = set()
    columns = (trace.events[name].tolist() for name in ("kind", "owner"))
    for number, owner in zip(*columns, strict=True):
        kind = K(number)
        if kind is K.went_offline:
            assert owner not in away
            away.add(owner)
        elif kind is K.went_online:
            away.remove(owner)
        elif owner in away:
            assert kind is not K.clock_tick
            assert not (vanishes and kind in (*BEGINS, K.query_received))


OF_ANY_TRACE = (
    no_owner_exceeds_its_budget,
    the_owners_ledger_balances,
    a_locked_learner_serves_one_at_a_time,
    the_absent_do_not_act,
)
CHECKS = (*OF_ANY_TRACE, every_exchange_is_told_by_its_events, a_run_ends_for_the_reason_it_gives)


def summed(network: Network, seed: int) -> Network:
    """Return some networks with sums, where there can be some: on lines that lose messages."""
    protocol, several = network.protocol, network.answers_per_update
    apart = protocol.one_each and protocol.clocked and not protocol.one_on_one
    fits = several is None or (apart and several <= network.n_owners)
    if seed % 4 > 0 or not fits or network.superposed:
        return network
    least = 1 + seed % network.n_owners if several is None else several
    parts = {
        "channel": Ideal(loss=0.3, loss_query=0.1, retransmissions=1),
        "latency": network.latency.model_copy(update={"acknowledgement": NoTime()}),
        "aggregation": Aggregation(least=least),
    }
    return network.model_copy(update=parts)


@pytest.mark.long
@TRIED
def test_whatever_happens(examples):
    """All of the above for each example; enough examples reach every kind of event and ending."""
    met = defaultdict(set)
    stale = fresh = 0

    @settings(FIXED, max_examples=examples)
    @given(ANY, SEEDS)
    def draw(network: Network, seed: int) -> None:
        nonlocal stale, fresh
        if network.answers_per_update is not None:
            network = network.model_copy(update={"answers_per_update": 1 + seed % 3})
        network = summed(network, seed)
        met["parts"] |= {network.channel.kind, network.protocol.kind, network.availability.kind}
        for trace in (traced(network, seed), traced(network, seed + 1)):
            for holds in CHECKS:
                holds(network, trace)
            met["kinds"].update(trace.events["kind"].tolist())
            met["details"].update(trace.events["detail"].tolist())
            met["outcomes"].update(trace.exchanges["outcome"].tolist())
            met["endings"].add(trace.ending)
            stale += int(np.any(trace.updates["staleness"]))
            fresh += trace.recomputed > 0

    draw()
    if examples < MANY:
        return
    assert met["kinds"] == set(EventKind) - {K.server_stepped}
    assert met["details"] == set(Detail) - {Detail.too_soon}  # see resting owners in test_budgets
    assert met["outcomes"] == set(ExchangeOutcome)
    assert met["endings"] == set(Ending) - {Ending.stalled, Ending.target, Ending.resting}
    assert {"request", "push", "broadcast", "rounds"} <= met["parts"]
    assert {"always", "bernoulli", "on-off", "diurnal", "churn", "outages"} <= met["parts"]
    assert set(map(kind_of, members(Channel))) <= met["parts"]
    assert min(stale, fresh) >= 10


@settings(ROUGH, max_examples=60)
@given(ANY, SEEDS, st.integers(1, 6) | st.none())
def test_a_target_cuts_a_run_short_and_changes_nothing_before(network, seed, enough):
    """Or changes nothing at all, if it is not reached."""
    whole = traced(network, seed)
    stops = network.model_copy(update={"stops": True})
    cut = simulate(stops, scope(seed), learning=Scripted(enough=enough), events=True)
    assert cut.events.tolist() == whole.events[: len(cut.events)].tolist()
    if enough is None or whole.n_updates < enough:
        assert (cut.ending, cut.end_tick) == (whole.ending, whole.end_tick)
        assert len(cut.events) == len(whole.events)
        assert cut.exchanges.tolist() == whole.exchanges.tolist()
    else:
        assert (cut.ending, cut.n_updates) == (Ending.target, enough)
        assert cut.end_tick == whole.update_ticks[enough - 1]


@ROUGH
@given(rough_networks(), SEEDS, BUFFERS)
def test_a_buffer_changes_no_time(network: Network, seed: int, buffer: int) -> None:
    """T updates of B answers are BT updates of one each, numbered otherwise."""
    several = {"answers_per_update": buffer}
    one = traced(network.model_copy(update={"updates": buffer * network.updates}), seed)
    found = traced(network.model_copy(update=several), seed)
    for name in ("message", "owner", "request_tick", "read_tick", "release_tick", "end_tick"):
        assert found.exchanges[name].tolist() == one.exchanges[name].tolist()
    for name in ("read_k", "end_k"):
        assert found.exchanges[name].tolist() == (one.exchanges[name] // buffer).tolist()
    used = buffer * (len(one.updates) // buffer)
    assert found.updates["message"].tolist() == one.updates["message"][:used].tolist()
    assert found.updates["k"].tolist() == [j // buffer + 1 for j in range(used)]
    assert found.update_ticks.tolist() == one.update_ticks[buffer - 1 :: buffer].tolist()
    assert (found.ending, found.end_tick) == (one.ending, one.end_tick)
    kept = found.events[found.events["kind"] != K.update_applied]
    assert kept.tolist() == one.events[one.events["kind"] != K.update_applied].tolist()


@cache
def problem(n: int) -> Quadratic:
    """Owners whose data differ; steps are to be large enough to tell one order from another."""
    return Quadratic.from_records(*records(n, (7, 23, 11, 5)[:n], 3), 0.3, 3.0)


def noise_of(mechanism, n):
    scale = np.linspace(0.01, 0.3, n)
    if mechanism == "discrete-laplace":
        return DiscreteLaplaceNoise(scale, np.full(n, 2.0**-9))
    return GaussianNoise(scale) if mechanism == "gaussian" else LaplaceNoise(scale)


NOISES = st.sampled_from(["laplace", "gaussian", "discrete-laplace"])


def lived(network, seed, algorithm, every, asks, mechanism="laplace", others=(), **decides):
    """Learn live; require what a replay of the trace learns, to the bit, and nothing left behind.

    Seeds of other replicates are replayed beside it.
    """
    gradients = problem(network.n_owners)
    steps = algorithm.steps(Setting(gradients.weights, 3, 30, 0.3, 3.0))
    reply = AnswerModel(gradients, noise_of(mechanism, network.n_owners))
    live = LiveLearning(steps, reply, scope(seed), every, asks, **decides)
    trace = simulate(network, scope(seed), learning=live)
    found = live.trajectory()
    traces = [trace, *(simulate(network, scope(other)) for other in others)]
    scopes = [scope(each) for each in (seed, *others)]
    again = replay(traces, steps, reply, scopes, every, asks)
    assert found.updates.tolist() == again.updates[:1].tolist() == [trace.n_updates]
    assert np.array_equal(found.models(0), again.models(0))
    assert np.array_equal(found.final, again.final[:1])
    assert found.clipped.tolist() == again.clipped[:1].tolist()
    open_ones = [ExchangeOutcome.unreleased, ExchangeOutcome.in_flight]
    cut_short = np.isin(trace.exchanges["outcome"], open_ones)
    assert len(live._queries) == np.count_nonzero(cut_short)
    return trace, found


GOSSIP = {"rho": 60.0, "initial": "uniform"}
EVERY = st.integers(1, 4)


@settings(ROUGH, max_examples=50)
@given(rough_networks(), SEEDS, st.sampled_from(["current", "as-read"]), EVERY, NOISES)
def test_live_learning_equals_replay(network, seed, apply_at, every, mechanism):
    gossip = AsyncGossip(**GOSSIP, apply_at=apply_at)
    lived(network, seed, gossip, every, network.protocol.asks, mechanism)


@ROUGH
@given(rough_networks(), SEEDS, st.sampled_from([0.5, 5.0]))
def test_live_learning_that_decides_on_timing_equals_its_replay(network, seed, psi):
    network = network.model_copy(update={"stops": True})
    gossip = AsyncGossip(**GOSSIP, apply_at="as-read")
    target = Target(problem(network.n_owners), psi)
    trace, found = lived(network, seed, gossip, 1, network.protocol.asks, target=target)
    met = [target.met(model[None]) for model in found.models(0)[1:]]
    assert not any(met[:-1])
    assert (trace.ending is Ending.target) == (len(met) > 0 and met[-1])


@ROUGH
@given(rough_networks(), SEEDS, BUFFERS, EVERY)
def test_live_learning_equals_replay_over_buffers(network, seed, buffer, every):
    network = network.model_copy(update={"answers_per_update": buffer})
    buffered = FedBuff(step=0.4, server_step=0.9, buffer=buffer, initial="uniform")
    lived(network, seed, buffered, every, "central")


@ROUGH
@given(rough_networks(1.0), SEEDS, EVERY)
def test_live_learning_equals_replay_in_rounds(network, seed, every):
    """With as many answers to an update as there are; alone and beside another replicate."""
    collab = Collab2(step=0.4, initial="uniform")
    lived(network, seed, collab, every, "central", others=(seed + 1,))
