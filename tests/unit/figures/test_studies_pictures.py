"""Pictures of single studies: distance, guarantees, colluders, gains, cases, owners alone."""

import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.papers import by_size
from analysis.studies import collusion, fairness, four_cases, studies
from analysis.studies.four_cases import cases
from analysis.studies.over_distance import Pairs, pairs
from asyncdp_sim.core.errors import ResultError, SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.figures import break_even, convergence, sweep_figure
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.draw import draw_all
from asyncdp_sim.figures.sweep_figure import answers_paid
from asyncdp_sim.results import Sweep, read_table
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sweeps.sweep import sweep
from scenarios import curious_servers, entry
from scenarios.papers.collab import in_epsilon, in_records, power
from tests import tables
from tests.one_in import one_in
from tests.scenes import text
from tests.unit.figures.made import lines_of, sweep_of, texts

# The study of privacy over distance: its numbers, its picture, and what its entry says of them.

NAME = "privacy-over-distance"


@cache
def every_pair(place: int) -> Pairs:
    """Every pair of one cell of the entry, as it stands."""
    scenario = entry(NAME).scenario()
    return pairs(scenario.cell(list(scenario.grid())[place]), str(place))


def median(graph: Pairs, hops: int) -> float:
    steps, (_, middle, _) = graph.quartiles()
    return float(middle[list(steps).index(hops)])


@pytest.mark.long
def test_the_entry_says_what_its_networks_give():
    said = " ".join(entry(NAME).scenario().description.split())
    ring, grid, near, complete = (every_pair(place) for place in range(4))
    assert max(graph.epsilon for graph in (ring, grid, near, complete)) == 2
    five, nine, eleven = (median(ring, hops) for hops in (5, 9, 11))
    assert f"the median of ε is {five:.2g} five hops away, {nine:.2g} after nine, and" in said
    assert eleven == 0
    assert f"it falls from {median(grid, 1):.2g} to {median(grid, 10):.2g} at ten hops" in said
    assert f"square from {median(near, 1):.2g} to {median(near, 7):.2g} at seven" in said
    assert f"Where all may meet it is {median(complete, 1):.2g} against" in said
    told = "on the complete graph ε is two thirds of that against an observer of all answers"
    assert told in Path("docs/catalogue.md").read_text(encoding="utf-8")
    assert median(complete, 1) / 2 == pytest.approx(2 / 3, abs=0.02)


@pytest.mark.long
def test_a_median_falls_with_distance_and_nobody_exceeds_who_hears_all():
    for place in range(4):
        graph = every_pair(place)
        _, found = graph.quartiles()
        assert np.all(np.diff(found[1]) <= 0)
        assert found.max() <= graph.epsilon


@pytest.mark.long
def test_the_study_draws_a_line_for_each_graph(tmp_path):
    sweep(entry(NAME).scenario(tuple(TABLE["graphs"])), tmp_path / "s")
    drawn = draw_all(tmp_path / "s", studies=studies(NAME)).pictures
    assert "over-distance.png" in [picture.name for picture in drawn]
    captions = (tmp_path / "s" / "figures" / "captions.md").read_text("utf-8")
    assert "against another node of the graph that sees its own meetings" in captions
    assert "Each of 4 owners contributes one noisy vector" in captions
    assert "they are averaged in 12 meetings" in captions


def test_another_observer_is_refused():
    scenario = entry(NAME).scenario(('privacy.observer={ kind = "transcript" }',))
    with pytest.raises(SpecError, match="allowed is node"):
        pairs(scenario.base(), "ring")


# Mean ψ against ε for several ways to hide records: what is drawn, and when nothing is.

TABLE = tables.table(__file__, "studies.toml")
WAYS: list[dict[str, Any]] = TABLE["ways"]
"""Two budgets for each way; three replicates, whose ψ is 1, 2 and 6 times the cell's number."""


def test_each_line_has_its_guarantee_and_each_row_its_own_label(tmp_path, reads):
    """Means are 3 times the cell's number, and half widths 4.302653 √(7/3) of that (Student, 2)."""
    picture = break_even.WAYS.picture(sweep_of(tmp_path, WAYS))
    reads(picture)
    said = [text.replace("\n", " ") for text in texts(picture)]
    assert any(each.startswith("NOT PRIVATE") and "in 2 of 6 cells" in each for each in said)


@pytest.mark.parametrize(("names", "path", "said"), TABLE["nothing_is_compared"])
def test_nothing_is_compared_where_there_is_one_way_or_no_budget(names, path, said, tmp_path):
    cells = []
    for cell in WAYS:
        name, epsilon = cell["values"].values()
        if name in names:
            cells.append(cell | {"values": {"variant": name, path: epsilon}})
    sweep = sweep_of(tmp_path, cells)
    assert break_even.select_ways(sweep) == said
    with pytest.raises(ResultError, match=said.partition(",")[0]):
        break_even.WAYS.picture(sweep)


def test_lines_that_hide_records_alike_are_not_compared(tmp_path):
    pure = WAYS[:2]
    again = [each | {"values": each["values"] | {"variant": "again"}} for each in pure]
    sweep = sweep_of(tmp_path, [*pure, *again])
    assert break_even.select_ways(sweep) == "lines that hide data in the same way"


# Pictures of what colluders know, and the programs that measure it.

INF = float("inf")
SWEPT = text(**TABLE["collude"])


@pytest.mark.long
def test_a_sweep_is_run_again_and_drawn_with_infinity_at_the_end(tmp_path):
    (tmp_path / "s.toml").write_text(SWEPT)
    sweep(load(tmp_path / "s.toml")[0], tmp_path / "sweep")
    picture = collusion.FIGURE.picture(Sweep.read(tmp_path / "sweep"))
    table, [mean] = picture.table, picture.figure.axes
    assert table["name"].tolist() == ["rounds"] * 2 + ["gossip"] * 2
    assert table["epsilon"].tolist() == [1.0, INF] * 2
    exact, single = (table[of][np.isinf(table["epsilon"])] for of in ("mean", "single"))
    assert (np.maximum(exact, single) < 1e-11).all()
    assert [tick.get_text() for tick in mean.get_xticklabels()] == ["1", "∞"]
    assert mean.get_ylim()[0] > 1e-3  # what rounding leaves does not squeeze the rest
    said = [text.get_text() for text in mean.texts]
    assert said == ["nothing is learned", f"▾ rounding error ≤ {exact.max():.0e}"]


def test_nothing_worked_out_is_no_error():
    short: Scenario = parse(Scenario, tomllib.loads(SWEPT.replace("updates = 40", "updates = 1")))
    found = collusion.learned(short)
    assert found["answers"] == 0
    assert np.isnan([found["single"], found["mean"], found["noise"]]).all()


def test_curious_servers():
    few = [curious_servers.measured(4, n, clients=300) for n in (2, 3)]
    rows = pd.concat(few, ignore_index=True)
    assert rows.query("servers == uploads").error.tolist() == [0.0] * 4
    assert (abs(rows.error - rows.expected) < 0.1).all()
    picture = curious_servers.by_servers(rows.query("additive == 1"))
    assert list(picture.table["servers"]) == [1, 2, 1, 2, 3]
    [errors] = picture.figure.axes
    assert list(errors.lines[2].get_xdata()) == [1, 2, 3]
    known = 100 * rows.query("additive == 1 and servers < uploads").error.min()
    assert f"servers miss a gradient by {known:.2g} %" in picture.said.title


# Pictures of gains, and of whom a model serves.


def of_table(directory: Path, name: str, **said: Any) -> Sweep:
    """Write a sweep of the table, whose cells have these tables of the scenario besides."""
    alike, cells = (TABLE[name][part] for part in ("alike", "cells"))
    return sweep_of(directory, [alike | each | ({"said": said} if said else {}) for each in cells])


def test_break_even_is_told_for_each_budget(tmp_path, reads):
    """With a cap ψ is 4 and 2, so that owner 2 gains from 3^(log 4/3 / log 2) = 1.58 on."""
    reads(break_even.FIGURE.picture(of_table(tmp_path, "budgets")))


def test_without_owners_alone_nobody_can_tell_who_profits(tmp_path):
    sweep = of_table(tmp_path, "budgets")
    for cell in sweep.cells:
        del cell.result.manifest["summary"]["profits_psi"]
    assert break_even.FIGURE.why_not(sweep) == "owners alone are not known: run.alone"
    with pytest.raises(ResultError):
        break_even.FIGURE.picture(sweep)


def test_break_even_is_the_last_crossing_of_several():
    epsilon, psi = np.log([0.1, 1.0, 10.0, 100.0]), np.array([-1.0, 1.0, 1.0, -1.0])
    assert break_even._crossing(epsilon, psi, 0.0) == pytest.approx(10**1.5)


def test_break_even_is_where_the_joint_models_line_crosses_an_owners_own(tmp_path, reads):
    """ψ is 8 / ε: it is 4 at ε = 2, and below 16 from the first ε on, and never below 1."""
    picture = break_even.FIGURE.picture(of_table(tmp_path, "epsilon"))
    reads(picture)
    levels = [line for line in picture.figure.axes[0].lines if len(set(line.get_ydata())) == 1]
    assert {float(line.get_ydata()[0]) for line in levels} >= {16.0, 4.0, 1.0}


def test_a_break_even_of_one_replicate_has_no_interval(tmp_path, monkeypatch):
    mean = sweep_figure.mean_psi_at_end
    alone = lambda result: sweep_figure.OutcomeEstimate(mean(result).value)  # noqa: E731
    monkeypatch.setattr(sweep_figure, "mean_psi_at_end", alone)
    picture = break_even.FIGURE.picture(of_table(tmp_path, "epsilon"))
    assert picture.said.title.endswith("; from ε = 2 on, of half of them")
    assert "joint model better than half" in texts(picture)


def test_where_most_own_models_fit_better_it_is_said(tmp_path):
    picture = break_even.FIGURE.picture(of_table(tmp_path, "noisier"))
    assert picture.caption.endswith("At no ε shown does it fit better than half of them.")


def test_owners_with_names_are_called_by_them(tmp_path):
    served = of_table(tmp_path, "seeds")
    for cell in served.cells:
        cell.result.manifest["owner_names"] = ["St. Mary", "North", "Hill"]
    picture = fairness.FIGURE.picture(served)
    assert picture.table["name"].tolist()[:3] == ["St. Mary", "North", "Hill"]


def test_losses_of_owners_are_means_over_seeds(tmp_path, reads):
    reads(fairness.FIGURE.picture(of_table(tmp_path, "seeds")))


@pytest.mark.parametrize(
    ("online", "said"),
    [
        ((1.0, 0.5, 0.5), "owners are not online with 3 probabilities or more"),
        ((1.0, 0.5, 0.0), "some owners are never online"),
    ],
)
def test_fairness_needs_owners_that_are_online_unequally(online, said, tmp_path):
    there = {"kind": "bernoulli", "probability": [*online]}
    assert fairness.FIGURE.why_not(of_table(tmp_path, "seeds", availability=there)) == said


def test_a_lost_answer_is_paid_for(tmp_path):
    """Of 12 answers 4 collide and 2 are lost."""
    owners = {"answers_released": [4] * 3, "collided": [4, 0, 0], "lost": [0, 1, 1]}
    swept = sweep_of(tmp_path, [{"values": {"run.seed": 1}, "psi": [1.0, 3.0], "owners": owners}])
    assert answers_paid(swept.cells[0].result) == (2.0, 2.0, 2.0)


# Owner 1 beside four kinds of others: cells find their places, and Theorem 2's law is exact.


FIRST, OTHERS = (1000, 10_000, 100_000), (1000, 50_000)
BUDGETS, OTHER_BUDGETS = (0.1, 10.0), (0.1, 10.0)
C = 1e10


def law(records: list[int], epsilon: list[float]) -> float:
    return sum(1 / e**2 for e in epsilon) / sum(records) ** 2


def of_cases(
    directory: Path,
    psi: Callable[[list[int], list[float]], float] = lambda n, e: C * law(n, e),
    first: tuple[int, ...] = FIRST,
    others: tuple[int, ...] = OTHERS,
) -> Sweep:
    """Write a sweep, in another order than the picture's, of two replicates with one ψ each."""
    cells = []
    for m, n, r, e in product(reversed(others), first, OTHER_BUDGETS, reversed(BUDGETS)):
        records, epsilon = [n, m, m], [e, r, r]
        cells.append({
            "values": {"owners.records": str(records), "privacy.epsilon": str(epsilon)},
            "said": {"owners": {"records": records}, "privacy": {"epsilon": epsilon}},
            "psi": [psi(records, epsilon)] * 2,
        })  # fmt: skip
    return sweep_of(directory, cells)


def test_cases_come_in_the_papers_order_with_their_cells(tmp_path):
    found = cases(of_cases(tmp_path / "sweep"))
    assert [(case.number, case.name) for case in found] == [
        ("(i)", "small, reluctant"),
        ("(ii)", "small, eager"),
        ("(iii)", "large, reluctant"),
        ("(iv)", "large, eager"),
    ]
    assert [(case.records, case.epsilon) for case in found] == [
        (m, r) for m in OTHERS for r in OTHER_BUDGETS
    ]
    for case in found:
        m, r = int(case.records), case.epsilon
        exact = [[law([n, m, m], [e, r, r]) for e in BUDGETS] for n in FIRST]
        np.testing.assert_allclose(case.law, exact, rtol=1e-14)
        np.testing.assert_allclose(case.mean, C * case.law, rtol=1e-14)
    assert all(abs(case.constant / C - 1) < 1e-12 for case in found)


def test_what_the_claims_measure_is_exact_under_the_law(tmp_path):
    sweep = of_cases(tmp_path / "sweep")
    assert abs(power(sweep, 0) - 2) < 1e-10
    assert abs(in_epsilon(sweep, 0) / (300 / 200.01) - 1) < 1e-12
    assert abs(in_epsilon(sweep, 3) / (100.02 / 0.03) - 1) < 1e-12
    assert abs(in_records(sweep, 3) / (200_000 / 101_000) ** 2 - 1) < 1e-12


def test_a_law_without_the_square_is_seen(tmp_path):
    assert abs(power(of_cases(tmp_path / "sweep", lambda n, e: law(n, e) ** 0.5), 0) - 1) < 1e-10


def test_the_picture_has_four_panels_of_one_height_and_all_numbers(tmp_path, reads):
    picture = four_cases.FIGURE.picture(of_cases(tmp_path / "sweep"))
    reads(picture)
    assert len({axes.get_ylim() for axes in picture.figure.axes}) == 1
    np.testing.assert_allclose(picture.table["psi_final_mean"], picture.table["law"], rtol=1e-12)


def test_what_is_no_grid_of_four_cases_is_refused(tmp_path):
    with pytest.raises(ResultError, match="two sizes and two budgets"):
        cases(of_cases(tmp_path / "three", others=(1000, 2000, 3000)))
    sweep = of_cases(tmp_path / "gap")
    with pytest.raises(ResultError, match="two sizes and two budgets"):
        cases(Sweep(sweep.directory, sweep.paths, sweep.cells[1:], (0,)))
    sweep.cells[0].result.manifest["scenario"]["owners"]["records"] = 10
    with pytest.raises(ResultError, match="lists of records and budgets"):
        cases(sweep)


def test_a_run_that_diverged_is_left_out_of_the_picture_and_the_constant(tmp_path):
    def psi(n: list[int], e: list[float]) -> float:
        return float("nan") if (n[0], n[1], e) == (1000, 1000, [0.1] * 3) else C * law(n, e)

    picture = four_cases.FIGURE.picture(of_cases(tmp_path / "sweep", psi))
    assert np.isinf(picture.table["psi_final_mean"]).sum() == 1
    rest = np.isfinite(picture.table["psi_final_mean"])
    np.testing.assert_allclose(picture.table["law"][rest], picture.table["psi_final_mean"][rest])


# Pictures of held-out rows and of owners alone.

HONEST = text(**TABLE["honest"])


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    return lines_of(tmp_path_factory.mktemp("honest") / "s.toml", HONEST)


@one_in(2, ("name", "at_ends"), [("ε = 1", True), ("without St. Luke's Hospital", False)])
def test_long_names_stand_above_the_axes_and_leave_them_wide(name, at_ends, lines):
    picture = convergence.by_update(
        [replace(line, name=f"{name} ({n})") for n, line in enumerate(lines)]
    )
    ends = [text for axes in picture.figure.axes for text in axes.texts if name in text.get_text()]
    [legend] = picture.figure.legends
    above = [text for text in legend.get_texts() if name in text.get_text().replace("\n", " ")]
    assert (len(ends), len(above)) == ((2, 0) if at_ends else (0, 2))
    picture.figure.canvas.draw()
    assert (picture.figure.axes[0].get_position().width > 0.8) or at_ends


# ψ of owners alone against their sizes: which are above which line, and under which name.

SCENE = TABLE["scene"]


@pytest.fixture(scope="module")
def sizes(tmp_path_factory):
    return lines_of(tmp_path_factory.mktemp("alone") / "s.toml", text(**SCENE))


def test_it_draws_what_the_tables_hold(sizes):
    picture = by_size(sizes)
    axes = picture.figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    owners = read_table(sizes[0].result.directory, "owners")[:4]
    marked = np.concatenate([line.get_xydata() for line in axes.lines[:2]])
    assert sorted(marked.tolist()) == sorted(owners[["records", "psi_alone"]].to_numpy().tolist())
    means = [line.result.summary["psi_final"]["mean"] for line in sizes]
    flat = axes.lines[2:]
    assert [line.get_ydata()[0] for line in flat] == means
    assert [line.get_linestyle() for line in flat] == ["-", "--"]
    assert picture.table["records"].tolist() == [5, 10, 40, 80] * 2
    assert picture.table["psi_final_mean"].tolist() == np.repeat(means, 4).tolist()


def test_those_above_a_line_are_named(sizes):
    names = ("ash", "oak", "fir", "elm")
    picture = by_size(sizes, names)
    table = picture.table
    assert np.array_equal(table["fits_worse"] == 1, table["psi_alone"] > table["psi_final_mean"])
    counts = [line.result.summary["profits_psi"] for line in sizes]
    assert table["fits_worse"].reshape(2, 4).sum(axis=1).tolist() == counts
    assert counts[0] == 0
    assert 0 < counts[1] < 4
    above = table["name"][4:][table["fits_worse"][4:] == 1]
    assert f"ε = 2,000 {counts[1]} ({', '.join(above)})" in picture.caption
    assert "at ε = 1 none" in picture.caption
    assert set(names) & set(texts(picture)) == set(above)
    assert len(picture.figure.axes[0].lines[1].get_xdata()) == counts[1]


def test_owners_have_numbers_where_they_have_no_names(sizes):
    assert by_size(sizes[1:]).table["name"].tolist() == ["1", "2", "3", "4"]


def test_a_line_that_diverged_is_left_out_and_nobody_is_above(sizes):
    result = sizes[1].result
    spread = {**result.summary["psi_final"], "mean": "inf"}
    summary = {**result.summary, "psi_final": spread}
    lost = type(result)(result.directory, {**result.manifest, "summary": summary})
    picture = by_size([CurveLine(lost)])
    assert picture.table["fits_worse"].sum() == 0
    assert len(picture.figure.axes[0].lines) == 2


def test_other_owners_are_refused(sizes, tmp_path):
    other, _ = lines_of(tmp_path / "s.toml", text(**(SCENE | {"run": SCENE["run"] | {"seed": 2}})))
    with pytest.raises(ResultError):
        by_size([sizes[0], other])
