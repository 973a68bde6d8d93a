"""Comparisons of results: figures, pairing, settings, labels, and what both cost together."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from asyncdp_sim.comparisons.comparison import Comparison, compare, contrast, pairs
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures import style
from asyncdp_sim.figures.convergence import draw_comparison, named
from asyncdp_sim.measures.summary import Ratio
from asyncdp_sim.results import Result
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps.sweep import sweep
from asyncdp_sim.theory.formulas import t_quantile
from tests.one_in import one_in
from tests.scenes import text
from tests.tables import table

TABLE = table(__file__, "compare.toml")
SMALL = text(**TABLE["small"])
SETTINGS = TABLE["settings"]


def carried_out(folder: Path, **runs: list[str]) -> list[Path]:
    """Run the small scenario with settings; return the results' directories, of these names."""
    (folder / "s.toml").write_text(SMALL)
    for name, settings in runs.items():
        write(run(load(folder / "s.toml", settings)[0]), folder / name)
    return [folder / name for name in runs]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    carried_out(folder, **SETTINGS)
    write(run(load(folder / "s.toml")[0], numbers=(3, 5, 6)), folder / "late")
    return folder


def compared(made: Path, *names: str) -> Comparison:
    return compare([made / name for name in names])


def finals(made: Path, name: str) -> np.ndarray:
    return Result.read(made / name).last("relative_fitness")[0]


def row(found: Comparison, figure: str) -> dict:
    (only,) = [each for each in found.rows() if each["figure"] == figure]
    return only


def test_one_seed_is_paired_by_replicate(made):
    found = compared(made, "base", "epsilon")
    first, second = finals(made, "base"), finals(made, "epsilon")
    psi, by_hand = row(found, "psi_final"), ttest_rel(second, first).confidence_interval()
    assert (psi["low"], psi["high"]) == pytest.approx((by_hand.low, by_hand.high))
    assert psi["difference"] == pytest.approx((second - first).mean())
    assert (psi["wins"], psi["pairs"]) == ((second < first).sum(), 6)
    assert "paired by replicate (replicates 1 to 6 of seed 1)" in found.others[0].pairing
    assert "Student's t" in found.others[0].pairing


def test_other_seeds_are_not_paired_and_that_is_said(made):
    found = compared(made, "base", "seed")
    psi = row(found, "psi_final")
    by_hand = ttest_ind(finals(made, "seed"), finals(made, "base"), equal_var=False)
    ends = by_hand.confidence_interval()
    assert (psi["low"], psi["high"]) == pytest.approx((ends.low, ends.high))
    assert psi["wins"] is None
    assert found.others[0].pairing.startswith("not paired (seeds 1 and 2): ")
    assert "better in" not in "\n".join(found.lines())


def test_replicates_of_one_result_alone_are_left_out(made):
    found = compared(made, "base", "fewer")
    assert found.others[0].common == (1, 2, 3, 4)
    assert "2 of one result alone left out" in found.others[0].pairing
    for found in (compared(made, "base", "late"), compared(made, "late", "base")):
        assert found.others[0].common == (3, 5, 6)
        assert row(found, "psi_final")["low"] == row(found, "psi_final")["high"] == 0


def test_figures_are_those_of_the_tables(made):
    """Common random numbers: other noise leaves the network as it was, figure by figure."""
    same = compared(made, "base", "epsilon")
    for figure in ("time_to_end", "throughput", "answers_released", "mean_staleness"):
        assert row(same, figure)["low"] == row(same, figure)["high"] == 0
    found = compared(made, "base", "slower")
    base, slower = (Result.read(made / name) for name in ("base", "slower"))
    time = row(found, "time_to_end")
    assert time["first"] == pytest.approx(base.summary["simulated_time"])
    assert time["second"] == pytest.approx(slower.summary["simulated_time"])
    assert time["low"] > 0
    assert time["wins"] == 0
    faster = row(found, "throughput")
    assert faster["high"] < 0
    assert (faster["better"], faster["wins"]) == ("more", 0)
    for figure in ("held_out_rmse", "held_out_mae"):
        assert row(found, figure)["second"] == pytest.approx(slower.summary[figure]["mean"])
    spent = slower.of_owners("epsilon_spent").max(axis=1).mean()
    assert row(found, "epsilon_spent")["second"] == pytest.approx(spent)


ENDS = TABLE["ends"]


@one_in(5, "end", ENDS)
def test_a_figure_with_the_name_of_a_summarys_is_that_one(tmp_path, end):
    """Whatever ends the run: ratios are of sums over replicates, in time up to the end of each."""
    clock = "clock={kind='poisson',rate=[1.0,0.3,2.0]}"
    settings = {"one": [], "two": [clock], "far": ["run.seed=3"]}
    one, *others = carried_out(tmp_path, **{n: [*ENDS[end], *s] for n, s in settings.items()})
    for other in others:
        known = {"first": Result.read(one).summary, "second": Result.read(other).summary}
        named = [each for each in compare([one, other]).rows() if each["figure"] in known["first"]]
        assert {each["figure"] for each in named} >= {"throughput", "mean_staleness", "psi_final"}
        for each in named:
            for side, summary in known.items():
                value = summary[each["figure"]]
                value = value["mean"] if isinstance(value, dict) else value
                assert each[side] == pytest.approx(value, rel=1e-9), each["figure"]


def test_a_ratios_interval_is_that_of_the_summary(made):
    """What stands for a ratio in each replicate has its mean and its spread."""
    ends = Result.read(made / "slower").manifest["end_ticks"]
    ratio = Ratio(np.full(6, 20.0), np.array(ends) / 1e9)
    low, high = Result.read(made / "slower").summary["intervals"]["throughput"]
    assert ratio.linear().mean() == pytest.approx(ratio.value)
    half = t_quantile(5, 0.975) * ratio.linear().std(ddof=1) / 6**0.5 / ratio.linear().mean()
    assert np.log(high / low) / 2 == pytest.approx(half)


def test_of_older_results_that_a_time_ended_no_throughput_is_known(tmp_path):
    for name, more in (("whole", []), ("cut", ["run.until=4.0"])):
        settings = {name: more, f"{name}-new": [*more, "run.seed=2"]}
        older, new = carried_out(tmp_path, **settings)
        manifest = json.loads((older / "manifest.json").read_text("utf-8"))
        del manifest["end_ticks"]
        (older / "manifest.json").write_text(json.dumps(manifest), "utf-8")
        figures = [each["figure"] for each in compare([older, new]).rows()]
        assert ("throughput" in figures) == (name == "whole")


def test_that_noise_is_reused_is_said_of_other_records_too(made):
    unlike, seed = (compared(made, "base", name).others[0].together for name in ("unlike", "seed"))
    reuse = "do not publish both, because an attacker that knows the records of one learns"
    assert (reuse in unlike, reuse in seed) == (True, False)


def test_of_several_each_is_compared_with_the_first(made):
    found = compared(made, "base", "epsilon", "slower")
    assert [(each["result"], each["against"]) for each in found.rows()] == [
        (name, "base") for name in ("epsilon", "slower") for _ in found.others[0].rows
    ]
    assert list(found.results) == ["base", "epsilon", "slower"]


def test_cells_of_a_sweep_are_results(made, tmp_path):
    (tmp_path / "s.toml").write_text(SMALL + '[sweep]\n"privacy.epsilon" = [1.0, 2.0]\n')
    sweep(load(tmp_path / "s.toml")[0], tmp_path / "sweep")
    cells = [tmp_path / "sweep" / f"cell-000{place}" for place in (0, 1)]
    assert row(compare([made / "base", cells[0]]), "psi_final")["high"] == 0
    assert row(compare([made / "epsilon", cells[1]]), "mean_staleness")["pairs"] == 6
    assert len(compare([made / "base", *cells]).others) == 2
    with pytest.raises(ResultError, match=r"a sweep; allowed is a result, such as a cell"):
        compare([made / "base", tmp_path / "sweep"])


@pytest.mark.parametrize(("names", "said"), TABLE["refused"])
def test_what_is_no_comparison_is_refused(made: Path, names: list[str], said: str) -> None:
    with pytest.raises(ResultError) as caught:
        compared(made, *names)
    (line,) = caught.value.lines()
    assert said in line


def test_what_is_absent_or_infinite_has_no_mean_and_equal_is_neither_less_nor_more():
    ours, theirs = np.array([1.0, 2.0, np.nan]), np.array([0.5, np.inf, 3.0])
    found = contrast(ours, theirs, in_pairs=True)
    assert (found.mean, found.low) == (None, None)
    assert pairs(ours, theirs) == (1, 1, 2)
    assert pairs(np.array([1.0, 2.0, 3.0, np.nan]), np.array([1.0, 1.0, 4.0, 1.0])) == (1, 1, 3)
    assert contrast(ours, theirs, in_pairs=False).mean is None
    alone = contrast(ours[:1], theirs[:1], in_pairs=True)
    assert (alone.mean, alone.low) == (-0.5, None)
    assert contrast(ours[:2], theirs[:1], in_pairs=False).low is None


@pytest.mark.parametrize("in_pairs", [True, False])
def test_runs_that_diverged_are_compared_up_to_the_largest_number(in_pairs):
    ours, theirs = np.array([1.0, 2.0, 4.0]), np.array([0.5, 3.0, 3.0])
    usual = contrast(ours, theirs, in_pairs=in_pairs)
    large = contrast(1e200 * ours, 1e200 * theirs, in_pairs=in_pairs)
    for name in ("mean", "low", "high"):
        assert getattr(large, name) == pytest.approx(1e200 * getattr(usual, name), rel=1e-12)
    assert contrast(3e307 * ours, -3e307 * theirs, in_pairs=in_pairs).low == -np.inf


@pytest.mark.long
def test_pictures_lie_over_each_other(made, tmp_path, monkeypatch):
    monkeypatch.setattr(style, "DPI", 20)
    paths = draw_comparison(compared(made, "base", "epsilon", "seed").results, tmp_path / "out")
    names = ["convergence-by-update", "convergence-by-time", "psi-ratio"]
    assert [path.stem for path in paths] == names
    ratio = np.genfromtxt(
        tmp_path / "out" / "psi-ratio.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
    )
    assert set(ratio["line"]) == {"epsilon"}  # of another seed nothing is paired
    by_hand = np.median(finals(made, "epsilon") / finals(made, "base"))
    assert ratio["ratio_median"][-1] == pytest.approx(by_hand)
    caption = (tmp_path / "out" / "captions.md").read_text(encoding="utf-8")
    assert all(name in caption for name in names)


def test_results_are_named_by_the_settings_in_which_they_differ(made):
    base = Result.read(made / "base")
    [first, second] = named({"base": base, "epsilon": Result.read(made / "epsilon")})
    epsilon = second.result.scenario["privacy"]["epsilon"]
    assert (first.name, second.name) == ("ε = 1", f"ε = {epsilon:g}")
    several = {"base": base, "slower": Result.read(made / "slower")}
    assert [line.name for line in named(several)] == ["base", "slower"]


def test_json_holds_all_of_it(made):
    content = json.loads(json.dumps(compared(made, "base", "open").content(), allow_nan=False))
    (only,) = content["comparisons"]
    assert (content["first"], only["second"], only["paired"]) == ("base", "open", True)
    assert {"field": "privacy.epsilon", "first": 1.0, "second": "inf"} in only["scenario"]
    assert set(content["labels"]) == {"base", "open"}
