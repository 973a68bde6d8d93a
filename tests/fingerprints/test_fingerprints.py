"""A fingerprint is the same twice, and each of its layers notices what it is a layer of."""

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import kind_of, members, parse
from asyncdp_sim.scenario import Scenario
from tests import tables
from tests.conformance.members import FAMILIES, FORMS
from tests.fingerprints import __main__ as command
from tests.fingerprints import kinds
from tests.fingerprints.fingerprint import CELLS, cells, fingerprint, of_tables, recorded
from tests.reproducibility.runs import scenario, written

ALL = {"order", "time", "accounts", "models", "curves", "figures", "theory"}


def differ(before: dict, after: dict) -> set[str]:
    one, other = fingerprint(scenario(**before)), fingerprint(scenario(**after))
    assert set(one) == set(other) == ALL
    return {layer for layer in ALL if one[layer] != other[layer]}


@pytest.mark.long
def test_an_entry_has_one_fingerprint():
    [cell, *_] = cells("async-02")
    found = recorded("async-02", cell)
    assert set(found) == ALL
    assert recorded("async-02", cell) == found


def test_each_layer_notices_its_own():
    assert differ({}, {"run__seed": 12}) >= {"order", "time", "accounts", "models", "curves"}
    privacy = differ({}, {"privacy__epsilon": 1.0})
    assert privacy >= {"accounts", "models", "curves", "figures"}
    assert privacy.isdisjoint({"order", "time", "theory"})
    assert differ({}, {"run__record_every": 10}) == {"curves", "time"}  # its rows have ticks


TABLE = tables.table(__file__, "fingerprints.toml")


@pytest.mark.parametrize(("table", "column", "layer"), TABLE["places"])
def test_two_values_that_change_places_show_in_their_layer(table, column, layer, tmp_path):
    written(scenario(), tmp_path / "result")
    before = of_tables(tmp_path / "result")
    swap(tmp_path / "result" / f"{table}.parquet", column)
    after = of_tables(tmp_path / "result")
    assert [name for name in before if before[name] != after[name]] == [layer]


def swap(file: Path, column: str) -> None:
    """Let the first value of a column change places with the next that is another."""
    table = pq.read_table(file)
    values = table[column].to_pylist()
    other = next(row for row, value in enumerate(values) if value != values[0])
    values[0], values[other] = values[other], values[0]
    at = table.column_names.index(column)
    pq.write_table(table.set_column(at, column, pa.array(values, table[column].type)), file)


def test_cells_are_spread_over_the_sweep():
    assert cells("lending-timing") == [0]
    assert cells("async-08") == [0, 1, 2]
    chosen = cells("async-05")
    assert len(chosen) == len(set(chosen)) == CELLS
    assert (chosen[0], chosen[-1]) == (0, 99)


def test_a_cell_that_does_not_run_says_why():
    assert recorded("async-08", 3) == {"refused": "IndexError: list index out of range"}


def test_the_command_lists_every_difference(tmp_path, monkeypatch, capsys):
    taken = {"b 0000": {"order": "1", "time": "2"}, "a 0001": {"refused": "no such table"}}
    monkeypatch.setattr(command, "taken", lambda *_: taken)
    file = tmp_path / "before.json"
    assert command.main(["-o", str(file)]) == 0
    assert [line[:8] for line in file.read_text("utf-8").splitlines()[1:3]] == TABLE["sorted"]
    assert command.main(["--against", str(file)]) == 0
    assert "2 fingerprints, 1 of them refused" in capsys.readouterr().out
    taken = {"b 0000": {"order": "1", "time": "3"}, "c 0000": {"order": "4"}}
    assert command.main(["--against", str(file)]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == TABLE["differences"]
    assert command.main(["--against", str(file), "--only", "kinds"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == TABLE["differences_of_kinds"]


def test_every_member_of_every_family_has_a_scenario_that_runs(tmp_path):
    tried, running = set(), set()
    for key, raw in kinds.scenarios(tmp_path):
        tried.add(member := key.rsplit(" ", 1)[0])
        with suppress(SpecError):
            parse(Scenario, raw)
            running.add(member)
    every = {f"kind {f} {kind_of(m)}" for f, u in (FAMILIES | FORMS).items() for m in members(u)}
    assert tried == running == every


@pytest.mark.long
@pytest.mark.parametrize("key", ["kind data table 3", "kind observer aggregate 1"])
def test_a_kind_has_one_fingerprint_and_its_run_without_events_one_besides(key, tmp_path):
    raw = dict(kinds.scenarios(tmp_path))[key]
    found = kinds.recorded(raw, tmp_path)
    assert set(found) == ALL | {"without events"}
    assert kinds.recorded(raw, tmp_path) == found
