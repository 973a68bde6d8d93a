"""Every packet loss: its form, its share, its memory, and whose it is."""

import tomllib
from itertools import islice, repeat
from math import sqrt
from typing import Any

import numpy as np
import pytest
import tomli_w

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.channels.kind import GilbertElliott, PacketLoss, PacketLosses, packet_loss
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.trace import EventKind, Trace
from tests.conformance.members import examples
from tests.together import together

LOSSES = examples(PacketLosses)
EACH = pytest.mark.parametrize("spec", LOSSES, ids=str)
ALIKE = [each for each in LOSSES if len(set(each.shares(3))) == 1]
"""Of owners that lose alike."""
CHAINS, LENGTH = 3000, 6


@together
@EACH
def test_a_scenario_writes_it_in_a_form_of_its_own(spec):
    """As plain values, in TOML, and back; no ``kind`` is among them."""
    plain = Ideal(loss=spec.written).model_dump(mode="json")["loss"]
    assert "kind" not in str(plain)
    again = tomllib.loads(tomli_w.dumps({"loss": plain}))["loss"]
    assert packet_loss(Ideal(loss=again).loss) == spec


def test_a_member_that_leaves_something_open_is_refused():
    left = {"called": "left", "__module__": __name__}
    with pytest.raises(TypeError, match="leaves open: bursty, draws, shares, written"):
        type("Left", (PacketLoss,), left)


def table(loss: PacketLoss, owner: int) -> np.ndarray:
    """Whether message m of chain c is lost, for independent owners like this one (from 0)."""
    streams = Streams(4)
    rows = [
        loss.draws(lambda c=c: streams.generator("chain", c), owner) or repeat(False)
        for c in range(CHAINS)
    ]
    return np.array([list(islice(row, LENGTH)) for row in rows])


def pair_lost(loss: PacketLoss, share: float) -> float | None:
    """P(two in a row are lost): of two on their own, or by the law and one step of a chain."""
    if not loss.bursty:
        return share**2
    return of_chain(loss)[1] if isinstance(loss, GilbertElliott) else None


def of_chain(loss: GilbertElliott) -> tuple[float, float]:
    """P(lost) and P(two in a row are lost), from the stationary law and one step of the chain."""
    bad = loss.to_bad / (loss.to_bad + loss.to_good)
    law = np.array([1 - bad, bad])
    step = np.array([[1 - loss.to_bad, loss.to_bad], [loss.to_good, 1 - loss.to_good]])
    lost = np.array([loss.loss_good, loss.loss_bad])
    return float(law @ lost), float((law * lost) @ step @ lost)


@together
@pytest.mark.parametrize("loss", examples(GilbertElliott), ids=str)
def test_the_share_is_that_of_the_stationary_chain(loss):
    assert loss.shares(2) == pytest.approx((of_chain(loss)[0],) * 2)


@EACH
def test_shares_and_pairs_are_those_that_are_declared(spec):
    """z-tests, |z| < 4.5 (fixed seed), over 3,000 independent owners, early and late.

    Standard errors √(p(1 − p)/3000). A chain that starts in the good state fails at the first
    message; one that takes no step fails at the pairs.
    """
    shares = spec.shares(3)
    for owner in range(1 if spec in ALIKE else 3):
        found, share = table(spec, owner), shares[owner]
        for at in (0, 1, LENGTH - 1):
            assert abs(found[:, at].mean() - share) <= 4.5 * sqrt(share * (1 - share) / CHAINS)
        pair = pair_lost(spec, share)
        for at in (0, LENGTH - 2) if pair is not None else ():
            both = (found[:, at] & found[:, at + 1]).mean()
            assert abs(both - pair) <= 4.5 * sqrt(pair * (1 - pair) / CHAINS) + 1e-12


def test_never_is_no_iterator_and_nothing_is_drawn():
    def no_stream() -> np.random.Generator:
        raise AssertionError("nothing to draw")

    quiet = GilbertElliott(to_bad=0.5, to_good=0.5, loss_bad=0.0)
    for loss in (0.0, (0.0, 1.0), quiet):
        assert packet_loss(loss).draws(no_stream, 0) is None
    assert packet_loss((0.0, 1.0)).draws(Streams(1).within("x").generator, 1) is not None


def traced(n_owners: int = 3, **fields: Any) -> Trace:
    network = Network(
        answers_allowed=(10**6,) * n_owners,
        updates=10**6,
        until=30.0,
        clock=PoissonClock(rate=4.0),
        channel=Ideal(**fields),
        protocol=Push(),
    )
    return simulate(network, Streams(3).within("replicate", 1), events=True)


def lost(trace: Trace, owner: int) -> list[int]:
    """For each answer of an owner in turn, whether it was lost."""
    ends = (EventKind.answer_lost, EventKind.answer_delivered)
    mine = trace.events[trace.events["owner"] == owner]
    return (mine["kind"][np.isin(mine["kind"], ends)] == EventKind.answer_lost).tolist()


@pytest.mark.parametrize("spec", ALIKE, ids=str)
def test_an_owners_losses_are_its_own(spec):
    """Neither more owners, nor losses of other messages, nor retransmissions change them."""
    loss = spec.written
    few = traced(loss=loss)
    more = traced(5, loss=loss)
    others = traced(loss=loss, loss_query=0.3, retransmissions=2)
    for owner in (1, 2, 3):
        own = lost(few, owner)
        assert len(own) > 50
        assert lost(more, owner) == own
        again = lost(others, owner)
        both = min(len(own), len(again))
        assert again[:both] == own[:both]
    assert lost(few, 1)[:50] != lost(few, 2)[:50]


def test_each_owner_has_its_own_probability():
    trace = traced(loss=(0.0, 0.5, 1.0))
    shares = [np.mean(lost(trace, owner)) for owner in (1, 2, 3)]
    assert shares[0] == 0
    assert 0.3 < shares[1] < 0.7
    assert shares[2] == 1
