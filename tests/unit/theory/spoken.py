"""Networks for the tests of what theory says of them."""

from typing import Any

from asyncdp_sim.network import Network
from asyncdp_sim.network.channels import Aloha, Csma, SlottedAloha, Tdma
from asyncdp_sim.network.channels.kind import GilbertElliott
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Constant, Exponential, Uniform
from asyncdp_sim.network.protocols import Broadcast, Push, Request
from asyncdp_sim.theory.predict.all import predict

PUSH = Push()
OVERLAP = Push(own_tick="overlap")
OPEN = Request(busy="queue", own_tick="queue")
HALF = Constant(value=0.5)
SLOW = Exponential(mean=0.5)
UNEQUAL = PoissonClock(rate=(1.0, 2.0, 1.0, 4.0))
BURSTS = GilbertElliott(to_bad=0.1, to_good=0.3)
ALOHA = Aloha(airtime=0.2)
CSMA = Csma(airtime=0.5, propagation_delay=0.05)
SLOTS = SlottedAloha(airtime=0.1, slot=0.25)
TURNS = Tdma(airtime=0.1, slot=0.25)
ANSWERS = Broadcast(interval=2.0, answer_at="after-delay", delay=Uniform(low=0.0, high=1.0))
SERVED = {"compute": HALF}


def network(n_owners: int = 4, updates: int = 1000, **parts: Any) -> Network:
    """Return a network whose budgets last, unless told otherwise."""
    allowed = parts.pop("answers_allowed", (10**9,) * n_owners)
    return Network(answers_allowed=allowed, updates=updates, **parts)


def said(network: Network, quantity: str) -> float | str | None:
    """Return the value that is predicted, or the reason; None where nothing is said."""
    found = [each for each in predict(network) if each.quantity == quantity]
    assert len(found) <= 1
    for each in found:
        assert (each.value is None) == (each.reason != ""), each
        return each.reason if each.value is None else each.value
    return None
