"""The game of learner and owners: nobody gains by another choice, and its limit is our market."""

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.forecasts.advice.bargain import Game
from asyncdp_sim.forecasts.advice.market import Demand, cheapest, lagrange

WANTED = Demand(0.01, np.array([0.2, 0.05, 1.5]))
COSTS = np.array([1.0, 3.0, 0.4])
GROWTHS = [1.2, 1.5, 2.0, 4.0]


def game(growth=2.0, worth=5.0, costs=COSTS, wanted=WANTED):
    return Game(wanted, worth, costs, growth)


def deviations(best):
    """Return choices near and far from the best one."""
    return best * np.concatenate([1 + np.array([-1e-3, 1e-3]), np.geomspace(0.1, 10, 201)])


def test_one_owner_by_hand():
    """ψ = 1/ε², worth 2, cost ε²: the owner gives r/2; r⁴ = 16 at the learner's best, so ε = 1."""
    alone = game(worth=2.0, costs=np.array([1.0]), wanted=Demand(0.0, np.array([1.0])))
    found = alone.equilibrium()
    assert (found.prices.tolist(), found.epsilon.tolist()) == ([2.0], [1.0])
    assert (found.psi, found.paid, found.cost, found.surplus) == (1.0, 2.0, 1.0, 1.0)
    assert alone.loss(found) == 4.0
    assert alone.uniform().prices == pytest.approx([2.0], rel=1e-12)
    assert alone.efficient().epsilon == pytest.approx([2**0.25], rel=1e-12)


@pytest.mark.parametrize("growth", GROWTHS)
def test_no_owner_gains_by_another_budget(growth):
    played = game(growth)
    for found in (played.equilibrium(), played.uniform()):
        for price, cost, epsilon in zip(found.prices, COSTS, found.epsilon, strict=True):
            others = deviations(epsilon)
            gained = price * others - cost * others**growth
            assert np.all(gained <= price * epsilon - cost * epsilon**growth + 1e-12)
        assert found.surplus == pytest.approx((growth - 1) * found.cost, rel=1e-9)


@pytest.mark.parametrize("growth", GROWTHS)
def test_the_learner_gains_by_no_other_price(growth):
    """Nor all together by other budgets than the efficient ones; prices for another a are seen."""
    played = game(growth)
    best, one, fair = played.equilibrium(), played.uniform(), played.efficient()
    for owner in range(3):
        for price in deviations(best.prices[owner]):
            prices = best.prices.copy()
            prices[owner] = price
            assert played.loss(played.agreed(prices)) >= played.loss(best) - 1e-12
    for price in deviations(one.prices[0]):
        assert played.loss(played.agreed(price)) >= played.loss(one) - 1e-12
    assert played.loss(best) < played.loss(one)

    def together(found):
        return played.worth * found.psi + found.cost

    for factor in deviations(np.ones(1)):
        assert together(played.agreed(fair.prices * factor)) >= together(fair) - 1e-12
    assert together(fair) < together(best)
    assert fair.epsilon / best.epsilon == pytest.approx(growth ** (1 / (growth + 2)), rel=1e-12)
    wrong = game(growth * 1.01)
    assert played.loss(played.agreed(wrong.equilibrium().prices)) > played.loss(best)


def test_where_costs_hardly_grow_it_is_the_market():
    """ε_i³ = 2v loss_i/c_i as a → 1: what the market buys where a unit of ψ has that price."""
    target = 0.05
    bought = cheapest(WANTED, COSTS, target)
    close = game(1 + 1e-6, bought.price_of_target).equilibrium()
    assert close.epsilon == pytest.approx(lagrange(WANTED, COSTS, target), rel=1e-5)
    assert close.psi == pytest.approx(target, rel=1e-5)
    assert close.paid == pytest.approx(bought.total, rel=1e-5)
    assert close.surplus == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"growth": 1.0}, "growth"),
        ({"worth": 0.0}, "worth"),
        ({"costs": np.array([1.0, -1.0, 1.0])}, "costs"),
        ({"costs": np.ones(2)}, "costs"),
        ({"wanted": Demand(0.0, np.array([1.0, 0.0, 1.0]))}, "loss"),
    ],
)
def test_what_is_no_game_is_refused(changed, told):
    with pytest.raises(SpecError, match=told):
        game(**changed)
