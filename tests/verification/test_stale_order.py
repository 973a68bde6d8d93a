"""Stale answers to one model: exact moments given who answers when, and where the mean model goes.

Two quadratics with f_1 = θ² and f_2 = (θ − 10)², by owners that are never idle and three times as
fast as each other. Staleness is then geometric, so that w_i = π_i E[w(s) | i] is in closed form.

And unequal shares of the updates of asynchronous gossip: the published step optimises another
objective (PAPERS). With weights π_i in place of n_i/n it settles near 2.475 for shares 3:1, where
θ* = 4.950 for σ = 0.02.
"""

from functools import cache

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import AsyncGossip, FedAsync, FedBuff, Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Latency, clocks, protocols, simulate
from asyncdp_sim.network.laws import Constant, Exponential
from asyncdp_sim.privacy.mechanisms import NoNoise
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.formulas.exchanges import always_busy
from asyncdp_sim.theory.predict.update_order import lateness, shares
from asyncdp_sim.theory.prediction import Unknown
from scenarios.beyond.stale_order import central_map, stale_course
from tests.tables import table

from .networks import network, replicates
from .zscores import require, score, seen

UNEQUAL = pytest.mark.oracle("limit of learning with unequal shares of updates")
GIVEN_ORDER = pytest.mark.oracle("E ψ of one model with stale answers, for a given order of owners")
LIMITS = pytest.mark.oracle("limit of learning with steps that decrease with staleness")

FAST, SLOW = Exponential(mean=0.25), Exponential(mean=0.75)
PUBLIC = table(__file__, "stale_order.toml")


def differences(scene, bend=lambda late: late, louder=1.0):
    """Return ψ at two k of each run less what is exact of its order, over the mean of that."""
    found = run(scene)
    task, traces = found.problem.task, found.traces
    owners = np.stack([trace.updates["owner"] - 1 for trace in traces])
    late = bend(np.stack([trace.updates["staleness"] for trace in traces]))
    algorithm = scene.algorithm
    often = scene.owners.count * np.array(scene.protocol.chances(scene.owners.count))
    process = central_map(task.objective, algorithm.step * algorithm.server_step, often)
    ks = np.array([20, 40])
    weights, variance = algorithm.weight(late), louder * found.problem.noise.variance
    excess = stale_course(process, owners, late, ks, weights, variance, initial=algorithm.initial)
    exact = excess / task.objective.least
    curve = found.learned.curve
    psi = np.stack([curve["relative_fitness"][curve["k"] == k] for k in ks], axis=1)
    return (psi - exact) / exact.mean(axis=0)


def scores(louder=1.0):
    found = differences(parse(Scenario, PUBLIC), louder=louder)
    return [score(f"ψ at {k}", found[:, at], 0, 1) for at, k in enumerate((20, 40))]


@GIVEN_ORDER
@pytest.mark.long
def test_psi_is_what_the_order_and_the_staleness_make_it():
    require(scores(), error=0.05)


@pytest.mark.no_evidence
@pytest.mark.long
def test_noise_that_is_twice_as_large_is_seen():
    assert seen(scores(louder=2.0)) > 5


@GIVEN_ORDER
def test_without_noise_it_is_exact_and_staleness_that_is_one_too_small_is_seen():
    silent = {"privacy": {"mechanism": "none"}, "run": PUBLIC["run"] | {"replicates": 3}}
    silent["algorithm"] = PUBLIC["algorithm"] | {"initial": "zeros"}
    scene = parse(Scenario, PUBLIC | silent)
    assert np.abs(differences(scene)).max() < 1e-10
    assert np.abs(differences(scene, lambda late: np.maximum(late - 1, 0))).max() > 0.01


def random_problem(rng, n_owners, p):
    features = [rng.normal(size=(9 + i, p)) for i in range(n_owners)]
    targets = [rng.normal(size=9 + i) for i in range(n_owners)]
    return Quadratic.from_records(features, targets, 0.3, None)


@GIVEN_ORDER
@pytest.mark.parametrize("initial", ["zeros", "ones", "uniform"])
def test_backwards_is_as_good_as_all_models_at_once(initial):
    """A twin that keeps mean and covariance of all former models, update by update."""
    rng = np.random.default_rng(7)
    n, p, updates = 3, 2, 9
    process = central_map(random_problem(rng, n, p), 0.15, np.array([1.5, 0.9, 0.6]))
    owners = rng.integers(n, size=(2, updates))
    late = np.stack([rng.integers(k + 1, size=2) for k in range(updates)], axis=1)
    weights, variance = rng.uniform(0.3, 1, size=(2, updates)), np.array([0.5, 1.0, 2.0])
    ks = np.array([0, 4, 9])
    found = stale_course(process, owners, late, ks, weights, variance, initial=initial)
    start = {"zeros": 0.0, "ones": 1.0, "uniform": 0.5}[initial] - process.optimum
    for row in range(2):
        size = p * (updates + 1)
        mean, cov = np.zeros(size), np.zeros((size, size))
        mean[:p] = start
        cov[:p, :p] = np.eye(p) / 12 if initial == "uniform" else 0
        excess, places = [], [slice(k * p, (k + 1) * p) for k in range(updates + 1)]
        for k, here in enumerate(places):
            if k > 0:
                i, w, read = owners[row, k - 1], weights[row, k - 1], k - 1 - late[row, k - 1]
                step = np.eye(size)
                step[here] = 0
                step[here, places[k - 1]] += np.eye(p)
                step[here, places[read]] -= w * process.slope[i]
                mean, cov = step @ mean, step @ cov @ step.T
                mean[here] -= w * process.drift[i]
                cov[here, here] += (w * process.noise[i]) ** 2 * variance[i] * np.eye(p)
            second = np.outer(mean[here], mean[here]) + cov[here, here]
            excess.append(float(np.sum(second * process.hessian)))
        assert found[row] == pytest.approx(np.array(excess)[ks], rel=1e-12)


@GIVEN_ORDER
def test_noise_does_not_look_at_whom_is_asked():
    """With K_i in proportion to p_i, and steps over Np_i, an update's noise is the same for all p.

    Laplace: Σ p_i (K_i/(Np_i))² is (T/N)²; Gaussian, whose variance is as K_i: T/N.
    """
    rng = np.random.default_rng(2)
    objective = random_problem(rng, 4, 2)
    equal = Quadratic(objective.gram, objective.moment, objective.energy, np.full(4, 10), 0.3, None)
    for power in (2, 1):
        made = []
        for chances in (np.full(4, 0.25), rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))):
            process = central_map(equal, 0.1, 4 * chances)
            made.append(float(chances @ (process.noise**2 * (chances * 1000) ** power)))
        assert made == pytest.approx([made[0]] * 3, rel=1e-12)


# Where the mean model goes, with weights that fall with staleness.

SIGMA, UPDATES, RUNS = 0.02, 6000, 36
TWO = Quadratic.from_records(
    [np.ones((100, 1))] * 2, [np.zeros(100), np.full(100, 10.0)], SIGMA, None
)
OPTIMUM = float(TWO.optimum[0])
TASKS = {"compute": (FAST, SLOW), "protocol": protocols.Dispatch(tasks=2, to="same")}
PAIR = network(2, UPDATES, answers_allowed=(UPDATES + 1,) * 2, **TASKS)
PUSHED = PAIR.model_copy(update={"protocol": protocols.Push(), "clock": clocks.SaturatedClock()})


def weights_of(selection):
    """Return w_i over the steps' divisors, which sum to 1, of weights 1/(1 + s).

    E[1/(1 + s)] of P(s) = π(1 − π)^s is π ln(1/π)/(1 − π).
    """
    share = np.array([0.75, 0.25])
    mean = share * np.log(1 / share) / (1 - share)
    made = {"uniform": share * mean, "inverse-rate": mean, "inverse-weight": np.ones(2)}[selection]
    return made / made.sum()


def settled(selection, start):
    """Return where the mean model is on average over the last two thirds of each of some orders.

    Exact given the order, without noise: of one feature, update by update, from ``start``.
    """
    algorithm = FedBuff(step=0.001, server_step=1.0, buffer=1, exponent=1.0, selection=selection)
    chosen = np.array(shares(PAIR))
    mean = np.array([law @ algorithm.weight(np.arange(len(law))) for law in lateness(PAIR)])
    over = {"uniform": np.ones(2), "inverse-rate": 2 * chosen, "inverse-weight": 2 * chosen * mean}
    process = central_map(TWO, algorithm.step, over[selection])
    slope, drift, found = process.slope[:, 0, 0], process.drift[:, 0], []
    for r in range(RUNS):
        updates = simulate(PAIR, Streams(5).within("r", r)).updates
        late, theta = updates["staleness"], [start]
        for k, (i, weight) in enumerate(
            zip(updates["owner"] - 1, algorithm.weight(late), strict=True)
        ):
            moved = slope[i] * (theta[k - late[k]] - process.optimum[0]) + drift[i]
            theta.append(theta[k] - weight * moved)
        found.append(float(np.mean(theta[UPDATES // 3 :])))
    return found


@LIMITS
@pytest.mark.long
@pytest.mark.parametrize("selection", ["uniform", "inverse-rate", "inverse-weight"])
def test_the_mean_limit_minimises_the_weighted_sum(selection):
    """θ of least Σ w_i f_i; it is θ* once steps are divided by w_i."""
    weight = weights_of(selection)[1]
    exact = 10 * weight / (1 + SIGMA / 2)
    require([score(selection, settled(selection, exact), exact)], error=0.01)
    if selection == "inverse-weight":
        assert exact == pytest.approx(OPTIMUM)
    else:
        assert abs(exact / OPTIMUM - 1) > 0.2


@LIMITS
@pytest.mark.long
def test_steps_over_the_shares_alone_do_not_lead_to_the_optimum():
    """Planted fault: weights that fall with staleness, and steps divided by Nπ_i alone."""
    assert seen([score("optimum", settled("inverse-rate", OPTIMUM), OPTIMUM)]) > 5


@LIMITS
@pytest.mark.long
@pytest.mark.parametrize("asked", [PAIR, PUSHED])
def test_owners_that_never_rest_are_stale_by_a_geometric_law(asked):
    scores = []
    for owner, law in enumerate(lateness(asked), start=1):
        assert law.sum() == pytest.approx(1, abs=1e-14)
        assert law[:3] == pytest.approx(always_busy((0.75, 0.25)[owner - 1], 2))
        some = []
        for r in range(RUNS):
            own = simulate(asked, Streams(6).within("r", r)).updates[UPDATES // 5 :]
            some.append(np.mean(own["staleness"][own["owner"] == owner] == 0))
        scores.append(score(f"fresh, owner {owner}", some, law[0]))
    require(scores, error=0.01)


@LIMITS
def test_divisors_are_those_of_the_algorithm():
    """What the algorithm divides by is Nπ_i E[w(s) | i]."""
    raw = table(__file__, "two_owners.toml")
    for algorithm in raw.pop("algorithms"):
        scene = parse(Scenario, {**PUBLIC, **raw, "algorithm": algorithm})
        found = run(scene.replace(run={"replicates": 2})).problem.task.steps.often
        share = np.array([0.75, 0.25])
        assert found == pytest.approx(2 * share**2 * np.log(1 / share) / (1 - share), rel=1e-12)


@LIMITS
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"compute": Constant(value=1.0)}, "not exponential"),
        ({"protocol": protocols.Dispatch(tasks=3, to="same")}, "tasks that wait"),
        ({"protocol": protocols.Dispatch(tasks=2)}, "tasks that wait"),
        ({"latency": Latency(query=FAST)}, "not exponential"),
    ],
)
def test_laws_of_staleness_that_are_not_known_are_named(changed, said):
    found = lateness(PAIR.model_copy(update=changed))
    assert isinstance(found, Unknown)
    assert said in str(found)


@LIMITS
def test_servers_that_are_ample_and_alike_make_all_tasks_race():
    """1/m each: geometric, whoever was drawn."""
    alike = {"compute": FAST, "protocol": protocols.Dispatch(tasks=4, queue="none")}
    laws = lateness(PAIR.model_copy(update=alike))
    assert laws[1][:4] == pytest.approx(0.25 * 0.75 ** np.arange(4))
    assert lateness(PAIR.model_copy(update={"protocol": protocols.Dispatch(tasks=1)}))[
        0
    ].tolist() == [1.0]


@LIMITS
def test_a_hinge_is_the_step_that_adapts_to_delays():
    """w(s) = min(1, b/s) is a hinge with a = 1/b."""
    late, law = np.arange(30), {"weighting": "hinge", "patience": 4.0, "exponent": 0.25}
    found = FedAsync(step=1.0, mixing=1.0, **law).weight(late)
    assert found == pytest.approx(np.minimum(1, 4 / np.maximum(late, 1)))


# Unequal shares of the updates

T, TWENTY = 10_000, 20
NETWORKS = {name: network(2, T, **parts) for name, parts in table(__file__, "shares.toml").items()}
CAUSES = ["rates", "availability", pytest.param("losses", marks=pytest.mark.nightly)]


@cache
def traced(cause):
    return [simulate(NETWORKS[cause], scope) for scope in replicates(1, TWENTY)]


def with_shares(cause, selection):
    """Return the mean of θ_L over the last three quarters of runs, known to 0.3 % of θ*."""
    algorithm = AsyncGossip(rho=0.002 * T**2 * SIGMA, selection=selection)
    chosen = np.array(shares(NETWORKS[cause]))
    steps = algorithm.steps(Setting(TWO.weights, 1, T, SIGMA, None, chosen))
    reply = AnswerModel(TWO, NoNoise(np.zeros(2)))
    path = replay(traced(cause), steps, reply, replicates(1, TWENTY), 1)
    found = path.central[T // 4 :, :, 0].mean(axis=0)
    assert found.std(ddof=1) / np.sqrt(TWENTY) < 0.015
    return found.mean()


@UNEQUAL
@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.long
def test_the_published_step_is_off_by_half(cause):
    assert with_shares(cause, "uniform") == pytest.approx(2.475, abs=0.05)


@UNEQUAL
@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.long
def test_dividing_by_the_share_removes_the_bias(cause):
    assert with_shares(cause, "inverse-rate") == pytest.approx(OPTIMUM, rel=0.01)


@UNEQUAL
def test_shares_that_nobody_knows_are_refused():
    scripted = network(2, 5, clock=clocks.ScriptedClock(times=((1.0,), (2.0,))))
    assert isinstance(shares(scripted), Unknown)
    with pytest.raises(SpecError, match=r"algorithm\.selection: given inverse-rate"):
        AsyncGossip(rho=1.0, selection="inverse-rate").steps(
            Setting(TWO.weights, 1, 5, SIGMA, None)
        )


@UNEQUAL
def test_an_owner_whose_answers_are_all_lost_is_divided_by_nothing():
    setting = Setting(TWO.weights, 1, 5, SIGMA, None, np.array([1.0, 0.0]))
    steps = AsyncGossip(rho=1.0, selection="inverse-rate").steps(setting)
    assert np.isfinite([steps.step, steps.shrink_copy]).all()
