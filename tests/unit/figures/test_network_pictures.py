"""Pictures of a run's network: over time and space, and of its sweeps."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures import Result, Sweep, draw_all, spacetime, sweep_figure, throughput, traces
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.spacetime import LOOKS
from asyncdp_sim.theory.formulas.channels import aloha
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.trace.spans import ANSWER, COMPUTING, LOCK, OFFLINE, QUERY, REQUEST, WAITING
from tests.tables import table
from tests.unit.figures.made import Row, finished, keys, made, scenario, write_table

HALF = {"kind": "constant", "value": 0.5}
PUSH = {"kind": "push", "own_tick": "drop"}
ALOHA = {"kind": "aloha", "airtime": 0.2}
LAWS = ("infinite population, Ge^{-2G}", "exact for 5 owners")


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
    assert again.network == Unknown("its scenario does not load (a file that does not exist)")


def test_staleness_is_pooled_over_replicates(tmp_path, reads):
    """The law of these is 4/9, 4/9, 1/9."""
    directory = made(tmp_path / "made", (), scenario(protocol=PUSH, compute=HALF))
    columns = {"replicate": [1] * 4 + [2] * 4, "staleness": [0, 0, 0, 1, 0, 1, 1, 2]}
    write_table(directory, "updates", columns)
    reads(traces.STALENESS.of(Result.read(directory)))
    assert traces.STALENESS.why_not(Result.read(directory)) is None
    fresh = made(tmp_path / "fresh")
    write_table(fresh, "updates", {"staleness": [0, 0]})
    assert traces.STALENESS.why_not(Result.read(fresh)) == "no answer was stale"
    with pytest.raises(ResultError):
        traces.STALENESS.of(Result.read(made(tmp_path / "none")))


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


def test_throughput_is_drawn_beside_both_laws(tmp_path, reads):
    loads: list[Load] = [(0.2, 0.15), (0.5, 0.2), None, (1.0, 0.1)]
    picture = throughput.FIGURE.picture(swept(tmp_path / "sweep", loads, channel=ALOHA))
    reads(picture)
    table = {name: np.array(column) for name, column in picture.table.items()}
    law, exact = (table["series"] == name for name in LAWS)
    load = table["offered_load"][law]
    np.testing.assert_allclose(table["delivered_load"][law], load * np.exp(-2 * load))
    expected = aloha(5, 1.0, 0.2)
    found = np.interp(
        expected.attempt_rate * 0.2, table["offered_load"][exact], table["delivered_load"][exact]
    )
    assert found == pytest.approx(expected.success_rate * 0.2, rel=1e-3)


def test_throughput_is_grouped_by_what_is_swept_beside_the_load(tmp_path, reads):
    """And laws that groups share are drawn once."""
    overlap, request = {"kind": "push", "own_tick": "overlap"}, {"kind": "request"}
    loads: list[Load] = [(n / 10, n / 20) for n in range(1, 9)]
    protocols = [PUSH, overlap, PUSH, overlap, PUSH, request, request, request]
    sweep = swept(tmp_path / "a", loads, protocols, channel=ALOHA)
    found = throughput.groups(sweep)
    assert {name: [cell.number for cell in cells] for name, cells in found.items()} == {
        "push, ticks at work dropped": [0, 2, 4],
        "push, jobs may overlap": [1, 3],
        "request": [5, 6, 7],
    }
    reads(throughput.FIGURE.picture(sweep))


def test_too_few_points_of_a_group_are_not_drawn(tmp_path):
    protocols = [PUSH, {"kind": "request"}]
    few: list[Load] = [(0.2, 0.15), (0.5, 0.2)]
    sweep = swept(tmp_path / "sweep", few, protocols)
    reason = "fewer than 3 cells differ in clock rate or number of owners alone"
    assert throughput.FIGURE.why_not(sweep) == reason


TABLE = table(__file__, "network_pictures.toml")


@pytest.mark.parametrize(("channel", "named"), TABLE["curves"])
def test_curves_are_drawn_where_theory_has_them(channel, named, tmp_path):
    loads: list[Load] = [(0.2, 0.15), (0.5, 0.2), (0.6, 0.2)]
    sweep = swept(tmp_path / "sweep", loads, channel=channel)
    series = throughput.FIGURE.picture(sweep).table["series"]
    assert list(dict.fromkeys(series[series != "measured"])) == named


def test_intervals_are_read_in_either_form():
    either = {"intervals": {"x": [1.0, 2.0]}}, {"x": 1.5, "x_ci95": 0.5}
    assert [sweep_figure.interval(summary, "x") for summary in either] == [(1.0, 2.0)] * 2
    assert np.isnan(sweep_figure.interval({"x": 1.0, "intervals": {"x": None}}, "x")).all()


@pytest.mark.long
def test_a_result_with_events_gets_their_pictures(tmp_path, result):
    source = made(tmp_path / "made", [[*exchange(1, 0.0, 1.0), (2.0, "clock_tick", 1)]])
    (source / "events.parquet").rename(result / "events.parquet")
    names = [path.stem for path in draw_all(result).pictures]
    assert names[-2:] == ["shares", "space-time"]


def events(text: str) -> list[Row]:
    """Return the events of a run, a line each; - is none."""
    rows = (line.split() for line in text.splitlines())
    return [(float(time), *(_cell(word) for word in words)) for time, *words in rows]


def _cell(word: str) -> str | int | None:
    return int(word) if word.isdigit() else None if word == "-" else word


LOCKED = events(TABLE["scenes"]["locked"]["events"])


@pytest.mark.long
def test_events_that_come_late_or_never_stop_no_picture(tmp_path, result):
    late = [(100.0 + row[0], *row[1:]) for row in LOCKED]
    source = made(tmp_path / "made", [[], late])  # replicate 1 has none
    assert (
        "t in [0, 103) of " in spacetime.diagram(Result.read(made(tmp_path / "l", [late]))).caption
    )
    (source / "events.parquet").rename(result / "events.parquet")
    found = draw_all(result)
    assert "space-time" not in [path.stem for path in found.pictures]
    assert found.notes[-1] == "space time: nothing happened in replicate 1"


def drawn(directory: Path, events: list[Row], said: dict[str, Any], **window: Any) -> Picture:
    return spacetime.diagram(Result.read(made(directory / "made", [events], said)), **window)


@pytest.mark.parametrize("scene", TABLE["scenes"])
def test_messages_in_space_and_time(scene, tmp_path, reads):
    told = TABLE["scenes"][scene]
    said = scenario(**told.get("changes", {}))
    if scene == "meetings":  # nobody's clock
        del said["clock"]
    picture = drawn(tmp_path, events(told["events"]), said, **told.get("window", {}))
    reads(picture)
    named = {LOOKS[what].label for what in picture.table["what"]}
    assert set(keys(picture)) - {"on air, by how it ends"} == named
    picture.figure.canvas.draw()


def test_without_events_in_the_window_nothing_is_drawn(tmp_path):
    with pytest.raises(ResultError, match=r"no events in \[7, 9\) of replicate 1"):
        drawn(tmp_path, LOCKED, scenario(), start=7, end=9)


def test_every_mark_has_a_look_and_a_name_of_its_own():
    kinds = {OFFLINE, LOCK, REQUEST, QUERY, ANSWER, COMPUTING, WAITING}
    assert set(LOOKS) >= {*kinds, *spacetime._INSTANTS.values(), *spacetime._ENDINGS.values()}
    assert len({look.label for look in LOOKS.values()}) == len(LOOKS)


def test_of_many_owners_the_most_active_are_shown(tmp_path):
    ticks: list[Row] = [
        (round(n / 100, 2), "clock_tick", 1 + n % 20 if n % 3 else 7) for n in range(300)
    ]
    picture = drawn(tmp_path, ticks, scenario(20), end=3.0)
    shown = sorted(set(picture.table["owner"].tolist()))
    assert len(shown) == 12
    assert 7 in shown
    assert f"owners {', '.join(map(str, shown))} of 20" in picture.caption


@pytest.mark.long
def test_thousands_of_events_are_a_few_artists(tmp_path):
    events: list[Row] = []
    for message in range(1, 2001):
        start = message / 100
        owner = 1 + message % 3
        events += [
            (start, "clock_tick", owner),
            (start, "request_sent", owner, message),
            (start, "query_sent", owner, message),
            (start + 0.004, "answer_released", owner, message, 1),
            (start + 0.008, "answer_delivered", owner, message, 1),
            (start + 0.008, "update_applied", owner, message),
        ]
    result = Result.read(made(tmp_path / "made", [events]))
    short = spacetime.diagram(result).table["what"]
    assert np.count_nonzero(np.isin(short, ("request", "query", "answer"))) <= 61
    whole = spacetime.diagram(result, end=21.0)
    whole.figure.canvas.draw()
    assert len(whole.table["what"]) == 7 * 2000
    [axes] = whole.figure.axes
    assert len(axes.collections) + len(axes.lines) < 30


def test_an_unknown_event_is_refused(tmp_path):
    with pytest.raises(ResultError, match="an unknown event, 'sneezed'"):
        drawn(tmp_path, [(1.0, "sneezed", 1)], scenario())
