"""Worth of joining in the target's own unit: figures, sentences, and that both are true."""

import json
from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.forecasts.population import population
from asyncdp_sim.forecasts.worth.errors import FACTORS, RUNS, Change, Errors, changes, errors
from asyncdp_sim.forecasts.worth.words import lines, sentences
from asyncdp_sim.measures.scores import ACCURACY, RMSE
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from tests.cli.command import Command

RAW = {
    "id": "errors",
    "run": {"seed": 3, "updates": 60},
    "owners": {"count": 4, "records": (60, 200, 500, 1500)},
    "data": {"kind": "gaussian", "features": 4, "heterogeneity": 0.02, "noise": 1.0,
             "held_out": 0.25},
    "model": {"kind": "ridge", "regularisation": 1e-3},
    "algorithm": {"kind": "async-gossip", "rho": 2.0},
    "privacy": {"epsilon": 30.0, "sensitivity": {"kind": "clip", "bound": 8.0}},
}  # fmt: skip


def scenario(**parts):
    return Scenario.model_validate(RAW).replace(**parts)


@pytest.fixture(scope="module")
def found():
    return errors(population(scenario(), "own", private=False))


def made(joined, alone, epsilon=1.0, score=RMSE, factors=(0.5, 1.0, 2.0)):
    """Return figures of one owner whose runs are all the same, by factor."""
    runs = np.repeat(np.array(joined, dtype=float)[:, None, None], 4, axis=1)
    return Errors(
        names=("St. Mary's",), records=np.array([210]), score=score,
        unit="days" if score is RMSE else None, epsilon=np.array([epsilon]), factors=factors,
        joined=runs, alone=np.array([alone]), together=np.array([1.9]),
    )  # fmt: skip


def test_figures_are_those_of_runs(found):
    """The scenario run by hand, at its budgets and at twice as large ones."""
    for factor in (1.0, 2.0):
        asked = scenario(
            privacy={"epsilon": 30.0 * factor}, run={"replicates": RUNS, "alone": True}
        )
        outcome = run(asked)
        held = outcome.dataset
        for owner in range(4):
            x, y = held.held_out_features[owner], held.held_out_targets[owner]
            rmse = [np.sqrt(np.mean((x @ theta - y) ** 2)) for theta in outcome.learned.models]
            assert found.joined[FACTORS.index(factor)][:, owner] == pytest.approx(rmse)
            own = np.sqrt(np.mean((x @ outcome.alone[owner] - y) ** 2))
            assert found.alone[owner] == pytest.approx(own)


@pytest.mark.oracle
def test_from_the_budget_on_that_is_told_an_owner_gains_in_other_runs(found):
    owners = [i for i in range(4) if found.needed(i) not in (None, 0.0)]
    assert len(owners) > 0
    for owner in owners:
        for times, gains in ((0.6, False), (1.6, True)):
            asked = scenario(privacy={"epsilon": found.needed(owner) * times})
            outcome = run(asked, numbers=range(5001, 5301))
            x, y = (
                held[owner]
                for held in (outcome.dataset.held_out_features, outcome.dataset.held_out_targets)
            )
            rmse = [np.sqrt(np.mean((x @ theta - y) ** 2)) for theta in outcome.learned.models]
            assert (np.mean(rmse) < found.alone[owner]) is np.bool_(gains)


def test_the_crossing_is_between_the_budgets_that_were_tried():
    assert made([3.0, 2.0, 1.5], 2.5).needed(0) == pytest.approx(np.sqrt(0.5))
    assert made([3.0, 2.0, 1.5], 1.0).needed(0) is None
    assert made([0.9, 0.8, 0.7], 1.0).needed(0) == 0.0
    assert made([0.9, 1.2, 0.8], 1.0).needed(0) == pytest.approx(np.sqrt(2))  # the last crossing
    assert made([np.inf, 2.0, 1.5], 2.5).needed(0) == pytest.approx(1.0)


def test_sentences():
    wins = sentences(made([3.0, 2.1, 1.5], 2.4))
    assert wins[0] == (
        "1 of 1 owners are shown to profit at ε = 1, 0 to lose, 0 are not told apart from either "
        "(4 runs)"
    )
    assert wins[1].startswith(
        "St. Mary's errs by 2.1 days instead of 2.4; it gains from about ε = "
    )
    loses = sentences(made([4.0, 3.0, 2.6], 2.4))
    assert loses[1] == (
        "St. Mary's errs by 3 days instead of 2.4; it does not gain at any ε up to 2; the best "
        "model of all records, without noise, would err by 1.9 (it has 210 records of its own)"
    )
    assert "(the least tried)" in sentences(made([2.0, 1.9, 1.8], 2.4))[1]
    equal = made([3.0, 2.4, 2.0], 2.4)
    assert sentences(equal)[1] == (
        "St. Mary's errs by 2.4 days instead of 2.4: no difference is shown (± 0)"
    )
    right = sentences(made([0.6, 0.81, 0.85], 0.79, score=ACCURACY))
    assert right[1].startswith("St. Mary's is right in 81.0% instead of 79.0% of cases; it gains")
    bare = replace(made([2.0], 2.4, factors=(1.0,)), epsilon=np.array([np.inf]))
    assert sentences(bare)[0].startswith("1 of 1 owners are shown to profit without privacy")


def test_what_was_tried_is_told_only_where_nobody_profits():
    told = list(lines(made([4.0, 3.0, 2.6], 2.4), [Change("10 updates instead of 40", 1)]))
    assert told[2:4] == [
        "nobody is shown to profit; tried instead, all else being as it is:",
        "- 10 updates instead of 40: 1 of 1 would profit",
    ]
    assert not any("tried instead" in line for line in lines(made([3.0, 2.0, 1.5], 2.4), []))


@pytest.mark.oracle
def test_changes_are_true():
    """Where nobody profits: each change, made by hand and run, has as many who profit."""
    asked = scenario(privacy={"epsilon": 1.0})
    known = population(asked, "own", private=False)
    worth = errors(known)
    assert not worth.profits(worth.given).any()
    told = {each.words: each.profits for each in changes(known, worth)}
    assert list(told)[:3] == [f"budgets {times} times as large" for times in (2, 5, 10)]
    by_hand = {
        "budgets 10 times as large": {"privacy": {"epsilon": 10.0}},
        "15 updates instead of 60": {"run": {"updates": 15}},
        "Gaussian noise at δ = 1e-06": {"privacy": {"mechanism": "gaussian", "delta": 1e-6}},
        "four times the records of each owner": {"owners": {"records": (240, 800, 2000, 6000)}},
    }
    assert set(by_hand) <= set(told)
    for words, parts in by_hand.items():
        again = errors(population(asked.replace(**parts), "own", private=False))
        assert told[words] == again.profits(again.given).sum(), words


FILE = """
schema = 1
id = "errors"
[run]
seed = 3
updates = 60
[owners]
count = 4
records = [60, 200, 500, 1500]
[data]
kind = "gaussian"
features = 4
heterogeneity = 0.02
noise = 1.0
held_out = 0.25
[model]
kind = "ridge"
regularisation = 1e-3
[algorithm]
kind = "async-gossip"
rho = 2.0
[privacy]
epsilon = 30.0
sensitivity = { kind = "clip", bound = 8.0 }
"""


def test_the_command_ends_in_them(tmp_path, monkeypatch, capsys, found):
    (tmp_path / "s.toml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    command = Command(monkeypatch, capsys)
    said = command.done("forecast", "s.toml").out.partition("\n\n")[2].splitlines()
    lines = sentences(found)
    assert said[: len(lines)] == lines
    assert said[len(lines)].startswith(
        "that is the root mean square error on rows that each owner keeps"
    )
    told = json.loads(command.done("forecast", "s.toml", "--json").out)["errors"]
    assert [owner["alone"] for owner in told["owners"]] == found.alone.tolist()
    plain = command.done("forecast", "s.toml", "--set", "data.held_out=0").out
    assert "errs by" not in plain
