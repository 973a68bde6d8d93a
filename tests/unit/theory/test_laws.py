"""Whole laws and predictions: for which networks they hold, against short simulations."""

from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.measures.summary import summarise, updates_until_all
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import Churn, OnOff
from asyncdp_sim.network.channels import Parallel
from asyncdp_sim.network.clocks import DeterministicClock, PoissonClock, SaturatedClock
from asyncdp_sim.network.laws import Exponential, NoTime
from asyncdp_sim.network.protocols import Push, Request
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.theory.predict.all import predict, predicted
from asyncdp_sim.theory.predict.channels import AccessCurve, access_curve, endless_curve
from asyncdp_sim.theory.predict.update_order import (
    GapLaw,
    StalenessLaw,
    gap_law,
    selection,
    shares,
    staleness_law,
)
from asyncdp_sim.theory.prediction import Unknown
from tests import scenes
from tests.one_in import one_in
from tests.properties.networks import FIXED, networks
from tests.properties.rough_networks import rough_networks
from tests.tables import table
from tests.together import together
from tests.unit.theory.spoken import (
    ALOHA,
    ANSWERS,
    CSMA,
    HALF,
    OPEN,
    OVERLAP,
    PUSH,
    SERVED,
    SLOTS,
    SLOW,
    TURNS,
    UNEQUAL,
    network,
    said,
)

# Whole laws and predictions: for which networks they hold, against short simulations.

# Whole laws, and for which networks they hold.


TABLE = table(__file__, "laws.toml")


@together
@pytest.mark.parametrize(("parts", "law"), TABLE["gaps"])
def test_the_law_of_the_gaps(parts, law):
    assert gap_law(network(**parts)) == (Unknown(law) if isinstance(law, str) else GapLaw(*law))


@pytest.mark.parametrize(
    ("parts", "name", "mean"),
    [
        ({}, "0, because of the lock", 0.0),
        ({"protocol": PUSH}, "0, as jobs take no time", 0.0),
        ({"protocol": PUSH, "channel": ALOHA}, "0, as whatever overlaps an answer destroys it", 0),
        ({"protocol": PUSH, **SERVED}, "Binomial(3, 0.333)", 1.0),
        ({"protocol": OVERLAP, "clock": UNEQUAL, **SERVED}, "Poisson(4)", 4.0),
    ],
)
def test_the_law_of_the_staleness(parts, name, mean):
    law = staleness_law(network(**parts))
    assert isinstance(law, StalenessLaw)
    assert law.name == name
    chance = law.chance(60)
    assert len(chance) == 61
    assert chance.sum() == pytest.approx(1)
    assert chance @ np.arange(61) == pytest.approx(mean)
    assert said(network(**parts), "mean_staleness") == pytest.approx(mean)


@pytest.mark.parametrize(("parts", "reason"), TABLE["no_staleness"])
def test_no_law_of_the_staleness(parts, reason):
    law = staleness_law(network(**{"protocol": PUSH} | parts))
    assert isinstance(law, Unknown)
    assert law.reason.startswith(reason)


def test_selection_and_shares():
    slow = network(clock=UNEQUAL, compute=(SLOW, HALF, NoTime(), NoTime()))
    assert selection(slow) == shares(slow) == (0.125, 0.25, 0.125, 0.5)
    pushing = slow.model_copy(update={"protocol": PUSH})
    assert selection(pushing) == Unknown("jobs take time")
    flows = np.array([1 / 1.5, 2 / 2, 1, 4])
    assert shares(pushing) == pytest.approx(flows / flows.sum())
    overlap = slow.model_copy(update={"protocol": OVERLAP})
    assert shares(overlap) == (0.125, 0.25, 0.125, 0.5)
    assert selection(overlap) == Unknown("owners' times differ")
    assert selection(overlap.model_copy(update={"compute": SLOW})) == shares(overlap)
    dark = network(2, availability=OnOff(on=SLOW, off=SLOW), clock=PoissonClock(rate=(1.0, 3.0)))
    assert selection(dark).reason.startswith("availability is on-off")
    assert shares(dark) == (0.25, 0.75)
    assert shares(dark.model_copy(update={"compute": SLOW})).reason.startswith(
        "availability is on-off"
    )
    in_step = dark.model_copy(update={"clock": DeterministicClock(rate=(1.0, 3.0))})
    assert shares(in_step).reason.startswith("clocks are deterministic")
    working = network(2, protocol=PUSH, clock=SaturatedClock(), compute=(HALF, Exponential(mean=1)))
    assert shares(working) == pytest.approx((2 / 3, 1 / 3))
    assert shares(network(protocol=OPEN, compute=SLOW)) == Unknown("requests wait in a queue")
    assert shares(network(availability=Churn())) == Unknown("some owner has no long-run rate")
    assert shares(network(protocol=ANSWERS)) == Unknown("owners answer the same query")
    assert shares(network(1, protocol=ANSWERS)) == selection(network(1, protocol=ANSWERS)) == (1.0,)


def test_curves_pass_through_the_predictions():
    for channel in (ALOHA, SLOTS, CSMA, Parallel(channels=2, each=ALOHA, choice="by-owner")):
        one = network(protocol=PUSH, channel=channel, answers_allowed=(9,) * 4)
        lasting = network(protocol=PUSH, channel=channel)
        curve, airtime = access_curve(one), one.airtime
        assert isinstance(curve, AccessCurve)
        faster = one.model_copy(update={"clock": PoissonClock(rate=3.0)})
        assert access_curve(faster) == curve
        offered, delivered = curve.points([4 * airtime])
        assert offered == pytest.approx([said(lasting, "offered_load")])
        assert delivered == pytest.approx([said(lasting, "throughput") * airtime])
    endless = endless_curve(network(channel=ALOHA))
    assert isinstance(endless, AccessCurve)
    assert endless == access_curve(
        network(5, protocol=OVERLAP, channel=ALOHA, clock=PoissonClock())
    )
    load = np.array([0.1, 1.0])
    assert endless.points(load)[1] == pytest.approx(load * np.exp(-2 * load))
    assert endless_curve(network()) == Unknown("owners share no channel")
    assert endless_curve(network(channel=TURNS)).reason.startswith("in turn")
    assert access_curve(network(channel=ALOHA)).reason.startswith(
        "the formula is for protocol push"
    )
    both = Parallel(channels=2, each=ALOHA)
    assert access_curve(network(protocol=PUSH, channel=both)).reason.startswith("owners choose")
    own = both.model_copy(update={"choice": "by-owner"})
    assert access_curve(network(protocol=OVERLAP, channel=own)) == Unknown(
        "owners have channels of their own"
    )
    for channel in (both, own):
        spread = endless_curve(network(protocol=PUSH, channel=channel))
        assert isinstance(spread, AccessCurve)
        assert spread == access_curve(network(protocol=OVERLAP, channel=both))
        assert spread.points(load)[1] == pytest.approx(load * np.exp(-load))


# No prediction claims more than holds: against short simulations, and for any valid network.

UPDATES = 400
REPLICATES = 20

SIMULATED = TABLE["simulated"]


@pytest.mark.oracle("predictions for a network's summary")
@one_in(3, "parts", SIMULATED.values(), ids=SIMULATED)
def test_predictions_are_what_a_simulation_measures(parts):
    made, streams = network(updates=UPDATES, **parts), Streams(29)
    traces = [simulate(made, streams.within("replicate", r)) for r in range(REPLICATES)]
    measured = summarise(traces, made.airtime)
    until = [updates_until_all(trace) for trace in traces]
    claimed = [each for each in predict(made) if each.value is not None]
    assert len(claimed) >= 3
    for each in claimed:
        value, interval = measured[each.quantity], measured["intervals"].get(each.quantity)
        if each.quantity == "updates_until_all":
            error = np.std(until, ddof=1) / sqrt(REPLICATES)
        else:
            error = (interval[1] - interval[0]) / 2 / 2.093  # Student's t, 19 degrees
        edge = each.value * made.n_owners / UPDATES  # a run begins with idle owners
        assert abs(value - each.value) <= 5 * error + edge + 1e-9, (each, value, error)


NO_LOSS = TABLE["no_loss"]
SIMPLE: dict[str, list[Any]] = {
    "clock": [PoissonClock(), PoissonClock(), SaturatedClock()],
    "compute": [NoTime(), NoTime(), HALF, SLOW],
    "protocol": [None, PUSH, OVERLAP, Request()],
    "losses": [{}, NO_LOSS, NO_LOSS, NO_LOSS | {"loss": 0.3, "retransmissions": 1}],
}
"""Parts of which more is predicted; None leaves what was drawn."""


@st.composite
def anything(draw: st.DrawFn) -> Network:
    """Draw a network of any kind; three of four with parts of which more is predicted."""
    drawn = draw(networks() | rough_networks(0.2))
    if draw(st.integers(0, 3)) == 0:
        return drawn
    simple = {name: draw(st.sampled_from(parts)) for name, parts in SIMPLE.items()}
    simple["channel"] = drawn.channel.model_copy(update=simple.pop("losses"))
    simple["protocol"] = simple["protocol"] or drawn.protocol
    lasting = {"answers_allowed": (10**9,) * drawn.n_owners, "until": None}
    try:
        return Network(**dict(drawn) | simple | lasting | {"latency": Latency(), "topology": None})
    except SpecError:
        return drawn


@pytest.mark.oracle("predictions for a network's summary")
@FIXED
@given(anything())
def test_theory_has_a_value_or_a_reason_for_any_network(drawn):
    found = predict(drawn)
    assert len({each.quantity for each in found}) == len(found)
    for each in found:
        assert (each.value is None) == bool(each.reason), each
        assert each.value is None or (np.isfinite(each.value) and each.value >= 0), each
        if each.quantity.endswith("_rate") or each.quantity in ("p_repeat", "mean_online"):
            assert each.value is None or each.value <= 1 + 1e-12, each
    for law in (gap_law, staleness_law, access_curve, endless_curve):
        assert law(drawn)  # a law, or why there is none
    for chosen in (selection(drawn), shares(drawn)):
        assert isinstance(chosen, Unknown) or sum(chosen) == pytest.approx(1)
    if not isinstance(selection(drawn), Unknown):
        assert selection(drawn) == pytest.approx(shares(drawn)) or drawn.channel.contended


# Short runs: means are corrected for what is under way then, or said to be of longer runs.

SHORT = 30
UNKNOWN: dict[str, dict[str, Any]] = TABLE["unknown"]


def short(updates: int, parts: dict[str, Any]) -> Network:
    given = {"answers_allowed": (10**6,) * 4, "updates": updates, "clock": PoissonClock(rate=1.0)}
    return Network(**(given | parts))


def staleness(known: Network, seed: int, runs: int) -> tuple[float, float]:
    """Return the mean over runs of their mean staleness, and its standard error."""
    streams = Streams(seed)
    means = [
        simulate(known, streams.within("replicate", number)).updates["staleness"].mean()
        for number in range(runs)
    ]
    return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(runs))


@pytest.mark.parametrize("parts", UNKNOWN.values(), ids=UNKNOWN)
def test_a_mean_for_ever_says_from_which_length_on(parts):
    value = predicted(short(10**6, parts), "mean_staleness")
    assert not isinstance(value, Unknown)
    first = int(np.ceil(100 * (1 + value)))
    before = predicted(short(first - 1, parts), "mean_staleness")
    assert isinstance(before, Unknown)
    assert f"the long-run mean {value:.3g} is" in before.reason
    assert f"from {first} updates on; this run has {first - 1}" in before.reason
    assert predicted(short(first, parts), "mean_staleness") == value
    ended = predicted(short(10**6, parts | {"until": 2.0}), "mean_staleness")
    assert isinstance(ended, Unknown)
    assert "; this run has at most " in ended.reason


@one_in(3, "name", ["tasks that wait", "constant times", "clocks that tick"])
def test_from_that_length_on_it_is_within_a_few_per_cent(name):
    value = predicted(short(10**6, UNKNOWN[name]), "mean_staleness")
    assert not isinstance(value, Unknown)
    found, error = staleness(short(round(100 * (1 + value)), UNKNOWN[name]), 43, 60)
    assert abs(found / value - 1) < 0.02 + 4 * error / value
    found, _ = staleness(short(SHORT, UNKNOWN[name]), 43, 60)
    assert found < 0.95 * value


def test_nothing_that_is_never_stale_depends_on_the_length():
    for updates in (1, 10**6):
        [found] = [
            each
            for each in predict(short(updates, {"protocol": Push()}))
            if each.quantity == "mean_staleness"
        ]
        assert (found.value, found.reason) == (0.0, "")


@pytest.mark.parametrize(("queue", "updates"), [("none", SHORT), ("fifo", 500), ("fifo", 10**5)])
def test_a_value_that_holds_in_the_long_run_only_is_told_with_its_updates(queue, updates):
    fields = scenes.fields(
        id="short",
        run={"updates": updates},
        owners={"count": 4, "records": 50},
        model={"regularisation": 1e-2},
        compute={"kind": "exponential", "mean": 1.0},
        protocol={"kind": "dispatch", "tasks": 4, "queue": queue},
        algorithm={"kind": "fedasync", "step": 0.1, "mixing": 0.5},
        privacy={"epsilon": 10.0},
    )
    scenario = parse(Scenario, fields)
    [line] = [each for each in describe(scenario) if each.startswith("predicted throughput: ")]
    assert line.endswith("; within 1 % from 400 updates on)") is (updates < 400)
