"""A learner's noise that is correlated over rounds: sensitivity, law of losses, and ψ of its noise.

Owners are in few rounds, several rounds apart.
"""

from dataclasses import replace
from importlib import import_module
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from asyncdp_sim.audits import audit
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data.gaussian import GaussianData
from asyncdp_sim.learning.algorithms import ParameterServer, Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.mechanisms import Correlation, Filtered, LearnerNoise, NoNoise
from asyncdp_sim.scenario import Scenario
from tests.tables import table
from tests.whole_owners import WHOLE_OWNERS, multiplier

from .networks import replicates, rows_of
from .zscores import LIMIT, require, score

LEDGER = import_module("asyncdp_sim.privacy.guarantee")  # where the package has a function
pytestmark = pytest.mark.oracle(
    "sensitivity of sums to an owner that takes part rarely, law of the noise, ε, ψ of the noise"
)


def matrix(column, rounds):
    """Return C whole, (T, T)."""
    lag = np.subtract.outer(np.arange(rounds), np.arange(rounds))
    padded = np.append(column, 0.0)
    return padded[np.where((lag >= 0) & (lag < len(column)), lag, len(column))]


def moved_most(column, rounds, most, apart):
    """Return the longest Σ ±C e_t over all rounds that an owner may be in."""
    whole = matrix(column, rounds)
    patterns = [
        times
        for count in range(1, most + 1)
        for times in combinations(range(rounds), count)
        if all(later - sooner >= apart for sooner, later in pairwise(times))
    ]
    return max(
        float(np.linalg.norm(whole[:, list(times)] @ signs))
        for times in patterns
        for signs in product((-1.0, 1.0), repeat=len(times))
    )


@pytest.mark.parametrize(("bands", "most", "apart"), [(2, 3, 2), (3, 2, 3), (3, 2, 5), (4, 2, 4)])
def test_no_pattern_of_rounds_moves_sums_more_than_is_paid_for(bands, most, apart):
    column = Correlation(bands=bands).column
    length = LearnerNoise(np.ones(1), 1, column).length
    assert moved_most(column, 9, most, apart) == pytest.approx(most**0.5 * length, rel=1e-12)


def test_answers_less_far_apart_would_move_sums_more():
    column = Correlation(bands=4).column
    length = LearnerNoise(np.ones(1), 1, column).length
    assert moved_most(column, 9, 2, 3) > 1.05 * 2**0.5 * length


def test_coefficients_are_those_of_the_root_of_prefix_sums():
    root = matrix(Correlation(bands=12).column, 12)
    assert root @ root == pytest.approx(np.tril(np.ones((12, 12))), rel=1e-12)


TABLE = table(__file__, "correlated_noise.toml")
BASE = WHOLE_OWNERS | TABLE | {"privacy": WHOLE_OWNERS["privacy"] | TABLE["privacy"]}
PLAIN = {k: v for k, v in BASE["privacy"].items() if k != "correlation"}
K, XI, PARTS, ROUNDS, RUNS = 2, 0.5, 2, 12, 4000


def scenario(**changes):
    return parse(Scenario, BASE | {k: BASE[k] | v for k, v in changes.items()})


def noise_of(scenario):
    return scenario.noise_for(np.full(scenario.owners.count, 6))


def drawn(noise, rounds, runs):
    """Return the noise of rounds' sums of n_i Q_i, (runs, T): along one coordinate."""
    draw = noise.drawing(1)
    sources = [Streams(7).within("rounds", run).generator("noise") for run in range(runs)]
    rows = np.stack([draw(source, rounds * noise.parts)[:, 0] for source in sources])
    return 6 * noise.scale[0] * rows.reshape(runs, rounds, noise.parts).sum(axis=2)


def law(noise, column):
    """Compare variances of rounds and covariances of neighbours with (CᵀC)⁻¹."""
    inverse = np.linalg.inv(matrix(column, ROUNDS))
    exact = (6 * noise.scale[0]) ** 2 * noise.parts * inverse @ inverse.T
    rounds = drawn(noise, ROUNDS, RUNS)
    pairs = [(0, 0), (5, 5), (11, 11), (0, 1), (4, 6), (8, 11)]
    return [
        score(f"rounds {a} and {b}", rounds[:, a] * rounds[:, b], exact[a, b], exact[0, 0])
        for a, b in pairs
    ]


def test_the_noise_of_rounds_has_its_covariance():
    noise = noise_of(scenario())
    require(law(noise, noise.column), error=0.05)


def test_noise_of_another_matrix_is_far_from_the_law():
    noise = noise_of(scenario())
    planted = replace(noise, column=(1.0, *(-c for c in noise.column[1:])))
    assert max(abs(each.z) for each in law(planted, noise.column)) > 4 * LIMIT


def losses(noise):
    """Compare the loss of an owner that is in rounds 1 and 5, as far as it may move, with its law.

    The loss is by whole matrices: dᵀ Σ⁻¹ (x − d/2), Σ the covariance of the rounds.
    """
    column, sigma = Correlation(bands=4).column, 2 * XI * 6 * multiplier(K)
    length = float(np.linalg.norm(column))
    moved = np.zeros(ROUNDS)
    moved[[1, 5]] = 2 * XI * 6
    inverse = np.linalg.inv(matrix(column, ROUNDS))
    weight = np.linalg.solve((sigma * length) ** 2 * inverse @ inverse.T, moved)
    mu = K**0.5 / multiplier(K)
    sums = drawn(noise, ROUNDS, RUNS) + moved
    loss = (sums - moved / 2) @ weight
    return [
        score("loss", loss, mu**2 / 2),
        score("its variance", (loss - loss.mean()) ** 2, mu**2),
    ]


def test_losses_have_the_law_that_is_charged():
    require(losses(noise_of(scenario())), error=0.1)


def test_noise_that_is_not_paid_for_is_far_from_the_law():
    noise = noise_of(scenario())
    planted = replace(noise, scale=noise.scale / noise.length)
    assert max(abs(each.z) for each in losses(planted)) > 2 * LIMIT


def test_an_answer_costs_what_it_costs_with_independent_noise():
    plain, counts = parse(Scenario, BASE | {"privacy": PLAIN}), np.full(24, K)
    spent = scenario().accountant.spent(counts)
    assert spent == pytest.approx(plain.accountant.spent(counts), rel=1e-12)
    assert spent == pytest.approx(2.0, rel=1e-6)


def left(curvature, column, rounds=300):
    """Return the share of the noise in the last model that is left, of one curvature γλ."""
    kept = (1 - curvature) ** np.arange(rounds - 1, -1, -1)
    felt = np.linalg.solve(matrix(column, rounds).T, kept)
    return float(np.square(column).sum() * np.square(felt).sum() / np.square(kept).sum())


def test_the_page_says_what_is_left_of_the_noise():
    rows = rows_of("correlated-noise", r"^\| (0\.\d+) \|((?: [\d.]+ \|){4})$")
    assert [float(curvature) for curvature, _ in rows] == [0.01, 0.03, 0.1, 0.3]
    for curvature, cells in rows:
        said = [cell.strip() for cell in cells.split("|")[:-1]]
        columns = [Correlation(bands=bands).column for bands in (2, 10, 50, 100)]
        assert said == [f"{left(float(curvature), column):.2f}" for column in columns]


STEP, UPDATES, FEATURES = 0.1, 40, 3


def excesses(bands, runs, claimed):
    """Compare E f(θ_T) − f* of owners that have equal records with its exact value.

    Clipping does not act. Rounds of two of 24 owners; noise of a matrix with ``bands``, held
    against the exact value of one that has ``claimed``.
    """
    built = GaussianData(features=FEATURES, condition=5.0).build(1, (6,), Streams(1))
    x, y = built.features * 24, built.targets * 24
    objective = Quadratic.from_records(x, y, 0.1, None)
    privacy = PLAIN | {"participation": {"most": 8, "apart": 5}, "epsilon": 0.2}
    privacy |= {} if bands is None else {"correlation": {"bands": bands}}
    run = {"run": {"seed": 4, "updates": UPDATES}, "privacy": privacy}
    of = parse(Scenario, BASE | run | {"data": {"kind": "gaussian", "features": FEATURES}})
    trace = simulate(of.network, Streams(1).within("one"))
    setting = Setting(objective.weights, FEATURES, UPDATES, 0.1, None)
    steps = ParameterServer(step=STEP).steps(setting)

    def finals(noise, count):
        reply, scopes = AnswerModel(objective, noise), replicates(5, count, 0)
        return replay([trace] * count, steps, reply, scopes, UPDATES, "central").final

    found, mean = finals(noise_of(of), runs), finals(NoNoise(np.zeros(24)), 1)
    column = (1.0,) if claimed is None else Correlation(bands=claimed).column
    inverse = np.linalg.inv(matrix(column, UPDATES))
    kept = np.eye(FEATURES) - 2 * STEP * objective.hessian
    powers = [np.linalg.matrix_power(kept, UPDATES - 1 - k) for k in range(UPDATES)]
    felt = [sum(powers[k] * inverse[k, j] for k in range(j, UPDATES)) for j in range(UPDATES)]
    plain = noise_of(of).scale[0] / noise_of(of).length * np.linalg.norm(column)
    spread = (STEP * plain) ** 2 / 2 * sum(each @ each.T for each in felt)
    exact = float(objective.excess(mean)[0]) + float(np.trace(objective.hessian @ spread))
    return score(f"excess, {bands} bands", objective.excess(found), exact)


@pytest.mark.long
def test_what_the_noise_costs_is_exact():
    require([excesses(None, 3000, None), excesses(5, 3000, 5)], error=0.03)


def test_noise_that_is_independent_costs_much_more():
    assert excesses(None, 3000, 5).z > 4 * LIMIT


@pytest.mark.long
@pytest.mark.parametrize("bands", [2, 4])
def test_an_audit_refutes_no_correlated_noise(bands):
    of = scenario(privacy={"correlation": {"bands": bands}})
    found = audit(of, answers=40_000, runs=400, confidence=0.999)
    assert not found.exceeded
    assert max(check.epsilon for check in found.checks) > 0


def unpaid(self, noise):
    return replace(noise, column=self.column)


def again(self, generator, right=Filtered._round):
    past = self._kept.get(generator)
    return past[0] if past is not None and len(past) == 1 else right(self, generator)


FAULTS = {"not paid for": (Correlation, "applied", unpaid),
          "noise of the round before again": (Filtered, "_round", again)}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("planted", FAULTS)
def test_an_audit_refutes_planted_faults(planted, monkeypatch):
    monkeypatch.setattr(*FAULTS[planted])
    of = scenario(privacy={"correlation": {"bands": 12}, "participation": {"most": 1, "apart": 12}})
    assert audit(of, answers=40_000, runs=400, confidence=0.999).exceeded


@pytest.mark.long
def test_an_audit_refutes_participation_that_is_not_bounded(monkeypatch):
    monkeypatch.setattr(LEDGER, "_require_within", lambda *_: None)
    free = property(lambda self: (self.run.updates,) * self.owners.count)
    monkeypatch.setattr(Scenario, "_sent_at_most", free)
    of = scenario(privacy={"correlation": {"bands": 2}, "participation": {"most": 1, "apart": 2}})
    found = audit(of, answers=4000, runs=100, confidence=0.999)
    assert found.exceeded
    assert any("1 claimed, ε = " in line and "REFUTED" in line for line in found.lines())
