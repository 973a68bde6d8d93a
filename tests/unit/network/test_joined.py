"""A user's own SimPy processes: what they do to others, and that replay is still live."""

from math import exp

import numpy as np
import pytest
import simpy

from asyncdp_sim.core.kernel import Priority
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.learning.algorithms import FedAsync, Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.trace import EventKind
from tests import tables, traces

TABLE = tables.table(__file__, "joined.toml")
ON_EACH = pytest.mark.parametrize("channel", TABLE["channels"], ids=str)
ALOHA, IDEAL = {"kind": "aloha", "airtime": 0.2}, {"kind": "ideal"}


def replicate(number=1):
    return Streams(7).within("replicate", number)


def network(channel, n_owners=3, **fields):
    asked = {"updates": 10**6, "until": 50.0, "protocol": {"kind": "push"}, **fields}
    return traces.network(n_owners, 10**6, channel=channel, **asked)


def jammer(env, network):
    silence = network.generator("jammer")
    while True:
        yield env.timeout(to_ticks(silence.exponential(2.0)))
        yield from network.hold(to_ticks(0.5))


def always(_, network):
    while True:
        yield from network.hold(to_ticks(1.0))


def shares(process, replicates=40):
    """Return the share of answers that arrive, and its standard error."""
    one = network(ALOHA, 1, until=2000.0)
    found = [simulate(one, replicate(r + 1), processes=[process]) for r in range(replicates)]
    arrived = np.array([trace.n_updates / trace.released.sum() for trace in found])
    return arrived.mean(), arrived.std(ddof=1) / replicates**0.5


@pytest.mark.long
def test_a_jammer_costs_what_is_predicted():
    """g/(g + h) of answers begin in silence; e^(−a/g) of them end in it: arrivals are Poisson.

    40 runs of 2000 units each have a standard error of about 0.002; within four of these.
    """
    (found, error), g, h, a = shares(jammer), 2.0, 0.5, 0.2
    assert error < 0.003
    assert abs(found - g / (g + h) * exp(-a / g)) < 4 * error


def test_a_jammer_that_does_not_outlast_a_beginning_is_caught():
    """The planted fault: one that destroys only what begins while it holds, e^(−a/g) = 0.905."""

    def brief(env, network):
        silence = network.generator("jammer")
        while True:
            yield env.timeout(to_ticks(silence.exponential(2.0)))
            yield from network.hold(1)
            yield env.timeout(to_ticks(0.5))

    found, error = shares(brief, 10)
    assert abs(found - 2 / 2.5 * exp(-0.1)) > 20 * error


def test_answers_that_touch_a_held_channel_are_lost_and_no_others():
    """It holds [1, 1.5) and [3, 3.5); answers take 0.2, and intervals are half-open."""

    def scripted(env, network):
        for start in (1.0, 3.0):
            yield env.timeout(to_ticks(start) - env.now)
            yield from network.hold(to_ticks(0.5))

    clock = {"kind": "scripted", "times": [[0.5, 0.8, 1.2, 1.5, 2.81, 3.3, 3.6]]}
    trace = simulate(network(ALOHA, 1, clock=clock), replicate(), processes=[scripted])
    assert (trace.update_ticks / 1e9).tolist() == [0.7, 1.0, 1.7, 3.8]


@ON_EACH
def test_whoever_holds_a_channel_for_ever_lets_nothing_through(channel):
    assert simulate(network(channel), replicate()).n_updates > 10
    assert simulate(network(channel), replicate(), processes=[always]).n_updates == 0


@ON_EACH
def test_learning_over_the_trace_is_learning_inside(channel):
    held = network(channel, latency={"query": {"kind": "exponential", "mean": 0.1}})
    rng = np.random.default_rng(1)
    x = [rng.normal(size=(9, 2)) for _ in range(3)]
    quadratic = Quadratic.from_records(x, [a @ [1.0, 2.0] for a in x], 0.3, 2.0)
    reply = AnswerModel(quadratic, LaplaceNoise(np.array([0.1, 0.0, 2.0])))
    steps = FedAsync(step=0.1, mixing=0.9).steps(Setting(quadratic.weights, 2, 100, 0.3, 2.0))
    live = LiveLearning(steps, reply, replicate(), 1)
    inside = simulate(held, replicate(), learning=live, processes=[jammer])
    trace = simulate(held, replicate(), processes=[jammer])
    assert trace.n_updates > 5
    assert inside.exchanges.tolist() == trace.exchanges.tolist()
    over = replay([trace], steps, reply, [replicate()], 1)
    assert np.array_equal(live.trajectory().models(0), over.models(0))


def test_what_joins_changes_nobody_elses_numbers():
    """A process that does nothing to the network leaves every event where it was."""

    def watches(env, network):
        draws = network.generator("watch")
        while True:
            yield env.timeout(1 + int(draws.integers(10**8)))

    each = network({"kind": "csma", "airtime": 0.2, "propagation_delay": 0.01})
    watched, alone = (simulate(each, replicate(), processes=p) for p in ([watches], []))
    assert watched.exchanges.tolist() == alone.exchanges.tolist()
    assert watched.owners.tolist() == alone.owners.tolist()


@pytest.mark.parametrize("listed", [list, np.array])
@pytest.mark.parametrize("case", TABLE["cuts"].values(), ids=TABLE["cuts"])
def test_a_power_cut(case, listed):
    """Those named are cut off, and those cut off are restored."""

    def cuts(env, network):
        for time, act, *owners in case["steps"]:
            if env.now < to_ticks(time):
                yield env.at(to_ticks(time), Priority.PRESENCE)
            getattr(network, act)(*map(listed, owners))

    clock = {"kind": "deterministic", "rate": 1.0, "phase": [0.1, 0.2, 0.3]}
    each = network(IDEAL, clock=clock, until=40.0)
    trace = simulate(each, replicate(), processes=[cuts], events=True)
    ticks = trace.events[trace.events["kind"] == EventKind.clock_tick]
    for owner, expected in enumerate(case["ticks"], start=1):
        quarters = ticks["tick"][ticks["owner"] == owner] // (10 * 10**9)
        assert np.bincount(quarters, minlength=4).tolist() == expected
    assert trace.owners["online"].tolist() == case["online"]


def test_all_of_simpy_works():
    """Processes that wait for each other, interrupts, conditions and resources."""
    seen = []

    def parent(env, _):
        store = simpy.Resource(env)

        def child(name):
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

    simulate(network(IDEAL), replicate(), processes=[parent])
    assert seen == [("one", 5), ("two interrupted", 7), ("two", 7), ("both", 7)]


def test_what_is_wrong_is_told():
    def impatient(env, _):
        yield env.timeout(0.5)

    with pytest.raises(TypeError) as caught:
        simulate(network(IDEAL), replicate(), processes=[impatient])
    assert str(caught.value) == (
        "given a delay of 0.5; allowed is a whole number of ticks: to_ticks(0.5) is 0.5 time units"
    )
    with pytest.raises(ValueError, match="owners share no channel"):
        simulate(network(IDEAL), replicate(), processes=[always])
    crowd = network(IDEAL, clock={"kind": "poisson", "population": "superposed"})
    with pytest.raises(ValueError, match="owners have clocks of their own"):
        simulate(crowd, replicate(), processes=[always])
