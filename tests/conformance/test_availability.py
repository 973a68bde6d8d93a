"""Every availability: its long-run share, its independence, and what it leaves alone."""

from math import isnan, sqrt
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.specification import EACH_OWNER, Spec, parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network import availability as kinds
from asyncdp_sim.network.availability import Availability, Bernoulli
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.theory.predict.update_order import shares
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.trace import Detail, EventKind, Trace
from tests.conformance.members import DATA, examples, said
from tests.one_in import one_in
from tests.tables import table
from tests.together import together

AVAILABILITIES = examples(Availability)
EACH = pytest.mark.parametrize("availability", AVAILABILITIES, ids=said)
N = 3
RATES = (5.0, 1.0, 3.0)
UNTIL = 15.0
UNLIMITED = 10**6
CLOCK = (EventKind.clock_tick, EventKind.clock_dropped)
PRESENCE = (EventKind.went_online, EventKind.went_offline)

TABLE = table(__file__, "availability.toml")
NEVER = [(which, fields) for which in TABLE["never"] for fields in TABLE["never"][which]]
NEVER.append(("intervals", {"path": str(DATA / "always_online.csv")}))
"""Kinds that can be set so that no owner is offline within the horizon, each set so."""


def network(availability, n=N, *, until=UNTIL, busy=True, rates=RATES):
    """Budgets that nobody spends; ``busy`` owners are served for a while."""
    fields = {"compute": Exponential(mean=0.2)} if busy else {}
    return Network(
        answers_allowed=(UNLIMITED,) * n,
        updates=UNLIMITED,
        until=until,
        clock=PoissonClock(rate=(rates * n)[:n]),
        availability=availability,
        **fields,
    )


def traced(availability, n=N, *, seed=1, replicate=1, **more):
    scope = Streams(seed).within("replicate", replicate)
    return simulate(network(availability, n, **more), scope, events=True)


def of(trace: Trace, owner: int, kinds: tuple[EventKind, ...]) -> np.ndarray:
    mine = (trace.events["owner"] == owner) & np.isin(trace.events["kind"], kinds)
    return trace.events[mine]


def presence(trace: Trace, owner: int) -> list[tuple[int, int]]:
    """When an owner came and went, and which of its ticks found it offline."""
    came = of(trace, owner, (*PRESENCE, EventKind.clock_dropped))
    busy = came["detail"] == Detail.busy
    return came[~busy][["tick", "kind"]].tolist()


def told(trace: Trace) -> tuple[object, ...]:
    return (trace.exchanges.tolist(), trace.owners.tolist(), trace.events.tolist(), trace.end_tick)


@together
@EACH
def test_the_declared_share_is_one_per_owner_and_a_share(availability):
    """Whoever always comes back has a long run, of which it is the share."""
    share = availability.online_share(N)
    if share is None:
        assert not availability.all_return
    else:
        assert len(share) == N
        assert all(0 <= a <= 1 for a in share)


@pytest.mark.oracle("share of ticks that find an owner online")
@one_in(2, "availability", AVAILABILITIES, ids=said)
def test_the_long_run_share_of_ticks_is_the_declared_one(availability):
    """z-test, |z| < 4 (fixed seed), over R = 30 replicates of 30 time units at rate 4.

    What is measured is the share of an owner's Poisson ticks from time 10 on that find it online
    (Poisson arrivals see time averages); its standard error is √(s²/R) with the sample variance
    of the replicates' shares. The first 10 units are left out: ``outages`` starts online.
    """
    declared = availability.online_share(N)
    if declared is None:
        return
    begin, replicates = 10 * 10**9, 30
    shares = np.empty((replicates, N))
    for r in range(replicates):
        trace = traced(availability, replicate=r + 1, until=40.0, busy=False, rates=(4.0,))
        for owner in range(1, N + 1):
            ticks = of(trace, owner, CLOCK)
            late = ticks[ticks["tick"] >= begin]
            shares[r, owner - 1] = np.mean(late["detail"] != Detail.offline)
    error = np.sqrt(shares.var(axis=0, ddof=1) / replicates)
    assert np.all(np.abs(shares.mean(axis=0) - declared) <= 4 * error + 1e-12)
    assert np.all(4 * error < 0.09)  # the test can fail


@together
@EACH
def test_the_online_column_is_the_share_of_time_or_of_ticks(availability):
    """From the events alone, at several horizons."""
    for until in (0.05, 1.0, UNTIL):
        trace = traced(availability, until=until)
        for row in trace.owners:
            online, owner = row["online"], int(row["owner"])
            ticks = of(trace, owner, CLOCK)
            if availability.drawn_per_tick:
                assert len(of(trace, owner, PRESENCE)) == 0
                if len(ticks) == 0:
                    continue  # see test_a_share_of_no_ticks_is_not_a_number
                assert online == pytest.approx(np.mean(ticks["detail"] != Detail.offline))
            else:
                assert online == pytest.approx(1 - dark_ticks(trace, owner) / trace.end_tick)
            assert 0 <= online <= 1


def dark_ticks(trace: Trace, owner: int) -> int:
    """Add up the time between going offline and the next coming back, or the end."""
    total, since = 0, None
    for tick, what in of(trace, owner, PRESENCE)[["tick", "kind"]].tolist():
        if what == EventKind.went_offline:
            assert since is None
            since = tick
        else:
            total += tick - since
            since = None
    return total + (trace.end_tick - since if since is not None else 0)


@pytest.mark.parametrize(
    "availability",
    [Bernoulli(probability=0.5), kinds.Diurnal(period=1.0, low=0.2, high=0.8)],
    ids=lambda spec: spec.kind,
)
def test_a_share_of_no_ticks_is_not_a_number(availability):
    """The vocabulary of ``OWNERS``: a share of the ticks; NaN without any."""
    trace = traced(availability, 1, until=1.0, rates=(1e-9,))
    assert len(of(trace, 1, CLOCK)) == 0
    assert isnan(trace.owners["online"][0])


@together
@EACH
def test_only_online_owners_act(availability):
    trace = traced(availability)
    if availability.drawn_per_tick:
        return
    for owner in range(1, N + 1):
        online = True
        for event in of(trace, owner, (*CLOCK, *PRESENCE)):
            if event["kind"] in PRESENCE:
                assert online == (event["kind"] == EventKind.went_offline)
                online = not online
            else:
                assert online == (event["detail"] != Detail.offline)


@together
@EACH
def test_the_seed_decides(availability):
    one = traced(availability)
    assert told(one) == told(traced(availability))
    ever = [owner for owner in range(1, N + 1) if len(presence(one, owner)) > 0]
    assert (len(ever) == 0) == availability.always_online
    if len(ever) > 0 and not scheduled(availability):
        other = traced(availability, seed=2)
        assert any(presence(one, owner) != presence(other, owner) for owner in ever)


def scheduled(availability: Availability) -> bool:
    """Whether it draws nothing at all, or has laws that are all constants, or none."""
    laws = [v for _, v in availability if isinstance(v, Spec)]
    fixed = len(laws) > 0 and all(law.variance == 0 for law in laws)
    return fixed or drawn_by(availability) == drawn_by(kinds.Always())


def drawn_by(availability: Availability) -> set[bytes]:
    """The names of the random streams that a run with it asks for."""
    streams = Noted(1)
    simulate(network(availability), streams.within("replicate", 1))
    return streams.names


class Noted(Streams):
    """Streams that know which of them were handed out."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.names: set[bytes] = set()

    def take(self, said: bytes) -> None:
        super().take(said)
        self.names.add(said)


@EACH
@one_in(2, "more", [1, 40])
def test_adding_owners_leaves_the_others_availability_unchanged(availability, more):
    few = traced(availability)
    many = traced(longer(availability, N + more), N + more)
    for owner in range(1, N + 1):
        assert presence(many, owner) == presence(few, owner)


def longer(availability: Availability, n: int) -> Availability:
    """The same for more owners: lists with one value per owner go on as they began."""
    marked = {"names": availability.names} if isinstance(availability, kinds.Intervals) else {}
    marked |= {name: value for name, value in availability if is_per_owner(availability, name)}
    lists = {name: value for name, value in marked.items() if isinstance(value, tuple)}
    return availability.model_copy(update={k: (v * n)[:n] for k, v in lists.items()})


def is_per_owner(spec: Spec, name: str) -> bool:
    return EACH_OWNER in type(spec).model_fields[name].metadata


def test_adding_a_group_leaves_the_others_unchanged():
    laws = {"gap": Exponential(mean=1.0), "length": Exponential(mean=0.5)}
    few = traced(kinds.Outages(groups=[[1], [2]], **laws))
    more = traced(kinds.Outages(groups=[[1], [2], [3]], **laws))
    for owner in (1, 2):
        assert presence(more, owner) == presence(few, owner)
    assert presence(few, 3) == []
    assert len(presence(more, 3)) > 0


@together
@EACH
def test_availability_does_not_move_the_clocks(availability):
    """An owner that has left for good is no longer followed; until then all its ticks are seen."""
    always, trace = traced({"kind": "always"}), traced(availability)
    for owner in range(1, N + 1):
        expected = of(always, owner, CLOCK)["tick"]
        found = of(trace, owner, CLOCK)["tick"]
        gone = of(trace, owner, PRESENCE)[-1:]
        may_leave = not (availability.all_return or availability.drawn_per_tick)
        if may_leave and np.any(gone["kind"] == EventKind.went_offline) and gone["tick"] > 0:
            expected = expected[expected < gone["tick"]]
        else:
            assert len(expected) > 5
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(("which", "fields"), NEVER)
def test_what_never_triggers_changes_nothing(which, fields):
    always = traced({"kind": "always"})
    assert len(always.updates) > 30
    assert told(traced({"kind": which, **fields})) == told(always)


def test_a_day_without_swing_is_a_coin():
    """With low = high every kind of phase leaves the same draws as ``bernoulli``."""
    coin = told(traced(Bernoulli(probability=0.4)))
    for phase in (0.25, "uniform", [0.0, 0.1, 0.2]):
        assert told(traced(kinds.Diurnal(period=2.0, low=0.4, high=0.4, phase=phase))) == coin


def test_phases_count_periods_and_wrap_around():
    day = kinds.Diurnal(period=2.0, low=0.1, high=0.9)
    assert day.at(0.5, 0.0) == pytest.approx(0.9)  # a quarter of a period: the peak
    assert day.at(1.5, 0.0) == pytest.approx(0.1)
    assert day.at(0.0, 0.25) == pytest.approx(0.9)
    assert day.at(0.7, 0.0) == pytest.approx(day.at(0.7 + 2 * 2.0, -3.0))


STATIONARY: dict[str, dict[str, dict[str, Any]]] = TABLE["stationary"]


@pytest.mark.parametrize("laws", STATIONARY.values(), ids=STATIONARY)
def test_on_off_starts_from_its_stationary_law(laws):
    """z-tests over 1,000 independent owners, |z| < 4 (fixed seed).

    The share of owners online at each of eight instants is E on/(E on + E off); standard error
    √(a(1 − a)/n). The number of departures in [0, 1) has mean 1/(E on + E off) exactly; its
    standard error is √(s²/n). A start from a fresh period fails at the instants or at the count.
    """
    n = 1000
    spec = parse(kinds.OnOff, {"kind": "on-off", **laws})
    trace = traced(spec, n, until=1.0, busy=False, rates=(1e-9,))
    events = trace.events[np.isin(trace.events["kind"], PRESENCE)]
    share = spec.online_share(1)[0]
    steps = np.where(events["kind"] == EventKind.went_online, 1, -1)
    for instant in np.linspace(0, 1, 8):
        online = n + steps[events["tick"] <= instant * 10**9].sum()
        assert abs(online / n - share) <= 4 * sqrt(share * (1 - share) / n)
    left = events[(events["kind"] == EventKind.went_offline) & (events["tick"] > 0)]
    counts = np.bincount(left["owner"], minlength=n + 1)[1:]
    cycle = spec.on.mean + spec.off.mean
    assert abs(counts.mean() - 1 / cycle) <= 4 * sqrt(counts.var() / n)


@together
@EACH
def test_selection_shares_follow_rate_and_share(availability):
    online = availability.online_share(N)
    found = shares(network(availability))
    if online is None or min(online) == 0:
        assert isinstance(found, Unknown)
    elif not isinstance(found, Unknown):
        weights = np.array(RATES) * online
        assert found == pytest.approx(weights / weights.sum())
