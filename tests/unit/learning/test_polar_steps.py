"""POLAR-SGD's steps against a slow obvious twin, and what a server may do before another."""

from itertools import count, product

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import AnswerBatch, ParameterServer, Polar, Setting
from asyncdp_sim.learning.algorithms.obfuscation import draw_additive, draw_weights
from asyncdp_sim.learning.answers import AnswerModel, Answers
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Rounds, Servers
from asyncdp_sim.privacy.mechanisms import LaplaceNoise, NoNoise
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.scenario import describe
from tests.tables import table
from tests.unit.learning.problems import records

# POLAR-SGD's steps against a slow obvious twin, and what a server may do before another.

C, P, T, SIGMA, BOX = 4, 3, 12, 0.3, 0.3
READS = ["minimum-wait", "client-averaged", "basic"]
PROBLEM = Quadratic.from_records(*records(1, (30, 10, 20, 40), P), SIGMA, BOX)
STRONG = {"step": 0.4, "exponent": 0.6, "weight_total": 2.0, "weight_bound": 6.0}


def polar(**more):
    return Polar(**STRONG | {"additive_bound": 0.1} | more)


def servers(read="minimum-wait", **more):
    return Servers(**{"count": 3, "reach": 2, "read": read, "window": 4} | more)


def steps_of(algorithm, protocol, box=BOX):
    return algorithm.steps(Setting(PROBLEM.weights, P, T, SIGMA, box, protocol=protocol))


def scopes(count=1, seed=5):
    return [Streams(seed).within("replicate", r) for r in range(1, count + 1)]


def exact(noise=0.0):
    scale = np.full(C, noise)
    return AnswerModel(PROBLEM, LaplaceNoise(scale) if noise > 0 else NoNoise(scale))


def network(protocol, updates=T, **more):
    law = Exponential(mean=0.3)
    return Network(
        answers_allowed=(updates * getattr(protocol, "answers_each", 1),) * C,
        updates=updates,
        answers_per_update=None,
        latency=Latency(query=law, answer=law),
        protocol=protocol,
        **more,
    )


def reference(algorithm, protocol, trace, scope):
    """Return the mean of the servers after each update: every line as the paper has it."""
    own = [scope.generator("client", h, "perturbation") for h in range(1, C + 1)]
    used, x = trace.updates, np.zeros((protocol.count, P))
    path, size = [x.mean(axis=0)], (protocol.window, protocol.n_reached)
    for k in range(T):
        if k % protocol.window == 0:
            several = P if algorithm.per_coordinate else None
            fixed = {"n_features": several, "every_step": algorithm.every_step}
            w = draw_weights(own, *size, algorithm.weight_total, algorithm.weight_bound, **fixed)
            d = draw_additive(own, *size, P, algorithm.additive_bound)
        total = np.zeros_like(x)
        for row in used[used["k"] == k + 1]:
            h, i = int(row["owner"]), k % protocol.window
            near = np.array(protocol.reached(h)) - 1
            u = x[row["peer"] - 1] if row["peer"] > 0 else x[near].mean(axis=0)
            g = PROBLEM.weights[h - 1] * (PROBLEM.gradient([h - 1], u[None])[0] + SIGMA * u)
            for slot, server in enumerate(near):
                if protocol.read != "basic" or server == row["peer"] - 1:
                    total[server] += w[h - 1, i, slot] * g + d[h - 1, i, slot]
        alpha = algorithm.step * (k // protocol.window + 1) ** -algorithm.exponent
        x = np.clip(x - alpha * total, -BOX, BOX)
        if (k + 1) % protocol.window == 0:
            x[:] = x.mean(axis=0)
        path.append(x.mean(axis=0))
    return np.array(path)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("more", [{}, {"every_step": True}, {"per_coordinate": True}], ids=str)
def test_replay_is_the_obvious_twin(read, more):
    algorithm, protocol = polar(**more), servers(read)
    trace = simulate(network(protocol), scopes()[0])
    found = replay([trace], steps_of(algorithm, protocol), exact(), scopes(), 1)
    twin = reference(algorithm, protocol, trace, scopes()[0])
    assert np.allclose(found.models(0), twin, rtol=0, atol=1e-12)
    assert found.clipped[0] > 0
    assert np.ptp(twin) > 0.2


def iterations(steps, state, answers, trace):
    """Yield k after letting every client answer iteration k + 1 of a trace's reads."""
    used = trace.updates
    for k in range(trace.n_updates):
        for row in used[used["k"] == k + 1]:
            rows = np.zeros(1, dtype=np.int64)
            turn = AnswerBatch(np.array([row["owner"] - 1]), None, np.array([row["peer"]]), rows)
            points = steps.query(state, turn)
            steps.apply(state, turn, points, answers.give(turn, points))
        yield k


@pytest.mark.parametrize("read", READS)
def test_servers_agree_exactly_after_each_window_and_not_before(read):
    algorithm, protocol = polar(), servers(read)
    trace = simulate(network(protocol), scopes()[0])
    steps = steps_of(algorithm, protocol)
    state, answers = steps.init(scopes()), Answers(steps, exact(), scopes())
    for k in iterations(steps, state, answers, trace):
        steps.update(state, np.zeros(1, dtype=np.int64))
        apart = np.ptp(state.servers, axis=1).max()
        assert (apart == 0) == ((k + 1) % protocol.window == 0)
        assert np.allclose(state.central, state.servers.mean(axis=1), rtol=0, atol=1e-15)
        if apart == 0:
            assert np.array_equal(state.central, state.servers[:, 0])
    assert state.iterations == {}


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 2, 0)])
def test_servers_may_step_one_by_one_in_any_order(order):
    """As they do live; then the update itself has nothing left to do but to judge."""
    algorithm, protocol = polar(), servers()
    trace = simulate(network(protocol), scopes()[0])
    steps = steps_of(algorithm, protocol)
    whole, parts = steps.init(scopes()), steps.init(scopes())
    asked = [Answers(steps, exact(), scopes()) for _ in range(2)]
    pairs = zip(*map(iterations, (steps,) * 2, (whole, parts), asked, (trace,) * 2), strict=True)
    for _ in pairs:
        steps.update(whole)
        for server in order:
            steps.advance_server(parts, server)
        before = parts.servers.copy()
        steps.update(parts)
        assert np.array_equal(before, parts.servers)
        assert np.array_equal(whole.servers, parts.servers)
        assert np.array_equal(whole.central, parts.central)
        assert np.array_equal(whole.clipped, parts.clipped)


def test_the_order_of_answers_does_not_show_in_the_bits():
    algorithm, protocol = polar(), servers()
    steps = steps_of(algorithm, protocol)
    points, gradients = np.random.default_rng(1).normal(size=(2, C, P))
    found = []
    for owners in (np.arange(C), np.array([2, 0, 3, 1])):
        state = steps.init(scopes())
        for h in owners:
            turn = AnswerBatch(
                np.array([h]), None, np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
            )
            steps.apply(state, turn, points[[h]], gradients[[h]])
        steps.update(state)
        found.append(state.servers)
    assert np.array_equal(*found)


def test_a_query_is_the_server_s_model_or_the_mean_of_those_that_a_client_talks_to():
    steps = steps_of(polar(), servers())
    state = steps.init(scopes(2))
    state.servers[:] = np.arange(2 * 3 * P, dtype=float).reshape(2, 3, P)
    owners, rows = (
        np.array([2, 2, 0, 3]),
        np.array([0, 0, 1, 1]),
    )  # N_3 = {3, 1}, N_1 = N_4 = {1, 2}
    points = steps.query(state, AnswerBatch(owners, None, np.array([1, 0, 2, 0]), rows))
    zero, one = state.servers
    expected = [zero[0], (zero[2] + zero[0]) / 2, one[1], (one[0] + one[1]) / 2]
    assert np.array_equal(points, expected)


def test_with_one_step_windows_it_is_gradient_descent_whatever_is_hidden():
    """Δ = 1, servers in agreement, no projection: x̄ ← x̄ − (M/S) α_k ∇f(x̄), to the grid."""
    algorithm = polar(step=0.3, weight_bound=9.0)
    path = {}
    for read in READS:
        protocol = servers(read, window=1)
        traces = [simulate(network(protocol), scopes()[0])]
        path[read] = replay(traces, steps_of(algorithm, protocol, 50.0), exact(), scopes(), 1)
    plain = ParameterServer(step=0.3 * 2 / 3, exponent=0.6)
    traces = [simulate(network(Rounds()), scopes()[0])]
    usual = replay(traces, steps_of(plain, Rounds(), 50.0), exact(), scopes(), 1)
    for found in path.values():
        assert np.allclose(found.models(0), usual.models(0), rtol=0, atol=1e-9)
        assert not np.array_equal(found.models(0), usual.models(0))


def test_a_model_that_has_overflowed_spoils_its_own_replicate_alone():
    steps = steps_of(polar(), servers(window=1))
    ends = []
    for spoil in (False, True):
        state = steps.init(scopes(2))
        owners, rows = np.tile(np.arange(C), 2), np.repeat([0, 1], C)
        gradients = np.ones((2 * C, P))
        if spoil:
            gradients[0] = np.nan
        turn = AnswerBatch(owners, None, np.ones(2 * C, dtype=np.int64), rows)
        steps.apply(state, turn, np.zeros((2 * C, P)), gradients)
        steps.update(state, np.arange(2))
        ends.append(state.central)
    assert np.isnan(ends[1][0]).all()
    assert np.array_equal(ends[0][1], ends[1][1])
    assert np.isfinite(ends[0]).all()


def test_replicates_that_have_ended_stay_where_they_are():
    steps = steps_of(polar(), servers(window=2))
    state = steps.init(scopes(2))
    for k in count(1):
        rows = np.array([0, 1] if k < 4 else [1])
        owners = np.tile(np.arange(C), len(rows))
        turn = AnswerBatch(owners, None, np.ones_like(owners), np.repeat(rows, C))
        steps.apply(state, turn, np.zeros((len(owners), P)), np.ones((len(owners), P)))
        before = state.central.copy()
        steps.update(state, rows)
        assert np.array_equal(state.central[0], before[0]) == (k >= 4)
        assert not np.array_equal(state.central[1], before[1])
        if k == 6:
            break


def test_clients_draw_their_own_batches_and_noise():
    """Row j of a client's stream is its j-th answer, whoever answers in between."""
    reply, steps = exact(noise=1.0), steps_of(polar(), servers())
    points = np.zeros((1, P))
    one, two = (Answers(steps, reply, scopes(2)) for _ in range(2))
    found = {}
    for answers, pairs in [(one, product((0, 1), range(C))), (two, product((1, 0), (3, 0, 2, 1)))]:
        for row, owner in pairs:
            turn = AnswerBatch(np.array([owner]), rows=np.array([row]))
            found.setdefault((row, owner), []).append(answers.give(turn, points)[0])
    assert len({tuple(each[0]) for each in found.values()}) == 2 * C
    for once, again in found.values():
        assert np.array_equal(once, again)


def test_it_needs_a_box_and_servers():
    for protocol, box in [(servers(), None), (Rounds(), BOX), (None, BOX)]:
        with pytest.raises(ValueError, match="box of models and protocol servers"):
            steps_of(polar(), protocol, box)


# POLAR-SGD in a scenario: what it is called, what is said of it, and what does not suit it.

RAW = table(__file__, "scenes.toml")["polar"]


def test_a_scenario_without_a_finite_epsilon():
    scenario = parse(Scenario, RAW)
    assert "privacy: obfuscated, no DP guarantee" in describe(scenario)
    assert scenario.network.answers_allowed == (12,) * 3  # one for each server
    assert scenario.network.answers_per_update is None


@pytest.mark.parametrize("case", table(__file__, "polar_refused.toml")["refused"])
def test_what_does_not_suit_it_is_refused_in_a_line_each(case):
    with pytest.raises(SpecError) as caught:
        parse(Scenario, RAW | case["part"])
    assert [fault.key for fault in caught.value.faults] == case["keys"]
