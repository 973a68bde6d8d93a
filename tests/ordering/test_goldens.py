"""The order of events at one tick, pinned by tables that can be read.

``python -m tests.regenerate`` writes the tables anew; review the difference like code.
What a rule says beforehand stands in ``cases/*.toml`` and is not regenerated.
"""

import re
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.core import kernel
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network import simulate
from asyncdp_sim.trace import Detail, Ending, EventKind, ExchangeOutcome, Trace
from tests.ordering.cases import CASES
from tests.ordering.scene import USUAL, Case, Happening
from tests.ordering.table import render
from tests.together import together

GOLDEN = Path(__file__).parent / "golden"
DETAILS = {int(detail): [detail.name] for detail in set(Detail) - {Detail.none}}
EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def run(case: Case) -> Trace:
    scope, learning = Streams(1).within("replicate", 1), case.learning()
    return simulate(case.network, scope, learning=learning, events=True)


def happenings(
    trace: Trace, kind: EventKind, detail: Detail = Detail.none
) -> list[tuple[int, int]]:
    rows = trace.events[trace.events["kind"] == kind]
    rows = rows[rows["detail"] == detail]
    return list(zip(rows["tick"].tolist(), rows["owner"].tolist(), strict=True))


def mishaps(trace: Trace) -> list[tuple[str, int, int]]:
    """All that is not usual, in the order of happening."""
    rows = trace.events[~np.isin(trace.events["kind"], USUAL)]
    return [
        (
            " ".join([EventKind(row["kind"]).name, *DETAILS.get(row["detail"], [])]),
            int(row["tick"]),
            int(row["owner"]),
        )
        for row in rows
    ]


def in_ticks(expected: tuple[Happening, ...]) -> list[tuple[int, int]]:
    return [(to_ticks(time), owner) for time, owner in expected]


@together
@EACH
def test_what_the_rule_says(case):
    trace = run(case)
    assert happenings(trace, EventKind.update_applied) == in_ticks(case.updates)
    assert happenings(trace, EventKind.request_refused) == in_ticks(case.refused)
    too_soon = happenings(trace, EventKind.request_refused, Detail.too_soon)
    assert too_soon == in_ticks(case.too_soon)
    dropped = EventKind.clock_dropped
    assert happenings(trace, dropped, Detail.busy) == in_ticks(case.dropped)
    assert happenings(trace, dropped, Detail.offline) == in_ticks(case.missed)
    assert mishaps(trace) == [(kind, to_ticks(time), who) for kind, time, who in case.mishaps]
    assert happenings(trace, EventKind.went_offline) == in_ticks(case.away)
    assert happenings(trace, EventKind.went_online) == in_ticks(case.back)
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
