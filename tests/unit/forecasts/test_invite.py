"""Owners to invite: what is said, and that each verdict is that of a forecast."""

from dataclasses import replace

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.forecasts.advice import contest
from asyncdp_sim.forecasts.advice.invite import NOBODY, invite
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in
from tests.tables import table
from tests.unit.forecasts.banks import banks

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


NOT_WORTH_IT = table(__file__, "scenes.toml")["not_worth_it"]


@one_in(3, "case", NOT_WORTH_IT.values(), ids=NOT_WORTH_IT)
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
