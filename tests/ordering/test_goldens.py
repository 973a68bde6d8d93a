"""The order of events at one tick, pinned by tables, and ties that are shuffled."""

import re
from collections import Counter, defaultdict
from functools import cache
from itertools import count, zip_longest
from pathlib import Path

import numpy as np
import pytest
import simpy.core

from asyncdp_sim.core import kernel
from asyncdp_sim.core.kernel import Priority
from asyncdp_sim.core.specification import kind_of, members
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network import Network
from asyncdp_sim.network.availability import Availability
from asyncdp_sim.network.availability.kind import AvailabilityKind
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.clocks import Clock
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.scenario.fields import examples_of
from asyncdp_sim.trace import Detail, Ending, EventKind, EventRecorder, ExchangeOutcome, Trace
from tests.ordering.cases import CASES
from tests.ordering.random_networks import gathers, off_the_grid, on_a_grid, on_any_channel
from tests.ordering.scene import Case, Happening
from tests.ordering.table import render
from tests.tables import table
from tests.together import together
from tests.traces import traced

# The order of events at one tick, pinned by tables that can be read.
#
# ``python -m tests.regenerate`` writes the tables anew; review the difference like code.
# What a rule says beforehand stands in ``cases/*.toml`` and is not regenerated.

GOLDEN = Path(__file__).parent / "golden"
TIES = table(__file__, "ties.toml")
USUAL = [EventKind[name] for name in TIES["usual"]]
DETAILS = {int(detail): [detail.name] for detail in set(Detail) - {Detail.none}}
EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def run(case: Case, seed: int = 1, ties: str = "declared") -> Trace:
    return traced(case.network.model_copy(update={"ties": ties}), seed, learning=case.learning())


def happenings(trace, kind, detail=Detail.none):
    rows = trace.events[(trace.events["kind"] == kind) & (trace.events["detail"] == detail)]
    return rows[["tick", "owner"]].tolist()


def mishaps(trace: Trace) -> list[tuple[str, int, int]]:
    """All that is not usual, in the order of happening."""
    rows = trace.events[~np.isin(trace.events["kind"], USUAL)]
    return [
        (" ".join([EventKind(kind).name, *DETAILS.get(detail, [])]), tick, owner)
        for kind, detail, tick, owner in rows[["kind", "detail", "tick", "owner"]].tolist()
    ]


def in_ticks(expected: tuple[Happening, ...]) -> list[tuple[int, int]]:
    return [(to_ticks(time), owner) for time, owner in expected]


@together
@EACH
def test_what_the_rule_says(case):
    trace = run(case)
    for kind, detail, expected in (
        (EventKind.update_applied, Detail.none, case.updates),
        (EventKind.request_refused, Detail.none, case.refused),
        (EventKind.request_refused, Detail.too_soon, case.too_soon),
        (EventKind.clock_dropped, Detail.busy, case.dropped),
        (EventKind.clock_dropped, Detail.offline, case.missed),
        (EventKind.went_offline, Detail.none, case.away),
        (EventKind.went_online, Detail.none, case.back),
    ):
        assert happenings(trace, kind, detail) == in_ticks(expected)
    assert mishaps(trace) == [(kind, to_ticks(time), who) for kind, time, who in case.mishaps]
    online = case.online or (1.0,) * trace.n_owners
    assert trace.owners["online"].tolist() == pytest.approx(online, rel=0, abs=1e-12)
    rows = trace.exchanges[trace.exchanges["outcome"] != ExchangeOutcome.applied]
    assert [ExchangeOutcome(x).name for x in rows["outcome"]] == list(case.open)
    assert trace.end_tick == to_ticks(case.end)
    if case.released is not None:
        assert happenings(trace, EventKind.answer_released) == in_ticks(case.released)
    if case.reads is not None:
        assert trace.updates["read_tick"].tolist() == [to_ticks(time) for time in case.reads]
    if case.stale is not None:
        assert trace.updates["staleness"].tolist() == list(case.stale)
    if case.on_air is not None:
        assert trace.on_air_ticks == to_ticks(case.on_air)
    if case.ending is not None:
        assert trace.ending is Ending[case.ending]


@EACH
def test_golden(case, monkeypatch, file_regression):
    scheduled = count()
    push = kernel.heappush
    monkeypatch.setattr(kernel, "heappush", lambda *args: (next(scheduled), push(*args))[1])
    trace = run(case)
    shown = next(scheduled) if case.scheduled is not None else None
    assert shown == case.scheduled
    text = render(case.rule, case.network, trace, shown)
    file_regression.check(text, encoding="utf-8", fullpath=GOLDEN / f"{case.name}.txt")


def test_every_golden_belongs_to_a_case_and_says_its_rule():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 20
    assert {path.name for path in GOLDEN.iterdir()} == {f"{name}.txt" for name in names}
    for case in CASES:
        text = (GOLDEN / f"{case.name}.txt").read_text(encoding="utf-8")
        assert text.startswith(case.rule + "\n"), case.name


def test_the_words_of_the_goldens_cover_the_vocabulary():
    told = "\n".join(path.read_text(encoding="utf-8") for path in GOLDEN.glob("*.txt"))
    for word in [*EventKind.__members__, *ExchangeOutcome.__members__]:
        assert word in told, word
    for detail in set(Detail) - {Detail.none}:
        assert re.search(rf"^\d\S+ +[a-z]\S+ .* {detail.name}$", told, re.MULTILINE), detail


# ``ties = "shuffled"`` shows what depends on the order at one tick, and changes nothing else.

SEEDS = range(1, 21)
FEW = range(1, 9)
"""Of two that tie, one order alone is drawn every time in 1 of 128."""
NUMBER = 100
"""Of random networks, on the grid and off it."""

UNORDERED, RENUMBERED, DEPENDENT = (set(TIES[k]) for k in ("unordered", "renumbered", "dependent"))
PRESENCE = (EventKind.went_online, EventKind.went_offline)
COUNTED = (EventKind.query_sent, EventKind.broadcast_sent, EventKind.update_applied)


def shuffled(case: Case, seed: int) -> Trace:
    return run(case, seed, "shuffled")


def told(trace: Trace) -> tuple[object, ...]:
    return (trace.exchanges.tolist(), owners(trace), trace.events.tolist(), trace.end_tick)


def owners(trace: Trace) -> list[tuple[float | None, ...]]:
    """The table of owners; None is where nobody knows how long one was online."""
    return [tuple(None if v != v else v for v in row) for row in trace.owners.tolist()]


def by_owner(trace: Trace) -> tuple[object, ...]:
    """What happened to whom, whatever the numbers of messages and the order within a tick."""
    names = [n for n in trace.exchanges.dtype.names if n not in ("message", "end_k")]
    return (noted(trace), sorted(trace.exchanges[names].tolist()), owners(trace), trace.end_tick)


def noted(trace: Trace) -> list[tuple[int, ...]]:
    """The events but for coming and going, without the numbers of messages, sorted."""
    return sorted(row for row in rows(trace) if row[1] not in PRESENCE)


def rows(trace: Trace) -> list[tuple[int, ...]]:
    """Each event's tick, kind, owner, attempt and detail, and for reads and updates k."""
    k = np.cumsum(trace.events["kind"] == EventKind.update_applied)
    k[~np.isin(trace.events["kind"], COUNTED)] = 0
    plain = trace.events[["tick", "kind", "owner", "attempt", "detail"]].tolist()
    return [(*row, number) for row, number in zip(plain, k.tolist(), strict=True)]


def test_the_dependent_scenarios_are_in_the_catalogue():
    kinds = (DEPENDENT, UNORDERED, RENUMBERED)
    assert {case.name for case in CASES} > set().union(*kinds)
    assert sum(map(len, kinds)) == len(set().union(*kinds))


def named(names: set[str]) -> pytest.MarkDecorator:
    cases = [case for case in CASES if case.name in names]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


@together
@named({case.name for case in CASES} - DEPENDENT - UNORDERED - RENUMBERED)
def test_order_independent_scenarios_do_not_change(case):
    declared = told(run(case))
    assert all(told(shuffled(case, seed)) == declared for seed in FEW)


@named(UNORDERED)
def test_only_the_notes_of_coming_and_going_change_order(case):
    def others(trace: Trace) -> tuple[object, ...]:
        rest = trace.events[~np.isin(trace.events["kind"], PRESENCE)].tolist()
        return (trace.exchanges.tolist(), trace.owners.tolist(), rest, trace.end_tick)

    declared = run(case)
    traces = [shuffled(case, seed) for seed in SEEDS]
    assert all(others(trace) == others(declared) for trace in traces)
    assert len({tuple(trace.events["owner"].tolist()) for trace in traces}) > 1


@together
@named(RENUMBERED)
def test_only_numbers_and_the_order_of_notes_change(case):
    declared = run(case)
    traces = [shuffled(case, seed) for seed in SEEDS]
    assert all(by_owner(trace) == by_owner(declared) for trace in traces)
    assert any(told(trace) != told(declared) for trace in traces)


@together
@named(DEPENDENT)
def test_order_dependent_scenarios_are_exposed(case):
    assert len({tuple(shuffled(case, seed).updates["owner"].tolist()) for seed in SEEDS}) > 1


def test_a_shuffle_is_the_same_for_the_same_seed():
    case = next(case for case in CASES if case.name == "three_ticks_at_once")
    orders = [shuffled(case, seed).updates["owner"].tolist() for seed in SEEDS]
    assert orders == [shuffled(case, seed).updates["owner"].tolist() for seed in SEEDS]
    assert len({tuple(order) for order in orders}) == 6  # 20 draws find all 3! orders


def test_both_orders_of_a_tie_are_about_equally_likely():
    case = next(case for case in CASES if case.name == "two_ticks_at_once")
    first = sum(int(shuffled(case, seed).updates["owner"][0]) == 1 for seed in range(400))
    assert abs(first - 200) < 40  # four standard errors


class Log:
    """What the kernel takes from its queue: (tick, class, how many were put in before it)."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.taken: list[tuple[int, int, int]] = []
        self.met: Counter[tuple[int, int]] = Counter()
        self.behind: list[tuple[int, int]] = []
        """Tick and class of what noted each event of the trace."""
        number: dict[int, int] = {}
        push, pop, begin = kernel.heappush, kernel.heappop, EventRecorder.__init__

        def put(queue: list[Item], item: Item) -> None:
            number.setdefault(item[2], len(number))
            push(queue, item)

        def take(queue: list[Item]) -> Item:
            item = pop(queue)
            self.taken.append((*item[:2], number[item[2]]))
            self.met[item[:2]] += 1
            return item

        def listen(recorder: EventRecorder, *args: object) -> None:
            begin(recorder, *args)
            event = recorder.event

            def note(*said: int, **more: int) -> None:
                self.behind.append(self.taken[-1][:2] if self.taken else (0, 0))
                event(*said, **more)

            recorder.event = note

        patch.setattr(kernel, "heappush", put)
        for module in (kernel, simpy.core):
            patch.setattr(module, "heappop", take)
        patch.setattr(EventRecorder, "__init__", listen)


Item = tuple[int, int, int, object]


def logged(network: Network, ties: str) -> tuple[Trace, Log]:
    with pytest.MonkeyPatch.context() as patch:
        log = Log(patch)
        network = network.model_copy(update={"ties": ties})
        return traced(network, 3), log


def compared(network: Network) -> str:
    """Return what shuffling changes: nothing, numbers alone, or in which class of events more."""
    (one, first), (two, second) = logged(network, "declared"), logged(network, "shuffled")
    if first.taken != second.taken:
        # Up to here the runs are alike; here they take different events of one class at one tick.
        a, b = next((a, b) for a, b in zip(first.taken, second.taken, strict=False) if a != b)
        assert a[:2] == b[:2]
        assert first.met[a[:2]] > 1
    if told(one) == told(two):
        return "same"
    if by_owner(one) == by_owner(two):
        return "renumbered"
    if noted(one) == noted(two):
        return "same owner"
    return explained((one, first), (two, second))


def explained(*runs: tuple[Trace, Log]) -> str:
    """Return the class with a tie that stands before the first thing to happen differently."""
    (one, log), (two, _) = runs
    pairs = zip_longest(noted(one), noted(two), fillvalue=(one.end_tick,))
    tick = next(min(a[0], b[0]) for a, b in pairs if a != b)
    first, second = (behind(trace, log, tick) for trace, log in runs)
    different = [c for c in first.keys() | second.keys() if first[c] != second[c]]
    tied = {c for (at, c), met in log.met.items() if at == tick and met > 1}
    if tied.intersection(different):
        return Priority(min(tied.intersection(different))).name
    before = [c for c in tied if c < min(different)]
    return Priority(max(before)).name if before else "earlier"


def behind(trace: Trace, log: Log, tick: int) -> defaultdict[int, Counter[tuple[int, ...]]]:
    """Return what each class of events has noted at a tick."""
    said: defaultdict[int, Counter[tuple[int, ...]]] = defaultdict(Counter)
    for row, (_, kind) in zip(rows(trace), log.behind, strict=True):
        if row[0] == tick and row[1] not in PRESENCE:
            said[kind][row] += 1
    return said


@pytest.mark.long
def test_continuous_times_never_depend_on_ties():
    """But who is noted first, of owners that come and go at one tick, each by itself."""
    for number in range(NUMBER):
        network = off_the_grid(number)
        allowed = {"same", noted_first(type(network.availability))}
        assert compared(network) in allowed, number


@cache
def noted_first(member: type[AvailabilityKind]) -> str:
    """Return what ties change where nothing but an availability makes them."""
    alone = {"answers_allowed": (9, 9, 9), "updates": 9, "until": 12.0}
    found = {compared(Network(**alone, availability=each)) for each in examples_of(member)}
    assert found <= {"same", "renumbered"}
    return max(found, key=["same", "renumbered"].index)


@pytest.mark.long
def test_what_depends_on_ties_on_a_grid_is_explained():
    """Of most networks nothing does but who is noted first, and gets the smaller number."""
    found = Counter(compared(on_a_grid(number)) for number in range(NUMBER))
    harmless = found.pop("same") + found.pop("renumbered")
    assert harmless > NUMBER / 2
    assert found.keys() <= TIES["explained"].keys()


@pytest.mark.parametrize("make", [on_a_grid, off_the_grid])
def test_the_random_networks_are_of_all_kinds(make):
    networks = [make(number) for number in range(NUMBER)]
    met = {network.protocol.kind for network in networks}
    assert met == {kind_of(member) for member in members(Protocol) if on_any_channel(member)}
    assert {type(network.availability) for network in networks} == set(members(Availability))
    on_grid = make is on_a_grid
    ticking = {each for each in members(Clock) if not each.saturated}
    clocks = {type(network.clock) for network in networks}
    assert clocks == {each for each in ticking if each.mixing is not on_grid}
    channels = {type(network.channel) for network in networks}
    gathering = {m for m in members(Channel) if all(map(gathers, examples_of(m)))}
    assert channels == set(members(Channel)) - (set() if on_grid else gathering)
