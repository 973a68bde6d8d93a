"""Each picture's title is its answer: a sentence that its own table bears out."""

from math import inf
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from analysis.studies.fairness import served
from analysis.studies.fixed_point import farthest
from analysis.studies.psi_lines import beside_law
from analysis.studies.where_it_ends import nearest
from analysis.studies.whom_to_ask import FIGURE, cheapest
from asyncdp_sim.figures import traces
from asyncdp_sim.figures.break_even import from_half
from asyncdp_sim.figures.convergence import CurveLine, by_time, by_update, ending, psi_ratio
from asyncdp_sim.figures.drawer import lettered
from asyncdp_sim.figures.spacetime import happenings
from asyncdp_sim.figures.sweep_figure import least_in_words
from asyncdp_sim.figures.throughput import busiest
from asyncdp_sim.results import Result
from scenarios.beyond.absence import as_far
from scenarios.beyond.lasting import leaving_pays
from scenarios.beyond.muffliato import no_bound
from scenarios.beyond.observers.linear_systems import learned
from scenarios.beyond.observers.secure_sums import where_they_open
from scenarios.beyond.routing_accuracy import CHOSEN, lasting
from scenarios.beyond.waves import growing
from tests.peers.ns3.picture import BROADCAST, EIFS
from tests.peers.ns3.picture import nearest as nearest_to_ns3
from tests.unit.figures.made import curve, made, write_table

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
    title = least_in_words([table], "psi", "mean ψ", "series", "privacy.epsilon")
    assert (
        title
        == "Mean ψ is least, 0.35 (0.25 to 0.45), for ε = 3; 1 of 2 other intervals meet its own"
    )
    assert least_in_words([psi(inf)], "psi", "mean ψ") == "No setting has a finite mean ψ"
    tied = dict.fromkeys(("psi", "psi_low", "psi_high"), np.array([2.0, 3.0, 2.0]))
    tied["series"] = np.array(["a", "b", "c"])
    said = "Mean ψ is least, 2, for a; 1 of 2 other values are the same"
    assert least_in_words([tied], "psi", "mean ψ", "series") == said


def test_the_first_to_a_target_is_one_whose_interval_has_an_upper_end():
    line = {"p": np.array(["even", "even", "fast"]), "tasks": np.array([1.0, 2.0, 1.0])}
    low, high = np.array([7.0, 5.0, 6.0]), np.array([9.0, inf, 9.5])
    table = line | {"time": np.array([8.0, 6.0, 7.5]), "time_low": low, "time_high": high}
    said = "Asking fast, m = 1, reaches mean ψ = 0.02 in 7.5 units (6 to 9.5)"
    assert cheapest([table], 3) == said
    over = ", 6 % (-23 to 27 %) sooner than even, m = 1 (published: 29 to 46 %)"
    assert cheapest([table], 1) == said + over
    never = {"p": line["p"][[2]], "tasks": np.array([4.0])}
    never |= dict.fromkeys(("time", "time_low", "time_high"), np.array([inf]))
    assert cheapest([table, never], 1) == f"{said}{over}; with m = 4 it never does"
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


def test_of_one_update_and_of_none_titles_and_axes_are_right(tmp_path):
    lines = []
    start = {"replicate": [1], "k": [0], "time": [0.0], "relative_fitness": [20.0]}
    for name in ("a", "b"):
        write_table(made(tmp_path / name), "curve", start)
        lines.append(CurveLine(Result.read(tmp_path / name), name))
    for picture in (by_update(lines), by_time(lines)):
        assert picture.figure.axes[0].get_xlim() == (0, 1)
    assert psi_ratio(lines) is None  # where all begin is no comparison
    curve(made(tmp_path / "c"), [2.0], k=1)
    ended = by_update([CurveLine(Result.read(tmp_path / "c"))])
    assert ended.said.title == "After 1 update ψ is 2"
    stale = {"staleness": np.arange(3), "share": np.array([0.0, 1.0, 0.0])}
    assert traces.title_staleness(stale).startswith("An answer is 1 update old on average")


def test_gaps_staleness_and_shares_are_held_against_their_law():
    t = {"survival": np.array([1.0, 0.5]), "law": np.array([1.0, 0.4])}
    t |= {"law_low": np.array([0.9, 0.3]), "law_high": np.array([1.0, 0.45])}
    said = "The distribution of times between updates is up to "
    law = "10 % off the law of merged Poisson clocks, outside its 99 % band at 50 % of times"
    assert traces.title_gaps(t) == said + law
    free = {"survival": t["survival"], "memoryless": np.array([1.0, 0.3])}
    assert traces.title_gaps(free) == f"{said}20 % off an exponential law of the same mean"
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


def test_the_owner_with_most_updates_is_named(tmp_path):
    three = Result.read(made(tmp_path / "three"))
    window = {"k": np.array([1, 2, 3]), "owner": np.array([1, 3, 3])}
    said = "2 of 3 owners made the first 3 updates; owner 3 made most, 2"
    assert traces.title_by_update(window, three) == said
    window |= {"k": np.array([1, 2, 3, 4]), "owner": np.array([1, 3, 3, 1])}
    said = "2 of 3 owners made the first 4 updates, none more than 2"
    assert traces.title_by_update(window, three) == said


def test_each_title_of_a_network_picture_is_tested_here():
    text = Path(__file__).read_text(encoding="utf-8")
    titles = [name for name in vars(traces) if name.startswith("title_")]
    assert [name for name in titles if f"traces.{name}(" not in text] == [], "test these titles"


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


def test_the_last_distance_at_which_a_sum_is_a_bound():
    ring = {"hops": np.array([1.0, 2.0, 3.0]), "median": np.array([0.5, 2.0, 9.0])}
    ring |= {"loss": np.array([0.5, 0.1, 0.002]), "graph": np.repeat("ring", 3)}
    full = {name: column[:1] for name, column in ring.items()}
    said = "From 2 hops on, the published sum understates the median privacy loss, up to 9 times "
    said += "(ring, 3 hops), where the loss is 0.2 % of an observer's of every answer"
    assert no_bound([ring, full]) == said
    other = full | {"hops": np.array([2.0])}  # below the sum at two hops
    assert no_bound([ring, other]).startswith("From 3 hops on")
    assert no_bound([full]).startswith("At the largest distance ")


def test_absences_are_told():
    owner = "an owner that is online 10 % of the time"
    said = f"Leaving out {owner} fits better only from cycles of 202 units on (predicted exactly)"
    assert leaving_pays("10 %", 202.3) == said
    said = f"Leaving out {owner} fits worse, up to cycles of 400 units"
    assert leaving_pays("10 %", inf) == said
    said = "In waves of absence ψ grows 4.00 ± 0.20 times from γ = 0.1 to 0.5; with as many owners "
    assert growing((4.0, 0.2), (2.0, 0.1)) == f"{said}online and no waves, 2.00 ± 0.10 times"
    said = "If some owners are absent more, rounds that average over the present ones end "
    said += "1.57 ± 0.10 times as far from the optimum θ* as published; steps divided by shares of "
    said += "the time online, 0.064 ± 0.080 times"
    assert as_far((1.571, 0.1), (0.064, 0.08)) == said
    rows = [
        {"end": [name], "mean": [mean], "two_standard_errors": [0.1]}
        for name, mean in (("far", 3.0), ("near", 0.9), ("between", 2.0))
    ]
    said = "The model ends nearest to θ* = 1 with “near” (0.90 ± 0.10), farthest with “far” "
    assert nearest(1.0, rows) == f"{said}(3.00 ± 0.10)"


def test_a_fixed_point_is_held_against_exact_values_or_intervals():
    off, half = np.array([3.0, 0.7, -0.9, 0.2]), np.array([0.4, 0.5, 2.0, 0.5])
    chain = {"off": off, "off_low": off - half, "off_high": off + half}
    chain |= {"owners": np.array([2, 5, 10, 20]), "windows": np.repeat("few slots", 4)}
    chain |= {"exact": np.array([3.1, 0.6, np.nan, np.nan])}  # of five it is within 1 %
    said = "% too high for 2 owners with few slots; of 4 settings 2 are within 1 %, 1 beyond, 1 "
    begun = "In its own model, Bianchi's fixed point is"
    assert farthest([chain]) == f"{begun} 3.1 {said}undecided"
    chain["exact"][0] = np.nan
    assert farthest([chain]) == f"{begun} 3.00 ± 0.40 {said}undecided"


def test_sums_are_told_by_the_shares_that_open():
    opened, around = np.array([0.03, 0.9, 0.14, 0.3]), np.array([[1.0], [0.8], [1.25]])
    said = "At equal ε, sums of answers fit "
    better = "better than single answers where at least 14 % of the sums open"
    told = where_they_open(opened, around * [3, 0.2, 0.5, 0.4])
    assert told == f"{said}{better}, worse where at most 3 % do"
    told = where_they_open(opened, around * [1.1, 0.2, 0.9, 0.4])  # some intervals meet 1
    assert told == f"{said}{better.replace('14', '30')}"
    told = where_they_open(opened, around * np.ones(4))
    assert told == f"{said}neither better nor worse than single ones"


def test_gains_in_accuracy_are_told_by_their_last_spell():
    times, gain = np.array([0, 0.2, 0.5, 2, 3]), np.array([0.1, -0.1, 0.2, 0.1, 0.01])
    said = f"Asking {CHOSEN}, raises accuracy by 10 % or more only from 0.5 to 2 (± 0.4) units; "
    about = np.full(5, 0.02)
    told = lasting(times, gain, about, 0.2)
    assert told == f"{said}after 3 units by 1.0 ± 2.0 %"
    told = lasting(times, -abs(gain), about, 0.0)
    assert told.endswith("or more at no time; after 3 units by -1.0 ± 2.0 %")


def test_views_and_ns3_are_told():
    said = "On a grid of 16, sums cost an owner 1.07 times a curator's squared sensitivity against "
    said += "one node on average, and 3.4 times at most; messages on every link cost 16 times"
    assert learned(np.array([1.07, 5.0, 16.0]), np.array([3.4, 9.0, 16.0])) == said
    cells = {"family": np.array([EIFS, "ALOHA", "TCP push", BROADCAST, EIFS])}
    cells |= {"ours": np.array([14.4, 2.0, -5.2, -40.2, 1.0]), "formula": np.full(5, -86.7)}
    said = "Our simulation is within 6 % of ns-3, except for TCP broadcasts (up to 40 %) and Wi-Fi "
    said += "where others wait EIFS (up to 14 %); closed formulas are so in 0 of 4 rows, and up to "
    said += "87 % off in the others"
    assert nearest_to_ns3(cells) == said
    assert from_half(3.43, 2.87, 4.02) == "; from ε = 3.43 (2.87 to 4.02) on, of half of them"
    assert from_half(inf, inf, inf) == "; at no ε shown, of half of them"


def test_negative_numbers_have_a_minus_sign_and_other_hyphens_stay():
    said = "θ* = -1.94 (-1.93), δ = 1e-06, 2026-11-29, ε-DP, n_i"
    assert lettered(said) == "θ* = −1.94 (−1.93), δ = 1e-06, 2026-11-29, ε-DP, nᵢ"


def test_policies_that_never_reach_the_target_stand_at_the_top():
    tasks, time = np.array([1.0, 10.0, 20.0]), np.array([8.0, 6.0, inf])
    table = {"p": np.repeat("all alike", 3), "tasks": tasks, "time": time}
    table |= {"time_low": time - 1, "time_high": np.array([9.0, inf, inf])}
    line = SimpleNamespace(results=[SimpleNamespace(n_owners=10)])
    [panel] = FIGURE.declared([line], [table]).panels
    reached, never = (mark for mark in panel.marks if mark.kind == "line")
    assert never.x.tolist() == [20]
    assert never.y[0] > 18  # twice the largest end, where the bar without one ends
    assert reached.high.tolist() == [9, 18]
    assert panel.y.labels is not None
    assert panel.y.labels[-1] == "never"
