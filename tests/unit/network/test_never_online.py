"""Owners that can never be online do not keep a run waiting."""

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.availability import Bernoulli, Diurnal, OnOff
from asyncdp_sim.network.laws import Constant, Gamma


def trace(n_owners, availability, until=None):
    net = Network(
        answers_allowed=(3,) * n_owners, updates=10, until=until, availability=availability
    )
    return simulate(net, Streams(1).within("replicate", 1))


@pytest.mark.parametrize(
    "availability",
    [
        Bernoulli(probability=0.0),
        Bernoulli(probability=(0.0, 0.0)),
        Diurnal(period=1.0, low=0.0, high=0.0),
    ],
)
def test_nobody_at_all_is_refused(availability):
    with pytest.raises(SpecError) as caught:
        trace(2, availability)
    [fault] = caught.value.faults
    assert fault.key == "availability.kind"
    assert fault.allowed == "no owner is ever online, so no update can ever happen"


def test_a_first_period_beyond_the_clock_is_cut():
    wild = OnOff(on=Gamma(mean=1e9, cv=100.0), off=Constant(value=1.0))
    assert trace(1, wild, until=1.0).end_tick == 10**9
