"""Pictures of a run's network: over time and space, and of its sweeps."""

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures import (
    Result,
    Sweep,
    changes,
    convergence,
    draw_all,
    gains,
    networks,
    spacetime,
    sweep_figure,
    throughput,
    traces,
)
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.draw import pictures
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.spacetime import LOOKS
from asyncdp_sim.figures.style import laid_out, style
from asyncdp_sim.results.columns import SPREAD
from asyncdp_sim.theory.formulas.channels import aloha
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.trace.spans import ANSWER, COMPUTING, LOCK, OFFLINE, QUERY, REQUEST, WAITING
from tests.manifests import changed
from tests.tables import table
from tests.unit.figures.made import (
    Row,
    curve,
    finished,
    keys,
    made,
    scenario,
    texts,
    whole,
    write_table,
)

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
    reason = "fewer than 3 cells differ in clock rate or number of owners alone"
    assert throughput.FIGURE.why_not(swept(tmp_path / "sweep", few, protocols)) == reason


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
    assert [path.stem for path in draw_all(result).pictures][-2:] == ["shares", "space-time"]


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


# Networks of a sweep, and what is constant in one.


def updated(directory: Path, owner: Sequence[int], n_owners: int, network: str) -> Result:
    """Write a result whose update k is of this owner, at time k."""
    made(directory, said=scenario(n_owners), simulated_time=9.0, updates=len(owner))
    k = np.arange(1, len(owner) + 1)
    columns = {"replicate": np.ones_like(k), "k": k, "tick": k * 10**9, "time": k * 1.0}
    columns |= {"owner": np.array(owner), "read_tick": k * 10**9, "message": k}
    write_table(directory, "updates", whole("updates", columns))
    used = np.bincount(owner, minlength=n_owners + 1)[1:]
    owners = {"owner": np.arange(1, n_owners + 1), "updates": used}
    write_table(directory, "owners", whole("owners", owners))
    with changed(directory) as manifest:
        manifest["network"] = network
    return Result.read(directory)


def sweep_of_networks(
    directory: Path, named: Sequence[str], columns: Mapping[str, Sequence[Any]]
) -> Sweep:
    """Write a sweep of cells whose networks have these names, of three owners."""
    for number, network in enumerate(named):
        updated(directory / f"cell-{number:04d}", [1, 2, 2], 3, network)
    return finished(directory, columns)


def test_what_is_constant_in_a_network_is_not_drawn_of_it(tmp_path):
    for number, owner in enumerate(([1, 2, 2], [1, 2, 3])):
        updated(tmp_path / f"cell-{number:04d}", owner, 3, f"net-{number}")
    notes: list[str] = []
    sweep = finished(tmp_path, {"availability.probability": [1.0, 0.2]})
    networks.pictures(traces.ALL, sweep, notes)
    assert "shares: all owners have equally many updates (online 20 % of the time)" in notes
    notes.clear()
    drawn = {each.name for each, _ in networks.pictures(traces.ALL, sweep.cells[1].result, notes)}
    assert {"timing-by-update", "timing-by-time"} <= drawn
    assert {"gaps", "staleness", "shares"}.isdisjoint(drawn)
    assert "shares: all owners have equally many updates" in notes


def test_many_owners_are_marks_on_a_tall_page_and_are_counted(tmp_path):
    owner = np.random.default_rng(1).integers(1, 170, 90)
    result = updated(tmp_path / "many", owner.tolist(), 169, "net")
    for picture in (traces.BY_UPDATE.of(result), traces.BY_TIME.of(result)):
        [axes] = picture.figure.axes
        assert len(axes.collections) == 0  # no stems, which would be a hatching
        assert picture.figure.get_figheight() > 5
        assert f"made by {len(set(owner.tolist()))} of 169 owners" in picture.caption


def of_cells(directory: Path, psi: list[float]) -> list[Result]:
    """Write a cell for each ψ, all of one network."""
    cells = []
    for number, last in enumerate(psi):
        cell = updated(directory / f"cell-{number:04d}", [1, 2, 2], 3, "net").directory
        with changed(cell) as manifest:
            manifest["summary"] |= {"fairness": 1.0, "psi_final": dict.fromkeys(SPREAD, last)}
        table = {"owner": [1, 2, 3], "updates": [1, 2, 0], "records": [10, 10, 10]}
        table |= {"answers_released": [1, 2, 0], "collided": [0, 0, 0], "lost": [0, 0, 0]}
        write_table(cell, "owners", whole("owners", table))
        curve(cell, [last, last])
        rows = Result.read(cell).frame("curve")
        between = rows.query("k > 0").assign(k=5, time=0.5)
        write_table(cell, "curve", pd.concat([rows, between]).sort_values(["replicate", "k"]))
        cells.append(Result.read(cell))
    return cells


def test_lines_of_some_cells_say_what_these_have_in_common(tmp_path):
    of_cells(tmp_path, list(np.geomspace(1, 2, 12)))
    rates, budgets = [0.5, 2.0] * 6, [float(1 + n // 2) for n in range(12)]
    sweep = finished(tmp_path, {"privacy.epsilon": budgets, "clock.rate": rates})
    drawn = {picture.name: picture for picture, _ in pictures(sweep)[0]}
    for name in ("convergence-by-update", "convergence-by-time"):
        assert drawn[name].subject == "made, where λ = 0.5"
        assert drawn[name].caption.endswith("In all: λ = 0.5.")
    assert not any("where λ" in text for text in texts(drawn["against"]))


def test_a_line_through_its_ends_alone_is_not_drawn(tmp_path):
    [result] = of_cells(tmp_path, [1.0])
    curve(result.directory, [1.0, 2.0])
    entries, notes = pictures(Result.read(result.directory))
    assert not any(picture.name.startswith("convergence") for picture, _ in entries)
    assert "convergence: ψ was recorded at the beginning and the end alone" in " ".join(notes)


def test_lines_that_coincide_are_one_with_both_names(tmp_path, reads):
    results = of_cells(tmp_path, [1.0, 2.0, 1.0])
    lines = [CurveLine(each, name) for each, name in zip(results, "abc", strict=True)]
    reads(convergence.by_update(lines))


def test_a_network_that_cells_share_is_labelled_for_all_of_them(tmp_path):
    for number, epsilon in enumerate((1.0, 2.0)):
        cell = updated(tmp_path / f"cell-{number:04d}", [1, 2, 2], 3, "net").directory
        with changed(cell) as manifest:
            manifest["scenario"]["privacy"]["epsilon"] = epsilon
    notes: list[str] = []
    sweep = finished(tmp_path, {"privacy.epsilon": [1.0, 2.0]})
    for picture, shown in networks.pictures(traces.ALL, sweep, notes):
        assert picture.label.text.startswith("Private as claimed: ε = 1, 2 per owner")
        assert "2 cells have this network." in picture.caption
        assert [each.directory.name for each in shown] == ["cell-0000", "cell-0001"]
    assert "staleness: no answer was stale" in notes  # of all cells, so that none is named


def test_networks_are_named_by_what_is_not_the_same_in_all(tmp_path):
    rows = [("a", 0.5, "one"), ("b", 0.5, "two"), ("c", 0.5, "two"), ("a", 1.0, "three")]
    cells = [row for row in rows for _ in range(2)]
    variants, probabilities, named = zip(*cells, strict=True)
    columns = {"variant": variants, "availability.probability": probabilities}
    sweep = sweep_of_networks(tmp_path, named, columns | {"model.theta_max": [1.0, 2.0] * 4})
    assert [network.name for network in networks.of(sweep)] == [
        "a, online 50 % of the time", "b or c, online 50 % of the time",
        "a, online 100 % of the time",
    ]  # fmt: skip


def test_networks_of_a_sweep_stand_side_by_side_and_six_of_more(tmp_path, reads):
    probabilities = [0.1 * (1 + n) for n in range(8)]
    columns = {"availability.probability": probabilities}
    sweep = sweep_of_networks(tmp_path, [f"net {n}" for n in range(8)], columns)
    notes: list[str] = []
    [(shares, results)] = networks.pictures([traces.SHARES], sweep, notes)
    reads(shares)
    assert len(results) == 6
    assert notes == ["shares: 6 of 8 networks are drawn; asyncdp plot DIR/CELL"]


def test_updates_of_the_same_owners_are_not_drawn_and_many_together_are_strokes(tmp_path):
    two = updated(tmp_path / "two", [1, 2] * 5, 3, "net")
    many = updated(tmp_path / "many", list(range(1, 41)) * 3, 40, "net")
    for result, owners in ((two, 2), (many, 40)):
        _together(result, owners)
        assert traces.the_same_always(result)
    assert not traces.the_same_always(updated(tmp_path / "else", [1, 2, 2], 3, "net"))
    [axes] = traces.BY_TIME.of(many).figure.axes
    [strokes] = [each for each in axes.collections if isinstance(each, LineCollection)]
    assert len(strokes.get_segments()) == 121  # dots would be one block
    assert len(axes.lines) == 0
    dots = traces.BY_TIME.of(updated(tmp_path / "apart", list(range(1, 41)), 40, "net"))
    assert len(dots.figure.axes[0].lines) == 1


def _together(result: Result, owners: int) -> None:
    """Let every update have answers of so many owners, one of them twice."""
    frame = result.frame("updates")
    frame["k"] = 1 + np.arange(len(frame)) // owners
    frame = frame.iloc[np.r_[np.arange(len(frame)), 0]].sort_values("k", kind="stable")
    write_table(result.directory, "updates", frame)


@pytest.mark.parametrize("n_owners", [1, 5, 20])
def test_gains_are_in_their_order_and_the_axis_names_what_is_there(n_owners, tmp_path, reads):
    cell = made(tmp_path / "one", said=scenario(n_owners))
    gain = np.linspace(-1, 2, n_owners)
    columns = {"owner": np.arange(1, n_owners + 1), "records": np.full(n_owners, 10)}
    columns["name"] = np.array([f"北京 {n} Hospital of the North" for n in columns["owner"]])
    columns |= {"gain": gain, "low": gain - 0.4, "high": gain + 0.4}
    verdicts = np.where(gain > 0.4, "gains", np.where(gain < -0.4, "does worse", "undecided"))
    write_table(cell, "gains", columns | {"verdict": verdicts})
    with changed(cell) as manifest:
        manifest |= {"score": "absolute error", "unit": "days"}
    picture = gains.by_owner(Result.read(cell))
    [axes] = picture.figure.axes
    with warnings.catch_warnings(action="error"), style(), laid_out(picture.figure, 100):
        picture.figure.draw_without_rendering()
    assert all(name.get_visible() for name in axes.get_xticklabels())
    assert picture.table["gain"].tolist() == gain[::-1].tolist()
    drawn = [points.lines[0].get_ydata().tolist() for points in axes.containers]  # type: ignore[attr-defined]
    assert sorted(np.concatenate(drawn).tolist(), reverse=True) == gain[::-1].tolist()
    reads(picture)


@pytest.mark.long
def test_of_too_many_numbers_some_have_a_line_and_the_caption_says_so(tmp_path):
    pairs = [(size, epsilon) for size in range(1, 11) for epsilon in range(1, 12)]
    of_cells(tmp_path, [1.0 + n for n in range(len(pairs))])
    columns = {"owners.records": [n for n, _ in pairs], "privacy.epsilon": [e for _, e in pairs]}
    picture = changes.AGAINST.picture(finished(tmp_path, columns))
    assert "; lines for 5 of 10 values of owners.records" in picture.caption
    assert set(picture.table["series"]) == {f"n_i = {n}" for n in (1, 3, 5, 8, 10)}
    assert "nᵢ = 1" in {text.get_text() for axes in picture.figure.axes for text in axes.texts}


def test_points_at_zero_are_whole_and_rows_have_room(tmp_path):
    for number, refused in enumerate((0.0, 0.5)):
        curve(made(tmp_path / f"cell-{number:04d}", refusal_rate=refused), [1.0, 2.0])
    long = "a name of so many letters that it needs three lines beside its row, and all of them"
    picture = changes.SETTINGS.picture(finished(tmp_path, {"variant": ["short", long]}))
    first, *_ = picture.figure.axes
    [points] = first.containers
    assert not points[0].get_clip_on()
    assert points[0].get_xdata()[0] == first.get_xlim()[0] == 0
    drawn = picture.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    picture.figure.draw_without_rendering()
    above, below = (each.get_window_extent(drawn) for each in first.get_yticklabels())
    assert not above.overlaps(below)
