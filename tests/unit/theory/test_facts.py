import pytest

from asyncdp_sim.network import Latency
from asyncdp_sim.network.channels import Aloha
from asyncdp_sim.network.clocks import PoissonClock, SaturatedClock
from asyncdp_sim.network.laws import Constant, NoTime, Uniform
from asyncdp_sim.network.protocols import Broadcast
from asyncdp_sim.network.topology import LinkFailures, Star
from asyncdp_sim.theory.predict.protocols import facts_of
from tests.together import together
from tests.unit.theory.spoken import HALF, PUSH, SLOW, network

BROKEN = Star(latency=0.1, failures=LinkFailures(gap=SLOW, length=SLOW))


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
