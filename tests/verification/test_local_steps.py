"""Local steps: over a given trace and a quadratic loss the model is linear in the noise.

Every model is followed as m + G ξ, ξ being the noise of all gradients of scale 1, by the formula of
each algorithm: mean m and covariance G Var(ξ) Gᵀ are exact, however stale the reads are.
"""

from functools import cache, partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import per_owner
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning import algorithms
from asyncdp_sim.learning.answers import AnswerModel, Sample
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Latency, channels, laws, protocols, simulate
from asyncdp_sim.privacy.composition import spending_columns
from asyncdp_sim.privacy.mechanisms import GaussianNoise, LaplaceNoise
from asyncdp_sim.runs.run import run
from tests.one_in import one_in
from tests.tables import table
from tests.together import together

from . import networks
from .networks import network, replicates
from .zscores import require, score, shared

MODELS = pytest.mark.oracle("mean and covariance of the model with several local steps")
COSTS = pytest.mark.oracle("ε of answers with E local steps")

scene = partial(networks.scene, "local-records")
N, P, UPDATES, SIGMA, RUNS = 3, 2, 8, 0.2, 4000
NOISE = np.array([0.5, 1.0, 0.7])
SMALL = 0.02
"""Of the noise, where means are told."""
PUSHED = {"protocol": protocols.Push(), "latency": Latency(answer=laws.Exponential(mean=0.8))}
CASES = {
    "fedasync": (algorithms.FedAsync(step=0.15, mixing=0.7, local_steps=3), PUSHED),
    "fedbuff": (algorithms.FedBuff(step=0.1, server_step=0.9, buffer=2, local_steps=4), PUSHED),
    "parameter-server": (
        algorithms.ParameterServer(step=0.4, exponent=0.3, local_steps=3, local_step=0.15),
        {"protocol": protocols.Rounds(), "channel": channels.Ideal(loss=0.3)},
    ),
}


@cache
def problem():
    """Return a quadratic whose owners differ in size, features and target."""
    rng = np.random.default_rng(3)
    features = [rng.normal(size=(n, 1)) + 0.4 * rng.normal(size=(n, P)) for n in (40, 10, 20)]
    targets = [x @ [2.0, -1.0] + i for i, x in enumerate(features)]
    return Quadratic.from_records(features, targets, SIGMA, None)


@cache
def traced(name):
    """Return the one trace of all replicates."""
    algorithm, parts = CASES[name]
    net = network(N, UPDATES, answers_per_update=algorithm.answers_per_update, **parts)
    return simulate(net, Streams(7).within("replicate", 1))


class Line:
    """A model as a function of noise: row 0 is its mean, the others what each number adds."""

    def __init__(self, trace, local):
        self.wide = len(trace.updates) * local * P
        self.owners = []

    def start(self):
        return np.zeros((1 + self.wide, P))

    def gradient(self, owner, at):
        """Return ∇f_i where a model is, and noise of its own."""
        objective = problem()
        found = 2 * at @ objective.gram[owner]
        found[0] -= 2 * objective.moment[owner]
        found[1 + len(self.owners) :][:P] += np.eye(P)
        self.owners += [owner] * P
        return found

    def went(self, owner, read, step, weight, local):
        at = read
        for _ in range(local):
            at = at - step * (SIGMA * at + weight * self.gradient(owner, at))
        return read - at


def exact(name):
    """Return mean and covariance of the last model, for noise whose variances are 1."""
    algorithm, trace = CASES[name][0], traced(name)
    line, shares = Line(trace, algorithm.local_steps), problem().weights
    step = getattr(algorithm, "local_step", None) or algorithm.step
    path, served = [line.start()], name == "parameter-server"
    for k in range(1, trace.n_updates + 1):
        far, weights = [], []
        for answer in trace.updates[trace.updates["k"] == k]:
            owner, late = int(answer["owner"]) - 1, int(answer["staleness"])
            read, own = path[-1 - late], 1.0 if served else N * shares[owner]
            far.append((read, line.went(owner, read, step, own, algorithm.local_steps)))
            weights.append(shares[owner] if served else (1.0 + late) ** -0.5)
        path.append(moved(name, algorithm, path[-1], far, weights, k))
    spread = path[-1][1 : 1 + len(line.owners)]
    return path[-1][0], lambda variances: spread.T * variances[line.owners] @ spread


def moved(name, algorithm, model, far, weights, k):
    """Return the next model, of the differences and their weights."""
    total = sum(w * d for w, (_, d) in zip(weights, far, strict=True))
    if name == "fedasync":
        [(read, d)], [w] = far, weights
        return model + algorithm.mixing * w * (read - d - model)
    if name == "fedbuff":
        return model - algorithm.server_step / algorithm.buffer * total
    unit = algorithm.local_steps * algorithm.local_step
    return model - algorithm.step * k**-algorithm.exponent / unit * total / sum(weights)


def measure(name, seed, runs=RUNS, kind=GaussianNoise):
    """Return scores of means, with little noise, and of second moments, with much."""
    algorithm, trace = CASES[name][0], traced(name)
    mean, covariance = exact(name)
    found = []
    for scale in (SMALL, 1.0):
        noise = kind(scale * NOISE)
        scopes = [Streams(seed).within(name).within("replicate", r) for r in range(1, runs + 1)]
        setting = algorithms.Setting(problem().weights, P, UPDATES, SIGMA, None)
        reply = AnswerModel(problem(), noise)
        final = replay([trace] * runs, algorithm.steps(setting), reply, scopes, UPDATES).final
        apart, due = final - mean, covariance(noise.variance)
        if scale < 1:
            found += [score(f"θ_{j}", final[:, j], mean[j]) for j in range(P)]
        else:
            found += products("cov", apart, due)
    return found


def products(name, values, exact):
    """Return scores of the products of two coordinates."""
    root = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    return [
        score(f"{name} {i} {j}", values[:, i] * values[:, j], exact[i, j], root[i, j])
        for i, j in [(0, 0), (1, 1), (0, 1)]
    ]


once = shared(measure)


@MODELS
@one_in(3, "name", CASES)
def test_mean_and_covariance_are_those_of_the_linear_recursion(name):
    found = once(name, 5)
    require([each for each in found if each.name.startswith("θ")], error=0.003)
    require([each for each in found if each.name.startswith("cov")], error=0.03)


@MODELS
def test_reads_are_stale_and_rounds_lack_answers_where_that_is_tried():
    assert traced("fedasync").updates["staleness"].max() > 1
    assert traced("fedbuff").updates["staleness"].max() > 0
    assert len(traced("parameter-server").updates) < N * UPDATES


SAMPLED = algorithms.FedAsync(step=0.3, mixing=1.0, local_steps=2)
RECORDS = ([np.array([[1.0, 0.5], [-0.5, 1.0], [0.3, -1.0]])], [np.array([1.0, 2.0, -1.0])])
Q = 0.5


def sampled(seed, runs=5000):
    """Return scores of the model after one answer of two steps, each over its own sample.

    Mean and second moments are sums over all pairs of samples of three records.
    """
    [x], [y] = RECORDS
    scale, eta = 0.8, SAMPLED.step
    mean, square = np.zeros(P), np.zeros((P, P))
    for both in product((0.0, 1.0), repeat=6):
        one, two = np.array(both[:3]), np.array(both[3:])
        chance = np.prod([Q if w else 1 - Q for w in (*one, *two)])
        b = 2 * (x.T * two) @ x / (Q * 3)
        r, s = (2 * (x.T * w) @ y / (Q * 3) for w in (one, two))
        first, keep = eta * r, (1 - eta * SIGMA) * np.eye(P) - eta * b
        at = keep @ first + eta * s
        spread = eta**2 * scale**2 * (keep @ keep.T + np.eye(P))
        mean, square = mean + chance * at, square + chance * (np.outer(at, at) + spread)
    objective = Quadratic.from_records(*RECORDS, SIGMA, None)
    trace = simulate(network(1, 1), Streams(7).within("replicate", 1))
    sample = Sample(LinearRecords(*RECORDS), 3, Q)
    reply = AnswerModel(objective, GaussianNoise(np.array([scale])), sample)
    steps = SAMPLED.steps(algorithms.Setting(np.ones(1), P, 1, SIGMA, None))
    final = replay([trace] * runs, steps, reply, replicates(seed, runs), 1).final
    found = [score(f"θ_{j}", final[:, j], mean[j], np.sqrt(square[j, j])) for j in range(P)]
    return found + products("θ θ", final, square)


@pytest.mark.long
@MODELS
def test_each_step_has_a_sample_of_its_own():
    require(sampled(11), error=0.03)


OF_ONE = ("algorithm.local_steps=1", "privacy.budget.answers=6")
GAUSSIAN = ("privacy.mechanism=gaussian", "privacy.delta=1e-5")
PLD = ("privacy.accountant=pld", "privacy.delta=1e-5")
TABLE = table(__file__, "local_steps.toml")
ACCOUNTED = TABLE["accounted"]
ALGORITHMS = TABLE["algorithms"]


@COSTS
@pytest.mark.parametrize(
    "accounted",
    [
        pytest.param(name, marks=pytest.mark.long if "pld" in str(settings) else ())
        for name, settings in ACCOUNTED.items()
    ],
)
def test_a_budget_is_spent_by_the_last_gradient_and_never_exceeded(accounted):
    """The noise is that of E times as many answers of one gradient, which cost the same."""
    several, one = scene(*ACCOUNTED[accounted]), scene(*OF_ONE, *ACCOUNTED[accounted])
    records = np.array([3, 3])
    assert np.array_equal(several.noise_for(records).scale, one.noise_for(records).scale)
    for answers in (0, 1, 2):
        spent = several.accountant.spent(np.full(2, answers))
        assert np.array_equal(spent, one.accountant.spent(np.full(2, 3 * answers)))
        assert np.all(spent <= several.accountant.epsilon)
    assert np.all(spent >= several.accountant.epsilon * (1 - 2e-3))
    assert several.accountant.answers.tolist() == [2, 2]


@MODELS
@pytest.mark.long
@pytest.mark.parametrize("resend", ["same", "fresh"])
@pytest.mark.parametrize("accounted", [(), ACCOUNTED["gaussian over samples"]], ids=["", "samples"])
@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
def test_live_learning_is_its_replay_and_no_budget_is_exceeded(algorithm, accounted, resend):
    chosen = (f"channel.resend={resend}", "run.replicates=20", *algorithm, *accounted)
    networks.is_its_replay_within_a_budget_of_one("local-records", *chosen)


@MODELS
@pytest.mark.parametrize("algorithm", TABLE["one_step"])
def test_one_local_step_is_none(algorithm):
    """To the bit: the same streams, steps and charges."""
    served = "parameter-server" in algorithm
    rounds = ("protocol.kind=rounds", "privacy.budget.answers=8") if served else ()
    one, none = (f"algorithm={{{algorithm}{more}}}" for more in (", local_steps=1", ""))
    first, second = (run(scene(each, *rounds)) for each in (one, none))
    assert first.fingerprints == second.fingerprints


@MODELS
@pytest.mark.parametrize("law", TABLE["laws"].values(), ids=TABLE["laws"])
def test_every_gradient_takes_its_time(law):
    """Cumulants of independent times add up; of gamma ones these are a gamma law's."""
    scenario = scene().replace(compute=law)
    several, one = (per_owner(each.compute, 2) for each in (scenario.network, scenario))
    for whole, single in zip(several, one, strict=True):
        for name in ("mean", "variance", "least"):
            assert getattr(whole, name) == pytest.approx(3 * getattr(single, name), rel=1e-12)
        assert whole.instant == single.instant


@COSTS
def test_the_curve_of_a_budget_and_zcdp_are_of_all_gradients():
    several, one = scene(*PLD), scene(*OF_ONE, *PLD)
    mine, due = (
        spending_columns(each.accountant, [SimpleNamespace(released=np.array(released))])
        for each, released in ((several, [2, 1]), (one, [6, 3]))
    )
    assert np.array_equal(mine["delta"], due["delta"])
    assert np.array_equal(mine["answers"] * 3, due["answers"])
    gaussian = scene(*GAUSSIAN).accountant
    rho = 1 / (2 * np.square(gaussian.multiplier))
    assert gaussian.zcdp(np.array([2, 1])) == pytest.approx(rho * [6, 3], rel=1e-12)


@together
@COSTS
@pytest.mark.parametrize(("said", "settings"), table(__file__, "refused.toml")["local_steps"])
def test_what_is_not_known_or_makes_no_sense_is_refused(settings, said):
    with pytest.raises(SpecError, match=said):
        scene(*settings)


@MODELS
def test_gradients_are_taken_in_the_box():
    """Where a bound on records' gradients holds of all models that are asked at."""
    local = algorithms.LocalSteps(3, np.array([100.0]), 1.0, 0.5)
    asked = []

    def ask(at):
        asked.append(at.copy())
        return np.ones_like(at)

    local.sent(algorithms.AnswerBatch(np.array([0])), np.zeros((1, P)), ask)
    assert max(np.abs(each).max() for each in asked) == 0.5


@COSTS
def test_of_gaussian_gradients_at_one_point_the_sum_tells_all():
    """The likelihood ratio of all of them is that of their sum, whose noise is √E as large."""
    rng, scale, count, apart = np.random.default_rng(8), 0.7, 5, np.array([0.3, -0.2])
    each, whole = (GaussianNoise(np.array([s])) for s in (scale, scale * count**0.5))
    answers = scale * rng.normal(size=(count, P))

    def ratio(noise, answers, shift):
        owners = np.zeros(len(answers), dtype=np.int64)
        other = noise.log_likelihood(owners, np.broadcast_to(shift, answers.shape), answers)
        return (other - noise.log_likelihood(owners, np.zeros(answers.shape), answers)).sum()

    told = ratio(each, answers, apart)
    assert told == pytest.approx(ratio(whole, answers.sum(axis=0)[None], count * apart), rel=1e-12)


@pytest.mark.long
@MODELS
def test_noise_of_another_law_has_the_moments_of_its_variance():
    require(measure("fedasync", 6, 4000, LaplaceNoise), error=0.05)
