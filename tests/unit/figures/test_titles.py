"""Each picture's title is its answer: a sentence that its own table bears out."""

from math import inf

import numpy as np
import pytest

from analysis.beyond.accuracy_over_time import lasting
from analysis.beyond.message_sums import no_bound
from analysis.beyond.price_of_sums import where_they_open, which_pay
from analysis.beyond.with_and_without import Pair, growing
from analysis.studies.fairness import served
from analysis.studies.fixed_point import farthest
from analysis.studies.psi_lines import beside_law
from analysis.studies.whom_to_ask import cheapest
from asyncdp_sim.figures import gains, traces
from asyncdp_sim.figures.convergence import CurveLine, by_update, ending, psi_ratio
from asyncdp_sim.figures.drawer import lettered
from asyncdp_sim.figures.spacetime import happenings
from asyncdp_sim.figures.sweep_figure import least
from asyncdp_sim.figures.throughput import busiest
from asyncdp_sim.results import Result
from tests.unit.figures.made import curve, made

K = {"line": np.array(["a", "a", "b", "b"]), "k": np.array([0, 60, 0, 60])}
MEDIAN = {"relative_fitness_median": np.array([9.0, 0.5, 9.0, 2.0])}


def psi(*values: float) -> dict[str, np.ndarray]:
    """Return a column of estimates with intervals of a tenth to either side."""
    value = np.array(values)
    ends = {"psi_low": value - 0.1, "psi_high": value + 0.1}
    return {"psi": value, **ends}


def test_the_least_is_named_with_its_interval_and_those_that_meet_it():
    table = psi(0.5, 0.35, inf) | {"series": np.array(["", "", ""])}
    table["privacy.epsilon"] = np.array([1.0, 3.0, 10.0])
    title = least([table], "psi", "mean ψ", "series", "privacy.epsilon")
    assert (
        title
        == "Mean ψ is least, 0.35 (0.25 to 0.45), for ε = 3; 1 of 2 other intervals meet its own"
    )
    assert least([psi(inf)], "psi", "mean ψ") == "No setting has a finite mean ψ"


def test_the_cheapest_way_is_one_whose_interval_has_an_upper_end():
    line = {"p": np.array(["even", "even", "fast"]), "tasks": np.array([1.0, 2.0, 1.0])}
    low, high = np.array([7.0, 5.0, 6.0]), np.array([9.0, inf, 9.5])
    table = line | {"time": np.array([8.0, 6.0, 7.5]), "time_low": low, "time_high": high}
    said = "With finite intervals, the cheapest ways to mean ψ = 0.02 take 7.5 units (6 to 9.5) "
    said += "(6 has no upper end) with m = 1, fast"
    assert cheapest([table], 3) == said
    over = "; saved over even, m = 1: 6 % (published 29 to 46 %)"
    assert cheapest([table], 1) == said + over
    table["time_high"] = np.full(3, inf)
    assert cheapest([table], 1).startswith("No interval of a policy")


def test_lines_are_told_by_their_ends():
    table = K | MEDIAN
    said = "The median ψ ends lowest for a, at 0.5, and highest for b, at 2"
    assert ending(table, "k", "ψ") == said
    quarters = {"relative_fitness_q25": np.array([9.0, 0.4]), "relative_fitness_q75": np.ones(2)}
    one = {name: column[:2] for name, column in table.items()} | quarters
    said = "After 60 updates the median ψ is 0.5 (half of the runs: 0.4 to 1)"
    assert ending(one, "k", "ψ") == said


def test_curves_and_ratios_are_told(tmp_path):
    lines = []
    for name, last in (("a", 4.0), ("b", 2.0)):
        curve(made(tmp_path / name), [last, last])
        lines.append(CurveLine(Result.read(tmp_path / name), name))
    assert by_update(lines).said.title.startswith("The median ψ ends lowest for b, at 2, and")
    ratio = psi_ratio(lines)
    assert ratio is not None
    assert ratio.said.title == "After 9 updates the ratio to ψ of a is 0.5"


def test_gaps_staleness_and_shares_are_held_against_their_law():
    t = {"survival": np.array([1.0, 0.5]), "law": np.array([1.0, 0.4])}
    t |= {"law_low": np.array([0.9, 0.3]), "law_high": np.array([1.0, 0.45])}
    said = "Shares of gaps are at most 10 % off the law of merged Poisson clocks, outside its "
    assert traces.title_gaps(t) == f"{said}99 % band at 50 % of times"
    free = {"survival": t["survival"], "memoryless": np.array([1.0, 0.3])}
    assert traces.title_gaps(free).startswith(
        "Shares of gaps are up to 20 % off an exponential law"
    )
    stale = {"staleness": np.arange(3), "share": np.array([0.5, 0.25, 0.25])}
    said = "An answer is 0.75 updates old on average, and 95 % are at most 2"
    assert traces.title_staleness(stale) == said
    shares = {"share": np.array([0.2, 0.8]), "law": np.full(2, np.nan)}
    assert (
        traces.title_shares(shares) == "Each owner made 20 % to 80 % of the updates; 50 % is equal"
    )
    shares |= {"law": np.full(2, 0.5), "law_low": np.full(2, 0.3), "law_high": np.full(2, 0.7)}
    said = "2 of 2 owners are outside the law's 99 % band (0.02 expected)"
    assert traces.title_shares(shares) == said


def test_sweeps_and_messages_are_told():
    loads = {"offered_load": np.array([0.5, 2.0, 9.0]), "delivered_load": np.array([0.2, 0.1, 0.9])}
    loads |= {
        "series": np.array(["measured", "measured", "law"]),
        "channel": np.array(["aloha"] * 3),
    }
    said = "Throughput is largest, 0.2 erlang, at an offered load of 0.5 erlang"
    assert busiest([loads]) == said
    few = {"online": np.array([1.0, 0.1]), "relative_loss": np.array([1.0, 3.5])}
    few |= {"relative_loss_se": np.array([0.0, 0.5]), "line": np.array(["", ""])}
    said = "The owner online 10 % of the time has this many times the loss of θ*: 3.50 ± 1.00"
    assert served([few]) == said
    law = {"psi_final_mean": np.array([2.0, 9.0, 1.0]), "law": np.ones(3)}
    law["projected"] = np.array([0.0, 0.5, 0.0])  # the second is held by the box
    assert beside_law([law]) == "; measured ψ is 1 to 2 times the line"
    what = {"what": np.array(["request", "request refused", "update", "tick"])}
    said = "2 units: 2 messages, 1 update; 1 message is lost or refused"
    assert happenings(what, 2 * 10**9) == said


def test_results_of_others_are_told():
    ring = {"hops": np.array([1.0, 2.0, 3.0]), "median": np.array([0.5, 2.0, 9.0])}
    ring |= {"loss": np.array([0.5, 0.1, 0.002]), "pairs": np.array([40, 40, 7])}
    full = {name: column[:1] * 0.9 for name, column in ring.items()}
    said = "From 2 hops on, the sum bounds less than half of the pairs with messages; the median "
    every = "the loss to an observer of every answer"
    assert (
        no_bound([ring, full])
        == f"{said}exact loss is up to 9 times as large, of 7 pairs where it is 0.002 of {every}"
    )
    assert no_bound([full]).startswith("At no distance ")
    degrees, ones = np.array([0.1, 0.5]), np.ones(2)
    waves, steady = (
        Pair(name, np.array([1.0, last]), ones, np.array([1.0, exact]), ones, 0.1)
        for name, last, exact in (("in waves", 4.0, 4.0), ("without", 2.0, 3.0))
    )
    said = "From γ = 0.1 to 0.5, mean ψ grows 4.00 ± 0.20 times in waves, and 2.00 ± 0.20 times "
    said += "without (± 2 standard errors): 50 % of the logarithm remains (predicted: 79 %)"
    assert growing(degrees, [waves, steady]) == said
    off, half = np.array([3.0, 0.7, -0.9, 0.2]), np.array([0.4, 0.5, 2.0, 0.5])
    chain = {"off": off, "off_low": off - half, "off_high": off + half}
    chain |= {"owners": np.array([2, 5, 10, 20]), "windows": np.repeat("few slots", 4)}
    chain |= {"exact": np.array([3.1, 0.6, np.nan, np.nan])}  # of five it is within 1 %
    said = (
        "Bianchi's fixed point is 3.00 ± 0.40 % too high for 2 owners with few slots; of 4 settings"
    )
    assert farthest([chain]) == f"{said} 2 are within 1 %, and of 1 it is not shown"
    absent, around = np.array([0.0, 0.1, 0.2]), np.array([[0.0], [-0.2], [0.2]])
    single, few, many = (
        (name, np.array(psi) + around)
        for name, psi in (("single", [2, 2, 2]), ("few", [1, 1, 1]), ("many", [1, 3, 1]))
    )
    said = "At equal ε sums fit better than single answers up to at least 20 % absent (few)"
    assert which_pay(absent, [single, few, many]) == f"{said}, or only up to 0 % (many)"
    assert which_pay(absent, [single, few]) == said
    early = ("early", np.array([1.7, 3, 3]) + around)
    said = "At equal ε sums fit better than single answers up to 0 % absent (early; at 0 % the "
    assert which_pay(absent, [single, early]) == f"{said}intervals overlap)"
    opened, ratios = [np.array([0.9, 0.03]), np.array([0.5, 0.14])], [[0.2, 3], [0.5, 0.8]]
    said = "; they do wherever at least 14 % of the sums open"
    assert where_they_open(opened, np.array(ratios)) == said
    assert where_they_open(opened, np.array([[2, 3], [0.5, 0.8]])) == ""
    said = "Asking “b” is at least 10 % more accurate from 0.5 to 2 ± 0.2 units; after 3 units it"
    times, gained = np.array([0, 0.2, 0.5, 2, 3]), np.array([0.1, -0.1, 0.2, 0.1, 0.01])
    assert lasting("b", times, gained, 0.1, 0.2) == f"{said} gains 1.0 %"
    assert lasting("b", times, -abs(gained), 0.1, 0.0).endswith(
        "at no time; after 3 units it loses 1.0 %"
    )


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (["gains", "does worse", "undecided"], "1 of 3 owners gain by joining, 1 do worse, 1 are"),
        (["no material difference"] * 2, "0 of 2 owners gain by joining, 0 do worse, 2 have no"),
    ],
)
def test_verdicts_are_counted(verdicts, said):
    assert gains.counted(np.array(verdicts)).startswith(said)


def test_negative_numbers_have_a_minus_sign_and_other_hyphens_stay():
    said = "θ* = -1.94 (-1.93), δ = 1e-06, 2026-11-29, ε-DP, n_i"
    assert lettered(said) == "θ* = −1.94 (−1.93), δ = 1e-06, 2026-11-29, ε-DP, nᵢ"
