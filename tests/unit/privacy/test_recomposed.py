"""The second way of audits to compose answers: never above what is true, and hardly below it."""

from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.audits import recomposed
from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.neighbours import neighbours
from asyncdp_sim.audits.per_answer import noise_composes
from asyncdp_sim.audits.recomposed import Law, Sampled, laplace, response
from asyncdp_sim.privacy.accountants.attacker import delta_of
from asyncdp_sim.privacy.accountants.composition import PairOf, charge_of, together, unlike
from asyncdp_sim.privacy.accountants.pairs import GenericPair, LaplacePair, sampled_gaussian
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.scenario import load
from tests.one_in import one_in
from tests.verification.pure_law import delta_of as pure_delta
from tests.verification.test_audit_faults import SCENE

PURE: list[tuple[PairOf, Law]] = [(LaplacePair, laplace), (GenericPair, response)]
CASES = [
    *((*kinds, charge, answers, delta)
      for kinds in PURE
      for charge, answers, delta in ((0.1, 10, 1e-6), (5.0, 3, 1e-9), (5.0, 100, 1e-250),
                                     (0.01, 10**4, 1e-12), (1e-3, 10**5, 1e-6), (1.0, 2, 0.1))),
    *((sampled_gaussian(q), Sampled(q), mu, answers, delta)
      for q, mu, answers, delta in ((0.1, 1.0, 1, 1e-6), (0.01, 0.5, 1000, 1e-6),
                                    (0.95, 0.2, 10**4, 1e-9), (1e-5, 4.0, 10**5, 1e-12),
                                    (1e-3, 0.5, 10**5, 1e-6), (0.5, 2.0, 10, 1e-40))),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("kind", "law", "charge", "answers", "delta"), CASES)
def test_answers_cost_at_least_as_much_as_an_audit_says_and_at_most_a_thousandth_more(
    kind: PairOf, law: Law, charge: float, answers: int, delta: float
) -> None:
    least = recomposed.epsilon_of(law, (charge,), delta, answers)
    most = together(((kind(charge), answers),), delta).epsilon(delta)
    assert most * (1 - 1e-3) <= least <= most
    if kind is GenericPair:
        assert pure_delta(least, charge, answers, laplace=False) >= delta


def test_samples_of_all_records_are_not_above_the_exact_gaussian_curve() -> None:
    for mu, answers, delta in ((0.5, 1, 1e-6), (0.03, 63, 1e-12), (0.1, 10**4, 1e-3)):
        least = recomposed.epsilon_of(Sampled(1 - 2.0**-53), (mu,), delta, answers)
        assert delta_of(least, mu * answers**0.5) >= delta * (1 - 1e-9)
        assert delta_of(least * (1 + 1e-3), mu * answers**0.5) < delta


@one_in(2, ("kind", "law"), PURE, ids=["laplace", "any"])
@pytest.mark.parametrize(
    ("shape", "close"),
    [
        pytest.param(1.1 ** np.arange(12.0), 1e-3, id="12"),
        pytest.param(np.arange(1, 301.0), 2e-2, id="300", marks=pytest.mark.long),
    ],
)
def test_unequal_answers_cost_at_least_as_much_as_an_audit_says(
    kind: PairOf, law: Law, shape: np.ndarray, close: float
) -> None:
    relative = tuple((shape / shape.mean()).tolist())
    charge = charge_of(kind, 1.0, 1e-6, len(shape), relative)
    most = together(unlike(kind, charge, relative), 1e-6).epsilon(1e-6)
    least = recomposed.epsilon_of(law, tuple(charge * each for each in relative), 1e-6)
    assert most * (1 - close) <= least <= most


@one_in(
    2,
    "settings",
    [(), ("privacy.mechanism=gaussian", "privacy.sampling=0.5")],
    ids=["pure", "sampled"],
)
def test_noise_that_costs_half_a_thousandth_more_than_is_claimed_is_refuted(
    settings: tuple[str, ...],
) -> None:
    composed = ("privacy.accountant=pld", "privacy.delta=1e-6", "privacy.budget.answers=100")
    scenario = load(SCENE, (*composed, "run.updates=100", *settings))[0]
    divisors = scenario.privacy.divisors(build_dataset(scenario).records)
    sound = owed(scenario)
    less = tuple(replace(claim, whole=claim.whole * (1 - 5e-4)) for claim in sound)
    for claims, exceeded in ((sound, False), (less, True)):
        [fact] = noise_composes(scenario, neighbours(scenario).first, divisors, claims)
        assert fact.exceeded is exceeded
