"""A value of any type in any place of a scenario is taken, or refused by our exception."""

import datetime
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from asyncdp_sim.core.errors import AsyncDPError
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.scenario.catalogue import Entry, catalogue, entry

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
