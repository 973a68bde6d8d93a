"""Scales, draws and charges."""

from itertools import product
from math import inf

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.privacy import Declared, Domain, Privacy, spent
from asyncdp_sim.privacy.budget import Horizon, PerOwnerCap
from asyncdp_sim.privacy.mechanisms import LaplaceNoise, NoNoise, laplace_scale

DECLARED = Declared(bound=5.0)


def test_laplace_scale_is_the_formula_of_theorem_1() -> None:
    """b_i = 2ΞK_i/(n_i ε_i): Ξ = 5, K = 1000, n = 250000, ε = 0.1 gives 0.4."""
    scale = laplace_scale(
        5.0, np.array([1000.0, 10.0, 10.0]), np.array([250_000, 100, 1]), np.array([0.1, 2.0, inf])
    )
    assert scale.tolist() == [pytest.approx(0.4), pytest.approx(0.5), 0.0]


def test_the_scale_of_an_answer_makes_it_exactly_its_share_of_the_budget() -> None:
    """Laplace: sensitivity/scale = ε per answer; sensitivity 2Ξ/n_i, K_i answers."""
    epsilon, allowed, records = np.array([0.3, 7.0]), np.array([13.0, 400.0]), np.array([57, 3])
    scale = laplace_scale(2.5, allowed, records, epsilon)
    assert np.allclose(allowed * (2 * 2.5 / records) / scale, epsilon, rtol=1e-14)


def test_noise_for_owners_uses_their_own_numbers() -> None:
    privacy = Privacy(
        epsilon=[0.5, inf, 2.0], sensitivity=DECLARED, budget=PerOwnerCap(answers=[3, 4, 5])
    )
    noise = privacy.noise_for(np.array([10, 20, 30]), 1000, 5.0)
    assert noise.scale == pytest.approx([2 * 5 * 3 / (10 * 0.5), 0.0, 2 * 5 * 5 / (30 * 2.0)])
    horizon = Privacy(epsilon=1.0, sensitivity=DECLARED).noise_for(np.array([10]), 1000, 5.0)
    assert horizon.scale == pytest.approx([2 * 5 * 1000 / 10])


def test_unit_rows_have_the_laws_moments() -> None:
    """Unit Laplace: mean 0, variance 2, E|w| = 1; 10⁵ draws, five standard errors."""
    drawn = LaplaceNoise(np.ones(1)).rows(np.random.default_rng(1), 20_000, 5).ravel()
    assert abs(drawn.mean()) < 5 * np.sqrt(2 / 1e5)
    assert abs(np.abs(drawn).mean() - 1) < 5 * np.sqrt(1 / 1e5)
    assert abs(drawn.var() - 2) < 5 * np.sqrt(20 / 1e5)  # E w⁴ − 4 = 24 − 4


def test_coordinates_of_vector_noise_are_independent() -> None:
    drawn = LaplaceNoise(np.ones(1)).rows(np.random.default_rng(2), 50_000, 3)
    correlation = np.corrcoef(drawn.T) - np.eye(3)
    assert np.abs(correlation).max() < 5 / np.sqrt(50_000)


def test_scalar_noise_is_identical_across_coordinates_and_new_in_every_row() -> None:
    noise = LaplaceNoise(np.ones(1), "scalar-as-published")
    drawn = noise.rows(np.random.default_rng(3), 100, 6)
    assert drawn.shape == (100, 6)
    assert np.array_equal(drawn, np.repeat(drawn[:, :1], 6, axis=1))
    assert len(np.unique(drawn)) == 100


@pytest.mark.parametrize("shape", ["vector", "scalar-as-published"])
def test_rows_do_not_depend_on_how_many_are_drawn_at_once(shape: str) -> None:
    noise = LaplaceNoise(np.ones(1), shape)
    whole = noise.rows(np.random.default_rng(4), 30, 3)
    source = np.random.default_rng(4)
    parts = np.concatenate([noise.rows(source, count, 3) for count in (1, 9, 20)])
    assert np.array_equal(whole, parts)


def test_no_noise_draws_nothing() -> None:
    source = np.random.default_rng(5)
    before = source.bit_generator.state
    assert not NoNoise(np.zeros(2)).rows(source, 4, 3).any()
    assert source.bit_generator.state == before


def test_the_ledger_charges_exactly_epsilon_at_k_releases_and_never_above() -> None:
    rng = np.random.default_rng(6)
    epsilons = np.concatenate([10 ** rng.uniform(-3, 3, 300), [0.1, 0.3, 1 / 3, 1e-300, 1e300]])
    allowed = [1, 2, 3, 7, 10, 49, 1000, 999_983]
    for epsilon, k in product(epsilons, allowed):
        e, caps = np.full(4, epsilon), np.full(4, k)
        charged = spent(e, caps, np.array([0, k // 2, max(k - 1, 0), k]))
        assert charged[0] == 0
        assert charged[3] == epsilon
        assert np.all(np.diff(charged) >= 0)
        assert np.all(charged <= epsilon)


def test_each_release_is_charged_its_share() -> None:
    charged = spent(np.full(6, 2.0), np.full(6, 5), np.arange(6))
    assert charged == pytest.approx([0, 0.4, 0.8, 1.2, 1.6, 2.0])


def test_an_infinite_budget_is_spent_by_the_first_release() -> None:
    charged = spent(np.full(3, inf), np.full(3, 5), np.array([0, 1, 5]))
    assert charged.tolist() == [0, inf, inf]


def test_epsilons_are_infinite_where_no_noise_is_added() -> None:
    assert Privacy(mechanism="none").epsilons(2).tolist() == [inf, inf]
    assert Privacy(mechanism="none", epsilon=1.0).epsilons(2).tolist() == [inf, inf]
    assert Privacy(epsilon=[1.0, inf], sensitivity=DECLARED).epsilons(2).tolist() == [1.0, inf]


def test_budgets_say_how_many_answers() -> None:
    assert Horizon().answers_allowed(3, 50) == (50, 50, 50)
    assert PerOwnerCap(answers=4).answers_allowed(3, 50) == (4, 4, 4)
    assert PerOwnerCap(answers=[1, 2, 60]).answers_allowed(3, 50) == (1, 2, 60)


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({"epsilon": 1.0, "sensitivity": DECLARED}, []),
        ({"mechanism": "none"}, []),
        ({}, ["privacy.epsilon", "privacy.sensitivity"]),
        ({"epsilon": 1.0}, ["privacy.sensitivity"]),
        ({"epsilon": [1.0, 2.0], "sensitivity": DECLARED}, ["privacy.epsilon"]),
        (
            {
                "epsilon": 1.0,
                "sensitivity": DECLARED,
                "budget": PerOwnerCap(answers=[1, 2]),
            },
            ["privacy.budget.answers"],
        ),
        (
            {"epsilon": 1.0, "sensitivity": Domain(row_norm=1.0, target_max=1.0)},
            ["model.theta_max"],
        ),
    ],
)
def test_what_does_not_fit_three_owners_is_named(fields: dict, keys: list[str]) -> None:
    assert [fault.key for fault in Privacy(**fields).faults(3, Ridge(regularisation=1.0))] == keys


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), [1.0, 0.0], []])
def test_epsilon_must_be_positive(epsilon: object) -> None:
    with pytest.raises(SpecError) as caught:
        Privacy(epsilon=epsilon, sensitivity=DECLARED)
    assert all(fault.key.startswith("epsilon") for fault in caught.value.faults)
