"""Lemma 3 as printed, what it follows from, and servers that stay within both."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncdp_sim.errors import SpecError
from asyncdp_sim.learning.algorithms.obfuscation import (
    RESOLUTION,
    draw_additive,
    draw_masks,
    draw_weights,
    secure_consensus,
)
from asyncdp_sim.theory.formulas.polar import smallest_entry
from tests.theory.polar import Obfuscation, disagreement, lemma_3, mixing, printed_mixing

STEPS = 0.05 / np.arange(1, 13)
BOX = 1.0
BOUNDS = Obfuscation(
    n_servers=4, n_clients=3, window=2, gradient_norm=0.5, weight_bound=6.0, additive_bound=0.4
)
COMPLETE = np.full((4, 4), 0.25)


def ring(size, give):
    """Return the averaging in which every server gives a share to each of two neighbours."""
    shifted = np.roll(np.eye(size), 1, axis=0)
    return (1 - 2 * give) * np.eye(size) + give * (shifted + shifted.T)


def descend(models, step, weights, added, gradients):
    """Return the servers' models (S, p) after one window of projected steps.

    weights (C, Δ, S), added (C, Δ, S, p), gradients (C, Δ, p).
    """
    for i in range(weights.shape[1]):
        sent = weights[:, i, :, None] * gradients[:, i, None] + added[:, i]
        models = np.clip(models - step * sent.sum(axis=0), -BOX, BOX)
    return models


def run(matrices, seed, bounds=BOUNDS, strength=1.0, p=3):
    """Return, per window, the largest disagreement and δ of servers that start anywhere in X."""
    generator = np.random.default_rng(seed)
    clients = [np.random.default_rng([seed, client]) for client in range(bounds.n_clients)]
    models = generator.uniform(-BOX, BOX, (bounds.n_servers, p))
    start, apart, delta = np.linalg.norm(models, axis=1).max(), [], []
    for step, matrix in zip(STEPS, matrices, strict=True):
        shape = (bounds.window, bounds.n_servers)
        every = bounds.every_step
        weights = draw_weights(clients, *shape, 2.0, bounds.weight_bound, every_step=every)
        added = draw_additive(clients, *shape, p, bounds.additive_bound)
        gradients = generator.normal(size=(bounds.n_clients, bounds.window, p))
        gradients *= bounds.gradient_norm / np.linalg.norm(gradients, axis=2, keepdims=True)
        before = models.mean(axis=0)
        models = matrix @ descend(models, strength * step, weights, added, gradients)
        apart.append(np.linalg.norm(models - models.mean(axis=0), axis=1).max())
        delta.append(np.linalg.norm(models - before, axis=1).max())
    return start, np.array(apart), np.array(delta)


@pytest.mark.parametrize("every_step", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_servers_on_graphs_that_change_stay_within_both(seed, every_step):
    bounds = Obfuscation(**{**vars(BOUNDS), "every_step": every_step})
    order = np.random.default_rng(seed)
    matrices = []
    for _ in STEPS:
        place = order.permutation(4)
        matrices.append(ring(4, 0.2)[place][:, place])
    start, apart, delta = run(matrices, seed, bounds)
    derived = disagreement(bounds, STEPS, start, printed_mixing(4, 0.2, len(STEPS)))
    assert np.all(apart <= derived)
    assert np.all(delta <= derived + STEPS * bounds.mean_reach)
    assert np.all(delta <= lemma_3(bounds, STEPS, start, 0.2))
    assert np.all(apart > 0)


def test_one_graph_has_a_bound_that_sees_steps_five_times_too_long():
    """With the exact mixing of one matrix random runs come to 0.38 of the bound."""
    matrix = ring(4, 0.3)
    mixed = mixing(matrix, len(STEPS))
    assert np.all(mixed <= printed_mixing(4, 0.3, len(STEPS)))
    bounds = Obfuscation(**{**vars(BOUNDS), "weight_bound": 2.0, "additive_bound": 0.0})
    highest = []
    for strength in (1.0, 5.0):
        pushes = []
        for seed in range(10):
            start, _, delta = run([matrix] * len(STEPS), seed, bounds, strength)
            allowed = disagreement(bounds, STEPS, start, mixed) + STEPS * bounds.mean_reach
            pushes.append(np.max(delta / allowed))
        highest.append(max(pushes))
    assert highest[0] <= 1 < highest[1]


def test_complete_averaging_agrees_exactly():
    """Secure consensus leaves no disagreement; δ is how far the mean moved, within α_k a."""
    masks = draw_masks([np.random.default_rng(seed) for seed in range(len(STEPS))], 4, 3)
    matrices = [COMPLETE] * len(STEPS)
    start, apart, delta = run(matrices, 1)
    assert np.all(mixing(COMPLETE, 12) < 1e-15)
    assert np.all(disagreement(BOUNDS, STEPS, start, np.zeros(12)) == 0)
    assert np.all(apart < 1e-15)
    assert np.all(delta <= STEPS * BOUNDS.mean_reach + 1e-15)
    # and the mean of the servers' grid is off by half a spacing in each coordinate
    models = np.random.default_rng(3).uniform(-BOX, BOX, (12, 4, 3))
    mean = secure_consensus(models, BOX, masks).mean
    gap = np.linalg.norm(mean - models.mean(axis=1), axis=1)
    assert np.all(gap <= np.sqrt(3) * BOX * 0.5 / RESOLUTION + 1e-15)


def test_the_bounds_on_a_window_are_attained():
    """All clients push server 1 with all of M̄ and Y, so that no smaller constant would do."""
    unit = np.array([1.0, 0.0])
    weights = np.zeros((3, 2, 4))
    weights[:, 0, 0] = 6.0
    added = np.zeros((3, 2, 4, 2))
    added[:, :, 0], added[:, :, 1] = 0.4 * unit, -0.4 * unit
    gradients = np.broadcast_to(0.5 * unit, (3, 2, 2))
    moved = descend(np.zeros((4, 2)), 0.01, weights, added, gradients)
    assert np.linalg.norm(moved[0]) == pytest.approx(0.01 * BOUNDS.reach, rel=1e-12)
    assert np.linalg.norm(moved.mean(axis=0)) == pytest.approx(0.01 * BOUNDS.mean_reach_inside)
    doubled = descend(np.zeros((4, 2)), 0.01, 2 * weights, added, gradients)
    assert np.linalg.norm(doubled[0]) > 0.01 * BOUNDS.reach
    # where the projection acts, the additive perturbations move the mean as well
    corner = np.full((4, 2), -BOX)
    moved = descend(corner, 0.01, weights, added, gradients) - corner
    drift = np.linalg.norm(moved.mean(axis=0))
    assert drift != pytest.approx(0.01 * BOUNDS.mean_reach_inside)
    assert drift <= 0.01 * BOUNDS.mean_reach


def test_reach_by_hand():
    """C(M̄L + ΔY) = 3(3 + 0.8), C(M̄L/S + ΔY) = 3(0.75 + 0.8); at every step Δ times the M̄."""
    assert BOUNDS.reach == pytest.approx(11.4)
    assert BOUNDS.mean_reach == pytest.approx(4.65)
    assert BOUNDS.mean_reach_inside == pytest.approx(2.25)
    every = Obfuscation(**{**vars(BOUNDS), "every_step": True})
    assert every.reach == pytest.approx(2 * 3 * (3 + 0.4))
    assert every.mean_reach == pytest.approx(2 * 3 * (0.75 + 0.4))
    assert every.mean_reach_inside == pytest.approx(4.5)


def test_lemma_3_by_a_slow_sum():
    steps, start, rho = STEPS[:5], 1.5, 0.2
    beta = 1 - rho / 64
    theta, far = beta**-2, 2 * 3 * (6 * 0.5 + 0.4)
    found = lemma_3(BOUNDS, steps, start, rho)
    for k in range(5):
        sums = sum(beta ** (k + 1 - m) * steps[m - 1] for m in range(1, k + 1))
        exact = (
            4 * theta * beta ** (k + 1) * start + 4 * steps[k] * far + 2 * theta * 4 * far * sums
        )
        assert found[k] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("mixed", [mixing(ring(4, 0.3), 5), printed_mixing(4, 0.3, 5)])
def test_disagreement_by_a_slow_sum(mixed):
    found = disagreement(BOUNDS, STEPS[:5], 1.5, mixed)
    for k in range(5):
        exact = min(4 * mixed[k], 1.5) * 1.5
        for m in range(k + 1):
            pushed = min(4 * mixed[k - m] * BOUNDS.mean_reach, 1.5 * BOUNDS.reach)
            exact += STEPS[m] * pushed
        assert found[k] == pytest.approx(exact, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    n_servers=st.integers(2, 9),
    n_clients=st.integers(1, 100),
    window=st.integers(1, 50),
    norms=st.tuples(st.floats(0, 10), st.floats(0.1, 50), st.floats(0, 10)),
    every_step=st.booleans(),
    rho=st.floats(1e-3, 0.5),
    start=st.floats(0, 10),
    steps=st.lists(st.floats(1e-4, 1.0), min_size=1, max_size=20),
)
def test_lemma_3_follows_from_what_is_derived(
    n_servers, n_clients, window, norms, every_step, rho, start, steps
):
    bounds = Obfuscation(
        n_servers=n_servers,
        n_clients=n_clients,
        window=window,
        gradient_norm=norms[0],
        weight_bound=norms[1],
        additive_bound=norms[2],
        every_step=every_step,
    )
    alpha = np.array(steps)
    derived = disagreement(bounds, alpha, start, printed_mixing(n_servers, rho, len(alpha)))
    printed = lemma_3(bounds, alpha, start, rho)
    assert np.all(derived + alpha * bounds.mean_reach <= printed * (1 + 1e-12))


def test_lemma_3_is_loose_for_complete_averaging():
    """Figure 3's setting with L = Y = 1: δ within 2α, and 1.3·10⁵ times that in the lemma."""
    bounds = Obfuscation(
        n_servers=5, n_clients=100, window=10, gradient_norm=1, weight_bound=50, additive_bound=1
    )
    steps = np.full(4000, 1e-3)
    ratio = lemma_3(bounds, steps, 0.0, 0.2)[-1] / (1e-3 * bounds.mean_reach)
    assert ratio == pytest.approx(1.3e5, rel=0.05)
    assert ratio > 8 * 5**4


def test_the_printed_mixing_holds_on_random_changing_trees():
    generator = np.random.default_rng(1)
    for _ in range(30):
        size, product, rho = int(generator.integers(2, 7)), None, 1.0
        for windows in range(1, 25):
            laplacian = np.zeros((size, size))
            for child in range(1, size):
                pair = [child, int(generator.integers(child))]
                laplacian[np.ix_(pair, pair)] += [[1, -1], [-1, 1]]
            place = generator.permutation(size)
            share = generator.uniform(0.02, 0.98) / laplacian.max()
            matrix = np.eye(size) - share * laplacian[place][:, place]
            rho = min(rho, smallest_entry(matrix))
            product = matrix if product is None else matrix @ product
            assert np.max(np.abs(product - 1 / size)) <= printed_mixing(size, rho, windows)[-1]


def test_servers_that_swap_models_never_agree():
    """The paper's condition, doubly stochastic and connected, is not enough."""
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    apart = np.abs(np.linalg.matrix_power(swap, 99) - 0.5)
    assert apart.max() > printed_mixing(2, 1.0, 99)[-1]
    with pytest.raises(SpecError, match="a zero on the diagonal"):
        smallest_entry(swap)


def test_smallest_entries():
    assert smallest_entry(COMPLETE) == 0.25
    assert smallest_entry(ring(6, 0.1)) == pytest.approx(0.1)
    assert smallest_entry(np.full((300, 300), 1 / 300)) == 1 / 300
    beta = 1 - 0.25 / 64
    assert printed_mixing(4, 0.25, 3) == pytest.approx([1 / beta, 1.0, beta])


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (np.eye(2), "never hear"),
        (np.array([[0.9, 0.1], [0.5, 0.5]]), "doubly stochastic"),
        (np.array([[1.5, -0.5], [-0.5, 1.5]]), "doubly stochastic"),
        (np.full((2, 3), 0.5), "of shape"),
    ],
)
def test_matrices_that_do_not_average(matrix, said):
    with pytest.raises(SpecError, match=said):
        smallest_entry(matrix)


@pytest.mark.parametrize(
    "change",
    [
        {"n_servers": 1},
        {"n_clients": 0},
        {"window": 0},
        {"gradient_norm": -1.0},
        {"weight_bound": 0.0},
        {"additive_bound": float("nan")},
    ],
)
def test_obfuscation_outside_its_domain(change):
    with pytest.raises(SpecError, match=next(iter(change))):
        Obfuscation(**{**vars(BOUNDS), **change})


def test_arguments_outside_their_domain():
    with pytest.raises(SpecError, match="rho"):
        printed_mixing(3, 1.5, 2)
    with pytest.raises(SpecError, match="windows"):
        printed_mixing(3, 0.5, 0)
    with pytest.raises(SpecError, match="steps"):
        lemma_3(BOUNDS, np.array([]), 0.0, 0.5)
    with pytest.raises(SpecError, match="steps"):
        lemma_3(BOUNDS, np.array([0.1, -0.1]), 0.0, 0.5)
    with pytest.raises(SpecError, match="start"):
        lemma_3(BOUNDS, STEPS, -1.0, 0.5)
    with pytest.raises(SpecError, match="mixed"):
        disagreement(BOUNDS, STEPS, 0.0, np.zeros(3))
