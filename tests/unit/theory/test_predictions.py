"""Predictions of a network: values by hand, reasons why there are none, and their words."""

import re
from functools import cache
from math import exp
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from scipy.stats import binom

import asyncdp_sim.theory.predict
from analysis.exact.assumptions import out_of_order, silent_by
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.specification import members, parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.measures.energy import Energy, energy_predictions, expected
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import Bernoulli
from asyncdp_sim.network.channels import Aloha, Channel, Ideal
from asyncdp_sim.network.channels.aloha import AlohaMedium
from asyncdp_sim.network.channels.kind import Air
from asyncdp_sim.network.clocks import DeterministicClock, GammaClock, PoissonClock
from asyncdp_sim.network.laws import Constant, Exponential
from asyncdp_sim.network.protocols import Broadcast, Protocol, Push, Request
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.formulas import channels
from asyncdp_sim.theory.formulas.dcf import exact
from asyncdp_sim.theory.predict.all import occupation, predict, predicted
from asyncdp_sim.theory.predict.channels import (
    CHANNELS,
    ChannelTheory,
    access_curve,
    endless_curve,
    theory_of,
)
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.protocols import PROTOCOLS, facts_of
from asyncdp_sim.theory.predict.update_order import (
    Releases,
    gap_law,
    lateness,
    never_stale,
    releases,
    selection,
    shares,
    staleness_law,
)
from asyncdp_sim.theory.prediction import Unknown, phrases, plain
from tests import scenes
from tests.one_in import one_in
from tests.tables import composed, table
from tests.together import together
from tests.unit.theory.spoken import (
    BURSTS,
    CSMA,
    PUSH,
    UNEQUAL,
    network,
    said,
)

# Predictions of a network: values by hand, reasons why there are none, and their words.

# Each feature of a network once: the value by hand, or why nothing is predicted.


def slotted(n_owners, rate, slot, airtime):
    """Return transmissions per slot and owner by the chain of one owner: sent or not."""
    p, r = 1 - exp(-rate * slot), 1 - exp(-rate * (slot - airtime))
    chain = np.array([[1 - p, p], [1 - r, r]])
    q = np.linalg.matrix_power(chain, 200)[0, 1]
    return n_owners * q / slot, (1 - q) ** (n_owners - 1)


PREDICTED = table(__file__, "predicted.toml")
SENT, SPARED = slotted(4, 1.0, 0.25, 0.1)
FORMULAS = {"exp": exp, "exact": exact, "SENT": SENT, "SPARED": SPARED, "BEGUN": 4 / 1.2,
            "FINITE": (exp(-0.2) / 1.2) ** 3}  # fmt: skip
"""Names in formulas of the table; BEGUN and FINITE are of pure ALOHA, four owners, ρ = 0.2."""


@together
@pytest.mark.parametrize("case", PREDICTED.values(), ids=PREDICTED)
def test_what_is_predicted(case):
    parts = {k: None if x == "null" else x for k, x in case.get("network", {}).items()}
    n_owners = parts.pop("n_owners", 4)
    usual = {"answers_allowed": [10**9] * n_owners, "updates": 1000}
    found = said(parse(Network, usual | parts), case["of"])
    if "reason" in case:
        assert isinstance(found, str), found
        assert found.startswith(case["reason"])
    elif "value" in case:
        expected = eval(str(case["value"]), FORMULAS.copy())
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
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


def test_answers_that_survive_bursts():
    """Two attempts, lost in the bad state only: an answer fails if it meets bad twice."""
    found = network(channel=Ideal(loss=BURSTS, retransmissions=1), protocol=PUSH)
    lost, sent = said(found, "loss_rate"), said(found, "transmissions_per_answer")
    # state at first attempts: good → good 0.9, bad → again, then a step: bad 0.7·0.7 + 0.3·0.1
    to_bad, to_good = 0.1, 1 - (0.7 * 0.7 + 0.3 * 0.1)
    bad = to_bad / (to_bad + to_good)
    assert lost == pytest.approx(bad * 0.7)
    assert sent == pytest.approx(1 + bad)


def test_one_figure_or_why_not():
    assert predicted(network(), "throughput") == 4
    assert predicted(network(clock=GammaClock(cv=2.0)), "throughput").reason.startswith(
        "clocks are gamma"
    )
    assert predicted(network(protocol=PUSH), "utilisation") == Unknown("no formula is known")
    quantities = [each.quantity for each in predict(network(channel=Ideal(loss=0.1)))]
    assert len(set(quantities)) == len(quantities)


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
    fields = {"answers_allowed": (99,) * 3, "updates": 99, "compute": Exponential(mean=0.3)}
    return Network(**(fields | {"numbers": 3, "occupation": True} | parts))


REFUSED = CASES["occupation"]


@together
@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_known_is_refused_by_name(why):
    found = expected(ENERGY, of_parts(**composed({}, [REFUSED[why]])))
    assert isinstance(found, Unknown)
    assert why in found.reason


def test_a_reason_is_told_instead_of_a_prediction():
    net = of_parts(protocol=Broadcast(interval=9.0, own_tick="overlap"))
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

LOSSY = {"loss": (0.0, 0.3, 0.9, 0.5), "loss_query": 0.2, "loss_request": (0.5, 0.0, 0.1, 0.0)}


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
    law = Releases(np.array([1.0, 2.0, 0.5]), np.array([0.6, 0.0, 0.9]), attempts, fresh)
    for updates in (1, 12):
        for answers in (1, 2, 5, 9):
            exact = [slowly(law, i, answers, updates) for i in range(3)]
            found = silent_by(law, np.full(3, answers), updates)
            assert found == pytest.approx(min(1.0, sum(exact)), abs=1e-12)
    rare = silent_by(law, np.array([40, 40, 10**9]), 12)
    exact = slowly(law, 0, 40, 12) + slowly(law, 1, 40, 12)
    assert rare == pytest.approx(exact, rel=1e-3, abs=1e-14)


def test_where_nothing_is_lost_counts_are_binomial():
    law = Releases(np.array([1.0, 3.0]), np.zeros(2))
    caps = np.array([60, 160])
    exact = binom.sf(59, 199, 0.25) + binom.sf(159, 199, 0.75)
    assert silent_by(law, caps, 200) == pytest.approx(exact, rel=1e-9)
    assert silent_by(law, np.array([200, 200]), 200) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(law.chosen, [0.25, 0.75])
    np.testing.assert_allclose(law.per_update, [0.25, 0.75])


def test_losses_thin_the_choice():
    for parts in ({}, {"retransmissions": 2}, {"retransmissions": 2, "resend": "fresh"}):
        made = network(clock=UNEQUAL, channel=Ideal(**LOSSY, **parts), compute=Exponential(mean=2))
        law, tries = releases(made), 1 + parts.get("retransmissions", 0)
        heard = np.array([0.5, 2.0, 0.9, 4.0]) * 0.8
        arrives = 1 - np.array(LOSSY["loss"]) ** tries
        np.testing.assert_allclose(law.chosen, heard * arrives / (heard @ arrives))
        assert selection(made) == pytest.approx(tuple(law.chosen))
        assert shares(made) == pytest.approx(tuple(law.chosen))
        sent = arrives / (1 - np.array(LOSSY["loss"])) if law.fresh else 1.0
        np.testing.assert_allclose(law.per_update, heard * sent / (heard @ arrives))


@pytest.mark.parametrize(("parts", "why"), CASES["no_releases"])
def test_no_law_of_the_releases(parts, why):
    assert releases(network(**parts)).reason.startswith(why)


def test_budgets_that_losses_may_end_are_not_promised():
    made = network(2, 100, answers_allowed=(140, 140), channel=Ideal(loss=0.5))
    assert selection(made) == Unknown("a budget of 140 answers may be spent before the run ends")
    lasting = network(2, 100, answers_allowed=(240, 240), channel=Ideal(loss=0.5))
    assert selection(lasting) == (0.5, 0.5)


def test_an_only_owner_makes_every_update_whatever_its_clock():
    assert releases(network(1, clock=DeterministicClock())).chosen == 1.0


# Kinds from outside inherit what a kind does, and nothing of what is known about it.

N, RATE, AIRTIME, RATIO = 8, 0.5, 0.2, 0.3


class Capturing(Aloha):
    """The stronger of two answers that overlap may survive."""

    kind: Literal["capturing"] = "capturing"  # type: ignore[assignment]

    def open(self, kernel: Kernel, streams: Any, n_owners: int) -> AlohaMedium:  # noqa: ARG002
        return AlohaMedium(Air(kernel), RATIO, streams)


class Stating(Capturing):
    """The same, with its theory."""

    kind: Literal["stating"] = "stating"  # type: ignore[assignment]

    def predicts(self, network: Network) -> dict[str, float]:
        found = channels.aloha_capture(network.n_owners, RATE, self.airtime or 0.0, RATIO)
        return {"throughput": found.success_rate, "p_repeat": 0.2}


class Deriving(Stating):
    """Another one, which may do something else than what it derives from states."""

    kind: Literal["deriving"] = "deriving"  # type: ignore[assignment]


class LateClock(PoissonClock):
    kind: Literal["late"] = "late"  # type: ignore[assignment]


class Absent(Bernoulli):
    kind: Literal["absent"] = "absent"  # type: ignore[assignment]


class LongTimes(Exponential):
    kind: Literal["long"] = "long"  # type: ignore[assignment]


class OtherRequest(Request):
    kind: Literal["other"] = "other"  # type: ignore[assignment]


def of_outside(**parts: Any) -> Network:
    given = {
        "answers_allowed": (10**6,) * N,
        "updates": 10_000,
        "clock": PoissonClock(rate=RATE),
        "protocol": Push(),
        "channel": Aloha(airtime=AIRTIME),
    }
    return Network(**(given | parts))


FOREIGN: dict[str, dict[str, Any]] = {
    "a channel": {"channel": Capturing(airtime=AIRTIME)},
    "a clock": {"clock": LateClock(rate=RATE)},
    "availability": {"availability": Absent(probability=0.5)},
    "a law": {"compute": LongTimes(mean=1.0)},
    "a law of each owner": {"compute": tuple(LongTimes(mean=1.0) for _ in range(N))},
    "a protocol": {"protocol": OtherRequest()},
}


@together
@pytest.mark.parametrize("parts", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("shared", [True, False])
def test_nothing_is_inherited(parts, shared):
    known = (
        of_outside(**parts) if shared else of_outside(**({"channel": {"kind": "ideal"}} | parts))
    )
    found = predict(known)
    assert len(found) > 0
    assert all(each.value is None and each.between is None for each in found)
    assert {each.reason for each in found} == {facts_of(known).unknown}
    assert "is from outside" in facts_of(known).unknown
    laws = (selection, shares, releases, gap_law, staleness_law, access_curve, endless_curve)
    assert all(isinstance(law(known), Unknown) for law in (*laws, lateness, occupation))
    assert never_stale(known) == ""


def test_a_class_that_derives_from_one_with_a_row_has_none():
    assert type(facts_of(of_outside(protocol=OtherRequest()))) is Facts
    assert type(theory_of(Capturing(airtime=AIRTIME))) is ChannelTheory
    assert PROTOCOLS.keys() <= set(members(Protocol))
    assert CHANNELS.keys() <= set(members(Channel))


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
    assert not isinstance(stated, Unknown)
    assert not isinstance(inherited, Unknown)
    assert abs(np.mean(rates) - stated) < 5 * error
    assert abs(np.mean(rates) - inherited) > 20 * error


@one_in(2, "channel", [Capturing(airtime=AIRTIME), Aloha(airtime=AIRTIME)])
def test_a_forecast_of_a_channel_from_outside_simulates_it(channel):
    fields = scenes.fields(**CASES["outside"])
    scenario = parse(Scenario, fields).replace(channel=channel)
    assert any("from outside" in each for each in out_of_order(scenario)) is channel.outside
    assert np.isfinite(forecast(scenario).psi or np.nan)
