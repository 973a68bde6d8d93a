"""No prediction claims more than holds: against short simulations, and for any valid network."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.measures import summarise, updates_until_all
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import Bernoulli, OnOff
from asyncdp_sim.network.channels import Aloha, Csma, Ideal, Parallel, SlottedAloha, Tdma
from asyncdp_sim.network.channels.kind import GilbertElliott
from asyncdp_sim.network.clocks import PoissonClock, SaturatedClock
from asyncdp_sim.network.laws import Constant, Exponential, NoTime, Uniform
from asyncdp_sim.network.protocols import Broadcast, Push, Request
from asyncdp_sim.network.topology import Star
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.predict.channels import access_curve, endless_curve
from asyncdp_sim.theory.predict.staleness import staleness_law
from asyncdp_sim.theory.predict.update_order import gap_law, selection, shares
from asyncdp_sim.theory.prediction import Unknown
from tests.one_in import one_in
from tests.properties.networks import FIXED, networks
from tests.unit.theory.spoken import HALF, OPEN, OVERLAP, PUSH, SLOW, network

pytestmark = pytest.mark.oracle("predictions for a network's summary")

UPDATES = 400
REPLICATES = 20
UNEQUAL = PoissonClock(rate=(1.0, 2.0, 1.0, 4.0))
BURSTS = GilbertElliott(to_bad=0.2, to_good=0.4, loss_good=0.05)

SIMULATED = {
    "lock": {"clock": UNEQUAL, "compute": (HALF, SLOW, NoTime(), Uniform(low=0.0, high=1.0))},
    "lock on a channel": {
        "channel": Aloha(airtime=0.3), "availability": Bernoulli(probability=0.7),
    },
    "queue": {"protocol": OPEN, "compute": (Constant(value=0.1), Exponential(mean=0.1)) * 2},
    "push": {"protocol": PUSH, "clock": UNEQUAL, "compute": (HALF, SLOW, NoTime(), SLOW)},
    "overlap": {"protocol": OVERLAP, "clock": UNEQUAL, "topology": Star(latency=(0.1, 0, 0.2, 0))},
    "saturated": {"protocol": PUSH, "clock": SaturatedClock(), "compute": (HALF, SLOW) * 2},
    "short slots": {"protocol": PUSH, "channel": SlottedAloha(airtime=0.05, slot=0.25)},
    "turns": {"protocol": PUSH, "clock": UNEQUAL, "channel": Tdma(airtime=0.1, slot=0.2, frame=6)},
    "side by side": {
        "protocol": OVERLAP, "latency": Latency(answer=SLOW),
        "channel": Parallel(channels=2, each=Csma(airtime=0.3, propagation_delay=0.1)),
    },
    "bursts": {
        "protocol": PUSH, "compute": SLOW, "availability": OnOff(on=SLOW, off=HALF),
        "channel": Ideal(loss=BURSTS, retransmissions=2),
    },
}  # fmt: skip


@one_in(3, "parts", SIMULATED.values(), ids=SIMULATED)
def test_predictions_are_what_a_simulation_measures(parts):
    made, streams = network(updates=UPDATES, **parts), Streams(29)
    traces = [simulate(made, streams.within("replicate", r)) for r in range(REPLICATES)]
    measured = summarise(traces, made.airtime)
    until = [updates_until_all(trace) for trace in traces]
    claimed = [each for each in predict(made) if each.value is not None]
    assert len(claimed) >= 3
    for each in claimed:
        value = getattr(measured, each.quantity)
        interval = measured.intervals.get(each.quantity)
        if each.quantity == "updates_until_all":
            error = np.std(until, ddof=1) / sqrt(REPLICATES)
        else:
            error = (interval[1] - interval[0]) / 2 / 2.093  # Student's t, 19 degrees
        edge = each.value * made.n_owners / UPDATES  # a run begins with idle owners
        assert abs(value - each.value) <= 5 * error + edge + 1e-9, (each, value, error)


LAWS = st.sampled_from([NoTime(), Constant(value=0.25), Exponential(mean=0.5)])
PROTOCOLS = st.sampled_from(
    [
        Request(),
        OPEN,
        Request(busy="queue"),
        Request(busy="retry", retry=SLOW),
        Request(timeout=1.0, offline="vanish"),
        PUSH,
        OVERLAP,
        Push(offline="vanish"),
        Broadcast(interval=1.0),
        Broadcast(interval=1.0, answer_at="after-delay", delay=Uniform(low=0.0, high=0.5)),
        Broadcast(interval=1.0, own_tick="overlap", superseded="discard"),
    ]
)
SINGLE = st.sampled_from(
    [
        Aloha(airtime=0.1),
        Aloha(rate_bytes=1e3, request_airtime=0.1),
        Aloha(airtime=0.1, capture_ratio=2.0),
        SlottedAloha(airtime=0.1, slot=0.2),
        Csma(airtime=0.1, propagation_delay=0.01),
        Csma(airtime=0.1, propagation_delay=0.2, collision_detection=True),
        Csma(airtime=0.1, propagation_delay=0.01, persistence=0.5),
        Tdma(airtime=0.1, slot=0.2, request_airtime=0.05),
    ]
)
CHANNELS = st.one_of(
    st.just(Ideal()),
    SINGLE,
    st.builds(
        Parallel,
        channels=st.integers(1, 3),
        each=SINGLE,
        choice=st.sampled_from(["random", "by-owner"]),
    ),
)
LOSSES = st.sampled_from([0.0, 0.3, BURSTS])


@st.composite
def anything(draw: st.DrawFn) -> Network:
    """Draw a network of any protocol and channel, with losses and saturated clocks too."""
    drawn = draw(networks())
    parts = {name: getattr(drawn, name) for name in type(drawn).model_fields}
    if draw(st.booleans()):
        parts |= {"clock": draw(st.sampled_from([PoissonClock(), SaturatedClock()]))}
    lost = {f"loss{name}": draw(LOSSES) for name in ("", "_query", "_acknowledgement")}
    again = {"retransmissions": draw(st.integers(0, 2)), "resend": draw(st.just("same"))}
    channel = draw(CHANNELS).model_copy(update=lost | again if draw(st.booleans()) else {})
    topology = draw(st.sampled_from([None, Star(), Star(latency=0.1)]))
    parts |= {"protocol": draw(PROTOCOLS), "channel": channel, "topology": topology}
    if draw(st.booleans()):
        parts |= {"answers_allowed": (10**9,) * drawn.n_owners, "latency": Latency()}
        parts |= {"compute": draw(LAWS)}
    try:
        return Network(**parts)
    except SpecError:
        assume(False)
        raise


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
