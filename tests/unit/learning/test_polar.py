"""POLAR: perturbed draws and secure consensus, steps against a twin, servers live and on graphs."""

from fractions import Fraction
from itertools import count, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.learning.algorithms import AnswerBatch, ParameterServer, Polar, Setting
from asyncdp_sim.learning.algorithms import polar as module
from asyncdp_sim.learning.algorithms.polar import (
    RESOLUTION,
    PolarSteps,
    draw_additive,
    draw_weights,
    secure_consensus,
)
from asyncdp_sim.learning.answers import AnswerModel, Answers, Sample
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.graphs import Complete, Edges, GraphsInTurn, Ring, matrices_of, neighbours
from asyncdp_sim.network.laws import Constant, Exponential, Lognormal, NoTime
from asyncdp_sim.network.protocols import Rounds, Servers
from asyncdp_sim.privacy.mechanisms import LaplaceNoise, NoNoise
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.theory.formulas.convergence import disagreement_left
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.trace import Ending, EventKind
from tests.one_in import one_in
from tests.tables import table
from tests.unit.learning.problems import records, scopes

# Draws of POLAR's clients: both conditions to the last bit, and the law that is documented.

FEW = settings(max_examples=40, deadline=None)
SEEDS = st.integers(0, 10**6)
CLIENTS = {"window": st.integers(1, 6), "n_servers": st.integers(2, 5), "seed": SEEDS}


def clients(n_clients, seed=1):
    return [np.random.default_rng([seed, client]) for client in range(n_clients)]


def worst_sums(weights, total, bound):
    """Return, in exact rationals, the worst |ΣW − M| and Σ|W| − M̄ over rows of summed cells."""
    rows = [[Fraction(cell) for cell in row] for row in weights.tolist()]
    learned = max(abs(sum(row) - Fraction(total)) for row in rows)
    return learned, max(sum(map(abs, row)) - Fraction(bound) for row in rows)


def cells(weights, every_step, per_coordinate):
    """Return one row per sum that a condition binds."""
    if per_coordinate:
        weights = np.moveaxis(weights, 3, 1)
    return weights.reshape(-1, weights.shape[-1] if every_step else np.prod(weights.shape[-2:]))


@FEW
@given(
    **CLIENTS,
    total=st.floats(1e-3, 1e3),
    wider=st.one_of(st.just(1.0), st.floats(1.0, 1e6)),
    every_step=st.booleans(),
    n_features=st.sampled_from([None, 1, 3]),
)
def test_weights_satisfy_both_conditions(
    window, n_servers, seed, total, wider, every_step, n_features
):
    bound = total * wider
    found = draw_weights(
        clients(2, seed),
        window,
        n_servers,
        total,
        bound,
        n_features=n_features,
        every_step=every_step,
    )
    coordinates = () if n_features is None else (n_features,)
    assert found.shape == (2, window, n_servers, *coordinates)
    rows = cells(found, every_step, n_features is not None)
    learned, excess = worst_sums(rows, total, bound)
    assert learned <= Fraction(float(np.spacing(bound))) / 2
    assert excess <= 0
    # floats in any order give what rationals give
    shuffled = np.random.default_rng(seed).permuted(rows, axis=1)
    assert np.array_equal(shuffled.sum(axis=1), np.cumsum(rows, axis=1)[:, -1])
    assert np.all(np.abs(shuffled).sum(axis=1) <= bound)


def test_the_exact_check_sees_one_unit_too_much():
    rows = draw_weights(clients(1), 2, 2, 5.0, 50.0).reshape(1, -1)
    assert worst_sums(rows, 5.0, 50.0)[0] == 0
    rows[0, 0] += np.spacing(50.0)
    assert worst_sums(rows, 5.0, 50.0)[0] > 0


@pytest.mark.parametrize("every_step", [False, True])
def test_whole_numbers_are_met_exactly(every_step):
    found = draw_weights(clients(20), 10, 5, 5.0, 50.0, every_step=every_step)
    axes = (2,) if every_step else (1, 2)
    assert np.all(found.sum(axis=axes) == 5.0)
    assert np.any(found < 0)
    assert not every_step or np.all(np.any(found != found[:, :1], axis=(1, 2)))


def test_weights_of_the_window_need_not_fit_every_step():
    assert not np.any(np.isclose(draw_weights(clients(20), 10, 5, 5.0, 50.0).sum(axis=2), 5.0))


def test_no_room_for_negative_weights():
    found = draw_weights(clients(200), 1, 2, 5.0, 5.0)[:, 0]
    assert np.all(found >= 0)
    assert np.all(found.sum(axis=1) == 5.0)
    assert kstest(found[:, 0] / 5.0, "uniform").pvalue > 1e-3


def test_two_cells_are_uniform_on_what_is_allowed():
    first = draw_weights(clients(1), 5000, 2, 5.0, 50.0, every_step=True)[0, :, 0]
    assert kstest((first + 22.5) / 50.0, "uniform").pvalue > 1e-3


def test_cells_are_exchangeable_and_the_range_is_used():
    """E W = M/cells, E Σ|W| = E max(B, M) = (M̄² + M²)/(2M̄), each by z over 4000 windows."""
    found = draw_weights(clients(1), 4000, 6, 1.0, 4.0, every_step=True)[0]
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert np.all(error < 0.02)
    assert np.all(np.abs(found.mean(axis=0) - 1 / 6) < 4 * error)
    size = np.abs(found).sum(axis=1)
    error = size.std(ddof=1) / np.sqrt(len(size))
    assert error < 0.02
    assert abs(size.mean() - 17 / 8) < 4 * error
    assert 3.99 < size.max() <= 4.0
    # a cell's rank says nothing of its place
    places = np.bincount(found.argmax(axis=1), minlength=6) / len(found)
    assert np.all(np.abs(places - 1 / 6) < 4 * np.sqrt(5 / 36 / len(found)))


def test_signs_are_as_often_negative_as_documented():
    """With many cells the share is E (1 − M/B)⁺/2 = (M̄ − M − M ln(M̄/M))/(2M̄)."""
    share = (draw_weights(clients(400), 50, 4, 5.0, 50.0) < 0).mean(axis=(1, 2))
    error = share.std(ddof=1) / np.sqrt(len(share))
    assert error < 0.01
    assert abs(share.mean() - (45 - 5 * np.log(10)) / 100) < 4 * error


class Edge(np.random.Generator):
    """Draws that lead to the very bounds: B = M̄(1 − 2⁻⁵³), E = 0."""

    def random(self, shape):
        found = super().random(shape)
        found[:, 0] = 1 - 2.0**-53
        return found

    def standard_exponential(self, shape):
        return np.zeros(shape) if shape[1:] == (1, 1) else super().standard_exponential(shape)


@pytest.mark.parametrize("bound", [0.3, 1.0, 7.0])
def test_extreme_draws_stay_within_the_bounds(bound):
    edge = [Edge(np.random.PCG64(seed)) for seed in range(200)]
    rows = draw_weights(edge, 3, 3, bound / 5, bound).reshape(200, 9)
    assert -1e-12 < worst_sums(rows, bound / 5, bound)[1] <= 0
    norms = np.linalg.norm(draw_additive(edge, 3, 3, 4, bound), axis=3)
    assert bound * (1 - 1e-8) < norms.max() < bound


def test_equal_coins_leave_all_weights_positive():
    class Alike(np.random.Generator):
        def random(self, shape):
            return np.full(shape, 0.75)

    found = draw_weights([Alike(np.random.PCG64(1))], 1, 2, 5.0, 50.0)
    assert found.sum() == 5.0
    assert np.all(found > 0)


def test_coordinates_have_weights_of_their_own():
    found = draw_weights(clients(1), 3000, 2, 1.0, 4.0, n_features=2, every_step=True)[0]
    correlation = np.corrcoef(found[:, 0, 0], found[:, 0, 1])[0, 1]
    assert abs(correlation) < 4 / np.sqrt(3000)


@FEW
@given(**CLIENTS, n_features=st.integers(1, 5), bound=st.one_of(st.just(0.0), st.floats(1e-6, 1e6)))
def test_additive_perturbations_cancel_and_are_bounded(window, n_servers, seed, n_features, bound):
    found = draw_additive(clients(2, seed), window, n_servers, n_features, bound)
    assert found.shape == (2, window, n_servers, n_features)
    assert np.all(found.sum(axis=2) == 0)
    assert np.all(found[:, :, ::-1].sum(axis=2) == 0)
    assert np.all(np.linalg.norm(found, axis=3) <= bound)
    assert np.any(found != 0) == (bound > 0)


@pytest.mark.parametrize("n_features", [1, 3])
def test_two_servers_get_the_uniform_law_in_a_ball(n_features):
    found = draw_additive(clients(1), 5000, 2, n_features, 2.0)[0, :, 0]
    radius = np.linalg.norm(found, axis=1) / 2.0
    assert kstest(radius**n_features, "uniform").pvalue > 1e-3
    signs = (found > 0).mean(axis=0)
    assert np.all(np.abs(signs - 0.5) < 4 * 0.5 / np.sqrt(5000))


def test_servers_are_exchangeable():
    found = draw_additive(clients(1), 4000, 4, 2, 1.0)[0]
    norms = np.linalg.norm(found, axis=2)
    error = norms.std(axis=0, ddof=1) / np.sqrt(len(norms))
    assert np.all(error < 0.01)
    assert np.all(np.abs(norms.mean(axis=0) - norms.mean()) < 4 * error)
    mean = found.mean(axis=0)
    assert np.all(np.abs(mean) < 4 * found.std(axis=0, ddof=1) / np.sqrt(len(found)))
    assert norms.max() > 0.99


def test_a_client_draws_the_same_whoever_else_does():
    alone = draw_weights(clients(3)[2:], 3, 2, 5.0, 50.0)
    assert np.array_equal(alone, draw_weights(clients(3), 3, 2, 5.0, 50.0)[2:])
    alone = draw_additive(clients(3)[2:], 3, 2, 4, 1.0)
    assert np.array_equal(alone, draw_additive(clients(3), 3, 2, 4, 1.0)[2:])


# Secure consensus: the mean to half a spacing, on the bounds too, and what two servers learn.


def agreed(models, bound, seed=1):
    """Return the consensus of models (S, p), masked by one generator."""
    masks = module.draw_masks([np.random.default_rng(seed)], *models.shape)
    return secure_consensus(models, bound, masks[0])


def printed(models, bound, masks, modulus):
    """Return the mean by the rule as printed, in floats; the paper's modulus is 2|X|."""
    announced = (models + bound + masks.sum(axis=0) - masks.sum(axis=1)) % modulus
    return announced.sum(axis=0) % modulus / len(models) - bound


def off_by(models, bound, mean):
    """Return the largest error of the mean, in spacings |X|·2⁻⁴⁰."""
    exact = [sum(map(Fraction, column)) / len(column) for column in models.T.tolist()]
    errors = [abs(Fraction(found) - each) for found, each in zip(mean.tolist(), exact, strict=True)]
    return float(max(errors) * RESOLUTION / Fraction(bound))


@settings(max_examples=60, deadline=None)
@given(
    n_servers=st.integers(2, 9),
    bound=st.floats(1e-6, 1e6),
    seed=SEEDS,
    edge=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_the_mean_is_exact_to_half_a_spacing(n_servers, bound, seed, edge):
    """``edge`` is the share of coordinates that sit on a bound, of either sign."""
    generator = np.random.default_rng(seed)
    models = generator.uniform(-bound, bound, (n_servers, 8))
    ends = np.where(generator.random(models.shape) < 0.5, bound, -bound)
    models = np.where(generator.random(models.shape) < edge, ends, models)
    mean = agreed(models, bound, seed).mean
    assert off_by(models, bound, mean) <= 0.5 + 2**-12
    assert np.all(np.abs(mean) <= bound)


@pytest.mark.parametrize("widen", [1, 3], ids=["2|X|", "2S|X|"])
def test_the_printed_rule_wraps_on_the_bound(widen):
    """Modulo 2|X| as printed, and modulo 2S|X| too: the sum of models on the bound wraps to 0."""
    masks = np.zeros((3, 3, 1))
    models = np.ones((3, 1))
    assert printed(models, 1.0, masks, 2.0 * widen).tolist() == [-1.0]
    assert agreed(models, 1.0).mean.tolist() == [1.0]


def test_half_a_spacing_is_met():
    """x half way between two points is off by half a spacing, to the even one."""
    models = np.full((2, 1), 0.5 / RESOLUTION)
    assert off_by(models, 1.0, agreed(models, 1.0).mean) == 0.5


def test_messages_by_hand():
    """S = 2, |X| = 1, x = (−1, ½): points 0 and 1.5·2⁴⁰; R_12 = 5, R_21 = 2⁶³ − 1."""
    masks = np.zeros((2, 2, 1), dtype=np.uint64)
    masks[0, 1], masks[1, 0] = 5, module.MODULUS - 1
    found = secure_consensus(np.array([[-1.0], [0.5]]), 1.0, masks)
    assert found.messages.ravel().tolist() == [module.MODULUS - 6, 3 * RESOLUTION // 2 + 6]
    assert found.mean.tolist() == [-0.25]


def test_replicates_are_on_their_own():
    models = np.random.default_rng(1).uniform(-1, 1, (4, 3, 2))
    masks = module.draw_masks([np.random.default_rng(seed) for seed in range(4)], 3, 2)
    together = secure_consensus(models, 1.0, masks)
    for row in range(4):
        alone = module.draw_masks([np.random.default_rng(row)], 3, 2)[0]
        found = secure_consensus(models[row], 1.0, alone)
        assert np.array_equal(found.mean, together.mean[row])
        assert np.array_equal(found.messages, together.messages[row])
        assert np.array_equal(found.unmasked(1), together.unmasked(1)[row])
    assert together.masks[:, [0, 1, 2], [0, 1, 2]].max() == 0


def test_two_servers_hide_nothing():
    """Each finds the other's model on the grid, for every coordinate and without any doubt."""
    models = np.random.default_rng(1).uniform(-1, 1, (2, 1000))
    models[1, :2] = 1.0, -1.0
    found = agreed(models, 1.0)
    for viewer, other in ((0, 1), (1, 0)):
        points = found.unmasked(viewer=viewer)[other]
        assert np.max(np.abs(points / RESOLUTION - 1 - models[other])) <= 0.5 / RESOLUTION


def test_what_is_unmasked_still_adds_up_to_the_mean():
    """Given the mean, the last of the others follows from the rest: nothing more is leaked."""
    models = np.random.default_rng(1).uniform(-1, 1, (4, 50))
    found = agreed(models, 1.0)
    rest = np.delete(found.unmasked(viewer=2), 2, axis=0).sum(axis=0)
    others = (np.rint(np.delete(models, 2, axis=0) * RESOLUTION) + RESOLUTION).sum(axis=0)
    assert np.array_equal(rest % np.uint64(module.MODULUS), others.astype(np.uint64))


@pytest.mark.parametrize("outside", [1.0000001, -2.0, float("nan"), float("inf")])
def test_models_outside_the_box(outside):
    with pytest.raises(ValueError, match="a model is outside"):
        agreed(np.array([[0.0], [outside]]), 1.0)


# POLAR-SGD's steps against a slow obvious twin, and what a server may do before another.


C, P, T, SIGMA, BOX = 5, 3, 13, 0.2, 0.3
READS = ["minimum-wait", "client-averaged", "basic"]
RECORDS = records(2, (20, 30, 10, 25, 15), P)
PROBLEM = Quadratic.from_records(*RECORDS, SIGMA, BOX)
USUAL = {"weight_total": 2.0, "weight_bound": 6.0, "additive_bound": 0.1}
SOME_TIME = Exponential(mean=0.3)


def polar(**more):
    return Polar(**{"step": 0.4, "exponent": 0.6} | USUAL | more)


def servers(read="minimum-wait", **more):
    return Servers(**{"count": 3, "reach": 2, "read": read, "window": 4} | more)


def steps_of(protocol, algorithm=None, box=BOX):
    algorithm = polar(batch=4) if algorithm is None else algorithm
    return algorithm.steps(Setting(PROBLEM.weights, P, T, SIGMA, box, protocol=protocol))


def reply(noise=0.0, batch=None):
    scale = np.full(C, noise)
    sample = None if batch is None else Sample(LinearRecords(*RECORDS), batch)
    return AnswerModel(PROBLEM, LaplaceNoise(scale) if noise > 0 else NoNoise(scale), sample)


def network(protocol, law=SOME_TIME, updates=T, **more):
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
    found = replay([trace], steps_of(protocol, algorithm), reply(), scopes(), 1)
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
    steps = steps_of(protocol, algorithm)
    state, answers = steps.init(scopes()), Answers(steps, reply(), scopes())
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
    steps = steps_of(protocol, algorithm)
    whole, parts = steps.init(scopes()), steps.init(scopes())
    asked = [Answers(steps, reply(), scopes()) for _ in range(2)]
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
    steps = steps_of(protocol, algorithm)
    points, gradients = np.random.default_rng(1).normal(size=(2, C, P))
    found = []
    for owners in (np.arange(C), np.array([2, 0, 3, 1, 4])):
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
    steps = steps_of(servers(), polar())
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
        path[read] = replay(traces, steps_of(protocol, algorithm, 50.0), reply(), scopes(), 1)
    plain = ParameterServer(step=0.3 * 2 / 3, exponent=0.6)
    traces = [simulate(network(Rounds()), scopes()[0])]
    usual = replay(traces, steps_of(Rounds(), plain, 50.0), reply(), scopes(), 1)
    for found in path.values():
        assert np.allclose(found.models(0), usual.models(0), rtol=0, atol=1e-9)
        assert not np.array_equal(found.models(0), usual.models(0))


def test_a_model_that_has_overflowed_spoils_its_own_replicate_alone():
    steps = steps_of(servers(window=1), polar())
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
    steps = steps_of(servers(window=2), polar())
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
    steps = steps_of(servers(), polar())
    points = np.zeros((1, P))
    one, two = (Answers(steps, reply(noise=1.0), scopes(2)) for _ in range(2))
    found, mixed = {}, (3, 0, 4, 2, 1)
    for answers, pairs in [(one, product((0, 1), range(C))), (two, product((1, 0), mixed))]:
        for row, owner in pairs:
            turn = AnswerBatch(np.array([owner]), rows=np.array([row]))
            found.setdefault((row, owner), []).append(answers.give(turn, points)[0])
    assert len({tuple(each[0]) for each in found.values()}) == 2 * C
    for once, again in found.values():
        assert np.array_equal(once, again)


def test_it_needs_a_box_and_servers():
    for protocol, box in [(servers(), None), (Rounds(), BOX), (None, BOX)]:
        with pytest.raises(ValueError, match="box of models and protocol servers"):
            steps_of(protocol, polar(), box)


# POLAR-SGD in a scenario: what it is called, what is said of it, and what does not suit it.

RAW = table(__file__, "scenes.toml")["polar"]


def test_a_scenario_without_a_finite_epsilon():
    scenario = parse(Scenario, RAW)
    assert "privacy: obfuscated, no DP guarantee" in describe(scenario)
    assert scenario.network.answers_allowed == (12,) * 3  # one for each server
    assert scenario.network.answers_per_update is None


# Servers live, each stepping at its own tick, against replay, bit for bit.

FAR = Lognormal(mean=1.0, cv=2.0)
LATENCIES = {
    "none": (NoTime(), NoTime()),
    "all at one tick": (Constant(value=0.0), Constant(value=0.0)),
    "alike": (Exponential(mean=0.3), Constant(value=0.1)),
    "one server far away": (Exponential(mean=0.3), (NoTime(), Constant(value=4.0), FAR)),
}


def far_apart(read, laws, **more):
    own, theirs = laws
    protocol = servers(read, latency=theirs, exchange=Exponential(mean=0.2))
    return network(protocol, own, compute=own, **more)


def replayed(net, traces, batch=4, every=1):
    steps, several = steps_of(net.protocol), scopes(len(traces))
    return replay(traces, steps, reply(batch=batch), several, every, "central")


def compare(net, count, batch=4, every=3):
    traces = [simulate(net, scope) for scope in scopes(count)]
    path = replayed(net, traces, batch, every)
    for r, scope in enumerate(scopes(count)):
        live = LiveLearning(steps_of(net.protocol), reply(batch=batch), scope, every, "central")
        trace = simulate(net, scope, learning=live)
        assert trace.exchanges.tolist() == traces[r].exchanges.tolist()
        assert np.array_equal(live.trajectory().models(0), path.models(r))
        assert np.array_equal(live.trajectory().final[0], path.final[r])
        assert live.trajectory().clipped[0] == path.clipped[r]
    return traces, path


def test_clients_draw_batches_of_their_own():
    """At one model, clients with the same records answer differently: they choose other ones."""
    same = [[rows[0]] * C for rows in RECORDS]
    drawn = AnswerModel(PROBLEM, NoNoise(np.zeros(C)), Sample(LinearRecords(*same), 4))
    given = Answers(steps_of(servers("basic")), drawn, scopes(2))
    rows = np.repeat([0, 1], C)
    every = AnswerBatch(np.tile(np.arange(C), 2), rows=rows)
    answers = given.give(every, np.full((2 * C, P), 0.1))
    assert len(np.unique(answers, axis=0)) == 2 * C


@one_in(3, "read", READS)
def test_live_equals_replay(read):
    """And when messages arrive matters only to those who take the first model to come."""
    finals = []
    for laws in LATENCIES.values():
        net = far_apart(read, laws)
        traces, path = compare(net, 3)
        assert np.array_equal(replayed(net, traces[:1]).final[0], path.final[0])
        finals.append(path.final)
        assert path.clipped.sum() > 0
    alike = [np.array_equal(final, finals[0]) for final in finals]
    assert alike == [True, True, read != "minimum-wait", read != "minimum-wait"]


@pytest.mark.parametrize("batch", [4, None])
def test_live_equals_replay_where_servers_are_ahead_and_ties_are_drawn(batch):
    """A far server: clients and servers are several steps ahead, and cut off by the horizon."""
    laws = LATENCIES["one server far away"]
    net = far_apart("minimum-wait", laws, ties="shuffled", until=12.0)
    traces, _ = compare(net, 5, batch)
    assert {trace.ending for trace in traces} == {Ending.horizon}
    assert len({trace.n_updates for trace in traces}) > 1
    ahead = [trace.exchanges["end_k"].max() - trace.n_updates for trace in traces]
    assert max(ahead) >= 2


# POLAR's servers on graphs: the mean stays, disagreement shrinks, and all is as if they waited.

S = 5
PATH = Edges(between=((1, 2), (2, 3), (3, 4), (4, 5)))
PAIRS = GraphsInTurn(
    graphs=(Edges(between=((1, 2), (3, 4))), Edges(between=((2, 3), (4, 5), (1, 5))))
)
GRAPHS = {
    "ring": Ring(),
    "path": PATH,
    "pairs": PAIRS,
    "some secret": GraphsInTurn(graphs=(PATH, Complete(), Edges(between=((1, 5),)))),
}
EACH = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def on_graph(graph, read="minimum-wait", latency=None, updates=T):
    more = {} if latency is None else {"latency": latency}
    protocol = servers(read, count=S, window=2, exchange=SOME_TIME, graph=graph, **more)
    return network(protocol, updates=updates)


def near(graph):
    """Return the neighbours of one graph of five servers."""
    return neighbours(graph, S)


@given(st.integers(0, 2**32 - 1), st.sampled_from([Ring(), PATH, *PAIRS.graphs]))
def test_what_one_gives_the_other_takes(seed, graph):
    """Sums stay, to the integer; nobody leaves the hull of its group; B's part is nearly all."""
    generator = np.random.default_rng(seed)
    points = generator.integers(-RESOLUTION, RESOLUTION + 1, size=(2, S, P))
    points[0, :, 0] = RESOLUTION * generator.choice([-1, 1], size=S)  # on the projection's bounds
    points[1] = generator.integers(-4, 5, size=(S, P))  # where every division leaves a rest
    graph = near(graph)
    found = np.stack([module.averaged(points, server, graph) for server in range(S)], axis=1)
    assert np.array_equal(found.sum(axis=1), points.sum(axis=1))
    for server, others in enumerate(graph):
        group = points[:, [server, *(other - 1 for other in others)]]
        assert np.all(found[:, server] <= group.max(axis=1))
        assert np.all(found[:, server] >= group.min(axis=1))
        assert np.all((found[:, server] != points[:, server]).any(axis=0) <= (len(others) > 0))
    [matrix] = matrices_of([graph], S)
    assert np.abs(found - np.einsum("ij,rjp->rip", matrix, points)).max() <= S


def test_the_weights_are_metropolis():
    [matrix] = matrices_of([near(PATH)], S)
    assert matrix[0].tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0, 0])
    assert matrix[1].tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0])
    assert matrices_of([None], S)[0].tolist() == np.full((S, S), 0.2).tolist()


def ahead(trace, window):
    """Return how many windows servers were apart at most."""
    rows, steps, most = trace.events, np.zeros(S, dtype=np.int64), 0
    for row in rows[rows["kind"] == EventKind.server_stepped]:
        steps[row["attempt"] - 1] += 1
        most = max(most, int(steps.max() - steps.min()))
    return most / window


SLOW = (*[NoTime()] * (S - 1), Lognormal(mean=4.0, cv=2.0))


@EACH
@one_in(3, "read", READS)
def test_live_is_replay_though_servers_are_windows_apart(graph, read):
    """Servers only wait for neighbours; what all learn is as if they went in step."""
    traces, path = compare(on_graph(graph, read, latency=SLOW), 2)
    assert all(trace.n_updates == T for trace in traces)
    assert np.isfinite(path.final).all()


def test_servers_run_windows_ahead_of_far_ones():
    """On a path that ends in a slow server; where all agree, nobody is ahead of a window."""
    far, close = (
        simulate(on_graph(graph, latency=SLOW), scopes(1)[0], events=True) for graph in (PATH, None)
    )
    assert ahead(close, 2) <= 1 < ahead(far, 2)
    assert far.end_tick < close.end_tick  # one message for each agreement, and not two


@pytest.mark.parametrize("graph", [None, Ring(), GraphsInTurn(graphs=(PATH, Complete()))], ids=str)
def test_steps_per_unit_are_as_predicted(graph):
    """One exchange of 0.7 where neighbours agree, two where all do, and a half more in turn."""
    net = on_graph(graph, updates=40)
    law, exchange = Constant(value=0.3), Constant(value=0.7)
    protocol = net.protocol.model_copy(update={"exchange": exchange})
    latency = Latency(query=law, answer=law)
    net = net.model_copy(update={"latency": latency, "protocol": protocol})
    trace = simulate(net, scopes(1)[0])
    [told] = [each for each in predict(net) if each.quantity == "throughput"]
    assert told.value == pytest.approx(40 / (trace.end_tick / 1e9), rel=1e-9)


def test_a_complete_graph_is_as_published_to_the_bit():
    """It needs no other rule: all with all agree in secret, over two rounds of messages."""
    every = Edges(between=tuple((a, b) for b in range(1, 6) for a in range(1, b)))
    found = []
    for graph in (None, Complete(), every):
        net = on_graph(graph)
        assert net.protocol.agreements == (None,)
        trace = simulate(net, scopes(1)[0])
        found.append((trace.exchanges.tolist(), replayed(net, [trace]).models(0).tolist()))
    assert found[1:] == found[:1] * 2


def agreements(graph, monkeypatch, rounds=12):
    """Return the servers' deviations from their mean before and after each agreement."""
    seen = []
    kept = PolarSteps._average

    def watched(self, state, iteration, k, server, near):
        kept(self, state, iteration, k, server, near)
        if len(iteration.agreed) == S and server in iteration.agreed:
            seen.append((k, iteration.stepped[0].copy(), iteration.models[0].copy()))

    monkeypatch.setattr(PolarSteps, "_average", watched)
    net = on_graph(graph, updates=2 * rounds)
    replayed(net, [simulate(net, scopes(1)[0])])
    return {k: (before, after) for k, before, after in seen}


@pytest.mark.parametrize("graph", [Ring(), PATH], ids=["ring", "path"])
def test_an_agreement_shrinks_disagreement_as_the_second_eigenvalue_says(graph, monkeypatch):
    found = agreements(graph, monkeypatch)
    assert len(found) == 12
    [matrix] = matrices_of([near(graph)], S)
    left = disagreement_left([matrix])
    assert left == pytest.approx(sorted(abs(np.linalg.eigvalsh(matrix)))[-2])
    for before, after in found.values():
        sizes = [np.linalg.norm(x - x.mean(axis=0)) for x in (before, after)]
        assert 0 < sizes[1] <= left * sizes[0] * (1 + 1e-9)
        assert after == pytest.approx(matrix @ before, rel=0, abs=1e-10)
        assert np.abs(after.sum(axis=0) - before.sum(axis=0)).max() < S * 2.0**-40


def test_graphs_in_turn_are_taken_in_turn(monkeypatch):
    """And the planted bug of a graph that stays: the second agreement is another one then."""
    found = agreements(PAIRS, monkeypatch)
    for k, (before, after) in found.items():
        matrix = matrices_of(steps_of(on_graph(PAIRS).protocol).agreements, S)[(k // 2 - 1) % 2]
        assert after == pytest.approx(matrix @ before, rel=0, abs=1e-10)
    monkeypatch.setattr(PolarSteps, "_near", lambda self, _: self.agreements[0])
    before, after = agreements(PAIRS, monkeypatch)[4]
    assert not np.allclose(after, matrix @ before, rtol=0, atol=1e-4)
