"""Predictions of a network: values by hand, laws, simulations, and why there are none."""

import re
from functools import cache
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import asyncdp_sim.theory.predict
from analysis.exact.assumptions import out_of_order, silent_by
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.specification import members, parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.measures.energy import Energy, energy_predictions, expected
from asyncdp_sim.measures.summary import summarise, updates_until_all
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import Bernoulli
from asyncdp_sim.network.channels import Aloha, Channel
from asyncdp_sim.network.channels.aloha import AlohaMedium
from asyncdp_sim.network.channels.kind import Air
from asyncdp_sim.network.clocks import PoissonClock, SaturatedClock
from asyncdp_sim.network.laws import Constant, Exponential, NoTime
from asyncdp_sim.network.protocols import Protocol, Push, Request
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.theory.formulas import channels
from asyncdp_sim.theory.formulas.channels import dcf_exact
from asyncdp_sim.theory.predict import channels as of_channels
from asyncdp_sim.theory.predict import update_order
from asyncdp_sim.theory.predict.all import occupation, predict, predicted
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.protocols import PROTOCOLS, facts_of
from asyncdp_sim.theory.prediction import Unknown, phrases, plain
from tests import scenes
from tests.derived import derived
from tests.one_in import one_in
from tests.properties.networks import FIXED, networks
from tests.properties.rough_networks import rough_networks
from tests.tables import composed, table
from tests.together import together

PUSH, OVERLAP = Push(), Push(own_tick="overlap")
HALF, SLOW = Constant(value=0.5), Exponential(mean=0.5)
UNEQUAL = PoissonClock(rate=(1.0, 2.0, 1.0, 4.0))
ALOHA = {"kind": "aloha", "airtime": 0.2}
CSMA = {"kind": "csma", "airtime": 0.5, "propagation_delay": 0.05}
BOTH = {"kind": "parallel", "channels": 2, "each": ALOHA}


def network(n_owners: int = 4, updates: int = 1000, **parts: Any) -> Network:
    """Return a network whose budgets last, unless told otherwise."""
    return Network(**{"answers_allowed": (10**9,) * n_owners, "updates": updates} | parts)


def said(network: Network, quantity: str) -> float | str | None:
    """Return the value that is predicted, or the reason; None where nothing is said."""
    found = [each for each in predict(network) if each.quantity == quantity]
    assert len(found) <= 1
    for each in found:
        assert (each.value is None) == (each.reason != ""), each
        return each.reason if each.value is None else each.value
    return None


# Each feature of a network once: the value by hand, or why nothing is predicted.


def slotted(n_owners, rate, slot, airtime):
    """Return transmissions per slot and owner by the chain of one owner: sent or not."""
    p, r = 1 - exp(-rate * slot), 1 - exp(-rate * (slot - airtime))
    chain = np.array([[1 - p, p], [1 - r, r]])
    q = np.linalg.matrix_power(chain, 200)[0, 1]
    return n_owners * q / slot, (1 - q) ** (n_owners - 1)


PREDICTED = table(__file__, "predicted.toml")
SENT, SPARED = slotted(4, 1.0, 0.25, 0.1)
FORMULAS = {"exp": exp, "exact": dcf_exact, "SENT": SENT, "SPARED": SPARED, "BEGUN": 4 / 1.2,
            "FINITE": (exp(-0.2) / 1.2) ** 3}  # fmt: skip
"""Names in formulas of the table; BEGUN and FINITE are of pure ALOHA, four owners, ρ = 0.2."""


@together
@pytest.mark.parametrize("case", PREDICTED.values(), ids=PREDICTED)
def test_what_is_predicted(case):
    parts = {k: None if x == "null" else x for k, x in case.get("network", {}).items()}
    found = said(network(**parts), case["of"])
    if "reason" in case:
        assert isinstance(found, str), found
        assert found.startswith(case["reason"])
    elif "value" in case:
        expected = eval(str(case["value"]), FORMULAS.copy())
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    else:
        assert found is None


def test_non_persistent_csma_of_some_owners():
    """ORACLES 11, integrated on a grid; time unit an airtime."""
    found = network(protocol=PUSH, channel=CSMA)
    rate, a = 0.5, 0.1
    y = (np.arange(200_000) + 0.5) / 200_000 * a
    inside = ((1 - np.exp(-rate * y) + exp(-rate * a)) ** 3).mean() * a
    exact = exp(-3 * rate * a) / (1 + 2 * a - inside + 1 / (4 * rate))
    assert said(found, "throughput") == pytest.approx(exact / 0.5, rel=1e-7)


def test_a_figure_that_is_never_predicted_has_no_formula():
    assert predicted(network(), "throughput") == 4
    assert predicted(network(protocol=PUSH), "utilisation") == Unknown("no formula is known")


# Whole laws, and for which networks they hold.

TABLE = table(__file__, "laws.toml")
selection, shares, releases = update_order.selection, update_order.shares, update_order.releases
access_curve, endless_curve = of_channels.access_curve, of_channels.endless_curve
LAWS = {
    each.__name__: each
    for each in (selection, shares, releases, access_curve, endless_curve,
                 update_order.gap_law, update_order.staleness_law)
}  # fmt: skip


@together
@pytest.mark.parametrize(("of", "parts", "known"), TABLE["known"])
def test_what_is_known_of_a_law(of, parts, known):
    law = LAWS[of](network(**parts))
    if isinstance(known, str):
        assert law == Unknown(known)
    elif of == "gap_law":
        assert law == update_order.GapLaw(*known)
    else:
        assert law == pytest.approx(np.array(known) / sum(known), rel=1e-15)


@together
@pytest.mark.parametrize(("parts", "name", "mean"), TABLE["staleness"])
def test_the_law_of_the_staleness(parts, name, mean):
    law = LAWS["staleness_law"](network(**parts))
    assert law.name == name
    chance = law.chance(60)
    assert len(chance) == 61
    assert chance.sum() == pytest.approx(1)
    assert chance @ np.arange(61) == pytest.approx(mean)
    assert said(network(**parts), "mean_staleness") == pytest.approx(mean)


SLOTS = {"kind": "slotted-aloha", "airtime": 0.1, "slot": 0.25}


@pytest.mark.parametrize("channel", [ALOHA, SLOTS, CSMA, BOTH | {"choice": "by-owner"}])
def test_curves_pass_through_the_predictions(channel):
    one = network(protocol=PUSH, channel=channel, answers_allowed=(9,) * 4)
    lasting = network(protocol=PUSH, channel=channel)
    curve, airtime = access_curve(one), one.airtime
    assert access_curve(one.model_copy(update={"clock": PoissonClock(rate=3.0)})) == curve
    offered, delivered = curve.points([4 * airtime])
    assert offered == pytest.approx([said(lasting, "offered_load")])
    assert delivered == pytest.approx([said(lasting, "throughput") * airtime])


def test_curves_of_infinitely_many_owners():
    endless, load = endless_curve(network(channel=ALOHA)), np.array([0.1, 1.0])
    assert endless == access_curve(network(5, protocol=OVERLAP, channel=ALOHA))
    assert endless.points(load)[1] == pytest.approx(load * np.exp(-2 * load))
    for channel in (BOTH, BOTH | {"choice": "by-owner"}):
        spread = endless_curve(network(protocol=PUSH, channel=channel))
        assert spread == access_curve(network(protocol=OVERLAP, channel=BOTH))
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
    for name in ("gap_law", "staleness_law", "access_curve", "endless_curve"):
        assert LAWS[name](drawn)  # a law, or why there is none
    for chosen in (selection(drawn), shares(drawn)):
        assert isinstance(chosen, Unknown) or sum(chosen) == pytest.approx(1)
    if not isinstance(selection(drawn), Unknown):
        assert selection(drawn) == pytest.approx(shares(drawn)) or drawn.channel.contended


# Short runs: means are corrected for what is under way then, or said to be of longer runs.

SHORT = 30
UNKNOWN: dict[str, dict[str, Any]] = TABLE["unknown"]


def short(updates: int, parts: dict[str, Any]) -> Network:
    return network(4, updates, **{"answers_allowed": (10**6,) * 4} | parts)


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
    found, error = staleness(short(round(100 * (1 + value)), UNKNOWN[name]), 43, 60)
    assert abs(found / value - 1) < 0.02 + 4 * error / value
    found, _ = staleness(short(SHORT, UNKNOWN[name]), 43, 60)
    assert found < 0.95 * value


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


# Budgets that may be spent.

CASES = table(__file__, "refusals.toml")


@together
@pytest.mark.parametrize(("parts", "per_update", "spent"), CASES["spent"])
def test_when_budgets_may_be_spent(parts, per_update, spent):
    found = facts_of(network(**parts)).spent(per_update)
    assert bool(found) == spent
    assert not spent or found.startswith("a budget of ")


# Formulas and reasons as a person reads them; manifests keep what they recorded.

FOLDER = Path(asyncdp_sim.theory.predict.__file__).parent


def test_every_recorded_phrase_is_one_of_a_prediction():
    text = "".join(file.read_text("utf-8") for file in sorted(FOLDER.glob("*.py")))
    joined = re.sub(r'"\s*\n\s*f?"', "", text)
    assert [phrase for phrase in phrases() if phrase not in joined] == []


def test_a_phrase_within_a_text_is_replaced_and_the_rest_stays():
    said = "other updates between read and apply: none, because of the lock"
    assert plain(said) == (
        "number of other updates between read and use: none, the learner is locked between read "
        "and use"
    )
    assert plain("links fail") == "links fail"
    assert not any(phrase in clear for phrase in phrases() for clear in phrases().values())


# Reasons why nobody knows what owners are at, and so what they use.

ENERGY = Energy(idle=1, listening=1, computing=1, sending=1, receiving=1)
TRAVELS = Latency(query=Exponential(mean=0.05), answer=Constant(value=0.1))
UNLIKE = (Exponential(mean=0.1), Exponential(mean=0.3), Exponential(mean=0.5))


def of_parts(**parts):
    fields = {"answers_allowed": (99,) * 3, "compute": Exponential(mean=0.3), "occupation": True}
    return network(3, 99, **fields | {"numbers": 3} | parts)


REFUSED = CASES["occupation"]


@together
@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_known_is_refused_by_name(why):
    assert why in expected(ENERGY, of_parts(**composed({}, [REFUSED[why]]))).reason


def test_a_reason_is_told_instead_of_a_prediction():
    net = of_parts(protocol={"kind": "broadcast", "interval": 9.0, "own_tick": "overlap"})
    told = {each.quantity: each for each in energy_predictions(ENERGY, net)}
    assert set(told) == {"joules_per_update", "watts"}
    assert told["watts"].value is None
    assert told["watts"].reason == "exchanges of an owner overlap"
    assert list(energy_predictions(None, net)) == []


def test_requests_are_those_that_are_served_and_those_that_are_refused():
    """Of all requests so many are refused as the lock's own formula says."""
    net = of_parts(clock=PoissonClock(rate=(0.5, 1.0, 2.0)), compute=UNLIKE, latency=TRAVELS)
    found = occupation(net)
    refused = 1 - found.updates / float(found.requests.sum())
    assert refused == pytest.approx(predicted(net, "refusal_rate"), rel=1e-12)
    assert found.times.sum(axis=1) == pytest.approx([1.0] * 3)


# Owners that fall silent: answers that are lost use budgets up, too.

LOSSY = {"kind": "ideal", "loss": (0.0, 0.3, 0.9, 0.5), "loss_query": 0.2,
         "loss_request": (0.5, 0.0, 0.1, 0.0)}  # fmt: skip


def slowly(law, owner, answers, updates):
    """Return P(an owner releases K answers before update T), exchange by exchange."""
    rate, loss, tries = law.rate, law.loss, law.attempts
    used = rate * (1 - loss**tries)
    others = used.sum() - used[owner]
    own = rate[owner] * np.array([loss[owner] ** g * (1 - loss[owner]) for g in range(tries)])
    vain = rate[owner] * loss[owner] ** tries
    total = others + own.sum() + vain

    @cache
    def reached(done, released):
        if done >= updates:
            return 0.0
        if released >= answers:
            return 1.0
        found = others * reached(done + 1, released) + vain * reached(
            done, released + (tries if law.fresh else 1)
        )
        for g, chance in enumerate(own, start=1):
            found += chance * reached(done + 1, released + (g if law.fresh else 1))
        return found / total

    return reached(0, 0)


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("attempts", [1, 3])
def test_budgets_end_as_often_as_exchange_by_exchange(attempts, fresh):
    law = update_order.Releases(
        np.array([1.0, 2.0, 0.5]), np.array([0.6, 0.0, 0.9]), attempts, fresh
    )
    for updates in (1, 12):
        for answers in (1, 2, 5, 9):
            exact = [slowly(law, i, answers, updates) for i in range(3)]
            found = silent_by(law, np.full(3, answers), updates)
            assert found == pytest.approx(min(1.0, sum(exact)), abs=1e-12)
    rare = silent_by(law, np.array([40, 40, 10**9]), 12)
    exact = slowly(law, 0, 40, 12) + slowly(law, 1, 40, 12)
    assert rare == pytest.approx(exact, rel=1e-3, abs=1e-14)


def test_where_nothing_is_lost_counts_are_binomial():
    law = update_order.Releases(np.array([1.0, 3.0]), np.zeros(2))
    caps = np.array([60, 160])
    exact = binom.sf(59, 199, 0.25) + binom.sf(159, 199, 0.75)
    assert silent_by(law, caps, 200) == pytest.approx(exact, rel=1e-9)
    assert silent_by(law, np.array([200, 200]), 200) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(law.chosen, [0.25, 0.75])
    np.testing.assert_allclose(law.per_update, [0.25, 0.75])


def test_losses_thin_the_choice():
    for parts in ({}, {"retransmissions": 2}, {"retransmissions": 2, "resend": "fresh"}):
        made = network(clock=UNEQUAL, channel=LOSSY | parts, compute=Exponential(mean=2))
        law, tries = releases(made), 1 + parts.get("retransmissions", 0)
        heard = np.array([0.5, 2.0, 0.9, 4.0]) * 0.8
        arrives = 1 - np.array(LOSSY["loss"]) ** tries
        np.testing.assert_allclose(law.chosen, heard * arrives / (heard @ arrives))
        assert selection(made) == pytest.approx(tuple(law.chosen))
        assert shares(made) == pytest.approx(tuple(law.chosen))
        sent = arrives / (1 - np.array(LOSSY["loss"])) if law.fresh else 1.0
        np.testing.assert_allclose(law.per_update, heard * sent / (heard @ arrives))


def test_an_only_owner_makes_every_update_whatever_its_clock():
    assert releases(network(1, clock={"kind": "deterministic"})).chosen == 1.0


# Kinds from outside inherit what a kind does, and nothing of what is known about it.

N, RATE, AIRTIME, RATIO = 8, 0.5, 0.2, 0.3


def opened(self: Aloha, kernel: Kernel, streams: Any, n_owners: int) -> AlohaMedium:  # noqa: ARG001
    return AlohaMedium(Air(kernel), RATIO, streams)


def predicts(self: Aloha, network: Network) -> dict[str, float]:
    found = channels.aloha_capture(network.n_owners, RATE, self.airtime or 0.0, RATIO)
    return {"throughput": found.success_rate, "p_repeat": 0.2}


Capturing = derived(Aloha, "capturing", open=opened)
"""The stronger of two answers that overlap may survive."""
Stating = derived(Capturing, "stating", predicts=predicts)
"""The same, with its theory."""
Deriving = derived(Stating, "deriving")
"""Another one, which may do something else than what it derives from states."""
LongTimes = derived(Exponential, "long")


def of_outside(**parts: Any) -> Network:
    given = {"clock": PoissonClock(rate=RATE), "protocol": PUSH, "channel": Aloha(airtime=AIRTIME)}
    return network(N, **{"updates": 10_000, "answers_allowed": (10**6,) * N} | given | parts)


OTHER_REQUEST = derived(Request, "other")()
FOREIGN: dict[str, dict[str, Any]] = {
    "a channel": {"channel": Capturing(airtime=AIRTIME)},
    "a clock": {"clock": derived(PoissonClock, "late")(rate=RATE)},
    "availability": {"availability": derived(Bernoulli, "absent")(probability=0.5)},
    "a law": {"compute": LongTimes(mean=1.0)},
    "a law of each owner": {"compute": (LongTimes(mean=1.0),) * N},
    "a protocol": {"protocol": OTHER_REQUEST},
}


@together
@pytest.mark.parametrize("parts", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("shared", [True, False])
def test_nothing_is_inherited(parts, shared):
    known = of_outside(**({} if shared else {"channel": {"kind": "ideal"}}) | parts)
    found = predict(known)
    assert len(found) > 0
    assert all(each.value is None and each.between is None for each in found)
    assert {each.reason for each in found} == {facts_of(known).unknown}
    assert "is from outside" in facts_of(known).unknown
    laws = (*LAWS.values(), update_order.lateness, occupation)
    assert all(isinstance(law(known), Unknown) for law in laws)
    assert update_order.never_stale(known) == ""


def test_a_class_that_derives_from_one_with_a_row_has_none():
    assert type(facts_of(of_outside(protocol=OTHER_REQUEST))) is Facts
    assert type(of_channels.theory_of(Capturing(airtime=AIRTIME))) is of_channels.ChannelTheory
    assert PROTOCOLS.keys() <= set(members(Protocol))
    assert of_channels.CHANNELS.keys() <= set(members(Channel))


def test_what_a_class_states_itself_counts():
    stated = of_outside(channel=Stating(airtime=AIRTIME))
    throughput = predicted(stated, "throughput")
    assert throughput == channels.aloha_capture(N, RATE, AIRTIME, RATIO).success_rate
    assert predicted(stated, "p_repeat") == 0.2
    assert isinstance(predicted(stated, "collision_rate"), Unknown)
    [one] = [each for each in predict(stated) if each.quantity == "throughput"]
    assert one.formula == "stated by channel.kind = stating"
    other = of_outside(channel=Deriving(airtime=AIRTIME))
    assert all(each.value is None for each in predict(other))


@pytest.mark.parametrize("value", ["0.2", None, np.nan, np.inf])
def test_what_is_stated_is_a_number(value, monkeypatch):
    monkeypatch.setattr(Stating, "predicts", lambda _self, _network: {"throughput": value})
    with pytest.raises(SpecError, match=r"channel\.kind: given throughput: .* a finite number"):
        predict(of_outside(channel=Stating(airtime=AIRTIME)))


@pytest.mark.long
def test_what_is_stated_is_what_is_measured_and_what_was_inherited_is_not():
    capturing = of_outside(channel=Stating(airtime=AIRTIME), until=2000.0, updates=10**6)
    rates = [
        simulate(capturing, Streams(5).within("replicate", number)).n_updates / 2000
        for number in range(8)
    ]
    error = float(np.std(rates, ddof=1)) / np.sqrt(len(rates))
    stated, inherited = (predicted(each, "throughput") for each in (capturing, of_outside()))
    assert abs(np.mean(rates) - stated) < 5 * error
    assert abs(np.mean(rates) - inherited) > 20 * error


@one_in(2, "channel", [Capturing(airtime=AIRTIME), Aloha(airtime=AIRTIME)])
def test_a_forecast_of_a_channel_from_outside_simulates_it(channel):
    fields = scenes.fields(**CASES["outside"])
    scenario = parse(Scenario, fields).replace(channel=channel)
    assert any("from outside" in each for each in out_of_order(scenario)) is channel.outside
    assert np.isfinite(forecast(scenario).psi or np.nan)
