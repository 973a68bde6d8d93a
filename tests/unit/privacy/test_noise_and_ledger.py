"""Scales, draws, residues and charges of noise, and choices that do not fit together."""

from itertools import product
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.privacy import Declared, Privacy, budgets, mechanisms
from asyncdp_sim.privacy.accountants import Pure, gaussian_multiplier
from asyncdp_sim.privacy.guarantee import Ledger
from asyncdp_sim.privacy.mechanisms import DiscreteLaplaceNoise, LaplaceNoise, laplace_scale
from asyncdp_sim.privacy.observers import knowledge
from asyncdp_sim.privacy.observers.knowledge import PRIME, residues
from tests.tables import table
from tests.together import together

# Scales, draws and charges.

DECLARED = Declared(bound=5.0)
DISCRETE = {"epsilon": 1.0, "mechanism": "discrete-laplace", "sensitivity": DECLARED}


BY_HAND = table(__file__, "by_hand.toml")["cases"]
NAMES = vars(mechanisms) | vars(budgets) | {"gaussian_multiplier": gaussian_multiplier, "inf": inf}


@together
@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: case["says"])
def test_noise_and_budgets_are_those_by_hand(case):
    fields = {"sensitivity": DECLARED} | case.get("privacy", {"mechanism": "none"})
    names = NAMES | {"np": np, "Privacy": Privacy, "privacy": Privacy(**fields)}
    found, expected = eval(case["of"], names), eval(case["is"], names)
    if case.get("rel") == 0:
        assert found == expected
    else:
        assert found == pytest.approx(expected, rel=case.get("rel", 1e-12))


def test_the_ratio_of_a_ledger_is_the_largest_share_of_any_finite_budget():
    """Of 4 answers at ε 2 at most 3 were released, of 5 at ε 1 at most 2; ∞ says nothing."""
    privacy = Privacy(
        epsilon=[2.0, 1.0, inf], sensitivity=DECLARED, budget=budgets.PerOwnerCap(answers=[4, 5, 6])
    )
    accountant = privacy.accountant_for(3, 100)
    released = np.array([[1, 2, 6], [3, 0, 1]])
    ledger = Ledger(accountant, released, accountant.spent(released))
    assert ledger.spent[:, :2] == pytest.approx(np.array([[0.5, 0.4], [1.5, 0.0]]))
    assert ledger.ratio() == pytest.approx(3 / 4)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_an_owner_with_a_single_public_row_has_spent_everything(mechanism):
    """And an attacker is certain of its record, but not of another owner's."""
    privacy = Privacy(epsilon=1.0, delta=1e-6, mechanism=mechanism, sensitivity=DECLARED)
    traces: Any = [SimpleNamespace(released=np.array([2, 2, 2]))]
    ledger = Ledger.from_traces(privacy.accountant_for(3, 5), traces, (0, 1, 7))
    assert np.isinf(ledger.spent).tolist() == [[False, True, True]]
    power = ledger.attacker(1, 1.0).power[0]
    assert 0.01 < power[0] < 0.02
    assert power[1:].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("epsilon", [1.01e-5, 1.44e-5, 3.2e-5, 1.7e-4])
@pytest.mark.parametrize("delta", [1e-300, 1e-200, 1e-50, 1e-6])
def test_gaussian_noise_of_the_least_budgets_is_within_them(epsilon, delta):
    """Where ln δ, which is rounded, hardly moves with ε."""
    for answers in (1, 3, 10, 1000):
        privacy = Privacy(
            epsilon=epsilon, delta=delta, mechanism="gaussian", sensitivity=DECLARED,
            budget=budgets.PerOwnerCap(answers=answers),
        )  # fmt: skip
        [spent] = privacy.accountant_for(1, 1).spent(np.array([answers]))
        assert epsilon * (1 - 1e-5) < spent <= epsilon


def test_discrete_laplace_noise_pays_for_rounding():
    """b_i = (2Ξ/n_i + pγ_i) K_i/ε_i, γ_i the largest power of two ≤ 2Ξ/(1024 p n_i)."""
    privacy = Privacy(
        epsilon=[0.5, inf, 2.0], mechanism="discrete-laplace", sensitivity=DECLARED,
        budget=budgets.PerOwnerCap(answers=[3, 4, 5]),
    )  # fmt: skip
    noise = privacy.noise_for(np.array([10, 20, 30]), 1000, 5.0, 4)
    assert isinstance(noise, DiscreteLaplaceNoise)
    exponent = np.log2(noise.grid)
    assert np.array_equal(exponent, np.rint(exponent))
    finest = 2 * 5 / (1024 * 4 * np.array([10, 20, 30]))
    assert np.all(noise.grid <= finest)
    assert np.all(2 * noise.grid > finest)
    sensitivity = 2 * 5 / np.array([10, 30]) + 4 * noise.grid[[0, 2]]
    assert noise.scale == pytest.approx(
        [sensitivity[0] * 3 / 0.5, 0.0, sensitivity[1] * 5 / 2], rel=1e-14
    )
    plain = laplace_scale(5.0, np.array([3.0, 4, 5]), np.array([10, 20, 30]), privacy.epsilons(3))
    assert np.all(noise.scale <= plain * (1 + 1 / 1024))


def test_a_grid_is_never_so_fine_that_draws_miss_steps_of_it():
    """b/γ ≤ 2⁴⁴: many answers at a tiny ε have a coarser grid, and a finer one is refused."""
    dear = Privacy(epsilon=1e-4, mechanism="discrete-laplace", sensitivity=DECLARED)
    noise = dear.noise_for(np.array([10, 2000]), 10**5, 5.0, 100)
    assert np.all(noise.scale <= 2.0**44 * noise.grid)
    plain = laplace_scale(5.0, np.full(2, 1e5), np.array([10, 2000]), np.full(2, 1e-4))
    assert np.all(np.log2(noise.grid) == np.ceil(np.log2(plain)) - 40)
    assert noise.scale == pytest.approx(plain + 100 * noise.grid * 1e5 / 1e-4)
    named = Privacy(**DISCRETE, grid=2.0**-43).noise_for(np.array([10]), 1, 5.0, 1)
    assert named.scale[0] == pytest.approx(1)
    for finer, answers in ((2.0**-45, 1), (2.0**-44, 2)):
        with pytest.raises(SpecError, match=r"privacy\.grid: given 3.52e\+13 steps"):
            Privacy(**DISCRETE, grid=finer).noise_for(np.array([10]), answers, 5.0, 1)


def test_scalar_noise_is_identical_across_coordinates_and_new_in_every_row_of_any_block():
    noise = LaplaceNoise(np.ones(1), "scalar-as-published")
    drawn = noise.rows(np.random.default_rng(3), 100, 6)
    assert drawn.shape == (100, 6)
    assert np.array_equal(drawn, np.repeat(drawn[:, :1], 6, axis=1))
    assert len(np.unique(drawn)) == 100
    source = np.random.default_rng(3)
    parts = [noise.rows(source, count, 6) for count in (1, 9, 90)]
    assert np.array_equal(drawn, np.concatenate(parts))


def test_the_ledger_charges_exactly_epsilon_at_k_releases_and_never_above():
    rng = np.random.default_rng(6)
    epsilons = np.concatenate([10 ** rng.uniform(-3, 3, 300), [0.1, 0.3, 1 / 3, 1e-300, 1e300]])
    allowed = [1, 2, 3, 7, 10, 49, 1000, 999_983]
    for epsilon, k in product(epsilons, allowed):
        e, caps = np.full(4, epsilon), np.full(4, k)
        charged = Pure(caps, e, e).spent(np.array([0, k // 2, max(k - 1, 0), k]))
        assert charged[0] == 0
        assert charged[3] == epsilon
        assert np.all(np.diff(charged) >= 0)
        assert np.all(charged <= epsilon)


# Residues in floats, against whole numbers of Python, which never round.

LARGEST = PRIME // 2


def integers(rows: Any) -> Any:
    return np.array(rows).astype(np.int64).astype(object)


def test_the_largest_residues_multiply_without_rounding():
    """Of one sign, so that sums are large, and more of them than are summed at once."""
    rng = np.random.default_rng(1)
    for sign in (1, -1):
        held, reduced, rows = (
            rng.integers(LARGEST * 3 // 4, LARGEST, shape).astype(float)
            for shape in ((3, 1000), (1000, 5), (3, 5))
        )
        held *= sign
        exact = (integers(rows) - integers(held) @ integers(reduced)) % PRIME
        knowledge.subtract_product(rows, held, reduced)
        assert np.abs(rows).max() <= 2**30
        assert np.array_equal(integers(rows) % PRIME, exact)


def test_averages_are_those_of_fractions():
    rng = np.random.default_rng(3)
    weights, rows = rng.integers(-5, 9, (7, 300)), rng.integers(0, PRIME, (300, 11))
    exact = weights.astype(object) @ rows.astype(object) * pow(13, -1, PRIME) % PRIME
    assert np.array_equal(integers(knowledge.applied(weights, 13, residues(rows))) % PRIME, exact)


def slowly(rows: Any) -> tuple[Any, list[int]]:
    """Reduce rows from the first on, each at its first number that is left."""
    left, pivots = [[int(x) % PRIME for x in row] for row in rows], []
    for place, row in enumerate(left):
        pivot = next((at for at, x in enumerate(row) if x != 0), -1)
        pivots.append(pivot)
        if pivot < 0:
            continue
        inverse = pow(row[pivot], -1, PRIME)
        row[:] = [x * inverse % PRIME for x in row]
        for other in left[:place] + left[place + 1 :]:
            held = other[pivot]
            other[:] = [(x - held * y) % PRIME for x, y in zip(other, row, strict=True)]
    return np.array(left), pivots


def lots(seed: int) -> Any:
    """Three lots of 13 rows, of which several say nothing new."""
    rng = np.random.default_rng(seed)
    parts = rng.integers(-3, 4, (3, 13, 8)).astype(object)
    parts[1, 4:9] = 0
    return parts @ rng.integers(0, PRIME, (3, 8, 20)).astype(object) % PRIME


def test_lots_are_reduced_as_each_is_in_whole_numbers():
    given = lots(1)
    found = residues(given.astype(np.int64))
    pivots = knowledge.reduce(found)
    for lot, rows, places in zip(given, found, pivots.tolist(), strict=True):
        exact, where = slowly(lot)
        assert places == where
        assert np.array_equal(rows.astype(np.int64) % PRIME, exact)
        assert sum(place >= 0 for place in places) <= 8


@pytest.mark.parametrize("cut", [3, 7])
def test_what_is_learned_in_parts_is_learned_at_once(cut):
    """By pools of unlike numbers of nodes and rows, in one lot."""
    given = residues(lots(2).astype(np.int64))
    told = [given[0], given[1][:6, :12], given[2][:2]]
    pools = [knowledge.Known(np.zeros(rows.shape[1], dtype=np.bool_)) for rows in told]
    new = [
        np.concatenate(parts)
        for parts in zip(
            knowledge.learn(pools, [rows[:cut] for rows in told]),
            knowledge.learn(pools, [rows[cut:] for rows in told]),
            strict=True,
        )
    ]
    for rows, flags in zip(told, new, strict=True):
        assert flags.tolist() == [place >= 0 for place in slowly(rows)[1]]


# Faults of the privacy part of a scenario, where choices do not fit together.

CASES = table(__file__, "privacy_faults.toml")["cases"]


@together
@pytest.mark.parametrize(("fields", "keys"), CASES)
def test_what_does_not_fit_three_owners_is_named(fields, keys):
    faults = parse(Privacy, fields).faults(3, Ridge(regularisation=1.0))
    assert [fault.key for fault in faults] == keys


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), [1.0, 0.0], []])
def test_epsilon_must_be_positive(epsilon):
    with pytest.raises(SpecError) as caught:
        Privacy(epsilon=epsilon, sensitivity=Declared(bound=5.0))
    assert all(fault.key.startswith("epsilon") for fault in caught.value.faults)
