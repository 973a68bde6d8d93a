"""The sentences of entries beyond the papers, and their pictures."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.studies import fixed_point, where_it_ends
from analysis.studies.psi_lines import CORRELATED_NOISE, HIDE_THE_OWNER, alone
from analysis.studies.where_it_ends import DIVIDED, mean_weights, minimiser, often
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.sweep_figure import mean_psi_at_end, psi_at_end
from asyncdp_sim.measures.energy import used
from asyncdp_sim.network.channels.csma import Dcf
from asyncdp_sim.results import Sweep
from asyncdp_sim.runs.outcome import RunResult
from asyncdp_sim.runs.run import run
from asyncdp_sim.sweeps.sweep import sweep
from asyncdp_sim.theory.formulas import dcf
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.channels import approximation
from asyncdp_sim.trace.vocabulary import State
from scenarios import entry
from scenarios.papers.problem import objective
from tests import tables
from tests.tables import table

# The sentences of the entry on secure aggregation.

AGGREGATION = "value-of-aggregation"


@cache
def cell(place: int) -> RunResult:
    """A cell of the entry, as it stands."""
    scenario = entry(AGGREGATION).scenario()
    return run(scenario.cell(list(scenario.grid())[place]))


def noise(place: int) -> float:
    return float(cell(place).summary["psi_split"]["noise"])


def time(place: int) -> float:
    return float(cell(place).summary["simulated_time"])


@pytest.mark.long
def test_value_of_aggregation_says_what_its_cells_give():
    said = " ".join(entry(AGGREGATION).scenario().description.split())
    four, sixteen, many = ((place, 4 + place, 8 + place) for place in (0, 2, 3))
    falls = [noise(heard) / noise(summed) for heard, summed, _ in (four, sixteen, many)]
    told = "noise adds {:.2g} times less to mean ψ with four owners, {:.2g} times less with sixteen"
    assert told.format(*falls) in said
    assert f"and {falls[2]:.2g} times with 32, about N-fold" in said
    costs = [noise(place[1]) / noise(place[2]) for place in (four, sixteen)]
    assert 0.4 < costs[0] < 0.6  # "half of that"
    assert costs[1] > 0.85  # "little"
    longer = [time(summed) / time(heard) - 1 for heard, summed, _ in (four, many)]
    assert (
        "an update takes {:.0%} longer, and {:.0%} with 32".format(*longer).replace("%", " %")
        in said
    )
    assert "18 times less with sixteen" in Path("docs/catalogue.md").read_text(encoding="utf-8")
    assert round(falls[1]) == 18


# The sentences of the entry whose noise is correlated over rounds, and its picture.

CORRELATED = "correlated-noise"


@pytest.mark.long
def test_correlated_noise_says_what_its_cells_give(tmp_path):
    scenario = entry(CORRELATED).scenario()
    small = scenario.replace(sweep={"variant": list(scenario.sweep["variant"])[:4]})
    sweep(small, tmp_path / CORRELATED, workers=1)
    series = CORRELATED_NOISE.select(Sweep.read(tmp_path / CORRELATED))
    assert not isinstance(series, str)
    independent, correlated = (np.array(line.psi) for line in series)
    assert [line.name for line in series] == ["independent noise", "correlated noise"]
    assert list(series[0].x) == [1000, 10_000]
    assert (correlated[2] < independent[1]).all()  # intervals do not meet
    said = " ".join(scenario.description.split())
    few, many = (
        [f"{line[0][place]:.2g}" for line in (correlated, independent)] for place in (0, 1)
    )
    assert f"mean ψ is {few[0]} in place of {few[1]} with 1,000 owners" in said
    assert f"{many[0]} in place of {many[1]} with 10,000" in said


# The sentences of `joules-against-accuracy`.

JOULES = "joules-against-accuracy"
TABLE = tables.table(__file__, "entries.toml")


@pytest.mark.long
def test_more_to_the_fast_is_cheapest_and_rounds_go_furthest():
    """ψ, joules and time with 20 answers each, as the entry's text has them."""
    scenario, found = entry(JOULES).scenario(), {}
    for chosen in scenario.grid():
        name, _, length = chosen["variant"]["name"].rpartition(", ")
        if length == "20 answers":
            found[name] = run(scenario.cell(chosen))
    said = " ".join(scenario.description.split())
    figures = {name: each.summary for name, each in found.items()}
    for words, name in TABLE["furthest"]:
        told = figures[name]
        numbers = {"psi": told["psi_final"]["median"], "joules": told["joules"]}
        assert words.format(**numbers, time=told["simulated_time"]) in said
    alone = found["one at a time"]
    every = [used(t, alone.scenario.energy, alone.scenario.network) for t in alone.traces]
    idle = 1.5 * sum(each.times[:, State.idle].sum() for each in every)
    assert f"{idle / sum(each.joules.sum() for each in every):.0%}".replace("%", " %") in said
    assert all(each.summary["private"] for each in found.values())
    assert all(each.summary["max_spent_ratio"] <= 1 for each in found.values())


# The sentences of the entry that hides whole owners, and its picture.

HIDDEN = "hide-the-owner"
HEARD, SUMMED, OWNER_HEARD, OWNER_SUMMED = range(4)
TEN, FORTY, MANY, MOST = range(4)


@pytest.mark.long
def test_hide_the_owner_says_what_its_cells_give(tmp_path):
    scenario = entry(HIDDEN).scenario()
    sweep(scenario, tmp_path / HIDDEN, workers=1)
    series = HIDE_THE_OWNER.select(Sweep.read(tmp_path / HIDDEN))
    assert not isinstance(series, str)
    psi = np.array([line.psi[0] for line in series])
    low, high = (np.array([line.psi[end] for line in series]) for end in (1, 2))
    own = np.array([alone(cell) for cell in series[0].cells])
    said = " ".join(scenario.description.split())
    assert f"has a ψ of {own.mean():.2g}" in said
    assert psi[HEARD, TEN] > own[TEN]
    assert high[HEARD, FORTY] < own[FORTY]
    assert high[SUMMED, TEN] < own[TEN]
    forty, many, most = (f"{psi[OWNER_HEARD, place]:.2g}" for place in (FORTY, MANY, MOST))
    assert f"mean ψ is {forty} with 40 owners, {many} with 160 and {most} with 640" in said
    assert low[OWNER_HEARD, MANY] > own[MANY]
    assert low[OWNER_HEARD, MOST] < own[MOST] < high[OWNER_HEARD, MOST]
    assert f"not surely below {own[MOST]:.2g}" in said
    assert f"ψ of ten is still larger ({psi[OWNER_SUMMED, TEN]:.2g})" in said
    assert low[OWNER_SUMMED, TEN] > own[TEN]
    assert high[OWNER_SUMMED, FORTY] < own[FORTY]
    assert f"that of 40 smaller ({psi[OWNER_SUMMED, FORTY]:.2g})" in said
    times = psi[OWNER_SUMMED, MANY] / psi[SUMMED, MANY]
    more = f"{psi[OWNER_SUMMED, MANY]:.2g} in place of {psi[SUMMED, MANY]:.2g}"
    assert f"takes {times:.2g} times the ψ that hiding a record does, {more}" in said


# The sentences of `steps-against-staleness`, and its picture.

STALE = "steps-against-staleness"


@pytest.fixture(scope="module")
def stale(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    folder = tmp_path_factory.mktemp("stale") / "result"
    sweep(entry(STALE).scenario(("run.replicates=40",)), folder, workers=1)
    return Sweep.read(folder)


def scores(found: Sweep) -> np.ndarray:
    table = where_it_ends.FIGURE.picture(found).table
    return 2 * (table["mean"] - table["predicted"]) / table["two_standard_errors"]


@pytest.mark.long
def test_learning_ends_where_the_weighted_sum_is_least(stale, monkeypatch):
    assert (abs(scores(stale)) <= 4).all()
    table = where_it_ends.FIGURE.picture(stale).table
    f = objective(stale)
    best = minimiser(f, f.records.astype(float))
    assert table["predicted"][2] == pytest.approx(best, rel=1e-9)
    apart = abs(table["mean"] - best)
    assert apart[0] > 2 * apart[1] > 2 * apart[2]
    assert 0.5 * table["two_standard_errors"].max() < 0.05 * apart[0]
    monkeypatch.setitem(DIVIDED, "inverse-weight", (1, 0))  # planted: weights are forgotten
    assert abs(scores(stale))[2] > 8


def test_fast_owners_answer_more_often_and_fresher():
    said = entry(STALE).scenario().base()
    shares_of_all, weights = often(said), mean_weights(said)
    assert (np.diff(shares_of_all) < 0).all()
    assert (np.diff(weights) < 0).all()
    law = shares_of_all * np.log(1 / shares_of_all) / (1 - shares_of_all)
    assert weights == pytest.approx(law, rel=1e-9)


# The sentences of `wifi-contention`, and its picture.

WIFI = "wifi-contention"
FEW = ("run.replicates=20", 'sweep."owners.count"=[2, 5]', 'sweep.variant=[{ name = "small" }]')


@pytest.fixture(scope="module")
def wifi(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    folder = tmp_path_factory.mktemp("wifi") / "result"
    sweep(entry(WIFI).scenario(FEW), folder, workers=1)
    return Sweep.read(folder)


@pytest.mark.long
def test_two_are_off_as_the_chain_says_and_five_by_less(wifi):
    table = fixed_point.FIGURE.picture(wifi).table
    (two, five), (about, other) = table["off"], table["off_high"] - table["off"]
    assert table["exact"][0] == pytest.approx(3.2, abs=0.01)
    assert abs(two - table["exact"][0]) < 2 * about
    assert about < 0.8
    assert np.isnan(table["exact"][1])
    channel = entry(WIFI).scenario().base().channel
    assert isinstance(channel, Dcf)
    times = (channel.slot, channel.airtime, channel.after_success, channel.after_collision)
    found = dcf.exact(5, channel.window, channel.doublings).access(*times)
    off = 100 * (approximation(channel, 5, 1.0).success_rate / found.success_rate - 1)
    assert abs(five - off) < 2 * other
    assert off < 1  # the goal for five owners and more
    assert fixed_point.SOLVED["windows of 4 and 8 slots", 5] == round(off, 2)
    assert f"{off:.2f} % for five" in " ".join(entry(WIFI).scenario().description.split())
    assert f"{off:.2f} % for five" in Path("docs/catalogue.md").read_text(encoding="utf-8")
    assert f"| {off:.2f} |" in Path("docs/parts/channels.md").read_text(encoding="utf-8")


def test_what_the_file_says_is_in_the_figures():
    said = " ".join(entry(WIFI).scenario().description.split())
    chain = entry(WIFI).scenario(('sweep."owners.count"=[2]',)).base()
    exact = predicted(chain.network, "throughput")
    assert isinstance(chain.channel, Dcf)
    off = 100 * (approximation(chain.channel, 2, 1.0).success_rate / exact - 1)
    assert f"is {off:.1f} % too high for two, exactly" in said


@pytest.mark.long
def test_a_sweep_of_something_else_is_no_picture(tmp_path):
    other = ("run.replicates=2", "run.until=20.0", 'sweep={"run.seed"=[1, 2]}')
    sweep(entry(WIFI).scenario(other), tmp_path / "other", workers=1)
    with pytest.raises(ResultError, match=r"something else than variants and owners\.count"):
        fixed_point.FIGURE.picture(Sweep.read(tmp_path / "other"))


# Figures with intervals in the descriptions of entries, against a sweep of the whole entry.

STATISTICS = {"mean": mean_psi_at_end, "median": psi_at_end}
SENTENCES = table(__file__, "catalogue.toml")["sentences"]


@pytest.mark.long
@pytest.mark.parametrize("name", SENTENCES)
def test_a_description_says_what_its_cells_give_with_intervals(name, tmp_path):
    statistic, sentence = STATISTICS[SENTENCES[name]["statistic"]], SENTENCES[name]["says"]
    scenario = entry(name).scenario()
    sweep(scenario, tmp_path / name, workers=1)
    cells = Sweep.read(tmp_path / name).cells
    ends = [[number(end) for end in statistic(cell.result)] for cell in cells]
    figures = [f"{value} ({low} to {high})" for value, low, high in ends]
    said = " ".join(scenario.description.split()).replace("95 % interval ", "")
    times = [cell.result.summary["simulated_time"] for cell in cells]
    start, took = _start(cells[0].result.directory), [f"{time:.0f}" for time in times]
    assert sentence.format(*figures, start=start, t=took) in said
    assert scenario.description.count("95 % interval") == 1
    if name == "async-11":
        assert [cell.result.summary["profits_psi"] for cell in cells] == [0, 0, 3]
    if name == "vary-availability":
        assert times[2] > 1.9 * times[0]  # "cost time"
        low, high = statistic(cells[2].result)[1], statistic(cells[0].result)[2]
        assert low < high  # "not accuracy": the intervals overlap


def _start(directory: Path) -> str:
    """Return ψ before the first update, which is that of all replicates."""
    curve = pd.read_parquet(directory / "curve.parquet")
    [psi] = set(curve.relative_fitness[curve.k == 0])
    return number(psi)
