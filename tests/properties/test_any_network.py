"""Rules of every network, whatever its owners, delays and budgets, and what owners are at."""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise
from math import nan
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncdp_sim.core.units import TICKS_PER_UNIT, to_ticks
from asyncdp_sim.measures.energy import Energy, used
from asyncdp_sim.network import Network
from asyncdp_sim.network.availability import Always, Intervals
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Exponential, NoTime
from asyncdp_sim.network.protocols import Push, Request
from asyncdp_sim.trace import Detail, EventKind, ExchangeOutcome, Trace
from asyncdp_sim.trace.recorder import Spells
from asyncdp_sim.trace.spans import ANSWER, COMPUTING, OFFLINE, QUERY, REQUEST, spans
from asyncdp_sim.trace.tables import check
from asyncdp_sim.trace.vocabulary import State
from tests.properties.networks import FIXED, SEEDS, clocks, networks
from tests.properties.rough_networks import rough_networks
from tests.properties.test_any_channel_and_protocol import OF_ANY_TRACE
from tests.traces import network as small
from tests.traces import traced

# Rules of every network, whatever its owners, delays and budgets.

FEWER = settings(FIXED, max_examples=30)
K = EventKind
PRESENCE = (K.went_online, K.went_offline)
DRAWN_PER_TICK = ("bernoulli", "diurnal")


def log(trace: Trace) -> list[tuple[int, EventKind, int, int]]:
    columns = (trace.events[name].tolist() for name in ("tick", "kind", "owner", "message"))
    ticks, kinds, owners, messages = columns
    return list(zip(ticks, map(K, kinds), owners, messages, strict=True))


@FIXED
@given(networks(), SEEDS)
def test_what_holds_of_any_channel_holds_of_one_that_loses_nothing(network, seed):
    trace = traced(network, seed)
    check(trace)
    assert trace.events.tolist() == traced(network, seed).events.tolist()
    for holds in (*OF_ANY_TRACE, an_owner_is_silent_once_its_budget_is_spent):
        holds(network, trace)


def an_owner_is_silent_once_its_budget_is_spent(network: Network, trace: Trace) -> None:
    released: Counter[int] = Counter()
    silent: dict[int, int] = {}
    for _, kind, owner, message in log(trace):
        if owner in silent and kind not in PRESENCE:
            # Only the answer that was its last may still arrive; it may come and go.
            assert kind in (K.answer_delivered, K.update_applied)
            assert message == silent[owner]
        if kind is K.answer_released:
            released[owner] += 1
            last = message
        if kind is K.budget_exhausted:
            silent[owner] = last
            assert released[owner] == network.answers_allowed[owner - 1]
    exhausted = {i for i, k in enumerate(network.answers_allowed, 1) if trace.released[i - 1] == k}
    assert set(silent) == exhausted


@FIXED
@given(networks(), SEEDS)
def test_events_tell_the_same_story_as_the_tables(network: Network, seed: int) -> None:
    """A small state machine reads the events and writes the tables again."""
    trace = traced(network, seed)
    seen, updates, locked, ticked = {}, [], 0, 0
    busy, away = {}, {}
    attempts, refused, dark, met, missed = (Counter() for _ in range(5))
    drawn = network.availability.kind in DRAWN_PER_TICK
    details = trace.events["detail"].tolist()
    for (tick, kind, owner, message), detail in zip(log(trace), details, strict=True):
        acts, ticked = ticked, 0
        match kind:
            case K.clock_dropped if detail == Detail.offline:
                assert drawn or owner in away
                missed[owner] += 1
                continue
            case K.clock_tick | K.clock_dropped:
                assert owner not in away
                assert (owner in busy) == (kind is K.clock_dropped) == (detail == Detail.busy)
                met[owner] += 1
                ticked = 0 if owner in busy else owner
                continue
            case K.went_offline:
                assert owner not in away
                away[owner] = tick
            case K.went_online:
                dark[owner] += tick - away.pop(owner)
            case K.request_sent:
                attempts[owner] += 1
                assert (acts, message) == (owner, attempts.total())
                busy[owner] = message
            case K.request_refused:
                assert locked not in (0, message)
                assert busy.pop(owner) == message
                refused[owner] += 1
            case K.query_sent:
                assert (locked, busy[owner]) == (0, message)
                locked = message
                seen[message] = [owner, tick, len(updates), None, None, ExchangeOutcome.unreleased]
            case K.answer_released:
                assert locked == message
                seen[message][3], seen[message][5] = tick, ExchangeOutcome.in_flight
            case K.answer_delivered:
                assert seen[message][5] is ExchangeOutcome.in_flight
            case K.update_applied:
                assert locked == message == busy.pop(owner)
                seen[message][4], seen[message][5] = tick, ExchangeOutcome.applied
                updates.append((len(updates) + 1, tick, owner, seen[message][1], 0, message, 0))
                locked = 0
        assert detail == Detail.none
    end = trace.end_tick
    rows = sorted(
        (m, o, read, at, end if left is None else left, end if over is None else over, outcome)
        for m, (o, read, at, left, over, outcome) in seen.items()
    )
    columns = ["message", "owner", "read_tick", "read_k", "release_tick", "end_tick", "outcome"]
    assert rows == sorted(trace.exchanges[columns].tolist())
    assert updates == trace.updates.tolist()
    for row in trace.owners:
        owner = row["owner"]
        assert (row["attempts"], row["refused"]) == (attempts[owner], refused[owner])
        ticks = met[owner] + missed[owner]
        if drawn:
            assert len(away) + dark.total() == 0
            online = met[owner] / ticks if ticks > 0 else nan
        else:
            still = end - away[owner] if owner in away else 0
            online = 1 - (dark[owner] + still) / end if end > 0 else nan
        assert row["online"] == pytest.approx(online, rel=0, abs=1e-12, nan_ok=True)
    counted = Counter(kind for _, kind, _, _ in log(trace))
    assert counted[K.clock_tick] == counted[K.request_sent]
    assert counted[K.answer_delivered] == counted[K.update_applied] == len(updates)


@FIXED
@given(networks() | networks(only_scripted=True), SEEDS)
def test_a_run_ends_for_one_of_three_reasons(network: Network, seed: int) -> None:
    """T updates; the horizon; or no owner can ask again and nothing is under way.

    An owner cannot ask again once its budget is spent, its clock has stopped, or it has left.
    """
    trace = traced(network, seed)
    end, events = trace.end_tick, log(trace)
    horizon = None if network.until is None else to_ticks(network.until)
    assert horizon is None or end <= horizon
    assert all(tick < end or (tick == end and end != horizon) for tick, *_ in events)
    gone = departures(network, trace)
    if len(trace.updates) == network.updates:
        assert trace.updates["tick"][-1] == end
        assert events[-1][1] is K.update_applied
    elif end != horizon:
        assert np.all(trace.exchanges["outcome"] == ExchangeOutcome.applied)
        for number, allowed in enumerate(network.answers_allowed, 1):
            silent = number in gone or number in never_online(network)
            if trace.released[number - 1] < allowed and not silent:
                # Not spent, so its clock has run out: every tick of the script was seen.
                assert clock_ticks(trace, number) == scripted_ticks(network, number)
    elif network.clock.kind == "scripted":
        # Cut by the horizon: everything that was due before it has been seen.
        for number, allowed in enumerate(network.answers_allowed, 1):
            if trace.released[number - 1] < allowed:
                until = min(gone.get(number, horizon), horizon)
                ticks = [t for t in scripted_ticks(network, number) if t < until]
                assert clock_ticks(trace, number) == ticks


def scripted_ticks(network: Network, number: int) -> list[int]:
    assert network.clock.kind == "scripted"
    return [to_ticks(time) for time in network.clock.times[number - 1]]


def never_online(network: Network) -> set[int]:
    """Owners whose clocks may tick, though they can never ask."""
    available, numbers = network.availability, range(1, network.n_owners + 1)
    if isinstance(available, Intervals):
        return {number for number in numbers if len(available.periods(number)) == 0}
    shares = available.online_share(network.n_owners) or (1.0,) * network.n_owners
    return {number for number, share in zip(numbers, shares, strict=True) if share == 0}


def departures(network: Network, trace: Trace) -> dict[int, int]:
    """When owners left for good.

    At the end of their last interval, where these are not repeated; under churn, at the last word
    of an owner that had joined.
    """
    if isinstance(network.availability, Intervals):
        if network.availability.period is not None:
            return {}
        table = {i: network.availability.periods(i) for i in range(1, network.n_owners + 1)}
        return {owner: periods[-1][1] for owner, periods in table.items() if len(periods) > 0}
    if network.availability.kind != "churn" or network.availability.lifetime.kind == "none":
        return {}
    joins = network.availability.join.kind != "none"
    words = defaultdict(list)
    for tick, kind, owner, _ in log(trace):
        if kind in PRESENCE:
            words[owner].append(tick)
    return {owner: ticks[-1] for owner, ticks in words.items() if len(ticks) == (3 if joins else 1)}


@FEWER
@given(networks(), SEEDS)
def test_availability_never_moves_a_clock(network: Network, seed: int) -> None:
    """As long as an owner is followed, its clock ticks as if everybody were always there."""
    long = {"answers_allowed": (10**6,) * network.n_owners, "updates": 10**6, "until": 5.0}
    # shuffled ties reorder ticks of different owners alone
    network = network.model_copy(update=long | {"ties": "declared"})
    trace = traced(network, seed)
    always = traced(network.model_copy(update={"availability": Always()}), seed)
    gone = departures(network, trace)
    for owner in range(1, network.n_owners + 1):
        until = gone.get(owner, 10**18)
        assert clock_ticks(trace, owner) == [t for t in clock_ticks(always, owner) if t < until]


def clock_ticks(trace: Trace, owner: int) -> list[int]:
    kinds = (K.clock_tick, K.clock_dropped)
    own = (trace.events["owner"] == owner) & np.isin(trace.events["kind"], kinds)
    return trace.events["tick"][own].tolist()


@FIXED
@given(st.integers(1, 10), st.data(), SEEDS)
def test_adding_an_owner_leaves_the_other_clocks_unchanged(n, data, seed):
    """Over a fixed horizon, with budgets that nobody spends."""
    several = data.draw(clocks(n + 1))

    def over(count: int) -> Trace:
        fields = several.model_dump()
        lists = {k: v[:count] for k, v in fields.items() if isinstance(v, tuple)}
        times = {"latency": {"request": Exponential(mean=0.1)}, "compute": Exponential(mean=0.2)}
        clock = several.model_copy(update=lists)
        return traced(small(count, 10**6, updates=10**6, until=6.0, clock=clock, **times), seed)

    few, more = over(n), over(n + 1)
    # An owner's own durations stay its own: attempt j of an owner travels as long as before.
    ones, twos = travels(few), travels(more)
    for number in range(1, n + 1):
        assert clock_ticks(few, number) == clock_ticks(more, number)
        assert all(a == b for a, b in zip(ones[number], twos[number], strict=False))


def travels(trace: Trace) -> dict[int, list[int]]:
    """Ticks from each request to its arrival at the learner, by owner."""
    sent, found = {}, defaultdict(list)
    for tick, kind, owner, message in log(trace):
        if kind is K.request_sent:
            sent[message] = tick
        elif kind in (K.query_sent, K.request_refused):
            found[owner].append(tick - sent[message])
    return found


def test_a_clock_does_not_depend_on_two_thousand_others():
    several = {"updates": 10**6, "until": 1.5, "clock": PoissonClock(rate=3.0)}
    one, many = (small(n, 10**6, **several) for n in (1, 2000))
    ticks = clock_ticks(traced(one, 5), 1)
    assert ticks == clock_ticks(traced(many, 5), 1)
    assert len(ticks) > 2


# Occupation of owners over all kinds of networks: told without changing them, filling time.

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


@pytest.mark.oracle("activity of each owner at every tick")
@FEW
@given(rough_networks(0.25), SEEDS)
def test_notes_change_nothing_and_every_tick_of_a_run_is_in_one_state(network, seed):
    trace, rows = noted(network, seed)
    bare = traced(network, seed)
    assert bare.occupation is None
    assert trace.events.tolist() == bare.events.tolist()
    assert trace.exchanges.tolist() == bare.exchanges.tolist()
    for owner in range(1, trace.n_owners + 1):
        assert ticks(trace, owner) == swept(rows, owner, trace.end_tick)
        assert sum(ticks(trace, owner)) == trace.end_tick


@pytest.mark.oracle("activity of each owner at every tick")
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


@pytest.mark.oracle("activity of each owner at every tick")
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


@pytest.mark.oracle("activity of each owner at every tick")
@FEW
@given(networks(), st.sampled_from([Request(), Push(), Push(own_tick="overlap")]), SEEDS)
def test_occupation_is_what_events_tell(network: Network, protocol: object, seed: int) -> None:
    """Where every stage begins and ends with an event: spans of events, joined by precedence."""
    network = Network(**{**dict(network), "protocol": protocol})
    trace, _ = noted(network, seed)
    if K.query_received not in trace.events["kind"] and network.mean_times("query")[0] > 0:
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
