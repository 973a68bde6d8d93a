"""Every channel: which transmissions begin, which collide, and how long the air is in use."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.kernel import Activity, Kernel, Priority
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import LAST_TICK, to_ticks
from asyncdp_sim.network.channels import Channel, Ideal, Parallel
from asyncdp_sim.network.channels.kind import Fate, Medium
from tests.conformance.members import examples, said
from tests.together import together

ORACLE = pytest.mark.oracle(
    "transmissions started, transmissions collided, and time in use of the channel"
)

CHANNELS = examples(Channel)
SHARED = [channel for channel in CHANNELS if channel.contended is not None]
EACH = pytest.mark.parametrize("channel", SHARED, ids=said)
N = 4
BYTES = 48
GRID = to_ticks(0.05)
"""Half an airtime: many transmissions of a random plan touch."""

Plan = Iterable[tuple[int, int]]


@dataclass(eq=False)
class Sent:
    """One attempt to transmit: by whom, when it was asked for, and what came of it."""

    owner: int
    asked: int
    start: int | None = None
    end: int | None = None
    fate: Fate | None = None
    deferred: int = 0

    @property
    def interval(self) -> tuple[int, int]:
        assert self.start is not None
        assert self.end is not None
        return self.start, self.end

    def overlaps(self, other: "Sent") -> bool:
        (a, b), (c, d) = self.interval, other.interval
        return a < d and c < b


@dataclass
class Station:
    """A channel in use, without any network around it."""

    channel: Channel
    n_owners: int = N
    seed: int = 1
    willing: bool = True
    kernel: Kernel = field(default_factory=Kernel)
    attempts: list[Sent] = field(default_factory=list)

    def __post_init__(self) -> None:
        streams = Streams(self.seed).within("channel")
        self.medium: Medium = self.channel.open(self.kernel, streams, self.n_owners)
        self.ports = {n: self.medium.port(n) for n in range(1, self.n_owners + 1)}
        self.airtime = to_ticks(self.channel.contended.answer_airtime(BYTES))

    def run(self, plan: Plan, horizon: int = LAST_TICK) -> list[Sent]:
        """Let owners ask to transmit at given ticks, each after its former transmission."""
        by_owner: dict[int, list[int]] = {}
        for tick, owner in plan:
            by_owner.setdefault(owner, []).append(tick)
        for owner, ticks in by_owner.items():
            self.kernel.start(self._live(owner, sorted(ticks)))
        self.kernel.run_before(horizon)
        return [sent for sent in self.attempts if sent.start is not None]

    def _live(self, owner: int, ticks: list[int]) -> Activity:
        for tick in ticks:
            if tick > self.kernel.now:
                yield self.kernel.at(tick, Priority.CLOCK_TICK)
            sent = Sent(owner, self.kernel.now)
            self.attempts.append(sent)

            def begun(sent: Sent = sent) -> bool:
                sent.start = self.kernel.now if self.willing else None
                return self.willing

            def deferred(sent: Sent = sent) -> None:
                sent.deferred += 1

            sent.fate = yield from self.ports[owner](self.airtime, begun, deferred)
            sent.end = self.kernel.now


def plan(seed: int, count: int = 240, per_grid: float = 0.5) -> list[tuple[int, int]]:
    """Random attempts of N owners on the grid."""
    rng = np.random.default_rng(seed)
    ticks = (rng.integers(0, int(count / per_grid), count) * GRID).tolist()
    return list(zip(ticks, rng.integers(1, N + 1, count).tolist(), strict=True))


def place(channel: Channel, owner: int) -> int:
    """Which of the parallel channels an owner uses, where that is fixed."""
    by_owner = getattr(channel, "choice", "random") == "by-owner"
    return (owner - 1) % channel.channels if by_owner else 0


def known(channel: Channel) -> bool:
    """Whether it is known beforehand on which channel an owner transmits."""
    return getattr(channel, "choice", "by-owner") == "by-owner" or channel.channels == 1


def captures(channel: Channel) -> bool:
    """Whether a transmission may survive an overlap; a new channel that lets it is named here."""
    return getattr(channel.contended, "capture_ratio", None) is not None or channel.contended.queues


def delay(channel: Channel) -> int:
    """Ticks until a station hears another; 0 where nobody listens."""
    return to_ticks(getattr(channel.contended, "propagation_delay", 0.0))


def drawn(channel: Channel) -> bool:
    """Whether a draw decides if an owner begins, or when."""
    shared = channel.contended
    persistent = getattr(shared, "persistence", 1.0) not in ("non-persistent", 1.0)
    return persistent or getattr(shared, "window", 1) > 1


def hears_at_once(channel: Channel) -> bool:
    """Owners hear an answer at the tick at which it begins, so that no two begin together."""
    return to_ticks(getattr(channel.contended, "propagation_delay", 1.0)) == 0


@together
@EACH
def test_a_lone_owner_never_collides_and_never_overlaps_itself(channel):
    station = Station(channel)
    sent = station.run((tick, 2) for tick, _ in plan(3, 60))
    assert len(sent) > 20
    assert all(one.fate is Fate.clear for one in sent)
    assert all(one.interval[1] - one.interval[0] == station.airtime for one in sent)
    assert all(a.interval[1] <= b.interval[0] for a, b in pairwise(sent))


@together
@ORACLE
@EACH
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_overlaps_collides_and_nothing_else(channel, seed):
    """A slow twin compares all pairs of half-open intervals [start, end)."""
    sent = Station(channel, seed=seed).run(plan(seed))
    assert len(sent) > 40
    overlapping = touching = 0
    start, end = np.array([one.interval for one in sent]).T
    spot = np.array([place(channel, one.owner) for one in sent])
    others = (spot[:, None] == spot) & ~np.eye(len(sent), dtype=bool)
    overlap = (others & (start[:, None] < end) & (start < end[:, None])).any(axis=1)
    touch = (others & (start[:, None] == end)).any(axis=1)
    for one, met, touches in zip(sent, overlap.tolist(), touch.tolist(), strict=True):
        overlapping += met
        touching += touches and not met
        if known(channel) and not captures(channel):
            assert (one.fate is Fate.collided) == met, "see captures() if it may survive an overlap"
        else:
            assert met or one.fate is Fate.clear
    collided = sum(one.fate is Fate.collided for one in sent)
    if channel.contended.in_turn or hears_at_once(channel):
        assert overlapping == 0
    elif channel.contended.queues:
        assert collided == 0 < overlapping
    else:
        assert collided > 0
        assert collided < overlapping or (known(channel) and not captures(channel))
    pauses = [getattr(channel, name, 0.0) for name in ("guard", "after_success")]
    gaps = delay(channel) > 0 or max(pauses) > 0
    slack = getattr(channel, "slot", 0.1) > 0.1
    assert touching > 0 or gaps or slack  # half-open: the test above can fail


@together
@EACH
def test_two_that_begin_at_one_tick_collide_unless_they_are_kept_apart(channel):
    """A hundred times, far apart; where a coin decides who begins, those that begin together."""
    gap = 40 * GRID
    sent = Station(channel).run([(j * gap, owner) for j in range(100) for owner in (1, 2)])
    together = met = 0
    for j in range(100):
        pair = [one for one in sent if j * gap <= one.asked < (j + 1) * gap]
        if len(pair) < 2 or pair[0].start != pair[1].start:
            continue
        together += 1
        fates = [one.fate for one in pair]
        met += Fate.collided in fates
        if place(channel, 1) != place(channel, 2):
            assert fates == [Fate.clear] * 2
        elif channel.contended.queues:
            assert fates == [Fate.clear] * 2
            assert pair[1].interval[1] - pair[1].interval[0] >= 2 * 2 * GRID - 1  # half the speed
        elif known(channel):
            remedy = "let at most one of them survive, also where captures() holds"
            assert Fate.collided in fates, f"two that begin at one tick: {remedy}"
            assert captures(channel) or fates == [Fate.collided] * 2
        else:
            assert fates[0] is fates[1]
    if channel.contended.in_turn or hears_at_once(channel):
        assert together == 0
    else:
        assert together > 5
        assert known(channel) or channel.contended.queues or 0 < met < together


@together
@EACH
def test_one_begins_as_another_ends(channel):
    """Asked for at the very tick at which the first ends, or at which it is no longer heard."""
    station = Station(channel)
    slot = to_ticks(getattr(channel.contended, "slot", 0.1))
    over = max(slot, station.airtime + delay(channel))
    if channel.contended.in_turn and slot > station.airtime:
        over = slot
    one, two = station.run([(0, 1), (over, 2)])
    if drawn(channel) and not channel.contended.carrier_sense:  # they may meet all the same
        assert one.overlaps(two) == (one.fate is Fate.collided)
        return
    assert (one.fate, two.fate) == (Fate.clear, Fate.clear)
    if not drawn(channel):
        assert (one.start, two.start) == (0, over)
    assert one.interval[1] <= two.interval[0]


@together
@EACH
def test_an_owner_that_thinks_better_of_it_leaves_nothing_on_the_air(channel):
    station = Station(channel, willing=False)
    assert station.run(plan(1)) == []
    assert {one.fate for one in station.attempts} == {Fate.kept}
    assert len(station.attempts) == 240
    assert station.medium.on_air_ticks(station.kernel.now) == 0


@together
@ORACLE
@EACH
def test_time_on_the_air_is_the_sum_of_all_transmissions(channel):
    """Overlapping ones count each; what the end of the run cuts short counts up to there."""
    whole = Station(channel)
    sent = whole.run(plan(2))
    total = sum(one.interval[1] - one.interval[0] for one in sent)
    assert whole.medium.on_air_ticks(whole.kernel.now) == total > 0
    horizon = sent[len(sent) // 2].interval[0] + 7
    short = Station(channel)
    begun = short.run(plan(2), horizon)
    ends = [horizon if one.end is None else one.end for one in begun]
    total = sum(
        end - one.start for one, end in zip(begun, ends, strict=True) if one.start is not None
    )
    assert any(one.end is None for one in begun)
    assert short.medium.on_air_ticks(horizon) == total


@together
@EACH
def test_transmissions_begin_where_the_channel_lets_them(channel):
    station = Station(channel)
    sent = station.run(plan(4))
    shared = channel.contended
    slot, frame = to_ticks(getattr(shared, "slot", 0.0)), getattr(shared, "frame", None) or N
    places = np.array([place(channel, one.owner) for one in sent])
    spans = np.array([one.interval for one in sent])
    for one in sent:
        assert one.start is not None
        waited = one.start - one.asked
        assert waited == 0 if shared.sends_at_once else waited >= 0
        if shared.slotted:
            assert one.start % slot == 0
            assert drawn(channel) or waited < slot * (frame if shared.in_turn else 1)
        if shared.in_turn:
            assert one.start // slot % frame == one.owner - 1
        if shared.carrier_sense and known(channel):
            mates = spans[places == place(channel, one.owner)]
            assert not heard(mates, one.start, delay(channel)).any()
    if not shared.carrier_sense or drawn(channel):
        assert len(sent) == len(station.attempts)
        assert all(one.deferred == 0 for one in sent)


def heard(spans: np.ndarray, tick: int, reach: int) -> np.ndarray:
    """Return which of others' transmissions, from start to end, are on air at a station then."""
    start, end = spans.T
    return (start + reach <= tick) & (tick < end + reach) & (tick != start)


def test_capture_spares_the_strongest_at_most():
    """With z ≥ 1 at most one of those that overlap survives; with z next to nothing all do."""
    fields = {"kind": "aloha", "airtime": 0.1}
    gap = 40 * GRID
    pairs = [(j * gap, owner) for j in range(200) for owner in (1, 2, 3)]

    def survivors(ratio: float) -> list[int]:
        sent = Station(parse(Channel, {**fields, "capture_ratio": ratio})).run(pairs)
        clear = [one.asked for one in sent if one.fate is Fate.clear]
        return [clear.count(j * gap) for j in range(200)]

    assert set(survivors(1.0)) == {0, 1}
    assert set(survivors(1e-12)) == {3}
    assert set(survivors(1e12)) == {0}
    assert sum(survivors(4.0)) < sum(survivors(1.0))


@together
@EACH
def test_the_seed_decides_and_others_do_not_disturb(channel):
    """What an owner draws for itself stays its own when owners are added."""

    def told(n_owners: int, seed: int, several: Plan) -> list[tuple[Any, ...]]:
        sent = Station(channel, n_owners, seed).run(several)
        return [(one.owner, one.start, one.end, one.fate) for one in sent]

    assert told(N, 1, plan(5)) == told(N, 1, plan(5))
    frame = getattr(channel.contended, "frame", None)
    if not channel.contended.in_turn or frame is not None:
        assert told(N, 1, plan(5)) == told(N + 1, 1, plan(5))


def test_the_ideal_channel_shares_nothing():
    assert {c.kind for c in CHANNELS} - {c.kind for c in SHARED} == {"ideal"}
    for channel in CHANNELS:
        opened = channel.open(Kernel(), Streams(1).within("channel"), N)
        assert (opened is None) == (channel.contended is None)


class Unshared(Ideal):
    kind: Literal["unshared"] = "unshared"


def test_what_is_side_by_side_is_shared():
    with pytest.raises(SpecError) as caught:
        Parallel(channels=2, each=Unshared())
    said = "each.kind: given 'unshared'; allowed is a channel that answers share"
    assert caught.value.lines() == [said]
