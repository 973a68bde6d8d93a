"""Kinds from outside inherit what a kind does, and nothing of what is known about it."""

from typing import Any, Literal

import numpy as np
import pytest

from analysis.exact.assumptions import out_of_order
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.specification import members
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.availability import Bernoulli
from asyncdp_sim.network.channels import Aloha, Channel
from asyncdp_sim.network.channels.aloha import AlohaMedium
from asyncdp_sim.network.channels.kind import Air
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Protocol, Push, Request
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.theory.formulas import channels
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
    gap_law,
    lateness,
    never_stale,
    releases,
    selection,
    shares,
    staleness_law,
)
from asyncdp_sim.theory.prediction import Unknown
from tests import scenes
from tests.one_in import one_in
from tests.together import together

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


def network(**parts: Any) -> Network:
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
    known = network(**parts) if shared else network(**({"channel": {"kind": "ideal"}} | parts))
    found = predict(known)
    assert len(found) > 0
    assert all(each.value is None and each.between is None for each in found)
    assert {each.reason for each in found} == {facts_of(known).unknown}
    assert "is from outside" in facts_of(known).unknown
    laws = (selection, shares, releases, gap_law, staleness_law, access_curve, endless_curve)
    assert all(isinstance(law(known), Unknown) for law in (*laws, lateness, occupation))
    assert never_stale(known) == ""


def test_a_class_that_derives_from_one_with_a_row_has_none():
    assert type(facts_of(network(protocol=OtherRequest()))) is Facts
    assert type(theory_of(Capturing(airtime=AIRTIME))) is ChannelTheory
    assert PROTOCOLS.keys() <= set(members(Protocol))
    assert CHANNELS.keys() <= set(members(Channel))


def test_what_a_class_states_itself_counts():
    stated = network(channel=Stating(airtime=AIRTIME))
    throughput = predicted(stated, "throughput")
    assert throughput == channels.aloha_capture(N, RATE, AIRTIME, RATIO).success_rate
    assert predicted(stated, "p_repeat") == 0.2
    assert isinstance(predicted(stated, "collision_rate"), Unknown)
    [one] = [each for each in predict(stated) if each.quantity == "throughput"]
    assert one.formula == "stated by channel.kind = stating"
    other = network(channel=Deriving(airtime=AIRTIME))
    assert all(each.value is None for each in predict(other))


@pytest.mark.parametrize("value", ["0.2", None, np.nan, np.inf])
def test_what_is_stated_is_a_number(value, monkeypatch):
    monkeypatch.setattr(Stating, "predicts", lambda _self, _network: {"throughput": value})
    with pytest.raises(SpecError, match=r"channel\.kind: given throughput: .* a finite number"):
        predict(network(channel=Stating(airtime=AIRTIME)))


@pytest.mark.long
def test_what_is_stated_is_what_is_measured_and_what_was_inherited_is_not():
    capturing = network(channel=Stating(airtime=AIRTIME), until=2000.0, updates=10**6)
    rates = [
        simulate(capturing, Streams(5).within("replicate", number)).n_updates / 2000
        for number in range(8)
    ]
    error = float(np.std(rates, ddof=1)) / np.sqrt(len(rates))
    stated, inherited = (predicted(each, "throughput") for each in (capturing, network()))
    assert not isinstance(stated, Unknown)
    assert not isinstance(inherited, Unknown)
    assert abs(np.mean(rates) - stated) < 5 * error
    assert abs(np.mean(rates) - inherited) > 20 * error


@one_in(2, "channel", [Capturing(airtime=AIRTIME), Aloha(airtime=AIRTIME)])
def test_a_forecast_of_a_channel_from_outside_simulates_it(channel):
    fields = scenes.fields(
        run={"updates": 40},
        owners={"count": N, "records": 50},
        model={"regularisation": 1e-2},
        clock={"kind": "poisson", "rate": RATE},
        protocol={"kind": "push"},
        algorithm={"rho": 50.0},
        privacy={"epsilon": 10.0, "sensitivity": {"kind": "declared", "bound": 1.0}},
    )
    scenario = parse(Scenario, fields).replace(channel=channel)
    assert any("from outside" in each for each in out_of_order(scenario)) is channel.outside
    assert np.isfinite(forecast(scenario).psi or np.nan)
