"""Worth of joining in the target's own unit: figures, sentences, and that both are true."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import tomli_w

from asyncdp_sim.forecasts.benefit import FACTORS, RUNS, Errors, errors, intervals
from asyncdp_sim.forecasts.changes import changes
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.forecasts.uncertainty import MayBeOff, may_be_off
from asyncdp_sim.measures.scores import ACCURACY, RMSE
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in
from tests.scenes import fields

RAW = fields(
    run={"seed": 3, "updates": 60},
    owners={"count": 4, "records": [60, 200, 500, 1500]},
    data={"features": 4, "heterogeneity": 0.02, "noise": 1.0, "held_out": 0.25},
    model={"regularisation": 1e-3},
    algorithm={"rho": 2.0},
    privacy={"epsilon": 30.0, "sensitivity": {"kind": "clip", "bound": 8.0}},
)

FILES = {"s.toml": tomli_w.dumps(RAW)}


def scenario(**parts):
    return Scenario.model_validate(RAW).replace(**parts)


@pytest.fixture(scope="module")
def found():
    return errors(population(scenario(), private=False))


def made(joined, alone, epsilon=1.0, score=RMSE, factors=(0.5, 1.0, 2.0)):
    """Return figures of one owner whose runs are all the same, by factor."""
    runs = np.repeat(np.array(joined, dtype=float)[:, None, None], 4, axis=1)
    return Errors(
        names=("St. Mary's",), records=np.array([210]), score=score,
        unit="days" if score is RMSE else None, epsilon=np.array([epsilon]), factors=factors,
        joined=runs, alone=np.array([alone]), together=np.array([1.9]), guessing=np.array([5.0]),
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


@pytest.mark.long
def test_break_even_is_near_that_of_four_times_as_many_budgets(found):
    """To 2 %; linear in ln ε, it would be off by 4 %."""
    between = np.geomspace(FACTORS[0], FACTORS[-1], 41).tolist()
    factors = tuple(sorted({*FACTORS, *between}))
    closer = errors(population(scenario(), private=False), factors=factors)
    owners = [i for i in range(4) if found.needed(i) not in (None, 0.0)]
    assert len(owners) > 1
    for owner in owners:
        assert found.needed(owner) == pytest.approx(closer.needed(owner), rel=0.02)


@pytest.mark.long
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
    assert made([3.0, 2.0, 1.5], 2.5).needed(0) == pytest.approx(2 / 3)
    assert made([3.0, 2.0, 1.5], 1.0).needed(0) is None
    assert made([0.9, 0.8, 0.7], 1.0).needed(0) == 0.0
    assert made([0.9, 1.2, 0.8], 1.0).needed(0) == pytest.approx(4 / 3)  # the last crossing
    assert made([np.inf, 2.0, 1.5], 2.5).needed(0) == pytest.approx(1.0)


def test_guessing_is_one_prediction_for_all_rows(found):
    held = run(scenario(run={"replicates": 1})).dataset
    mean = np.concatenate(held.targets).mean()
    rmse = [np.sqrt(np.mean((y - mean) ** 2)) for y in held.held_out_targets]
    assert found.guessing == pytest.approx(rmse)


@pytest.mark.parametrize("model", [{"kind": "logistic"}, {"kind": "softmax", "classes": 2}])
def test_guessing_labels_is_the_most_frequent_one(model):
    asked = scenario(model=model | {"regularisation": 1e-3}, data={"labels": True})
    worth = errors(population(asked, private=False), factors=(1.0,), runs=2)
    held = run(asked).dataset
    often = np.sign(np.concatenate(held.targets).sum())
    shares = [np.mean(y == often) for y in held.held_out_targets]
    assert worth.guessing == pytest.approx(shares)


@pytest.mark.long
def test_changes_are_true():
    """Where nobody profits: each change, made by hand and run, has as many who profit."""
    asked = scenario(privacy={"epsilon": 1.0})
    known = population(asked, private=False)
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
        again = errors(population(asked.replace(**parts), private=False))
        assert told[words] == again.profits(again.given).sum(), words


MORE = "four times the records of each owner"
SPLITS = {
    "by column": {"split": {"column": "who", "least": 50}},
    "in order": {"drop": ["who"]},
    "by target": {"split": {"dirichlet": 2.0, "groups": 3, "rows": 700}, "drop": ["who"]},
}


def on_a_table(folder, split, *, times=1):
    """Return a scenario on a table whose private rows are there so many times."""
    g = np.random.default_rng(8)
    x = g.normal(size=(1000, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame["y"] = x @ [1.0, -2.0, 0.5] + g.normal(size=1000)
    frame["who"] = [("n", "e", "s", "w", "few")[i % 80 % 5 if i % 80 else 4] for i in range(1000)]
    frame.loc[frame.index[frame.who == "few"][30:], "who"] = "n"  # 30 rows: no owner
    private, public = frame[:800], frame[800:]
    file = folder / f"{times}.parquet"
    pd.concat([private] * times + [public], ignore_index=True).to_parquet(file)
    fields = SPLITS[split]
    if split == "by column":
        fields = {"split": {"column": "who", "least": 50 * times}}
    if split == "by target":
        fields = {**fields, "split": {**fields["split"], "rows": 700 * times}}
    data = {"kind": "table", "path": str(file), "target": "y", "features": 3, "held_out": 0.25,
            "public_records": 200, "preprocessing": "pca", **fields}  # fmt: skip
    owners = {"count": 4}
    if split == "in order":
        owners["records"] = [times * n for n in (100, 150, 200, 300)]
    privacy = {"epsilon": 30.0, "sensitivity": {"kind": "clip", "bound": 8.0}}
    raw = {key: value for key, value in RAW.items() if key not in ("owners", "data", "privacy")}
    return Scenario.model_validate({**raw, "owners": owners, "data": data, "privacy": privacy})


@one_in(3, "split", SPLITS)
def test_more_records_of_a_table_are_as_true(tmp_path, split):
    """The same table with its private rows four times, forecast from the same public rows."""
    known = population(on_a_table(tmp_path, split), private=False)
    worth = errors(known, factors=(1.0,))
    told = {each.words: each.profits for each in changes(known, worth)}
    there = population(on_a_table(tmp_path, split, times=4), private=False)
    before, after = (np.array(p.problem.task.objective.records) for p in (known, there))
    assert after == pytest.approx(4 * before, rel=0.3 if split == "by target" else 0.01)
    again = errors(there, factors=(1.0,))
    assert told[MORE] == again.profits(again.given).sum()
    if split != "by target":
        assert told[MORE] > 0
    part = known.scenario.replace(owners={"only": (1, 2)}).base()
    few = population(part, private=False)
    assert MORE in {each.words for each in changes(few, errors(few, factors=(1.0,), runs=2))}


def test_private_rows_are_not_made_more(tmp_path):
    """What is read is what there is: nobody draws more of it."""
    known = population(on_a_table(tmp_path, "by column"), private=True)
    told = changes(known, errors(known, factors=(1.0,), runs=2))
    assert [each.words for each in told] == [
        "15 updates instead of 60", "Gaussian noise at δ = 1e-06",
    ]  # fmt: skip


def off_by(joined, alone, gain):
    """Return a ± of a stand-in's figures, one owner's."""
    return MayBeOff(
        psi_half_width=0.1, errors_half_width=(joined,), alone_half_width=(alone,),
        gain_half_width=(gain,), score="RMSE", unit="days", redraws=8, uncertain="halves",
        left_out=(),
    )  # fmt: skip


def test_each_owners_errors_have_a_half_width_of_their_own():
    found = replace(made([3.0, 2.0, 1.5], 2.4), rows=np.array([0.25]))
    known = intervals(found, off_by(0.61, 0.4, 0.25))
    assert [*known.joined, *known.alone, *known.gain] == [0.61, 0.4, 0.25]
    assert found.verdicts == [True]
    assert replace(found, rows=np.array([0.41])).verdicts == [None]
    right = replace(made([0.6, 0.75, 0.85], 0.79, score=ACCURACY), rows=np.array([0.03]))
    assert right.verdicts == [False]
    joined = np.array([2.1, 1.9, 2.2, 2.0])[None, :, None]
    one = replace(made([2.0], 2.4, factors=(1.0,)), joined=joined, names=("Northside",))
    half = float(one.half_width(0)[0])
    both = intervals(replace(one, rows=np.array([0.1])), off_by(0.3, 0.2, 0.1))
    assert both.joined == pytest.approx(np.hypot(half, 0.3))
    assert both.gain == pytest.approx(np.hypot(half, 0.1))


WORLDS = 40
LAWS = {
    "normal": lambda g, x: g.normal(size=len(x)),
    "skewed": lambda g, x: g.exponential(size=len(x)) * np.exp(x[:, 0] / 4),
}


def world(file, law, number):
    """Return a scenario on a table of this law; rows of one owner are as another's."""
    g = np.random.default_rng([17, number])
    x = g.normal(size=(800, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame["y"] = x @ [1.0, -2.0, 0.5] + LAWS[law](g, x)
    frame["who"] = [("n", "e", "s", "s", "w", "w", "w", "w")[i % 8] for i in range(800)]
    frame.to_parquet(file)
    data = {"kind": "table", "path": str(file), "target": "y", "features": 3, "held_out": 0.25,
            "public_records": 200, "preprocessing": "pca", "split": {"column": "who"}}  # fmt: skip
    privacy = {"epsilon": 30.0, "sensitivity": {"kind": "clip", "bound": 4.0}}
    raw = RAW | {"owners": {"count": 4}, "data": data, "privacy": privacy}
    return Scenario.model_validate(raw)


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_owners_errors_lie_within_their_half_widths(tmp_path, law):
    """On the owners' own rows, in runs of other seeds: 40 tables of four owners.

    The intervals of one table's owners are of the same public rows: were they one, the share that
    is covered would have a standard error of 0.034. Skewed errors are covered less often than
    normal ones, by 0.05 in 60 such tables, as the mean of few skewed numbers is. Half widths of
    runs alone would cover a small part.
    """
    within = {"joined": [], "alone": [], "gain": [], "runs": []}
    for number in range(WORLDS):
        asked = world(tmp_path / f"{number}.parquet", law, number)
        known = population(asked, private=False)
        off = may_be_off(known, "own")
        worth = errors(known, factors=(1.0,), runs=20)
        both = intervals(replace(worth, rows=np.array(off.gain_half_width)), off)
        others = asked.replace(run={"seed": 1000 + number})
        there = population(others, private=True)
        truth = errors(there, factors=(1.0,), runs=20)
        joined = worth.joined[0].mean(axis=0) - truth.joined[0].mean(axis=0)
        within["joined"].append(np.abs(joined) <= both.joined)
        within["alone"].append(np.abs(worth.alone - truth.alone) <= both.alone)
        within["gain"].append(np.abs(worth.gain(0) - truth.gain(0)) <= both.gain)
        within["runs"].append(np.abs(joined) <= worth.half_width(0))
    shares = {name: float(np.mean(each)) for name, each in within.items()}
    print(law, shares)
    assert shares.pop("runs") < 0.5
    for share in shares.values():
        assert 0.95 - 3 * 0.034 < share < 0.995


@pytest.mark.long
@pytest.mark.usefixtures("here")
def test_the_command_has_a_row_of_them_for_each_owner(command, found):
    said = command.done("forecast", "s.toml", "--details").out.splitlines()
    head = next(at for at, line in enumerate(said) if line.startswith("owner  records"))
    rows = [line.split() for line in said[head + 1 : head + 5]]
    gains = found.gain(found.given)
    assert [int(row[0]) - 1 for row in rows] == np.argsort(-gains, kind="stable").tolist()
    for row in rows:
        owner = int(row[0]) - 1
        joined = found.joined[found.given][:, owner].mean()
        assert float(row[2]) == pytest.approx(joined, rel=5e-3)
        assert float(row[3]) == pytest.approx(found.alone[owner], rel=5e-3)
        assert float(row[4]) == pytest.approx(joined - found.alone[owner], rel=5e-3)
        assert float(row[6]) == pytest.approx(found.half_width(found.given)[owner], rel=0.05)
    told = json.loads(command.done("forecast", "s.toml", "--json").out)["errors"]
    assert [owner["alone"] for owner in told["owners"]] == found.alone.tolist()
    assert [owner["guessing"] for owner in told["owners"]] == found.guessing.tolist()
    plain = command.done("forecast", "s.toml", "--details", "--set", "data.held_out=0").out
    assert "RMSE" not in plain
