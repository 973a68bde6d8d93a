"""Wrong arguments, misspelt names, and answers of a mechanism of others."""

import copy
import pickle
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import asyncdp_sim as ad
from asyncdp_sim.api import Named
from asyncdp_sim.core.errors import AsyncDPError, InputError
from tests.cli.scenes import ON_A_TABLE, rates

FUNCTIONS = ("load", "open", "plot", "compare", "run", "sweep", "forecast", "simulate", "audit")
WRONG = (3, None, 2.5, ["a"], object())
SCENARIO = ad.load("vary-availability").replace(run={"updates": 5, "replicates": 1}, sweep={})
CALLS = Path(__file__).with_name("refused_calls.txt")
FILES = {"table.toml": ON_A_TABLE}
pytestmark = pytest.mark.filterwarnings("ignore::asyncdp_sim.AsyncDPWarning")


def answers(scale, apart, runs=20_000, numbers=1, seed=1):
    """Return answers with Laplace noise on two data sets, whose true answers are so far apart."""
    side = np.repeat([0, 1], runs)
    noise = np.random.default_rng(seed).laplace(scale=scale, size=(2 * runs, numbers))
    return pd.DataFrame(noise + apart * side[:, None]).assign(dataset=np.where(side, "b", "a"))


def test_calls_are_refused_as_the_session_shows(here, file_regression):
    """``python -m tests.regenerate`` writes what stands beneath the calls anew."""
    rates(here / "rates.csv")
    known = {name: getattr(ad, name) for name in ad.__all__} | globals()
    known |= {"tables": SCENARIO.plain()}
    head, *calls = CALLS.read_text("utf-8").split("\n>>> ")
    for call in calls:
        typed = call.partition("\n")[0]
        try:
            said = repr(eval(typed, known))
        except AsyncDPError as error:
            said = "\n".join(error.lines())
        head += f"\n>>> {typed}\n{said}\n"
    file_regression.check(head, encoding="utf-8", fullpath=CALLS)


def test_tables_that_are_loaded_stay_as_they_were():
    tables = SCENARIO.plain()
    before = copy.deepcopy(tables)
    assert ad.run(tables).updates.equals(ad.run(SCENARIO).updates)
    assert tables == before


@pytest.mark.parametrize("name", [*FUNCTIONS, "replay"])
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
def test_a_wrong_type_is_named_with_what_is_allowed(name, wrong):
    with pytest.raises(InputError, match=r"given a value of type \w+; allowed is .*path of a"):
        getattr(ad, name)(wrong)


def test_one_of_a_thing_is_in_the_singular():
    swept = ad.sweep(SCENARIO.replace(sweep={"run.seed": [1]}))
    assert "1 cell," in repr(swept)
    assert "<b>&lt;Sweep over run.seed, 1 cell," in swept._repr_html_()
    assert "1 replicate," in repr(swept[0])


def test_results_of_one_directory_name_are_compared_with_a_temporary_one(tmp_path):
    places = [tmp_path / "a" / "r", tmp_path / "b" / "r"]
    kept = [ad.run(SCENARIO.replace(run={"seed": i}), out=place) for i, place in enumerate(places)]
    frame = ad.compare(*kept, ad.run(SCENARIO)).lines()
    for name in (*map(str, places), "vary-availability (3)"):
        assert any(name in line for line in frame), name


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
