"""Pictures of single studies: privacy over distance, guarantees, and collusion."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.studies import collusion, studies
from analysis.studies.over_distance import Pairs, pairs
from asyncdp_sim.core.errors import ResultError, SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.figures.break_even import WAYS as FIGURE
from asyncdp_sim.figures.break_even import select_ways
from asyncdp_sim.figures.draw import draw_all
from asyncdp_sim.results import Sweep, read_table
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sweeps.sweep import sweep
from scenarios import curious_servers, entry
from tests import tables
from tests.manifests import changed
from tests.scenes import text
from tests.unit.figures.made import curve, finished, made, scenario, texts, write_table

# The study of privacy over distance: its numbers, its picture, and what its entry says of them.

NAME = "privacy-over-distance"


@cache
def whole(place: int) -> Pairs:
    """Every pair of one cell of the entry, as it stands."""
    scenario = entry(NAME).scenario()
    chosen = list(scenario.grid())[place]
    return pairs(scenario.cell(chosen), str(place))


def median(graph: Pairs, hops: int) -> float:
    steps, (_, middle, _) = graph.quartiles()
    return float(middle[list(steps).index(hops)])


@pytest.mark.long
def test_the_entry_says_what_its_networks_give():
    said = " ".join(entry(NAME).scenario().description.split())
    ring, grid, near, complete = (whole(place) for place in range(4))
    assert max(graph.epsilon for graph in (ring, grid, near, complete)) == 2
    five, nine, eleven = (median(ring, hops) for hops in (5, 9, 11))
    assert f"the median of ε is {five:.2g} five hops away, {nine:.2g} after nine, and" in said
    assert eleven == 0
    falls = f"it falls from {median(grid, 1):.2g} to {median(grid, 10):.2g} at ten hops"
    assert falls in said
    assert f"square from {median(near, 1):.2g} to {median(near, 7):.2g} at seven" in said
    assert f"Where all may meet it is {median(complete, 1):.2g} against" in said
    told = "on the complete graph ε is two thirds of that against an observer of all answers"
    assert told in Path("docs/catalogue.md").read_text(encoding="utf-8")
    assert median(complete, 1) / 2 == pytest.approx(2 / 3, abs=0.02)


@pytest.mark.long
def test_a_median_falls_with_distance_and_nobody_exceeds_who_hears_all():
    for place in range(4):
        graph = whole(place)
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

BOUNDS = "in the domain record gradients are bounded by Ξ₁ = 4 and Ξ₂ = 2"
TABLE = tables.table(__file__, "studies.toml")
WAYS: dict[str, dict[str, Any]] = TABLE["ways"]
BUDGETS = (1.0, 4.0)
EXCEEDED = "not private: the declared bound 1 on a record gradient's L1 norm is exceeded: 9 at …"


def swept(directory: Path, ways: Mapping[str, dict[str, Any]] = WAYS) -> Sweep:
    """Two budgets for each way; three replicates, whose ψ is 1, 2 and 6 times the cell's number."""
    rows = [(name, epsilon) for name in ways for epsilon in BUDGETS]
    for place, (name, epsilon) in enumerate(rows):
        broken = name == "hoped"
        cell = made(
            directory / f"cell-{place:04d}", [(), (), ()],
            scenario(privacy=ways[name] | {"epsilon": epsilon}),
            updates=10, private=not broken,
            epsilon_true=9 * epsilon if broken else epsilon,
            delta=ways[name].get("delta", 0.0),
        )  # fmt: skip
        with changed(cell) as manifest:
            manifest["warnings"] = [EXCEEDED if broken else BOUNDS]
            manifest["constants"] = {"noise_bound": 2.0 if name == "weaker" else 4.0}
        curve(cell, [times * (1.0 + place) for times in (1, 2, 6)])
        write_table(cell, "owners", {"records": [10, 10, 10]})
    names, budgets = zip(*rows, strict=True)
    return finished(directory, {"variant": names, "privacy.epsilon": budgets})


def test_each_line_has_its_guarantee_and_each_row_its_own_label(tmp_path, reads):
    """Means are 3 times the cell's number, and half widths 4.302653 √(7/3) of that (Student, 2)."""
    picture = FIGURE.picture(swept(tmp_path / "sweep"))
    reads(picture)
    said = [text.replace("\n", " ") for text in texts(picture)]
    assert any(each.startswith("NOT PRIVATE") and "in 2 of 6 cells" in each for each in said)


@pytest.mark.parametrize(("names", "path", "said"), TABLE["nothing_is_compared"])
def test_nothing_is_compared_where_there_is_one_way_or_no_budget(names, path, said, tmp_path):
    sweep = swept(tmp_path / "sweep", {name: WAYS[name] for name in names})
    frame = read_table(sweep.directory, "cells").set_axis(
        ["cell", "variant", path, "status"], axis=1
    )
    write_table(sweep.directory, "cells", frame)
    sweep = Sweep.read(sweep.directory)
    assert select_ways(sweep) == said
    with pytest.raises(ResultError, match=said.partition(",")[0]):
        FIGURE.picture(sweep)


def test_lines_that_hide_records_alike_are_not_compared(tmp_path):
    sweep = swept(tmp_path / "sweep", dict.fromkeys(("pure", "again"), WAYS["pure"]))
    assert select_ways(sweep) == "lines that hide data in the same way"


# Pictures of what colluders know, and the programs that measure it.

INF = float("inf")
SWEPT = text(**tables.table(__file__, "collude.toml"))


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
