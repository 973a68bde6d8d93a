"""POLAR-SGD in a scenario: what it is called, what is said of it, and what does not suit it."""

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.scenario import describe
from tests.tables import table

RAW = table(__file__, "scenes.toml")["polar"]


def test_a_scenario_without_a_finite_epsilon():
    scenario = parse(Scenario, RAW)
    assert "privacy: obfuscated, no DP guarantee" in describe(scenario)
    assert scenario.network.answers_allowed == (12,) * 3  # one for each server
    assert scenario.network.answers_per_update is None


def test_a_description_says_what_servers_learn_all_the_same():
    hidden = {"count": 3, "window": 2}
    for part, word in [({}, None), ({"count": 2}, "two servers"), ({"window": 1}, "remark 1")]:
        servers = {"kind": "servers", "read": "basic", **hidden, **part}
        lines = [x for x in describe(parse(Scenario, RAW | {"protocol": servers})) if "learns" in x]
        assert len(lines) == (word is not None)
        assert all(word in line for line in lines)


def test_a_description_says_how_neighbours_agree_and_what_they_learn():
    """λ_2 of a path of three by Metropolis weights is 2/3; pairs in turn leave 1/2 of a pair."""
    path = {"kind": "edges", "between": [[1, 2], [2, 3]]}
    pairs = [{"kind": "edges", "between": [[1, 2]]}, {"kind": "edges", "between": [[2, 3]]}]
    turns = {"kind": "in-turn", "graphs": pairs}
    complete = {"kind": "ring"}  # of three
    told = []
    for graph in (path, turns, complete):
        servers = RAW["protocol"] | {"graph": graph, "window": 1}
        told.append("\n".join(describe(parse(Scenario, RAW | {"protocol": servers}))))
    assert "an agreement leaves at most 0.667 of their disagreement" in told[0]
    assert "2 in turn, 2 of them not connected alone; together they are" in told[1]
    assert "2 agreements leave at most 0.5 of" in told[1]
    for each in told[:2]:
        assert "a curious server learns its neighbours'" in each
        assert "remark 1" not in each
    assert "neighbours" not in told[2]
    assert "remark 1" in told[2]


@pytest.mark.parametrize("case", table(__file__, "polar_refused.toml")["refused"])
def test_what_does_not_suit_it_is_refused_in_a_line_each(case):
    with pytest.raises(SpecError) as caught:
        parse(Scenario, RAW | case["part"])
    assert [fault.key for fault in caught.value.faults] == case["keys"]
