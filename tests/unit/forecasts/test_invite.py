"""Owners to invite, with the verdict of a forecast, and budgets that are bought."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.exact.assumptions import answering
from analysis.exact.learning import process_of
from analysis.exact.per_update import moments
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.forecasts import contest
from asyncdp_sim.forecasts.contest import Played
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.invite import NOBODY, invite
from asyncdp_sim.forecasts.market import Demand, buy, cheapest, demand
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.scenario import Scenario, load
from tests.one_in import one_in
from tests.tables import table
from tests.together import together
from tests.unit.forecasts.banks import banks

CASES = table(__file__, "scenes.toml")
SHY = banks((3000, 3000, 100), (50.0, 50.0, 0.05))


def test_a_step_is_compared_as_the_rho_that_it_follows_from():
    asked = Scenario.model_validate(SHY)
    sizes = asked.owners.count, asked.run.updates, asked.model.sigma
    step = {"kind": "async-gossip", "step": asked.algorithm.step_of(*sizes), "rho": None}
    found, again = (invite(each, replicates=2) for each in (asked, asked.replace(algorithm=step)))
    assert again.lines() == found.lines()


def test_where_nobody_is_better_left_out_the_advice_says_so():
    raw = banks((400, 400), (1.0, 1.0))
    found = invite(Scenario.model_validate(raw), replicates=8)
    same = "better    none by leaving anybody out: everybody is the best coalition found"
    assert (same in found.lines()) == (found.best.coalition.members == (1, 2))
    kept = replace(found, best=found.everybody)
    assert same in kept.lines()
    own = replace(found, best=found.given)
    assert "better    none by another ρ: no better choice was found" in own.lines()


def test_of_one_owner_alone_no_larger_error_is_stated():
    """It joins nobody: its joint model is as good as its own."""
    found = invite(Scenario.model_validate(banks((400,), (1.0,))), replicates=2)
    nobody, *_ = found.lines()
    assert nobody == f"invite    {NOBODY}"
    assert found.scenario is None


@one_in(3, "case", CASES["not_worth_it"].values(), ids=CASES["not_worth_it"])
def test_nobody_is_invited_where_every_owner_does_worse(case):
    """A bank alone needs no collaboration: it has its own model, without noise."""
    raw = banks(**case["banks"]) | case.get("parts", {})
    found = invite(Scenario.model_validate(raw), replicates=4)
    assert found.scenario is None
    told = found.lines()
    assert told[0] == f"invite    {NOBODY}"
    assert [line[:10] for line in told[1:3]] == ["best      ", "gains     "]


def test_where_the_coalition_of_the_least_psi_does_not_gain_a_later_one_is_invited():
    raw = banks((1000, 60, 1000), (100.0, 20.0, 100.0))
    again = forecast(invite(Scenario.model_validate(raw), replicates=4).scenario)
    assert again.gains.joint < again.gains.own


@one_in(2, "epsilon", [0.1, 1.0, 20.0, 1000.0])
@one_in(2, "records", [(400, 400), (30_000, 40, 40), (3000, 900, 300, 100)])
def test_who_is_invited_gains_and_is_not_alone(records, epsilon):
    """With the verdict that a forecast of the scenario it ends with gives."""
    asked = Scenario.model_validate(banks(records, (epsilon,) * len(records)))
    found = invite(asked, replicates=4)
    assert min(len(each.coalition.members) for each in (found.best, *found.others)) > 1
    if found.scenario is not None:
        again = forecast(found.scenario)
        assert again.gains.joint < again.gains.own
        assert found.lines()[1].startswith("gains     ")


def test_a_coalition_under_another_algorithm_is_refused():
    raw = banks()
    raw["algorithm"] = {"kind": "fedasync", "step": 0.1, "mixing": 0.5}
    said = "no coalitions are compared, because steps of fedasync are not compared; leave out"
    with pytest.raises(SpecError, match=said):
        invite(Scenario.model_validate(raw))


def test_coalitions_in_rounds_leave_out_an_owner_with_much_noise():
    raw = banks((400, 900, 300), (5.0, 5.0, 0.05), updates=30)
    raw |= {"protocol": {"kind": "rounds"}, "algorithm": {"kind": "parameter-server", "step": 0.2}}
    found = invite(Scenario.model_validate(raw), replicates=4)
    assert 3 not in found.best.coalition.members


def test_candidates_that_are_alike_are_counted_once(monkeypatch):
    compared = []
    winner = contest.winner

    def noted(plays, *options):
        compared.append(len(plays))
        return winner(plays, *options)

    monkeypatch.setattr(contest, "winner", noted)
    found = invite(Scenario.model_validate(SHY), replicates=2)
    assert compared == [found.choices]
    # Three couples or everybody, each at four steps; everybody at the first is as given.
    assert found.choices <= 4 * (3 + 1)


# Budgets that are bought: the cheapest for a target, and what runs make of them.

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


@pytest.mark.parametrize(("prices", "target", "said"), CASES["refused"])
def test_what_cannot_be_is_refused(prices, target, said):
    with pytest.raises(SpecError, match=said):
        cheapest(WANTED, prices, target)


def exactly(scenario: Scenario) -> Demand:
    """Return the same by the recursions of exact moments."""
    known = population(scenario.base(), private=False)
    chosen = answering(scenario.network).chosen
    algorithm, process = process_of(known, known.objective, chosen)

    def psi(noise=None):
        found = moments(process, noise, initial=algorithm.initial).expected_excess()
        return found[-1] / known.objective.least

    noise = np.diag(known.problem.task.reply.noise.variance)  # of one owner alone
    own = scenario.privacy.epsilons(scenario.owners.count)
    return Demand(psi(), (np.array([*map(psi, noise)]) - psi()) * own**2)


def test_the_cost_of_noise_is_that_of_exact_moments():
    """Of 400 runs: to 10 % of all, and to 25 % of each owner's."""
    scenario = Scenario.model_validate(banks())
    found, exact = demand(population(scenario, private=False)), exactly(scenario)
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


@pytest.mark.parametrize("reason", CASES["priceless"])
def test_where_psi_is_not_affine_noise_has_no_price(reason):
    raw = banks() | CASES["priceless"][reason]
    raw["data"] |= {"labels": True} if "logistic" in reason else {}
    said = f"^given a scenario whose noise has no price, because {reason}.*; to compare budgets "
    with pytest.raises(SpecError, match=said):
        demand(population(Scenario.model_validate(raw), private=False))


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
