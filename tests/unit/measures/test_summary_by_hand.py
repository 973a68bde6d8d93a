"""The summary, energy and balanced accuracy, by hand."""

from math import exp, inf, pi, tan

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, tuples
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.learning.objectives.softmax import SoftmaxLoss
from asyncdp_sim.measures.energy import Energy, LearnerPower, used
from asyncdp_sim.measures.scores import AUC, BALANCED, scores_of
from asyncdp_sim.measures.summary import FIGURES, POSITIVE, RANGES, RATIOS, SHARE, Ratio, summarise
from asyncdp_sim.results.columns import summary
from asyncdp_sim.theory.formulas import t_quantile
from asyncdp_sim.trace import Ending, ExchangeOutcome, Trace
from asyncdp_sim.trace.vocabulary import EXCHANGES, OWNERS, State
from tests.one_in import one_in
from tests.tables import table
from tests.traces import network, traced

# Every figure of a network's summary, worked out by hand from two small traces.
#
# Times are in whole time units. Owners are three; the first trace is of owners that ask (one wait
# is open at the end, one exchange began anew without a request), in the second the learner
# broadcasts, so that two of its exchanges were read before their owners began to work.

UNIT = 10**9
O = ExchangeOutcome  # noqa: E741

TRACES = table(__file__, "by_hand.toml")


def trace(name):
    made = TRACES[name]
    split = [line.split() for line in made["exchanges"].splitlines()]
    rows = [(int(m), int(o), 0, *map(int, rest), O[outcome]) for m, o, *rest, outcome in split]
    exchanges = np.array(rows, dtype=EXCHANGES)
    for column in ("request_tick", "read_tick", "release_tick", "end_tick"):
        exchanges[column] *= UNIT
    applied = exchanges[exchanges["outcome"] == O.applied]
    return Trace(
        exchanges=exchanges,
        owners=np.array(list(map(tuple, made["owners"])), dtype=OWNERS),
        events=None,
        ending=Ending.horizon,
        update_ticks=applied["end_tick"].copy(),
        **made["run"],
    )


FIRST, SECOND = trace("asking"), trace("broadcast")

BY_HAND = {name: eval(formula) for name, formula in TRACES["figures"].items()}


def test_every_figure_is_what_it_says():
    said = summarise([FIRST, SECOND], 1.5)
    intervals = said.pop("intervals")
    assert said.keys() == BY_HAND.keys()
    assert said == {name: each and pytest.approx(each) for name, each in BY_HAND.items()}
    assert list(said) == list(FIGURES)
    assert intervals.keys() == set(RATIOS)
    assert all(ends is not None for ends in intervals.values())


def test_an_interval_is_students_over_replicates():
    """Throughput: residuals 3 − 0.0375·100 and 3 − 0.0375·60, that is ∓0.75.

    Their standard deviation (over R − 1) is 0.75 √2, that of the ratio 0.75 √2 / √2 / 80, and the
    97.5 % point of Student's t with one degree of freedom is tan(0.475 π). On the scale of ln r,
    the half width is that over r.
    """
    half = tan(0.475 * pi) * 0.75 / 80
    found = summarise([FIRST, SECOND], 1.5)["intervals"]["throughput"]
    factor = exp(half / 0.0375)
    assert found == pytest.approx((0.0375 / factor, 0.0375 * factor), rel=1e-9)


def test_the_interval_of_a_share_is_that_of_its_logit():
    """Residuals ∓2 of two replicates of ten: h = tan(0.475 π) · 2/10, of the odds 2/3."""
    odds = 2 / 3 * np.exp(np.array([-1, 1]) * tan(0.475 * pi) * 0.2 / (0.4 * 0.6))
    found = Ratio(np.array([2.0, 6.0]), np.array([10.0, 10.0])).interval(SHARE)
    assert found == pytest.approx(tuple(odds / (1 + odds)), rel=1e-9)


def test_every_interval_has_the_range_of_its_figure_in_the_dictionary():
    ends = {"≥ 0": (0.0, inf), "≥ 1": (1.0, inf), "0 to 1": (0.0, 1.0)}
    for name in RATIOS:
        assert RANGES.get(name, POSITIVE) == ends[summary()[name].domain], name
        for end in ("low", "high"):
            assert summary()[f"{name}_{end}"].domain == summary()[name].domain


@one_in(3, "within", [POSITIVE, SHARE, (1.0, inf)])
@given(parts=lists(tuples(integers(0, 20), integers(1, 20)), min_size=2, max_size=6))
def test_an_interval_lies_within_its_range_and_holds_the_ratio(within, parts):
    part, whole = np.array(parts, dtype=float).T
    if within == SHARE:
        part = np.minimum(part, whole)
    ratio = Ratio(part + within[0] * whole, whole)
    value, found = ratio.value, ratio.interval(within)
    assert value is not None
    assert found is not None
    assert within[0] <= found[0] <= value * (1 + 1e-12)
    assert value * (1 - 1e-12) <= found[1] <= within[1]
    if np.ptp(part / whole) > 0 and within[0] < value < within[1]:
        assert found[0] < value < found[1]


def test_rare_events_have_intervals_that_cover():
    """A rate of 2 % in 50 answers of 8 replicates: coverage, which a symmetric interval lacks."""
    g = np.random.default_rng(1)
    covered = symmetric = 0
    for _ in range(2000):
        ratio = Ratio(g.binomial(50, 0.02, 8).astype(float), np.full(8, 50.0))
        low, high = ratio.interval(SHARE) or (0.0, 0.0)
        half = t_quantile(7, 0.975) * ratio.linear().std(ddof=1) / 8**0.5
        covered += low <= 0.02 <= high
        symmetric += abs((ratio.value or 0.0) - 0.02) <= half
    assert covered > symmetric
    assert 0.945 * 2000 < covered < 0.985 * 2000


def test_all_have_contributed_when_the_last_one_has():
    assert summarise([SECOND])["updates_until_all"] == 3


def test_without_a_shared_channel_nothing_is_said_of_it():
    said = summarise([FIRST, SECOND])
    assert said["offered_load"] is said["delivered_load"] is said["collision_rate"] is None
    assert said["intervals"]["collision_rate"] is None
    assert said["loss_rate"] == pytest.approx(0.1)


# Joules and bytes of small scripted networks, worked out by hand; powers are powers of two.

CASES = table(__file__, "energy.toml")
ENERGY, BYTES = (Energy(**CASES["powers"][name]) for name in ("two", "bytes"))


def ran(*ticks, updates=2, **parts):
    """Return what two owners, or more, used whose clocks tick so."""
    clock = {"kind": "scripted", "times": [list(own) for own in ticks]}
    fields = CASES["network"] | {"updates": updates, "clock": clock} | parts
    made = network(len(ticks), 9, **fields)
    return traced(made, events=False), made


def times(*ran, energy=ENERGY):
    """Return, per owner, the times that are not 0 by state."""
    found = used(*ran[:1], energy, *ran[1:]).times
    return [{state.name: float(row[state]) for state in State if row[state] != 0} for row in found]


@pytest.mark.parametrize("case", CASES["by_hand"].values(), ids=CASES["by_hand"])
def test_by_hand(case):
    found = ran(*case["ticks"], **case.get("with", {}))
    assert times(*found) == case["times"]
    spent = used(found[0], ENERGY, found[1])
    told = {"joules": spent.joules, "sent": spent.sent, "received": spent.received}
    told["of_bytes"] = used(found[0], BYTES, found[1]).joules if "of_bytes" in case else None
    for name in told.keys() & case.keys():
        assert told[name].tolist() == case[name], name


def test_the_learner_is_busy_while_an_exchange_is_under_way():
    trace, network = ran([0.0], [0.5, 1.5])
    energy = ENERGY.model_copy(update={"learner": LearnerPower(idle=3, busy=5), "seconds": 60.0})
    assert used(trace, energy, network).learner == 60 * (5 * 2.0 + 3 * 0.5)
    assert used(trace, energy, network).joules.tolist() == [60 * 9.5] * 2
    assert used(trace, ENERGY, network).learner is None


def test_who_helps_to_open_a_sum_hears_of_it_and_sends():
    parts = {"protocol": {"kind": "rounds"}, "aggregation": {"least": 2}, "updates": 1}
    trace, network = ran([], [], **parts)
    work = {"receiving": 0.5, "computing": 0.5, "sending": 0.5}
    assert times(trace, network) == [work, work]
    asked, opened = network.opening_bytes
    spent = used(trace, BYTES, network)
    assert spent.sent.tolist() == [network.answer_bytes + opened] * 2
    assert spent.received.tolist() == [network.query_bytes + asked] * 2


def test_a_trace_that_tells_nothing_of_it_is_refused():
    trace, network = ran([0.0], updates=1, occupation=False)
    with pytest.raises(ValueError, match="what owners were at"):
        used(trace, ENERGY, network)


def test_a_list_has_one_number_per_owner():
    assert [fault.key for fault in BYTES.faults(3)] == ["energy.byte_sent"]
    assert BYTES.faults(2) == []
    with pytest.raises(SpecError, match="idle"):
        Energy(idle=-1.0, listening=0, computing=0, sending=0, receiving=0)


# Balanced accuracy of any number of classes, and AUC of two, beside scikit-learn's.


@pytest.mark.parametrize("classes", [2, 3, 5, 9])
def test_every_class_counts_alike(classes):
    """A mutant lived that counted the last three classes alone."""
    rng = np.random.default_rng(classes)
    chances = np.arange(1.0, classes + 1)
    drawn = rng.choice(classes, size=400, p=chances / chances.sum())
    guessed = np.where(rng.random(400) < 0.6, drawn, rng.integers(classes, size=400))
    if classes == 2:
        y, z = 2.0 * drawn - 1, 2.0 * guessed - 1
    else:
        y = drawn + 1.0
        z = np.eye(classes)[guessed][:, :-1] * 5 - (guessed == classes - 1)[:, None] * 5.0
    expected = balanced_accuracy_score(drawn, guessed)
    assert BALANCED.formula(z[None], y)[0] == pytest.approx(expected)


def test_softmax_of_two_classes_has_an_auc():
    """Its score is that of the label −1, so that AUC is that of 1 by the other sign."""
    rng = np.random.default_rng(3)
    y = rng.choice([-1.0, 1.0], size=300)
    z = y + 2 * rng.normal(size=300)
    assert AUC in scores_of(SoftmaxLoss(2))
    assert AUC not in scores_of(SoftmaxLoss(3))
    expected = roc_auc_score(y, z)
    models = np.stack([-z, z])[..., None]  # (2, m, 1)
    np.testing.assert_allclose(AUC.of(models, y), [expected, 1 - expected])
