"""A user's own SimPy processes: what they do to others, and that replay is still live."""

from collections.abc import Generator, Iterator
from math import exp
from typing import Any

import numpy as np
import pytest
import simpy

from asyncdp_sim.core.kernel import Kernel, Priority
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.learning.algorithms import FedAsync, Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.channels import Aloha, Csma, Ideal, Parallel, SlottedAloha, Tdma
from asyncdp_sim.network.clocks import DeterministicClock, PoissonClock, ScriptedClock
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.network.simulate import Joined
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.trace import EventKind, Trace

Algorithm = Generator[simpy.Event, Any, Any]
CHANNELS = (
    Aloha(airtime=0.2),
    Aloha(airtime=0.2, capture_ratio=0.5),
    SlottedAloha(airtime=0.2, slot=0.2),
    Csma(airtime=0.2, propagation_delay=0.0),
    Csma(airtime=0.2, propagation_delay=0.01, persistence=1.0),
    Tdma(airtime=0.2, slot=0.2),
    Parallel(channels=3, each=Aloha(airtime=0.2)),
)
ON_EACH = pytest.mark.parametrize("channel", CHANNELS, ids=repr)


def replicate(number: int = 1) -> Scope:
    return Streams(7).within("replicate", number)


def network(channel: Any, n_owners: int = 3, **fields: Any) -> Network:
    asked = {"updates": 10**6, "until": 50.0, "protocol": Push(), **fields}
    return Network(answers_allowed=(10**6,) * n_owners, channel=channel, **asked)


def jammer(env: Kernel, network: Joined) -> Algorithm:
    silence = network.generator("jammer")
    while True:
        yield env.timeout(to_ticks(silence.exponential(2.0)))
        yield from network.hold(to_ticks(0.5))


def always(_: Kernel, network: Joined) -> Algorithm:
    while True:
        yield from network.hold(to_ticks(1.0))


def shares(process: Any, replicates: int = 40) -> np.ndarray:
    one = network(Aloha(airtime=0.2), 1, until=2000.0)
    traces = [simulate(one, replicate(r + 1), processes=[process]) for r in range(replicates)]
    return np.array([trace.n_updates / trace.released.sum() for trace in traces])


@pytest.mark.long
def test_a_jammer_costs_what_is_predicted():
    """g/(g + h) of answers begin in silence; e^(−a/g) of them end in it: arrivals are Poisson.

    40 runs of 2000 units each have a standard error of about 0.002; within four of these.
    """
    found, g, h, a = shares(jammer), 2.0, 0.5, 0.2
    error = found.std(ddof=1) / len(found) ** 0.5
    assert error < 0.003
    assert abs(found.mean() - g / (g + h) * exp(-a / g)) < 4 * error


def test_a_jammer_that_does_not_outlast_a_beginning_is_caught():
    """The planted fault: one that destroys only what begins while it holds, e^(−a/g) = 0.905."""

    def brief(env: Kernel, network: Joined) -> Algorithm:
        silence = network.generator("jammer")
        while True:
            yield env.timeout(to_ticks(silence.exponential(2.0)))
            yield from network.hold(1)
            yield env.timeout(to_ticks(0.5))

    found = shares(brief, 10)
    assert abs(found.mean() - 2 / 2.5 * exp(-0.1)) > 20 * found.std(ddof=1) / len(found) ** 0.5


def test_answers_that_touch_a_held_channel_are_lost_and_no_others():
    """It holds [1, 1.5) and [3, 3.5); answers take 0.2, and intervals are half-open."""

    def scripted(env: Kernel, network: Joined) -> Algorithm:
        for start in (1.0, 3.0):
            yield env.timeout(to_ticks(start) - env.now)
            yield from network.hold(to_ticks(0.5))

    times = (0.5, 0.8, 1.2, 1.5, 2.81, 3.3, 3.6)
    clock = ScriptedClock(times=(times,))
    trace = simulate(
        network(Aloha(airtime=0.2), 1, clock=clock), replicate(), processes=[scripted], events=True
    )
    assert trace.events is not None
    applied = trace.events[trace.events["kind"] == EventKind.update_applied]
    assert (applied["tick"] / 1e9).tolist() == [0.7, 1.0, 1.7, 3.8]


@ON_EACH
def test_whoever_holds_a_channel_for_ever_lets_nothing_through(channel):
    assert simulate(network(channel), replicate()).n_updates > 10
    assert simulate(network(channel), replicate(), processes=[always]).n_updates == 0


@ON_EACH
def test_learning_over_the_trace_is_learning_inside(channel):
    held = network(channel, latency=Latency(query=Exponential(mean=0.1)))
    rng = np.random.default_rng(1)
    x = [rng.normal(size=(9, 2)) for _ in range(3)]
    quadratic = Quadratic.from_records(x, [a @ [1.0, 2.0] for a in x], 0.3, 2.0)
    reply = AnswerModel(quadratic, LaplaceNoise(np.array([0.1, 0.0, 2.0])))
    setting = Setting(quadratic.weights, 2, 100, 0.3, 2.0)
    steps = FedAsync(step=0.1, mixing=0.9).steps(setting)
    live = LiveLearning(steps, reply, replicate(), 1)
    inside = simulate(held, replicate(), learning=live, processes=[jammer])
    trace = simulate(held, replicate(), processes=[jammer])
    assert trace.n_updates > 5
    assert inside.exchanges.tolist() == trace.exchanges.tolist()
    over = replay([trace], steps, reply, [replicate()], 1)
    assert np.array_equal(live.trajectory().models(0), over.models(0))


def test_what_joins_changes_nobody_elses_numbers():
    """A process that does nothing to the network leaves every event where it was."""

    def watches(env: Kernel, network: Joined) -> Algorithm:
        draws = network.generator("watch")
        while True:
            yield env.timeout(1 + int(draws.integers(10**8)))

    each = network(Csma(airtime=0.2, propagation_delay=0.01))
    assert _said(simulate(each, replicate(), processes=[watches])) == _said(
        simulate(each, replicate())
    )


def test_a_power_cut():
    def cut(env: Kernel, network: Joined) -> Algorithm:
        yield env.at(to_ticks(10.0), Priority.PRESENCE)
        network.cut([1])
        yield env.at(to_ticks(20.0), Priority.PRESENCE)
        network.cut()
        yield env.at(to_ticks(30.0), Priority.PRESENCE)
        network.restore()
        network.restore([1])

    clock = DeterministicClock(rate=1.0, phase=(0.1, 0.2, 0.3))
    each = network(Ideal(), clock=clock, until=40.0)
    trace = simulate(each, replicate(), processes=[cut], events=True)
    assert trace.events is not None
    ticks = trace.events[trace.events["kind"] == EventKind.clock_tick]
    times = [(ticks["tick"][ticks["owner"] == owner] / 1e9) for owner in (1, 2, 3)]
    assert [((t > 10) & (t < 20)).sum() for t in times] == [0, 10, 10]
    assert [((t > 20) & (t < 30)).sum() for t in times] == [0, 0, 0]
    assert [((t > 30) & (t < 40)).sum() for t in times] == [10, 10, 10]
    assert trace.owners["online"].tolist() == [0.5, 0.75, 0.75]


@pytest.mark.parametrize(
    ("cut", "restored", "again", "online"),
    [
        ([], None, [], [1.0, 1.0, 1.0]),
        (np.array([1, 3]), [3], [], [0.25, 1.0, 0.75]),
        ([1], None, None, [0.5, 0.75, 0.75]),  # the others were not cut off before
    ],
)
def test_those_named_are_cut_and_those_cut_are_restored(cut, restored, again, online):
    def cuts(env: Kernel, network: Joined) -> Algorithm:
        yield env.at(to_ticks(10.0), Priority.PRESENCE)
        network.cut(cut)
        yield env.at(to_ticks(20.0), Priority.PRESENCE)
        network.restore(restored)
        yield env.at(to_ticks(30.0), Priority.PRESENCE)
        network.cut(again)

    each = network(Ideal(), clock=DeterministicClock(rate=1.0), until=40.0)
    trace = simulate(each, replicate(), processes=[cuts])
    assert trace.owners["online"].tolist() == online


def test_all_of_simpy_works():
    """Processes that wait for each other, interrupts, conditions and resources."""
    seen = []

    def parent(env: Kernel, _: Joined) -> Algorithm:
        store = simpy.Resource(env)

        def child(name: str) -> Iterator[simpy.Event]:
            with store.request() as turn:
                yield turn
                try:
                    yield env.timeout(5)
                except simpy.Interrupt:
                    seen.append((f"{name} interrupted", env.now))
            seen.append((name, env.now))

        one, two = (env.process(child(name)) for name in ("one", "two"))
        yield one | env.timeout(100)
        yield env.timeout(2)
        two.interrupt()
        yield one & two
        seen.append(("both", env.now))

    simulate(network(Ideal()), replicate(), processes=[parent])
    assert seen == [("one", 5), ("two interrupted", 7), ("two", 7), ("both", 7)]


def test_what_is_wrong_is_told():
    def impatient(env: Kernel, _: Joined) -> Algorithm:
        yield env.timeout(0.5)

    with pytest.raises(TypeError) as caught:
        simulate(network(Ideal()), replicate(), processes=[impatient])
    assert str(caught.value) == (
        "given a delay of 0.5; allowed is a whole number of ticks: to_ticks(0.5) is 0.5 time units"
    )
    with pytest.raises(ValueError, match="owners share no channel"):
        simulate(network(Ideal()), replicate(), processes=[always])
    crowd = network(Ideal(), protocol=Push(), clock=PoissonClock(population="superposed"))
    with pytest.raises(ValueError, match="owners have clocks of their own"):
        simulate(crowd, replicate(), processes=[always])


def _said(trace: Trace) -> list[Any]:
    return trace.exchanges.tolist() + trace.owners.tolist()
