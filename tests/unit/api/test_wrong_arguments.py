"""Wrong arguments and misspelt names are answered with what is allowed."""

import copy
import pickle

import pytest

import asyncdp_sim as ad
from asyncdp_sim.api.arguments import Named
from asyncdp_sim.core.errors import InputError

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


@pytest.mark.parametrize("name", [*FUNCTIONS, "replay"])
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
def test_a_wrong_type_is_named_with_what_is_allowed(name, wrong):
    with pytest.raises(InputError, match=r"given a value of type \w+; allowed is .*path of a"):
        getattr(ad, name)(wrong)


@pytest.mark.parametrize("wrong", ["2", 0, -1, 1.5, None, True])
def test_a_number_of_processes_is_whole(wrong):
    with pytest.raises(InputError, match=r"workers: given .*; allowed is a whole number ≥ 1"):
        ad.run(SCENARIO, workers=wrong)


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
