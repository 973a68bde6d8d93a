"""Pictures as a reader who never saw the code takes them: nothing hidden, unnamed or cut off."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from asyncdp_sim.figures import (
    Result,
    Sweep,
    changes,
    convergence,
    draw_all,
    gains,
    networks,
    traces,
)
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.draw import pictures
from asyncdp_sim.figures.style import laid_out, style
from asyncdp_sim.results.columns import SPREAD
from tests.manifests import changed
from tests.unit.figures.made import curve, finished, keys, made, scenario, texts, whole, write_table
from tests.unit.figures.test_psi_over_swept_numbers import updated


def of_cells(directory: Path, psi: list[float]) -> list[Result]:
    """Write a cell for each ψ, all of one network."""
    cells = []
    for number, last in enumerate(psi):
        known = {"fairness": 1.0, "psi_final": dict.fromkeys(SPREAD, last)}
        cell = updated(directory / f"cell-{number:04d}", [1, 2, 2], 3, "net").directory
        with changed(cell) as manifest:
            manifest["summary"] |= known
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
    drawn = networks.pictures(traces.ALL, sweep, notes)
    for picture, shown in drawn:
        assert picture.label.text.startswith("Private as claimed: ε = 1, 2 per owner")
        assert "2 cells have this network." in picture.caption
        assert [each.directory.name for each in shown] == ["cell-0000", "cell-0001"]
    assert "staleness: no answer was stale" in notes  # of all cells, so that none is named


def test_networks_are_named_by_what_is_not_the_same_in_all(tmp_path):
    rows = [("a", 0.5, "one"), ("b", 0.5, "two"), ("c", 0.5, "two"), ("a", 1.0, "three")]
    cells = [row for row in rows for _ in range(2)]
    for number, (_, _, network) in enumerate(cells):
        updated(tmp_path / f"cell-{number:04d}", [1, 2, 2], 3, network)
    columns: dict[str, list[object]] = {
        "variant": [variant for variant, _, _ in cells],
        "availability.probability": [probability for _, probability, _ in cells],
    }
    sweep = finished(tmp_path, {**columns, "model.theta_max": [1.0, 2.0] * 4})
    assert [network.name for network in networks.of(sweep)] == [
        "a, online 50 % of the time", "b or c, online 50 % of the time",
        "a, online 100 % of the time",
    ]  # fmt: skip


def test_networks_of_a_sweep_stand_side_by_side_and_six_of_more(tmp_path):
    for number in range(8):
        updated(tmp_path / f"cell-{number:04d}", [1, 2, 2], 3, f"net {number}")
    sweep = finished(tmp_path, {"availability.probability": [0.1 * (1 + n) for n in range(8)]})
    notes: list[str] = []
    [(shares, results)] = [
        (picture, results) for picture, results in networks.pictures([traces.SHARES], sweep, notes)
    ]
    assert len(shares.figure.axes) == len(results) == 6
    assert shares.said.panels[0].title.startswith("online 10 % of the time: ")
    assert shares.said.panels[5].title.startswith("online 80 % of the time: ")
    assert next(iter(shares.table["network"])) == "online 10 % of the time"
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


@pytest.mark.parametrize(
    ("n_owners", "axis", "counted"),
    [
        (1, "owner $i$, with $n_i$ training rows", "of 1 owner: 0 gain, 1 do worse, 0 no "),
        (5, "owner $i$, with $n_i$ training rows", "of 5 owners: 3 gain, 1 do worse, 0 no "),
        (20, "owners, the largest gain first", "of 20 owners: 11 gain, 4 do worse, 0 no "),
    ],
)
def test_gains_are_in_their_order_and_the_axis_names_what_is_there(
    n_owners, axis, counted, tmp_path
):
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
    assert axes.get_xlabel() == axis
    assert axes.get_ylabel() == "gain: smaller\nabsolute error (days)"
    with warnings.catch_warnings(action="error"), style(), laid_out(picture.figure, 100):
        picture.figure.draw_without_rendering()
    assert all(name.get_visible() for name in axes.get_xticklabels())
    assert picture.table["gain"].tolist() == gain[::-1].tolist()
    drawn = [points.lines[0].get_ydata().tolist() for points in axes.containers]  # type: ignore[attr-defined]
    assert sorted(np.concatenate(drawn).tolist(), reverse=True) == gain[::-1].tolist()
    assert keys(picture) == [name for name in gains.LOOKS if name in verdicts]
    assert picture.said.title[0].isupper()
    assert counted in picture.said.title.lower()


@pytest.mark.long
def test_of_too_many_numbers_some_have_a_line_and_the_caption_says_so(tmp_path):
    pairs = [(size, epsilon) for size in range(1, 11) for epsilon in range(1, 12)]
    of_cells(tmp_path, [1.0 + n for n in range(len(pairs))])
    columns = {"owners.records": [n for n, _ in pairs], "privacy.epsilon": [e for _, e in pairs]}
    picture = changes.AGAINST.picture(finished(tmp_path, columns))
    assert "; lines for 5 of 10 values of owners.records" in picture.caption
    assert set(picture.table["series"]) == {f"n_i = {n}" for n in (1, 3, 5, 8, 10)}
    named = {text.get_text() for axes in picture.figure.axes for text in axes.texts}
    assert "nᵢ = 1" in named


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


@pytest.mark.long
def test_a_drawn_sweep_has_nothing_of_its_first_cell_alone(swept):
    draw_all(swept)
    assert "cell-0000" not in (swept / "figures" / "captions.md").read_text()
    [network] = networks.of(Sweep.read(swept))
    assert len(network.results) == 3
