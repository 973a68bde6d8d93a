"""Servers live, each stepping at its own tick, against replay, bit for bit."""

from functools import partial

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import Polar, Setting
from asyncdp_sim.learning.answers import AnswerModel, Sample
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.laws import Constant, Exponential, Lognormal, NoTime
from asyncdp_sim.network.protocols import Servers
from asyncdp_sim.privacy.mechanisms import NoNoise
from asyncdp_sim.trace import Ending
from tests.one_in import one_in
from tests.unit.learning.problems import records
from tests.unit.learning.problems import scopes as replicates

scopes = partial(replicates, seed=3)

C, P, T, SIGMA, BOX = 5, 3, 13, 0.2, 0.8
RECORDS = records(2, (20, 30, 10, 25, 15), P)
PROBLEM = Quadratic.from_records(*RECORDS, SIGMA, BOX)
ALGORITHM = Polar(
    step=0.5, exponent=0.6, weight_total=3.0, weight_bound=9.0, additive_bound=0.2, batch=4
)
READS = ["minimum-wait", "client-averaged", "basic"]
FAR = Lognormal(mean=1.0, cv=2.0)
LATENCIES = {
    "none": (NoTime(), NoTime()),
    "all at one tick": (Constant(value=0.0), Constant(value=0.0)),
    "alike": (Exponential(mean=0.3), Constant(value=0.1)),
    "one server far away": (Exponential(mean=0.3), (NoTime(), Constant(value=4.0), FAR)),
}


def network(read, laws, **more):
    own, theirs = laws
    protocol = Servers(
        count=3, reach=2, read=read, window=4, latency=theirs, exchange=Exponential(mean=0.2)
    )
    return Network(
        answers_allowed=(T * protocol.answers_each,) * C,
        updates=T,
        answers_per_update=None,
        latency=Latency(query=own, answer=own),
        compute=own,
        protocol=protocol,
        **more,
    )


def reply(batch=True):
    sample = Sample(LinearRecords(*RECORDS), 4) if batch else None
    return AnswerModel(PROBLEM, NoNoise(np.zeros(C)), sample)


def steps_of(net):
    setting = Setting(PROBLEM.weights, P, T, SIGMA, BOX, protocol=net.protocol)
    return ALGORITHM.steps(setting)


def compare(net, count, batch=True, every=3):
    traces = [simulate(net, scope) for scope in scopes(count)]
    path = replay(traces, steps_of(net), reply(batch), scopes(count), every, "central")
    for r, scope in enumerate(scopes(count)):
        live = LiveLearning(steps_of(net), reply(batch), scope, every, "central")
        trace = simulate(net, scope, learning=live)
        assert trace.exchanges.tolist() == traces[r].exchanges.tolist()
        assert np.array_equal(live.trajectory().models(0), path.models(r))
        assert np.array_equal(live.trajectory().final[0], path.final[r])
        assert live.trajectory().clipped[0] == path.clipped[r]
    return traces, path


@one_in(3, "read", READS)
def test_live_equals_replay(read):
    """And when messages arrive matters only to those who take the first model to come."""
    finals = []
    for laws in LATENCIES.values():
        net = network(read, laws)
        traces, path = compare(net, 3)
        alone = replay(traces[:1], steps_of(net), reply(), scopes(1), 1, "central")
        assert np.array_equal(alone.final[0], path.final[0])
        finals.append(path.final)
        assert path.clipped.sum() > 0
    alike = [np.array_equal(final, finals[0]) for final in finals]
    assert alike == [True, True, read != "minimum-wait", read != "minimum-wait"]


@pytest.mark.parametrize("batch", [True, False])
def test_live_equals_replay_where_servers_are_ahead_and_ties_are_drawn(batch):
    """A far server: clients and servers are several steps ahead, and cut off by the horizon."""
    net = network("minimum-wait", LATENCIES["one server far away"], ties="shuffled", until=12.0)
    traces, _ = compare(net, 3, batch)
    assert {trace.ending for trace in traces} == {Ending.horizon}
    assert len({trace.n_updates for trace in traces}) > 1
    ahead = [trace.exchanges["end_k"].max() - trace.n_updates for trace in traces]
    assert max(ahead) >= 2
