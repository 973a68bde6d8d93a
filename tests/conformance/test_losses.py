"""Losses, each on its own or in bursts: their shares, their memory, and whose they are."""

from itertools import islice
from math import sqrt
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.channels.packet_loss import GilbertElliott, packet_loss
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.streams import Streams
from asyncdp_sim.trace import EventKind, Trace
from tests.together import together

BURSTS = [
    GilbertElliott(to_bad=0.1, to_good=0.4),
    GilbertElliott(to_bad=0.6, to_good=0.7, loss_good=0.1, loss_bad=0.8),
    GilbertElliott(to_bad=1.0, to_good=1.0),
    GilbertElliott(to_bad=0.05, to_good=0.05, loss_good=0.3, loss_bad=0.3),
]
EACH = pytest.mark.parametrize("loss", [0.3, *BURSTS], ids=str)
CHAINS, LENGTH = 3000, 6
NAMES = ("loss", "loss_query", "loss_request", "loss_acknowledgement")


def table(loss: Any) -> np.ndarray:
    """Whether message m of chain c is lost, for independent owners."""
    streams = Streams(4)
    rows = [
        list(islice(packet_loss(loss).draws(lambda c=c: streams.generator("chain", c), 0), LENGTH))
        for c in range(CHAINS)
    ]
    return np.array(rows)


def moments(loss: Any) -> tuple[float, float]:
    """P(lost) and P(two in a row are lost), from the stationary law and one step of the chain."""
    if isinstance(loss, float):
        return loss, loss**2
    bad = loss.to_bad / (loss.to_bad + loss.to_good)
    law = np.array([1 - bad, bad])
    step = np.array([[1 - loss.to_bad, loss.to_bad], [loss.to_good, 1 - loss.to_good]])
    lost = np.array([loss.loss_good, loss.loss_bad])
    return float(law @ lost), float((law * lost) @ step @ lost)


@EACH
def test_shares_and_pairs_are_those_of_the_stationary_chain(loss: Any) -> None:
    """z-tests, |z| < 4.5 (fixed seed), over 3,000 independent owners, early and late.

    Standard errors √(p(1 − p)/3000). A chain that starts in the good state fails at the first
    message; one that takes no step fails at the pairs.
    """
    found = table(loss)
    share, pair = moments(loss)
    assert packet_loss(loss).shares(2) == pytest.approx((share, share))
    for at in (0, 1, LENGTH - 1):
        assert abs(found[:, at].mean() - share) <= 4.5 * sqrt(share * (1 - share) / CHAINS)
    for at in (0, LENGTH - 2):
        both = (found[:, at] & found[:, at + 1]).mean()
        assert abs(both - pair) <= 4.5 * sqrt(pair * (1 - pair) / CHAINS) + 1e-12


def test_never_is_no_iterator_and_nothing_is_drawn() -> None:
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


@EACH
def test_an_owners_losses_are_its_own(loss: Any) -> None:
    """Neither more owners, nor losses of other messages, nor retransmissions change them."""
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


def test_each_owner_has_its_own_probability() -> None:
    trace = traced(loss=(0.0, 0.5, 1.0))
    shares = [np.mean(lost(trace, owner)) for owner in (1, 2, 3)]
    assert shares[0] == 0
    assert 0.3 < shares[1] < 0.7
    assert shares[2] == 1


@together
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "loss",
    [1.0, (1.0, 1.0), GilbertElliott(to_bad=0.5, to_good=0.5, loss_good=1.0)],
    ids=["all", "each", "in either state"],
)
def test_a_loss_of_everything_is_refused(name: str, loss: Any) -> None:
    with pytest.raises(SpecError) as caught:
        Network(answers_allowed=(1, 1), updates=1, channel=Ideal(**{name: loss}))
    assert caught.value.lines() == [
        f"channel.{name}: given 1 for every owner; allowed is a loss < 1 for at least one owner: "
        "no update could ever happen"
    ]


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({"to_bad": 0.1}, ["loss.to_good: given nothing; this field is required"]),
        (
            {"to_bad": 0.0, "to_good": 1.5},
            [
                "loss.to_bad: given 0.0; allowed is a number > 0",
                "loss.to_good: given 1.5; allowed is a number ≤ 1",
            ],
        ),
        (
            {"to_bad": 0.1, "to_good": 0.1, "bad": 1.0},
            [
                "loss.bad: given an unknown key 'bad'; did you mean 'to_bad'? known keys: to_bad, "
                "to_good, loss_good, loss_bad"
            ],
        ),
        ([0.1, 2.0], ["loss[1]: given 2.0; allowed is a number ≤ 1"]),
        ("often", ["loss: given 'often'; allowed is a number"]),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_loss_is_said(fields: Any, lines: list[str]) -> None:
    with pytest.raises(SpecError) as caught:
        Ideal(loss=fields)
    assert caught.value.lines() == lines
