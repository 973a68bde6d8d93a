"""Answers composed by privacy loss distributions, between what they cost at least and their sum.

The lower side is worked out by :mod:`tests.verification.pure_law`, which shares nothing with what
is tested; mixes are integrated.
"""

import time
from collections.abc import Callable, Iterator
from itertools import product
from math import exp, inf

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_laplace_mechanism

from analysis.exact.learning import exact
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.privacy import pairs
from asyncdp_sim.privacy.composition import charge_of, together
from asyncdp_sim.privacy.pairs import (
    GenericPair,
    LaplacePair,
    PurePair,
    SampledGaussianPair,
)
from asyncdp_sim.runs.run import run
from tests.reproducibility.runs import scenario
from tests.verification import pure_law
from tests.verification.networks import ended, rows_of
from tests.verification.optimism import forgotten, rounded_down
from tests.verification.zscores import LIMIT, score

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("joint ε of pure answers, by privacy loss distributions"),
]

DELTA = 1e-6
KINDS: dict[str, type[PurePair]] = {"laplace": LaplacePair, "any pure": GenericPair}
CASES = list(product((3.0, 1.0, 0.1, 0.01), (1, 2, 7, 50, 400), (1e-9, 1e-6, 1e-3)))


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> Iterator[None]:
    yield
    forgotten()


def upper(kind: type[PurePair], charge: float, answers: int, delta: float = DELTA) -> float:
    return together(((kind(charge), answers),), delta).epsilon(delta)


def lower(kind: type[PurePair], charge: float, answers: int, delta: float = DELTA) -> float:
    return pure_law.epsilon_of(charge, answers, delta, laplace=kind is LaplacePair)


def held_between(kind: type[PurePair]) -> None:
    for charge, answers, delta in CASES:
        found, least = (of(kind, charge, answers, delta) for of in (upper, lower))
        assert least * (1 - 1e-9) <= found <= charge * answers * (1 + 1e-12)
        assert found <= least * 1.002 + 1e-9, (charge, answers, delta)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_answers_cost_no_less_than_they_must_and_hardly_more(kind):
    held_between(kind)


@pytest.mark.no_evidence
def test_losses_rounded_down_are_seen(monkeypatch):
    rounded_down(monkeypatch)
    with pytest.raises(AssertionError):
        held_between(LaplacePair)


@pytest.mark.parametrize(
    ("answers", "known"), [(10, 0.99898), (63, 0.49410), (1000, 0.11577)], ids=str
)
def test_laplace_answers_whose_epsilon_adds_up_to_one(answers, known):
    assert upper(LaplacePair, 1 / answers, answers) == pytest.approx(known, rel=2e-4)
    exact = from_laplace_mechanism(answers, value_discretization_interval=1 / answers / 64)
    theirs = exact.self_compose(answers).get_epsilon_for_delta(DELTA)
    assert upper(LaplacePair, 1 / answers, answers) == pytest.approx(theirs, rel=2e-4)


@pytest.mark.parametrize(
    ("answers", "accuracy", "seconds"), [(10**5, 0.01, 5), (10**6, 0.03, 30)], ids=str
)
def test_as_many_as_a_million_answers(answers, accuracy, seconds):
    begun = time.process_time()
    found = upper(LaplacePair, 1 / answers, answers)
    assert time.process_time() - begun <= seconds
    least = lower(LaplacePair, 1 / answers, answers)
    assert least <= found <= least * (1 + accuracy)


def test_figures_of_the_page():
    rows = rows_of("accountants", r"^\| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) times \|$")
    assert len(rows) == 5
    for said, stated, least, smaller in rows:
        answers = int(said.replace(",", ""))
        each = LaplacePair, 1 / answers, answers
        assert upper(*each) == pytest.approx(float(stated), rel=2e-4)
        assert lower(*each) == pytest.approx(float(least), rel=2e-4)
        gain = charge_of(LaplacePair, 1.0, DELTA, answers) * answers
        assert gain == pytest.approx(float(smaller), rel=1e-3)


def laplace_delta(epsilon: float, charge: float) -> float:
    """δ of one Laplace answer at any ε."""
    if epsilon <= -charge:
        return 1 - exp(epsilon)
    return max(0.0, 1 - exp((epsilon - charge) / 2))


def with_laplace(charge: float, rest: Callable[[float], float]) -> float:
    """δ of a Laplace answer and another one, of which δ at ε − loss of the first is known."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    density = [exp(charge * (x - 1) / 2) / 4 * rest(charge * x) for x in nodes]
    between = charge * float(weights @ density)
    return rest(charge) / 2 + exp(-charge) / 2 * rest(-charge) + between


def mixed(epsilon: float, charge: float, mu: float) -> float:
    """δ of a Laplace and a Gaussian answer."""
    return with_laplace(charge, lambda loss: pairs.delta_of(epsilon - loss, mu))


WHOLE = 1 - 2.0**-53
"""A sample that holds hardly less than all records."""


@pytest.mark.parametrize(("charge", "mu"), [(0.5, 0.3), (0.05, 0.5), (1.0, 0.1)], ids=str)
def test_a_mix_of_mechanisms(charge, mu):
    parts = ((LaplacePair(charge), 1), (SampledGaussianPair(mu / 2, WHOLE), 4))
    for delta in (1e-6, 1e-3):
        epsilon = together(parts, delta).epsilon(delta)
        assert mixed(epsilon, charge, mu) <= delta
        assert mixed(epsilon * (1 - 2e-3) - 1e-6, charge, mu) > delta


def test_a_mix_of_scales():
    """Two scales by each other, in any order, cost more than either, and less than the larger."""
    few, many = (LaplacePair(0.3), 4), (LaplacePair(0.03), 200)
    found = together((few, many), DELTA).epsilon(DELTA)
    assert found == pytest.approx(together((many, few), DELTA).epsilon(DELTA), rel=1e-12)
    assert max(upper(LaplacePair, 0.3, 4), upper(LaplacePair, 0.03, 200)) < found
    assert found < upper(LaplacePair, 0.3, 204)
    halves = ((LaplacePair(0.03), 120), (LaplacePair(0.03), 80))
    whole = upper(LaplacePair, 0.03, 200)
    assert together(halves, DELTA).epsilon(DELTA) == pytest.approx(whole, rel=1e-5)


def test_unlike_answers_cost_more_than_equal_ones_of_their_sum():
    """So that no ledger may count them as equal ones; the figures of docs/privacy/spending.md."""
    unlike = together(((LaplacePair(0.02), 100), (LaplacePair(0.06), 100)), DELTA).epsilon(DELTA)
    equal = upper(LaplacePair, 0.04, 200)
    assert (f"{unlike:.3f}", f"{equal:.3f}") == ("2.847", "2.540")


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("answers", [1, 3, 63, 1000])
def test_noise_for_a_budget_spends_it_and_never_more(kind, answers):
    for epsilon in (0.1, 1.0, 8.0):
        charge = charge_of(kind, epsilon, DELTA, answers)
        assert epsilon * (1 - 5e-4) <= upper(kind, charge, answers) <= epsilon
        assert lower(kind, charge * 1.002, answers) > epsilon * (1 if answers > 1 else 0.99)
        assert charge >= epsilon / answers


def product_delta(epsilon: float, shifts: list[float]) -> float:
    """δ of Laplace noise of scale 1 on coordinates that are moved by so much each."""
    charge, other = shifts
    return with_laplace(charge, lambda loss: laplace_delta(epsilon - loss, other))


def test_a_vector_is_dominated_by_one_coordinates_full_shift():
    """However a shift of given L1 norm is shared out, no δ is above that of one coordinate."""
    generator = np.random.default_rng(1)
    for total in (0.2, 1.0, 4.0):
        for share in generator.uniform(0.02, 0.98, 8).tolist():
            for epsilon in np.linspace(0, total, 7).tolist():
                split = product_delta(epsilon, [share * total, (1 - share) * total])
                assert split <= laplace_delta(epsilon, total) + 1e-4
        inside = product_delta(total / 2, [total / 2, total / 2])
        assert inside < 0.99 * laplace_delta(total / 2, total)  # and most are well below


def test_a_forecast_has_the_noise_that_composition_leaves():
    """Exact moments, where gradients are bounded by their domain, against runs."""
    bound = {"kind": "domain", "row_norm": 1.0, "target_max": 1.0}
    asked = scenario(
        run={"seed": 5, "replicates": 400, "updates": 200, "record_every": 200},
        owners__records=400,
        model__theta_max=100.0,
        clock={"kind": "poisson"},
        latency={}, compute={"kind": "none"},
        protocol={"kind": "request"},
        algorithm={"kind": "async-gossip", "rho": 60.0},
        privacy={"accountant": "pld", "delta": DELTA, "epsilon": 3.0, "sensitivity": bound},
    )  # fmt: skip
    expected = exact(population(asked, private=False))
    assert abs(score("ψ", ended(run(asked)), float(expected.psi[-1])).z) <= LIMIT
    plain = asked.replace(privacy={"accountant": None, "delta": None})
    pure = exact(population(plain, private=False))
    cost, more = (float(each.psi[-1] - each.noise_free[-1]) for each in (expected, pure))
    less = (200 * charge_of(LaplacePair, 3.0, DELTA, 200) / 3.0) ** 2
    assert cost == pytest.approx(more / less, rel=1e-9)


def test_nothing_costs_nothing_and_no_noise_has_no_end():
    assert pure_law.epsilon_of(0.5, 0, DELTA, laplace=True) == 0
    assert pure_law.epsilon_of(inf, 3, DELTA, laplace=True) == inf
    assert upper(LaplacePair, 1e-9, 1) == 0  # δ alone suffices
    assert together(((LaplacePair(0.5), 3),), DELTA).delta(1.5) == 0
    assert together(((LaplacePair(0.5), 3),), DELTA).delta(-40.0) == pytest.approx(1)
