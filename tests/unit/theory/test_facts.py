import pytest

from asyncdp_sim.network import Latency
from asyncdp_sim.network.availability import Bernoulli, Churn, Diurnal, OnOff
from asyncdp_sim.network.channels import Aloha, Csma, Ideal, Parallel, Tdma
from asyncdp_sim.network.channels.packet_loss import GilbertElliott
from asyncdp_sim.network.clocks import GammaClock, PoissonClock, SaturatedClock, ScriptedClock
from asyncdp_sim.network.laws import Constant, Exponential, Gamma, NoTime, Uniform
from asyncdp_sim.network.protocols import Broadcast, Push, Request
from asyncdp_sim.network.topology import LinkFailures, Star
from asyncdp_sim.theory.predict.table import facts_of
from tests.together import together
from tests.unit.theory.spoken import HALF, OPEN, OVERLAP, PUSH, SLOW, network

BROKEN = Star(latency=0.1, failures=LinkFailures(gap=SLOW, length=SLOW))


def test_rates_are_thinned_by_availability():
    facts = facts_of(
        network(clock=PoissonClock(rate=2.0), availability=Bernoulli(probability=0.25))
    )
    assert facts.rates == (0.5,) * 4
    assert facts.rate == 0.5
    unequal = facts_of(network(clock=PoissonClock(rate=(1.0, 2.0, 1.0, 1.0))))
    assert unequal.rates == (1.0, 2.0, 1.0, 1.0)
    assert unequal.rate is None
    balanced = Bernoulli(probability=(1.0, 0.5, 1.0, 1.0))
    assert facts_of(unequal.network.model_copy(update={"availability": balanced})).rate == 1.0
    assert facts_of(network(clock=SaturatedClock(), protocol=PUSH, compute=HALF)).rates is None
    assert facts_of(network(availability=Churn())).rates is None


def test_services_add_all_stages_but_the_airtime_of_others():
    latency = Latency(
        request=SLOW, query=Constant(value=0.1), answer=Uniform(low=0.0, high=0.4),
        rate_bytes=(480.0, 96.0, 48.0, 480.0),
    )  # fmt: skip
    facts = facts_of(network(latency=latency, compute=SLOW, topology=Star(latency=0.05)))
    own = [48 / rate for rate in (480.0, 96.0, 48.0, 480.0)]  # 8 bytes and a header of 40
    assert facts.services == pytest.approx([0.1 + 0.5 + 0.2 + 2 * 0.05 + 2 * t for t in own])
    shared = network(protocol=PUSH, channel=Aloha(airtime=0.3), compute=HALF)
    assert facts_of(shared).services == (0.5,) * 4
    locked = network(channel=Aloha(airtime=0.3), compute=HALF)
    assert facts_of(locked).services == pytest.approx([0.8] * 4)


@together
@pytest.mark.parametrize(
    ("parts", "constant", "instant", "eventless"),
    [
        ({}, 0.0, True, True),
        ({"compute": Constant(value=0.0)}, 0.0, True, False),
        ({"topology": Star()}, 0.0, True, False),
        ({"compute": HALF}, 0.5, False, False),
        ({"compute": HALF, "topology": Star(latency=0.25)}, 1.0, False, False),
        ({"compute": HALF, "topology": BROKEN}, None, False, False),
        ({"topology": Star(latency=(0.1, 0.2, 0.1, 0.1))}, None, False, False),
        ({"compute": (HALF, NoTime(), HALF, HALF)}, None, False, False),
        ({"compute": SLOW}, None, False, False),
    ],
)
def test_how_long_an_exchange_takes(parts, constant, instant, eventless):
    facts = facts_of(network(**parts))
    assert (facts.constant, facts.instant, facts.eventless) == (constant, instant, eventless)


def test_moments_are_those_of_the_mixture():
    clock, compute = PoissonClock(rate=(3.0, 1.0)), (Exponential(mean=0.5), Constant(value=1.0))
    facts = facts_of(network(2, clock=clock, compute=compute))
    own = (0.5, 2 * 0.25, 6 * 0.125)
    assert facts.moments() == pytest.approx([0.75 * moment + 0.25 for moment in own])
    both = network(2, compute=Gamma(mean=1.0, cv=0.5), latency=Latency(query=HALF))
    shape, scale = 4.0, 0.25  # of the gamma part; the constant half is added binomially
    g = [scale * shape, scale**2 * shape * 5, scale**3 * shape * 5 * 6]
    third = g[2] + 1.5 * g[1] + 0.75 * g[0] + 0.125
    assert facts_of(both).moments() == pytest.approx([g[0] + 0.5, g[1] + g[0] + 0.25, third])


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({}, ""),
        ({"availability": Bernoulli(probability=0.5)}, ""),
        ({"clock": GammaClock(cv=0.5)}, "clocks are gamma"),
        ({"clock": ScriptedClock(times=((1.0,),) * 4)}, "clocks are scripted"),
        ({"availability": Diurnal(period=1.0, low=0.0, high=1.0)}, "availability is diurnal"),
        ({"availability": OnOff(on=SLOW, off=SLOW)}, "availability is on-off"),
        ({"availability": Bernoulli(probability=(0.0, 1.0, 1.0, 1.0))}, "some owner never asks"),
        ({"topology": BROKEN}, "links fail"),
    ],
)
def test_what_is_no_poisson_process(parts, why):
    assert facts_of(network(**parts)).not_poisson.startswith(why)
    assert bool(facts_of(network(**parts)).not_poisson) == bool(why)


@together
@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({}, ""),
        ({"channel": Ideal(loss=0.1)}, "messages are lost"),
        ({"channel": Ideal(loss=(0.0, 0.1, 0.0, 0.0))}, "messages are lost"),
        ({"channel": Ideal(loss=(0.0,) * 4)}, ""),
        ({"channel": Ideal(loss_query=GilbertElliott(to_bad=0.1, to_good=0.1))}, "messages are"),
        ({"channel": Ideal(loss_request=0.1)}, "messages are lost"),
        ({"channel": Ideal(loss_request=0.1), "protocol": PUSH}, ""),
        ({"channel": Ideal(loss_acknowledgement=0.1)}, ""),
        ({"channel": Ideal(loss_acknowledgement=0.1, retransmissions=1)}, "messages are lost"),
        ({"channel": Ideal(retransmissions=3)}, ""),
        ({"protocol": Push(offline="vanish")}, ""),
        (
            {"protocol": Push(offline="vanish"), "availability": OnOff(on=SLOW, off=SLOW)},
            "owners vanish",
        ),
        ({"protocol": Push(offline="vanish"), "topology": BROKEN}, "owners vanish"),
        ({"protocol": Request(timeout=1.0), "compute": SLOW}, "the learner gives up"),
        ({"protocol": Request(timeout=1.0)}, ""),
        ({"latency": Latency(acknowledgement=SLOW)}, "owners wait for acknowledgements"),
    ],
)
def test_what_may_not_arrive(parts, why):
    found = facts_of(network(**parts)).can_lose_messages
    assert found.startswith(why)
    assert bool(found) == bool(why)


ASKING = Aloha(airtime=0.1, request_airtime=0.1)


@together
@pytest.mark.parametrize(
    ("parts", "shared", "slow"),
    [
        ({}, False, ""),
        ({"latency": Latency(request=SLOW)}, False, "requests take time"),
        ({"latency": Latency(request=SLOW), "protocol": PUSH}, False, ""),
        ({"topology": Star(latency=0.1)}, False, "requests take time"),
        ({"channel": Aloha(airtime=0.1)}, False, ""),
        ({"channel": Parallel(channels=2, each=Aloha(airtime=0.1))}, False, ""),
        ({"channel": Aloha(airtime=0.1), "protocol": Request(timeout=1.0)}, True, ""),
        ({"channel": ASKING}, True, "requests take airtime"),
        ({"channel": ASKING, "protocol": PUSH}, True, ""),
        ({"channel": Csma(airtime=0.1, propagation_delay=0.01)}, True, ""),
        ({"channel": Tdma(airtime=0.1, slot=0.1)}, True, ""),
        ({"channel": Aloha(airtime=0.1), "protocol": PUSH}, True, ""),
    ],
)
def test_who_shares_a_channel_and_how_requests_come(parts, shared, slow):
    facts = facts_of(network(**parts))
    assert bool(facts.shared) == shared
    assert facts.slow_requests == slow


@together
@pytest.mark.parametrize(
    ("parts", "per_update", "spent"),
    [
        ({"answers_allowed": (1000,) * 4}, 1.0, False),  # T of them: the run ends first
        ({"answers_allowed": (320,) * 4}, 1.0, True),
        ({"answers_allowed": (400,) * 4}, 1.0, False),  # 250 ± 16 expected
        ({"answers_allowed": (400, 400, 400, 10)}, 1.0, True),
        ({"answers_allowed": (1000,) * 4}, 3.0, False),  # 750 ± 47
        ({"answers_allowed": (1000,) * 4}, 4.0, True),
        ({"answers_allowed": (1000,) * 4}, float("inf"), True),
        ({"answers_allowed": (30,) * 4, "until": 5.0}, 1.0, False),  # 5 ± 2.2
        ({"answers_allowed": (30,) * 4, "until": 15.0}, float("inf"), True),
        ({"answers_allowed": (400,) * 4, "clock": PoissonClock(rate=(5.0, 1, 1, 1))}, 1.0, True),
        (
            {"answers_allowed": (700,) * 4, "clock": SaturatedClock(), "protocol": PUSH,
             "compute": (HALF, SLOW, Constant(value=0.1), HALF)}, 1.0, True,
        ),
        (
            {"answers_allowed": (6,) * 4, "until": 3.0,
             "protocol": Broadcast(interval=3.0, answer_at="after-delay")}, 9.0, True,
        ),
        (
            {"answers_allowed": (30,) * 4, "until": 3.0,
             "protocol": Broadcast(interval=3.0, answer_at="after-delay")}, 9.0, False,
        ),
    ],
)  # fmt: skip
def test_when_budgets_may_be_spent(parts, per_update, spent):
    found = facts_of(network(**parts)).spent(per_update)
    assert bool(found) == spent
    assert not spent or found.startswith("a budget of ")


def test_who_waits():
    slow = {"compute": SLOW}
    assert facts_of(network()).waits == ""
    assert facts_of(network(**slow)).waits == ""
    assert facts_of(network(protocol=OPEN)).waits == ""
    assert facts_of(network(protocol=OPEN, **slow)).waits == "requests wait in a queue"
    retry = Request(busy="retry", retry=SLOW)
    assert facts_of(network(protocol=retry, **slow)).waits == "refused requests are sent again"
    assert facts_of(network(protocol=OVERLAP)).overlap
    assert not facts_of(network()).overlap
