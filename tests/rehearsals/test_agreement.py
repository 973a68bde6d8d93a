"""The twelve scenarios can be rehearsed, and what is said of differences is what it should be."""

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import simulate
from asyncdp_sim.rehearsals.config import require_rehearsable
from asyncdp_sim.trace import Trace
from tests.markdown_tables import rewritten
from tests.rehearsals.__main__ import MARKS, PAGE, in_short
from tests.rehearsals.agreement import (
    FIGURES,
    SCENARIOS,
    Compared,
    Part,
    compared,
    difference,
    scenes,
    share_difference,
)
from tests.together import together

BUSY = "request, refused, N = 10"


def traces(name: str, mean: float | None = None) -> list[Trace]:
    played = scenes(name, 40, 6)[0]
    if mean is not None:
        played = played.replace(latency={"query": {"kind": "constant", "value": mean}})
    streams = Streams(played.run.seed)
    return [simulate(played.network, streams.within("replicate", r)) for r in range(1, 7)]


@together
@pytest.mark.parametrize("name", SCENARIOS)
def test_each_can_be_rehearsed(name):
    require_rehearsable(scenes(name, 20, 2)[0].base())


def test_there_are_twelve_of_3_to_40_owners():
    counts = [scenes(name, 20, 2)[0].owners.count for name in SCENARIOS]
    assert (len(counts), min(counts), max(counts)) == (12, 3, 40)


def test_a_simulation_does_not_differ_from_itself():
    same = traces(BUSY)
    found = [difference(figure, same, same) for figure in FIGURES]
    assert [each for each in found if each is not None and (each.value, each.error) != (0, 0)] == []
    assert (share_difference(same, same).value, share_difference(same, same).error) == (0, 0)


def test_longer_exchanges_are_seen_and_in_per_cent():
    measured, simulated = traces(BUSY, 0.05), traces(BUSY)
    rate = difference(FIGURES[0], measured, simulated)
    assert rate is not None
    ours, theirs = (
        sum(t.n_updates for t in of) / sum(t.end_tick / 1e9 for t in of)
        for of in (measured, simulated)
    )
    assert rate.value == pytest.approx(100 * (ours / theirs - 1))
    assert rate.value < -2 * rate.error < 0


def test_crews_share_replicates_with_seeds_of_their_own():
    """And what they played is compared as one, beside what the machine cost any of them."""
    parts = scenes(BUSY, 40, 5, 4)  # 12.5 replicates, of which at most four a crew
    assert sum(part.run.replicates for part in parts) == 12
    assert [part.run.seed for part in parts] == [21, 22, 23]
    assert [scenes(BUSY, 40, 5)[0].run.replicates, len(scenes(BUSY, 40, 5))] == [12, 1]
    none = np.zeros(3)
    played = []
    for part in parts:
        streams = Streams(part.run.seed)
        seen = tuple(simulate(part.network, streams.within("replicate", r)) for r in (1, 2, 3, 4))
        played.append(Part(part, seen, seen, 2.0, none if len(played) < 2 else none + 4.0, none))
    rows = compared(BUSY, played)
    assert rows.as_is[1] == "+0.00 ± 0.00"
    assert rows.cost[1:4] == ["40 × 12", "480", "2"]
    assert rows.cost[5] == "1333.33"
    slower = float(rows.with_cost[1].split()[0])
    assert slower > 50  # measured is without the two units that a third of exchanges cost


def test_errors_are_paired():
    """What all replicates differ by alike has no error, however much they differ themselves."""
    simulated = traces(BUSY)
    refused = next(figure for figure in FIGURES if figure.name == "refused")
    pairs = refused.of(simulated)
    spread = float(np.std(pairs[:, 0] / pairs[:, 1], ddof=1))
    found = difference(refused, simulated, simulated)
    assert spread > 0.01
    assert found is not None
    assert found.error == 0


def test_the_page_says_in_short_what_its_tables_do():
    page = PAGE.read_text(encoding="utf-8")
    assert rewritten(page, "", MARKS) != page
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    rows = [line for line in lines if line[0] in SCENARIOS]
    assert len(rows) == 36
    found = [Compared(*rows[at::12]) for at in range(12)]
    assert in_short(found) in page
    assert in_short([Compared(["a", "-3.00 ± 0.50"], ["a", "+1.00 ± 0.10"], [])]).startswith(
        "Updates per unit are at most 3.00 % off as it is, and 1.00 % with that cost; the largest"
    )
