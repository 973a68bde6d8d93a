"""Participation: what it makes of budgets, what it is refused with, and what is said of it."""

from typing import Any

import numpy as np
import pytest

from analysis.exact.assumptions import out_of_order
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts.costs import applying
from asyncdp_sim.runs import run
from asyncdp_sim.runs.outcome import manifest
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.theory.predict.all import predict, predicted
from asyncdp_sim.theory.prediction import Unknown
from tests.tables import table
from tests.together import together
from tests.whole_owners import WHOLE_OWNERS

ONE = {"kind": "rounds", "owners": 1}
SLOW = {"kind": "exponential", "mean": 0.5}
REFUSED = table(__file__, "participation.toml")["refused"]
GOSSIP = {"algorithm": {"kind": "async-gossip", "rho": 1.0}, "protocol": {"kind": "request"}}


def made(rule: dict[str, Any] | None = None, **changed: Any) -> Scenario:
    """Return a scenario of three owners with a rule; of ``changed``, privacy's are added."""
    privacy = {**WHOLE_OWNERS["privacy"], **changed.pop("privacy", {}), "participation": rule}
    return parse(Scenario, {**WHOLE_OWNERS, **changed, "privacy": privacy})


def held(**budget: Any) -> tuple[int, ...]:
    return made({"most": 3}, privacy={"budget": budget}).network.answers_allowed


def test_a_budget_is_for_no_more_answers_than_an_owner_may_give() -> None:
    assert held(kind="horizon") == (3, 3, 3)
    assert held(kind="per-owner-cap", answers=[2, 3, 9]) == (2, 3, 3)
    assert held(kind="until-spent", per_answer=0.1) == (3, 3, 3)
    assert held(kind="until-spent", per_answer=1.9) == (1, 1, 1)
    assert held(kind="scheduled", answers=8, growth=1.1) == (3, 3, 3)
    assert made({"apart": 1}).network.answers_allowed == (8, 8, 8)


@pytest.mark.parametrize("budget", ["horizon", {"kind": "scheduled", "answers": 8, "power": 1.0}])
def test_few_answers_have_the_noise_of_a_cap_and_spend_it(budget: Any) -> None:
    cap = {"kind": "per-owner-cap", "answers": 3}
    capped = {"kind": "scheduled", "answers": 3, "power": 1.0}
    same = made(privacy={"budget": cap if budget == "horizon" else capped})
    few = made({"most": 3}, privacy={"budget": budget})
    records = np.array([10, 20, 40])
    assert few.noise_for(records).scale.tolist() == same.noise_for(records).scale.tolist()
    ledger = run(few).ledger
    assert set(ledger.released.ravel().tolist()) == {3}
    assert ledger.spent == pytest.approx(2.0)


def test_rounds_draw_owners_that_are_due() -> None:
    for trace in run(made({"apart": 3}, protocol=ONE)).traces:
        order = trace.updates["owner"].tolist()
        assert all(len(set(order[k : k + 3])) == 3 for k in range(6))


@together
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["said"])
def test_what_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(SpecError) as refusal:
        made(None if case["rule"] == "null" else case["rule"], **case["changed"])
    assert case["said"] in str(refusal.value)


def test_a_fresh_answer_is_none_where_nothing_is_sent_again() -> None:
    assert made({"apart": 1}, channel={"kind": "ideal", "resend": "fresh"}).apart == 1


PUBLIC = "who takes part is public, so ε is not reduced by the chance that an owner is absent"


@pytest.mark.parametrize(
    ("rule", "protocol", "said"),
    [
        ({"most": 3, "apart": 2}, ONE, "each owner answers at most 3 times, at least 2 updates "
         "apart; each round asks 1 owner, drawn at random"),
        ({"most": 1}, {"kind": "rounds"}, "each owner answers at most once"),
        ({"apart": 1}, {"kind": "rounds"}, "answers of an owner are at least 1 update apart"),
        (None, {"kind": "rounds", "owners": 2}, "each round asks 2 owners, drawn at random"),
    ],
)  # fmt: skip
def test_a_rule_is_said_and_that_it_is_public(rule: Any, protocol: Any, said: str) -> None:
    scenario = made(rule, protocol=protocol)
    assert f"participation: {said}; {PUBLIC}" in list(map(str, describe(scenario)))
    text = label([manifest(run(scenario))]).text
    assert f" {said[0].upper()}{said[1:]}; {PUBLIC}." in text


def test_nothing_is_said_without_a_rule() -> None:
    assert "participation" not in made().plain()["privacy"]
    assert not any("participation" in str(line) for line in describe(made()))
    assert "takes part" not in label([manifest(run(made(privacy={"unit": None})))]).text


def test_noise_for_answers_that_cannot_follow_is_told() -> None:
    more = made({"apart": 3}, protocol=ONE)
    [line] = [line for line in map(str, describe(more)) if "have room" in line]
    assert line == (
        "the noise is for 8 answers of an owner, and 8 updates have room for 3: with "
        "privacy.participation.most = 3 it is smaller"
    )
    fits = made({"apart": 3, "most": 3}, protocol=ONE)
    assert not any("have room" in str(line) for line in describe(fits))


def doubts(scenario: Scenario) -> list[str]:
    """Return the reasons for the predictions that are not made."""
    return [prediction.reason for prediction in predict(scenario.network)]


def test_no_formula_is_taken_for_true_where_owners_rest() -> None:
    resting, free = made({"apart": 2}, **GOSSIP), made(**GOSSIP)
    assert any(reason == "" for reason in doubts(free))
    why = "no formula is known for answers of an owner that are at least 2 updates apart"
    assert set(doubts(resting)) == {why}
    assert out_of_order(free) == []
    assert why in out_of_order(resting)


def test_rounds_of_some_owners_have_no_exact_moments_and_last_as_the_slowest_of_them() -> None:
    some = made({"apart": 3}, protocol=ONE, compute=SLOW)
    assert predicted(some.network, "throughput") == pytest.approx(2.0)
    assert out_of_order(some) == ["each round is of 1 of 3 owners, drawn at random"]
    assert out_of_order(made(compute=SLOW)) == []
    two = made({"apart": 2}, protocol={"kind": "rounds", "owners": 2}, compute=SLOW)
    assert isinstance(predicted(two.network, "throughput"), Unknown)  # the third round lacks one
    free = made(protocol={"kind": "rounds", "owners": 2}, compute=SLOW)
    assert predicted(free.network, "throughput") == pytest.approx(1 / 0.75)
    short = made({"apart": 3, "most": 2}, protocol=ONE, compute=SLOW)
    assert isinstance(predicted(short.network, "throughput"), Unknown)
    enough = made({"apart": 3, "most": 3}, protocol=ONE, compute=SLOW)
    assert predicted(enough.network, "throughput") == pytest.approx(2.0)


def test_observers_are_compared_by_the_noise_of_rounds_as_they_are() -> None:
    """A sum of one answer has the noise of one answer, and its three parts are 1/√3 of it."""
    for asked in (1, 3):
        of = made({"most": 8}, protocol={"kind": "rounds", "owners": asked},
                  privacy={"observer": "model"}, owners={"count": 3, "records": 20})  # fmt: skip
        seen_whole = made({"most": 8}, protocol={"kind": "rounds", "owners": asked},
                          owners={"count": 3, "records": 20})  # fmt: skip
        records = np.full(3, 20)
        ratio = of.noise_for(records).scale / seen_whole.noise_for(records).scale
        assert of.privacy.listener.share_of_noise(3, asked) == pytest.approx(ratio)


def test_correlated_noise_is_compared_with_no_observer_of_answers() -> None:
    correlated = {"observer": "model", "correlation": {"bands": 2}}
    of = made({"most": 4, "apart": 2}, protocol=ONE, privacy=correlated)
    plain = made({"most": 4, "apart": 2}, protocol=ONE, privacy={"observer": "model"})
    assert [each.learner_adds_noise for each in applying(of)] == [True]
    assert len(applying(plain)) == 2
