from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.theory.moments.gossip_map import gossip_map, gossip_map_of
from asyncdp_sim.theory.moments.noise_gain import noise_gain
from asyncdp_sim.theory.moments.per_update import moments
from tests.together import together


def problem(n_owners=3, n_features=2, sigma=0.1, theta_max=None):
    g = np.random.default_rng(5)
    features = [g.normal(size=(10 * (i + 1), n_features)) for i in range(n_owners)]
    targets = [x.sum(axis=1) + g.normal(size=len(x)) for x in features]
    return Quadratic.from_records(features, targets, sigma, theta_max)


def given(**changes):
    o = problem()
    arguments = {"gram": o.gram, "moment": o.moment, "weights": o.weights, "sigma": o.sigma}
    arguments |= {"rho": 1.0, "updates": 4} | changes
    return arguments


def build(arguments):
    positional = [arguments.pop(name) for name in ("gram", "moment", "weights", "sigma")]
    return gossip_map(*positional, **arguments)


def test_the_map_of_an_objective():
    o = problem()
    process = gossip_map_of(o, rho=2.0, updates=5)
    assert np.allclose(process.optimum, o.optimum, rtol=1e-13)
    assert np.allclose(process.hessian, o.hessian, rtol=1e-14)
    assert process.n_owners == 3
    assert process.n_features == 2
    # at the optimum the drifts of the copies and of the central model cancel on average
    assert np.allclose(process.drift.mean(axis=0), -process.central_drift, rtol=1e-12)


def test_one_owner_without_noise_follows_one_path():
    o = problem(n_owners=1)
    process = gossip_map_of(o, rho=3.0, updates=20)
    central = copy = np.zeros(2)
    rate = 3.0 / 20**2
    found = moments(process)
    for k in range(20):
        middle = (central + copy) / 2
        slope = 2 * (o.gram[0] @ middle - o.moment[0])
        copy = middle - rate / o.sigma * (o.sigma * middle / 2 + slope)
        central = middle - rate / 2 * middle
        assert np.allclose(found.mean[k + 1], central, rtol=1e-12)
    assert np.allclose(found.copies_mean[0], copy, rtol=1e-12)
    assert np.allclose(found.covariance, 0, atol=1e-14)
    assert np.allclose(found.expected_excess(), o.excess(found.mean), rtol=1e-11)
    assert np.allclose(found.bias, np.linalg.norm(found.mean - o.optimum, axis=1), rtol=1e-14)


def test_without_steps_models_only_average():
    """As ρ → 0 nothing is learned and uniform starts keep their mean."""
    process = gossip_map_of(problem(), rho=1e-12, updates=50)
    found = moments(process, initial="uniform")
    assert np.allclose(found.mean, 0.5, atol=1e-9)
    assert np.allclose(found.covariance[0], np.eye(2) / 12, atol=1e-15)
    assert np.all(np.diff(np.trace(found.covariance, axis1=1, axis2=2)) < 1e-12)


def test_noise_reaches_the_central_model_one_update_late():
    process = gossip_map_of(problem(), rho=1.0, updates=4)
    gain = noise_gain(process)
    assert gain.shape == (5, 3)
    assert np.all(gain[:2] == 0)
    assert np.all(np.diff(gain[1:], axis=0) > 0)
    # first noise at k = 1 in θ_i, read back at k = 2 if i is chosen again: (1/9) (m s_i/2)² tr H
    m = process.central_factor
    expected = (m * process.step / 2) ** 2 * np.trace(process.hessian) / 9
    assert np.allclose(gain[2], expected, rtol=1e-13)


def test_second_moments_are_affine_in_the_variances():
    process = gossip_map_of(problem(), rho=5.0, updates=9)
    free = moments(process).second
    one, two = np.array([1.0, 0.0, 2.0]), np.array([0.0, 3.0, 0.5])
    sum_ = moments(process, one + two).second - free
    parts = (moments(process, one).second - free) + (moments(process, two).second - free)
    assert np.allclose(sum_, parts, rtol=1e-12)
    assert np.allclose(moments(process, one).mean, moments(process).mean, rtol=0, atol=0)


def test_scalar_noise_has_the_trace_of_vector_noise_but_not_its_shape():
    process = gossip_map_of(problem(), rho=5.0, updates=9)
    flat = replace(process, factor=np.zeros_like(process.factor) + 0.5 * np.eye(2))
    variance = np.ones(3)
    vector = moments(flat, variance).second
    scalar = moments(flat, variance, noise="scalar-as-published").second
    free = moments(flat).second
    assert np.allclose(np.trace(vector, axis1=1, axis2=2), np.trace(scalar, axis1=1, axis2=2))
    assert np.allclose((scalar - free)[2:, 0, 1], (scalar - free)[2:, 0, 0])
    assert np.allclose((vector - free)[2:, 0, 1], 0, atol=1e-15)


def test_an_owner_never_chosen_keeps_its_model():
    chance = np.array([0.5, 0.5, 0.0])
    process = gossip_map_of(problem(), rho=5.0, updates=9, probability=chance)
    found = moments(process, np.ones(3), initial="ones")
    assert np.allclose(found.copies_mean[2], 1, atol=1e-15)
    assert np.all(noise_gain(process)[:, 2] == 0)


def test_another_fitness_may_judge():
    process = gossip_map_of(problem(), rho=5.0, updates=9)
    found = moments(process, np.ones(3))
    judge, centre = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([0.7, -0.2])
    shift = found.mean - centre
    direct = np.einsum("kab,ab->k", found.covariance, judge)
    direct += np.einsum("ka,ab,kb->k", shift, judge, shift)
    assert np.allclose(found.expected_excess(judge, centre), direct, rtol=1e-12)
    assert np.allclose(
        found.expected_excess(), found.expected_excess(process.hessian, process.optimum)
    )


def test_text_and_proof_agree_for_two_owners_only():
    pair, three = problem(2), problem(3)
    for objective, same in ((pair, True), (three, False)):
        proof, text = (
            gossip_map_of(objective, rho=5.0, updates=9, central_step=step)
            for step in ("proof", "text")
        )
        assert (proof.central_factor == pytest.approx(text.central_factor, rel=1e-15)) is same


def test_divergence_is_infinite_not_an_error():
    process = gossip_map_of(problem(), rho=1e9, updates=200)
    assert not np.all(np.isfinite(moments(process, np.ones(3)).second))
    assert not np.all(np.isfinite(noise_gain(process)))


@together
@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"sigma": 0.0}, "sigma"),
        ({"rho": -1.0}, "rho"),
        ({"updates": 0}, "updates"),
        ({"updates": 2.5}, "updates"),
        ({"central_step": "half"}, "central_step"),
        ({"weights": np.array([0.5, 0.5, 0.5])}, "weights"),
        ({"weights": np.array([0.5, 0.5])}, "moment"),
        ({"gram": np.ones((3, 2, 3))}, "gram"),
        ({"gram": np.ones((3, 2, 2)) + np.triu(np.ones((2, 2)), 1)}, "gram"),
        ({"moment": np.full((3, 2), np.nan)}, "moment"),
        ({"probability": np.array([1.5, -0.5, 0.0])}, "probability"),
        ({"probability": np.array([0.5, 0.5])}, "probability"),
    ],
)
def test_bad_arguments_are_refused(changes, key):
    with pytest.raises(SpecError, match=key):
        build(given(**changes))


def test_bad_noise_and_starts_are_refused():
    process = build(given())
    with pytest.raises(SpecError, match="noise_variance"):
        moments(process, np.array([1.0, -1.0, 1.0]))
    with pytest.raises(SpecError, match="noise_variance"):
        moments(process, np.ones(2))
    with pytest.raises(SpecError, match="noise: given 'loud'"):
        moments(process, noise="loud")
    with pytest.raises(SpecError, match="noise"):
        noise_gain(process, noise="loud")
    with pytest.raises(SpecError, match="initial"):
        moments(process, initial="twos")


def test_an_active_projection_is_refused():
    with pytest.raises(SpecError, match="theta_max"):
        gossip_map_of(problem(theta_max=0.5), rho=1.0, updates=4)
    assert gossip_map_of(problem(theta_max=50.0), rho=1.0, updates=4).updates == 4
