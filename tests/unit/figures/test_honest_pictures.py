"""Pictures of held-out rows, of owners alone, and of their sizes."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.papers import by_size
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures import convergence
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.results import read_table
from tests import tables
from tests.one_in import one_in
from tests.scenes import text
from tests.unit.figures.made import lines_of, texts

# Pictures of held-out rows and of owners alone.

TABLE = tables.table(__file__, "honest_pictures.toml")
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
    expected = owners[["records", "psi_alone"]].to_numpy()
    assert sorted(marked.tolist()) == sorted(expected.tolist())
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
    filled = picture.figure.axes[0].lines[1]
    assert len(filled.get_xdata()) == counts[1]


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
    seeded = SCENE | {"run": SCENE["run"] | {"seed": 2}}
    other, _ = lines_of(tmp_path / "s.toml", text(**seeded))
    with pytest.raises(ResultError):
        by_size([sizes[0], other])
