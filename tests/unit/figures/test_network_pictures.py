import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures import Result, Sweep, draw_all, throughput, traces
from asyncdp_sim.figures.kit import outcomes
from asyncdp_sim.theory.formulas.channels import aloha
from asyncdp_sim.theory.prediction import Unknown
from tests.unit.figures.made import Row, finished, keys, made, scenario, write_table

HALF = {"kind": "constant", "value": 0.5}
PUSH = {"kind": "push", "own_tick": "drop"}


def exchange(message: int, start: float, end: float) -> list[Row]:
    return [
        (start, "query_sent", 1, message),
        (start, "answer_released", 1, message, 1),
        (end, "answer_delivered", 1, message, 1),
        (end, "update_applied", 1, message),
    ]


def test_without_the_scenarios_files_no_network_is_known(tmp_path):
    said = scenario(availability={"kind": "intervals", "path": "gone.csv"})
    result = Result.read(made(tmp_path / "made", [exchange(1, 0.0, 1.0)], said))
    assert result.network == Unknown("its scenario does not load (availability.path)")
    (result.directory / "scenario.toml").unlink()
    again = Result.read(result.directory)
    assert again.network == Unknown("its scenario does not load (no such file)")


def test_staleness_is_pooled_over_replicates(tmp_path):
    directory = made(tmp_path / "made", (), scenario(protocol=PUSH, compute=HALF))
    columns = {"replicate": [1] * 4 + [2] * 4, "staleness": [0, 0, 0, 1, 0, 1, 1, 2]}
    write_table(directory, "updates", columns)
    picture = traces.STALENESS.of(Result.read(directory))
    np.testing.assert_allclose(picture.table["share"][:4], [0.5, 0.375, 0.125, 0])
    np.testing.assert_allclose(picture.table["law"][:4], [4 / 9, 4 / 9, 1 / 9, 0])
    assert "mean staleness 0.625" in picture.caption
    assert traces.STALENESS.why_not(Result.read(directory)) is None
    fresh = made(tmp_path / "fresh")
    write_table(fresh, "updates", {"staleness": [0, 0]})
    assert traces.STALENESS.why_not(Result.read(fresh)) == "no answer was stale"
    without = Result.read(made(tmp_path / "none"))
    with pytest.raises(ResultError):
        traces.STALENESS.of(without)


Load = tuple[float, float] | None


def swept(
    directory: Path,
    loads: list[Load],
    protocols: list[dict[str, Any]] | None = None,
    **changes: Any,
) -> Sweep:
    for number, pair in enumerate(loads):
        protocol = PUSH if protocols is None else protocols[number]
        said = scenario(5, clock={"rate": number + 1.0}, protocol=protocol, **changes)
        known: dict[str, Any] = {}
        if pair is not None:
            known = {"offered_load": pair[0], "delivered_load": pair[1]}
            known["intervals"] = {"offered_load": [pair[0] - 0.01, pair[0] + 0.02],
                                  "delivered_load": None}  # fmt: skip
        made(directory / f"cell-{number:04d}", (), said, **known)
    columns: dict[str, Any] = {"clock.rate": range(len(loads))}
    if protocols is not None:
        columns["protocol"] = [json.dumps(protocol) for protocol in protocols]
    return finished(directory, columns)


def test_throughput_is_drawn_beside_both_laws(tmp_path):
    loads: list[Load] = [(0.2, 0.15), (0.5, 0.2), None, (1.0, 0.1)]
    sweep = swept(tmp_path / "sweep", loads, channel={"kind": "aloha", "airtime": 0.2})
    table = throughput.FIGURE.picture(sweep).table
    rows = table["series"] == "measured"
    np.testing.assert_allclose(table["offered_load"][rows], [0.2, 0.5, 1.0])
    np.testing.assert_allclose(table["offered_load_high"][rows], [0.22, 0.52, 1.02])
    assert np.isnan(table["delivered_load_low"]).all()
    law = table["series"] == "infinite population, Ge^{-2G}"
    load = table["offered_load"][law]
    assert load.max() > 1
    np.testing.assert_allclose(table["delivered_load"][law], load * np.exp(-2 * load))
    exact = table["series"] == "exact for 5 owners"
    expected = aloha(5, 1.0, 0.2)
    found = np.interp(
        expected.attempt_rate * 0.2, table["offered_load"][exact], table["delivered_load"][exact]
    )
    assert found == pytest.approx(expected.success_rate * 0.2, rel=1e-3)


def test_throughput_is_grouped_by_what_is_swept_beside_the_load(tmp_path):
    other = {"kind": "push", "own_tick": "overlap"}
    protocols = [PUSH, other, PUSH, other, PUSH, {"kind": "request"}]
    loads: list[Load] = [(n / 10, n / 20) for n in range(1, 7)]
    channel = {"kind": "aloha", "airtime": 0.2}
    sweep = swept(tmp_path / "a", loads, protocols, channel=channel)
    found = throughput.groups(sweep)
    assert {name: [cell.number for cell in cells] for name, cells in found.items()} == {
        "push, ticks at work dropped": [0, 2, 4],
        "push, jobs may overlap": [1, 3],
        "request": [5],
    }
    picture = throughput.FIGURE.picture(sweep)
    rows = picture.table["series"] == "measured"
    np.testing.assert_allclose(picture.table["offered_load"][rows], [0.1, 0.3, 0.5])


def test_laws_that_groups_share_are_drawn_once(tmp_path):
    protocols = [PUSH, {"kind": "request"}] * 3
    loads: list[Load] = [(n / 10, n / 20) for n in range(1, 7)]
    channel = {"kind": "aloha", "airtime": 0.2}
    sweep = swept(tmp_path / "a", loads, protocols, channel=channel)
    texts = keys(throughput.FIGURE.picture(sweep))
    assert texts[0] == "push, ticks at work dropped: measured"
    assert texts[2] == "exact for 5 owners"
    assert len(set(texts)) == len(texts)
    assert sum("infinite population" in text for text in texts) == 1


def test_too_few_points_of_a_group_are_not_drawn(tmp_path):
    protocols = [PUSH, {"kind": "request"}]
    few: list[Load] = [(0.2, 0.15), (0.5, 0.2)]
    sweep = swept(tmp_path / "sweep", few, protocols)
    reason = "fewer than 3 cells differ in clock rate or number of owners alone"
    assert throughput.FIGURE.why_not(sweep) == reason


@pytest.mark.parametrize(
    ("channel", "named"),
    [
        ({"kind": "csma", "airtime": 0.5, "propagation_delay": 0.05},
         ["infinite population, a = 0.1 airtimes", "exact for 5 owners"]),
        ({"kind": "slotted-aloha", "airtime": 0.2, "slot": 0.2},
         ["infinite population, Ge^{-G}", "exact for 5 owners"]),
        ({"kind": "aloha", "airtime": 0.2, "capture_ratio": 2.0},
         ["infinite population, Ge^{-2Gz/(1+z)}", "exact for 5 owners"]),
        ({"kind": "aloha", "airtime": 0.2, "retransmissions": 1},
         ["infinite population, Ge^{-2G}"]),
        ({"kind": "parallel", "channels": 2, "each": {"kind": "aloha", "airtime": 0.2}},
         ["infinite population, 2 channels"]),
        ({"kind": "csma", "airtime": 0.5, "propagation_delay": 0.05, "persistence": 0.5}, []),
    ],
)  # fmt: skip
def test_curves_are_drawn_where_theory_has_them(channel, named, tmp_path):
    loads: list[Load] = [(0.2, 0.15), (0.5, 0.2), (0.6, 0.2)]
    sweep = swept(tmp_path / "sweep", loads, channel=channel)
    series = throughput.FIGURE.picture(sweep).table["series"]
    assert list(dict.fromkeys(series[series != "measured"])) == named


def test_intervals_are_read_in_either_form():
    either = {"intervals": {"x": [1.0, 2.0]}}, {"x": 1.5, "x_ci95": 0.5}
    assert [outcomes.interval(summary, "x") for summary in either] == [(1.0, 2.0)] * 2
    assert np.isnan(outcomes.interval({"x": 1.0, "intervals": {"x": None}}, "x")).all()


@pytest.mark.long
def test_a_result_with_events_gets_their_pictures(tmp_path, result):
    source = made(tmp_path / "made", [[*exchange(1, 0.0, 1.0), (2.0, "clock_tick", 1)]])
    (source / "events.parquet").rename(result / "events.parquet")
    names = [path.stem for path in draw_all(result).pictures]
    assert names[-2:] == ["shares", "space-time"]
