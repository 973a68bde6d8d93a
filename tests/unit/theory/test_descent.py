import numpy as np
import pytest

from analysis.exact.bounds import along, collab_transient
from analysis.exact.synchronous import moments
from asyncdp_sim.learning.algorithms import Collab1, Collab2, ParameterServer
from tests.together import together
from tests.verification.gossip_cases import correlated

P, T = 3, 12
OBJECTIVE = correlated(5, 40, P, 0.1, 3)
SCHEDULES = {
    "collab-1": Collab1.schedule(100.0, T),
    "collab-2": Collab2.schedule(0.3, T),
    "server": ParameterServer(step=1.0, exponent=0.5).schedule(0.2, T),
}
BIASED = [
    (name, noise, initial)
    for name in SCHEDULES
    for noise in ("vector", "scalar-as-published")
    for initial in ("ones", "uniform")
]


def in_full(name, variance, noise, initial):
    """Yield mean and second moment of the deviations of (θ, θ̄), by the algorithms as printed."""
    hessian, one, nothing = OBJECTIVE.hessian, np.eye(P), np.zeros((P, P))
    start = {"ones": 1.0, "uniform": 0.5}[initial] - OBJECTIVE.free_optimum
    mean = np.tile(start, 2)
    scatter = one / 12 if initial == "uniform" else nothing
    second = np.outer(mean, mean) + np.tile(scatter, (2, 2))
    form = one if noise == "vector" else np.ones((P, P))
    yield mean, second
    for k in range(1, T + 1):
        sizes = {"collab-1": 100.0 / (T**2 * k), "collab-2": 0.3 / k**0.5, "server": 0.2 / k**0.5}
        size, old = sizes[name], (k - 1) / (1 / T**0.5 + k)
        new = (1 / T**0.5 + 1) / (1 / T**0.5 + k)
        step = one - 2 * size * hessian
        turn = np.block([[step, nothing], [new * one, old * one]])
        mean = turn @ mean
        second = turn @ second @ turn.T
        second[:P, :P] += size**2 * variance * form
        yield mean, second


@together
@pytest.mark.parametrize(("name", "noise", "initial"), BIASED)
def test_directions_on_their_own_are_the_recursion_of_full_matrices(name, noise, initial):
    found = moments(
        OBJECTIVE.hessian,
        OBJECTIVE.free_optimum,
        SCHEDULES[name],
        0.7,
        noise=noise,
        initial=initial,
    )
    shown = slice(P, None) if name == "collab-2" else slice(P)
    for k, (mean, second) in enumerate(in_full(name, 0.7, noise, initial)):
        for told, part in ((found.model, slice(P)), (found.judged, shown)):
            bias = told.mean[k] - OBJECTIVE.free_optimum
            np.testing.assert_allclose(bias, mean[part], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(told.second[k], second[part, part], rtol=1e-9, atol=1e-12)
    assert found.sound


def test_an_average_without_digits_is_unsound():
    long = moments(OBJECTIVE.hessian, OBJECTIVE.free_optimum, Collab2.schedule(2.0, 100), 1.0)
    assert not long.sound
    last = moments(
        OBJECTIVE.hessian,
        OBJECTIVE.free_optimum,
        ParameterServer(step=1.0).schedule(0.01, 100),
        1.0,
    )
    assert last.sound


def margins(seed, slack=1.0):
    """Return bound/exact of E f − f* at every k of a random problem, of all three algorithms."""
    g = np.random.default_rng(seed)
    p, updates = int(g.integers(1, 5)), int(g.integers(2, 40))
    root = g.normal(size=(p, p))
    hessian = root @ root.T + 10 ** g.uniform(-3, 0) * np.eye(p)
    optimum, variance = g.normal(size=p), 10 ** g.uniform(-4, 1)
    values = np.linalg.eigvalsh(hessian)
    first = g.uniform(0.02, 1.5) / values[-1]
    schedules = (
        Collab1.schedule(first * updates**2, updates),
        Collab2.schedule(first, updates),
        ParameterServer(step=1.0, exponent=g.uniform(0, 1)).schedule(first, updates),
    )
    for schedule in schedules:
        exact = moments(hessian, optimum, schedule, variance).judged.expected_excess()
        bound = along(
            schedule.sizes,
            slack * p * variance,
            convexity=2 * values[0],
            smoothness=2 * values[-1],
            start=exact[0],
            kept=schedule.kept,
        )
        yield bound / exact


def test_the_bound_holds_along_any_steps_and_for_averages():
    found = np.concatenate([np.concatenate(list(margins(seed))) for seed in range(40)])
    assert found.min() >= 1 - 1e-9


def test_a_bound_with_half_the_noise_is_seen_to_fail():
    found = np.concatenate([np.concatenate(list(margins(seed, 0.5))) for seed in range(40)])
    assert found.min() < 0.9


def test_along_collabs_steps_it_is_theorem_2():
    parts = {"convexity": 0.2, "smoothness": 3.0, "start": 2.0}
    whole = collab_transient(0.5, rho=9.0, updates=T, **parts)
    np.testing.assert_array_equal(whole, along(9.0 / T**2 / np.arange(1, T + 1), 0.5, **parts))
