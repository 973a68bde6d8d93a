import numpy as np

from analysis.exact.gossip_map import gossip_map_of
from analysis.exact.noise_gain import noise_gain
from analysis.exact.per_update import moments
from asyncdp_sim.learning.objectives import Quadratic


def problem(n_owners=3, n_features=2, sigma=0.1, theta_max=None):
    g = np.random.default_rng(5)
    features = [g.normal(size=(10 * (i + 1), n_features)) for i in range(n_owners)]
    targets = [x.sum(axis=1) + g.normal(size=len(x)) for x in features]
    return Quadratic.from_records(features, targets, sigma, theta_max)


def test_the_map_of_an_objective():
    o = problem()
    process = gossip_map_of(o, rho=2.0, updates=5)
    assert np.allclose(process.optimum, o.optimum, rtol=1e-13)
    assert np.allclose(process.hessian, o.hessian, rtol=1e-14)
    assert process.n_owners == 3
    assert process.n_features == 2
    # at the optimum the drifts of the copies and of the central model cancel on average
    assert np.allclose(process.drift.mean(axis=0), -process.central_drift, rtol=1e-12)


def test_divergence_is_infinite_not_an_error():
    process = gossip_map_of(problem(), rho=1e9, updates=200)
    assert not np.all(np.isfinite(moments(process, np.ones(3)).second))
    assert not np.all(np.isfinite(noise_gain(process)))


def test_a_projection_that_does_not_act_is_none():
    assert gossip_map_of(problem(theta_max=50.0), rho=1.0, updates=4).updates == 4
