"""Owners have names: whole in tables, printable and short on screens, the same everywhere."""

import json
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.figures import gains, traces
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.forecasts.advice.contest import Played
from asyncdp_sim.forecasts.advice.invite import Coalition, Trialled
from asyncdp_sim.forecasts.advice.market import buy
from asyncdp_sim.results import Result
from asyncdp_sim.runs import run, write
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.scenario.owners import LONGEST, places_of, shown
from asyncdp_sim.sentences import forecast as words
from tests import scenes

HOSTILE = (
    "St. Mary's",
    "\x1b[31mred\x9b\u202e",
    "costs $5 or $6, which is a very long name indeed",
)


def scenario(names: tuple[str, ...] | None = HOSTILE, **owners: Any) -> Scenario:
    return scenes.scenario(
        run={"updates": 30, "alone": True},
        owners={"records": 200, "names": names} | owners,
        model={"regularisation": 1e-2},
        algorithm={"rho": 3.0},
        privacy={"epsilon": 30.0, "sensitivity": {"kind": "declared", "bound": 50.0}},
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=40), unique=True, max_size=30))
def test_whatever_names_are_what_is_shown_is_printable_short_and_unique(names):
    found = shown(names)
    assert len(set(found)) == len(found) == len(names)
    assert all(0 < len(name) <= LONGEST and name.isprintable() for name in found)


def test_names_that_are_cut_alike_have_their_place_behind_them():
    found = shown(["Hospital of the Northern Valley", "Hospital of the Northern Coast", "Short"])
    assert found == ("Hospital of the … #1", "Hospital of the … #2", "Short")
    assert shown(["x #2", "a\tb", "a b"]) == ("x #2", "a b #2", "a b #3")


def test_a_name_is_found_by_itself_and_else_by_its_number():
    names = ("10", "2", "North")
    assert places_of("owners.only", ["2", 1, "North"], names, (1, 2, 3)) == [0, 1, 2]
    assert places_of("owners.only", ["3", "B"], ("A", "B", "C"), (1, 2, 3)) == [1, 2]
    with pytest.raises(SpecError, match=r"owners.only: given '3'; some of the names: 10, 2, Nort"):
        places_of("owners.only", ["3"], names, (1, 2, 3))
    with pytest.raises(SpecError, match=r"owners.only: given 'Nort'; nearest names: North$"):
        places_of("owners.only", ["Nort"], names, (1, 2, 3))
    with pytest.raises(SpecError, match=r"given 'zzz'; some of the names: 10, 2, North$"):
        places_of("owners.only", ["zzz"], names, (1, 2, 3))
    with pytest.raises(SpecError, match="allowed are owner numbers 1 to 3: these owners have no"):
        places_of("owners.only", ["A"], (), (1, 2, 3))
    with pytest.raises(SpecError, match="given owner 1 twice; allowed is every owner once"):
        places_of("owners.only", [1, "10"], names, (1, 2, 3))
    with pytest.raises(SpecError, match="several owners are called so: allowed are their numbers"):
        places_of("owners.only", ["A"], ("A", "A"), (1, 2))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("A", "B"), "owners.names: given 2 values; allowed is one name, or a list with one per"),
        (("A", "B", "A"), "owners.names: given 'A' twice; allowed is every name once"),
    ],
)
def test_names_that_do_not_fit_are_refused(names, said):
    with pytest.raises(SpecError, match=said):
        scenario(names)


def test_a_column_gives_the_names_and_no_list_beside_it():
    raw = scenario().plain()
    del raw["owners"]["records"]
    raw["data"] = {
        "kind": "table", "path": "t.csv", "target": "y", "features": 2, "public_records": 5,
        "owner_column": "who",
    }  # fmt: skip
    with pytest.raises(SpecError, match="not allowed where the values of 'who' are the na"):
        parse(Scenario, raw)


def test_names_stand_beside_numbers_in_the_result(tmp_path):
    write(run(scenario()), tmp_path / "named")
    table = pq.read_table(tmp_path / "named" / "owners.parquet")
    assert table.column_names[:3] == ["replicate", "owner", "name"]
    assert tuple(table["name"].to_pylist()) == HOSTILE
    manifest = json.loads((tmp_path / "named" / "manifest.json").read_text())
    assert tuple(manifest["owner_names"]) == HOSTILE
    result = Result.read(tmp_path / "named")
    labels = result.participants.labels
    assert labels == ("1 (St. Mary's)", "2 (\\x1b[31mred\\x9b\\u20…)", "3 (costs $5 or $6, whi…)")
    picture = traces.SHARES.of(result)
    assert tuple(picture.table["name"]) == HOSTILE
    ticks = [tick.get_text() for tick in picture.figure.axes[0].get_xticklabels()]
    assert ticks == [label.replace("$", r"\$") for label in labels]
    picture.figure.canvas.draw()
    written = traces.BY_UPDATE.of(result).figure.axes[0].get_yticklabels()
    assert [tick.get_text() for tick in written] == ticks
    assert tuple(gains.by_owner([CurveLine(result, "")]).table["name"]) == HOSTILE


def test_without_names_a_result_is_as_it_was(tmp_path):
    found, bare = run(scenario()), run(scenario(None))
    assert found.fingerprints == bare.fingerprints
    write(bare, tmp_path / "bare")
    assert "name" not in pq.read_schema(tmp_path / "bare" / "owners.parquet").names
    assert "owner_names" not in json.loads((tmp_path / "bare" / "manifest.json").read_text())


def test_forecasts_and_their_figures_call_owners_by_name(tmp_path):
    found = forecast(scenario())
    assert tuple(owner.name for owner in found.gains.owners) == HOSTILE
    lines = words.lines(found)
    named = [row[0] for row in words.owners(words.gains_content(found.gains)["owners"])[1:]]
    assert sorted(named) == sorted(Participants((1, 2, 3), HOSTILE).shown)
    assert not any(ord(c) < 32 for line in lines for c in line)
    printed = words.as_json(found)
    assert all(c.isprintable() or c == "\n" for c in printed)
    (tmp_path / "f.json").write_text(printed, encoding="utf-8")
    read = gains.read(tmp_path / "f.json")
    assert [owner["name"] for owner in read["owners"]] == list(HOSTILE)
    picture = gains.owners(read)
    assert sorted(picture.table["name"]) == sorted(HOSTILE)
    labels = [text.get_text() for text in picture.figure.axes[0].get_xticklabels()]
    assert any(label.startswith("1 (St. Mary's)\n") for label in labels)
    picture.figure.canvas.draw()


def test_advice_calls_owners_by_name():
    bought = buy(scenario(), (1.0, 1.0, 1.0), 0.5, replicates=2)
    assert bought.lines()[0].startswith("owner 1 (St. Mary's): ε = ")
    coalition = Coalition((1, 3), 40, 3.0, 30, 10)
    found = Trialled(coalition, Played(np.ones(3)), bought.owners)
    assert str(found).endswith("; owners 1 (St. Mary's), 3 (costs $5 or $6, whi…)")
