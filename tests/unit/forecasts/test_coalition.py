"""Whom to invite: what coalitions cost, which of every size is the best, and what is said."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.forecasts.advice.coalitions import (
    Course,
    EqualSizeCost,
    best_of_each_size,
    enough_answers,
    one_size,
    rounds,
    steps,
)
from asyncdp_sim.forecasts.advice.invite import NOBODY, invite
from asyncdp_sim.forecasts.population import pooled
from asyncdp_sim.forecasts.words import gaining
from asyncdp_sim.learning.algorithms import Collab2
from asyncdp_sim.scenario import Scenario
from analysis.exact.gossip_map import gossip_map_of
from analysis.exact.per_update import moments
from analysis.exact.synchronous import moments as descended
from tests.one_in import one_in
from tests.unit.forecasts.banks import banks
from tests.verification.gossip_cases import correlated

OBJECTIVE = pooled(correlated(5, 40, 3, 0.1, 3))
VARIANCE = np.array([0.1, 0.5, 0.2, 0.3, 0.9])
SHAPES = list(
    itertools.product(("proof", "text"), ("vector", "scalar-as-published"), ("zeros", "uniform"))
)


def course(updates=40, central_step="proof", noise="vector", initial="zeros"):
    return Course.from_objective(
        OBJECTIVE, updates=updates, central_step=central_step, noise=noise, initial=initial
    )


def many(seed, owners, updates=30, choices=3):
    """Return costs of coalitions of owners of all sizes and budgets."""
    g = np.random.default_rng(seed)
    records = np.rint(10 ** g.uniform(2, 4, owners))
    spread = 10 ** g.uniform(0, 4, owners)
    some = course(updates)
    picked = [(some, rho) for rho in steps(some, owners)[:: 20 // choices]]
    return EqualSizeCost.one_on_one(picked, enough_answers, float(records.sum())), records, spread


@pytest.mark.parametrize(("central_step", "noise", "initial"), SHAPES)
def test_the_matrix_power_is_the_recursion_of_owners_of_one_size(central_step, noise, initial):
    """Whose budgets differ: their mean variance counts."""
    equal = replace(OBJECTIVE, records=np.full(5, 160))
    process = gossip_map_of(equal, rho=30.0, updates=40, central_step=central_step)
    some = course(central_step=central_step, noise=noise, initial=initial)
    free, gain = one_size(some, np.array([30.0]), np.array([5]))
    for level in (0.0, 0.7):
        exact = moments(process, level * VARIANCE, noise=noise, initial=initial)
        found = (free[0] + level * VARIANCE.mean() * gain[0]) * OBJECTIVE.least
        assert found == pytest.approx(exact.expected_excess()[-1], rel=1e-10)


def test_a_learning_that_diverges_costs_infinitely_much():
    assert np.isinf(one_size(course(400), np.array([1e9]), np.array([2]))[0])[0]


@pytest.mark.parametrize("seed", range(6))
def test_orders_of_joining_find_the_best_of_all_coalitions(seed):
    alike, records, spread = many(seed, 12)
    counts = (np.arange(1, 2**12)[:, None] >> np.arange(12)) & 1
    every = alike.cost(counts.sum(axis=1), counts @ records, counts @ spread)[0]
    found = best_of_each_size(alike, records, spread)
    assert [len(each.members) for each in found] == list(range(1, 13))
    best = min(each.cost for each in found)
    assert every.min() * (1 - 1e-12) <= best <= 1.005 * every.min()
    for each in found:
        row = int(sum(2 ** (member - 1) for member in each.members)) - 1
        assert each.cost == pytest.approx(every[row], rel=1e-12)
        assert each.records == counts[row] @ records


SHY = banks((3000, 3000, 100), (5.0, 5.0, 0.05))


def test_every_sentence_of_an_invitation():
    found = invite(Scenario.model_validate(SHY), replicates=2)
    assert found.best.coalition.members == (1, 2)
    told = found.lines("banks.toml")
    assert any("one truth" in line for line in told)
    heads = ("invite", "gains", "everybody", "given", "gain", "gain", "runs", "assumed", "data")
    told = [line for line in told if not line.startswith("next best")]
    for line, head in zip(told, heads, strict=True):
        assert line.startswith(head)
    assert told[0].startswith("invite    2 owner")
    assert told[1] == "gains     2 of 2 owners (0 do worse, 0 undecided), by ψ of all records"
    assert told[3].startswith("given     3 owners with 6100 records, ρ = 30, T = 60, K = 60: ψ ")
    assert " times (ψ of everybody over ψ of the best, in the same runs)" in told[4]
    assert " times (ψ as given over ψ of the best, in the same runs)" in told[5]
    assert told[6].endswith(f"chose the best of {found.choices} coalitions, ρ and T")
    assert told[-1] == "data      synthetic records"


def test_where_nobody_is_better_left_out_the_advice_says_so():
    raw = banks((400, 400), (1.0, 1.0))
    found = invite(Scenario.model_validate(raw), replicates=8)
    same = "gain      none by leaving anybody out: everybody is the best coalition found"
    assert (same in found.lines()) == (found.best.coalition.members == (1, 2))
    kept = replace(found, best=found.everybody)
    assert same in kept.lines()
    own = replace(found, best=found.given)
    assert "gain      none by another ρ or T: no better choice was found" in own.lines()


NOT_WORTH_IT = {
    "small budgets": banks((400, 400), (1.0, 1.0)),
    "one owner": banks((400,), (10.0,)),
    "clipped": banks(epsilon=(0.3, 0.3, 0.3))
    | {"privacy": {"epsilon": 0.3, "sensitivity": {"kind": "clip", "bound": 5.0}}},
    "in rounds": banks((400, 300), (0.1, 0.1))
    | {"protocol": {"kind": "rounds"}, "algorithm": {"kind": "collab-2", "step": 1.0}},
    "rows held out": banks((400, 300), (0.1, 0.1))
    | {"data": {"kind": "gaussian", "features": 3, "held_out": 0.2}},
    "a large bank and a small one": banks((30_000, 40), (0.01, 0.01)),
}


@one_in(3, "case", NOT_WORTH_IT)
def test_nobody_is_invited_where_every_owner_does_worse(case):
    """A bank alone needs no collaboration: it has its own model, without noise."""
    scenario = Scenario.model_validate(NOT_WORTH_IT[case])
    found = invite(scenario, replicates=4)
    assert found.scenario is None
    told = found.lines()
    assert told[0] == f"invite    {NOBODY}"
    assert told[1].startswith("best      ")
    size = len(found.best.coalition.members)
    by = "errors on their held-out rows" if scenario.data.holds_out else "ψ of all records"
    assert told[2] == f"gains     0 of {size} owners ({size} do worse, 0 undecided), by {by}"


@one_in(2, "epsilon", [0.1, 1.0, 20.0, 1000.0])
@one_in(2, "records", [(400, 400), (30_000, 40, 40), (3000, 900, 300, 100)])
def test_who_is_invited_gains_and_is_not_alone(records, epsilon):
    """With the verdict that a forecast of the scenario it ends with gives."""
    asked = Scenario.model_validate(banks(records, (epsilon,) * len(records)))
    found = invite(asked, replicates=4)
    assert min(len(each.coalition.members) for each in (found.best, *found.others)) > 1
    if found.scenario is not None:
        again = forecast(found.scenario, moments="own")
        assert any(owner.profits for owner in again.owners)
        assert found.lines()[1] == f"gains     {gaining(again)}"


def test_a_coalition_in_which_an_owner_gains_comes_before_one_with_less_psi():
    asked = Scenario.model_validate(banks((3484, 641, 3725, 1221), (13.73, 60.85, 0.46, 38.68)))
    found = invite(asked, replicates=4)
    assert found.scenario is not None
    assert found.best.coalition.members == (1, 4)


def test_answers_are_enough_and_no_more():
    from scipy.stats import binom

    for members, updates in ((1, 10), (3, 100), (86, 1000), (50, 2)):
        answers = enough_answers(members, updates)
        early = members * binom.sf(answers - 1, updates - 1, 1 / members)
        assert answers == updates or early <= 1e-3
        assert answers == 1 or members * binom.sf(answers - 2, updates - 1, 1 / members) > 1e-3


@pytest.mark.long
def test_clipping_is_granted_and_other_doubts_are_refused():
    raw = banks()
    raw["privacy"]["sensitivity"] = {"kind": "clip", "bound": 5.0}
    found = invite(Scenario.model_validate(raw), replicates=4)
    plain = invite(Scenario.model_validate(banks()), replicates=4)
    assert found.everybody.coalition.rho != plain.everybody.coalition.rho
    raw = banks()
    raw["algorithm"] = {"kind": "fedasync", "step": 0.1, "mixing": 0.5}
    with pytest.raises(SpecError, match="no exact moments"):
        invite(Scenario.model_validate(raw))
    raw = banks()
    raw["channel"] = {"kind": "ideal", "loss": 0.1}
    with pytest.raises(SpecError, match="answers are lost"):
        invite(Scenario.model_validate(raw))
    raw = banks()
    raw["clock"]["rate"] = [1.0, 2.0, 3.0]
    with pytest.raises(SpecError, match="unequally"):
        invite(Scenario.model_validate(raw))


def test_first_steps_that_lose_all_digits_cost_infinitely_much(monkeypatch):
    some, schedule = course(100), Collab2.schedule(np.geomspace(0.3, 50, 80), 100)
    kept = np.stack(rounds(some, schedule))
    assert np.all(kept > 0)
    assert 0 < np.isinf(kept[0]).sum() < 40
    monkeypatch.setattr("asyncdp_sim.forecasts.advice.coalitions.LOST", -np.inf)  # without a guard
    assert np.nanmin(np.stack(rounds(some, schedule))) < 0


@pytest.mark.parametrize("noise", ["vector", "scalar-as-published"])
def test_ends_of_many_steps_are_those_of_the_moments(noise):
    some, steps = course(12, noise=noise, initial="uniform"), [0.02, 0.3]
    free, gain = rounds(some, Collab2.schedule(np.array(steps), 12))
    for at, step in enumerate(steps):
        schedule = Collab2.schedule(step, 12)
        parts = {"noise": noise, "initial": "uniform"}
        quiet, loud = (
            descended(
                OBJECTIVE.hessian, OBJECTIVE.optimum, schedule, variance, **parts
            ).judged.expected_excess()[-1]
            for variance in (0.0, 2.0)
        )
        assert free[at] * OBJECTIVE.least == pytest.approx(quiet, rel=1e-10)
        assert gain[at] * 2.0 * OBJECTIVE.least == pytest.approx(loud - quiet, rel=1e-10)
