"""The sentences of entries beyond the papers, their promises, and their pictures."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.exact.learning import ExpectedPsi, expected_psi
from analysis.studies import fixed_point, where_it_ends
from analysis.studies.psi_lines import CORRELATED_NOISE, HIDE_THE_OWNER, alone
from analysis.studies.where_it_ends import DIVIDED, mean_weights, minimiser, often
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.sweep_figure import mean_psi_at_end, psi_at_end
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.measures.energy import used
from asyncdp_sim.network.channels.csma import Dcf
from asyncdp_sim.results import Sweep
from asyncdp_sim.runs.outcome import RunResult, owner_figures
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.sweeps.sweep import sweep
from asyncdp_sim.theory.formulas import channels
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.channels import approximation
from asyncdp_sim.trace.vocabulary import State
from scenarios import entry
from scenarios.papers.problem import objective
from tests.one_in import one_in
from tests.tables import table

TABLE = table(__file__, "entries.toml")


def states(name: str, **numbers: Any) -> None:
    """Require that a description has its sentences of the table, with these numbers in them."""
    said = " ".join(entry(name).scenario().description.split())
    sentences = [words.format(**numbers) for words in TABLE["says"][name]]
    assert [words for words in sentences if words not in said] == []


def of_cells(
    name: str, *settings: str, variants: Collection[str] = (), data: bool = True, **wanted: Any
) -> dict[str, RunResult]:
    """Run the cells of an entry that have these values, in its order, over one dataset or not.

    By the names of their variants, if they have some, or by their places.
    """
    scenario = entry(name).scenario(settings)
    dataset = build_dataset(scenario) if data else None
    found = {}
    for place, chosen in enumerate(scenario.grid()):
        variant = chosen.get("variant", {}).get("name", str(place))
        given = all(chosen[path.replace("__", ".")] in values for path, values in wanted.items())
        if given and (len(variants) == 0 or variant in variants):
            found[variant] = run(scenario.cell(chosen), dataset=dataset)
    return found


def swept(name: str, folder: Path, *settings: str) -> Sweep:
    """Run an entry into a folder, and open it."""
    sweep(entry(name).scenario(settings), folder, workers=1)
    return Sweep.read(folder)


def once(name: str, *settings: str) -> Any:
    """Return a fixture of a module: an entry's sweep."""

    @pytest.fixture(scope="module")
    def fixture(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
        return swept(name, tmp_path_factory.mktemp(name) / "result", *settings)

    return fixture


def mean_psi(found: Iterable[RunResult]) -> list[float]:
    return [each.summary["psi_final"]["mean"] for each in found]


# The sentences of the entry on secure aggregation.

AGGREGATION = "value-of-aggregation"


@pytest.mark.long
def test_value_of_aggregation_says_what_its_cells_give():
    scenario = entry(AGGREGATION).scenario()
    grid, places = list(scenario.grid()), (0, 2, 3, 4, 6, 7, 8, 10)
    found = {place: run(scenario.cell(grid[place])).summary for place in places}
    noise = {place: each["psi_split"]["noise"] for place, each in found.items()}
    time = {place: each["simulated_time"] for place, each in found.items()}
    falls = [noise[place] / noise[place + 4] for place in (0, 2, 3)]  # 4, 16 and 32 owners
    costs = [noise[place] / noise[place + 4] for place in (4, 6)]
    assert 0.4 < costs[0] < 0.6  # "half of that"
    assert costs[1] > 0.85  # "little"
    longer = [100 * (time[place + 4] / time[place] - 1) for place in (0, 3)]
    states(AGGREGATION, falls=falls, longer=longer)
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
    states(CORRELATED, mean=correlated[0], independent=independent[0])


# The sentences of `joules-against-accuracy`.

JOULES = "joules-against-accuracy"


@pytest.mark.long
def test_more_to_the_fast_is_cheapest_and_rounds_go_furthest():
    """ψ, joules and time with 20 answers each, as the entry's text has them."""
    lengths = [f"{name}, 20 answers" for name in TABLE["joules"].values()]
    found = of_cells(JOULES, variants=lengths, data=False)
    figures = {}
    for word, name in TABLE["joules"].items():
        told = found[f"{name}, 20 answers"].summary
        psi, time = told["psi_final"]["median"], told["simulated_time"]
        figures[word] = SimpleNamespace(psi=psi, joules=told["joules"], time=time)
    alone = found["one at a time, 20 answers"]
    every = [used(t, alone.scenario.energy, alone.scenario.network) for t in alone.traces]
    idle = 1.5 * sum(each.times[:, State.idle].sum() for each in every)
    states(JOULES, **figures, idle=100 * idle / sum(each.joules.sum() for each in every))
    assert all(each.summary["private"] for each in found.values())
    assert all(each.summary["max_spent_ratio"] <= 1 for each in found.values())


# The sentences of the entry that hides whole owners, and its picture.

HIDDEN = "hide-the-owner"
HEARD, SUMMED, OWNER_HEARD, OWNER_SUMMED = range(4)
TEN, FORTY, MANY, MOST = range(4)


@pytest.mark.long
def test_hide_the_owner_says_what_its_cells_give(tmp_path):
    series = HIDE_THE_OWNER.select(swept(HIDDEN, tmp_path / HIDDEN))
    assert not isinstance(series, str)
    psi, low, high = (np.array([line.psi[end] for line in series]) for end in range(3))
    own = np.array([alone(cell) for cell in series[0].cells])
    assert psi[HEARD, TEN] > own[TEN]
    assert high[HEARD, FORTY] < own[FORTY]
    assert high[SUMMED, TEN] < own[TEN]
    assert low[OWNER_HEARD, MANY] > own[MANY]
    assert low[OWNER_HEARD, MOST] < own[MOST] < high[OWNER_HEARD, MOST]
    assert low[OWNER_SUMMED, TEN] > own[TEN]
    assert high[OWNER_SUMMED, FORTY] < own[FORTY]
    times = psi[OWNER_SUMMED, MANY] / psi[SUMMED, MANY]
    parts = {"record": psi[SUMMED], "heard": psi[OWNER_HEARD], "summed": psi[OWNER_SUMMED]}
    states(HIDDEN, own=own.mean(), most=own[MOST], times=times, **parts)


# The sentences of `steps-against-staleness`, and its picture.

STALE = "steps-against-staleness"


stale = once(STALE, "run.replicates=40")


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
wifi = once(WIFI, *FEW)


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
    found = channels.dcf_exact(5, channel.window, channel.doublings).access(*times)
    off = 100 * (approximation(channel, 5, 1.0).success_rate / found.success_rate - 1)
    assert abs(five - off) < 2 * other
    assert off < 1  # the goal for five owners and more
    assert fixed_point.SOLVED["windows of 4 and 8 slots", 5] == round(off, 2)
    states(WIFI, five=off)
    assert f"{off:.2f} % for five" in Path("docs/catalogue.md").read_text(encoding="utf-8")
    assert f"| {off:.2f} |" in Path("docs/parts/channels.md").read_text(encoding="utf-8")


def test_the_fixed_point_is_off_for_two_owners_as_the_file_says():
    chain = entry(WIFI).scenario(('sweep."owners.count"=[2]',)).base()
    assert isinstance(chain.channel, Dcf)
    exact = predicted(chain.network, "throughput")
    off = 100 * (approximation(chain.channel, 2, 1.0).success_rate / exact - 1)
    assert f"is {off:.1f} % too high for two, exactly" in " ".join(chain.description.split())


@pytest.mark.long
def test_a_sweep_of_something_else_is_no_picture(tmp_path):
    other = ("run.replicates=2", "run.until=20.0", 'sweep={"run.seed"=[1, 2]}')
    of_seeds = swept(WIFI, tmp_path / "other", *other)
    with pytest.raises(ResultError, match=r"something else than variants and owners\.count"):
        fixed_point.FIGURE.picture(of_seeds)


# Figures with intervals in the descriptions of entries, against a sweep of the whole entry.

STATISTICS = {"mean": mean_psi_at_end, "median": psi_at_end}
SENTENCES = table(__file__, "catalogue.toml")["sentences"]


@pytest.mark.long
@pytest.mark.parametrize("name", SENTENCES)
def test_a_description_says_what_its_cells_give_with_intervals(name, tmp_path):
    statistic, sentence = STATISTICS[SENTENCES[name]["statistic"]], SENTENCES[name]["says"]
    scenario, cells = entry(name).scenario(), swept(name, tmp_path / name).cells
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


# Promises of the entries on budgets and soundness, at fewer replicates.


@pytest.mark.long
def test_budgets_per_answer_lower_mean_psi_as_promised():
    settings = ("run.replicates=16", "run.record_every=1000")
    found = of_cells("budgets-per-answer", *settings, privacy__epsilon=[0.1])
    horizon, capped, gaussian = mean_psi(found.values())
    assert list(found) == ["Laplace, horizon", "Laplace, capped", "Gaussian, capped"]
    assert horizon > 50 * capped
    assert horizon > 500 * gaussian
    for outcome in found.values():
        summary = outcome.summary
        assert summary["private"]
        assert 0.1 * (1 - 1e-5) < summary["epsilon_true"] <= 0.1 * (1 + 1e-12)
        assert summary["clip_count"] < 0.05 * summary["updates"]
        assert summary["updates"] == 16 * 1000
        assert any("Ξ₁ = 17.91 and Ξ₂ = 5.662" in said for said in outcome.warnings)
    assert [each.summary["delta"] for each in found.values()] == [0, 0, 1e-6]


def test_the_published_bound_is_exceeded_and_the_clipped_one_holds():
    settings = ("owners.records=400", "data.public_records=200", "run.replicates=2")
    found = of_cells("price-of-soundness", *settings, "run.updates=50", privacy__epsilon=[1.0])
    declared, clipped = (each.summary for each in found.values())
    assert declared["bound_exceeded"] is True
    assert declared["private"] is False
    assert declared["epsilon_true"] > 2.0
    said = next(each for each in found["declared, as published"].warnings if "exceeded" in each)
    largest = float(said.rpartition(": ")[2].split()[0])
    assert abs(declared["epsilon_true"] / (largest / 5.0) - 1) < 1e-3
    assert clipped["private"] is True
    assert clipped["epsilon_true"] == 1.0


@pytest.mark.long
def test_composed_losses_need_less_noise_than_a_sum_of_epsilon():
    settings = ("run.replicates=4", "run.record_every=1000", 'sweep."privacy.epsilon"=[1.0]')
    pure, composed, gaussian = of_cells("value-of-composition", *settings).values()
    ratio = pure.problem.noise.scale / composed.problem.noise.scale
    assert np.round(ratio, 1).tolist() == [4.4] * 3
    psi = mean_psi((pure, composed, gaussian))
    assert 12 < psi[0] / psi[1] < 24
    assert 1.5 < psi[1] / psi[2] < 4
    for outcome, delta in ((pure, 0), (composed, 1e-6), (gaussian, 1e-6)):
        assert outcome.summary["private"] is True
        assert 0.999 < outcome.summary["epsilon_true"] <= 1
        assert outcome.summary["delta"] == delta


@pytest.mark.long
def test_samples_cost_as_much_noise_and_a_tenth_of_the_computing():
    """The sentences of `value-of-subsampling`: noise, time, and ψ at the end."""
    shares = ("all records", "q = 0.1", "q = 0.01")
    found = of_cells("value-of-subsampling", "run.record_every=300", variants=shares).values()
    whole, tenth, _ = found
    assert np.all(tenth.problem.noise.scale > 0.999 * whole.problem.noise.scale)
    assert np.all(tenth.problem.noise.scale < 1.01 * whole.problem.noise.scale)
    assert [each.summary["simulated_time"] for each in found] == pytest.approx([100, 10, 1])
    psi = [each.summary["psi_final"]["median"] for each in found]
    states("value-of-subsampling", psi=psi)
    assert f"{psi[1]:.2f}" == f"{psi[0]:.2f}"
    assert all(each.summary["private"] for each in found)


@pytest.mark.long
def test_local_steps_save_exchanges_where_owners_are_alike():
    """The sentences of `value-of-local-steps`: noise, time, and ψ at the end."""
    name, settings = "value-of-local-steps", "run.record_every=240"
    ends = ("E = 1", "E = 240")
    alike = of_cells(name, settings, variants=ends, data=False, data__split__dirichlet=[1e6])
    unlike = of_cells(name, settings, data=False, data__split__dirichlet=[0.3])
    once, several = alike.values()
    assert np.array_equal(once.problem.noise.scale, several.problem.noise.scale)
    psi = [
        {variant: each.summary["psi_final"]["median"] for variant, each in found.items()}
        for found in (alike, unlike)
    ]
    states(name, alike=psi[0], unlike=psi[1])
    assert [each.summary["simulated_time"] for each in (once, several)] == pytest.approx([264, 25])
    every = [each.summary for each in (*alike.values(), *unlike.values())]
    assert all(each["private"] and each["max_spent_ratio"] <= 1 for each in every)


@pytest.mark.long
def test_uneven_spending_pays_where_noise_is_forgotten():
    """The sentences of `spending-unevenly`: exact ψ of its cells, and of the best growth."""
    psi = {}
    scenario = entry("spending-unevenly").scenario()
    dataset = build_dataset(scenario)
    for chosen in scenario.grid():
        name, growth = chosen["variant"]["name"], chosen["privacy.budget.growth"]
        near = (1.0, 1.12) if name.startswith("one-on-one") else (0.94, 1.0, 1.06, 1.12)
        if growth not in near or (growth == 1.12 and name.endswith("1/k")):
            continue  # models come near the box, or work is saved
        found = expected_psi(population(scenario.cell(chosen), private=False, dataset=dataset))
        assert isinstance(found, ExpectedPsi)
        psi.setdefault(name, {})[growth] = float(found.psi[-1])
    alone, constant, falling = psi.values()
    assert [round(alone[g], 3) for g in (1.0, 1.12)] == [0.038, 0.013]
    assert min(constant, key=constant.__getitem__) == 1.12
    assert round(constant[1.0], 3) == 0.030
    assert min(falling, key=falling.__getitem__) == 1.0
    assert round(falling[1.0], 3) == 0.011
    rounds = next(c for c in scenario.grid() if c["variant"]["name"] == "rounds, constant step")
    best = scenario.cell(rounds | {"privacy.budget.growth": 1.159})
    found = expected_psi(population(best, private=False, dataset=dataset))
    assert isinstance(found, ExpectedPsi)
    assert round(float(found.psi[-1]), 4) == 0.0062
    assert round(constant[1.0] / float(found.psi[-1]), 1) == 4.8


# Promises of the entries beyond the papers, at fewer replicates.


@pytest.mark.long
def test_banks_profit_under_budgets_of_their_own_answers_where_nobody_does_for_the_horizon():
    settings = ("run.replicates=1", "run.record_every=480")
    found = of_cells("value-of-collaboration", *settings, privacy__epsilon=[3.0])
    horizon, capped, gaussian = (each.summary for each in found.values())
    assert horizon["profits_psi"] == horizon["profits_held_out"] == 0
    assert 5 <= capped["profits_psi"] <= 11
    assert 11 <= gaussian["profits_psi"] <= 15
    for each in (horizon, capped, gaussian):
        assert each["private"]
        assert each["epsilon_true"] <= 3.0 * (1 + 1e-12)
    assert [each["delta"] for each in (horizon, capped, gaussian)] == [0, 0, 1e-6]


@pytest.mark.long
def test_the_small_and_shy_are_better_left_out():
    name = "exclude-the-small-and-shy"
    grid = {sum(each): each for each in entry(name).scenario().sweep["availability.probability"]}
    assert sorted(grid) == list(range(1, 13))
    shown = [grid[12], grid[1], grid[7]]  # in the entry's order
    settings = ("run.replicates=2", "run.record_every=50", "run.alone=false")
    plain = (*settings, 'sweep.variant=[{ name = "as they are" }]')
    found = [
        each
        for probability in shown
        for each in of_cells(name, *plain, availability__probability=[probability]).values()
    ]
    everybody, first, some = mean_psi(found)
    assert some < first / 2
    assert everybody > 3 * some
    assert everybody > first
    eager = entry(name).scenario((*settings, "privacy.epsilon=1.0")).base()
    assert run(eager, dataset=found[0].dataset).summary["psi_final"]["mean"] < 2 * some
    best = {each.problem.task.objective.least for each in found}
    assert len(best) == 1  # one f for all coalitions
    assert all(each.summary["private"] for each in found)
    assert [int((each.traces[0].released > 0).sum()) for each in found] == [12, 1, 7]


@pytest.mark.long
def test_who_talks_more_is_served_better_unless_steps_are_divided_by_shares():
    settings = ("run.replicates=1", "run.record_every=2000", "owners.records=500")
    settings += ("privacy.epsilon=50.0",)  # fewer records, as much noise
    wanted = {"run__seed": [1, 2, 3]}
    found = of_cells("availability-and-fairness", *settings, data=False, **wanted).values()
    assert all(each.summary["private"] for each in found)
    relative = []
    for each in found:
        figures = owner_figures(each.problem, each.learned.models)
        ratio = figures["held_out_loss"] / figures["held_out_optimum"]
        relative.append(ratio.reshape(-1, 6).mean(axis=0))
    uniform, inverse = np.mean(relative[:3], axis=0), np.mean(relative[3:], axis=0)
    assert uniform[0] < 0.9
    assert uniform[5] > 1.15
    assert abs(inverse[5] - inverse[0]) < (uniform[5] - uniform[0]) / 2


@one_in(
    5,
    ("kind", "low", "high"),
    [
        ("ideal", 1, 1),
        ("tdma", 1, 1),
        ("csma", 1.04, 1.15),
        ("slotted-aloha", 1.8, 2.7),
        ("aloha", 4, 7),
    ],
)
def test_answers_that_collide_are_paid_for(kind, low, high):
    settings = ("run.replicates=3", "run.record_every=1000", "owners.records=50")
    channels = entry("price-of-a-collision").scenario().sweep["channel"]
    [channel] = [each for each in channels if each["kind"] == kind]
    wanted = {"channel": [channel], "clock__rate": [0.1]}
    [found] = of_cells("price-of-a-collision", *settings, **wanted).values()
    released = sum(int(trace.released.sum()) for trace in found.traces)
    assert released == 3 * 1000  # every budget is spent
    assert low <= released / found.summary["updates"] <= high
    assert found.summary["private"]
    assert found.summary["max_spent_ratio"] == 1


@pytest.mark.nightly
def test_servers_that_ask_their_neighbours_alone_are_quicker_and_learn_nearly_as_well():
    found = of_cells("polar-server-graphs", "run.replicates=2", "run.updates=200")
    complete, *others = (each.summary for each in found.values())
    for each in others:
        assert 0.5 < each["simulated_time"] / complete["simulated_time"] < 0.7
        assert each["psi_final"]["mean"] < 2 * complete["psi_final"]["mean"]


@pytest.mark.long
def test_copies_for_every_owner_cost_what_its_description_says():
    names = ("one learner for all", "learner 1", "learner 1, own exact")
    found = of_cells("every-owner-a-learner", variants=names, data=False)
    central, noised, exact = (found[name] for name in names)
    psi = mean_psi((central, noised, exact))
    assert psi[0] < psi[2] < psi[1]
    assert 7 < psi[1] / psi[0] < 12  # "nine times"
    alone = owner_figures(central.problem, central.learned.models)["psi_alone"]
    assert (alone[:4] > psi[0]).all()
    assert (alone[:4] > psi[1]).tolist() == [False, True, True, True]
    assert [each.summary["private"] for each in (central, noised, exact)] == [True, True, False]


def test_a_small_budget_ends_where_its_description_says(tmp_path):
    """The sentence of `lending-three-budgets` on ε = 0.1: where ψ starts, and where it ends."""
    said = " ".join(entry("lending-three-budgets").scenario().description.split())
    [(first, ends)] = re.findall(r"here it falls from the same (\d+) and ends at (\d\.\d)\.", said)
    assert f"(ψ from {first} to 80)" in said
    variant = entry("lending-three-budgets").scenario().sweep["variant"][:1]
    [found] = of_cells("lending-three-budgets", "run.replicates=20", variant=variant).values()
    write(found, tmp_path / "small")
    curve = pd.read_parquet(tmp_path / "small" / "curve.parquet")
    assert {round(psi) for psi in curve.relative_fitness[curve.k == 0]} == {int(first)}
    assert round(found.summary["psi_final"]["mean"], 1) == float(ends)
