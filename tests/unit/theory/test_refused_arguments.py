"""Arguments outside their domains, which formulas refuse by name."""

from math import inf, nan

import numpy as np
import pytest

from analysis.exact import bounds, per_update, synchronous
from analysis.exact.bounds import (
    GeometricBound,
    answer_noise,
    step_sizes,
    with_transient,
)
from analysis.exact.given_order import ordered
from analysis.exact.gossip_map import gossip_map, gossip_map_of
from analysis.exact.noise_gain import noise_gain
from analysis.exact.with_budgets import capped_moments
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.theory.formulas import channels, dcf
from asyncdp_sim.theory.formulas.channels import delivered, lost_in_bursts
from asyncdp_sim.theory.formulas.convergence import smallest_entry
from asyncdp_sim.theory.formulas.exchanges import always_busy_mean_of, broadcast
from asyncdp_sim.theory.formulas.queueing import fifo_wait, refusing_unequal, return_bounds
from tests.together import together
from tests.unit.theory.test_descent import OBJECTIVE as POOLED
from tests.unit.theory.test_descent import SCHEDULES
from tests.unit.theory.test_moments import problem

THREE = problem()
PROCESS = gossip_map_of(THREE, rho=1.0, updates=4)
STEPS = step_sizes(2, 1.0, rho=0.1, updates=1)
CHAIN = {"to_bad": 0.1, "to_good": 0.1, "loss_good": 0.1, "loss_bad": 0.1}


def sized(**changes):
    return step_sizes(**{"n_owners": 3, "sigma": 1.0, "rho": 1.0, "updates": 5} | changes)


def bounded(**changes):
    given = {"gradient_bound": 1.0, "diameter": 1.0, "start": 1.0}
    return with_transient(STEPS, np.zeros(2), **given | changes)


def collab(**changes):
    given = {"convexity": 1.0, "smoothness": 2.0, "rho": 1.0, "updates": 3, "start": 1.0}
    return bounds.collab_transient(0.0, **given | changes)


def descended(**changes):
    given = {"optimum": POOLED.free_optimum, "schedule": SCHEDULES["server"]}
    return synchronous.moments(POOLED.hessian, **given | changes)


def mapped(**changes):
    given = {name: getattr(THREE, name) for name in ("gram", "moment", "weights", "sigma")}
    return gossip_map(**given | {"rho": 1.0, "updates": 4} | changes)


REFUSED = [
    ("updates", lambda: GeometricBound(5.0, 0.5, 1.0).after(-1)),
    ("n_owners", lambda: sized(n_owners=0)),
    ("sigma", lambda: sized(sigma=0.0)),
    ("rho", lambda: sized(rho=-1.0)),
    ("updates", lambda: sized(updates=0)),
    ("central_step", lambda: sized(central_step="other")),
    ("probability", lambda: sized(probability=np.array([0.5, 0.5]))),
    ("probability", lambda: sized(probability=np.array([0.5, 0.5, 0.0]))),
    ("variance", lambda: answer_noise(np.array([0.5, 0.5]), np.array([-1.0, 1.0]), 7)),
    ("gradient_bound", lambda: bounded(gradient_bound=inf)),
    ("diameter", lambda: bounded(diameter=inf)),
    ("start", lambda: bounded(start=-1.0)),
    ("spread", lambda: bounded(spread=-1.0)),
    ("convexity", lambda: collab(convexity=3.0)),
    ("start", lambda: collab(start=-1.0)),
    ("updates", lambda: collab(updates=0)),
    ("noise_variance", lambda: descended(noise_variance=-1.0)),
    ("noise_variance", lambda: descended(noise_variance=nan)),
    ("noise", lambda: descended(noise="none")),
    ("initial", lambda: descended(initial="random")),
    ("optimum", lambda: descended(optimum=np.full(3, nan))),
    ("sigma", lambda: mapped(sigma=0.0)),
    ("rho", lambda: mapped(rho=-1.0)),
    ("updates", lambda: mapped(updates=0)),
    ("updates", lambda: mapped(updates=2.5)),
    ("central_step", lambda: mapped(central_step="half")),
    ("weights", lambda: mapped(weights=np.array([0.5, 0.5, 0.5]))),
    ("moment", lambda: mapped(weights=np.array([0.5, 0.5]))),
    ("gram", lambda: mapped(gram=np.ones((3, 2, 3)))),
    ("gram", lambda: mapped(gram=np.ones((3, 2, 2)) + np.triu(np.ones((2, 2)), 1))),
    ("moment", lambda: mapped(moment=np.full((3, 2), nan))),
    ("probability", lambda: mapped(probability=np.array([1.5, -0.5, 0.0]))),
    ("probability", lambda: mapped(probability=np.array([0.5, 0.5]))),
    ("theta_max", lambda: gossip_map_of(problem(theta_max=0.5), rho=1.0, updates=4)),
    ("noise_variance", lambda: per_update.moments(PROCESS, np.array([1.0, -1.0, 1.0]))),
    ("noise_variance", lambda: per_update.moments(PROCESS, np.ones(2))),
    ("noise: given 'loud'", lambda: per_update.moments(PROCESS, noise="loud")),
    ("initial", lambda: per_update.moments(PROCESS, initial="twos")),
    ("noise", lambda: noise_gain(PROCESS, noise="loud")),
    ("owners", lambda: ordered(PROCESS, np.array([[0, 3]]), np.array([2]))),
    *(
        ("ks", lambda ks=ks: ordered(PROCESS, np.array([[0, 1]]), np.array(ks, dtype=int)))
        for ks in ([], [2, 1], [0, 3], [-1])
    ),
    ("initial", lambda: ordered(PROCESS, np.array([[0, 1]]), np.array([2]), initial="twos")),
    ("answers", lambda: capped_moments(PROCESS, np.array([1, 0, 1]))),
    (r"airtime: given 0.6; .* ≤ window/2 = 0.5", lambda: broadcast(3, 0.5, 0.6, 1.0)),
    ("probability", lambda: broadcast(3, 1.5, 0.1, 1.0)),
    ("load", lambda: channels.aloha_infinite(-1.0)),
    ("load", lambda: channels.slotted_aloha_infinite(inf)),
    ("threshold", lambda: channels.aloha_infinite_capture(1.0, -0.5)),
    ("n_owners", lambda: channels.aloha(0, 1.0, 1.0)),
    ("rate", lambda: channels.aloha(2, 0.0, 1.0)),
    ("airtime", lambda: channels.aloha(2, 1.0, -1.0)),
    ("threshold", lambda: channels.aloha_capture(2, 1.0, 1.0, nan)),
    ("slot", lambda: channels.slotted_aloha(2, 1.0, 0.0)),
    ("airtime", lambda: channels.slotted_aloha(5, 2.0, 0.3, 0.4)),
    ("airtime: given 0.6; .* ≤ slot = 0.5", lambda: channels.tdma(2, 0.5, 0.6)),
    ("rate", lambda: channels.tdma(2, 0.5, 0.5, 0.0)),
    ("delay: given 1.0; .*below the airtime, 1.0", lambda: channels.csma_infinite(1.0, 1.0)),
    ("delay", lambda: channels.csma_one_persistent_infinite(1.0, -0.1)),
    ("delay", lambda: channels.csma_detecting_infinite(1.0, nan)),
    ("delay: given 0.5; .*below the airtime, 0.5", lambda: channels.csma(3, 1.0, 0.5, 0.5)),
    ("airtime", lambda: channels.csma(3, 1.0, 0.0, 0.0)),
    ("propagation_delay", lambda: channels.csma_detecting(3, 1.0, 0.5, 0.7)),
    ("n_owners: given 0; allowed is a whole number ≥ 1", lambda: dcf.exact(0, 4, 1)),
    ("window: given 0; allowed is a whole number ≥ 1", lambda: dcf.fixed_point(2, 0, 1)),
    ("doublings: given -1; allowed is a whole number ≥ 0", lambda: dcf.fixed_point(2, 4, -1)),
    ("window: given 1; allowed is a whole number ≥ 2", lambda: dcf.exact(2, 1, 1, frozen=True)),
    ("slot: given 0; allowed is a finite", lambda: dcf.exact(2, 4, 1).access(0, 1)),
    ("after_success: given -1; allowed", lambda: dcf.exact(2, 4, 1).access(1, 1, -1)),
    *(("loss", lambda loss=loss: delivered(loss, 2)) for loss in (-0.1, 1.1, nan)),
    *(
        ("loss_bad", lambda loss=loss: lost_in_bursts(2, **CHAIN | {"loss_bad": loss}))
        for loss in (-0.1, 1.1, nan)
    ),
    (
        "to_good: given 0, as to_bad",
        lambda: lost_in_bursts(1, **CHAIN | {"to_bad": 0.0, "to_good": 0.0}),
    ),
    ("2 rates and 1 mean services", lambda: refusing_unequal([1.0, 1.0], [1.0])),
    ("0 rates", lambda: refusing_unequal([], [])),
    (r"mean_services\[1\]", lambda: refusing_unequal([1.0, 1.0], [1.0, -1.0])),
    ("utilisation", lambda: fifo_wait(3.0, 0.5, 1.0, 1.0)),
    ("second: given 0.2; .* ≥ 0.25", lambda: fifo_wait(1.0, 0.5, 0.2, 1.0)),
    ("third: given 0.4; .* ≥ 0.5", lambda: fifo_wait(1.0, 0.5, 0.5, 0.4)),
    ("tasks: given 0", lambda: return_bounds(0, (0.5, 0.3, 0.2), (1,) * 3, (0,) * 3)),
    ("shares: given", lambda: return_bounds(1, (0.5, 0.6), (1, 1), (0, 0))),
    ("share: given 0.0", lambda: always_busy_mean_of((0.0, 1.0), 3)),
    ("share: given -0.5", lambda: always_busy_mean_of((-0.5, 1.5), 3)),
    ("a zero on the diagonal", lambda: smallest_entry(np.eye(2)[::-1])),
    ("not connected", lambda: smallest_entry(np.eye(2))),
    ("doubly stochastic", lambda: smallest_entry(np.array([[0.9, 0.1], [0.5, 0.5]]))),
    ("doubly stochastic", lambda: smallest_entry(np.array([[1.5, -0.5], [-0.5, 1.5]]))),
    ("of shape", lambda: smallest_entry(np.full((2, 3), 0.5))),
]


@together
@pytest.mark.parametrize(("said", "call"), REFUSED)
def test_what_lies_outside_a_domain_is_refused_by_its_name(said, call):
    with pytest.raises(SpecError, match=said):
        call()
