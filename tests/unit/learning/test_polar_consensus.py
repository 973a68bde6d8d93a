"""Gradients that POLAR hides: perturbed draws of clients, secure consensus of servers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from asyncdp_sim.learning.algorithms.obfuscation import (
    MODULUS,
    RESOLUTION,
    draw_additive,
    draw_masks,
    draw_weights,
    secure_consensus,
)

# Draws of POLAR's clients: both conditions to the last bit, and the law that is documented.

FEW = settings(max_examples=40, deadline=None)
SIZES = {"window": st.integers(1, 6), "n_servers": st.integers(2, 5), "seed": st.integers(0, 10**6)}


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
    **SIZES,
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
@given(**SIZES, n_features=st.integers(1, 5), bound=st.one_of(st.just(0.0), st.floats(1e-6, 1e6)))
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
    masks = draw_masks([np.random.default_rng(seed)], *models.shape)
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
    seed=st.integers(0, 10**6),
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
    masks[0, 1], masks[1, 0] = 5, MODULUS - 1
    found = secure_consensus(np.array([[-1.0], [0.5]]), 1.0, masks)
    assert found.messages.ravel().tolist() == [MODULUS - 6, 3 * RESOLUTION // 2 + 6]
    assert found.mean.tolist() == [-0.25]


def test_replicates_are_on_their_own():
    models = np.random.default_rng(1).uniform(-1, 1, (4, 3, 2))
    masks = draw_masks([np.random.default_rng(seed) for seed in range(4)], 3, 2)
    together = secure_consensus(models, 1.0, masks)
    for row in range(4):
        alone = draw_masks([np.random.default_rng(row)], 3, 2)[0]
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
    points = found.unmasked(viewer=0)[1]
    assert np.max(np.abs(points / RESOLUTION - 1 - models[1])) <= 0.5 / RESOLUTION
    points = found.unmasked(viewer=1)[0]
    assert np.max(np.abs(points / RESOLUTION - 1 - models[0])) <= 0.5 / RESOLUTION


def test_what_is_unmasked_still_adds_up_to_the_mean():
    """Given the mean, the last of the others follows from the rest: nothing more is leaked."""
    models = np.random.default_rng(1).uniform(-1, 1, (4, 50))
    found = agreed(models, 1.0)
    rest = np.delete(found.unmasked(viewer=2), 2, axis=0).sum(axis=0) % np.uint64(MODULUS)
    others = (np.rint(np.delete(models, 2, axis=0) * RESOLUTION) + RESOLUTION).sum(axis=0)
    assert np.array_equal(rest, others.astype(np.uint64))


@pytest.mark.parametrize("outside", [1.0000001, -2.0, float("nan"), float("inf")])
def test_models_outside_the_box(outside):
    with pytest.raises(ValueError, match="a model is outside"):
        agreed(np.array([[0.0], [outside]]), 1.0)
