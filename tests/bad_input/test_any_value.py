"""Any value in any place: taken, or refused with an allowed one, also at the ends of domains."""

import datetime
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from itertools import product
from typing import Any

import pytest

from asyncdp_sim.core.errors import AsyncDPError, SpecError
from asyncdp_sim.network.graphs import GossipGraph
from asyncdp_sim.network.topology import Topology
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.scenario.catalogue import Entry, catalogue, entry
from tests.bad_input import transcript as transcripts
from tests.cli.scenes import ON_A_TABLE, rates
from tests.conformance.members import examples

# A value of any type in any place of a scenario is taken, or refused by our exception.

VALUES = (
    [], {}, [[1]], True, "x", -1, 1e308, float("nan"), 2**70, datetime.date(2024, 1, 1),
    {"kind": []},
)  # fmt: skip
Place = tuple[str | int, ...]


def places(table: Any, above: Place = ()) -> Iterator[Place]:
    """Yield all places beneath a table or a list."""
    inside = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in inside:
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))


def escapes(published: list[Entry], values: tuple[Any, ...]) -> list[str]:
    """Return what ended otherwise: each place once, whatever scenario has it first."""
    seen, found = set[tuple[Any, ...]](), list[str]()
    for one in published:
        text = one.file.read_text(encoding="utf-8")
        for place in places(tomllib.loads(text)):
            unnumbered = tuple("#" if isinstance(key, int) else key for key in place)
            if unnumbered in seen:
                continue
            seen.add(unnumbered)
            for value in values:
                table = whole = tomllib.loads(text)
                for key in place[:-1]:
                    table = table[key]
                table[place[-1]] = deepcopy(value)
                try:
                    parse(Scenario, whole)
                except AsyncDPError:
                    pass
                except Exception as error:
                    found.append(f"{one.name}: {place} = {value!r}: {error!r}")
    return found


def test_in_a_scenario_with_its_privacy():
    """Found at night: a kind that is a list; rates whose sum is no number."""
    assert escapes([entry("lending-sound")], ([], {"kind": []}, 1e308)) == []


@pytest.mark.long
def test_in_the_whole_catalogue():
    assert escapes(catalogue(), VALUES) == []


# Numbers at the ends of their domains, of graphs that are drawn.

GRAPHS = [*examples(Topology), *examples(GossipGraph)]
LEAST, MOST = (5e-324, 1e-300, 1e-9), (1e9, 1.7e308)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: f"{type(graph).__name__}")
@pytest.mark.parametrize("number", [*LEAST, *MOST])
def test_a_graph_of_them_is_drawn_or_refused(graph, number):
    """Found by attack: a reach of 5e-324 times the largest distance was 0, and divided by."""
    numbers = range(1, 9) if "graph" in type(graph).model_fields else (None,)
    for name, field in type(graph).model_fields.items():
        for owners, drawn in product((1, 5), numbers if field.annotation is float else ()):
            chosen = {name: number} | ({} if drawn is None else {"graph": drawn})
            with suppress(SpecError):
                type(graph)(**{**dict(graph), **chosen}).faults(owners)


# Messages of refusal: the allowed value differs from the given one, and is accepted.

CONTRADICTION = re.compile(r"given ([^;]+); allowed is (?:at most |at least )?\1(?![\w.])")


@pytest.mark.parametrize("preprocessing", ["none", "pca", "eigen-uncentred"])
@pytest.mark.parametrize("given", [2, 4, 5])
def test_features_with_an_intercept(preprocessing, given, here, command):
    """Found by attack: "given 3; allowed is 3", where an intercept counted as a feature."""
    rates(here / "rates.csv")
    (here / "table.toml").write_text(ON_A_TABLE, encoding="utf-8")
    said = (f"data.preprocessing={preprocessing}", "model.intercept=true", f"data.features={given}")
    words = [word for setting in said for word in ("--set", setting)]
    ended = command("check", "table.toml", *words)
    if ended.code == 0:
        assert given <= 3
        return
    assert CONTRADICTION.search(ended.err) is None
    [allowed] = re.findall(
        r"allowed is (?:at most )?(\d+), .* and one for model.intercept", ended.err
    )
    command.done("check", "table.toml", *words, "--set", f"data.features={allowed}")


def test_no_refused_case_of_the_suite_contradicts_itself():
    cases = transcripts.FILES.glob("*.toml")
    lines = [line for file in cases for line in transcripts.transcript(file).expected]
    assert len(lines) > 300
    assert [line for line in lines if CONTRADICTION.search(line)] == []
