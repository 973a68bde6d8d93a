import itertools
from dataclasses import replace
from math import factorial

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.forecasts.advice.coalition import best_coalition
from asyncdp_sim.forecasts.advice.coalition_cost import EqualSizeCost, enough_answers, steps
from asyncdp_sim.forecasts.advice.coalition_trial import trial
from asyncdp_sim.forecasts.advice.contest import Played, ends
from asyncdp_sim.forecasts.advice.frontier import candidates
from asyncdp_sim.forecasts.advice.invitations.words import NOBODY
from asyncdp_sim.forecasts.advice.invite import invite
from asyncdp_sim.forecasts.advice.ranking import Classes
from asyncdp_sim.forecasts.advice.shapley import sampled, shapley
from asyncdp_sim.forecasts.exact.equal_sizes import one_size
from asyncdp_sim.forecasts.exact.many_groups import Course
from asyncdp_sim.forecasts.exact.many_rounds import rounds
from asyncdp_sim.forecasts.population import pooled, population
from asyncdp_sim.forecasts.words import gaining
from asyncdp_sim.learning.algorithms import Collab2
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.moments.gossip_map import gossip_map_of
from asyncdp_sim.theory.moments.per_update import moments
from asyncdp_sim.theory.moments.synchronous import moments as descended
from tests.unit.forecasts.banks import banks
from tests.verification.gossip_cases import correlated

OBJECTIVE = pooled(correlated(5, 40, 3, 0.1, 3))
VARIANCE = np.array([0.1, 0.5, 0.2, 0.3, 0.9])
SHAPES = list(
    itertools.product(("proof", "text"), ("vector", "scalar-as-published"), ("zeros", "uniform"))
)


def course(updates=40, central_step="proof", noise="vector", initial="zeros"):
    return Course.of(
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
def test_decoupled_moments_are_the_moments(central_step, noise, initial):
    process = gossip_map_of(OBJECTIVE, rho=30.0, updates=40, central_step=central_step)
    exact = moments(process, VARIANCE, noise=noise, initial=initial).expected_excess()[-1]
    some = course(central_step=central_step, noise=noise, initial=initial)
    found = some.expected_psi(np.array([30.0]), np.ones((1, 5)), OBJECTIVE.records, VARIANCE)
    assert found[0] * OBJECTIVE.least == pytest.approx(exact, rel=1e-12)


def test_owners_that_are_alike_are_one_class():
    some, rho = course(), np.array([30.0, 30.0])
    apart = some.expected_psi(rho[:1], np.ones((1, 5)), [40, 40, 40, 90, 90], [1, 1, 1, 2, 2])
    joined = some.expected_psi(rho, np.array([[3, 2, 0], [3, 2, 0]]), [40, 90, 7], [1, 2, 5])
    np.testing.assert_allclose(joined, apart[0], rtol=1e-12)


@pytest.mark.parametrize(("central_step", "noise", "initial"), SHAPES)
def test_the_matrix_power_is_the_recursion_of_owners_of_one_size(central_step, noise, initial):
    some = course(37, central_step, noise, initial)
    rho, members = np.array([10.0, 2.0, 30.0]), np.array([3, 1, 5])
    free, gain = one_size(some, rho, members)
    for level in (0.0, 0.7):
        slow = some.expected_psi(rho, members[:, None], [1.0], [level])
        np.testing.assert_allclose(free + level * gain, slow, rtol=1e-10)


def test_budgets_of_owners_of_one_size_count_by_their_mean():
    some, rho = course(), np.array([30.0])
    free, gain = one_size(some, rho, np.array([5]))
    exact = some.expected_psi(rho, np.ones((1, 5)), np.ones(5), VARIANCE)
    np.testing.assert_allclose(free + gain * VARIANCE.mean(), exact, rtol=1e-10)


def test_a_learning_that_diverges_costs_infinitely_much():
    some, rho = course(400), np.array([1e9])
    assert np.isinf(some.expected_psi(rho, np.ones((1, 2)), [1, 2], [1, 1]))[0]
    assert np.isinf(one_size(some, rho, np.array([2]))[0])[0]


@pytest.mark.parametrize("seed", range(3))
def test_few_owners_are_searched_completely(seed):
    alike, records, spread = many(seed, 4)
    found = best_coalition(alike, records, spread)
    every = [some for k in range(1, 5) for some in itertools.combinations(range(4), k)]
    counts = np.array([[i in some for i in range(4)] for some in every]).astype(int)
    least = min(
        alike.exact(counts, records, spread, np.full(len(every), at)).min()
        for at in range(alike.free.shape[1])
    )
    assert found.best.cost == pytest.approx(least, rel=1e-12)
    assert found.proven
    assert found.gap == 0.0
    assert found.everybody.members == (1, 2, 3, 4)
    assert found.best.cost < found.others[0].cost < found.everybody.cost * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_greedy_orders_find_the_quick_optimum_of_all_coalitions_within_their_bound(seed):
    alike, records, spread = many(seed, 12)
    classes = Classes.of(records, spread)
    told, bound = candidates(alike, classes.records, classes.spread, classes.sizes)

    def quick(counts):
        k = counts.sum(axis=1)
        return alike.cost(k, counts @ classes.records, counts @ classes.spread)[0].min()

    best = quick(classes.all_counts())
    assert bound <= best * (1 + 1e-12)
    assert best <= quick(told) <= 1.005 * best
    assert quick(told) <= 1.2 * bound


def test_eleven_owners_are_ranked_quickly_and_the_first_worked_out():
    alike, records, spread = many(1, 11, choices=2)
    found = best_coalition(alike, records, spread, exact=8)
    assert found.exhaustive
    assert not found.proven
    assert found.ranked == 2**11 - 1
    assert found.bound <= found.best.cost
    assert found.ratio[0] <= 1.0 + 1e-9 <= found.ratio[1] + 1e-6


def test_many_owners_are_collected_greedily():
    alike, records, spread = many(2, 20, updates=20, choices=2)
    found = best_coalition(alike, records, spread, exact=3)
    assert not found.exhaustive
    assert len(found.everybody.members) == 20
    assert found.best.cost <= found.everybody.cost
    assert 0.0 <= found.gap < 0.5


def test_a_small_and_shy_owner_is_not_invited_and_adds_less_than_nothing():
    raw = banks((3000, 3000, 100), (5.0, 5.0, 0.05))
    found = invite(Scenario.model_validate(raw), replicates=10)
    assert 3 not in found.invitation.best.members
    assert 3 not in found.best.coalition.members
    assert found.worth.share[2] < 0 < found.worth.share[0]
    assert found.worth.share[0] == pytest.approx(found.worth.share[1], rel=1e-9)
    assert any("one truth" in line for line in found.lines())


SHY = banks((3000, 3000, 100), (5.0, 5.0, 0.05))
LOUD = SHY | {"privacy": SHY["privacy"] | {"sensitivity": {"kind": "clip", "bound": 1.0}}}


@pytest.mark.long
@pytest.mark.parametrize("raw", [SHY, LOUD], ids=["unclipped", "clipped"])
def test_the_headline_agrees_with_an_independent_simulation(raw):
    scenario = Scenario.model_validate(raw)
    found = invite(scenario, replicates=24)
    known = population(scenario, "own", private=False)
    for told in (found.best, found.everybody):
        again = Played(trial(known, told.coalition, range(5001, 5121)))
        half = float(np.hypot(told.simulated.half_width, again.half_width))
        assert abs(told.simulated.psi - again.psi) <= 1.5 * half
    given = Played(ends(scenario, range(5001, 5121), dataset=known.dataset))
    half = float(np.hypot(found.given.simulated.half_width, given.half_width))
    assert abs(found.given.simulated.psi - given.psi) <= 1.5 * half
    if raw is LOUD:  # what moments say with clipping taken as inactive is far off
        assert found.invitation.best.cost < 0.5 * found.best.simulated.psi
        assert found.best.moments == pytest.approx(found.best.simulated.psi, rel=0.35)


def test_every_sentence_of_an_invitation():
    found = invite(Scenario.model_validate(SHY), replicates=2)
    told = found.lines("banks.toml")
    heads = ("invite", "gains", "everybody", "given", "gain", "gain", "next best", "runs")
    rest = ("moments", "adds", "adds", "assumed", "data")
    assert [line[: len(head)] for line, head in zip(told, heads + rest, strict=True)] == [
        *heads,
        *rest,
    ]
    members = len(found.best.coalition.members)
    assert told[0].startswith(f"invite    {members} owner")
    assert "(by moments " in told[0]
    assert told[1] == "gains     2 of 2 owners (0 do worse, 0 undecided), by ψ of all records"
    assert told[3].startswith("given     3 owners with 6100 records, ρ = 30, T = 60, K = 60: ψ ")
    assert " times (ψ of everybody over ψ of the best, in the same runs)" in told[4]
    assert " times (ψ as given over ψ of the best, in the same runs)" in told[5]
    assert told[7].endswith(f"chose the best of {found.choices} coalitions, ρ and T")
    assert told[8].startswith("moments   ranked 5 coalitions (all), 5 of them exactly; by them ")
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


@pytest.mark.parametrize("case", NOT_WORTH_IT)
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


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0, 1000.0])
@pytest.mark.parametrize("records", [(400, 400), (30_000, 40, 40), (3000, 900, 300, 100)])
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


def test_clipping_is_granted_in_words_and_other_doubts_are_refused():
    raw = banks()
    raw["privacy"]["sensitivity"] = {"kind": "clip", "bound": 5.0}
    found = invite(Scenario.model_validate(raw), replicates=4)
    assert any("clipped" in doubt for doubt in found.doubts)
    ranked = next(line for line in found.lines() if line.startswith("moments"))
    assert ", clipping taken as inactive, " in ranked
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


def game(members):
    """Return a value with synergies, of five players of whom the last does nothing."""
    weight = np.array([1.0, 2.0, 2.0, 0.5, 0.0])
    return (members @ weight) ** 2 + 3.0


def test_shapleys_division_is_the_mean_over_all_orders():
    found = shapley(game, 5)
    by_order = np.zeros(5)
    for order in itertools.permutations(range(5)):
        inside = np.zeros((1, 5), dtype=bool)
        for player in order:
            before = game(inside)[0]
            inside[0, player] = True
            by_order[player] += (game(inside)[0] - before) / factorial(5)
    np.testing.assert_allclose(found.share, by_order, atol=1e-12)


def test_shapleys_axioms_hold():
    share = shapley(game, 5).share
    whole, none = game(np.ones((1, 5), dtype=bool))[0], game(np.zeros((1, 5), dtype=bool))[0]
    assert share.sum() == pytest.approx(whole - none)  # efficiency
    assert share[1] == pytest.approx(share[2])  # symmetry
    assert share[4] == pytest.approx(0.0, abs=1e-12)  # a dummy
    with pytest.raises(SpecError, match="owners"):
        shapley(game, 13)


def test_sampled_shares_are_efficient_and_within_their_errors():
    exact, found = shapley(game, 5), sampled(game, 5, 400, np.random.default_rng(1))
    assert found.share.sum() == pytest.approx(exact.share.sum())
    assert np.all(np.abs(found.share - exact.share) <= 4 * found.error + 1e-12)
    assert 0 < found.error[0] < 0.5
    assert found.error[4] == 0.0


def test_first_steps_that_lose_all_digits_cost_infinitely_much(monkeypatch):
    some, schedule = course(100), Collab2.schedule(np.geomspace(0.3, 50, 80), 100)
    kept = np.stack(rounds(some, schedule))
    assert np.all(kept > 0)
    assert 0 < np.isinf(kept[0]).sum() < 40
    monkeypatch.setattr("asyncdp_sim.forecasts.exact.many_rounds.LOST", -np.inf)  # without a guard
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
