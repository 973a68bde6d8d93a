"""Wrong arguments, misspelt names, and answers of a mechanism of others."""

import copy
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import asyncdp_sim as ad
from asyncdp_sim.api import Named
from asyncdp_sim.core.errors import InputError
from tests.cli.scenes import ON_A_TABLE, rates

# Wrong arguments and misspelt names are answered with what is allowed.

FUNCTIONS = ("load", "open", "plot", "compare", "run", "sweep", "forecast", "simulate", "audit")
WRONG = (3, None, 2.5, ["a"], object())
SCENARIO = ad.load("vary-availability").replace(run={"updates": 5, "replicates": 1})


def test_a_dict_of_tables_is_a_scenario():
    tables = SCENARIO.plain()
    before = copy.deepcopy(tables)
    assert ad.load(tables) == SCENARIO
    assert ad.load(tables, ["run.updates=7"]).run.updates == 7
    assert tables == before
    assert ad.run({**tables, "sweep": {}}).updates.equals(ad.run(SCENARIO).updates)
    with pytest.raises(ad.SpecError, match="runn: given an unknown key 'runn'; did you mean 'run'"):
        ad.load({**tables, "runn": {}})
    for key in (3, None, 1.5, b"run"):
        with pytest.raises(ad.SpecError, match=f"run.{key}: given an unknown key"):
            ad.load({**tables, "run": {**tables["run"], key: 1}})
        with pytest.raises(ad.SpecError, match=f"run.{key}: given an unknown key"):
            SCENARIO.replace(run={key: 1})
    with pytest.raises(ad.SpecError, match=r"run.updates: given 0x\w+\.\.\.; allowed is"):
        ad.load({**tables, "run": {"updates": 10**5000}})
    for settings in ("run.updates=7", [3], 3):
        with pytest.raises(ad.SpecError, match="settings: given a value of type"):
            ad.load(tables, settings)
    with pytest.raises(ad.SpecError, match=r"run\.1: given an unknown key '1'; known keys: seed"):
        SCENARIO.replace(run={1: 2})


def test_numbers_of_numpy_and_tuples_are_plain_ones():
    """Found by attack: "given np.int64(3); allowed is a whole number", "[1, 2]; … a list"."""
    changed = SCENARIO.replace(
        run={"seed": np.int64(3)}, sweep={"privacy.epsilon": np.array([0.5, 2]), "run.seed": (1, 2)}
    )
    assert type(changed.run.seed) is int
    assert changed.sweep == {"privacy.epsilon": [0.5, 2.0], "run.seed": [1, 2]}
    assert ad.load({**changed.plain(), "run": {"updates": np.int32(5)}}).run.updates == 5


def test_a_scenario_says_how_it_is_changed():
    for part, name in ((SCENARIO, "title"), (SCENARIO.run, "seed")):
        with pytest.raises(ad.SpecError, match=rf"{name}: given 4; .*scenario\.replace"):
            setattr(part, name, 4)


def test_a_forecast_that_judged_no_owner_draws_none(tmp_path):
    """Found by attack: it divided by zero owners."""
    rates(tmp_path / "rates.csv")
    (tmp_path / "table.toml").write_text(ON_A_TABLE, encoding="utf-8")
    with pytest.raises(ad.ResultError, match="owners: given a forecast that judged no owner; "):
        ad.forecast(tmp_path / "table.toml").plot.owners()


@pytest.mark.parametrize("name", [*FUNCTIONS, "replay"])
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
def test_a_wrong_type_is_named_with_what_is_allowed(name, wrong):
    with pytest.raises(InputError, match=r"given a value of type \w+; allowed is .*path of a"):
        getattr(ad, name)(wrong)


COUNT, SHARE = "allowed is a whole number ≥ 1", "allowed is a number in (0, 1)"
TEXTS = "allowed is a list of 2 different texts"


@pytest.mark.parametrize(
    ("name", "argument", "wrong", "allowed"),
    [
        ("load", "settings", (None, 3, "a=1"), "allowed is a list of texts, each path=value"),
        ("run", "workers", ("2", 0, -1, 1.5, None, True), COUNT),
        ("simulate", "replicate", (0, 1.5, "2", True), COUNT),
        ("audit", "workers", (0, 1.5, "2"), COUNT),
        ("audit", "answers", (50,), "allowed is a whole number ≥ 100"),
        ("audit", "runs", (1, 99, 100.0, "100"), "allowed is a whole number ≥ 100"),
        ("audit", "confidence", (1, "0.9", None, float("nan"), 10**400, 10**5000), SHARE),
        ("forecast", "target", (0, -1.0, "0.1", True, np.inf, 10**400), "allowed is a number > 0"),
        ("compare", "names", ("ab", 3, ["a"], ["a", "a"], [1, 2]), TEXTS),
    ],
)
def test_an_argument_of_a_wrong_value_is_refused_before_anything_is_computed(
    name, argument, wrong, allowed
):
    given = ("a", "b") if name == "compare" else (SCENARIO,)
    for value in wrong:
        with pytest.raises(ad.SpecError) as caught:
            getattr(ad, name)(*given, **{argument: value})
        [line] = caught.value.lines()
        assert line.startswith(f"{argument}: given ")
        assert line.endswith(allowed)


def test_an_owner_is_called_by_its_number_or_by_its_text():
    for whose in (1, "1"):
        with pytest.raises(ad.InputError, match=r"data\.own_path: given nothing"):
            ad.forecast(SCENARIO, whose=whose)


@pytest.mark.filterwarnings("ignore::asyncdp_sim.AsyncDPWarning")
def test_one_of_a_thing_is_in_the_singular():
    swept = ad.sweep(SCENARIO.replace(sweep={"run.seed": [1]}))
    assert "1 cell," in repr(swept)
    assert "<b>&lt;Sweep over run.seed, 1 cell," in swept._repr_html_()
    assert "1 replicate," in repr(swept[0])


@pytest.mark.filterwarnings("ignore::asyncdp_sim.AsyncDPWarning")
def test_a_finished_result_is_not_opened_for_a_wrong_number_of_processes(tmp_path):
    ad.run(SCENARIO, out=tmp_path / "result")
    with pytest.raises(ad.SpecError, match="workers: given 0"):
        ad.run(SCENARIO, out=tmp_path / "result", workers=0)


@pytest.mark.filterwarnings("ignore::asyncdp_sim.AsyncDPWarning")
def test_results_of_one_directory_name_are_compared_with_a_temporary_one(tmp_path):
    places = [tmp_path / "a" / "r", tmp_path / "b" / "r"]
    kept = [ad.run(SCENARIO.replace(run={"seed": i}), out=place) for i, place in enumerate(places)]
    frame = ad.compare(*kept, ad.run(SCENARIO)).lines()
    for name in (*map(str, places), "vary-availability (3)"):
        assert any(name in line for line in frame), name


@pytest.mark.filterwarnings("ignore::asyncdp_sim.AsyncDPWarning")
def test_a_misspelt_name_is_answered_with_the_nearest():
    """Every public attribute of what functions return, with a letter doubled, and of the module."""
    result, trace = ad.run(SCENARIO), ad.simulate(SCENARIO)
    for owner in (ad, result, result.plot, trace, trace.plot):
        public = [name for name in dir(owner) if not name.startswith("_")]
        assert len(public) > 3
        for name in public:
            with pytest.raises(AttributeError, match=f"did you mean '{name}'") as found:
                getattr(owner, name + name[-1])
            assert found.value.name == name + name[-1]
        with pytest.raises(AttributeError, match="known: "):
            _ = owner.qqqqqqqq
        assert not hasattr(owner, "_qqq")
        assert getattr(owner, "qqq", None) is None


def test_what_has_such_names_is_copied_and_pickled():
    assert isinstance(pickle.loads(pickle.dumps(copy.deepcopy(Named()))), Named)


def test_the_module_lists_what_is_public():
    assert [name for name in dir(ad) if not name.startswith("__")] == sorted(ad.__all__)


# Answers of a mechanism of others, attacked in a table.

RUNS = 20_000


def answers(scale, apart, runs=RUNS, numbers=1, seed=1):
    side = np.repeat([0, 1], runs)
    noise = np.random.default_rng(seed).laplace(scale=scale, size=(2 * runs, numbers))
    return pd.DataFrame(noise + apart * side[:, None]).assign(dataset=np.where(side, "b", "a"))


@pytest.mark.parametrize(("apart", "epsilon"), [(1.0, 0.5), (1.0, 2.0), (3.0, 1.0)])
def test_a_bound_is_just_below_the_truth(apart, epsilon):
    assert 0.8 * epsilon < ad.audit_answers(answers(apart / epsilon, apart)).epsilon < epsilon


def test_too_little_noise_is_refuted_and_none_is_as_much_as_so_many_answers_show():
    assert ad.audit_answers(answers(0.5, 1.0)).epsilon > 1.5
    assert ad.audit_answers(answers(1e-6, 1.0)).epsilon > 7


@pytest.mark.long
def test_many_numbers_together_show_more_than_each():
    alone, together = (ad.audit_answers(answers(10.0, 1.0, numbers=n)).epsilon for n in (1, 50))
    assert alone < 0.1
    assert together > 3 * alone


@pytest.mark.long
def test_where_nothing_is_to_be_shown_nothing_is():
    shown = [
        ad.audit_answers(answers(1.0, 0.0, runs=100, numbers=60, seed=seed), confidence=0.9)
        for seed in range(40)
    ]
    assert sum(found.epsilon > 0 for found in shown) <= 10  # of 4 in the mean


@pytest.mark.parametrize(
    ("change", "options", "named"),
    [
        ({"dataset": 1}, {}, "1 data set, the smallest of 400 rows"),
        ({"dataset": range(400)}, {}, "400 data sets, the smallest of 1 row"),
        ({"dataset": None}, {}, "no value in 400 of 400 rows"),
        ({"said": np.inf}, {}, "a value that is no finite number"),
        ({"said": "a word"}, {}, "a value that is no finite number"),
        ({"said": np.nan}, {}, "a value that is no finite number"),
        ({"said": 1 + 2j}, {}, "a value that is no finite number"),
        ({"said": [Decimal("Infinity"), Decimal(1)] * 200}, {}, "a value that is no finite number"),
        ({"said": [1, 10**400] * 200}, {}, "or more than 1e308 away from others"),
        ({"said": [-1.7e308, 1.7e308] * 200}, {}, "or more than 1e308 away from others"),
        ({}, {"dataset": "side"}, "no such column"),
        ({}, {"delta": 1.0}, r"delta: given 1.0; allowed is a number in \[0, 1\)"),
        ({}, {"delta": "0"}, r"delta: given '0'; allowed is a number in \[0, 1\)"),
        ({}, {"confidence": 1.0}, r"confidence: given 1.0; allowed is a number in \(0, 1\)"),
    ],
)
def test_what_is_refused(change, options, named):
    with pytest.raises(ad.InputError, match=named):
        ad.audit_answers(answers(1.0, 1.0, runs=200).assign(**change), **options)


def test_a_table_without_answers_or_with_a_column_twice_is_refused():
    """Found by attack: these ended in tracebacks of pandas and numpy."""
    frame = answers(1.0, 1.0, runs=200)
    cases = {
        "no column besides it": frame[["dataset"]],
        "2 columns of this name": pd.concat([frame, frame[["dataset"]]], axis=1),
        "0: given 2 columns of this name": pd.concat([frame, frame[[0]]], axis=1),
        "no such column": frame.drop(columns="dataset"),
        "a value of type dict": {"dataset": [0, 1]},
    }
    for named, wrong in cases.items():
        with pytest.raises(ad.InputError, match=named):
            ad.audit_answers(wrong)


def shifted(numbers, by):
    """Return whole numbers moved by a constant, in a type that holds them."""
    return {
        "int64": numbers.astype(np.int64) + by,
        "uint64": numbers.astype(np.int64).astype(np.uint64) + np.uint64(by),
        "object": np.array([int(number) + by for number in numbers], dtype=object),
        "decimal": np.array([Decimal(int(number)) + by for number in numbers], dtype=object),
    }


@pytest.mark.parametrize("by", [10**9, 2**54 + 1, 2**62 + 12345])
def test_what_is_added_to_all_answers_changes_nothing(by):
    """Found by attack: noise far below the answers was rounded away, and ε with it."""
    whole = np.rint(1000 * answers(1.0, 1.0)[0].to_numpy())
    frame = answers(1.0, 1.0)
    bare = ad.audit_answers(frame.assign(**{"0": whole})[["0", "dataset"]]).epsilon
    assert bare > 0.7
    for kind, numbers in shifted(whole, by).items():
        moved = frame[["dataset"]].assign(**{"0": numbers})
        assert ad.audit_answers(moved).epsilon == bare, kind


@pytest.mark.parametrize("by", [1e6, 1e10, 1e12, -1e12])
def test_floats_show_as_much_beside_a_large_constant(by):
    frame = answers(1.0, 1.0)
    bare = ad.audit_answers(frame).epsilon
    moved = ad.audit_answers(frame.assign(**{"0": frame[0] + by})[["0", "dataset"]]).epsilon
    assert abs(moved - bare) < 0.01
    narrow = frame[["dataset"]].assign(a=frame[0].astype(np.float32))
    assert abs(ad.audit_answers(narrow).epsilon - bare) < 0.01
