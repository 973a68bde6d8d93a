"""Costs of coalitions against simulated runs of them, and against random divisions of records."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.forecasts.advice.coalitions import Course, best_of_each_size, costs
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.scenario import Scenario
from tests.unit.forecasts.banks import banks, trial
from tests.verification.zscores import require, score, seen

pytestmark = pytest.mark.no_evidence

CASES = dict(
    zip(("i", "ii", "iii", "iv"), itertools.product((1000, 100_000), (0.1, 10.0)), strict=True)
)


def collab(case, first):
    """Return Collab's three owners, of which the second and third are of one of its four kinds."""
    size, epsilon = CASES[case]
    raw = banks((first[0], size, size), (first[1], epsilon, epsilon), updates=100)
    raw["privacy"]["sensitivity"]["bound"] = 20.0
    raw["protocol"] = {"kind": "rounds"}
    raw["algorithm"] = {"kind": "collab-2", "step": 1.0}
    return population(Scenario.model_validate(raw), "common", private=False)


def found(known):
    """Return the best coalition of every size of a population."""
    return best_of_each_size(*costs(known, tuned=True))


@pytest.mark.parametrize(
    ("case", "first", "members"),
    [
        ("i", (10_000, 1.0), (1,)),
        ("ii", (1000, 10.0), (1, 2, 3)),
        pytest.param("iii", (1000, 1.0), (1, 2, 3), marks=pytest.mark.nightly),
        ("iv", (1000, 0.1), (2, 3)),
    ],
)
@pytest.mark.long
def test_the_four_cases_of_collab_are_forecast_as_they_are_simulated(case, first, members):
    known = collab(case, first)
    told = found(known)
    chosen = min(told, key=lambda each: each.cost)
    assert chosen.members == members
    alone = replace(told[0], members=(1,), records=first[0])
    best, all_three, lone = (
        trial(known, each, range(1, 101)) for each in (chosen, told[-1], alone)
    )
    require([score(f"{case}, everybody", all_three, told[-1].cost)], error=0.14)
    if members != (1, 2, 3):  # everybody is the worse for those that are left out
        assert score("everybody", all_three - best.mean(), 0.0, 1.0).z > 5
    if members != (1,):  # and the first owner is the better for the others
        assert score("alone", lone - best.mean(), 0.0, 1.0).z > 3


@pytest.mark.long
def test_the_cases_come_in_the_papers_order_for_a_small_first_owner():
    cost = [found(collab(case, (1000, 1.0)))[-1].cost for case in CASES]
    assert cost == sorted(cost, reverse=True)  # (i) is hopeless, (iv) phenomenal
    assert cost[0] > 1000 * cost[3]


@pytest.mark.long
def test_no_budget_of_the_first_owner_mends_reluctant_small_others():
    shy, free = (found(collab("i", (1000, epsilon)))[-1].cost for epsilon in (1.0, 100.0))
    assert free == pytest.approx(shy, rel=0.02)
    eager, freer = (found(collab("ii", (1000, epsilon)))[-1].cost for epsilon in (1.0, 100.0))
    assert freer < eager / 5


def test_gossip_of_owners_of_one_size_costs_what_its_simulation_does():
    """With unequal budgets; of unequal sizes the cost is an estimate, and runs decide."""
    raw = banks((4000, 4000, 4000), (3.0, 6.0, 1.0))
    known = population(Scenario.model_validate(raw), "common", private=False)
    told = found(known)[-1]
    require([score("everybody", trial(known, told, range(1, 301)), told.cost)], error=0.1)


def missing(halves, n=400, p=3):
    """Return ψ of the optimum of a random half of the records, and what theory says of it."""
    g = np.random.default_rng(5)
    x = g.normal(size=(n, p))
    y = x @ np.ones(p) + 0.7 * g.normal(size=n)
    every = Quadratic.from_records([x], [y], 0.01, None)
    values = []
    for _ in range(halves):
        some = g.permutation(n)[: n // 2]
        half = Quadratic.from_records([x[some]], [y[some]], 0.01, None)
        values.append(float(every.relative_fitness(half.optimum)))
    return values, Course.from_objective(every, updates=1).per_record


def test_what_too_few_records_miss_is_the_sampling_term():
    values, unit = missing(1500)
    require([score("a half of 400", values, unit * (1 / 200 - 1 / 400))], error=0.03)


def test_the_oracle_sees_a_sampling_term_without_the_records_that_are_shared():
    values, unit = missing(1500)
    assert seen([score("as of another population", values, unit / 200)]) > 5
