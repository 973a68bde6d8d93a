"""The same for owners that share a channel, and for queries to all of them."""

from math import exp

import numpy as np

from asyncdp_sim.network import Latency
from asyncdp_sim.network.availability import Bernoulli
from asyncdp_sim.network.channels import Aloha, Csma, Parallel, Tdma
from asyncdp_sim.network.channels.dcf import Dcf
from asyncdp_sim.network.clocks import SaturatedClock
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.protocols import Broadcast
from asyncdp_sim.theory.formulas.dcf import exact
from tests.unit.theory.spoken import (
    ALOHA,
    ANSWERS,
    CSMA,
    FAILS,
    HALF,
    OVERLAP,
    PUSH,
    SERVED,
    SLOTS,
    SLOW,
    TURNS,
    UNEQUAL,
)

FINITE = (exp(-0.2) / 1.2) ** 3  # pure ALOHA, four owners, ρ = 0.2
BEGUN = 4 / 1.2


def slotted(n_owners, rate, slot, airtime):
    """Return transmissions per slot and owner by the chain of one owner: sent or not."""
    p, r = 1 - exp(-rate * slot), 1 - exp(-rate * (slot - airtime))
    chain = np.array([[1 - p, p], [1 - r, r]])
    q = np.linalg.matrix_power(chain, 200)[0, 1]
    return n_owners * q / slot, (1 - q) ** (n_owners - 1)


SENT, SPARED = slotted(4, 1.0, 0.25, 0.1)


COUNTING = Dcf(airtime=0.5, slot=0.1, window=4, doublings=1)

PREDICTED = {
    # a shared channel, ORACLES 6 to 11
    "ALOHA": ({"protocol": PUSH, "channel": ALOHA}, "throughput", BEGUN * FINITE),
    "ALOHA collides": ({"protocol": PUSH, "channel": ALOHA}, "collision_rate", 1 - FINITE),
    "ALOHA loads": ({"protocol": PUSH, "channel": ALOHA}, "offered_load", 0.2 * BEGUN),
    "ALOHA by bytes": (
        {"protocol": PUSH, "channel": Aloha(rate_bytes=240.0)}, "offered_load", 0.2 * BEGUN,
    ),
    "ALOHA, requests unused": (
        {"protocol": PUSH, "channel": Aloha(airtime=0.2, request_airtime=9.0)},
        "throughput", BEGUN * FINITE,
    ),
    "ALOHA endless": (
        {"protocol": OVERLAP, "clock": UNEQUAL, "channel": ALOHA, "compute": SLOW},
        "throughput", 8 * exp(-3.2),
    ),
    "ALOHA captures": (
        {"protocol": OVERLAP, "channel": Aloha(airtime=0.2, capture_ratio=1.0)},
        "collision_rate", 1 - exp(-0.8),
    ),
    "ALOHA, unequal": (
        {"protocol": PUSH, "clock": UNEQUAL, "channel": ALOHA}, "throughput", "owners' rates diff",
    ),
    "ALOHA computes": (
        {"protocol": PUSH, "channel": ALOHA, **SERVED}, "throughput", "queries or computing take",
    ),
    "ALOHA loses": (
        {"protocol": PUSH, "channel": Aloha(airtime=0.2, loss=0.1)}, "throughput", "messages are",
    ),
    "ALOHA waits": (
        {"protocol": PUSH, "channel": ALOHA, "latency": Latency(acknowledgement=HALF)},
        "throughput", "owners wait for acknowledgements",
    ),
    "ALOHA saturated": (
        {"protocol": PUSH, "clock": SaturatedClock(), "channel": ALOHA},
        "throughput", "clocks are saturated",
    ),
    "ALOHA spent": (
        {"protocol": PUSH, "channel": ALOHA, "answers_allowed": (700,) * 4},
        "collision_rate", "a budget of 700 answers may be spent",
    ),
    "slots": ({"protocol": PUSH, "channel": SLOTS}, "throughput", SENT * SPARED),
    "slots load": ({"protocol": PUSH, "channel": SLOTS}, "offered_load", 0.1 * SENT),
    "slots endless": (
        {"protocol": OVERLAP, "channel": SLOTS}, "throughput", 4 * exp(-1.0),
    ),
    "CSMA endless": (
        {"protocol": OVERLAP, "channel": CSMA},
        "throughput", 4 * exp(-0.2) / (2 * 1.2 + exp(-0.2)),
    ),
    "CSMA, persistent": (
        {"protocol": PUSH, "channel": Csma(airtime=0.5, propagation_delay=0.05, persistence=1.0)},
        "throughput", "no formula is known for this variant",
    ),
    "CSMA, backoff": (
        {"protocol": PUSH, "channel": Csma(airtime=0.5, propagation_delay=0.05, backoff=SLOW)},
        "throughput", "no formula is known for this variant",
    ),
    "CSMA, deaf": (
        {"protocol": PUSH, "channel": Csma(airtime=0.05, propagation_delay=0.05)},
        "throughput", "the formula needs a propagation delay below",
    ),
    "CSMA stops": (
        {"protocol": PUSH,
         "channel": Csma(airtime=0.5, propagation_delay=0.05, collision_detection=True)},
        "offered_load", "answers that are broken off",
    ),
    "turns never collide": ({"channel": TURNS, "compute": SLOW}, "collision_rate", 0.0),
    "turns collide": (
        {"protocol": OVERLAP, "channel": TURNS}, "collision_rate", "jobs of one owner wait",
    ),
    "turns": (
        {"protocol": PUSH, "channel": TURNS}, "throughput",
        4 / (1 + exp(-0.9) / (1 - exp(-1.0))),
    ),
    "turns, longer frame": (
        {"protocol": PUSH, "channel": Tdma(airtime=0.1, slot=0.25, frame=8)}, "throughput",
        4 / (2 * (1 + exp(-1.9) / (1 - exp(-2.0)))),
    ),
    "turns saturated": (
        {"protocol": PUSH, "clock": SaturatedClock(), "channel": TURNS, "compute": HALF},
        "throughput", 4.0,
    ),
    "turns miss": (
        {"protocol": PUSH, "clock": SaturatedClock(), "channel": TURNS,
         "compute": Constant(value=0.95)},
        "throughput", "jobs do not surely end within a frame",
    ),
    "turns, any time": (
        {"protocol": PUSH, "clock": SaturatedClock(), "channel": TURNS, "compute": SLOW},
        "throughput", "jobs do not surely end within a frame",
    ),
    "DCF": (
        {"protocol": PUSH, "channel": COUNTING, "clock": SaturatedClock(), "n_owners": 2},
        "throughput", exact(2, 4, 1).access(0.1, 0.5).success_rate,
    ),
    "DCF, many": (
        {"protocol": PUSH, "channel": COUNTING, "clock": SaturatedClock(), "n_owners": 9},
        "throughput", "of so many states only Bianchi's approximation is known, 0.5364",
    ),
    "DCF, sparse": (
        {"protocol": PUSH, "channel": COUNTING},
        "throughput", "the chain is of owners that always have an answer",
    ),
    "DCF, slow": (
        {"protocol": PUSH, "channel": COUNTING, "clock": SaturatedClock(), "n_owners": 2,
         "compute": Constant(value=0.2)},
        "throughput", "owners are not ready again within the 0 after a transmission",
    ),
    "DCF, given up": (
        {"protocol": PUSH, "channel": COUNTING.model_copy(update={"retransmissions": 2}),
         "clock": SaturatedClock(), "n_owners": 2},
        "throughput", "answers may be given up after 3 attempts",
    ),
    "DCF, anew": (
        {"protocol": PUSH, "clock": SaturatedClock(), "n_owners": 2,
         "channel": COUNTING.model_copy(update={"retransmissions": 2, "resend": "fresh"})},
        "throughput", "answers that are sent again are computed anew",
    ),
    "side by side": (
        {"protocol": OVERLAP, "channel": Parallel(channels=4, each=ALOHA)},
        "throughput", 4 * exp(-0.4),
    ),
    "side by side, alike": (
        {"protocol": PUSH, "channel": Parallel(channels=4, each=ALOHA)},
        "throughput", "owners choose among channels at random",
    ),
    "side by side, own": (
        {"protocol": PUSH, "n_owners": 5,
         "channel": Parallel(channels=4, each=ALOHA, choice="by-owner")},
        "throughput", (3 + 2 * exp(-0.2) / 1.2) / 1.2,
    ),
    "side by side, turns": (
        {"protocol": PUSH, "channel": Parallel(channels=2, each=TURNS)},
        "throughput", 4 / (1 + exp(-0.9) / (1 - exp(-1.0))),
    ),
    # broadcast, ORACLES 21
    "broadcast begins": (
        {"protocol": ANSWERS, "channel": ALOHA, "availability": Bernoulli(probability=0.5)},
        "offered_load", 2 * 0.2 / 2,
    ),
    "broadcast": (
        {"protocol": ANSWERS, "channel": ALOHA, "n_owners": 2},
        "throughput", 2 * (0.6**2 + 0.8**2 - 0.6**2) / 2,
    ),
    "broadcast captures": (
        {"protocol": ANSWERS, "channel": Aloha(airtime=0.2, capture_ratio=1.0)},
        "throughput", "the channel is not pure ALOHA",
    ),
    "broadcast travels": (
        {"protocol": ANSWERS, "channel": ALOHA, "latency": Latency(answer=HALF)},
        "throughput", "queries, computing or answers take time",
    ),
    "broadcast, links": (
        {"protocol": ANSWERS, "channel": ALOHA, "topology": FAILS},
        "throughput", "links fail",
    ),
    "broadcast, short": (
        {"protocol": ANSWERS.model_copy(update={"interval": 1.1}), "channel": ALOHA},
        "collision_rate", "W + airtime > interval",
    ),
    "broadcast at ticks": (
        {"protocol": Broadcast(interval=2.0), "channel": ALOHA},
        "throughput", "answers do not wait for a uniform time",
    ),
    "broadcast alone": ({"protocol": ANSWERS}, "throughput", "owners share no channel"),
}  # fmt: skip
