"""Owners that lie and learners that do not take everything, by hand and in whole runs."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.describe import describe
from asyncdp_sim.learning.acceptance import (
    AcceptAll,
    ClipAnswers,
    Flip,
    HonestAnswers,
    Scale,
    TrimAnswers,
    clipped,
    trimmed,
)
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.runs import RunResult, run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec.base import parse
from tests.one_in import one_in
from tests.tables import table

BY_HAND = pytest.mark.oracle("answers after clipping or trimming")
LIARS = pytest.mark.oracle("learning with owners that send false answers")

BASE = table(__file__, "scenes.toml")["conduct"]
CLIP = BASE["privacy"]["sensitivity"]
HONEST = HonestAnswers(2.0, LaplaceNoise(np.array([0.0, 0.5, 1.0])), 2)


@LIARS
def test_who_multiplies_by_what() -> None:
    assert Flip(owners=[3, 1]).factors(4).tolist() == [-1, 1, -1, 1]
    assert Flip(owners=[2], factor=10.0).factors(2).tolist() == [1, -10]
    assert Scale(owners=[2], factor=0.0).factors(3).tolist() == [1, 0, 1]
    assert Flip(owners=[]).factors(2).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("owners", "allowed"),
    [
        ([], None),
        ([1, 3], None),
        ([4], "allowed are owner numbers 1 to 3"),
        ([2, 2], "allowed is every owner once"),
        ([3, 1, 2], "allowed are at most 2: one owner at least is honest"),
    ],
)
def test_liars_that_do_not_fit(owners: list[int], allowed: str | None) -> None:
    found = [(fault.key, fault.allowed) for fault in Flip(owners=owners).faults(3)]
    assert found == ([] if allowed is None else [("adversary.owners", allowed)])


def test_how_long_an_honest_answer_can_be() -> None:
    """‖w‖₁ is Gamma(p, 1): for p = 2 its distribution function is 1 − e^(−x)(1 + x)."""
    length = HONEST.length(0.9)
    x = length[2] - 2
    assert 1 - np.exp(-x) * (1 + x) == pytest.approx(0.9, abs=1e-12)
    assert length.tolist() == pytest.approx([2, 2 + x / 2, 2 + x])
    three = np.array([3.0])
    one = HonestAnswers(0.0, LaplaceNoise(three), 1).length(0.75)
    assert one == pytest.approx([3 * np.log(4)])
    same = HonestAnswers(1.0, LaplaceNoise(three, "scalar-as-published"), 5).length(0.75)
    assert same == pytest.approx([1 + 3 * 5 * np.log(4)])


def test_bounds_are_given_or_worked_out() -> None:
    assert ClipAnswers(bound=4.0).bounds(HONEST).tolist() == [4, 4, 4]
    assert np.array_equal(TrimAnswers(quantile=0.5).bounds(HONEST), HONEST.length(0.5))
    assert np.array_equal(TrimAnswers().bounds(HONEST), HONEST.length(0.99))
    assert AcceptAll().rule(HONEST) is None
    with pytest.raises(SpecError, match=r"quantile: given 0\.5; allowed is bound or quantile"):
        ClipAnswers(bound=1.0, quantile=0.5)


ANSWERS = np.array([[3.0, -1.0], [0.0, 0.0], [1.0, 1.0], [np.inf, 0.0], [np.nan, 1.0], [1e308] * 2])
OWNERS = np.array([0, 0, 1, 0, 1, 0])


@BY_HAND
def test_clipping_by_hand() -> None:
    found = clipped(np.array([2.0, 5.0]), OWNERS, ANSWERS.copy())
    assert found.tolist() == [[1.5, -0.5], [0, 0], [1, 1], [0, 0], [0, 0], [0, 0]]


@BY_HAND
def test_trimming_by_hand() -> None:
    found = trimmed(np.array([2.0, 2.0]), OWNERS, ANSWERS.copy())
    assert found.tolist() == [[0, 0], [0, 0], [1, 1], [0, 0], [0, 0], [0, 0]]


def scenario(**parts: Any) -> Scenario:
    return parse(Scenario, BASE | parts)


ROUNDS = {"protocol": {"kind": "rounds"}, "algorithm": {"kind": "collab-1", "rho": 500.0}}
LIE = {"adversary": {"kind": "flip", "owners": [2], "factor": 3.0}}
EACH = [{"kind": "clip"}, {"kind": "trim", "quantile": 0.5}, {"kind": "clip", "bound": 0.5}]


def learned(**parts: Any) -> RunResult:
    return run(scenario(**parts))


MECHANISMS = [
    {"mechanism": "gaussian", "delta": 1e-6},
    {"mechanism": "discrete-laplace"},
    {"noise": "scalar-as-published"},
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_bounds_are_worked_out_for_every_noise(mechanism: dict[str, Any]) -> None:
    """Live and in replay alike."""
    privacy = {"epsilon": 50.0, "sensitivity": CLIP, **mechanism}
    both = [
        learned(privacy=privacy, acceptance={"kind": "trim"}, run={"updates": 40, **how})
        for how in ({"learning": "live"}, {})
    ]
    assert both[0].fingerprints == both[1].fingerprints
    bounds = both[0].problem.task.reply.acceptance.args[0]
    noise = both[0].problem.task.reply.noise
    reach = 5 * (np.sqrt(2) if "delta" in mechanism else 1)
    assert bounds == pytest.approx(reach + noise.norm_quantile(2, 0.99))


@LIARS
@one_in(3, "acceptance", EACH, ids=["clip", "trim", "clip to 0.5"])
@pytest.mark.parametrize("parts", [{}, {"protocol": {"kind": "push"}}, ROUNDS], ids=str)
def test_live_equals_replay(parts: dict[str, Any], acceptance: dict[str, Any]) -> None:
    prints = [
        learned(**parts, **LIE, acceptance=acceptance, run=how).fingerprints
        for how in (
            {"updates": 40, "replicates": 3, "learning": "live"},
            {"updates": 40, "replicates": 3},
        )
    ]
    assert prints[0] == prints[1]
    assert prints[0]["models"] != learned(**parts, **LIE).fingerprints["models"]
    assert prints[0]["models"] != learned(**parts, acceptance=acceptance).fingerprints["models"]


@pytest.mark.oracle("learning with honest owners only, if all answers are accepted")
def test_nobody_lies_and_everything_is_taken_as_without_a_word_of_it() -> None:
    plain = learned()
    said = learned(adversary={"kind": "scale", "owners": [], "factor": 0.0}, acceptance=ALL)
    assert said.fingerprints == plain.fingerprints
    assert said.warnings == plain.warnings
    assert "adversary" not in scenario().plain()
    assert "acceptance" not in scenario().plain()


ALL = {"kind": "all"}


@pytest.mark.parametrize("lie", [{"kind": "flip", "factor": 0.5}, {"kind": "scale", "factor": 4.0}])
def test_liars_make_the_learner_solve_another_problem(lie: dict[str, Any]) -> None:
    """Without noise the model ends where σθ + Σ a_i (n_i/n) ∇f_i = 0."""
    exact = {"mechanism": "none"}
    server = {"kind": "parameter-server", "step": 0.15}
    outcome = learned(
        adversary={**lie, "owners": [2]}, privacy=exact, protocol={"kind": "rounds"},
        algorithm=server, run={"updates": 300},
    )  # fmt: skip
    factors = np.array([1, {"flip": -0.5, "scale": 4.0}[str(lie["kind"])], 1])
    share = factors * np.array([20, 10, 30]) / 60
    rows, targets = outcome.dataset.features, outcome.dataset.targets
    gram = sum(a * x.T @ x / len(x) for a, x in zip(share, rows, strict=True))
    moment = sum(a * x.T @ y / len(x) for a, x, y in zip(share, rows, targets, strict=True))
    fixed = np.linalg.solve(gram + 0.1 / 2 * np.eye(2), moment)
    assert outcome.learned.models[0] == pytest.approx(fixed, abs=1e-9)


def test_lies_do_not_change_what_is_spent_and_guaranteed() -> None:
    honest, lied = learned(), learned(**LIE, acceptance={"kind": "clip"})
    for key in ("private", "epsilon_true", "max_spent_ratio"):
        assert lied.summary[key] == honest.summary[key]
    assert lied.summary["private"]


def test_it_is_said() -> None:
    many = scenario(
        owners={"count": 9, "records": 5}, acceptance={"kind": "trim"},
        adversary={"kind": "scale", "owners": [1, 2, 3, 4, 5, 6, 9], "factor": 2.0},
    )  # fmt: skip
    lines = describe(many)
    who = "owners 1, 2, 3, 4, 5 and 2 more lie: what is sent is 2 times the noisy answer"
    what = "answers longer (L1) than honest ones are with probability 0.01 at most count as zero"
    assert f"adversary: {who}" in lines
    assert f"acceptance: {what}" in lines
    warned = run(many).warnings
    assert f"{who}; f and θ* are of all owners' records" in warned
    assert f"the learner's acceptance: {what}" in warned
    lines = describe(scenario(**LIE, acceptance={"kind": "clip", "bound": 2.0}))
    assert "adversary: owner 2 lies: what is sent is -3 times the noisy answer" in lines
    assert "acceptance: answers longer than 2 (L1) are scaled down" in lines


def test_an_l2_bound_is_an_l1_bound_of_root_p_times_as_much() -> None:
    bound = {"kind": "declared", "bound": 5.0, "norm": "l2-as-published"}
    noise = LaplaceNoise(np.ones(3))
    assert scenario().honest_answers(noise, 4).reach == 5
    l2 = scenario(privacy={"epsilon": 1.0, "sensitivity": bound})
    assert l2.honest_answers(noise, 4).reach == 10
    gaussian = {"epsilon": 1.0, "delta": 1e-6, "mechanism": "gaussian", "sensitivity": CLIP}
    assert scenario(privacy=gaussian).honest_answers(noise, 4).reach == 10
