"""Attackers: likelihoods of answers, trade-off curves, and tests that never cross them."""

from dataclasses import replace
from math import exp, inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog
from scipy.stats import norm

from asyncdp_sim.audits import audit
from asyncdp_sim.audits.check import Claim
from asyncdp_sim.comparisons.comparison import together as both
from asyncdp_sim.privacy import Gaussian, Pure, composition, mechanisms, pairs
from asyncdp_sim.results import Result
from asyncdp_sim.runs.outcome import RunResult, owner_columns
from asyncdp_sim.runs.run import manifest, run, write
from asyncdp_sim.scenario import load
from asyncdp_sim.sentences.result import figures
from tests.one_in import one_in
from tests.reproducibility.runs import scenario
from tests.verification.test_audit_faults import SCENE

# ε in words: trade-off curves of answers, and tests that reach them and never cross them.

PAGE = Path(__file__).parents[3] / "docs" / "privacy" / "accountants.md"
DELTA = 1e-6
F = 0.01
CLIP = {"privacy__sensitivity": {"kind": "clip", "bound": 1.0}, "privacy__epsilon": 1.0}


def owners(outcome: RunResult) -> dict[str, Any]:
    """Return the table of owners that is written."""
    charged = (outcome.problem, outcome.ledger, outcome.guarantee)
    return owner_columns(*charged, outcome.traces, outcome.numbers)


def told(pair_of: composition.PairOf, charge: float, answers: int = 1) -> tuple[float, float]:
    return composition.attacker_of(
        composition.together(((pair_of(charge), answers),), DELTA, tilted=False)
    )


def test_randomised_response_reaches_what_pure_epsilon_allows():
    for epsilon in (0.1, 1.0, 3.0):
        wrong = 1 / (1 + exp(epsilon))
        found = pairs.of_pure(np.array(epsilon), 0.0, wrong)
        assert found.power == pytest.approx(1 - wrong)
        assert found.advantage == pytest.approx(1 - 2 * wrong)
        assert told(pairs.GenericPair, epsilon) == pytest.approx(
            (float(pairs.of_pure(np.array(epsilon)).power), 1 - 2 * wrong), rel=1e-3
        )


def test_a_laplace_answer_is_told_by_the_known_curve():
    """Below f = e^−ε/2 the best test is right in e^ε f; its advantage is 1 − e^(−ε/2)."""
    for epsilon in (0.1, 1.0, 3.0):
        power, advantage = told(pairs.LaplacePair, epsilon)
        assert power == pytest.approx(min(exp(epsilon) * F, 1.0), rel=2e-3)
        assert advantage == pytest.approx(1 - exp(-epsilon / 2), rel=2e-3)


def test_the_figures_of_the_page():
    charge = composition.charge_of(pairs.LaplacePair, 1.0, DELTA, 63)
    power, advantage = told(pairs.LaplacePair, charge, 63)
    pure = pairs.of_pure(np.array(1.0))
    for said, value in (("2.72 %", 100 * pure.power), ("0.462", pure.advantage),
                        ("1.85 %", 100 * power), ("0.097", advantage)):  # fmt: skip
        assert float(said.split()[0]) == pytest.approx(float(value), rel=5e-3)
        assert said in PAGE.read_text("utf-8")


def test_gaussian_losses_have_the_gaussian_curve():
    for mu in (0.1, 1.0, 4.0):
        found, exact = told(pairs.sampled_gaussian(1 - 2.0**-53), mu), pairs.of_gaussian(mu)
        assert found[0] == pytest.approx(float(exact.power), rel=2e-2)
        assert found[1] == pytest.approx(float(exact.advantage), rel=2e-2)
        assert found[0] >= exact.power * (1 - 1e-9)
        assert found[1] >= exact.advantage * (1 - 1e-9)
        assert exact.power == pytest.approx(norm.sf(norm.isf(F) - mu))


def test_nothing_is_told_by_nothing_and_everything_by_exact_answers():
    counts = np.array([[0, 1]])
    pure = Pure(np.array([4, 4]), np.array([1.0, inf]), np.array([1.0, inf]))
    gaussian = Gaussian(np.array([4, 4]), np.array([1.0, inf]), np.array([5.0, 0.0]), DELTA)
    for accountant in (pure, gaussian, composition.ByLosses(pure, pairs.LaplacePair, DELTA)):
        found = accountant.attacker(counts)
        assert found.power == pytest.approx(np.array([[F, 1.0]]))
        assert found.advantage == pytest.approx(np.array([[0.0, 1.0]]))


@pytest.mark.long
def test_the_best_test_of_composed_answers_reaches_the_curve_and_does_not_cross_it():
    """The likelihood ratio of 40 Laplace answers, moved by all that a record may move them."""
    charge, answers, runs = 0.3, 40, 200_000
    generator = np.random.default_rng(7)
    scores = [
        sum(
            np.abs(x) - np.abs(x - charge)
            for x in (generator.laplace(size=runs) + shift for _ in range(answers))
        )
        for shift in (0.0, charge)
    ]
    power, advantage = told(pairs.LaplacePair, charge, answers)
    threshold = np.quantile(scores[0], 1 - F)
    rightly = np.mean(scores[1] > threshold)
    best = np.mean(scores[1] > 0) - np.mean(scores[0] > 0)
    assert rightly == pytest.approx(power, rel=0.03)
    assert rightly <= power + 4 * np.sqrt(power / runs + F / runs * exp(4))
    assert best == pytest.approx(advantage, rel=0.02)
    assert best <= advantage + 4 / np.sqrt(runs)


def test_a_composed_claim_leaves_an_attacker_less_than_the_same_pure_one():
    same = {"privacy__delta": 1e-6, "privacy__accountant": "pld"}
    many = {"privacy__budget": {"kind": "per-owner-cap", "answers": 200}}
    pure, composed = (run(scenario(**many, **CLIP, **more)).summary for more in ({}, same))
    assert composed["attacker_power"] < 0.8 * pure["attacker_power"]
    assert composed["attacker_advantage"] < 0.4 * pure["attacker_advantage"]
    assert pure["attacker_power"] == pytest.approx(exp(1) * F)


def test_what_is_not_private_as_claimed_is_told_by_its_true_epsilon():
    told = {"privacy__sensitivity": CLIP["privacy__sensitivity"] | {"norm": "l2-as-published"}}
    found = run(scenario(**CLIP | told))
    most = pairs.of_pure(np.array(sqrt(3.0)))
    assert found.summary["private"] is False
    assert found.summary["attacker_power"] == pytest.approx(float(most.power))
    assert owners(found)["attacker_power"] == pytest.approx(
        pairs.of_pure(sqrt(3.0) * owners(found)["epsilon_spent"]).power
    )
    same = run(scenario(**CLIP, privacy__noise="scalar-as-published"))
    assert same.summary["attacker_advantage"] == 1
    assert set(owners(same)["attacker_power"]) == {1.0}
    said = dict(figures(manifest(same)))
    assert said["an attacker"] == "can be certain which of two records one owner holds"
    weak = dict(figures(manifest(run(scenario(**{**CLIP, "privacy__epsilon": 10.0})))))
    assert weak["an attacker"] == "can be almost certain which of two records one owner holds"
    bare = run(scenario(privacy={"mechanism": "none"}))
    assert bare.summary["attacker_power"] is None
    assert "an attacker" not in dict(figures(manifest(bare)))


@pytest.mark.parametrize("bound", [1e-3, 1e3], ids=["exceeded", "kept"])
@pytest.mark.parametrize(
    "noise",
    [{}, {"mechanism": "gaussian", "delta": DELTA}, {"accountant": "pld", "delta": DELTA}],
    ids=["laplace", "gaussian", "composed"],
)
def test_no_upper_bound_stands_beside_a_lower_one(noise, bound, tmp_path):
    """One record with a gradient as long as one likes is told for sure, whatever the noise is."""
    told = {f"privacy__{name}": value for name, value in noise.items()}
    found = run(scenario(**told, privacy__sensitivity={"kind": "declared", "bound": bound}))
    assert found.summary["epsilon_at_least"] is True
    assert found.summary["bound_exceeded"] is (bound < 1)
    for name in ("attacker_power", "attacker_advantage"):
        assert found.summary[name] is None
        assert np.isnan(owners(found)[name]).all()
    assert dict(figures(manifest(found)))["an attacker"] == (
        "no upper bound holds, because the sensitivity bound is declared, not enforced"
    )
    write(found, tmp_path / "out")
    assert not (tmp_path / "out" / "spending.parquet").exists()
    opened = Result.read(tmp_path / "out")
    assert "would cost the sum, at least ε =" in both(opened, opened)
    older = manifest(found)
    older["summary"] |= {"attacker_power": 0.5, "attacker_advantage": 0.5}
    assert dict(figures(older))["an attacker"].startswith("no upper bound")


def test_owners_curves_are_written_where_answers_are_composed(tmp_path):
    import pyarrow.parquet as pq

    made = run(scenario(**CLIP, privacy__delta=1e-6, privacy__accountant="pld"))
    write(made, tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "spending.parquet").to_pandas()
    owners = pq.read_table(tmp_path / "out" / "owners.parquet").to_pandas()
    for owner, rows in table.groupby("owner"):
        assert np.all(np.diff(rows["epsilon"]) > 0)
        assert np.all(np.diff(rows["delta"]) <= 0)
        his = owners[owners["owner"] == owner]
        most = his.loc[his["answers_released"].idxmax()]
        assert rows["answers"].unique().tolist() == [most["answers_released"]]
        above = rows[rows["epsilon"] >= most["epsilon_spent"]]
        assert above["delta"].max() <= 1e-6 * (1 + 1e-9)
        assert rows["delta"].iloc[0] == pytest.approx(his["attacker_advantage"].max(), rel=1e-9)
    write(run(scenario()), tmp_path / "plain")
    assert not (tmp_path / "plain" / "spending.parquet").exists()


@one_in(2, "settings", [(), ("privacy.mechanism=gaussian", "privacy.delta=1e-5")])
def test_what_an_audit_measures_is_beside_the_curve_and_never_across_it(settings):
    found = audit(load(SCENE, settings)[0], answers=20_000, runs=20, confidence=0.999)
    for check in found.checks:
        finding = check.finding
        assert finding.rightly <= check.claim.most_true(finding.falsely)
    answer = found.checks[0]
    assert answer.finding.rightly > answer.finding.falsely  # it tells something
    less = replace(answer.claim, epsilon=answer.claim.epsilon / 3)
    assert answer.finding.rightly > less.most_true(answer.finding.falsely)  # and would be across
    [said] = [line for line in found.lines() if line.startswith("one answer") and "detects" in line]
    allowed = answer.claim.most_true(answer.finding.falsely)
    assert said.endswith(f"the stated ε allows ≤ {allowed:.3g}")


def test_a_claims_curve():
    assert Claim(1.0).most_true(0.01) == pytest.approx(exp(1) * 0.01)
    assert Claim(1.0, 0.1).most_true(0.0) == 0.1
    assert Claim(inf).most_true(0.01) == 1
    assert Claim(1.0).most_true(1.0) == 1


# The attacker's curve under (ε, δ), beside the largest power that the two inequalities allow.


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.2, 0.6])
@pytest.mark.parametrize("f", [0.01, 0.3, 0.55, 0.9, 0.999])
def test_it_is_the_largest_power(epsilon, delta, f):
    """A mutant lived without δ, or without 0, in 1 − e^−ε max(1 − f − δ, 0).

    t ≤ e^ε f + δ, and of the complement 1 − f ≤ e^ε (1 − t) + δ; 0 ≤ t ≤ 1.
    """
    grow = np.exp(epsilon)
    found = linprog([-1.0], A_ub=[[1.0], [grow]], b_ub=[grow * f + delta, grow + delta - (1 - f)])
    expected = min(found.x[0], 1.0)
    assert float(pairs.of_pure(np.array(epsilon), delta, f).power) == pytest.approx(
        expected, abs=1e-9
    )


# Likelihood of an answer under every mechanism: scipy's laws, and sums over answers.

P, SCALE, GRID = 4, 2.5, 0.5
MIXED = np.array([SCALE, 0.3])
FIRST = np.zeros(3, dtype=np.int64)


def densities(name, answers, gradient, scale):
    """ln p of independent coordinates by scipy's laws."""
    residual = answers - gradient
    if name == "laplace":
        return stats.laplace.logpdf(residual, scale=scale).sum(axis=1)
    if name == "gaussian":
        return stats.norm.logpdf(residual, scale=scale).sum(axis=1)
    steps = np.rint(answers / GRID) - np.rint(gradient / GRID)
    return stats.dlaplace.logpmf(steps, GRID / scale).sum(axis=1)


def of_both(name):
    if name == "discrete":
        return mechanisms.DiscreteLaplaceNoise(MIXED, np.full(2, GRID))
    return {"laplace": mechanisms.LaplaceNoise, "gaussian": mechanisms.GaussianNoise}[name](MIXED)


@pytest.mark.parametrize("name", ["laplace", "gaussian", "discrete"])
def test_likelihoods_are_those_of_the_law(name):
    rng, found = np.random.default_rng(68), of_both(name)
    owners, gradients = np.tile([0, 1], 200), rng.normal(size=(400, P)) * 3
    answers = found.add_noise(owners, gradients.copy(), found.rows(rng, 400, P))
    told = found.log_likelihood(owners, gradients, answers)
    for owner in (0, 1):
        mine = owners == owner
        expected = densities(name, answers[mine], gradients[mine], MIXED[owner])
        assert told[mine] == pytest.approx(expected, rel=1e-11)


def test_one_draw_on_all_coordinates_is_likely_on_a_line_only():
    found = mechanisms.LaplaceNoise(np.array([SCALE]), "scalar-as-published")
    gradients = np.array([[0.1, 2.0, -3.0]] * 3)
    answers = found.add_noise(
        FIRST[:1], gradients[:1].copy(), found.rows(np.random.default_rng(1), 1, 3)
    )
    beside = answers + np.array([[0, 0, 1e-3]])
    tried = np.concatenate([answers, beside, gradients[:1]])
    told = found.log_likelihood(FIRST[:3], gradients, tried)
    shift = answers[0, 0] - 0.1
    assert told[0] == pytest.approx(-abs(shift) / SCALE - np.log(2 * SCALE), rel=1e-9)
    assert told[1] == -np.inf
    assert told[2] == pytest.approx(-np.log(2 * SCALE))


ZERO = np.zeros(1)
EXACT = {
    "Laplace": mechanisms.LaplaceNoise(ZERO),
    "Laplace, one draw": mechanisms.LaplaceNoise(ZERO, "scalar-as-published"),
    "Gaussian": mechanisms.GaussianNoise(ZERO),
    "none": mechanisms.NoNoise(ZERO),
    "discrete Laplace": mechanisms.DiscreteLaplaceNoise(ZERO, np.array([0.25])),
}


@pytest.mark.parametrize("found", EXACT.values(), ids=EXACT)
def test_an_exact_answer_is_certain(found):
    gradients = np.array([[0.25, -1.5], [0.25, -1.5], [0.0, 0.0]])
    answers = np.array([[0.25, -1.5], [0.25, -1.25], [0.0, 0.0]])
    assert found.log_likelihood(FIRST[:3], gradients, answers).tolist() == [0, -np.inf, 0]


def test_an_answer_off_the_grid_cannot_be():
    found = mechanisms.DiscreteLaplaceNoise(MIXED, np.full(2, GRID))
    answers = np.array([[0.5, 1.0], [0.5, 1.1]])
    told = found.log_likelihood(FIRST[:2], np.zeros((2, 2)), answers)
    assert np.isfinite(told[0])
    assert told[1] == -np.inf
