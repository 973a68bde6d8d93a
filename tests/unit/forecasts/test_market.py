"""Budgets that are bought: the cheapest for a target, and what runs make of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.exact.assumptions import answering
from analysis.exact.learning import process_of
from analysis.exact.per_update import moments
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.forecasts.advice.contest import Played
from asyncdp_sim.forecasts.advice.market import buy, demand
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.theory.formulas.market import Demand, cheapest
from asyncdp_sim.theory.prediction import Unknown
from tests.tables import table
from tests.together import together
from tests.unit.forecasts.banks import banks

WANTED = Demand(0.05, np.array([0.4, 0.02, 0.1, 0.003]))
PRICES = np.array([1.0, 8.0, 0.2, 3.0])


def water(wanted, prices, target):
    """Return the cheapest budgets by bisection on the multiplier."""
    low, high = -40.0, 40.0
    for _ in range(200):
        middle = (low + high) / 2
        epsilon = np.cbrt(2 * np.exp(middle) * wanted.loss / prices)
        low, high = (middle, high) if wanted.psi(epsilon) > target else (low, middle)
    return epsilon


@together
@pytest.mark.parametrize("seed", range(12))
def test_they_are_what_a_bisection_on_the_multiplier_finds(seed):
    g = np.random.default_rng(seed)
    wanted = Demand(0.05, 10 ** g.uniform(-4, 0, 12))
    prices, target = 10 ** g.uniform(-1, 1, 12), 0.05 + 10 ** g.uniform(-2, 1.5)
    found = cheapest(wanted, prices, target)
    assert found.total == pytest.approx(float(prices @ water(wanted, prices, target)), rel=1e-7)
    assert found.psi == pytest.approx(target, rel=1e-9)


def test_an_owner_whose_noise_costs_nothing_sells_nothing():
    found = cheapest(Demand(0.05, np.array([0.4, 0.0])), [1.0, 2.0], 0.2)
    assert found.epsilon[1] == found.paid[1] == 0.0
    assert found.psi == pytest.approx(0.2, rel=1e-12)


def test_the_price_at_the_margin_is_the_slope_of_the_total():
    step = 1e-5
    totals = [cheapest(WANTED, PRICES, 0.2 + shift).total for shift in (-step, step)]
    slope = (totals[0] - totals[1]) / (2 * step)
    assert cheapest(WANTED, PRICES, 0.2).price_of_target == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize(
    ("prices", "target", "said"),
    [
        (PRICES, 0.05, r"more than 0\.05, the expected ψ without noise"),
        ([1.0, 2.0], 0.2, "prices"),
        ([1.0, 2.0, 0.0, 1.0], 0.2, "prices"),
    ],
)
def test_what_cannot_be_is_refused(prices, target, said):
    with pytest.raises(SpecError, match=said):
        cheapest(WANTED, prices, target)


def measured(scenario: Scenario, **options) -> Demand:
    return demand(population(scenario.base(), private=False), **options)


def exactly(scenario: Scenario) -> Demand:
    """Return the same by the recursions of exact moments."""
    known = population(scenario.base(), private=False)
    law = answering(scenario.network)
    assert not isinstance(law, Unknown)
    algorithm, process = process_of(known, known.objective, law.chosen)

    def psi(noise=None):
        found = moments(process, noise, initial=algorithm.initial).expected_excess()
        return found[-1] / known.objective.least

    variance = known.problem.task.reply.noise.variance
    own = scenario.privacy.epsilons(scenario.owners.count)
    noise = np.diag(variance)  # of one owner alone
    return Demand(psi(), (np.array(list(map(psi, noise))) - psi()) * own**2)


def test_the_cost_of_noise_is_that_of_exact_moments():
    """Of 400 runs: to 10 % of all, and to 25 % of each owner's."""
    scenario = Scenario.model_validate(banks())
    found, exact = measured(scenario), exactly(scenario)
    assert found.free == pytest.approx(exact.free, rel=0.1)
    assert found.loss == pytest.approx(exact.loss, rel=0.25)
    assert found.loss.sum() == pytest.approx(exact.loss.sum(), rel=0.15)


def test_a_purchase_that_does_not_pay_is_said_not_to():
    scenario = Scenario.model_validate(banks(epsilon=(1.0, 1.0, 1.0)))
    found = buy(scenario, [1.0, 1.0, 1.0], 1.0, replicates=8)
    eager = replace(found, simulated=Played(np.full(8, 2.0)))
    assert eager.verdict == "the target is not reached: these budgets do not pay"
    cheap = replace(found, given_total=0.0, given=Played(np.full(8, 0.5)))
    assert cheap.verdict == "the given budgets reach the target for no more: buying does not pay"
    low = replace(found, simulated=Played(np.full(8, 0.5)))
    assert low.verdict == "the target is undercut"


def test_where_the_projection_acts_noise_has_no_price():
    raw = banks()
    raw["model"]["theta_max"] = 1.5
    with pytest.raises(SpecError, match=r"theta_max.*the projection onto Θ acts"):
        buy(Scenario.model_validate(raw), [1.0, 1.0, 1.0], 50.0)


PRICELESS = table(__file__, "scenes.toml")["priceless"]


@pytest.mark.parametrize("reason", PRICELESS)
def test_where_psi_is_not_affine_noise_has_no_price(reason):
    raw = banks() | PRICELESS[reason]
    raw["data"] |= {"labels": True} if "logistic" in reason else {}
    said = f"^given a scenario whose noise has no price, because {reason}.*; to compare budgets "
    with pytest.raises(SpecError, match=said):
        measured(Scenario.model_validate(raw))


def test_the_catalogues_budgets_are_the_cheapest_for_their_targets():
    root = Path(__file__).parents[3] / "asyncdp_sim" / "catalogue"
    scenario, _ = load(root / "data-market.toml")
    wanted, prices = exactly(scenario), np.array([1.0, 1.0, 2.0, 0.5, 1.0, 0.25])
    variants = scenario.sweep["variant"]
    for bought, equal in zip(variants[:3], variants[3:], strict=True):
        target = float(bought["name"].split()[-1])
        assert equal["name"].split()[-1] == bought["name"].split()[-1]
        epsilon = np.array(bought["privacy.epsilon"])
        assert wanted.psi(epsilon) == pytest.approx(target, rel=0.01)
        found = cheapest(wanted, prices, wanted.psi(epsilon))
        assert prices @ epsilon == pytest.approx(found.total, rel=1e-5)
        assert equal["privacy.epsilon"] == pytest.approx(found.total / prices.sum(), abs=1e-4)
        same = wanted.psi(np.full(6, equal["privacy.epsilon"]))
        assert 1.1 * target < same < 1.16 * target
    assert wanted.free == pytest.approx(0.0027, abs=1e-4)
